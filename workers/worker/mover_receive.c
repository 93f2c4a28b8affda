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

static cse_word *word_of(cse_mover *mover, int node)
{
    return &mover->cluster->nodes[node];
}

void cse_mover_give_back(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    if (peer->node == 0)
        return;
    const int64_t sequence = cse_word_sequence(cse_word_load(word_of(mover, peer->node)));
    cse_word_publish(word_of(mover, peer->node), cse_word_sequence_before(sequence, 1),
                     CSE_WORD_DONE);
    peer->node = 0;
    cse_doorbell_ring(mover->cluster, CSE_DOORBELL_COMMIT);
}

static bool is_piece_of(cse_mover *mover, int host, int heap, cse_tree_node *node)
{
    const cse_cluster *cluster = mover->cluster;
    const cse_host_cut *cut = cse_arena_cut(cluster, mover->step);
    const int count = cse_tree_cover(cluster->head->microbatches, cut->bounds[host],
                                     cut->bounds[host + 1], mover->theirs);
    for (int i = 0; i < count; i++)
        if (mover->theirs[i].heap == heap) {
            *node = mover->theirs[i];
            return true;
        }
    return false;
}

/* Whether the frame is the next one of a node that is claimed, or that it begins and that can be
 * claimed. One of a node that is done, or computed here, is no fault: nobody needs it. */
static bool expects(cse_mover *mover, int host, const cse_piece_frame *frame, int64_t position)
{
    cse_mover_peer *peer = &mover->peers[host];
    if (peer->node == frame->node && (position == peer->expected || position == 0)) {
        peer->expected = position;
        return true;
    }
    if (position != 0)
        return false;
    cse_mover_give_back(mover, host);
    if (!cse_word_claim(word_of(mover, frame->node), mover->step + 1, mover->work->slot,
                        mover->work->incarnation))
        return false;
    CSE_FAILPOINT(PIECE_CLAIMED);
    peer->node = frame->node;
    peer->expected = 0;
    return true;
}

static bool fits(const cse_mover *mover, const cse_piece_frame *frame)
{
    const bool values = frame->kind == CSE_PIECE_VALUES;
    const int64_t elements = cse_mover_elements(mover);
    const int64_t limit = values ? elements : cse_mover_total(mover, mover->step) - elements;
    if (frame->count > CSE_PIECE_ELEMENTS || frame->first > limit ||
        frame->count > limit - frame->first)
        return false;
    const int64_t bytes = values ? cse_piece_bytes(&mover->cluster->segments, frame->first,
                                                   frame->first + frame->count)
                                 : frame->count;
    return frame->payload_bytes == (size_t)bytes;
}

static void store(cse_mover *mover, cse_tree_node node, const cse_piece_frame *frame)
{
    const int64_t range[2] = { frame->first, frame->first + frame->count };
    unsigned char *partial = cse_arena_partial_sum(mover->cluster, node.first);
    if (frame->kind == CSE_PIECE_VALUES)
        cse_piece_put(&mover->cluster->segments, frame->payload, range, partial);
    else
        memcpy((unsigned char *)cse_arena_partial_sum_statistics(mover->cluster, partial) +
                   frame->first,
               frame->payload, frame->payload_bytes);
}

static void take_piece(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    cse_mover_peer *peer = &mover->peers[host];
    cse_tree_node node;
    if (!is_piece_of(mover, host, frame->node, &node) || !fits(mover, frame)) {
        refuse(mover, host);
        return;
    }
    const int64_t position =
        frame->first + (frame->kind == CSE_PIECE_VALUES ? 0 : cse_mover_elements(mover));
    if (!expects(mover, host, frame, position))
        return;
    store(mover, node, frame);
    peer->expected = position + frame->count;
    if (peer->expected < cse_mover_total(mover, mover->step))
        return;
    CSE_FAILPOINT(PIECE_UNPUBLISHED);
    cse_word_publish(word_of(mover, node.heap), mover->step + 1, CSE_WORD_DONE);
    peer->node = 0;
    CSE_FAILPOINT(PIECE_PUBLISHED);
    cse_mover_confirm(mover, host);
    cse_mover_advance(mover);
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

void cse_mover_receive(cse_mover *mover, int host, const unsigned char *bytes, size_t size)
{
    cse_mover_peer *peer = &mover->peers[host];
    cse_piece_frame frame;
    if (!cse_piece_decode(bytes, size, &frame) || frame.step > mover->step + 1) {
        refuse(mover, host);
        return;
    }
    if (frame.kind == CSE_PIECE_HAVE) {
        peer->have = frame.step > peer->have ? frame.step : peer->have;
        return;
    }
    if (cse_arena_lost(mover->cluster) >> host & 1)
        refuse(mover, host);
    else if (frame.step > mover->step)
        keep_early(mover, host, bytes, size);
    else if (frame.step == mover->step)
        take_piece(mover, host, &frame);
    else
        peer->told = -1; /* it does not know that this host has them: it is told again */
}
