/* COMPUTE: leaves of the tree, folded into pieces.
 *
 * A replica claims one node at a time - of its own share first, then any that is takeable - and
 * computes its leaves from left to right, one a call. Partial sums are kept as a binary counter:
 * the first grows in the piece's slot of the arena (which nobody reads before it is published), the
 * others in private memory. Where no value is rounded the replica's program writes each leaf
 * straight to the place where its sum begins, so nothing is ever copied. */
#include "engine/base/clock.h"
#include "workers/worker/work.h"

/* The pieces of all shares for the step's number of replicas, in the order of the leaves. */
static void plan_pieces(cse_work *work, int replicas)
{
    const int leaves = work->cluster->head->microbatches;
    const int index = cse_cluster_slot_kind(work->cluster, work->slot) == CSE_ROLE_REPLICA
                          ? cse_cluster_slot_index(work->cluster, work->slot)
                          : 0;
    if (work->pieces_for == replicas)
        return;
    work->pieces_for = replicas;
    work->piece_count = 0;
    for (int r = 0; r < replicas; r++) {
        int first, end;
        cse_tree_share(leaves, replicas, r, &first, &end);
        int count = cse_tree_pieces(leaves, first, end, work->pieces + work->piece_count);
        if (r == index % replicas) {
            work->own_first = work->piece_count;
            work->own_end = work->piece_count + count;
        }
        work->piece_count += count;
    }
}

static bool complete(const cse_cluster *cluster, cse_tree_node node, int64_t number)
{
    uint64_t word = cse_word_load(&cluster->nodes[node.heap]);
    if (cse_word_is(word, CSE_WORD_DONE, number))
        return true;
    return cse_word_is(word, CSE_WORD_SPLIT, number) &&
           complete(cluster, cse_tree_left(node), number) &&
           complete(cluster, cse_tree_right(node), number);
}

bool cse_work_pieces_complete(cse_work *work, uint64_t step)
{
    cse_work_cursor *cursor = &work->piece_cursor;
    plan_pieces(work, cse_step_replicas(step));
    while (cursor->complete < work->piece_count &&
           complete(work->cluster, work->pieces[cursor->complete], cursor->number))
        cursor->complete++;
    return cursor->complete == work->piece_count;
}

/* Claims the node, or what a recovery has split it into. */
static bool claim(cse_work *work, cse_tree_node node, int64_t number)
{
    cse_word *word = &work->cluster->nodes[node.heap];
    if (cse_word_claim(word, number, work->slot, work->incarnation)) {
        work->piece = node;
        return true;
    }
    return node.size > 1 && cse_word_is(cse_word_load(word), CSE_WORD_SPLIT, number) &&
           (claim(work, cse_tree_left(node), number) || claim(work, cse_tree_right(node), number));
}

static bool claim_piece(cse_work *work, uint64_t step)
{
    const int64_t number = cse_step_number(step) + 1;
    plan_pieces(work, cse_step_replicas(step));
    for (int i = 0; i < work->piece_count; i++) {
        int at = work->own_first + i;
        if (claim(work, work->pieces[at < work->piece_count ? at : at - work->piece_count], number))
            return true;
    }
    return false;
}

static unsigned char *sum_at(const cse_work *work, int level)
{
    if (level == 0)
        return cse_arena_partial(work->cluster, work->piece.first);
    return work->sums + (level - 1) * work->cluster->head->partial_stride;
}

static void join_top(cse_work *work, const cse_segments *segments)
{
    cse_leaves *sum = &work->held_leaves[work->held - 2];
    sum->size += work->held_leaves[work->held - 1].size;
    cse_piece_add(segments, sum_at(work, work->held - 2), sum_at(work, work->held - 1), *sum);
    work->held--;
}

/* Adds the leaf that was just computed. */
static void fold(cse_work *work, int64_t step)
{
    cse_segments segments = work->cluster->segments;
    segments.step = step;
    const int leaf = work->piece.first + work->folded;
    int carries = cse_tree_carries(++work->folded);
    if (carries > 0 && !work->cluster->head->exact) {
        cse_leaves *sum = &work->held_leaves[work->held - 1];
        sum->size++;
        cse_piece_add_leaf(&segments, sum_at(work, work->held - 1), work->leaf, *sum);
        carries--;
    } else {
        if (!work->cluster->head->exact) /* else it lies there already */
            cse_piece_set(&segments, sum_at(work, work->held), work->leaf, leaf);
        work->held_leaves[work->held++] = (cse_leaves){ leaf, 1 };
    }
    for (; carries > 0; carries--)
        join_top(work, &segments);
    if (work->folded == work->piece.size)
        while (work->held > 1)
            join_top(work, &segments);
}

static bool input_ready(cse_work *work, int64_t q)
{
    bool ready = cse_ring_ready(work->cluster, q);
    if (!ready && work->wait_since_ns == 0)
        work->wait_since_ns = cse_clock_ns();
    if (ready && work->wait_since_ns != 0) {
        atomic_fetch_add_explicit(&work->cluster->slots[work->slot].input_wait_ns,
                                  cse_clock_ns() - work->wait_since_ns, memory_order_relaxed);
        work->wait_since_ns = 0;
    }
    return ready;
}

bool cse_work_compute(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    if (!work->holding) {
        if (!claim_piece(work, step))
            return false;
        work->holding = true;
        work->folded = work->held = 0;
        cse_work_statistics_begin(work, cse_step_number(step));
        CSE_FAILPOINT(CSE_KILL_NODE_CLAIMED);
    }
    const int leaf = work->piece.first + work->folded;
    const int64_t q = cse_step_number(step) * head->microbatches + leaf;
    if (!input_ready(work, q))
        return false;
    cse_frame *frame = &work->frame;
    frame->step = cse_step_number(step);
    frame->first_sample = leaf * head->micro_batch_size;
    frame->base[CSE_SPACE_INPUT] = cse_arena_input(cluster, q);
    frame->base[CSE_SPACE_PARTIAL] = head->exact ? sum_at(work, work->held) : work->leaf;
    cse_work_run_part(work, CSE_PART_REPLICA);
    fold(work, frame->step);
    CSE_FAILPOINT(CSE_KILL_LEAF_DONE);
    if (work->folded < work->piece.size)
        return true;
    cse_work_statistics_publish(work, cse_step_number(step));
    CSE_FAILPOINT(CSE_KILL_NODE_UNPUBLISHED);
    cse_word_publish(&cluster->nodes[work->piece.heap], cse_step_number(step) + 1, CSE_WORD_DONE);
    work->holding = false;
    CSE_FAILPOINT(CSE_KILL_NODE_PUBLISHED);
    cse_work_advance(work, step);
    return true;
}
