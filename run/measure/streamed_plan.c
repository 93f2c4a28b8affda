/* The kernels' times are scaled to the time of the whole step, so that what is between them, sums
 * of gradients above all, has its part. */
#include "run/measure/streamed_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/config/states_settings.h"
#include "run/measure/imagined_run.h"
#include "run/measure/step_runner.h"
#include "workers/arena/arena_budget.h"
#include "workers/arena/memory.h"
#include "workers/control/execution_needs.h"

typedef struct arithmetic {
    const cse_graph *graph;
    double *group_s; /* as cse_imagined_rates has it */
    double least_s;  /* of the steps so far; 0: none */
} arithmetic;

/* ---- the arithmetic ---- */

static bool is_of_update(const cse_graph *graph, int group)
{
    return graph->groups[group].part != CSE_PART_REPLICA;
}

/* Seconds of the kernels, of a whole step, of gradients or of what follows them. */
static double kernels_s(const cse_graph *graph, const cse_kernel_time *times, int count,
                        bool of_update)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        if (is_of_update(graph, times[i].kernel) == of_update)
            sum += (double)times[i].total_ns * 1e-9;
    return sum;
}

static void take_times(arithmetic *a, const cse_step_time *taken, const cse_kernel_time *times,
                       int count)
{
    const double gradients_s = (double)taken->gradients_ns * 1e-9;
    const double rest_s = (double)(taken->clock_ns - taken->gradients_ns - taken->input_ns) * 1e-9;
    const double of_gradients = gradients_s / kernels_s(a->graph, times, count, false);
    const double of_rest = rest_s / kernels_s(a->graph, times, count, true);
    for (int i = 0; i < count; i++) {
        const cse_group *group = &a->graph->groups[times[i].kernel];
        const double total_s = (double)times[i].total_ns * 1e-9;
        if (group->part == CSE_PART_REPLICA)
            a->group_s[times[i].kernel] = of_gradients * total_s / (double)times[i].calls;
        else
            a->group_s[times[i].kernel] =
                of_rest * total_s /
                (group->part == CSE_PART_UPDATE ? (double)cse_group_lines(group) : 1);
    }
    a->least_s = gradients_s + rest_s;
}

static cse_status measure_steps(cse_step_runner *runner, int64_t steps, arithmetic *a)
{
    cse_kernel_time *times = cse_calloc((size_t)a->graph->group_count + 1, sizeof *times);
    cse_status status = CSE_OK;
    for (int64_t step = -1; step < steps && status == CSE_OK; step++) {
        cse_step_time taken;
        int count = 0;
        status = cse_step_runner_run_timed(runner, &taken, times, &count);
        const double taken_s = (double)(taken.clock_ns - taken.input_ns) * 1e-9;
        if (status == CSE_OK && step >= 0 && (a->least_s == 0 || taken_s < a->least_s))
            take_times(a, &taken, times, count);
    }
    free(times);
    return status;
}

/* ---- the imagined run ---- */

/* As cse_configure makes them of the same settings. */
static cse_execution execution_of(const cse_job_settings *settings, const cse_states_place *place,
                                  const cse_graph *graph)
{
    const cse_configuration *c = &settings->session;
    cse_rounding payload = { 0 };
    cse_rounding_from_name(c->weight_grad_reduce != NULL ? c->weight_grad_reduce : "fp32",
                           &payload); /* compiling checked it */
    return (cse_execution){
        .graph = graph,
        .seed = c->seed,
        .num_steps = 1,
        .state_digests = !settings->no_step_digests,
        .cluster = { .num_csx = c->num_csx > 0 ? c->num_csx : 1,
                     .num_workers_per_csx = c->num_workers_per_csx > 0 ? c->num_workers_per_csx : 1,
                     .max_wgt_servers = c->max_wgt_servers,
                     .weight_grad_reduce = payload,
                     .states_directory = place->directory,
                     .states_memory_bytes = place->memory_bytes,
                     .states_by_layers = place->schedule == CSE_STATES_BY_LAYERS,
                     .states_by_layers_with_room = place->schedule == CSE_STATES_BY_ROOM,
                     .memory_limit_bytes = settings->memory_limit_bytes },
    };
}

static const char *bound_of(const cse_streamed_plan *plan)
{
    const double tolerance = 1.05;
    if (plan->step_s <= tolerance * plan->arithmetic_s)
        return "arithmetic";
    return plan->step_s <= tolerance * plan->disk_s ? "disk" : "memory";
}

static cse_status imagine(const cse_cluster_layout *layout, const double *group_s,
                          cse_streamed_plan *plan)
{
    cse_imagined_step free_disk, step;
    const cse_imagined_rates none = { .group_s = group_s };
    const cse_imagined_rates rates = { plan->disk.read_bytes_per_s, plan->disk.write_bytes_per_s,
                                       group_s };
    CSE_TRY(cse_imagined_run(layout, &none, &free_disk));
    CSE_TRY(cse_imagined_run(layout, &rates, &step));
    plan->read_bytes = step.read_bytes;
    plan->written_bytes = step.written_bytes;
    plan->arithmetic_s = free_disk.seconds;
    plan->disk_s = step.read_bytes / plan->disk.read_bytes_per_s +
                   step.written_bytes / plan->disk.write_bytes_per_s;
    plan->step_s = step.seconds;
    plan->waited_s = step.waited_s;
    plan->bound = bound_of(plan);
    return CSE_OK;
}

static cse_status find_sizes(const cse_cluster_layout *layout, cse_streamed_plan *plan)
{
    cse_arena_head head;
    int group;
    CSE_TRY(cse_arena_plan(layout, &head));
    plan->memory_bytes = head.resident_bytes;
    plan->least_bytes = cse_arena_least_resident(layout->graph, &head, &group);
    plan->file_bytes = head.total_bytes;
    plan->by_layers = head.by_layers != 0;
    if (plan->memory_bytes >= plan->least_bytes)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "states.memory is %lld bytes; this step needs at least %lld with %d processes "
                    "that compute",
                    (long long)plan->memory_bytes, (long long)plan->least_bytes,
                    head.replicas + head.weight_servers);
}

static cse_status make(cse_step_runner *runner, const cse_job_settings *settings, int64_t steps,
                       cse_streamed_plan *plan)
{
    cse_states_place place;
    CSE_TRY(cse_states_place_read(settings->states, &place));
    arithmetic a = { .graph = cse_step_runner_graph_view(runner) };
    const cse_execution execution = execution_of(settings, &place, a.graph);
    cse_cluster_layout layout = cse_execution_layout(&execution);
    CSE_TRY(find_sizes(&layout, plan));
    a.group_s = cse_calloc((size_t)a.graph->group_count + 1, sizeof *a.group_s);
    plan->is_measured = steps > 0;
    cse_status status = plan->is_measured ? measure_steps(runner, steps, &a) : CSE_OK;
    if (status == CSE_OK && plan->disk.read_bytes_per_s <= 0)
        status = cse_disk_rates_measure(place.directory, &plan->disk);
    if (status == CSE_OK)
        status = imagine(&layout, a.group_s, plan);
    free(a.group_s);
    return status;
}

cse_status cse_streamed_plan_make(const cse_job_settings *job, int64_t steps,
                                  const cse_disk_rates *disk, cse_streamed_plan *plan)
{
    cse_job_settings settings = *job;
    cse_states_place place;
    cse_step_runner *runner = NULL;
    *plan = (cse_streamed_plan){ .disk = *disk };
    CSE_TRY(cse_states_place_read(settings.states, &place));
    if (place.directory == NULL)
        return cse_fail(CSE_CONFIG, "plan: the states of this job are in memory: --streaming wants "
                                    "states: {keep_in: file, directory: ..., memory: ...}");
    settings.loop = (cse_loop_settings){ .num_steps = steps + 1 };
    settings.no_checkpoints = true;
    settings.autoload_last_checkpoint = false;
    settings.checkpoint_path = NULL;
    CSE_TRY(cse_step_runner_new_streamed(&settings, steps + 1, &runner));
    cse_status status = make(runner, job, steps, plan);
    cse_step_runner_destroy(&runner);
    return status;
}

/* ---- output ---- */

json_t *cse_streamed_plan_json(const cse_streamed_plan *plan)
{
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "schedule",
        plan->by_layers ? "layers" : "microbatches", "memory_bytes", (json_int_t)plan->memory_bytes,
        "least_bytes", (json_int_t)plan->least_bytes, "file_bytes", (json_int_t)plan->file_bytes,
        "read_bytes", plan->read_bytes, "written_bytes", plan->written_bytes, "read_bytes_per_s",
        plan->disk.read_bytes_per_s, "write_bytes_per_s", plan->disk.write_bytes_per_s, "disk_s",
        plan->disk_s);
    json_t *times = json_pack("{s:f, s:f, s:f, s:s}", "arithmetic_s", plan->arithmetic_s, "step_s",
                              plan->step_s, "waited_s", plan->waited_s, "bound", plan->bound);
    if (plan->is_measured)
        json_object_update(object, times);
    json_decref(times);
    return object;
}

void cse_streamed_plan_print(const cse_streamed_plan *plan)
{
    printf("states in a file of %.1f MB, of which %.1f MB are in memory; the least is %.1f MB\n",
           (double)plan->file_bytes * 1e-6, (double)plan->memory_bytes * 1e-6,
           (double)plan->least_bytes * 1e-6);
    printf("schedule: %s\n", plan->by_layers
                                 ? "layers: all microbatches of a replica go through one together"
                                 : "microbatches: one after the other goes through all layers");
    printf("a step reads %.1f MB and writes %.1f MB, at %.0f MB/s and %.0f MB/s: %.4g s\n",
           plan->read_bytes * 1e-6, plan->written_bytes * 1e-6, plan->disk.read_bytes_per_s * 1e-6,
           plan->disk.write_bytes_per_s * 1e-6, plan->disk_s);
    if (!plan->is_measured) {
        printf("with --steps 1 or more the arithmetic is measured, and the time of a step told\n");
        return;
    }
    printf("arithmetic of a step %.4g s; a step %.4g s, of which it waits %.4g s for the disk; "
           "bound by %s\n",
           plan->arithmetic_s, plan->step_s, plan->waited_s, plan->bound);
}
