/* A piece on its way: the values of a partial sum as they travel between hosts.
 *
 * A frame holds elements [first, first + count) of one node's partial sum: 2 bytes for each element
 * of a rounded segment, 4 for others, nothing for the padding between segments. The values are
 * those of the node, so it does not matter who made them. On the wire, all integers little-endian:
 *
 *     kind:32 | node:32 | step:64 | first:64 | count:64 | payload
 *
 *     VALUES      elements of the partial sum of the node; frames of a node follow each other
 *     STATISTICS  the tensor statistics of the node's microbatches, in steps that take them
 *     HAVE        the sender has all pieces of the receiver for steps below `step`
 *     JOINED      elements of the root, from the owner of their stripe (shards.h)
 *     AGAIN       the sender lacks what it was sent for the step: all is to be sent again
 *     ASK         the sender, which has no data, wants microbatch `node` of the step, `count` bytes
 *     INPUT       `count` bytes of that microbatch, from byte `first` on
 *
 * Of states that are cut over hosts (state_ranges.h), which lie on the wire as in memory:
 *
 *     READY       the sender takes new states of steps below `step`; if it leads, others may make
 *                 theirs
 *     STATES      bytes of what update chunk `node` has assigned in the step, from `first` on
 *     GATHER      the sender, which leads, wants what only the owners of chunk `node` have of it,
 *                 as it is before the step
 *     PART        bytes of that, from `first` on */
#ifndef CSE_WORKERS_ARENA_PIECE_H
#define CSE_WORKERS_ARENA_PIECE_H

#include "workers/arena/stripes.h"

enum { CSE_PIECE_HEAD_BYTES = 32, CSE_PIECE_ELEMENTS = 64 * 1024 };

typedef enum cse_piece_kind {
    CSE_PIECE_VALUES = 1,
    CSE_PIECE_STATISTICS = 2,
    CSE_PIECE_HAVE = 3,
    CSE_PIECE_JOINED = 4,
    CSE_PIECE_AGAIN = 5,
    CSE_PIECE_ASK = 6,
    CSE_PIECE_INPUT = 7,
    CSE_PIECE_READY = 8,
    CSE_PIECE_STATES = 9,
    CSE_PIECE_GATHER = 10,
    CSE_PIECE_PART = 11,
} cse_piece_kind;

typedef struct cse_piece_frame {
    int32_t kind, node;
    int64_t step, first, count;
    const unsigned char *payload; /* a view; NULL in frames to be sent */
    size_t payload_bytes;
} cse_piece_frame;

void cse_piece_encode(const cse_piece_frame *frame, unsigned char head[CSE_PIECE_HEAD_BYTES]);
/* False for anything that is not a frame: too short, an unknown kind, a negative number. */
bool cse_piece_decode(const unsigned char *bytes, size_t size, cse_piece_frame *frame);

/* The frames that one host sends another in one step are two streams, each in its order: of each
 * piece the values in stripes of elements and then its statistics; and the stripes that the sender
 * has joined. Each part has one frame at least, so that an empty one is seen to be complete, and no
 * frame is of two stripes. */
typedef struct cse_piece_stream {
    int pieces;
    cse_stripes values;
    int64_t statistics; /* bytes of one piece; 0: none */
    bool joins;         /* the second stream, if the host joins: no pieces */
    cse_stripes joined;
} cse_piece_stream;

typedef enum cse_piece_part {
    CSE_FRAMES_OF_VALUES,
    CSE_FRAMES_OF_STATISTICS,
    CSE_FRAMES_OF_JOINED,
    CSE_FRAMES_END, /* the end of the stream */
} cse_piece_part;

/* The place of the next frame: its first element, or byte of statistics. */
typedef struct cse_piece_cursor {
    cse_piece_part part;
    int piece;
    int round; /* of the stripes */
    int64_t at;
} cse_piece_cursor;

cse_piece_cursor cse_piece_begin(const cse_piece_stream *stream);
/* Where the stripe, or the part without stripes, ends in which the cursor is. */
int64_t cse_piece_run_end(const cse_piece_stream *stream, const cse_piece_cursor *cursor);
/* Moves on behind a frame of `count` elements or bytes. */
void cse_piece_advance(const cse_piece_stream *stream, cse_piece_cursor *cursor, int64_t count);

/* Bytes of elements [first, end) on the wire. */
int64_t cse_piece_bytes(const cse_segments *segments, int64_t first, int64_t end);
/* From and to a partial sum. */
void cse_piece_take(const cse_segments *segments, const unsigned char *partial,
                    const int64_t range[2], unsigned char *wire);
void cse_piece_put(const cse_segments *segments, const unsigned char *wire, const int64_t range[2],
                   unsigned char *partial);
/* From joined values (float32, layout of a gradient), which the rounding of their segment leaves as
 * they are. `reduced` is the address of element 0, of which only those in the range are there. */
void cse_piece_take_joined(const cse_segments *segments, const unsigned char *reduced,
                           const int64_t range[2], unsigned char *wire);

#endif
