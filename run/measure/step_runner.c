/* A cluster of one slot that has every role; this process is attached to it. */
#include "run/measure/step_runner.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/config/states_settings.h"
#include "engine/base/memory_limit.h"
#include "run/job/job_settings.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/disk_model.h"
#include "workers/arena/layout.h"
#include "workers/arena/memory.h"
#include "workers/worker/work.h"

struct cse_step_runner {
    cse_disk_model disk; /* of a runner that streams */
    bool streams;
    cse_executable *executable;
    cse_dataloader *loader;
    cse_microbatch_source *source, timed_source;
    cse_cluster *cluster;
    cse_work *work;
    int64_t steps;
    int64_t input_ns; /* of all steps */
};

static cse_status read_timed(void *self, int64_t step, int64_t m, void *bytes)
{
    cse_step_runner *runner = self;
    const int64_t start_ns = cse_clock_ns();
    cse_status status = runner->source->read(runner->source->self, step, m, bytes);
    runner->input_ns += cse_clock_ns() - start_ns;
    return status;
}

cse_status cse_step_runner_compile(const cse_job_settings *settings, cse_job_result *result)
{
    cse_job_settings compiled = *settings;
    compiled.mode = CSE_JOB_COMPILE;
    compiled.val_dataloader = NULL;
    const cse_job_environment environment = cse_job_environment_of(&compiled);
    return cse_job_run(&environment, result);
}

/* Memory is taken for what the section `states` keeps there, and for no file. */
static cse_status imagine_cluster(cse_step_runner *runner, const cse_job_settings *settings,
                                  cse_cluster_layout layout)
{
    cse_states_place place;
    CSE_TRY(cse_states_place_read(settings->states, &place));
    layout.directory = place.directory;
    layout.resident_bytes = place.memory_bytes;
    CSE_TRY(cse_cluster_imagine(&layout, &runner->cluster));
    cse_disk_model_begin(&runner->disk, 0, 0);
    runner->disk.base = runner->cluster->base;
    return CSE_OK;
}

/* All states are in memory while a step is measured, wherever the job keeps them: the disk's times
 * are no part of what is measured. While they are drawn there are two of them. */
static cse_status check_memory(const cse_cluster_layout *layout)
{
    const cse_memory_limit limit = cse_memory_limit_look();
    cse_arena_head head;
    CSE_TRY(cse_arena_plan(layout, &head));
    const int64_t workspace = layout->graph->space_bytes[CSE_SPACE_REPLICA];
    const int64_t later = workspace > head.state_bytes ? workspace : head.state_bytes;
    const int64_t needed = head.sparse_offset + head.partial_sum_stride + later;
    if (limit.bytes == 0 || needed <= limit.free_bytes + limit.swap_bytes)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_SYSTEM_LIMIT,
                      .hint = "tell the run's memory with csengine plan --memory, the times of "
                              "states in a file with --streaming, those of several hosts from a "
                              "profile of a larger machine with --profile FILE" },
        "a step is measured with all states in memory: that takes %.1f MiB, and %s has %.1f MiB "
        "free",
        (double)needed / (1 << 20), limit.file[0] != '\0' ? limit.file : "this machine",
        (double)(limit.free_bytes + limit.swap_bytes) / (1 << 20));
}

static cse_status create_cluster(cse_step_runner *runner, const cse_job_settings *settings,
                                 int64_t most_steps)
{
    const cse_graph *graph = runner->executable->graph;
    const char *reduce = settings->session.weight_grad_reduce;
    cse_rounding payload = { 0 };
    cse_rounding_from_name(reduce != NULL ? reduce : "fp32", &payload); /* compiling checked it */
    cse_cluster_layout layout = {
        .graph = graph,
        .replica_count = 1,
        .input_worker_count = 1,
        .weight_grad_reduce = payload,
        .seed = settings->session.seed,
        .num_steps = most_steps,
    };
    if (runner->streams)
        return imagine_cluster(runner, settings, layout);
    CSE_TRY(check_memory(&layout));
    unsigned char *states = cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_STATE] + 64);
    cse_states_initialize(graph, settings->session.seed, states);
    layout.states = states;
    cse_status status = cse_cluster_create(&layout, &runner->cluster);
    free(states);
    return status;
}

static cse_status open_step(cse_step_runner *runner, const cse_job_settings *settings,
                            const char *directory, int64_t most_steps)
{
    const cse_configuration *session = &settings->session;
    CSE_TRY(cse_executable_open(directory, &runner->executable));
    CSE_TRY(
        cse_dataloader_open(settings->train_dataloader->settings, session->seed, &runner->loader));
    const cse_graph *graph = runner->executable->graph;
    if (cse_dataloader_is_uneven(runner->loader)) /* the step is of one size */
        cse_dataloader_measure(runner->loader,
                               graph->microbatch_count * (int64_t)graph->micro_batch_size,
                               graph->micro_batch_size);
    CSE_TRY(cse_loader_source_new(runner->loader, runner->executable->graph, &runner->source));
    CSE_TRY(create_cluster(runner, settings, most_steps));
    cse_cluster_attach(runner->cluster, 0, getpid());
    cse_cluster_set_roles(runner->cluster, 0,
                          CSE_ROLE_REPLICA | CSE_ROLE_WEIGHT_SERVER | CSE_ROLE_INPUT);
    runner->timed_source = (cse_microbatch_source){ .self = runner, .read = read_timed };
    return cse_work_new(&(cse_work_options){ .cluster = runner->cluster,
                                             .executable = runner->executable,
                                             .source = &runner->timed_source,
                                             .disk = runner->streams ? &runner->disk.io : NULL },
                        &runner->work);
}

static cse_status open_runner(const cse_job_settings *settings, int64_t most_steps, bool streams,
                              cse_step_runner **result)
{
    cse_job_result compiled = { 0 };
    *result = NULL;
    CSE_TRY(cse_step_runner_compile(settings, &compiled));
    cse_step_runner *runner = cse_calloc(1, sizeof *runner);
    runner->streams = streams;
    cse_status status = open_step(runner, settings, compiled.artefact_directory, most_steps);
    if (status != CSE_OK)
        cse_step_runner_destroy(&runner);
    *result = runner;
    return status;
}

cse_status cse_step_runner_new(const cse_job_settings *settings, int64_t most_steps,
                               cse_step_runner **runner)
{
    return open_runner(settings, most_steps, false, runner);
}

cse_status cse_step_runner_new_streamed(const cse_job_settings *settings, int64_t most_steps,
                                        cse_step_runner **runner)
{
    return open_runner(settings, most_steps, true, runner);
}

void cse_step_runner_destroy(cse_step_runner **runner)
{
    cse_step_runner *old = *runner;
    *runner = NULL;
    if (old == NULL)
        return;
    cse_work_destroy(&old->work);
    if (old->cluster != NULL)
        cse_cluster_destroy(&old->cluster);
    cse_loader_source_destroy(&old->source);
    if (old->loader != NULL)
        cse_dataloader_close(&old->loader);
    cse_executable_destroy(&old->executable);
    free(old);
}

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One unit of work; what belongs to the microbatches is known by the stage that it is done in. */
static cse_status work_once(cse_step_runner *runner, cse_step_time *taken)
{
    const int64_t start_ns = cse_clock_ns(), input_start_ns = runner->input_ns;
    const bool computes = cse_step_stage(cse_word_load(runner->cluster->step)) == CSE_STAGE_COMPUTE;
    switch (cse_work_once(runner->work)) {
    case CSE_WORK_DONE:
        break;
    case CSE_WORK_FAILED:
        return cse_work_status(runner->work);
    default:
        return cse_fail(CSE_INTERNAL, "bench: step %lld has nothing to do and is not done",
                        (long long)runner->steps);
    }
    const int64_t input_ns = runner->input_ns - input_start_ns;
    taken->input_ns += input_ns;
    taken->gradients_ns += computes ? cse_clock_ns() - start_ns - input_ns : 0;
    return CSE_OK;
}

cse_status cse_step_runner_run(cse_step_runner *runner, cse_step_time *taken)
{
    cse_record record;
    int64_t start_ns = cse_clock_ns(), processor_start_ns = processor_ns();
    *taken = (cse_step_time){ .input_ns = 0 };
    cse_cluster_release(runner->cluster, ++runner->steps);
    while (!cse_cluster_next_record(runner->cluster, &record))
        CSE_TRY(work_once(runner, taken));
    cse_cluster_close_record(runner->cluster);
    cse_cluster_free_records(runner->cluster, record.step + 1);
    taken->clock_ns = cse_clock_ns() - start_ns;
    taken->processor_ns = processor_ns() - processor_start_ns;
    return CSE_OK;
}

cse_status cse_step_runner_run_timed(cse_step_runner *runner, cse_step_time *taken,
                                     cse_kernel_time *times, int *count)
{
    cse_cluster_sample(runner->cluster, runner->steps);
    cse_status status = cse_step_runner_run(runner, taken);
    *count =
        cse_cluster_kernel_times(runner->cluster, 0, times, runner->executable->graph->group_count);
    cse_cluster_sample(runner->cluster, -1);
    return status;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cse_median_of_times(double *values, int64_t count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

const cse_cluster *cse_step_runner_cluster_view(const cse_step_runner *runner)
{
    return runner->cluster;
}

const cse_graph *cse_step_runner_graph_view(const cse_step_runner *runner)
{
    return runner->executable->graph;
}

int64_t cse_step_runner_batch_size(const cse_step_runner *runner)
{
    const cse_graph *graph = runner->executable->graph;
    return (int64_t)graph->microbatch_count * graph->micro_batch_size;
}
