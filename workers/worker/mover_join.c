/* Joining the own stripes, each as soon as it is here and final. What other hosts have sent of
 * their pieces lies in the places of these pieces. The mover has claimed their words, and gives
 * them back in the end, since they are never complete. */
#include <string.h>

#include "workers/worker/mover_state.h"

bool cse_mover_holds(const cse_mover *mover, int node)
{
    const uint64_t word = cse_word_load(&mover->cluster->nodes[node]);
    return cse_word_state_of(word) == CSE_WORD_CLAIMED && cse_word_owner(word) == mover->work->slot;
}

void cse_mover_give_back(cse_mover *mover, int host)
{
    const int count = host != mover->cluster->head->host && mover->cut != NULL
                          ? cse_mover_pieces(mover, host, mover->theirs)
                          : 0;
    bool any = false;
    for (int i = 0; i < count; i++) {
        cse_word *word = &mover->cluster->nodes[mover->theirs[i].heap];
        if (!cse_mover_holds(mover, mover->theirs[i].heap))
            continue;
        cse_word_publish(word, cse_word_sequence_before(cse_word_sequence(cse_word_load(word)), 1),
                         CSE_WORD_DONE);
        any = true;
    }
    if (any)
        cse_doorbell_ring(mover->cluster, CSE_DOORBELL_COMMIT);
}

void cse_mover_advance(cse_mover *mover)
{
    const uint64_t step = cse_word_load(mover->cluster->step);
    cse_work_place_cursors(mover->work, step);
    cse_work_advance(mover->work, step);
}

static const unsigned char *partial_sum_of(void *self, cse_tree_node node)
{
    const cse_mover *mover = self;
    const int host = cse_host_cut_of(mover->cut, node.first);
    const bool theirs = host != mover->cluster->head->host &&
                        node.first + node.size <= mover->cut->bounds[host + 1];
    return theirs || cse_node_is_done(mover->cluster, node, mover->step + 1)
               ? cse_arena_partial_sum(mover->cluster, node.first)
               : NULL;
}

/* Of pieces that are read while they are computed, the sources are known. */
static const unsigned char *values_of(void *self, cse_tree_node node)
{
    const unsigned char *sum = cse_mover_source_sum(self, node);
    return sum != NULL ? sum : partial_sum_of(self, node);
}

static bool is_owner(const cse_mover *mover, int host)
{
    return host != mover->cluster->head->host && cse_hosts_have(&mover->owners, host);
}

/* Rounds of which all pieces of a host are here. */
static int rounds_here(const cse_mover *mover, int host)
{
    const cse_piece_stream stream = cse_mover_stream(mover, host, mover->cluster->head->host);
    const cse_piece_cursor *cursor = &mover->peers[host].receives;
    if (cursor->piece >= stream.pieces)
        return stream.values.rounds;
    if (cursor->piece < stream.pieces - 1)
        return 0;
    return cursor->part == CSE_FRAMES_OF_VALUES ? cursor->round : stream.values.rounds;
}

/* Whether all of the own stripe that ends at element `end` is here; finds its own sources. */
static bool can_join(cse_mover *mover, int round, int64_t end)
{
    for (int h = 0; h < mover->cut->host_count; h++)
        if (is_owner(mover, h) && rounds_here(mover, h) <= round)
            return false;
    mover->source_count = 0;
    for (int i = 0; i < mover->own_count; i++)
        if (!cse_mover_find_sources(mover, mover->own[i], end))
            return false;
    return true;
}

/* False: what was joined is of a process that has died meanwhile. */
static bool join_stripe(cse_mover *mover, const int64_t stripe[2])
{
    const cse_arena_head *head = mover->cluster->head;
    cse_segments segments = mover->cluster->segments;
    segments.step = mover->step;
    cse_join_plan(&mover->work->join, cse_tree_root(head->microbatches), values_of, mover);
    mover->wire_step = -1;
    for (int64_t at = stripe[0]; at < stripe[1]; at += mover->frame_elements) {
        const int64_t end =
            stripe[1] - at > mover->frame_elements ? at + mover->frame_elements : stripe[1];
        const int64_t range[2] = { at, end };
        unsigned char *base = (unsigned char *)mover->values - 4 * at;
        cse_join_run(&mover->work->join, &segments, base, at, end);
        cse_piece_take_joined(&segments, base, range, mover->wire);
        cse_piece_put(&segments, mover->wire, range,
                      cse_arena_root_sum(mover->cluster, mover->step));
    }
    return cse_mover_sources_stood(mover);
}

static void join_own(cse_mover *mover, const cse_stripes *own)
{
    int64_t stripe[2];
    for (; mover->joined < own->rounds; mover->joined++) {
        cse_stripe_of(own, mover->joined, stripe);
        if (!can_join(mover, mover->joined, stripe[1]) || !join_stripe(mover, stripe))
            return;
    }
}

/* The statistics of a piece are behind its values, and the own ones are there when it is done. */
static bool all_is_there(cse_mover *mover, const cse_stripes *own)
{
    for (int h = 0; h < mover->cut->host_count; h++)
        if (is_owner(mover, h) && (mover->peers[h].receives.part != CSE_FRAMES_END ||
                                   mover->peers[h].receives_joined.part != CSE_FRAMES_END))
            return false;
    for (int i = 0; i < mover->own_count; i++)
        if (!cse_mover_covered(mover->cluster, mover->own[i], mover->step + 1))
            return false;
    return mover->joined == own->rounds;
}

/* Counts are added up in any order. */
static void add_statistics(cse_mover *mover, cse_tree_node node, cse_tensor_statistics *sum)
{
    const cse_cluster *cluster = mover->cluster;
    const unsigned char *partial = partial_sum_of(mover, node);
    if (partial != NULL) {
        cse_tensor_statistics_add(
            sum, cse_arena_partial_sum_statistics(cluster, partial),
            (int)(cluster->head->statistics_bytes / (int64_t)sizeof(cse_tensor_statistics)));
        return;
    }
    add_statistics(mover, cse_tree_left(node), sum);
    add_statistics(mover, cse_tree_right(node), sum);
}

static void publish_root(cse_mover *mover)
{
    cse_cluster *cluster = mover->cluster;
    const cse_tree_node root = cse_tree_root(cluster->head->microbatches);
    unsigned char *sum = cse_arena_root_sum(cluster, mover->step);
    if (!cse_word_claim(&cluster->nodes[root.heap], mover->step + 1, mover->work->slot,
                        mover->work->incarnation))
        return;
    if (cse_arena_takes_statistics(cluster, mover->step)) {
        cse_tensor_statistics *statistics = cse_arena_partial_sum_statistics(cluster, sum);
        memset(statistics, 0, (size_t)cluster->head->statistics_bytes);
        add_statistics(mover, root, statistics);
    }
    CSE_FAILPOINT(PIECE_UNPUBLISHED);
    cse_word_publish(&cluster->nodes[root.heap], mover->step + 1, CSE_WORD_DONE);
    CSE_FAILPOINT(PIECE_PUBLISHED);
    for (int h = 0; h < mover->cut->host_count; h++)
        cse_mover_give_back(mover, h);
    cse_mover_advance(mover);
}

void cse_mover_join(cse_mover *mover)
{
    if (!mover->sharded)
        return;
    const cse_stripes own =
        cse_shard_of(&mover->owners, mover->cluster->head->host, cse_mover_elements(mover));
    if (cse_mover_has_root(mover)) {
        mover->joined = own.rounds; /* by a mover before, perhaps; others may still need it */
        return;
    }
    join_own(mover, &own);
    if (all_is_there(mover, &own))
        publish_root(mover);
}
