/* One walk over the segments serves all directions. */
#include "workers/arena/piece.h"

#include <string.h>

#include "workers/arena/reduce_loops.h"

static void put_number(unsigned char *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

static uint64_t get_number(const unsigned char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number |= (uint64_t)at[i] << 8 * i;
    return number;
}

void cse_piece_encode(const cse_piece_frame *frame, unsigned char head[CSE_PIECE_HEAD_BYTES])
{
    put_number(head, (uint64_t)frame->kind, 4);
    put_number(head + 4, (uint64_t)frame->node, 4);
    put_number(head + 8, (uint64_t)frame->step, 8);
    put_number(head + 16, (uint64_t)frame->first, 8);
    put_number(head + 24, (uint64_t)frame->count, 8);
}

bool cse_piece_decode(const unsigned char *bytes, size_t size, cse_piece_frame *frame)
{
    if (size < CSE_PIECE_HEAD_BYTES)
        return false;
    *frame = (cse_piece_frame){ .kind = (int32_t)get_number(bytes, 4),
                                .node = (int32_t)get_number(bytes + 4, 4),
                                .step = (int64_t)get_number(bytes + 8, 8),
                                .first = (int64_t)get_number(bytes + 16, 8),
                                .count = (int64_t)get_number(bytes + 24, 8),
                                .payload = bytes + CSE_PIECE_HEAD_BYTES,
                                .payload_bytes = size - CSE_PIECE_HEAD_BYTES };
    return frame->kind >= CSE_PIECE_VALUES && frame->kind <= CSE_PIECE_PART && frame->node >= 0 &&
           frame->step >= 0 && frame->first >= 0 && frame->count >= 0;
}

static cse_piece_cursor at_stripe(cse_piece_part part, int piece, const cse_stripes *stripes,
                                  int round)
{
    int64_t range[2];
    cse_stripe_of(stripes, round, range);
    return (cse_piece_cursor){ part, piece, round, range[0] };
}

static cse_piece_cursor at_piece(const cse_piece_stream *stream, int piece)
{
    if (piece < stream->pieces)
        return at_stripe(CSE_FRAMES_OF_VALUES, piece, &stream->values, 0);
    if (stream->joins)
        return at_stripe(CSE_FRAMES_OF_JOINED, piece, &stream->joined, 0);
    return (cse_piece_cursor){ CSE_FRAMES_END, piece, 0, 0 };
}

cse_piece_cursor cse_piece_begin(const cse_piece_stream *stream)
{
    return at_piece(stream, 0);
}

static const cse_stripes *stripes_of(const cse_piece_stream *stream, const cse_piece_cursor *cursor)
{
    switch (cursor->part) {
    case CSE_FRAMES_OF_VALUES:
        return &stream->values;
    case CSE_FRAMES_OF_JOINED:
        return &stream->joined;
    case CSE_FRAMES_OF_STATISTICS:
    case CSE_FRAMES_END:
        break;
    }
    return NULL;
}

int64_t cse_piece_run_end(const cse_piece_stream *stream, const cse_piece_cursor *cursor)
{
    const cse_stripes *stripes = stripes_of(stream, cursor);
    int64_t range[2] = { 0, cursor->part == CSE_FRAMES_OF_STATISTICS ? stream->statistics : 0 };
    if (stripes != NULL)
        cse_stripe_of(stripes, cursor->round, range);
    return range[1];
}

void cse_piece_advance(const cse_piece_stream *stream, cse_piece_cursor *cursor, int64_t count)
{
    const cse_stripes *stripes = stripes_of(stream, cursor);
    cursor->at += count;
    if (cursor->at < cse_piece_run_end(stream, cursor))
        return;
    if (stripes != NULL && cursor->round + 1 < stripes->rounds)
        *cursor = at_stripe(cursor->part, cursor->piece, stripes, cursor->round + 1);
    else if (cursor->part == CSE_FRAMES_OF_VALUES && stream->statistics > 0)
        *cursor = (cse_piece_cursor){ CSE_FRAMES_OF_STATISTICS, cursor->piece, 0, 0 };
    else if (cursor->part == CSE_FRAMES_OF_JOINED)
        *cursor = (cse_piece_cursor){ CSE_FRAMES_END, cursor->piece, 0, 0 };
    else
        *cursor = at_piece(stream, cursor->piece + 1);
}

int64_t cse_piece_bytes(const cse_segments *segments, int64_t first, int64_t end)
{
    const int64_t range[2] = { first, end };
    int64_t bytes = 0;
    cse_segment_part p;
    for (int i = 0; i < segments->count; i++)
        if (cse_segment_part_of(segments->items[i], range, &p))
            bytes += p.count * (p.segment.rounded ? 2 : 4);
    return bytes;
}

/* Where the part lies in a partial sum, and how many bytes it has there and on the wire. */
static int64_t place(const cse_segment_part *p, size_t *bytes)
{
    const int64_t width = p->segment.rounded ? 2 : 4;
    *bytes = (size_t)(p->count * width);
    return 4 * p->segment.first + width * p->skip;
}

void cse_piece_take(const cse_segments *segments, const unsigned char *partial,
                    const int64_t range[2], unsigned char *wire)
{
    cse_segment_part p;
    size_t bytes;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const int64_t at = place(&p, &bytes);
        memcpy(wire, partial + at, bytes);
        wire += bytes;
    }
}

void cse_piece_put(const cse_segments *segments, const unsigned char *wire, const int64_t range[2],
                   unsigned char *partial)
{
    cse_segment_part p;
    size_t bytes;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const int64_t at = place(&p, &bytes);
        memcpy(partial + at, wire, bytes);
        wire += bytes;
    }
}

void cse_piece_take_joined(const cse_segments *segments, const unsigned char *reduced,
                           const int64_t range[2], unsigned char *wire)
{
    const cse_reduce_loops *loops = cse_reduce_loops_for(segments->payload);
    cse_segment_part p;
    size_t bytes;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const unsigned char *at = reduced + 4 * (p.segment.first + p.skip);
        place(&p, &bytes);
        /* The wire is aligned for 16 bits at least: all parts before have an even size. */
        if (p.segment.rounded)
            loops->pack((uint16_t *)(void *)wire, (const float *)(const void *)at, p.count,
                        (cse_draw){ 0, 0 });
        else
            memcpy(wire, at, bytes);
        wire += bytes;
    }
}
