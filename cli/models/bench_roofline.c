/* A line a kernel, the slowest first; then the sums, then the limits that were measured. */
#include "cli/models/bench_roofline.h"

#include <stdio.h>

#include "cli/terminal/printing.h"
#include "engine/graph/names.h"

/* What sets the limit: "VDPBF16PS" or "L3". */
static const char *bound_of(const cse_roofline_row *row)
{
    return row->compute_bound ? cse_peak_name(row->peak) : cse_memory_level_name(row->level);
}

static bool is_shown(const cse_roofline_row *row)
{
    return row->times->share >= CSE_ROOFLINE_LEAST_SHARE;
}

static void print_row(const cse_roofline_row *row)
{
    const cse_kernel_times *times = row->times;
    const char *scope = times->result->scope;
    cse_print(
        "%6d %5d %9.3f %6.1f%% %9.3f %9.2f %9.1f %8.1f %9.1f %9.1f %-11s %6.1f%%  %s %s  %s%s\n",
        times->kernel, times->alike, (double)times->ns * 1e-6, 100 * times->share, row->flop * 1e-9,
        row->bytes * 1e-6, row->gflop_per_second, row->gb_per_second, row->intensity,
        row->limit_gflop_per_second, bound_of(row), 100 * row->share, times->ops, row->work.sizes,
        scope[0] != '\0' ? scope : cse_part_name(times->part),
        times->result->backward ? " (backward)" : "");
}

static void print_limits(const cse_machine_limits *limits)
{
    printf("limits of one core, measured in this run:");
    for (cse_peak peak = 0; peak < CSE_PEAK_COUNT; peak++)
        if (limits->peaks[peak] > 0)
            cse_print(" %s %.1f GFLOP/s,", cse_peak_name(peak), limits->peaks[peak]);
    for (cse_memory_level level = 0; level < CSE_MEMORY_LEVEL_COUNT; level++)
        cse_print(" read from %s %.1f GB/s,", cse_memory_level_name(level), limits->reads[level]);
    printf(" triad %.1f GB/s\n", limits->triad);
}

void cse_roofline_print(const cse_roofline *roofline)
{
    int hidden = 0;
    cse_print("%6s %5s %9s %7s %9s %9s %9s %8s %9s %9s %-11s %7s  %s\n", "kernel", "alike", "ms",
              "share", "GFLOP", "MB", "GFLOP/s", "GB/s", "FLOP/byte", "limit", "by", "of it",
              "what");
    for (int i = 0; i < roofline->count; i++)
        if (is_shown(&roofline->rows[i]))
            print_row(&roofline->rows[i]);
        else
            hidden++;
    printf("%d more below %.0f %% each\n", hidden, 100 * CSE_ROOFLINE_LEAST_SHARE);
    for (cse_work_class c = 0; c < CSE_WORK_CLASS_COUNT; c++)
        cse_print("%-18s %10.3f ms\n", cse_work_class_name(c), roofline->class_ms[c]);
    cse_print("%-18s %10.3f ms, of a step's %.3f ms\n", "all kernels", roofline->total_ms,
              roofline->step_ms);
    cse_print("%-18s %10.3f ms, %.1f GB/s, %.0f%% of triad\n", "update alone", roofline->update_ms,
              roofline->update_gb_per_second,
              100 * roofline->update_gb_per_second / roofline->limits.triad);
    printf("step over its own products: %.3f; over them at the registers' peak: %.3f",
           roofline->over_products, roofline->over_peak);
    if (roofline->over_peak > 0)
        printf("; products at %.1f%% of it", 100 * roofline->over_products / roofline->over_peak);
    printf("\n");
    print_limits(&roofline->limits);
}

/* ---- JSON ---- */

static json_t *limits_json(const cse_machine_limits *limits)
{
    json_t *peaks = json_object(), *reads = json_object();
    for (cse_peak peak = 0; peak < CSE_PEAK_COUNT; peak++)
        if (limits->peaks[peak] > 0)
            json_object_set_new(peaks, cse_peak_name(peak), json_real(limits->peaks[peak]));
    for (cse_memory_level level = 0; level < CSE_MEMORY_LEVEL_COUNT; level++)
        json_object_set_new(reads, cse_memory_level_name(level), json_real(limits->reads[level]));
    return json_pack("{s:o, s:o, s:f}", "gflop_per_second", peaks, "read_gb_per_second", reads,
                     "triad_gb_per_second", limits->triad);
}

static json_t *row_json(const cse_roofline_row *row)
{
    const cse_kernel_times *times = row->times;
    json_t *object =
        json_pack("{s:i, s:i, s:s, s:s, s:s, s:b, s:I, s:f, s:f}", "kernel", times->kernel, "alike",
                  times->alike, "part", cse_part_name(times->part), "ops", times->ops, "scope",
                  times->result->scope, "backward", (int)times->result->backward, "calls",
                  (json_int_t)times->calls, "ms", (double)times->ns * 1e-6, "share", times->share);
    json_t *work = json_pack(
        "{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:s, s:f, s:f, s:f}", "class",
        cse_work_class_name(row->work.work_class), "implementation", row->work.implementation,
        "sizes", row->work.sizes, "flop", row->flop, "bytes", row->bytes, "gflop_per_second",
        row->gflop_per_second, "gb_per_second", row->gb_per_second, "flop_per_byte", row->intensity,
        "limited_by", bound_of(row), "limit_ms", row->limit_ms, "limit_gflop_per_second",
        row->limit_gflop_per_second, "share_of_limit", row->share);
    json_object_update(object, work);
    json_decref(work);
    return object;
}

json_t *cse_roofline_json(const cse_roofline *roofline)
{
    json_t *rows = json_array(), *sums = json_object();
    for (int i = 0; i < roofline->count; i++)
        if (is_shown(&roofline->rows[i]))
            json_array_append_new(rows, row_json(&roofline->rows[i]));
    for (cse_work_class c = 0; c < CSE_WORK_CLASS_COUNT; c++)
        json_object_set_new(sums, cse_work_class_name(c), json_real(roofline->class_ms[c]));
    return json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "limits",
                     limits_json(&roofline->limits), "kernels", rows, "class_ms", sums,
                     "kernels_ms", roofline->total_ms, "step_ms", roofline->step_ms, "product_flop",
                     roofline->flop, "step_over_products", roofline->over_products,
                     "step_over_products_at_peak", roofline->over_peak, "update_ms",
                     roofline->update_ms, "update_gb_per_second", roofline->update_gb_per_second);
}
