/* Sending: a piece that one replica has made is sent as it lies in the arena, one that several have
 * made is joined for each frame; where the frames of all hosts are alike, the last one is kept. A
 * frame is sent as soon as its elements are final, while the others are still computed. */
#include <string.h>

#include "workers/arena/final_elements.h"
#include "workers/arena/gradient_ranges.h"
#include "workers/worker/mover_state.h"

int cse_mover_pieces(const cse_mover *mover, int host, cse_tree_node *nodes)
{
    return cse_tree_cover(mover->cluster->head->microbatches, mover->cut->bounds[host],
                          mover->cut->bounds[host + 1], nodes);
}

cse_piece_stream cse_mover_stream(const cse_mover *mover, int from, int to)
{
    const cse_arena_head *head = mover->cluster->head;
    const int64_t elements = cse_mover_elements(mover);
    return (cse_piece_stream){
        .pieces =
            from == head->host ? mover->own_count : cse_mover_pieces(mover, from, mover->theirs),
        .values = mover->sharded ? cse_shard_of(&mover->owners, to, elements)
                                 : cse_sent_elements(mover->cluster, to),
        .statistics =
            cse_arena_takes_statistics(mover->cluster, mover->step) ? head->statistics_bytes : 0,
    };
}

cse_piece_stream cse_mover_joined_stream(const cse_mover *mover, int from)
{
    return (cse_piece_stream){
        .joins = mover->sharded && cse_hosts_have(&mover->owners, from),
        .joined = cse_shard_of(&mover->owners, from, cse_mover_elements(mover)),
    };
}

bool cse_mover_covered(const cse_cluster *cluster, cse_tree_node node, int64_t sequence)
{
    return cse_node_is_done(cluster, node, sequence) ||
           (node.size > 1 && cse_mover_covered(cluster, cse_tree_left(node), sequence) &&
            cse_mover_covered(cluster, cse_tree_right(node), sequence));
}

bool cse_mover_find_sources(cse_mover *mover, cse_tree_node node, int64_t end)
{
    const int64_t sequence = mover->step + 1;
    uint64_t claim = 0;
    if (cse_node_is_done(mover->cluster, node, sequence) ||
        (claim = cse_final_elements_claim(mover->cluster, node, sequence, end)) != 0) {
        mover->sources[mover->source_count++] = (cse_mover_source){ node, claim };
        return true;
    }
    return node.size > 1 && cse_mover_find_sources(mover, cse_tree_left(node), end) &&
           cse_mover_find_sources(mover, cse_tree_right(node), end);
}

bool cse_mover_sources_stood(const cse_mover *mover)
{
    for (int i = 0; i < mover->source_count; i++) {
        const cse_mover_source *source = &mover->sources[i];
        if (source->claim != 0 &&
            !cse_final_elements_unchanged(mover->cluster, source->node, source->claim))
            return false;
    }
    return true;
}

const unsigned char *cse_mover_source_sum(void *self, cse_tree_node node)
{
    const cse_mover *mover = self;
    for (int i = 0; i < mover->source_count; i++)
        if (mover->sources[i].node.heap == node.heap)
            return cse_arena_partial_sum(mover->cluster, node.first);
    return NULL;
}

static void read_values(cse_mover *mover, cse_tree_node node, const int64_t range[2])
{
    cse_segments segments = mover->cluster->segments;
    segments.step = mover->step;
    const unsigned char *partial = cse_mover_source_sum(mover, node);
    if (partial != NULL) {
        cse_piece_take(&segments, partial, range, mover->wire);
        return;
    }
    unsigned char *base = (unsigned char *)mover->values - 4 * range[0];
    cse_join_plan(&mover->work->join, node, cse_mover_source_sum, mover);
    cse_join_run(&mover->work->join, &segments, base, range[0], range[1]);
    cse_piece_take_joined(&segments, base, range, mover->wire);
}

/* False: not all values are final, or who computes them has died meanwhile. */
static bool take_values(cse_mover *mover, cse_tree_node node, const int64_t range[2])
{
    mover->source_count = 0;
    if (!cse_mover_find_sources(mover, node, range[1]))
        return false;
    read_values(mover, node, range);
    return cse_mover_sources_stood(mover);
}

static void add_statistics(cse_mover *mover, cse_tree_node node)
{
    const cse_cluster *cluster = mover->cluster;
    const int count =
        (int)(cluster->head->statistics_bytes / (int64_t)sizeof(cse_tensor_statistics));
    if (cse_node_is_done(cluster, node, mover->step + 1)) {
        cse_tensor_statistics_add(
            (cse_tensor_statistics *)(void *)mover->statistics,
            cse_arena_partial_sum_statistics(cluster, cse_arena_partial_sum(cluster, node.first)),
            count);
        return;
    }
    add_statistics(mover, cse_tree_left(node));
    add_statistics(mover, cse_tree_right(node));
}

static void take_statistics(cse_mover *mover, cse_tree_node node, const int64_t range[2])
{
    memset(mover->statistics, 0, (size_t)mover->cluster->head->statistics_bytes);
    add_statistics(mover, node);
    memcpy(mover->wire, mover->statistics + range[0], (size_t)(range[1] - range[0]));
}

static bool is_on_wire(const cse_mover *mover, const cse_piece_cursor *cursor, size_t bytes)
{
    return mover->wire_step == mover->step && mover->wire_bytes == bytes &&
           mover->wire_cursor.part == cursor->part && mover->wire_cursor.piece == cursor->piece &&
           mover->wire_cursor.at == cursor->at;
}

/* The frame at the cursor; its payload is in `wire`. False: it cannot be made yet. */
static bool make_frame(cse_mover *mover, const cse_piece_stream *stream,
                       const cse_piece_cursor *cursor, cse_piece_frame *frame)
{
    static const cse_piece_kind kinds[] = { [CSE_FRAMES_OF_VALUES] = CSE_PIECE_VALUES,
                                            [CSE_FRAMES_OF_STATISTICS] = CSE_PIECE_STATISTICS,
                                            [CSE_FRAMES_OF_JOINED] = CSE_PIECE_JOINED };
    const cse_tree_node node = cursor->part == CSE_FRAMES_OF_JOINED
                                   ? cse_tree_root(mover->cluster->head->microbatches)
                                   : mover->own[cursor->piece];
    const int64_t limit = cse_piece_run_end(stream, cursor);
    const int64_t end =
        limit - cursor->at > mover->frame_elements ? cursor->at + mover->frame_elements : limit;
    const int64_t range[2] = { cursor->at, end };
    *frame = (cse_piece_frame){ .kind = kinds[cursor->part],
                                .node = node.heap,
                                .step = mover->step,
                                .first = cursor->at,
                                .count = end - cursor->at };
    const size_t bytes =
        cursor->part == CSE_FRAMES_OF_STATISTICS
            ? (size_t)frame->count
            : (size_t)cse_piece_bytes(&mover->cluster->segments, range[0], range[1]);
    if (is_on_wire(mover, cursor, bytes))
        return true;
    mover->wire_step = -1;
    if (cursor->part == CSE_FRAMES_OF_VALUES && !take_values(mover, node, range))
        return false;
    if (cursor->part == CSE_FRAMES_OF_STATISTICS)
        take_statistics(mover, node, range);
    if (cursor->part == CSE_FRAMES_OF_JOINED)
        cse_piece_take(&mover->cluster->segments, cse_arena_root_sum(mover->cluster, mover->step),
                       range, mover->wire);
    mover->wire_step = mover->step;
    mover->wire_cursor = *cursor;
    mover->wire_bytes = bytes;
    return true;
}

void cse_mover_rewind(cse_mover *mover, int host)
{
    const cse_piece_stream stream = cse_mover_stream(mover, mover->cluster->head->host, host);
    const cse_piece_stream joined = cse_mover_joined_stream(mover, mover->cluster->head->host);
    mover->peers[host].sends = cse_piece_begin(&stream);
    mover->peers[host].sends_joined = cse_piece_begin(&joined);
}

/* Values are looked at when their frame is made. */
static bool is_ready(const cse_mover *mover, const cse_piece_cursor *cursor)
{
    switch (cursor->part) {
    case CSE_FRAMES_OF_VALUES:
        return true;
    case CSE_FRAMES_OF_STATISTICS:
        return cse_mover_covered(mover->cluster, mover->own[cursor->piece], mover->step + 1);
    case CSE_FRAMES_OF_JOINED:
        return cursor->round < mover->joined;
    case CSE_FRAMES_END:
        break;
    }
    return false;
}

/* Sends what is ready of a stream; false: the link takes no more, and wakes the mover when it
 * does. */
static bool send_stream(cse_mover *mover, int host, const cse_piece_stream *stream,
                        cse_piece_cursor *cursor)
{
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    cse_piece_frame frame;
    while (is_ready(mover, cursor) && make_frame(mover, stream, cursor, &frame)) {
        cse_piece_encode(&frame, head);
        if (mover->link->send(mover->state, host, head, sizeof head, mover->wire,
                              mover->wire_bytes) != CSE_OK)
            return false;
        CSE_FAILPOINT(PIECE_SENT);
        cse_piece_advance(stream, cursor, frame.count);
    }
    return true;
}

/* The pieces first: others wait for them to join their stripes. */
void cse_mover_send(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    const cse_piece_stream pieces = cse_mover_stream(mover, mover->cluster->head->host, host);
    const cse_piece_stream joined = cse_mover_joined_stream(mover, mover->cluster->head->host);
    if (peer->connected && peer->have <= mover->step &&
        send_stream(mover, host, &pieces, &peer->sends))
        send_stream(mover, host, &joined, &peer->sends_joined);
}

bool cse_mover_has_root(const cse_mover *mover)
{
    return cse_node_is_done(mover->cluster, cse_tree_root(mover->cluster->head->microbatches),
                            mover->step + 1);
}

/* A host without data has all of another one when it has all sums of the step: until then it may
 * need input of that step, which hosts with data keep until it says so. */
static bool has_all_of(cse_mover *mover, int host)
{
    const cse_tree_node root = cse_tree_root(mover->cluster->head->microbatches);
    if (!cse_mover_has_states(mover))
        return false;
    if (cse_mover_has_root(mover))
        return true;
    if (mover->sharded ||
        (mover->lacks_data && !cse_mover_covered(mover->cluster, root, mover->step + 1)))
        return false;
    const int count = cse_mover_pieces(mover, host, mover->theirs);
    for (int i = 0; i < count; i++)
        if (!cse_mover_covered(mover->cluster, mover->theirs[i], mover->step + 1))
            return false;
    return true;
}

static bool tell(cse_mover *mover, int host, cse_piece_kind kind, int64_t step)
{
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    cse_piece_encode(&(cse_piece_frame){ .kind = kind, .step = step }, head);
    return mover->link->send(mover->state, host, head, sizeof head, NULL, 0) == CSE_OK;
}

void cse_mover_confirm(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    if (!peer->connected)
        return;
    const bool runs = mover->step < mover->cluster->head->end_step;
    if (peer->asks && runs && tell(mover, host, CSE_PIECE_AGAIN, mover->step))
        peer->asks = false;
    if (peer->told > mover->step)
        return;
    const int64_t have = runs && has_all_of(mover, host) ? mover->step + 1 : mover->step;
    if (have > peer->told && tell(mover, host, CSE_PIECE_HAVE, have))
        peer->told = have;
}
