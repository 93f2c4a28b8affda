/* Reads each section of the configuration: one assignment per setting. */
#include "run/job/job_settings.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/byte_size.h"
#include "engine/base/config/settings.h"
#include "engine/formats/weights/peft/settings.h"
#include "run/alerts/alert_check.h"

static int64_t integer_or_zero(const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name) ? cse_settings_integer(settings, name) : 0;
}

static double number_or_zero(const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name) ? cse_settings_number(settings, name) : 0;
}

static void read_session(const cse_settings *init, cse_arena *arena, cse_configuration *session)
{
    const cse_settings *backend = cse_settings_nested(init, "backend");
    const cse_settings *cluster = cse_settings_nested(backend, "cluster_config");
    const cse_settings *precision = cse_settings_nested(init, "precision");
    const int label_count = cse_settings_count(cluster, "job_labels");
    const char **labels = cse_arena_alloc(arena, ((size_t)label_count + 1) * sizeof *labels);
    for (int i = 0; i < label_count; i++)
        labels[i] = cse_settings_text_at(cluster, "job_labels", i);
    if (strcmp(cse_settings_node(backend, "backend_type")->text, "CPU") == 0)
        cse_settings_text(backend, "backend_type"); /* it is what is used: it is read */
    *session = (cse_configuration){
        .model_dir = cse_settings_text(init, "model_dir"),
        .compile_dir = cse_settings_text(backend, "compile_dir"),
        .compile_only = cse_settings_bool(backend, "compile_only"),
        .validate_only = cse_settings_bool(backend, "validate_only"),
        .num_csx = (int)cse_settings_integer(cluster, "num_csx"),
        .num_workers_per_csx = (int)cse_settings_integer(cluster, "num_workers_per_csx"),
        .max_wgt_servers = (int)cse_settings_integer(cluster, "max_wgt_servers"),
        .binding = cse_settings_text(cluster, "binding"),
        .audit_fraction = cse_settings_number(cluster, "audit_fraction"),
        .job_labels = labels,
        .job_priority = cse_settings_text(cluster, "job_priority"),
        .job_time_sec = integer_or_zero(cluster, "job_time_sec"),
        .weight_grad_reduce = cse_settings_text(precision, "weight_grad_reduce"),
        .weight_update = cse_settings_text(precision, "weight_update"),
        .portable = strcmp(cse_settings_text(init, "deterministic"), "portable") == 0,
        .seed = (uint64_t)cse_settings_integer(init, "seed"),
    };
}

static cse_status read_host_list(const cse_settings *cluster, const char *name, cse_arena *arena,
                                 const cse_host_list **list)
{
    const int count = cse_settings_count(cluster, name);
    *list = NULL;
    if (count == 0)
        return CSE_OK;
    cse_host_list *made = cse_arena_alloc(arena, sizeof *made);
    made->count = 0;
    for (int i = 0; i < count; i++)
        CSE_TRY(cse_host_list_add(cse_settings_text_at(cluster, name, i),
                                  cse_settings_place_at(cluster, name, i), made));
    *list = made;
    return CSE_OK;
}

static bool are_of_place(const cse_settings *cluster)
{
    return cse_settings_count(cluster, "hosts") == 1 &&
           strcmp(cse_settings_text_at(cluster, "hosts", 0), "auto") == 0;
}

static cse_status read_hosts(const cse_settings *init, cse_arena *arena,
                             cse_job_host_settings *hosts)
{
    const cse_settings *cluster =
        cse_settings_nested(cse_settings_nested(init, "backend"), "cluster_config");
    *hosts = (cse_job_host_settings){
        .of_place = are_of_place(cluster),
        .hosts_place = cse_settings_place(cluster, "hosts"),
        .data_hosts_place = cse_settings_place(cluster, "data_hosts"),
    };
    if (!hosts->of_place)
        CSE_TRY(read_host_list(cluster, "hosts", arena, &hosts->hosts));
    CSE_TRY(read_host_list(cluster, "data_hosts", arena, &hosts->data_hosts));
    /* Without hosts, too: the run may get some while it goes on. */
    hosts->launcher = cse_settings_text(cluster, "host_launcher");
    hosts->launcher_options = cse_settings_text(cluster, "host_launcher_options");
    hosts->link = cse_settings_text(cluster, "host_link");
    hosts->link_options = cse_settings_text(cluster, "host_link_options");
    hosts->plain = cse_settings_bool(cluster, "host_plain");
    hosts->port = (int)integer_or_zero(cluster, "host_port");
    hosts->lease_seconds = cse_settings_number(cluster, "lease_s");
    hosts->return_seconds = cse_settings_number(cluster, "host_return_s");
    hosts->even_shares = strcmp(cse_settings_text(cluster, "host_shares"), "even") == 0;
    hosts->min_hosts = (int)cse_settings_integer(cluster, "min_hosts");
    return CSE_OK;
}

static cse_status read_memory_limit(const cse_settings *init, int64_t *bytes)
{
    uint64_t given = 0;
    const char *text =
        cse_settings_has(init, "memory_limit") ? cse_settings_text(init, "memory_limit") : NULL;
    if (text != NULL && !cse_byte_size_read(text, &given))
        return cse_fail_at(
            CSE_ERROR_AT("configuration: ", cse_settings_place(init, "memory_limit")),
            "memory_limit: %s; accepted: " CSE_BYTE_SIZE_ACCEPTED, text);
    *bytes = (int64_t)given;
    return CSE_OK;
}

static void read_precision(const cse_settings *init, cse_job_settings *settings)
{
    settings->precision = cse_settings_nested(init, "precision");
    settings->samples = cse_settings_nested(init, "samples");
    settings->numerics = cse_settings_nested(init, "numerics");
    settings->recompute = cse_settings_nested(init, "recompute");
    settings->states = cse_settings_nested(init, "states");
    settings->alerts = cse_settings_nested(init, "alerts");
    settings->loss = cse_settings_nested(init, "loss");
    const cse_settings *ema = cse_settings_nested(init, "ema");
    settings->averages = cse_settings_has(ema, "decay");
    settings->average_decay = number_or_zero(ema, "decay");
    settings->evaluates_averages = settings->averages && cse_settings_bool(ema, "evaluate");
}

/* "loss", "val_loss", "validate_1/loss" */
static bool is_loss(const char *metric)
{
    const char *loss = "loss";
    const size_t length = strlen(metric), suffix = strlen(loss);
    return length >= suffix && strcmp(metric + length - suffix, loss) == 0;
}

static void read_keep_best(const cse_settings *best, cse_job_settings *settings)
{
    settings->keep_best = cse_settings_text(best, "metric");
    settings->keep_best_origin = cse_settings_origin(best, "metric");
    settings->best_is_greatest = !is_loss(settings->keep_best);
    if (cse_settings_has(best, "goal"))
        settings->best_is_greatest = strcmp(cse_settings_text(best, "goal"), "max") == 0;
}

/* As in the ModelZoo 1 is every step, and 1.0 the whole run. */
static double eval_frequency(const cse_settings *loop)
{
    const double frequency = number_or_zero(loop, "eval_frequency");
    const cse_yaml_node *node = cse_settings_node(loop, "eval_frequency");
    return frequency == 1 && strpbrk(node->text, ".eE") != NULL ? 0 : frequency;
}

static void read_loop(const cse_config *config, const cse_settings *init,
                      cse_job_settings *settings)
{
    const cse_settings *loop = cse_settings_nested(init, "loop");
    const cse_settings *checkpoint = cse_settings_nested(init, "checkpoint");
    settings->loop = (cse_loop_settings){
        .num_steps = integer_or_zero(loop, "num_steps"),
        .max_steps = integer_or_zero(loop, "max_steps"),
        .num_epochs = integer_or_zero(loop, "num_epochs"),
        .steps_per_epoch = integer_or_zero(loop, "steps_per_epoch"),
    };
    settings->diverged_factor = number_or_zero(loop, "diverged_factor");
    settings->num_steps_from_here =
        strcmp(cse_settings_origin(loop, "num_steps"), "--num_steps") == 0;
    if (cse_config_plugin_count(config, "val_dataloader") > 0 ||
        settings->mode == CSE_JOB_EVALUATE) {
        settings->eval_steps = integer_or_zero(loop, "eval_steps");
        settings->eval_frequency = eval_frequency(loop);
    }
    settings->checkpoint_steps = integer_or_zero(checkpoint, "steps");
    settings->checkpoint_minutes = number_or_zero(checkpoint, "minutes");
    settings->keep = integer_or_zero(checkpoint, "keep");
    settings->replay_budget = number_or_zero(checkpoint, "replay_budget");
    const cse_settings *best = cse_settings_nested(checkpoint, "keep_best");
    if ((settings->keep > 0 || settings->replay_budget > 0) &&
        cse_config_plugin_count(config, "val_dataloader") > 0 && cse_settings_has(best, "metric"))
        read_keep_best(best, settings);
    settings->save_initial_checkpoint = cse_settings_bool(checkpoint, "save_initial_checkpoint");
    settings->begin_anew = cse_settings_bool(checkpoint, "begin_anew");
    settings->new_data = cse_settings_bool(checkpoint, "new_data");
    settings->begins_with = cse_settings_text(checkpoint, "begins_with");
    cse_config_start start = cse_config_start_from(config, &settings->checkpoint_path);
    settings->autoload_last_checkpoint = start == CSE_START_NEWEST;
    if (settings->mode == CSE_JOB_TRAIN)
        settings->weights = cse_settings_text(cse_config_section_view(config, "fit"), "weights");
    settings->log_steps = cse_settings_integer(cse_settings_nested(init, "logging"), "log_steps");
}

/* Adapters that are added to the weights. */
static void read_added(const cse_config *config, cse_arena *arena, cse_job_settings *settings)
{
    const cse_settings *fit = cse_config_section_view(config, "fit");
    const int count = cse_settings_count(fit, "adapter");
    const int factors = cse_settings_count(fit, "adapter_weights");
    const char **paths = cse_arena_alloc(arena, ((size_t)count + 1) * sizeof *paths);
    double *weights = cse_arena_alloc(arena, ((size_t)factors + 1) * sizeof *weights);
    for (int i = 0; i < count; i++)
        paths[i] = cse_settings_text_at(fit, "adapter", i);
    for (int i = 0; i < factors; i++)
        weights[i] = cse_settings_number_at(fit, "adapter_weights", i);
    settings->added = (cse_weights_adapters){
        .paths = paths,
        .weights = factors > 0 ? weights : NULL,
        .count = count,
        .is_linear = strcmp(cse_settings_text(fit, "combination_type"), "linear") == 0,
        .any_base = cse_settings_bool(fit, "any_base"),
    };
}

/* Adapters that begin as a folder of PEFT have its settings. */
static cse_status read_adapters(const cse_settings *init, cse_arena *arena,
                                cse_job_settings *settings)
{
    return cse_settings_has(init, "adapters")
               ? cse_peft_resolve(arena, cse_settings_node(init, "adapters"), &settings->adapters)
               : CSE_OK;
}

/* The configuration that checkpoints record has those settings, and needs no folder. */
static cse_status record_adapters(cse_arena *arena, cse_job_settings *settings)
{
    static const char *const path[] = { "trainer", "init" };
    cse_yaml_node *root = NULL;
    cse_text text = { 0 };
    const char *canonical = settings->canonical_configuration;
    if (settings->adapters == NULL || settings->adapters->kind != CSE_YAML_MAPPING ||
        canonical == NULL || strstr(canonical, "path") == NULL)
        return CSE_OK;
    CSE_TRY(cse_yaml_parse(arena, "configuration", canonical, strlen(canonical), &root));
    cse_yaml_node *init = root;
    for (int i = 0; i < 2 && init != NULL; i++)
        init = cse_yaml_find(init, path[i]);
    if (init == NULL || cse_yaml_find(init, "adapters") == NULL)
        return CSE_OK;
    cse_yaml_put(arena, init, (cse_yaml_key){ .text = "adapters", .place = init->place },
                 cse_peft_without_paths(arena, settings->adapters));
    cse_yaml_print(root, &text);
    settings->canonical_configuration = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return CSE_OK;
}

static void read_plugins(const cse_config *config, const cse_settings *init,
                         cse_job_settings *settings)
{
    settings->model = cse_config_plugin_view(config, "model", 0);
    settings->optimizer = cse_config_plugin_view(config, "optimizer", 0);
    settings->objective = cse_config_plugin_view(config, "objective", 0);
    if (cse_config_plugin_count(config, "schedulers") > 0)
        settings->schedulers = cse_settings_node(init, "schedulers");
    settings->no_step_digests = !cse_settings_bool(init, "step_digests");
    settings->weights_in_memory = cse_settings_text(init, "weights_in_memory");
    settings->inference_threads =
        (int)cse_settings_integer(cse_settings_nested(init, "backend"), "inference_threads");
    settings->freezing = init;
    if (cse_settings_has(init, "sparsity"))
        settings->sparsity = cse_settings_node(init, "sparsity");
    settings->loggers = cse_config_plugin_view(config, "loggers", 0);
    settings->logger_count = cse_config_plugin_count(config, "loggers");
    for (int i = 0; i < settings->logger_count; i++) /* null takes it away, as in the ModelZoo */
        if (settings->loggers[i].tree != NULL && cse_yaml_is_null(settings->loggers[i].tree) &&
            strcmp(settings->loggers[i].name, "ProgressLogger") == 0)
            settings->no_progress = true;
    settings->train_dataloader = cse_config_plugin_view(config, "train_dataloader", 0);
    settings->callbacks = cse_config_plugin_view(config, "callbacks", 0);
    settings->callback_count = cse_config_plugin_count(config, "callbacks");
    settings->metrics = cse_config_plugin_view(config, "metrics", 0);
    settings->metric_count = cse_config_plugin_count(config, "metrics");
}

/* The section of the job's validation: its own, or else that of the training. */
static void read_validation(const cse_config *config, cse_arena *arena, cse_job_settings *settings)
{
    const char *section = settings->mode != CSE_JOB_EVALUATE ? "val_dataloader"
                          : settings->validates_all          ? "validate_all.val_dataloaders"
                                                             : "validate.val_dataloader";
    if (cse_config_plugin_count(config, section) == 0)
        section = "val_dataloader";
    settings->val_dataloader = cse_config_plugin_view(config, section, 0);
    settings->val_count = cse_config_plugin_count(config, section);
    const cse_settings *one = cse_config_section_view(config, "validate");
    const cse_settings *all = cse_config_section_view(config, "validate_all");
    const char *given = cse_settings_origin(cse_config_section_view(config, "fit"), "ckpt_path");
    if (settings->mode == CSE_JOB_EVALUATE && cse_settings_has(one, "ckpt_path") &&
        strncmp(given, "--", 2) != 0) /* a flag has precedence */
        settings->checkpoint_path = cse_settings_text(one, "ckpt_path");
    if (!settings->validates_all)
        return;
    settings->checkpoint_count = cse_settings_count(all, "ckpt_paths");
    const char **patterns =
        cse_arena_alloc(arena, ((size_t)settings->checkpoint_count + 1) * sizeof *patterns);
    for (int i = 0; i < settings->checkpoint_count; i++)
        patterns[i] = cse_settings_text_at(all, "ckpt_paths", i);
    settings->checkpoints = patterns;
}

static void read_records(const cse_config *config, cse_arena *arena, cse_job_settings *settings)
{
    cse_text resolved = { 0 }, origins = { 0 }, effective = { 0 }, given = { 0 };
    cse_yaml_print_block(cse_config_root_view(config), &given);
    settings->given_configuration = cse_arena_string(arena, given.data);
    cse_text_clear(&given);
    cse_config_resolved(config, &resolved, &origins);
    settings->canonical_configuration = cse_config_canonical(config);
    settings->resolved_configuration = cse_arena_string(arena, resolved.data);
    settings->configuration_origins = cse_arena_string(arena, origins.data);
    cse_config_effective(config, &effective);
    settings->effective_settings = cse_arena_string(arena, effective.data);
    cse_text_clear(&effective);
    cse_text_clear(&resolved);
    cse_text_clear(&origins);
}

static cse_status missing(const cse_config *config, const char *what)
{
    return cse_fail(CSE_CONFIG, "configuration: %s: trainer.%s", cse_config_source(config), what);
}

/* A validation measures the data as they are. */
static cse_status refuse_mixing(const cse_job_settings *settings)
{
    for (int i = 0; i < settings->val_count; i++)
        if (cse_settings_has(settings->val_dataloader[i].settings, "mixing"))
            return cse_fail_at(
                CSE_ERROR_AT("configuration: ",
                             cse_settings_place(settings->val_dataloader[i].settings, "mixing")),
                "a validation has whole samples: mixing is for train_dataloader; leave it out of "
                "val_dataloader");
    return CSE_OK;
}

/* Checks that the sections that the mode needs are there. */
static cse_status check_mode(const cse_config *config, const cse_job_settings *settings)
{
    if (settings->mode == CSE_JOB_INFER)
        return CSE_OK;
    if (settings->mode == CSE_JOB_EVALUATE)
        return settings->val_dataloader != NULL
                   ? CSE_OK
                   : missing(config, "fit.val_dataloader is missing; evaluation needs it");
    if (settings->train_dataloader == NULL)
        return missing(config, "fit.train_dataloader is missing; training needs it");
    if (settings->optimizer == NULL)
        return missing(config, "init.optimizer is missing; training needs one, see `csengine list "
                               "optimizers`");
    if (settings->added.count > 0 && settings->weights == NULL)
        return missing(config,
                       "fit.weights is missing; fit.adapter is added to them. An adapter "
                       "that is trained on stands in init.adapters: {NAME: {path: FOLDER}}");
    return CSE_OK;
}

cse_status cse_job_settings_read(const cse_config *config, cse_job_mode mode, cse_arena *arena,
                                 cse_job_settings *settings)
{
    const cse_settings *init = cse_config_section_view(config, "init");
    const bool all = mode == CSE_JOB_EVALUATE_ALL;
    *settings = (cse_job_settings){ .mode = all ? CSE_JOB_EVALUATE : mode,
                                    .validates_all = all,
                                    .config = config };
    read_session(init, arena, &settings->session);
    CSE_TRY(read_hosts(init, arena, &settings->host_settings));
    read_precision(init, settings);
    CSE_TRY(read_memory_limit(init, &settings->memory_limit_bytes));
    CSE_TRY(cse_alert_check(settings->alerts));
    read_loop(config, init, settings);
    read_plugins(config, init, settings);
    CSE_TRY(read_adapters(init, arena, settings));
    read_added(config, arena, settings);
    read_validation(config, arena, settings);
    read_records(config, arena, settings);
    CSE_TRY(refuse_mixing(settings));
    CSE_TRY(record_adapters(arena, settings));
    return check_mode(config, settings);
}

cse_job_environment cse_job_environment_of(const cse_job_settings *settings)
{
    return (cse_job_environment){ .settings = settings,
                                  .host_list = settings->host_settings.hosts,
                                  .hosts_of_place = settings->host_settings.of_place };
}

int64_t cse_job_batch_size(const cse_job_settings *settings)
{
    const cse_config_plugin *loader = settings->train_dataloader;
    return loader != NULL ? cse_settings_integer(loader->settings, "batch_size") : 0;
}
