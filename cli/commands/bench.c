/* `csengine bench step`: how fast the compiled step of a configuration is on one core, in one or
 * several precisions (run/measure/step_bench.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_roofline.h"
#include "cli/job.h"
#include "cli/json_values.h"
#include "cli/live_line.h"
#include "cli/option_values.h"
#include "cli/printing.h"
#include "cli/progress_line.h"
#include "cli/report.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/graph/names.h"
#include "engine/graph/passes/memory_plan.h"
#include "run/measure/step_bench.h"

enum { MOST_VARIANTS = 16, MOST_OVERRIDES = 6, NAME_BYTES = 64, OVERRIDE_BYTES = 96 };
enum { PRINTED_KERNELS = 20 };

typedef struct variant {
    char name[NAME_BYTES];
    char overrides[MOST_OVERRIDES][OVERRIDE_BYTES]; /* as --set takes them */
    int override_count;
    cse_prepared_job job;
} variant;

/* The variants and, by the same index, their measurements. */
typedef struct comparison {
    variant variants[MOST_VARIANTS];
    cse_step_bench benches[MOST_VARIANTS];
    int count;
    int64_t steps;
    bool rooflines;      /* in place of plain times of kernels */
    cse_live_line *line; /* on a terminal */
    int opened;          /* variants that are compiled */
    int64_t done, start_ns;
} comparison;

/* ---- variants ---- */

static void override(variant *v, const char *path, const char *value)
{
    snprintf(v->overrides[v->override_count++], OVERRIDE_BYTES, "precision.%s=%s", path, value);
}

/* fp32, or TYPE[:PRESET[:POL]] as in bf16:mp2:0. */
static cse_status read_variant(const char *text, size_t size, variant *v)
{
    static const char *const types[][2] = { { "bf16", "bfloat16" },
                                            { "fp16", "float16" },
                                            { "cb16", "cbfloat16" } };
    char *rest = v->name, *part;
    snprintf(v->name, sizeof v->name, "%.*s", (int)size, text);
    char copy[NAME_BYTES];
    memcpy(copy, v->name, sizeof copy);
    rest = copy;
    part = strsep(&rest, ":");
    if (strcmp(part, "fp32") == 0 && rest == NULL) {
        override(v, "enabled", "false");
        return CSE_OK;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(part, types[i][0]) != 0)
            continue;
        override(v, "enabled", "true");
        override(v, "fp16_type", types[i][1]);
        if (i > 0)
            override(v, "loss_scaling_factor", "dynamic");
        if ((part = strsep(&rest, ":")) != NULL)
            override(v, "graphamp.preset", part);
        if ((part = strsep(&rest, ":")) != NULL)
            override(v, "precision_opt_level", part);
        if (rest == NULL)
            return CSE_OK;
    }
    return cse_fail(CSE_USAGE,
                    "bench: --precision %s: accepted: fp32, or bf16, fp16 or cb16, each with "
                    ":PRESET or :PRESET:LEVEL behind it, as in bf16:mp2 or bf16:mp2:0",
                    v->name);
}

/* Without --precision there is one variant: the configuration unchanged. */
static cse_status read_variants(const cse_command_line *line, variant *variants, int *count)
{
    const char *text = cse_option_value(line, "precision");
    *count = 0;
    if (text == NULL) {
        snprintf(variants[(*count)++].name, NAME_BYTES, "as configured");
        return CSE_OK;
    }
    for (;;) {
        size_t size = strcspn(text, ",");
        if (*count == MOST_VARIANTS)
            return cse_fail(CSE_USAGE, "bench: --precision: more than %d variants", MOST_VARIANTS);
        CSE_TRY(read_variant(text, size, &variants[(*count)++]));
        if (text[size] == '\0')
            return CSE_OK;
        text += size + 1;
    }
}

/* The command line with the variant's settings last, so that they take precedence. */
static cse_status prepare_job(const cse_command_line *line, variant *v)
{
    const cse_option *set = line->command->options;
    while (strcmp(set->name, "set") != 0)
        set++;
    cse_command_line own = *line;
    own.options = cse_calloc((size_t)(line->option_count + v->override_count), sizeof *own.options);
    memcpy(own.options, line->options, (size_t)line->option_count * sizeof *own.options);
    for (int i = 0; i < v->override_count; i++)
        own.options[own.option_count++] = (cse_given_option){ set, v->overrides[i] };
    cse_status status = cse_job_prepare(&own, CSE_JOB_TRAIN, &v->job);
    free(own.options);
    return status;
}

/* ---- output ---- */

static json_t *kernels_json(const cse_kernel_bench *bench)
{
    json_t *list = json_array();
    for (int i = 0; i < bench->count; i++) {
        const cse_kernel_times *row = &bench->rows[i];
        json_array_append_new(list, json_pack("{s:i, s:i, s:s, s:s, s:s, s:I, s:f, s:f, s:I, s:f}",
                                              "kernel", row->kernel, "alike", row->alike, "part",
                                              cse_part_name(row->part), "ops", row->ops, "scope",
                                              row->result->scope, "calls", (json_int_t)row->calls,
                                              "ms", (double)row->ns * 1e-6, "share", row->share,
                                              "bytes", (json_int_t)row->bytes, "gb_per_second",
                                              row->gb_per_second));
    }
    return json_pack("{s:f, s:f, s:f, s:o}", "plain_ms", bench->plain_ms, "timed_ms",
                     bench->timed_ms, "step_ms", bench->step_ms, "kernels", list);
}

/* Bytes of the plan: what a replica computes in, beside the most that are live at once in it. */
static json_t *memory_json(const cse_step_runner *runner)
{
    const cse_graph *graph = cse_step_runner_graph_view(runner);
    const cse_memory_figures figures = cse_memory_plan_figures(graph);
    json_t *spaces = json_object();
    for (cse_space space = CSE_SPACE_NONE + 1; space < CSE_SPACE_COUNT; space++)
        json_object_set_new(spaces, cse_space_name(space), json_integer(graph->space_bytes[space]));
    return json_pack("{s:I, s:I, s:o}", "workspace_bytes", (json_int_t)figures.workspace_bytes,
                     "lower_bound_bytes", (json_int_t)figures.lower_bound_bytes, "space_bytes",
                     spaces);
}

static void print_memory(const cse_step_runner *runner)
{
    const cse_graph *graph = cse_step_runner_graph_view(runner);
    const cse_memory_figures figures = cse_memory_plan_figures(graph);
    printf("memory: workspace %.1f MB, %.3f times the most that is live at once; states %.1f MB, "
           "sums over the batch %.1f MB\n",
           (double)figures.workspace_bytes * 1e-6,
           figures.lower_bound_bytes > 0
               ? (double)figures.workspace_bytes / (double)figures.lower_bound_bytes
               : 1,
           (double)graph->space_bytes[CSE_SPACE_STATE] * 1e-6,
           (double)graph->space_bytes[CSE_SPACE_REDUCED] * 1e-6);
}

static void print_json(const comparison *c)
{
    json_t *list = json_array();
    for (int i = 0; i < c->count; i++) {
        const cse_step_bench *b = &c->benches[i];
        json_t *object = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "precision",
                                   c->variants[i].name, "median_ms", b->median_ms, "least_ms",
                                   b->least_ms, "processor_ms", b->median_processor_ms, "ratio",
                                   c->benches[0].median_ms / b->median_ms, "steps_per_second",
                                   1e3 / b->median_ms, "samples_per_second", b->samples_per_second);
        if (b->kernels != NULL && !c->rooflines)
            json_object_set_new(object, "timing", kernels_json(b->kernels));
        if (b->roofline != NULL)
            json_object_set_new(object, "roofline", cse_roofline_json(b->roofline));
        json_object_set_new(object, "memory", memory_json(b->runner));
        json_array_append_new(list, object);
    }
    json_t *object = json_pack("{s:I, s:o}", "steps", (json_int_t)c->steps, "variants", list);
    cse_json_print(object);
    json_decref(object);
}

/* The slowest kernels. */
static void print_kernels(const cse_kernel_bench *bench)
{
    printf("kernels: %.3f ms of a step's %.3f ms (medians: plain steps %.3f ms, timed %.3f ms)\n",
           (double)bench->total_ns * 1e-6, bench->step_ms, bench->plain_ms, bench->timed_ms);
    cse_print("%6s %5s %8s %10s %7s %9s  %s\n", "kernel", "alike", "calls", "ms", "share", "GB/s",
              "what");
    for (int i = 0; i < bench->count && i < PRINTED_KERNELS; i++) {
        const cse_kernel_times *row = &bench->rows[i];
        const char *scope = row->result->scope;
        cse_print("%6d %5d %8lld %10.4f %6.1f%% %9.2f  %s  %s%s\n", row->kernel, row->alike,
                  (long long)row->calls, (double)row->ns * 1e-6, 100 * row->share,
                  row->gb_per_second, row->ops, scope[0] != '\0' ? scope : cse_part_name(row->part),
                  row->result->backward ? " (backward)" : "");
    }
    if (bench->count > PRINTED_KERNELS)
        printf("%d more\n", bench->count - PRINTED_KERNELS);
}

static void print_table(const comparison *c)
{
    cse_print("%lld steps on one core%s\n", (long long)c->steps,
              c->count > 1 ? " of each, in turns; speed is the ratio of medians to the first" : "");
    cse_print("%-16s %12s %12s %12s %10s %12s %8s\n", "precision", "median ms", "least ms",
              "processor ms", "steps/s", "samples/s", "speed");
    for (int i = 0; i < c->count; i++) {
        const cse_step_bench *b = &c->benches[i];
        cse_print("%-16s %12.3f %12.3f %12.3f %10.1f %12.1f %8.3f\n", c->variants[i].name,
                  b->median_ms, b->least_ms, b->median_processor_ms, 1e3 / b->median_ms,
                  b->samples_per_second, c->benches[0].median_ms / b->median_ms);
    }
    for (int i = 0; i < c->count; i++)
        if (c->benches[i].roofline != NULL) {
            cse_print("\n%s, roofline\n", c->variants[i].name);
            cse_roofline_print(c->benches[i].roofline);
            print_memory(c->benches[i].runner);
        } else if (c->benches[i].kernels != NULL) {
            cse_print("\n%s, ", c->variants[i].name);
            print_kernels(c->benches[i].kernels);
        }
}

/* ---- progress ---- */

static void draw(void *self, int width, char *text)
{
    const comparison *c = self;
    char left[24], whole[160];
    const double seconds = (double)(cse_clock_ns() - c->start_ns) / 1e9;
    if (c->opened < c->count)
        snprintf(whole, sizeof whole, "compiling %s (%d/%d)", c->variants[c->opened].name,
                 c->opened + 1, c->count);
    else
        snprintf(
            whole, sizeof whole, "step %lld/%lld %s left", (long long)c->done, (long long)c->steps,
            cse_short_duration(
                c->done > 0 ? seconds * (double)(c->steps - c->done) / (double)c->done : -1, left));
    snprintf(text, 512, "%s", (int)strlen(whole) <= width ? whole : "");
}

static void note_turn(void *self, int64_t done)
{
    comparison *c = self;
    c->done = done;
    cse_live_line_draw(c->line);
}

static cse_status bench(const cse_command_line *line, comparison *c)
{
    static const int64_t range[] = { 1, 1000000 };
    CSE_TRY(cse_option_integer(line, "steps", range, &c->steps));
    CSE_TRY(read_variants(line, c->variants, &c->count));
    c->rooflines = cse_option_is_on(line, "roofline");
    CSE_TRY(cse_bind_to_one_core());
    if (cse_is_terminal(2))
        c->line = cse_live_line_open(
            &(cse_live_line_options){ .out = stderr, .draw = draw, .self = c, .no_thread = true });
    for (; c->opened < c->count; c->opened++) {
        cse_live_line_draw(c->line);
        CSE_TRY(prepare_job(line, &c->variants[c->opened]));
        CSE_TRY(cse_step_bench_open(&c->variants[c->opened].job.settings, c->steps,
                                    &c->benches[c->opened]));
    }
    c->start_ns = cse_clock_ns();
    CSE_TRY(cse_step_bench_measure(
        c->benches, c->count,
        &(cse_step_measurement){ .steps = c->steps,
                                 .kernels = cse_option_is_on(line, "kernels"),
                                 .roofline = c->rooflines,
                                 .self = c,
                                 .on_turn = note_turn }));
    cse_live_line_close(&c->line);
    (cse_option_is_on(line, "json") ? print_json : print_table)(c);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    comparison *c = cse_calloc(1, sizeof *c);
    c->steps = 50;
    cse_status status = bench(line, c);
    cse_live_line_close(&c->line);
    for (int i = 0; i < c->count; i++) {
        cse_step_bench_close(&c->benches[i]);
        cse_job_clear(&c->variants[i].job);
    }
    free(c);
    return cse_report(status);
}

static const cse_option options[] = {
    { "precision", "LIST", NULL,
      "precisions to compare, each TYPE[:GRAPHAMP_PRESET[:POL]], as in fp32,bf16:mp2,fp16:mp1:0; "
      "default: as configured" },
    { "model_dir", "DIR", "model_dir", NULL },
    { "compile_dir", "DIR", "backend.compile_dir", NULL },
    { "weight_grad_reduce", "TYPE", "precision.weight_grad_reduce", NULL },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "steps", "N", NULL, "steps to measure in each precision; default 50" },
    { "kernels", NULL, NULL, "times each kernel, and shows the slowest ones" },
    { "roofline", NULL, NULL,
      "times each kernel, and compares it with what the machine allows: operations, bytes, "
      "limits" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "bench step configs/fc_mnist.yaml --precision fp32,bf16:mp2",
      "compares the time of a step in two precisions" },
    { "bench step configs/gpt2_bytes.yaml --roofline --steps 5",
      "shows how close each kernel comes to the machine's limits" },
    { 0 },
};

const cse_command cse_command_bench = {
    .name = "bench",
    .group = CSE_GROUP_MEASURE,
    .summary = "measures the compiled step on one core, in several precisions",
    .arguments = "step CONFIG.yaml",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .words = "step",
    .examples = examples,
    .computes = true,
    .run = run,
};
