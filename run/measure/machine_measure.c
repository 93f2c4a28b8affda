/* First what needs all cores, then steps on one, whose kernels are timed: the rate of a kind of
 * work is what all kernels of that kind do together, over their time. */
#include "run/measure/machine_measure.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "run/measure/bandwidth.h"
#include "run/measure/core_probe.h"
#include "run/measure/step_bench.h"
#include "run/measure/step_work.h"
#include "workers/placement/placement.h"

enum { WARM_UP_STEPS = 2 };

/* ---- all cores ---- */

/* The first hardware thread of each core that `wanted` names: of one memory, or of one socket. */
static int cores_of(const cse_processors *all, int memory, int socket, int numbers[])
{
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        const cse_processor *p = &all->items[i];
        if (p->thread == 0 && (memory < 0 || p->memory == memory) &&
            (socket < 0 || p->socket == socket))
            numbers[count++] = p->number;
    }
    return count;
}

static cse_status measure_bandwidths(const cse_processors *all, int numbers[],
                                     cse_machine_rates *rates)
{
    int *touched = numbers + all->count;
    const int count = cores_of(all, 0, -1, numbers);
    CSE_TRY(cse_core_probe_bandwidth(numbers, numbers, 1, &rates->core_bytes_per_s));
    CSE_TRY(cse_core_probe_bandwidth(numbers, numbers, count, &rates->memory_bytes_per_s));
    if (all->sockets < 2)
        return CSE_OK;
    const int near = cores_of(all, -1, 0, numbers), far = cores_of(all, -1, 1, touched);
    return cse_core_probe_bandwidth(numbers, touched, near < far ? near : far,
                                    &rates->link_bytes_per_s);
}

/* The first two cores that share a cache, those that share a socket alone, and those that share
 * nothing. What the machine has not takes as long as what is next to it. */
static cse_status measure_lines(const cse_processors *all, cse_machine_rates *rates)
{
    double *const places[3] = { &rates->cache_line_s, &rates->socket_line_s,
                                &rates->machine_line_s };
    const cse_processor *first = &all->items[0];
    for (int kind = 0; kind < 3; kind++) {
        *places[kind] = kind > 0 ? *places[kind - 1] : 0;
        for (int i = 1; i < all->count; i++) {
            const cse_processor *p = &all->items[i];
            const int found = p->socket != first->socket ? 2 : p->cache != first->cache ? 1 : 0;
            if (found != kind || p->core == first->core)
                continue;
            CSE_TRY(cse_core_probe_line(first->number, p->number, places[kind]));
            break;
        }
    }
    return CSE_OK;
}

static cse_status measure_cores(cse_machine_rates *rates)
{
    cse_processors all;
    CSE_TRY(cse_processors_of_host(&all));
    int *numbers = cse_calloc(2 * (size_t)all.count, sizeof *numbers);
    cse_processors_describe(&all, rates->topology, sizeof rates->topology);
    rates->cache_bytes = (double)cse_memory_level_bytes(CSE_LEVEL_3_CACHE);
    cse_status status = measure_bandwidths(&all, numbers, rates);
    if (status == CSE_OK)
        status = measure_lines(&all, rates);
    free(numbers);
    cse_processors_clear(&all);
    return status;
}

/* ---- steps ---- */

typedef struct work_and_time {
    double amount, seconds;
} work_and_time;

static void measure_kernels(const cse_kernel_bench *bench, const cse_graph *graph,
                            cse_machine_rates *rates)
{
    work_and_time sums[CSE_RATE_COUNT] = { { 0, 0 } };
    for (int i = 0; i < bench->count; i++) {
        const cse_kernel_times *row = &bench->rows[i];
        cse_group_work work;
        double amount;
        cse_group_work_of(graph, &graph->groups[row->kernel], &work);
        cse_rate rate = cse_rate_of(&work, &amount);
        double runs = (double)row->calls;
        if (row->part != CSE_PART_REPLICA) {
            rate = row->part == CSE_PART_UPDATE ? CSE_RATE_UPDATE : CSE_RATE_SERIAL;
            runs = row->part == CSE_PART_UPDATE ? row->alike : runs;
            amount = (double)row->bytes;
        }
        sums[rate].amount += runs * amount;
        sums[rate].seconds += 1e-9 * (double)row->ns;
    }
    for (cse_rate rate = 0; rate < CSE_RATE_COUNT; rate++)
        if (sums[rate].seconds > 0)
            rates->of_core[rate] = sums[rate].amount / sums[rate].seconds;
}

/* Standard deviation over median of values, from their median deviation, which outliers do not
 * move: 1.4826 of that in a normal distribution. Sorts. */
static double spread_of(double *values, int64_t count)
{
    const double median = cse_median_of_times(values, count);
    for (int64_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - median);
    return 1.4826 * cse_median_of_times(values, count) / median;
}

/* A step's gradients are a sum of microbatches, which vary by sqrt(M) times as much. */
static cse_status measure_steps(cse_step_runner *runner, int64_t steps, double *values,
                                cse_machine_rates *rates)
{
    const cse_graph *graph = cse_step_runner_graph_view(runner);
    double *gradients = values, *inputs = values + steps;
    for (int64_t s = -WARM_UP_STEPS; s < steps; s++) {
        cse_step_time taken;
        CSE_TRY(cse_step_runner_run(runner, &taken));
        if (s < 0)
            continue;
        gradients[s] = 1e-9 * (double)taken.gradients_ns;
        inputs[s] = 1e-9 * (double)taken.input_ns;
    }
    const double bytes =
        (double)graph->space_bytes[CSE_SPACE_INPUT] * (double)graph->microbatch_count;
    const double input_s = cse_median_of_times(inputs, steps);
    rates->of_core[CSE_RATE_INPUT] = input_s > 0 ? bytes / input_s : 0;
    rates->spread = spread_of(gradients, steps) * sqrt((double)graph->microbatch_count);
    return CSE_OK;
}

static cse_status measure_job(const cse_job_settings *job, int64_t steps, cse_machine_rates *rates)
{
    cse_step_bench bench = { .runner = NULL };
    double *values = cse_calloc(2 * (size_t)steps, sizeof *values);
    cse_status status = cse_step_bench_open(job, steps, &bench);
    if (status == CSE_OK)
        status = measure_steps(bench.runner, steps, values, rates);
    if (status == CSE_OK)
        status = cse_kernel_bench_new(bench.runner, steps, &bench.kernels);
    if (status == CSE_OK)
        measure_kernels(bench.kernels, cse_step_runner_graph_view(bench.runner), rates);
    cse_step_bench_close(&bench);
    free(values);
    return status;
}

cse_status cse_machine_measure(const cse_job_settings *job, int64_t steps, cse_machine_rates *rates)
{
    *rates = (cse_machine_rates){ .topology = "" };
    CSE_TRY(measure_cores(rates));
    CSE_TRY(cse_bind_to_one_core());
    return measure_job(job, steps, rates);
}
