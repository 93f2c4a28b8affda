/* The values of a request become the settings of a job; what runs it is what runs a command's. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/run.h"
#include "engine/base/config/config.h"
#include "engine/base/confinement.h"
#include "run/hosts/hosts_run.h"
#include "run/job/job_settings.h"
#include "run/job/kinds.h"

typedef struct configured {
    const cse_run_request *request;
    cse_arena *arena;
    cse_config *config;
    cse_job_settings settings;
} configured;

/* "PATH=VALUE" */
static cse_status read_setting(configured *c, const char *text, cse_config_override *override)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return cse_fail(CSE_USAGE,
                        "setting \"%.200s\": accepted is PATH=VALUE, as in "
                        "loop.num_steps=100",
                        text);
    const char *path = cse_arena_printf(c->arena, "%.*s", (int)(equals - text), text);
    *override = (cse_config_override){ .path = path,
                                       .value = equals + 1,
                                       .origin = cse_arena_printf(c->arena, "setting %s", path) };
    return CSE_OK;
}

static cse_status read_configuration(configured *c)
{
    const char *const *settings = c->request->settings;
    int count = 0;
    if (c->request->configuration == NULL)
        return cse_fail(CSE_USAGE, "cse_run_configuration: `configuration` is missing: the path "
                                   "of a CONFIG.yaml");
    while (settings != NULL && settings[count] != NULL)
        count++;
    cse_config_override *overrides =
        cse_arena_alloc(c->arena, ((size_t)count + 1) * sizeof *overrides);
    for (int i = 0; i < count; i++)
        CSE_TRY(read_setting(c, settings[i], &overrides[i]));
    const cse_config_text text = { .source = c->request->configuration,
                                   .overrides = overrides,
                                   .override_count = count,
                                   .kinds = cse_kinds,
                                   .confinement = cse_confinement_view() };
    CSE_TRY(cse_config_check(&text, NULL, &c->config));
    return cse_job_settings_read(c->config, CSE_JOB_TRAIN, c->arena, &c->settings);
}

static void on_event(void *self, const cse_job_event *event)
{
    const cse_run_request *request = ((const configured *)self)->request;
    if (event->kind == CSE_JOB_STEP && request->on_step != NULL)
        request->on_step(request->self, event->step, (double)event->loss);
}

static int stop_requested(void *self)
{
    const cse_run_request *request = ((const configured *)self)->request;
    return request->stop_requested != NULL ? request->stop_requested(request->self) : 0;
}

/* Links to other hosts break while they are written to, which must not end the program. */
static cse_status run_without_pipe_signal(cse_job_environment *environment, cse_job_result *result)
{
    const struct sigaction ignored = { .sa_handler = SIG_IGN };
    struct sigaction before;
    sigaction(SIGPIPE, &ignored, &before);
    cse_status status = cse_hosts_run(environment, result);
    sigaction(SIGPIPE, &before, NULL);
    return status;
}

static void tell(const cse_job_result *result, cse_run_outcome *outcome)
{
    outcome->steps = result->steps;
    outcome->stopped = result->stopped;
    outcome->train_seconds = result->train_seconds;
    memcpy(outcome->weights_digest, result->weights_digest, sizeof outcome->weights_digest);
    memcpy(outcome->checkpoint_path, result->checkpoint_path, sizeof outcome->checkpoint_path);
}

cse_status cse_run_configuration(const cse_run_request *request, cse_run_outcome *outcome)
{
    configured c = { .request = request, .arena = cse_arena_new() };
    cse_job_result *result = cse_calloc(1, sizeof *result);
    *outcome = (cse_run_outcome){ .steps = 0 };
    cse_status status = read_configuration(&c);
    if (status == CSE_OK) {
        cse_job_environment environment = cse_job_environment_of(&c.settings);
        environment.run_store = true;
        environment.on_event = on_event;
        environment.stop_requested = stop_requested;
        environment.self = &c;
        status = run_without_pipe_signal(&environment, result);
    }
    tell(result, outcome);
    free(result);
    cse_config_destroy(&c.config);
    cse_arena_destroy(&c.arena);
    return status;
}
