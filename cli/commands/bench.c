/* `csengine bench step`: how fast the compiled step of a configuration is on one core.
 *
 * It is the job itself, with one replica and one input worker, saving nothing; so the figure holds
 * what a step costs in training, input included. */
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/job.h"
#include "cli/report.h"
#include "engine/base/text.h"

/* Children inherit the mask: the whole job stays on the first core that is allowed. */
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

static void print_result(const cse_command_line *line, const cse_job_result *result)
{
    double steps_per_second =
        result->train_seconds > 0 ? (double)result->steps_run / result->train_seconds : 0;
    if (cse_option_is_on(line, "json")) {
        json_t *object =
            json_pack("{s:I, s:f, s:f, s:f}", "steps", (json_int_t)result->steps_run,
                      "train_seconds", result->train_seconds, "steps_per_second", steps_per_second,
                      "samples_per_second", result->samples_per_second);
        json_dumpf(object, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(object);
        return;
    }
    printf("%lld steps in %.3f seconds on one core: %.1f steps/s, %.1f samples/s\n",
           (long long)result->steps_run, result->train_seconds, steps_per_second,
           result->samples_per_second);
}

static cse_status bench(const cse_command_line *line, cse_prepared_job *job)
{
    const char *given = cse_option_value(line, "steps");
    char *end = NULL;
    long steps = given != NULL ? strtol(given, &end, 10) : 200;
    if (steps < 1 || steps > 1000000000 || (end != NULL && *end != '\0'))
        return cse_fail(CSE_USAGE, "bench: --steps %s: accepted: an integer from 1 to 1000000000",
                        given);
    CSE_TRY(stay_on_one_core());
    cse_job_settings *settings = &job->settings;
    settings->session.num_csx = 1;
    settings->session.num_workers_per_csx = 1;
    settings->session.max_wgt_servers = 0;
    settings->loop = (cse_loop_settings){ .num_steps = steps };
    settings->log_steps = steps;
    settings->val_dataloader = NULL;
    settings->no_checkpoints = true;
    settings->autoload_last_checkpoint = false;
    cse_job_result result = { 0 };
    CSE_TRY(cse_job_run(settings, &result));
    print_result(line, &result);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    cse_status status = cse_job_prepare(line, CSE_JOB_TRAIN, &job);
    if (status == CSE_OK)
        status = bench(line, &job);
    cse_job_clear(&job);
    return cse_report(status);
}

static const cse_option options[] = {
    { "model_dir", "DIR", "model_dir", "where the run keeps its files" },
    { "compile_dir", "DIR", "backend.compile_dir", "where compiled steps are kept" },
    { "weight_grad_reduce", "TYPE", "precision.weight_grad_reduce",
      "payload of the gradient reduction: fp32, bf16, bf16sr, fp16 or cb16" },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "steps", "N", NULL, "steps to run; the default is 200" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

const cse_command cse_command_bench = {
    .name = "bench",
    .summary = "measures the compiled step of a configuration on one core",
    .arguments = "step CONFIG.yaml",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .words = "step",
    .run = run,
};
