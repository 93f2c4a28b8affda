/* Configuration -> job settings, one assignment a setting; and the run with its signals. */
#include "cli/job.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/report.h"
#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/config/yaml.h"
#include "workers/control/supervisor.h"

static int64_t integer_or_zero(const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name) ? cse_settings_integer(settings, name) : 0;
}

static double number_or_zero(const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name) ? cse_settings_number(settings, name) : 0;
}

static void fill_session(cse_prepared_job *job)
{
    cse_configuration *session = &job->settings.session;
    const cse_settings *init = cse_config_section_view(job->config, "init");
    const cse_settings *backend = cse_settings_nested(init, "backend");
    const cse_settings *cluster = cse_settings_nested(backend, "cluster_config");
    const cse_settings *precision = cse_settings_nested(init, "precision");
    session->model_dir = cse_settings_text(init, "model_dir");
    session->compile_dir = cse_settings_text(backend, "compile_dir");
    session->compile_only = cse_settings_bool(backend, "compile_only");
    session->validate_only = cse_settings_bool(backend, "validate_only");
    session->num_csx = (int)cse_settings_integer(cluster, "num_csx");
    session->num_workers_per_csx = (int)cse_settings_integer(cluster, "num_workers_per_csx");
    session->max_wgt_servers = (int)cse_settings_integer(cluster, "max_wgt_servers");
    session->weight_grad_reduce = cse_settings_text(precision, "weight_grad_reduce");
    session->weight_update = cse_settings_text(precision, "weight_update");
    session->precision = cse_config_precision_view(job->config);
    session->numerics = cse_config_numerics_view(job->config);
    session->seed = (uint64_t)cse_settings_integer(init, "seed");
    int count = cse_settings_count(cluster, "job_labels");
    job->labels = cse_calloc((size_t)count + 1, sizeof *job->labels);
    for (int i = 0; i < count; i++)
        job->labels[i] = cse_settings_text_at(cluster, "job_labels", i);
    session->job_labels = job->labels;
}

/* The scaler's settings beside its factor, under the names that it has for them. */
static void fill_precision(cse_prepared_job *job)
{
    static const char *const names[][2] = { { "initial_loss_scale", "init_scale" },
                                            { "min_loss_scale", "min_loss_scale" },
                                            { "max_loss_scale", "max_loss_scale" },
                                            { "overflow_tolerance", "overflow_tolerance" } };
    const cse_settings *precision = cse_config_section_view(job->config, "init.precision");
    cse_text yaml = { 0 };
    cse_text_add(&yaml, "{steps_per_increase: %lld",
                 (long long)cse_settings_integer(precision, "steps_per_increase"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cse_settings_has(precision, names[i][0]))
            cse_text_add(&yaml, ", %s: %.17g", names[i][1],
                         cse_settings_number(precision, names[i][0]));
    cse_text_add(&yaml, "}");
    job->grad_scaler = yaml.data;
    job->settings.loss_scaling_factor = cse_settings_text(precision, "loss_scaling_factor");
    if (strcmp(job->settings.loss_scaling_factor, "dynamic") == 0)
        job->settings.grad_scaler = job->grad_scaler;
    job->settings.max_gradient_norm = number_or_zero(precision, "max_gradient_norm");
    job->settings.max_gradient_value = number_or_zero(precision, "max_gradient_value");
}

static void fill_loop(cse_prepared_job *job)
{
    cse_job_settings *settings = &job->settings;
    const cse_settings *init = cse_config_section_view(job->config, "init");
    const cse_settings *loop = cse_settings_nested(init, "loop");
    const cse_settings *checkpoint = cse_settings_nested(init, "checkpoint");
    settings->loop = (cse_loop_settings){
        .num_steps = integer_or_zero(loop, "num_steps"),
        .max_steps = integer_or_zero(loop, "max_steps"),
        .num_epochs = integer_or_zero(loop, "num_epochs"),
        .steps_per_epoch = integer_or_zero(loop, "steps_per_epoch"),
    };
    settings->eval_steps = integer_or_zero(loop, "eval_steps");
    settings->eval_frequency = number_or_zero(loop, "eval_frequency");
    settings->checkpoint_steps = integer_or_zero(checkpoint, "steps");
    settings->save_initial_checkpoint = cse_settings_bool(checkpoint, "save_initial_checkpoint");
    cse_config_start start = cse_config_start_from(job->config, &settings->checkpoint_path);
    settings->autoload_last_checkpoint = start == CSE_START_NEWEST;
    const cse_settings *logging = cse_settings_nested(init, "logging");
    settings->log_steps = cse_settings_integer(logging, "log_steps");
}

/* The batch size, for the time that remains; the data loader checks it when it opens. */
static int64_t read_batch_size(const char *dataloader)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *root = NULL;
    int64_t size = 0;
    if (cse_yaml_parse(arena, "", dataloader, strlen(dataloader), &root) == CSE_OK) {
        const cse_yaml_node *node = cse_yaml_find(root, "batch_size");
        if (node != NULL && node->kind == CSE_YAML_SCALAR)
            size = strtoll(node->text, NULL, 10);
    }
    cse_arena_destroy(&arena);
    return size > 0 ? size : 0;
}

static void fill_members(cse_prepared_job *job)
{
    cse_job_settings *settings = &job->settings;
    const cse_config_member *model = cse_config_member_view(job->config, "model", 0);
    settings->model_name = model->name;
    settings->model_library = model->library;
    settings->model = model->yaml;
    const cse_config_member *optimizer = cse_config_member_view(job->config, "optimizer", 0);
    if (optimizer != NULL) {
        settings->optimizer_name = optimizer->name;
        settings->optimizer = optimizer->yaml;
    }
    const cse_settings *init = cse_config_section_view(job->config, "init");
    if (cse_config_member_count(job->config, "schedulers") > 0)
        settings->schedulers = cse_settings_text(init, "schedulers");
    settings->loggers = cse_settings_text(init, "loggers");
    const cse_config_member *train = cse_config_member_view(job->config, "train_dataloader", 0);
    const cse_config_member *val = cse_config_member_view(job->config, "val_dataloader", 0);
    settings->train_dataloader = train != NULL ? train->yaml : NULL;
    settings->val_dataloader = val != NULL ? val->yaml : NULL;
    if (train != NULL)
        job->batch_size = read_batch_size(train->yaml);
    settings->canonical_configuration = cse_config_canonical(job->config);
    cse_config_resolved(job->config, &job->resolved, &job->origins);
    settings->resolved_configuration = job->resolved.data;
    settings->configuration_origins = job->origins.data;
}

/* What a mode cannot do without. */
static cse_status check_mode(const cse_prepared_job *job)
{
    const cse_job_settings *settings = &job->settings;
    const char *source = cse_config_source(job->config);
    if (settings->mode == CSE_JOB_EVALUATE)
        return settings->val_dataloader != NULL
                   ? CSE_OK
                   : cse_fail(CSE_CONFIG,
                              "configuration: %s: trainer.fit.val_dataloader is "
                              "missing; evaluation needs it",
                              source);
    if (settings->train_dataloader == NULL)
        return cse_fail(CSE_CONFIG,
                        "configuration: %s: trainer.fit.train_dataloader is missing; training "
                        "needs it",
                        source);
    if (settings->optimizer_name == NULL)
        return cse_fail(CSE_CONFIG,
                        "configuration: %s: trainer.init.optimizer is missing; training needs "
                        "one, see `csengine list optimizers`",
                        source);
    return CSE_OK;
}

static void set_log_level(const cse_config *config)
{
    static const struct {
        const char *name;
        cse_log_level level;
    } rows[] = { { "DEBUG", CSE_LOG_DEBUG },
                 { "INFO", CSE_LOG_INFO },
                 { "WARNING", CSE_LOG_WARNING },
                 { "ERROR", CSE_LOG_ERROR } };
    const char *name =
        cse_settings_text(cse_config_section_view(config, "init.logging"), "log_level");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            cse_log_set_level(rows[i].level);
}

cse_status cse_job_prepare(const cse_command_line *line, cse_job_mode mode, cse_prepared_job *job)
{
    *job = (cse_prepared_job){ .settings.mode = mode };
    cse_config_override *overrides = NULL;
    int count = 0;
    CSE_TRY(cse_command_line_overrides(line, &overrides, &count));
    const char *path = line->arguments[line->argument_count - 1];
    const cse_config_text text = { path, NULL, overrides, count };
    cse_status status = cse_config_check(&text, &job->diagnostics, &job->config);
    free(overrides);
    CSE_TRY(status);
    set_log_level(job->config);
    fill_session(job);
    fill_precision(job);
    fill_loop(job);
    fill_members(job);
    return check_mode(job);
}

void cse_job_clear(cse_prepared_job *job)
{
    free(job->labels);
    free(job->grad_scaler);
    cse_diagnostics_clear(&job->diagnostics);
    cse_text_clear(&job->resolved);
    cse_text_clear(&job->origins);
    cse_config_destroy(&job->config);
}

/* How often the user asked to stop. */
static volatile sig_atomic_t stop_requests;

static void count_stop(int number)
{
    (void)number;
    if (stop_requests < 2)
        stop_requests++;
}

static int stop_requested(void *self)
{
    (void)self;
    return stop_requests;
}

static void show_event(void *self, const cse_job_event *event)
{
    cse_progress_event(self, event);
}

static void show_what_was_not_run(const cse_configuration *session, const cse_job_result *result)
{
    if (session->validate_only)
        printf("Compile validated locally.\n");
    else if (session->compile_only)
        printf("Compile was successful! %.3f seconds%s: %s\n", result->compile_seconds,
               result->compile_cached ? ", from the cache" : "", result->artefact_directory);
}

int cse_job_report(const cse_command_line *line, const cse_prepared_job *job, cse_status status)
{
    cse_progress progress = { .out = stdout, .json = cse_option_is_on(line, "json") };
    cse_progress_not_begun(&progress, &job->diagnostics);
    return cse_report_faults(status, &job->diagnostics);
}

int cse_job_run_shown(const cse_command_line *line, cse_prepared_job *job)
{
    bool json = cse_option_is_on(line, "json");
    cse_progress progress = { .out = stdout,
                              .json = json,
                              .live = !json && cse_is_terminal(1),
                              .batch_size = job->batch_size };
    struct sigaction action = { .sa_handler = count_stop, .sa_flags = SA_RESTART };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    job->settings.self = &progress;
    job->settings.on_event = show_event;
    job->settings.stop_requested = stop_requested;
    cse_job_result result = { 0 };
    cse_status status = cse_job_run(&job->settings, &result);
    cse_progress_end(&progress, job->settings.mode, status, &result);
    if (status == CSE_OK && !json)
        show_what_was_not_run(&job->settings.session, &result);
    if (status == CSE_OK && result.stopped)
        return cse_status_exit_code(CSE_INTERRUPTED);
    return cse_report(status);
}

/* What the body of the kept job needs. */
typedef struct kept_job {
    const cse_command_line *line;
    cse_prepared_job *job;
} kept_job;

static int run_kept(void *self)
{
    const kept_job *kept = self;
    return cse_job_run_shown(kept->line, kept->job);
}

int cse_job_run_supervised(const cse_command_line *line, cse_prepared_job *job)
{
    kept_job kept = { .line = line, .job = job };
    return cse_supervisor_run(run_kept, &kept);
}
