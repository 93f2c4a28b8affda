/* Receiving: nothing of another host is believed beyond what its key proves: each number is checked
 * against the cut and the step before a byte is written. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "workers/worker/mover_state.h"

static void refuse(cse_mover *mover, int host)
{
    atomic_fetch_add_explicit(&mover->cluster->hosts->hosts[host].refused, 1, memory_order_relaxed);
}

static bool is_at(const cse_piece_cursor *cursor, const cse_piece_frame *frame)
{
    static const int kinds[] = { [CSE_FRAMES_OF_VALUES] = CSE_PIECE_VALUES,
                                 [CSE_FRAMES_OF_STATISTICS] = CSE_PIECE_STATISTICS,
                                 [CSE_FRAMES_OF_JOINED] = CSE_PIECE_JOINED,
                                 [CSE_FRAMES_END] = 0 };
    return kinds[cursor->part] == frame->kind && cursor->at == frame->first;
}

/* The heap number of the node that the cursor is at. */
static int node_at(const cse_mover *mover, const cse_piece_cursor *cursor)
{
    return cursor->part == CSE_FRAMES_OF_JOINED ? 1 : mover->theirs[cursor->piece].heap;
}

static bool is_next(const cse_mover *mover, const cse_piece_cursor *cursor,
                    const cse_piece_frame *frame)
{
    return is_at(cursor, frame) && node_at(mover, cursor) == frame->node;
}

/* Whether what the frame says of itself can be: its end, its bytes. */
static bool fits(const cse_mover *mover, const cse_piece_stream *stream,
                 const cse_piece_cursor *cursor, const cse_piece_frame *frame)
{
    if (frame->count > CSE_PIECE_ELEMENTS ||
        frame->count > cse_piece_run_end(stream, cursor) - cursor->at)
        return false;
    const int64_t end = frame->first + frame->count;
    const int64_t bytes = cursor->part == CSE_FRAMES_OF_STATISTICS
                              ? frame->count
                              : cse_piece_bytes(&mover->cluster->segments, frame->first, end);
    return frame->payload_bytes == (size_t)bytes &&
           (frame->count > 0 || cse_piece_run_end(stream, cursor) == cursor->at);
}

static void store(cse_mover *mover, const cse_piece_cursor *cursor, const cse_piece_frame *frame)
{
    cse_cluster *cluster = mover->cluster;
    const int64_t range[2] = { frame->first, frame->first + frame->count };
    if (cursor->part == CSE_FRAMES_OF_JOINED) {
        cse_piece_put(&cluster->segments, frame->payload, range,
                      cse_arena_root_sum(cluster, mover->step));
        return;
    }
    const cse_tree_node node = mover->theirs[cursor->piece];
    if (cse_word_claim(&cluster->nodes[node.heap], mover->step + 1, mover->work->slot,
                       mover->work->incarnation))
        CSE_FAILPOINT(PIECE_CLAIMED);
    if (!cse_mover_holds(mover, node.heap))
        return; /* it is there already, or computed here: nobody needs this one */
    unsigned char *partial = cse_arena_partial_sum(cluster, node.first);
    if (cursor->part == CSE_FRAMES_OF_VALUES)
        cse_piece_put(&cluster->segments, frame->payload, range, partial);
    else
        memcpy((unsigned char *)cse_arena_partial_sum_statistics(cluster, partial) + frame->first,
               frame->payload, frame->payload_bytes);
}

/* A whole piece is complete; one of which only a shard was sent stays claimed. */
static void publish(cse_mover *mover, int host, cse_tree_node node)
{
    if (mover->sharded || !cse_mover_holds(mover, node.heap))
        return;
    CSE_FAILPOINT(PIECE_UNPUBLISHED);
    cse_word_publish(&mover->cluster->nodes[node.heap], mover->step + 1, CSE_WORD_DONE);
    CSE_FAILPOINT(PIECE_PUBLISHED);
    cse_mover_confirm(mover, host);
    cse_mover_advance(mover);
}

/* Frames come in the order of their stream (the two are independent), or from its beginning again.
 * Those of another order are of a stream that its sender has given up, or will; they are no
 * fault. */
static void take_frame(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    cse_mover_peer *peer = &mover->peers[host];
    const bool joined = frame->kind == CSE_PIECE_JOINED;
    cse_piece_cursor *cursor = joined ? &peer->receives_joined : &peer->receives;
    const cse_piece_stream stream = joined
                                        ? cse_mover_joined_stream(mover, host)
                                        : cse_mover_stream(mover, host, mover->cluster->head->host);
    const cse_piece_cursor first = cse_piece_begin(&stream);
    if (!is_next(mover, cursor, frame)) {
        if (first.part == CSE_FRAMES_END || !is_next(mover, &first, frame))
            return;
        *cursor = first;
    }
    if (!fits(mover, &stream, cursor, frame)) {
        if (!mover->sharded)
            refuse(mover, host);
        return;
    }
    if (cse_mover_has_root(mover))
        return;
    store(mover, cursor, frame);
    const int piece = cursor->piece;
    const cse_tree_node node = piece < stream.pieces ? mover->theirs[piece] : (cse_tree_node){ 0 };
    cse_piece_advance(&stream, cursor, frame->count);
    if (piece < stream.pieces && cursor->piece > piece)
        publish(mover, host, node);
    cse_mover_join(mover);
}

static void keep_early(cse_mover *mover, int host, const unsigned char *bytes, size_t size)
{
    cse_mover_peer *peer = &mover->peers[host];
    if (peer->early != NULL) {
        refuse(mover, host);
        return;
    }
    peer->early = cse_malloc(size);
    peer->early_bytes = size;
    memcpy(peer->early, bytes, size);
    mover->link->hold(mover->state, host, true);
}

/* A host that is a step ahead has all of that step that this host is to send when it has a share of
 * none of it. */
static bool may_have(const cse_mover *mover, const cse_piece_frame *frame)
{
    const int own = mover->cluster->head->host;
    if (frame->step <= mover->step + 1)
        return true;
    if (frame->kind != CSE_PIECE_HAVE || frame->step > mover->step + 2)
        return false;
    const cse_host_cut *next = cse_arena_cut(mover->cluster, mover->step + 1);
    return next->bounds[own] == next->bounds[own + 1];
}

void cse_mover_receive(cse_mover *mover, int host, const unsigned char *bytes, size_t size)
{
    cse_mover_peer *peer = &mover->peers[host];
    cse_piece_frame frame;
    const bool decoded = cse_piece_decode(bytes, size, &frame);
    if (decoded && (frame.kind == CSE_PIECE_ASK || frame.kind == CSE_PIECE_INPUT)) {
        if (cse_arena_is_lost(mover->cluster, host) || !cse_mover_take_input(mover, host, &frame))
            refuse(mover, host);
        return;
    }
    if (decoded && frame.kind >= CSE_PIECE_READY) {
        if (!cse_mover_take_states(mover, host, &frame))
            refuse(mover, host);
        return;
    }
    if (!decoded || !may_have(mover, &frame)) {
        refuse(mover, host);
        return;
    }
    if (frame.kind == CSE_PIECE_HAVE) {
        peer->have = frame.step > peer->have ? frame.step : peer->have;
        return;
    }
    if (frame.kind == CSE_PIECE_AGAIN) {
        if (frame.step == mover->step)
            cse_mover_rewind(mover, host);
        return;
    }
    if (cse_arena_is_lost(mover->cluster, host))
        refuse(mover, host);
    else if (frame.step > mover->step)
        keep_early(mover, host, bytes, size);
    else if (frame.step == mover->step)
        take_frame(mover, host, &frame);
    else
        peer->told = -1; /* it does not know that this host has them: it is told again */
}
