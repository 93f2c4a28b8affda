/* A kernel's tensors are taken to be in the smallest cache that holds them all, as if another
 * kernel had just left them there: so the limit is one that nothing can surpass, and loose for a
 * kernel whose operands were made long ago. States, which come by once a step, are in the cache
 * only if all of them are. */
#include "run/measure/roofline.h"

#include <stdlib.h>

#include "engine/base/arena.h"

double cse_roofline_limit_ns(const cse_machine_limits *limits, int64_t set_bytes,
                             cse_roofline_row *row)
{
    const cse_group_work *work = &row->work;
    row->peak = cse_machine_peak_of(limits, work->operands);
    row->level = CSE_LEVEL_1_CACHE;
    while (row->level < CSE_MAIN_MEMORY && set_bytes > cse_memory_level_bytes(row->level))
        row->level++;
    const double compute_ns = work->product_flop / limits->peaks[row->peak] +
                              work->other_flop / limits->peaks[CSE_PEAK_FLOAT32];
    const double bytes_ns = (double)work->bytes / cse_machine_bandwidth(limits, row->level);
    row->compute_bound = compute_ns >= bytes_ns;
    return row->compute_bound ? compute_ns : bytes_ns;
}

static void fill_row(const cse_graph *graph, const cse_machine_limits *limits,
                     cse_roofline_row *row)
{
    const cse_kernel_times *times = row->times;
    const bool update = times->part == CSE_PART_UPDATE;
    const double runs = (double)(update ? times->alike : times->calls), ns = (double)times->ns;
    cse_group_work_of(graph, &graph->groups[times->kernel], &row->work);
    const int64_t set_bytes = update ? graph->space_bytes[CSE_SPACE_STATE] : row->work.bytes;
    const double limit_ns = runs * cse_roofline_limit_ns(limits, set_bytes, row);
    row->flop = runs * (row->work.product_flop + row->work.other_flop);
    row->bytes = runs * (double)row->work.bytes;
    row->intensity = row->bytes > 0 ? row->flop / row->bytes : 0;
    row->limit_ms = limit_ns * 1e-6;
    row->limit_gflop_per_second = limit_ns > 0 ? row->flop / limit_ns : 0;
    if (times->ns > 0) {
        row->gflop_per_second = row->flop / ns;
        row->gb_per_second = row->bytes / ns;
        row->share = limit_ns / ns;
    }
}

cse_roofline *cse_roofline_new(const cse_graph *graph, const cse_kernel_bench *bench,
                               const cse_machine_limits *limits)
{
    cse_roofline *roofline = cse_calloc(1, sizeof *roofline);
    double peak_ms = 0, products_ms = 0, update_bytes = 0;
    roofline->limits = *limits;
    roofline->rows = cse_calloc((size_t)bench->count + 1, sizeof *roofline->rows);
    roofline->count = bench->count;
    roofline->step_ms = bench->step_ms;
    for (int i = 0; i < bench->count; i++) {
        cse_roofline_row *row = &roofline->rows[i];
        row->times = &bench->rows[i];
        fill_row(graph, limits, row);
        const double ms = (double)row->times->ns * 1e-6;
        const double products = row->work.product_flop * (double)row->times->calls;
        roofline->class_ms[row->work.work_class] += ms;
        roofline->total_ms += ms;
        roofline->flop += products;
        products_ms += products > 0 ? ms : 0;
        roofline->update_ms += row->times->part == CSE_PART_UPDATE ? ms : 0;
        update_bytes += row->times->part == CSE_PART_UPDATE ? row->bytes : 0;
        peak_ms += products / limits->peaks[row->peak] * 1e-6;
    }
    if (roofline->update_ms > 0)
        roofline->update_gb_per_second = update_bytes / roofline->update_ms * 1e-6;
    roofline->over_products = products_ms > 0 ? roofline->step_ms / products_ms : 0;
    roofline->over_peak = peak_ms > 0 ? roofline->step_ms / peak_ms : 0;
    return roofline;
}

void cse_roofline_destroy(cse_roofline **roofline)
{
    if (*roofline == NULL)
        return;
    free((*roofline)->rows);
    free(*roofline);
    *roofline = NULL;
}
