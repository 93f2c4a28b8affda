/* Sending: a piece that one replica has made is sent as it lies in the arena, one that several have
 * made is joined for each frame; the frames of all hosts are alike, so the last one is kept. */
#include <string.h>

#include "workers/worker/mover_state.h"

int64_t cse_mover_elements(const cse_mover *mover)
{
    return mover->cluster->head->gradient_bytes / 4;
}

int64_t cse_mover_total(const cse_mover *mover, int64_t step)
{
    return cse_mover_elements(mover) + (cse_arena_takes_statistics(mover->cluster, step)
                                            ? mover->cluster->head->statistics_bytes
                                            : 0);
}

static bool is_done(const cse_cluster *cluster, cse_tree_node node, int64_t sequence)
{
    return cse_word_is(cse_word_load(&cluster->nodes[node.heap]), CSE_WORD_DONE, sequence);
}

bool cse_mover_covered(const cse_cluster *cluster, cse_tree_node node, int64_t sequence)
{
    return is_done(cluster, node, sequence) ||
           (node.size > 1 && cse_mover_covered(cluster, cse_tree_left(node), sequence) &&
            cse_mover_covered(cluster, cse_tree_right(node), sequence));
}

typedef struct lookup_context {
    const cse_cluster *cluster;
    int64_t sequence;
} lookup_context;

static const unsigned char *partial_sum_of(void *self, cse_tree_node node)
{
    const lookup_context *context = self;
    return is_done(context->cluster, node, context->sequence)
               ? cse_arena_partial_sum(context->cluster, node.first)
               : NULL;
}

static void take_values(cse_mover *mover, cse_tree_node node, const int64_t range[2])
{
    cse_segments segments = mover->cluster->segments;
    segments.step = mover->step;
    lookup_context context = { mover->cluster, mover->step + 1 };
    const unsigned char *partial = partial_sum_of(&context, node);
    if (partial != NULL) {
        cse_piece_take(&segments, partial, range, mover->wire);
        return;
    }
    unsigned char *base = (unsigned char *)mover->joined - 4 * range[0];
    cse_join_plan(&mover->work->join, node, partial_sum_of, &context);
    cse_join_run(&mover->work->join, &segments, base, range[0], range[1]);
    cse_piece_take_joined(&segments, base, range, mover->wire);
}

static void add_statistics(cse_mover *mover, cse_tree_node node)
{
    const cse_cluster *cluster = mover->cluster;
    const int count =
        (int)(cluster->head->statistics_bytes / (int64_t)sizeof(cse_tensor_statistics));
    if (is_done(cluster, node, mover->step + 1)) {
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

/* Makes the frame that begins at the position, and returns where it ends. */
static int64_t make_frame(cse_mover *mover, int piece, int64_t position, cse_piece_frame *frame)
{
    const cse_tree_node node = mover->own[piece];
    const int64_t elements = cse_mover_elements(mover), total = cse_mover_total(mover, mover->step);
    const bool values = position < elements || total == 0;
    const int64_t limit = values ? elements : total;
    const int64_t end =
        position + mover->frame_elements < limit ? position + mover->frame_elements : limit;
    const int64_t start = values ? 0 : elements;
    const int64_t range[2] = { position - start, end - start };
    *frame = (cse_piece_frame){ .kind = values ? CSE_PIECE_VALUES : CSE_PIECE_STATISTICS,
                                .node = node.heap,
                                .step = mover->step,
                                .first = range[0],
                                .count = range[1] - range[0] };
    if (mover->wire_step == mover->step && mover->wire_piece == piece &&
        mover->wire_position == position)
        return end;
    if (values)
        take_values(mover, node, range);
    else
        take_statistics(mover, node, range);
    mover->wire_step = mover->step;
    mover->wire_piece = piece;
    mover->wire_position = position;
    mover->wire_bytes =
        (size_t)(values ? cse_piece_bytes(&mover->cluster->segments, range[0], range[1])
                        : frame->count);
    return end;
}

void cse_mover_send(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    if (peer->step != mover->step) {
        peer->step = mover->step;
        peer->piece = 0;
        peer->position = 0;
    }
    while (peer->connected && peer->have <= mover->step && peer->piece < mover->own_count &&
           cse_mover_covered(mover->cluster, mover->own[peer->piece], mover->step + 1)) {
        cse_piece_frame frame;
        const int64_t end = make_frame(mover, peer->piece, peer->position, &frame);
        cse_piece_encode(&frame, head);
        if (mover->link->send(mover->state, host, head, sizeof head, mover->wire,
                              mover->wire_bytes) != CSE_OK) {
            mover->crowded = true;
            return;
        }
        CSE_FAILPOINT(PIECE_SENT);
        peer->position = end;
        if (end < cse_mover_total(mover, mover->step))
            continue;
        peer->piece++;
        peer->position = 0;
    }
}

static bool has_all_of(cse_mover *mover, int host)
{
    const cse_cluster *cluster = mover->cluster;
    const cse_host_cut *cut = cse_arena_cut(cluster, mover->step);
    const int count = cse_tree_cover(cluster->head->microbatches, cut->bounds[host],
                                     cut->bounds[host + 1], mover->theirs);
    for (int i = 0; i < count; i++)
        if (!cse_mover_covered(cluster, mover->theirs[i], mover->step + 1))
            return false;
    return true;
}

void cse_mover_confirm(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    if (!peer->connected || peer->told > mover->step)
        return;
    const int64_t have = mover->step < mover->cluster->head->end_step && has_all_of(mover, host)
                             ? mover->step + 1
                             : mover->step;
    if (have <= peer->told)
        return;
    cse_piece_encode(&(cse_piece_frame){ .kind = CSE_PIECE_HAVE, .step = have }, head);
    if (mover->link->send(mover->state, host, head, sizeof head, NULL, 0) == CSE_OK)
        peer->told = have;
}
