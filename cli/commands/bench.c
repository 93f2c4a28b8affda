/* `csengine bench step`: how fast the compiled step of a configuration is on one core, in one or
 * several precisions.
 *
 * The variants run in turns in one process, so that whatever else the machine does hits all alike,
 * and medians are compared. A step is that of training: its input, forward and backward, reduction
 * and update. */
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job.h"
#include "cli/report.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "run/measure/kernel_table.h"
#include "run/measure/step_runner.h"

enum { MOST_VARIANTS = 16, MOST_OVERRIDES = 6, WARM_UP_STEPS = 2, DEFAULT_STEPS = 50 };
enum { NAME_BYTES = 64, OVERRIDE_BYTES = 96 };
/* Short steps take turns in runs of this length, the first step of each being the one that finds
 * the caches full of the others. */
static const int64_t turn_ns = 50000000;

typedef struct variant {
    char name[NAME_BYTES];
    char overrides[MOST_OVERRIDES][OVERRIDE_BYTES]; /* as --set takes them */
    int override_count;
    cse_prepared_job job;
    cse_step_runner *runner;
    cse_kernel_bench *kernels; /* NULL: not asked for */
    double *clock_ms, *processor_ms;
    int64_t count;
    double median_ms, least_ms, median_processor_ms;
} variant;

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

/* Without --precision there is one variant: the configuration as it stands. */
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

/* The command line with the variant's settings behind the others. */
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

static cse_status open_variant(const cse_command_line *line, int64_t steps, variant *v)
{
    CSE_TRY(prepare_job(line, v));
    cse_job_settings *settings = &v->job.settings;
    const int64_t most = 4 * steps + WARM_UP_STEPS + 1;
    settings->session.num_csx = 1;
    settings->session.num_workers_per_csx = 1;
    settings->session.max_wgt_servers = 0;
    settings->loop = (cse_loop_settings){ .num_steps = most };
    settings->no_checkpoints = true;
    settings->autoload_last_checkpoint = false;
    settings->checkpoint_path = NULL;
    v->clock_ms = cse_calloc((size_t)steps, sizeof *v->clock_ms);
    v->processor_ms = cse_calloc((size_t)steps, sizeof *v->processor_ms);
    return cse_step_runner_new(settings, most, &v->runner);
}

static void close_variant(variant *v)
{
    cse_kernel_bench_destroy(&v->kernels);
    cse_step_runner_destroy(&v->runner);
    cse_job_clear(&v->job);
    free(v->clock_ms);
    free(v->processor_ms);
}

/* ---- measuring ---- */

/* Everything that is started stays on the first core that is allowed. */
static cse_status stay_on_one_core(void)
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

/* A turn of one variant: its steps, of which the first one does not count where there are more. */
static cse_status take_turn(variant *v, int64_t steps, int64_t wanted)
{
    cse_step_time taken;
    if (steps > 1)
        CSE_TRY(cse_step_runner_run(v->runner, &taken));
    for (int64_t i = steps > 1 ? 1 : 0; i < steps && v->count < wanted; i++) {
        CSE_TRY(cse_step_runner_run(v->runner, &taken));
        v->clock_ms[v->count] = (double)taken.clock_ns * 1e-6;
        v->processor_ms[v->count++] = (double)taken.processor_ns * 1e-6;
    }
    return CSE_OK;
}

static cse_status measure(variant *variants, int count, int64_t wanted)
{
    int64_t slowest_ns = 1;
    for (int i = 0; i < count; i++)
        for (int step = 0; step < WARM_UP_STEPS; step++) {
            cse_step_time taken;
            CSE_TRY(cse_step_runner_run(variants[i].runner, &taken));
            if (step > 0 && taken.processor_ns > slowest_ns)
                slowest_ns = taken.processor_ns;
        }
    int64_t turn = turn_ns / slowest_ns;
    turn = turn < 2 ? 1 : turn;
    while (variants[count - 1].count < wanted)
        for (int i = 0; i < count; i++)
            CSE_TRY(take_turn(&variants[i], turn, wanted));
    for (int i = 0; i < count; i++) {
        variant *v = &variants[i];
        v->median_ms = cse_median_of_times(v->clock_ms, wanted);
        v->least_ms = v->clock_ms[0];
        v->median_processor_ms = cse_median_of_times(v->processor_ms, wanted);
    }
    return CSE_OK;
}

/* ---- showing ---- */

static void print_json(const variant *variants, int count, int64_t steps)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        const variant *v = &variants[i];
        double samples = (double)cse_step_runner_batch_size(v->runner);
        json_t *object =
            json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "precision", v->name, "median_ms",
                      v->median_ms, "least_ms", v->least_ms, "processor_ms", v->median_processor_ms,
                      "ratio", variants[0].median_ms / v->median_ms, "steps_per_second",
                      1e3 / v->median_ms, "samples_per_second", 1e3 * samples / v->median_ms);
        if (v->kernels != NULL)
            json_object_set_new(object, "timing", cse_kernel_bench_json(v->kernels));
        json_array_append_new(list, object);
    }
    json_t *object = json_pack("{s:I, s:o}", "steps", (json_int_t)steps, "variants", list);
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static void print_table(const variant *variants, int count, int64_t steps)
{
    printf("%lld steps on one core%s\n", (long long)steps,
           count > 1 ? " of each, in turns; speed is the ratio of medians to the first" : "");
    printf("%-16s %12s %12s %12s %10s %12s %8s\n", "precision", "median ms", "least ms",
           "processor ms", "steps/s", "samples/s", "speed");
    for (int i = 0; i < count; i++) {
        const variant *v = &variants[i];
        double samples = (double)cse_step_runner_batch_size(v->runner);
        printf("%-16s %12.3f %12.3f %12.3f %10.1f %12.1f %8.3f\n", v->name, v->median_ms,
               v->least_ms, v->median_processor_ms, 1e3 / v->median_ms,
               1e3 * samples / v->median_ms, variants[0].median_ms / v->median_ms);
    }
    for (int i = 0; i < count; i++)
        if (variants[i].kernels != NULL) {
            printf("\n%s, ", variants[i].name);
            cse_kernel_bench_print(variants[i].kernels);
        }
}

static cse_status bench(const cse_command_line *line, variant *variants, int *count)
{
    const char *given = cse_option_value(line, "steps");
    char *end = NULL;
    long steps = given != NULL ? strtol(given, &end, 10) : DEFAULT_STEPS;
    if (steps < 1 || steps > 1000000 || (end != NULL && *end != '\0'))
        return cse_fail(CSE_USAGE, "bench: --steps %s: accepted: an integer from 1 to 1000000",
                        given);
    CSE_TRY(read_variants(line, variants, count));
    CSE_TRY(stay_on_one_core());
    for (int i = 0; i < *count; i++)
        CSE_TRY(open_variant(line, steps, &variants[i]));
    CSE_TRY(measure(variants, *count, steps));
    for (int i = 0; cse_option_is_on(line, "kernels") && i < *count; i++)
        CSE_TRY(cse_kernel_bench_new(variants[i].runner, steps, &variants[i].kernels));
    (cse_option_is_on(line, "json") ? print_json : print_table)(variants, *count, steps);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    static variant variants[MOST_VARIANTS];
    int count = 0;
    cse_status status = bench(line, variants, &count);
    for (int i = 0; i < count; i++)
        close_variant(&variants[i]);
    return cse_report(status);
}

static const cse_option options[] = {
    { "precision", "LIST", NULL,
      "precisions to compare, as in fp32,bf16:mp2,fp16:mp1:0: a type, a GraphAMP preset, a POL; "
      "without it: as configured" },
    { "model_dir", "DIR", "model_dir", NULL },
    { "compile_dir", "DIR", "backend.compile_dir", NULL },
    { "weight_grad_reduce", "TYPE", "precision.weight_grad_reduce", NULL },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "steps", "N", NULL, "steps to measure of each; the default is 50" },
    { "kernels", NULL, NULL, "times each kernel, and shows the slowest ones" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

const cse_command cse_command_bench = {
    .name = "bench",
    .summary = "measures the compiled step of a configuration on one core, in several precisions",
    .arguments = "step CONFIG.yaml",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .words = "step",
    .run = run,
};
