/* The benches run in turns of 50 ms. The first step of a turn is not counted, since the caches then
 * hold the data of another bench. */
#include "run/measure/step_bench.h"

#include <sched.h>
#include <stdlib.h>

#include "engine/base/arena.h"

enum { WARM_UP_STEPS = 2 };
static const int64_t turn_ns = 50000000;

cse_status cse_bind_to_one_core(void)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return cse_fail(CSE_UNAVAILABLE, "bench: the allowed cores cannot be read");
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed)) {
            CPU_SET(core, &one);
            break;
        }
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return cse_fail(CSE_UNAVAILABLE, "bench: the process cannot be bound to one core");
    return CSE_OK;
}

cse_status cse_step_bench_open(const cse_job_settings *job, int64_t steps, cse_step_bench *bench)
{
    cse_job_settings settings = *job;
    /* Including the steps that are not counted and those that time kernels. */
    const int64_t most = 4 * steps + WARM_UP_STEPS + 1;
    settings.session.num_csx = 1;
    settings.session.num_workers_per_csx = 1;
    settings.session.max_wgt_servers = 0;
    settings.loop = (cse_loop_settings){ .num_steps = most };
    settings.no_checkpoints = true;
    settings.autoload_last_checkpoint = false;
    settings.checkpoint_path = NULL;
    bench->clock_ms = cse_calloc((size_t)steps, sizeof *bench->clock_ms);
    bench->processor_ms = cse_calloc((size_t)steps, sizeof *bench->processor_ms);
    return cse_step_runner_new(&settings, most, &bench->runner);
}

void cse_step_bench_close(cse_step_bench *bench)
{
    cse_roofline_destroy(&bench->roofline);
    cse_kernel_bench_destroy(&bench->kernels);
    cse_step_runner_destroy(&bench->runner);
    free(bench->clock_ms);
    free(bench->processor_ms);
}

/* Runs `steps` steps of one bench; does not count the first when there are more. */
static cse_status take_turn(cse_step_bench *b, int64_t steps, int64_t wanted)
{
    cse_step_time taken;
    if (steps > 1)
        CSE_TRY(cse_step_runner_run(b->runner, &taken));
    for (int64_t i = steps > 1 ? 1 : 0; i < steps && b->count < wanted; i++) {
        CSE_TRY(cse_step_runner_run(b->runner, &taken));
        b->clock_ms[b->count] = (double)taken.clock_ns * 1e-6;
        b->processor_ms[b->count++] = (double)taken.processor_ns * 1e-6;
    }
    return CSE_OK;
}

/* Warms up; *turn becomes the number of steps in a turn, from the slowest bench. */
static cse_status warm_up(const cse_step_bench *benches, int count, int64_t *turn)
{
    int64_t slowest_ns = 1;
    for (int i = 0; i < count; i++)
        for (int step = 0; step < WARM_UP_STEPS; step++) {
            cse_step_time taken;
            CSE_TRY(cse_step_runner_run(benches[i].runner, &taken));
            if (step > 0 && taken.processor_ns > slowest_ns)
                slowest_ns = taken.processor_ns;
        }
    *turn = turn_ns / slowest_ns < 2 ? 1 : turn_ns / slowest_ns;
    return CSE_OK;
}

/* The limits are measured before and after the kernels, since the clock drifts. */
static cse_status measure_kernels(cse_step_bench *benches, int count,
                                  const cse_step_measurement *measurement)
{
    cse_machine_limits limits = { .triad = 0 };
    if (measurement->roofline)
        cse_machine_limits_measure(&limits);
    for (int i = 0; i < count; i++)
        CSE_TRY(cse_kernel_bench_new(benches[i].runner, measurement->steps, &benches[i].kernels));
    if (measurement->roofline)
        cse_machine_limits_measure(&limits);
    for (int i = 0; measurement->roofline && i < count; i++)
        benches[i].roofline = cse_roofline_new(cse_step_runner_graph_view(benches[i].runner),
                                               benches[i].kernels, &limits);
    return CSE_OK;
}

cse_status cse_step_bench_measure(cse_step_bench *benches, int count,
                                  const cse_step_measurement *measurement)
{
    const int64_t steps = measurement->steps;
    int64_t turn = 1;
    CSE_TRY(warm_up(benches, count, &turn));
    while (benches[count - 1].count < steps) {
        for (int i = 0; i < count; i++)
            CSE_TRY(take_turn(&benches[i], turn, steps));
        if (measurement->on_turn != NULL)
            measurement->on_turn(measurement->self, benches[count - 1].count);
    }
    for (int i = 0; i < count; i++) {
        cse_step_bench *b = &benches[i];
        b->median_ms = cse_median_of_times(b->clock_ms, steps); /* sorts */
        b->least_ms = b->clock_ms[0];
        b->median_processor_ms = cse_median_of_times(b->processor_ms, steps);
        b->samples_per_second = 1e3 * (double)cse_step_runner_batch_size(b->runner) / b->median_ms;
    }
    return measurement->kernels || measurement->roofline
               ? measure_kernels(benches, count, measurement)
               : CSE_OK;
}
