/* Groups are counted by group_work.h; sums and chunks are those of the arena's head. */
#include "run/measure/step_work.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/code/execute/execute.h"
#include "run/measure/step_runner.h"
#include "workers/arena/layout.h"
#include "workers/arena/memory.h"
#include "workers/arena/piece.h"

cse_rate cse_rate_of(const cse_group_work *work, double *amount)
{
    const bool bfloat16 = work->operands[0] == CSE_BFLOAT16 && work->operands[1] == CSE_BFLOAT16;
    *amount = work->product_flop > 0 ? work->product_flop : (double)work->bytes;
    if (work->product_flop <= 0)
        return CSE_RATE_OTHER;
    if (work->work_class == CSE_WORK_ATTENTION_PRODUCT)
        return bfloat16 ? CSE_RATE_ATTENTION_BFLOAT16 : CSE_RATE_ATTENTION_FLOAT32;
    return bfloat16 ? CSE_RATE_PRODUCT_BFLOAT16 : CSE_RATE_PRODUCT_FLOAT32;
}

static double state_bytes(const cse_graph *graph, const cse_group *group, double all_bytes)
{
    int count = cse_group_inputs(graph, group, NULL, 0);
    cse_node **inputs = cse_calloc((size_t)count + 1, sizeof *inputs);
    double bytes = 0;
    count = cse_group_inputs(graph, group, inputs, count);
    for (int i = 0; i < count; i++)
        if (inputs[i]->space == CSE_SPACE_STATE)
            bytes += (double)cse_node_bytes(inputs[i]);
    free(inputs);
    return bytes < all_bytes ? bytes : all_bytes; /* a table may be read by index */
}

static void count_groups(const cse_graph *graph, cse_step_work *work)
{
    work->units = cse_calloc((size_t)graph->group_count + 1, sizeof *work->units);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        cse_group_work found;
        if (group->part != CSE_PART_REPLICA) {
            double *bytes =
                group->part == CSE_PART_UPDATE ? &work->update_bytes : &work->serial_bytes;
            *bytes += (double)cse_group_bytes(graph, group);
            continue;
        }
        cse_group_work_of(graph, group, &found);
        cse_unit_work *unit = &work->units[work->unit_count++];
        unit->rate = cse_rate_of(&found, &unit->amount);
        unit->bytes = (double)found.bytes;
        unit->state_bytes = state_bytes(graph, group, unit->bytes);
        unit->per_step = group->per_step;
    }
}

static void count_sums(const cse_graph *graph, const cse_segments *segments,
                       const cse_arena_head *head, cse_step_work *work)
{
    const int64_t all = head->gradient_bytes / 4, joined = head->joined_bytes / 4;
    work->microbatches = graph->microbatch_count;
    work->micro_batch_size = graph->micro_batch_size;
    work->input_bytes = (double)head->input_bytes;
    work->sum_bytes = (double)cse_piece_bytes(segments, 0, all);
    work->joined_bytes = (double)cse_piece_bytes(segments, 0, joined < all ? joined : all);
    work->reduced_bytes = (double)head->joined_bytes;
    work->reduce_chunks = head->reduce_chunks;
    work->update_chunks = head->update_chunks;
    work->exact = head->exact != 0;
}

cse_status cse_step_work_count(const cse_graph *graph, cse_rounding weight_grad_reduce,
                               cse_step_work *work)
{
    const cse_cluster_layout layout = { .graph = graph,
                                        .replica_count = 1,
                                        .input_worker_count = 1,
                                        .weight_grad_reduce = weight_grad_reduce };
    cse_arena_head head;
    *work = (cse_step_work){ .units = NULL };
    CSE_TRY(cse_arena_plan(&layout, &head));
    cse_segment *items = cse_calloc((size_t)graph->node_count + 1, sizeof *items);
    cse_segments segments = { .items = items, .payload = weight_grad_reduce };
    cse_status status = cse_segments_find(graph, weight_grad_reduce, items, &segments.count);
    if (status == CSE_OK) {
        count_sums(graph, &segments, &head, work);
        count_groups(graph, work);
    }
    free(items);
    return status;
}

cse_status cse_step_work_of_job(const cse_job_settings *job, cse_step_work *work)
{
    cse_job_result compiled = { 0 };
    cse_graph *graph = NULL;
    cse_rounding payload = { 0 };
    const char *reduce = job->session.weight_grad_reduce;
    *work = (cse_step_work){ .units = NULL };
    CSE_TRY(cse_step_runner_compile(job, &compiled));
    CSE_TRY(cse_executable_read_graph(compiled.artefact_directory, NULL, &graph));
    cse_rounding_from_name(reduce != NULL ? reduce : "fp32", &payload); /* compiling checked it */
    cse_status status = cse_step_work_count(graph, payload, work);
    cse_graph_destroy(&graph);
    return status;
}

void cse_step_work_clear(cse_step_work *work)
{
    free(work->units);
    *work = (cse_step_work){ .units = NULL };
}
