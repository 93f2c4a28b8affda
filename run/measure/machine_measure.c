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

/* The least time that the calls of each group in a step have taken; 0: it did not run. The median
 * of its calls stands for all, since other load on the machine makes some of them longer. */
typedef struct group_times {
    int64_t *calls, *ns;
} group_times;

static void keep_least(const cse_kernel_time *times, int count, group_times *found)
{
    for (int i = 0; i < count; i++) {
        const cse_kernel_time *t = &times[i];
        const int64_t typical_ns = t->calls * t->median_ns;
        const int64_t ns = typical_ns < t->total_ns ? typical_ns : t->total_ns;
        if (found->calls[t->kernel] == 0 || ns < found->ns[t->kernel])
            found->ns[t->kernel] = ns;
        found->calls[t->kernel] = t->calls;
    }
}

static void find_rates(const cse_graph *graph, const group_times *found, cse_machine_rates *rates)
{
    double amounts[CSE_RATE_COUNT] = { 0 }, seconds[CSE_RATE_COUNT] = { 0 };
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        const bool update = group->part == CSE_PART_UPDATE; /* in as many calls as it has chunks */
        cse_group_work work;
        double amount;
        cse_group_work_of(graph, group, &work);
        cse_rate rate = cse_rate_of(&work, &amount);
        if (found->calls[g] == 0)
            continue;
        if (group->part != CSE_PART_REPLICA) {
            rate = update ? CSE_RATE_UPDATE : CSE_RATE_SERIAL;
            amount = (double)work.bytes;
        }
        amounts[rate] += amount * (update ? 1 : (double)found->calls[g]);
        seconds[rate] += 1e-9 * (double)found->ns[g];
    }
    for (cse_rate rate = 0; rate < CSE_RATE_COUNT; rate++)
        if (seconds[rate] > 0)
            rates->of_core[rate] = amounts[rate] / seconds[rate];
}

static cse_status measure_kernels(cse_step_runner *runner, int64_t steps, cse_machine_rates *rates)
{
    const cse_graph *graph = cse_step_runner_graph_view(runner);
    const size_t groups = (size_t)graph->group_count + 1;
    cse_kernel_time *times = cse_calloc(groups, sizeof *times);
    int64_t *numbers = cse_calloc(2 * groups, sizeof *numbers);
    group_times found = { numbers, numbers + groups };
    cse_status status = CSE_OK;
    for (int64_t s = 0; s < steps && status == CSE_OK; s++) {
        cse_step_time taken;
        int count = 0;
        status = cse_step_runner_run_timed(runner, &taken, times, &count);
        if (status == CSE_OK)
            keep_least(times, count, &found);
    }
    find_rates(graph, &found, rates);
    free(numbers);
    free(times);
    return status;
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
        status = measure_kernels(bench.runner, steps, rates);
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
