/* Times are medians over the steps; sizes are those of the arena that they ran in. One table of
 * members serves reading and writing. */
#include "run/measure/host_profile.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/graph/passes/memory_plan.h"
#include "run/measure/measured_numbers.h"
#include "run/measure/step_runner.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/final_elements.h"
#include "workers/arena/layout.h"
#include "workers/arena/piece.h"

enum { WARM_UP_STEPS = 2 };

/* ---- measurement ---- */

/* What a checkpoint makes the steps wait for: a copy of the states into new memory. */
static double save_seconds(const cse_cluster *cluster)
{
    const size_t bytes = (size_t)cluster->head->state_bytes;
    const int64_t start_ns = cse_clock_ns();
    char *copy = cse_malloc(bytes + 1);
    memcpy(copy, cse_cluster_states_view(cluster), bytes);
    __asm__ volatile("" : : "r"(copy) : "memory"); /* the copy is used */
    free(copy);
    return (double)(cse_clock_ns() - start_ns) * 1e-9;
}

static void read_sizes(const cse_step_runner *runner, cse_host_profile *profile)
{
    const cse_cluster *cluster = cse_step_runner_cluster_view(runner);
    const cse_arena_head *head = cluster->head;
    profile->microbatches = head->microbatches;
    profile->micro_batch_size = head->micro_batch_size;
    for (int i = 0; i < cluster->segments.count; i++) {
        const cse_segment *segment = &cluster->segments.items[i];
        *(segment->rounded ? &profile->rounded_elements : &profile->exact_elements) +=
            segment->count;
    }
    profile->arena_bytes = head->partial_sums_offset;
    profile->partial_sum_bytes = head->partial_sum_stride;
    profile->process_bytes =
        cse_memory_plan_figures(cse_step_runner_graph_view(runner)).workspace_bytes;
}

/* From the times of the kernels: when each part of a gradient is final. */
static void find_early(const cse_cluster *cluster, const cse_graph *graph, const double group_s[],
                       cse_host_profile *profile)
{
    const int64_t whole = cse_piece_bytes(&cluster->segments, 0, cluster->head->gradient_bytes / 4);
    int64_t *final = cse_calloc((size_t)graph->group_count + 1, sizeof *final);
    double all_s = 0, at_s = 0;
    int part = 0;
    cse_final_elements(graph, final);
    for (int g = 0; g < graph->group_count; g++)
        all_s += group_s[g];
    for (int g = 0; g < graph->group_count && all_s > 0; g++) {
        at_s += group_s[g];
        if (graph->groups[g].part != CSE_PART_REPLICA)
            continue;
        const int64_t bytes = cse_piece_bytes(&cluster->segments, 0, final[g]);
        for (; part < CSE_HOST_PIECE_PARTS && bytes * CSE_HOST_PIECE_PARTS >= whole * (part + 1);
             part++)
            profile->early[part] = fmax(0, 1 - at_s / all_s);
    }
    free(final);
}

/* What is computed once a step counts only where a step has one microbatch. */
static cse_status measure_early(cse_step_runner *runner, cse_host_profile *profile)
{
    const cse_graph *graph = cse_step_runner_graph_view(runner);
    cse_kernel_time *times = cse_calloc((size_t)graph->group_count + 1, sizeof *times);
    double *group_s = cse_calloc((size_t)graph->group_count + 1, sizeof *group_s);
    cse_step_time taken;
    int count = 0;
    cse_status status = cse_step_runner_run_timed(runner, &taken, times, &count);
    for (int i = 0; i < count; i++) {
        const cse_group *group = &graph->groups[times[i].kernel];
        if (group->part == CSE_PART_REPLICA && (!group->per_step || profile->microbatches == 1))
            group_s[times[i].kernel] = (double)times[i].median_ns * 1e-9;
    }
    if (status == CSE_OK)
        find_early(cse_step_runner_cluster_view(runner), graph, group_s, profile);
    free(group_s);
    free(times);
    return status;
}

cse_status cse_host_profile_measure(cse_step_runner *runner, int64_t steps, int64_t most_ns,
                                    cse_host_profile *profile)
{
    const int64_t start_ns = cse_clock_ns();
    int64_t counted = 0;
    double *gradients_s = cse_calloc(2 * (size_t)steps, sizeof *gradients_s);
    double *update_s = gradients_s + steps;
    cse_status status = CSE_OK;
    *profile = (cse_host_profile){ .microbatches = 0 };
    for (int64_t step = -WARM_UP_STEPS; step < steps && status == CSE_OK; step++) {
        const bool is_late = most_ns > 0 && cse_clock_ns() - start_ns > most_ns;
        cse_step_time taken;
        if (is_late && counted > 0)
            break;
        if (is_late && step < 0) /* the first one was long: the caches play no part in it */
            step = 0;
        status = cse_step_runner_run(runner, &taken);
        if (step < 0 || status != CSE_OK)
            continue;
        gradients_s[counted] = (double)taken.gradients_ns * 1e-9;
        update_s[counted++] = (double)(taken.clock_ns - taken.gradients_ns - taken.input_ns) * 1e-9;
    }
    if (status == CSE_OK) {
        read_sizes(runner, profile);
        profile->microbatch_s =
            cse_median_of_times(gradients_s, counted) / (double)profile->microbatches;
        profile->update_s = cse_median_of_times(update_s, counted);
        profile->save_s = save_seconds(cse_step_runner_cluster_view(runner));
        status = measure_early(runner, profile);
    }
    free(gradients_s);
    return status;
}

/* ---- file ---- */

#define WHOLE(name, least, most)                                   \
    {                                                              \
#name, offsetof(cse_host_profile, name), true, least, most \
    }
#define REAL(name, least, most)                                     \
    {                                                               \
#name, offsetof(cse_host_profile, name), false, least, most \
    }

static const cse_measured_number members[] = {
    WHOLE(microbatches, 1, 1 << 20),
    WHOLE(micro_batch_size, 1, 1e9),
    REAL(microbatch_s, 1e-9, 1e6),
    REAL(update_s, 0, 1e6),
    REAL(save_s, 0, 1e6),
    WHOLE(rounded_elements, 0, 1e13),
    WHOLE(exact_elements, 0, 1e13),
    WHOLE(arena_bytes, 0, 1e15),
    WHOLE(partial_sum_bytes, 0, 1e15),
    WHOLE(process_bytes, 0, 1e15),
};
static const cse_measured_file profile_file = { .what = "the profile",
                                                .numbers = "",
                                                .option = "--save_profile",
                                                .table = members,
                                                .count = sizeof members / sizeof *members };

json_t *cse_host_profile_json(const cse_host_profile *profile)
{
    json_t *object = json_object();
    cse_measured_numbers_put(&profile_file, profile, object);
    json_t *early = json_array();
    for (int part = 0; part < CSE_HOST_PIECE_PARTS; part++)
        json_array_append_new(early, json_real(profile->early[part]));
    json_object_set_new(object, "early", early);
    return object;
}

cse_status cse_host_profile_write(const cse_host_profile *profile, const char *path)
{
    return cse_measured_file_write(&profile_file, cse_host_profile_json(profile), JSON_INDENT(2),
                                   path);
}

static cse_status read_early(const json_t *object, const char *path, cse_host_profile *profile)
{
    const json_t *early = json_object_get(object, "early");
    bool fits = early == NULL || json_array_size(early) == CSE_HOST_PIECE_PARTS;
    for (int part = 0; early != NULL && fits && part < CSE_HOST_PIECE_PARTS; part++) {
        const json_t *value = json_array_get(early, (size_t)part);
        const double number = json_is_number(value) ? json_number_value(value) : NAN;
        const double most = part > 0 ? profile->early[part - 1] : 1;
        fits = number >= 0 && number <= most;
        profile->early[part] = number;
    }
    return fits
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "%s: \"early\" is no array of %d numbers from 1 to 0, none above the one "
                          "before it",
                          path, CSE_HOST_PIECE_PARTS);
}

cse_status cse_host_profile_take(const json_t *object, const char *source,
                                 cse_host_profile *profile)
{
    *profile = (cse_host_profile){ .microbatches = 0 };
    CSE_TRY(cse_measured_numbers_take(&profile_file, object, source, profile));
    return read_early(object, source, profile);
}

cse_status cse_host_profile_read(const char *path, cse_host_profile *profile)
{
    json_t *object = NULL;
    CSE_TRY(cse_measured_file_read(&profile_file, path, &object));
    cse_status status = cse_host_profile_take(object, path, profile);
    json_decref(object);
    return status;
}
