/* Runs each microbatch in order, then the reduction tree and the step programs. */
#include "run/contracts/straight_run.h"

#include <stdlib.h>
#include <string.h>

void cse_straight_run_init(cse_straight_run *run, cse_executable *executable, uint64_t seed)
{
    const cse_graph *graph = executable->graph;
    *run = (cse_straight_run){ .executable = executable, .seed = seed };
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        run->spaces[s] = cse_aligned_calloc((size_t)graph->space_bytes[s] + 64);
    run->gradients = cse_calloc((size_t)graph->microbatch_count, sizeof *run->gradients);
    for (int m = 0; m < graph->microbatch_count; m++)
        run->gradients[m] = cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_PARTIAL] + 64);
    cse_states_initialize(graph, seed, run->spaces[CSE_SPACE_STATE]);
}

void cse_straight_run_clear(cse_straight_run *run)
{
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        free(run->spaces[s]);
    for (int m = 0; m < run->executable->graph->microbatch_count; m++)
        free(run->gradients[m]);
    free(run->gradients);
}

/* Sums the microbatch gradients [low, high) into the one at `low`: the left part of a range is the
 * largest power of two below its size. */
static void fold(cse_straight_run *run, int low, int high)
{
    int left = 1;
    if (high - low < 2)
        return;
    while (left * 2 < high - low)
        left *= 2;
    fold(run, low, low + left);
    fold(run, low + left, high);
    float *a = (float *)(void *)run->gradients[low],
          *b = (float *)(void *)run->gradients[low + left];
    for (int64_t i = 0; i < run->executable->graph->space_bytes[CSE_SPACE_PARTIAL] / 4; i++)
        a[i] += b[i];
}

cse_frame cse_straight_run_frame(const cse_straight_run *run)
{
    cse_frame frame = { .seed = run->seed, .step = run->step, .collector = run->collector };
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        frame.base[s] = run->spaces[s];
    frame.base[CSE_SPACE_REDUCED] = run->gradients[0];
    return frame;
}

static void run_part(const cse_straight_run *run, cse_frame *frame, cse_part part)
{
    cse_executable *executable = run->executable;
    if (run->group_ns != NULL)
        executable->timed(executable, frame, part, run->group_ns);
    else if (part == CSE_PART_REPLICA)
        executable->replica(executable, frame);
    else
        executable->weights(executable, frame);
}

void cse_straight_run_step(cse_straight_run *run, unsigned char *const inputs[])
{
    cse_executable *executable = run->executable;
    const cse_graph *graph = executable->graph;
    cse_frame frame = cse_straight_run_frame(run);
    for (int m = 0; m < graph->microbatch_count; m++) {
        frame.first_sample = m * graph->micro_batch_size;
        frame.base[CSE_SPACE_INPUT] = inputs[m];
        frame.base[CSE_SPACE_PARTIAL] = run->gradients[m];
        run_part(run, &frame, CSE_PART_REPLICA);
    }
    fold(run, 0, graph->microbatch_count);
    frame = cse_straight_run_frame(run);
    run_part(run, &frame, CSE_PART_WEIGHTS);
    for (int g = 0; g < graph->group_count; g++) {
        int64_t elements = graph->groups[g].elements;
        const int64_t lines[2] = { 0, (elements + CSE_LINE_ELEMENTS - 1) / CSE_LINE_ELEMENTS };
        if (graph->groups[g].part == CSE_PART_UPDATE)
            executable->update(executable, &frame, g, lines, NULL);
    }
    run->step++;
}

void *cse_straight_run_state(const cse_straight_run *run, const char *name)
{
    const cse_graph *graph = run->executable->graph;
    int index = cse_graph_find_state(graph, name);
    return index < 0 ? NULL : run->spaces[CSE_SPACE_STATE] + graph->states[index].offset_bytes;
}

float cse_straight_run_fetched(const cse_straight_run *run, int index)
{
    const cse_graph *graph = run->executable->graph;
    float value;
    memcpy(&value, run->spaces[CSE_SPACE_FETCH] + graph->fetches[index].offset_bytes, sizeof value);
    return value;
}
