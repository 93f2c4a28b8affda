/* `csengine plan`: what training would take on several hosts, from a profile of this one
 * (run/measure/host_model.h). The model, not the command, holds what the numbers mean. With
 * --memory: what a run on this host takes, from its plan (cli/runs/planned_memory.h); with
 * --streaming, also what it reads and writes (run/measure/streamed_plan.h). With --machine: the
 * step on many cores (cli/runs/planned_cores.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "cli/runs/job.h"
#include "cli/runs/planned_cores.h"
#include "cli/runs/planned_memory.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/table.h"
#include "engine/base/arena.h"
#include "engine/base/config/states_settings.h"
#include "run/job/job_settings.h"
#include "run/measure/plan_report.h"
#include "run/measure/step_bench.h"
#include "run/measure/streamed_plan.h"

typedef struct planning {
    cse_host_profile profile;
    cse_plan_question question;
} planning;

/* ---- options ---- */

static cse_status read_options(const cse_command_line *line, planning *p)
{
    static const int64_t replica_range[] = { 1, 1024 };
    static const double hour_range[] = { 0.001, 1e9 }, lease_range[] = { 0, 86400 };
    int64_t replicas = p->question.options.replicas;
    double failure_hours = 0;
    p->question.options.lease_s = 10;
    const char *hosts = cse_option_value(line, "hosts"), *link = cse_option_value(line, "link");
    CSE_TRY(cse_plan_hosts_read(hosts != NULL ? hosts : "1..8", &p->question));
    CSE_TRY(cse_plan_link_read(link != NULL ? link : "10G", &p->question));
    CSE_TRY(cse_option_integer(line, "replicas", replica_range, &replicas));
    CSE_TRY(cse_option_number(line, "mtbf", hour_range, &failure_hours));
    CSE_TRY(cse_option_number(line, "lease", lease_range, &p->question.options.lease_s));
    p->question.options.replicas = (int)replicas;
    p->question.options.failure_s = failure_hours * 3600;
    return CSE_OK;
}

/* ---- the profile ---- */

/* Long steps vary less, and 22 of them can take an hour. */
#define DEFAULT_MEASURE_NS INT64_C(20000000000)

static cse_status measure(const cse_job_settings *settings, int64_t steps, int64_t most_ns,
                          cse_host_profile *profile)
{
    cse_step_bench bench = { .runner = NULL };
    CSE_TRY(cse_bind_to_one_core());
    cse_status status = cse_step_bench_open(settings, steps, &bench);
    if (status == CSE_OK)
        status = cse_host_profile_measure(bench.runner, steps, most_ns, profile);
    cse_step_bench_close(&bench);
    return status;
}

static cse_status find_profile(const cse_command_line *line, const cse_prepared_job *job,
                               cse_host_profile *profile)
{
    static const int64_t range[] = { 1, 1000000 };
    const char *path = cse_option_value(line, "profile");
    const char *save_path = cse_option_value(line, "save_profile");
    int64_t steps = 20;
    CSE_TRY(cse_option_integer(line, "steps", range, &steps));
    if (path == NULL)
        CSE_TRY(measure(&job->settings, steps,
                        cse_option_value(line, "steps") != NULL ? 0 : DEFAULT_MEASURE_NS, profile));
    else
        CSE_TRY(cse_host_profile_read(path, profile));
    const int64_t samples = profile->microbatches * profile->micro_batch_size;
    const int64_t batch_size = cse_job_batch_size(&job->settings);
    if (batch_size > 0 && samples != batch_size)
        return cse_fail(CSE_DATA,
                        "%s: the profile is of a step of %lld samples, but batch_size is %lld: "
                        "measure it again with --save_profile",
                        path, (long long)samples, (long long)batch_size);
    profile->save_steps = job->settings.no_checkpoints ? 0 : job->settings.checkpoint_steps;
    return save_path != NULL ? cse_host_profile_write(profile, save_path) : CSE_OK;
}

/* ---- output ---- */

static void print_profile(const planning *p)
{
    const cse_host_profile *profile = &p->profile;
    printf("profile: %lld microbatches of %lld samples; one takes %.4g ms on a core, the rest of "
           "a step %.4g ms, a save %.4g ms\n",
           (long long)profile->microbatches, (long long)profile->micro_batch_size,
           1e3 * profile->microbatch_s, 1e3 * profile->update_s, 1e3 * profile->save_s);
    cse_print("hosts with %d replica%s each, links of %.4g Gbit/s; a piece has %.4g MB; ",
              p->question.options.replicas, p->question.options.replicas > 1 ? "s" : "",
              p->question.link_bits_per_s * 1e-9, cse_host_piece_bytes(profile) * 1e-6);
    if (p->question.options.failure_s > 0)
        printf("a host fails every %.4g hours\n\n", p->question.options.failure_s / 3600);
    else
        printf("hosts do not fail\n\n");
}

static void print_table(const planning *p, const cse_host_plan *plans)
{
    static const char *const heads[] = { "hosts",   "step ms",   "exposed ms", "share",
                                         "pieces",  "MB up",     "MB down",    "MB host",
                                         "goodput", "samples/s", "host-h/1M",  NULL };
    cse_table *table = cse_table_new(heads);
    print_profile(p);
    for (int hosts = 1; hosts <= CSE_MAX_HOSTS; hosts++) {
        const cse_host_plan *plan = &plans[hosts];
        if (!p->question.wanted[hosts])
            continue;
        cse_table_add(table, "%d", hosts);
        cse_table_add(table, "%.4g", 1e3 * plan->step_s);
        cse_table_add(table, "%.4g", 1e3 * plan->exposed_s);
        cse_table_add(table, "%d", plan->largest_share);
        cse_table_add(table, "%d", plan->pieces);
        cse_table_add(table, "%.4g", 1e-6 * plan->bytes_up);
        cse_table_add(table, "%.4g", 1e-6 * plan->bytes_down);
        cse_table_add(table, "%.4g", 1e-6 * plan->memory_bytes);
        if (isfinite(plan->goodput)) {
            cse_table_add(table, "%.5f", plan->goodput);
            cse_table_add(table, "%.4g", plan->samples_per_s);
            cse_table_add(table, "%.4g", plan->host_hours);
        } else {
            for (int i = 0; i < 3; i++)
                cse_table_add(table, "-");
        }
    }
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
    printf("\nthe model takes for granted:\n");
    for (const char *const *text = cse_host_model_assumptions; *text != NULL; text++)
        cse_print("- %s\n", *text);
    if (p->question.options.failure_s > 0 && p->profile.save_steps == 0 && p->question.wanted[1])
        printf("one host that fails without saves between loses all: its goodput is not known; "
               "set checkpoint.steps\n");
}

/* ---- other questions than that of several hosts ---- */

/* What each of them leaves without effect. */
static const struct question {
    const char *name, *what;
    const char *without[10];
    const char *accepted; /* beside those of the job, --set and --json */
} questions[] = {
    { "streaming",
      "plans one host",
      { "measure_machine", "placement", "machine", "hosts", "link", "replicas", "mtbf", "lease" },
      "--memory, --steps, --disk_rate, " },
    { "memory",
      "plans one host and measures nothing",
      { "measure_machine", "placement", "machine", "hosts", "link", "replicas", "mtbf", "lease",
        "steps", "disk_rate" },
      "" },
    { "measure_machine",
      "measures this machine",
      { "placement", "machine", "hosts", "link", "replicas", "mtbf", "lease" },
      "--steps, " },
    { "placement",
      "plans one host and measures nothing",
      { "hosts", "link", "mtbf", "lease", "steps" },
      "--machine, --replicas, " },
    { "machine",
      "plans one host and measures nothing",
      { "hosts", "link", "mtbf", "lease", "steps" },
      "--placement, --replicas, " },
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

static bool is_given(const cse_command_line *line, const char *name)
{
    return cse_option_value(line, name) != NULL || cse_option_is_on(line, name);
}

static cse_status refuse(const struct question *q, const char *name)
{
    return cse_fail(CSE_USAGE,
                    "plan: --%s has no effect with --%s, which %s; accepted beside it: "
                    "%s--model_dir, --compile_dir, --weight_grad_reduce, --set and --json",
                    name, q->name, q->what, q->accepted);
}

/* The first of them that is asked; NULL: that of several hosts. */
static cse_status find_question(const cse_command_line *line, const struct question **found)
{
    static const char *const of_profile[] = { "profile", "save_profile" };
    *found = NULL;
    for (int i = 0; i < QUESTIONS && *found == NULL; i++)
        if (is_given(line, questions[i].name))
            *found = &questions[i];
    for (int i = 0; *found != NULL && i < 10 && (*found)->without[i] != NULL; i++)
        if (is_given(line, (*found)->without[i]))
            return refuse(*found, (*found)->without[i]);
    for (int i = 0; *found != NULL && i < 2; i++)
        if (is_given(line, of_profile[i]))
            return refuse(*found, of_profile[i]);
    if (*found != &questions[0] && cse_option_value(line, "disk_rate") != NULL)
        return cse_fail(CSE_USAGE, "plan: --disk_rate has no effect without --streaming");
    return CSE_OK;
}

/* "2GiB", or "7GiB,5GiB" for reading and writing; zeros: as it is measured. */
static cse_status read_disk_rates(const cse_command_line *line, cse_disk_rates *rates)
{
    const char *text = cse_option_value(line, "disk_rate");
    char first[32];
    int64_t read_rate, write_rate;
    *rates = (cse_disk_rates){ 0, 0 };
    if (text == NULL)
        return CSE_OK;
    const char *comma = strchr(text, ',');
    snprintf(first, sizeof first, "%.*s", comma != NULL ? (int)(comma - text) : (int)strlen(text),
             text);
    if (!cse_byte_count_read(first, &read_rate) || read_rate == 0 ||
        !cse_byte_count_read(comma != NULL ? comma + 1 : first, &write_rate) || write_rate == 0)
        return cse_fail(
            CSE_USAGE,
            "plan: --disk_rate is \"%s\"; accepted: bytes a second above 0, as 2GiB, or "
            "7GiB,5GiB for reading and writing",
            text);
    *rates = (cse_disk_rates){ (double)read_rate, (double)write_rate };
    return CSE_OK;
}

static cse_status plan_streaming(const cse_command_line *line, const cse_job_settings *settings,
                                 cse_streamed_plan *streamed)
{
    static const int64_t range[] = { 0, 1000000 };
    cse_disk_rates rates;
    int64_t steps = 1;
    CSE_TRY(cse_option_integer(line, "steps", range, &steps));
    CSE_TRY(read_disk_rates(line, &rates));
    CSE_TRY(cse_bind_to_one_core());
    return cse_streamed_plan_make(settings, steps, &rates, streamed);
}

static cse_status plan_memory(const cse_command_line *line, const cse_prepared_job *job)
{
    cse_planned_memory planned;
    cse_streamed_plan streamed;
    const bool streaming = cse_option_is_on(line, "streaming");
    CSE_TRY(cse_planned_memory_find(&job->settings, &planned));
    if (streaming)
        CSE_TRY(plan_streaming(line, &job->settings, &streamed));
    if (cse_option_is_on(line, "json")) {
        json_t *report = cse_planned_memory_json(&planned);
        if (streaming)
            json_object_set_new(report, "streaming", cse_streamed_plan_json(&streamed));
        cse_json_print(report);
        json_decref(report);
        return CSE_OK;
    }
    cse_planned_memory_print(&planned);
    if (streaming)
        cse_streamed_plan_print(&streamed);
    return CSE_OK;
}

static cse_status make_plan(const cse_command_line *line, cse_prepared_job *job)
{
    planning p = { .question = { .link_bits_per_s = 0 } };
    const struct question *asked;
    CSE_TRY(find_question(line, &asked));
    CSE_TRY(cse_job_prepare(line, CSE_JOB_TRAIN, job));
    if (asked != NULL)
        return asked <= &questions[1] ? plan_memory(line, job)
                                      : cse_planned_cores_run(line, &job->settings);
    p.question.options.replicas =
        job->settings.session.num_csx > 0 ? job->settings.session.num_csx : 1;
    CSE_TRY(read_options(line, &p));
    CSE_TRY(find_profile(line, job, &p.profile));
    cse_host_plan *plans = cse_plans_make(&p.profile, &p.question);
    if (cse_option_is_on(line, "json")) {
        json_t *report = cse_plan_report(&p.profile, &p.question, plans);
        cse_json_print(report);
        json_decref(report);
    } else {
        print_table(&p, plans);
    }
    free(plans);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job = { .config = NULL };
    cse_status status = make_plan(line, &job);
    const int code =
        job.diagnostics.count > 0 ? cse_job_report(line, &job, status) : cse_report(status);
    cse_job_clear(&job);
    return code;
}

static const cse_option options[] = {
    { "memory", NULL, NULL,
      "tells the most memory of each process on this host, from the plan of the step; compiles and "
      "measures nothing" },
    { "streaming", NULL, NULL,
      "for states in a file: the same, and the bytes that a step reads and writes, its time, what "
      "bounds it, and the least memory" },
    { "disk_rate", "RATES", NULL,
      "with --streaming: bytes a second of the disk, as 2GiB, or 7GiB,5GiB for reading and "
      "writing; default: measured in states.directory" },
    { "machine", "FILE", NULL,
      "the step on the machine of the file, with many replicas: time, its parts, and scaling; "
      "compiles, and measures nothing" },
    { "measure_machine", "FILE", NULL,
      "writes the rates of this machine, in steps of this configuration, as --machine takes them" },
    { "placement", NULL, NULL,
      "tells which processor each replica and weight server gets, here or on that machine" },
    { "hosts", "LIST", NULL, "numbers of hosts, as in 1..256 or 1,2,4,8; default 1..8" },
    { "link", "RATE", NULL,
      "bits a second of each host's link, in each direction, as in 100M or 10G; default 10G" },
    { "replicas", "N", NULL,
      "replicas on each host, default num_csx; beside --machine a list of them, as in 1..8 or "
      "1,2,64, default powers of two and all cores" },
    { "mtbf", "HOURS", NULL, "mean time between failures of a host; default: they do not fail" },
    { "lease", "SECONDS", NULL, "how long a host is silent before it counts as lost; default 10" },
    { "steps", "N", NULL,
      "steps to measure; default 20, or as many as 20 s have room for; with --streaming 1, and 0 "
      "counts bytes alone" },
    { "profile", "FILE", NULL, "takes the profile that --save_profile wrote; measures nothing" },
    { "save_profile", "FILE", NULL, "writes the profile of this host" },
    { "model_dir", "DIR", "model_dir", NULL },
    { "compile_dir", "DIR", "backend.compile_dir", NULL },
    { "weight_grad_reduce", "TYPE", "precision.weight_grad_reduce", NULL },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "plan configs/gpt2_bytes.yaml --hosts 1..8 --link 10G --mtbf 1000",
      "step time, traffic, memory, goodput and cost of 1 to 8 hosts" },
    { "plan configs/gpt2_bytes.yaml --memory", "the most memory of a run, before it begins" },
    { "plan configs/gpt2_bytes.yaml --streaming --set states.keep_in=file --set "
      "states.directory=/scratch --set states.memory=64MiB",
      "bytes and time of a step with states in a file" },
    { "plan configs/gpt2_bytes.yaml --machine two_sockets.json --replicas 1,16,64",
      "the step on a machine of many cores" },
    { 0 },
};

const cse_command cse_command_plan = {
    .name = "plan",
    .group = CSE_GROUP_MEASURE,
    .summary = "says what training would take: memory, time on many cores or several hosts",
    .arguments = "CONFIG.yaml",
    .doc = "Measures some steps on one core of this host, and computes from them the time of a\n"
           "step, traffic, memory, goodput and cost for each number of hosts. What the model\n"
           "takes for granted is printed below the table. With --memory, in place of that, the\n"
           "most memory of each process of a run on this host, before anything runs; with\n"
           "--streaming, what a run with states in a file reads and writes besides, and its time;\n"
           "with --machine the step on a machine of many cores, from its rates.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
