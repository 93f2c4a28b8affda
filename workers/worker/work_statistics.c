/* Tensor statistics: every n-th step, the values of the graph's tracked tensors are counted.
 *
 * Replicas count the tensors of their program microbatch by microbatch in private memory, copy the
 * counts after the partial sum when that is published, and the serial stage adds them up. Counts
 * are integers, so any partition of the batch gives the same sums, also when a node is computed
 * again after a death. The serial stage itself counts what exists once per step: it sums the
 * gradients block by block, reads the states before their update, and runs the update program
 * without storing to learn the new states. It writes only the step's record, starting from zero, so
 * it can be repeated, and the update stage is the same as in other steps. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/base/arena.h"
#include "engine/code/execute/value_log.h"
#include "workers/arena/private_memory.h"
#include "workers/worker/work_state.h"

cse_status cse_work_statistics_prepare(cse_work *work)
{
    const cse_arena_head *head = work->cluster->head;
    const size_t record_bytes = (size_t)head->statistics_stride;
    const size_t proposed_bytes = (size_t)CSE_MAX_PROPOSED * CSE_PROPOSED_ELEMENTS * sizeof(float);
    if (head->statistics_every == 0)
        return CSE_OK;
    if (work->graph->tracked_count * (int64_t)sizeof(cse_tensor_statistics) !=
        head->statistics_bytes)
        return cse_fail(CSE_UNAVAILABLE, "the compiled step tracks other tensors than the "
                                         "cluster was made for: recompile, or empty the compile "
                                         "directory");
    /* Takes no memory until the first step with statistics touches it. */
    work->statistics_memory_bytes = (size_t)cse_private_statistics_bytes(head, work->graph);
    work->statistics_memory = mmap(NULL, work->statistics_memory_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (work->statistics_memory == MAP_FAILED) {
        work->statistics_memory = NULL;
        return cse_fail(CSE_TEMPORARY, "no memory of %zu bytes for tensor statistics",
                        work->statistics_memory_bytes);
    }
    work->statistics = (cse_tensor_statistics *)(void *)work->statistics_memory;
    work->proposed = (float *)(void *)(work->statistics_memory + record_bytes);
    cse_statistics_collector_init(&work->collector, work->graph, work->statistics,
                                  work->statistics_memory + record_bytes + proposed_bytes);
    work->collector.values = work->values;
    return CSE_OK;
}

void cse_work_statistics_release(cse_work *work)
{
    if (work->statistics_memory != NULL)
        munmap(work->statistics_memory, work->statistics_memory_bytes);
}

/* A file of values that could not be written fails the worker after the unit in hand. */
static void note_values(cse_work *work)
{
    if (work->values != NULL && work->status == CSE_OK)
        work->status = cse_value_log_status(work->values);
}

/* ---- a node of the reduction tree ---- */

void cse_work_statistics_begin(cse_work *work, int64_t step)
{
    work->frame.collector = NULL;
    if (!cse_arena_takes_statistics(work->cluster, step))
        return;
    memset(work->statistics, 0, (size_t)work->cluster->head->statistics_bytes);
    work->collector.records = work->statistics;
    work->frame.collector = &work->collector;
}

void cse_work_statistics_publish(cse_work *work, int64_t step)
{
    const cse_cluster *cluster = work->cluster;
    work->frame.collector = NULL;
    note_values(work);
    if (cse_arena_takes_statistics(cluster, step))
        memcpy(cse_arena_partial_sum_statistics(cluster,
                                                cse_arena_partial_sum(cluster, work->node.first)),
               work->statistics, (size_t)cluster->head->statistics_bytes);
}

/* ---- the serial stage ---- */

void cse_work_statistics_open(cse_work *work, uint64_t step)
{
    const cse_cluster *cluster = work->cluster;
    const int64_t sequence = cse_step_number(step);
    work->frame.collector = NULL;
    if (!cse_arena_takes_statistics(cluster, sequence))
        return;
    cse_tensor_statistics *records = cse_arena_statistics(cluster, sequence);
    memset(records, 0, (size_t)cluster->head->statistics_bytes);
    cse_work_plan_join(work, sequence + 1);
    for (int i = 0; i < work->join.count; i++)
        if (work->join.steps[i].partial != NULL)
            cse_tensor_statistics_add(
                records, cse_arena_partial_sum_statistics(cluster, work->join.steps[i].partial),
                work->graph->tracked_count);
    work->collector.records = records;
    work->frame.collector = &work->collector;
}

/* Joins the gradient block by block, whether or not REDUCE has joined it before, and counts it. */
static void count_gradient(cse_work *work, int64_t step, const cse_tracked_tensor *o)
{
    cse_tensor_statistics *record = &work->collector.records[o - work->graph->tracked];
    cse_segments segments = work->cluster->segments;
    segments.step = step;
    const int64_t elements = cse_shape_elements(o->node->shape), offset = o->node->offset_bytes;
    const int64_t block = work->cluster->head->update_chunk_lines * CSE_LINE_ELEMENTS /
                          CSE_DIGEST_BLOCK * CSE_DIGEST_BLOCK;
    for (int64_t first = 0; first < elements; first += block) {
        const int64_t count = elements - first < block ? elements - first : block;
        unsigned char *base = work->joined - (offset + first * 4);
        cse_join_run(&work->join, &segments, base, offset / 4 + first, offset / 4 + first + count);
        cse_tensor_statistics_count(record, &(cse_tensor_values){ .values = work->joined,
                                                                  .stored = CSE_FLOAT32,
                                                                  .rounded = CSE_FLOAT32,
                                                                  .count = count,
                                                                  .first_index = first });
        if (o->whole && work->values != NULL)
            cse_value_log_add(
                work->values,
                &(cse_value_run){ .step = step + 1,
                                  .microbatch = CSE_VALUES_OF_STEP,
                                  .tensor = o - work->graph->tracked,
                                  .first = first,
                                  .count = count,
                                  .values = (const float *)(const void *)work->joined });
    }
}

/* `values`: of the state's assign and, if the state has them, of the kept term and its delta. */
static void count_state(cse_work *work, const cse_tracked_tensor *o, const float *const values[],
                        const int64_t range[2])
{
    const cse_state_entry *state = &work->graph->states[o->node->attributes.integers[0]];
    cse_tensor_statistics *record = &work->collector.records[o - work->graph->tracked];
    const float *before =
        (const float *)(const void *)(work->frame.base[CSE_SPACE_STATE] + state->offset_bytes) +
        range[0];
    const int64_t count = range[1] - range[0];
    cse_tensor_statistics_count(record, &(cse_tensor_values){ .values = before,
                                                              .stored = CSE_FLOAT32,
                                                              .rounded = CSE_FLOAT32,
                                                              .count = count,
                                                              .first_index = range[0] });
    record->digest_after += cse_tensor_digest(values[0], count, range[0]);
    if (state->trainable)
        cse_count_update(record, before, values[0], count);
    if (o->kept != NULL)
        record->absorbed += cse_count_absorbed(before, values[1], values[2], count);
}

static void count_update(cse_work *work, uint64_t step, cse_update_part part)
{
    const cse_graph *graph = work->graph;
    const int64_t lines[2] = { part.first, part.end };
    const int64_t end = part.end * CSE_LINE_ELEMENTS, elements = graph->groups[part.group].elements;
    const int64_t range[2] = { part.first * CSE_LINE_ELEMENTS, end < elements ? end : elements };
    float *values[CSE_MAX_PROPOSED];
    for (int i = 0; i < CSE_MAX_PROPOSED; i++)
        values[i] = work->proposed + i * CSE_PROPOSED_ELEMENTS;
    work->frame.base[CSE_SPACE_REDUCED] = cse_work_sums_of(work, step, part);
    work->executable->propose(work->executable, &work->frame, part.group, lines, values);
    int next = 0;
    for (int i = 0; i < graph->tracked_count; i++) {
        const cse_tracked_tensor *o = &graph->tracked[i];
        if (o->kind != CSE_TRACKED_STATE || o->node->group != part.group)
            continue;
        count_state(work, o, (const float *const *)values + next, range);
        next += o->kept != NULL ? 3 : 1;
    }
}

void cse_work_statistics_close(cse_work *work, uint64_t step)
{
    const cse_graph *graph = work->graph;
    work->frame.collector = NULL;
    if (!cse_arena_takes_statistics(work->cluster, cse_step_number(step)))
        return;
    for (int i = 0; i < graph->tracked_count; i++)
        if (graph->tracked[i].kind == CSE_TRACKED_GRADIENT)
            count_gradient(work, cse_step_number(step), &graph->tracked[i]);
    for (int g = 0; g < graph->group_count; g++) {
        cse_node *proposed[CSE_MAX_PROPOSED];
        const int64_t lines = cse_group_lines(&graph->groups[g]);
        if (graph->groups[g].part != CSE_PART_UPDATE || cse_group_proposed(graph, g, proposed) == 0)
            continue;
        for (int64_t first = 0; first < lines; first += CSE_PROPOSED_LINES)
            count_update(work, step,
                         (cse_update_part){ .group = g,
                                            .first = first,
                                            .end = first + CSE_PROPOSED_LINES < lines
                                                       ? first + CSE_PROPOSED_LINES
                                                       : lines });
    }
    note_values(work);
}
