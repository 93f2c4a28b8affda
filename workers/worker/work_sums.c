/* The sums of a step, as its programs read them: joined by REDUCE, or for some lines alone. */
#include "workers/worker/work_residency.h"

#include "workers/arena/shards.h"

typedef struct lookup_context {
    const cse_cluster *cluster;
    int64_t sequence;
} lookup_context;

static const unsigned char *partial_sum_of(void *self, cse_tree_node node)
{
    const lookup_context *context = self;
    const cse_cluster *cluster = context->cluster;
    uint64_t word = cse_word_load(&cluster->nodes[node.heap]);
    if (!cse_word_is(word, CSE_WORD_DONE, context->sequence))
        return NULL;
    return node.heap == 1 ? cse_arena_root_sum(cluster, context->sequence - 1)
                          : cse_arena_partial_sum(cluster, node.first);
}

void cse_work_plan_join(cse_work *work, int64_t sequence)
{
    const cse_cluster *cluster = work->cluster;
    if (work->join_sequence == sequence)
        return;
    lookup_context context = { cluster, sequence };
    cse_join_plan(&work->join, cse_tree_root(cluster->head->microbatches), partial_sum_of,
                  &context);
    work->join_sequence = sequence;
}

cse_frame *cse_work_frame_for(cse_work *work, uint64_t step)
{
    const cse_cluster *cluster = work->cluster;
    cse_frame *frame = &work->frame;
    frame->step = cse_step_number(step);
    frame->base[CSE_SPACE_REDUCED] = cse_arena_joined_sums(cluster, step);
    frame->base[CSE_SPACE_FETCH] = cse_arena_fetched(cluster, frame->step);
    return frame;
}

/* The base address from which the update program reads the sums of one part: those joined by
 * REDUCE, or joined here for just these lines. The base is shifted so that base + the sum's offset
 * in the reduced layout is the right address. */
unsigned char *cse_work_sums_of(cse_work *work, uint64_t step, cse_update_part part)
{
    const cse_cluster *cluster = work->cluster;
    const int64_t offset = work->direct_offsets[part.group];
    if (offset < 0 || cse_step_flags(step) & CSE_STEP_SINGLE_PARTIAL_SUM)
        return cse_work_frame_for(work, step)->base[CSE_SPACE_REDUCED];
    const int64_t elements = work->graph->groups[part.group].elements;
    const int64_t first = part.first * CSE_LINE_ELEMENTS, end = part.end * CSE_LINE_ELEMENTS;
    cse_work_plan_join(work, cse_step_number(step) + 1);
    unsigned char *base = work->joined - (offset + first * 4);
    cse_segments segments = cluster->segments;
    segments.step = cse_step_number(step);
    segments.count = work->counts_only ? 0 : segments.count;
    const int64_t range[2] = { offset / 4 + first, offset / 4 + (end < elements ? end : elements) };
    cse_work_residency_join(work, range, NULL);
    cse_join_run(&work->join, &segments, base, range[0], range[1]);
    return base;
}
