/* A kernel's bytes are those that one call reads from and writes to memory. Each call of an update
 * kernel covers a range of the parameters, so all calls together move its bytes once. */
#include "run/measure/kernel_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/shape.h"
#include "run/measure/group_work.h"

/* ---- descriptions of kernels ---- */

/* "matmul + add": the ops that compute, without broadcasts and reshapes. */
static void describe(const cse_group *group, char ops[CSE_KERNEL_OPS_BYTES])
{
    const char *last = "";
    size_t length = 0;
    ops[0] = '\0';
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        const char *name = node->op->name;
        const bool quiet = node->op->kind == CSE_OP_BROADCAST || node->op->kind == CSE_OP_RESHAPE ||
                           strcmp(name, "partial") == 0 || strcmp(name, "materialize") == 0;
        if ((quiet && n + 1 < group->node_count) || strcmp(name, last) == 0 ||
            (quiet && length > 0) || length + strlen(name) + 4 > CSE_KERNEL_OPS_BYTES)
            continue;
        length += (size_t)snprintf(ops + length, CSE_KERNEL_OPS_BYTES - length, "%s%s",
                                   length > 0 ? " + " : "", name);
        last = name;
    }
}

static void describe_all(cse_kernel_bench *bench, const cse_graph *graph)
{
    for (int g = 0; g < bench->count; g++) {
        const cse_group *group = &graph->groups[g];
        cse_kernel_times *row = &bench->rows[g];
        row->kernel = g;
        row->alike = 1;
        row->part = group->part;
        row->result = group->nodes[group->node_count - 1];
        row->bytes = cse_group_bytes(graph, group);
        describe(group, row->ops);
    }
}

static bool are_alike(const cse_kernel_times *a, const cse_kernel_times *b)
{
    return a->part == b->part && a->bytes == b->bytes &&
           a->result->backward == b->result->backward &&
           cse_shape_equal(a->result->shape, b->result->shape) && strcmp(a->ops, b->ops) == 0;
}

static int slowest_first(const void *a, const void *b)
{
    const cse_kernel_times *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return x->kernel - y->kernel;
}

/* Merges equal rows into the first of them, and drops kernels that did not run. */
static void join(cse_kernel_bench *bench)
{
    int kept = 0;
    for (int i = 0; i < bench->count; i++) {
        cse_kernel_times row = bench->rows[i];
        int at = 0;
        while (at < kept && !are_alike(&bench->rows[at], &row))
            at++;
        if (row.calls <= 0)
            continue;
        if (at == kept) {
            bench->rows[kept++] = row;
            continue;
        }
        bench->rows[at].alike++;
        bench->rows[at].calls += row.calls;
        bench->rows[at].ns += row.ns;
    }
    bench->count = kept;
    qsort(bench->rows, (size_t)kept, sizeof *bench->rows, slowest_first);
    for (int i = 0; i < kept; i++) {
        cse_kernel_times *row = &bench->rows[i];
        const int64_t runs = row->part == CSE_PART_UPDATE ? row->alike : row->calls;
        if (row->ns > 0)
            row->gb_per_second = (double)(row->bytes * runs) / (double)row->ns;
        if (bench->total_ns > 0)
            row->share = (double)row->ns / (double)bench->total_ns;
    }
}

/* ---- measuring ---- */

static void keep_least(cse_kernel_bench *bench, const cse_kernel_time *times, int count,
                       double step_ms)
{
    int64_t total_ns = 0;
    for (int i = 0; i < count; i++)
        total_ns += times[i].total_ns;
    if (bench->total_ns > 0 && total_ns >= bench->total_ns)
        return;
    bench->total_ns = total_ns;
    bench->step_ms = step_ms;
    for (int i = 0; i < count; i++) {
        bench->rows[times[i].kernel].calls = times[i].calls;
        bench->rows[times[i].kernel].ns = times[i].total_ns;
    }
}

static cse_status measure(cse_kernel_bench *bench, cse_step_runner *runner, int64_t steps,
                          double *milliseconds[2])
{
    cse_step_time taken;
    cse_kernel_time *times = cse_calloc((size_t)bench->count + 1, sizeof *times);
    cse_status status = CSE_OK;
    for (int64_t s = 0; status == CSE_OK && s < steps; s++) {
        int count = 0;
        status = cse_step_runner_run(runner, &taken);
        milliseconds[0][s] = (double)taken.clock_ns * 1e-6;
        if (status == CSE_OK)
            status = cse_step_runner_run_timed(runner, &taken, times, &count);
        milliseconds[1][s] = (double)taken.clock_ns * 1e-6;
        if (status == CSE_OK)
            keep_least(bench, times, count, milliseconds[1][s]);
    }
    free(times);
    return status;
}

cse_status cse_kernel_bench_new(cse_step_runner *runner, int64_t steps, cse_kernel_bench **result)
{
    cse_kernel_bench *bench = cse_calloc(1, sizeof *bench);
    double *milliseconds[2];
    const cse_graph *graph = cse_step_runner_graph_view(runner);
    bench->count = graph->group_count;
    bench->rows = cse_calloc((size_t)bench->count + 1, sizeof *bench->rows);
    for (int i = 0; i < 2; i++)
        milliseconds[i] = cse_calloc((size_t)steps, sizeof *milliseconds[i]);
    describe_all(bench, graph);
    cse_status status = measure(bench, runner, steps, milliseconds);
    bench->plain_ms = cse_median_of_times(milliseconds[0], steps);
    bench->timed_ms = cse_median_of_times(milliseconds[1], steps);
    join(bench);
    for (int i = 0; i < 2; i++)
        free(milliseconds[i]);
    if (status != CSE_OK)
        cse_kernel_bench_destroy(&bench);
    *result = bench;
    return status;
}

void cse_kernel_bench_destroy(cse_kernel_bench **bench)
{
    if (*bench == NULL)
        return;
    free((*bench)->rows);
    free(*bench);
    *bench = NULL;
}
