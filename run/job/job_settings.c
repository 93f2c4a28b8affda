/* Reads each section of the configuration: one assignment per setting. */
#include "run/job/job_settings.h"

#include <stdlib.h>
#include <string.h>

#include "engine/config/settings.h"

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
    *session = (cse_configuration){
        .model_dir = cse_settings_text(init, "model_dir"),
        .compile_dir = cse_settings_text(backend, "compile_dir"),
        .compile_only = cse_settings_bool(backend, "compile_only"),
        .validate_only = cse_settings_bool(backend, "validate_only"),
        .num_csx = (int)cse_settings_integer(cluster, "num_csx"),
        .num_workers_per_csx = (int)cse_settings_integer(cluster, "num_workers_per_csx"),
        .max_wgt_servers = (int)cse_settings_integer(cluster, "max_wgt_servers"),
        .job_labels = labels,
        .weight_grad_reduce = cse_settings_text(precision, "weight_grad_reduce"),
        .weight_update = cse_settings_text(precision, "weight_update"),
        .seed = (uint64_t)cse_settings_integer(init, "seed"),
    };
}

/* The loss scaling settings of `precision`, renamed to those of the gradient scaler; NULL for a
 * factor of 1. With a static scale the settings of dynamic scaling are not read. */
static cse_yaml_node *scaler_tree(const cse_settings *precision, cse_arena *arena)
{
    static const char *const names[][2] = { { "steps_per_increase", "steps_per_increase" },
                                            { "initial_loss_scale", "init_scale" },
                                            { "min_loss_scale", "min_loss_scale" },
                                            { "max_loss_scale", "max_loss_scale" },
                                            { "overflow_tolerance", "overflow_tolerance" } };
    const char *factor = cse_settings_text(precision, "loss_scaling_factor");
    cse_yaml_node *node = cse_settings_node(precision, "loss_scaling_factor");
    const cse_place place = node->place;
    if (strtod(factor, NULL) == 1.0)
        return NULL;
    cse_yaml_node *tree = cse_yaml_mapping_new(arena, place);
    cse_yaml_put(arena, tree, (cse_yaml_key){ "loss_scale", place }, node);
    for (size_t i = 0; strcmp(factor, "dynamic") == 0 && i < sizeof names / sizeof names[0]; i++)
        if (cse_settings_given(precision, names[i][0]))
            cse_yaml_put(arena, tree, (cse_yaml_key){ names[i][1], place },
                         cse_settings_node(precision, names[i][0]));
    return tree;
}

static void read_precision(const cse_settings *init, cse_arena *arena, cse_job_settings *settings)
{
    const cse_settings *precision = cse_settings_nested(init, "precision");
    settings->precision = precision;
    settings->numerics = cse_settings_nested(init, "numerics");
    settings->grad_scaler = scaler_tree(precision, arena);
    settings->max_gradient_norm = number_or_zero(precision, "max_gradient_norm");
    settings->max_gradient_value = number_or_zero(precision, "max_gradient_value");
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
    settings->eval_steps = integer_or_zero(loop, "eval_steps");
    settings->eval_frequency = number_or_zero(loop, "eval_frequency");
    settings->checkpoint_steps = integer_or_zero(checkpoint, "steps");
    settings->save_initial_checkpoint = cse_settings_bool(checkpoint, "save_initial_checkpoint");
    cse_config_start start = cse_config_start_from(config, &settings->checkpoint_path);
    settings->autoload_last_checkpoint = start == CSE_START_NEWEST;
    settings->log_steps = cse_settings_integer(cse_settings_nested(init, "logging"), "log_steps");
}

static void read_plugins(const cse_config *config, const cse_settings *init,
                         cse_job_settings *settings)
{
    settings->model = cse_config_plugin_view(config, "model", 0);
    settings->optimizer = cse_config_plugin_view(config, "optimizer", 0);
    if (cse_config_plugin_count(config, "schedulers") > 0)
        settings->schedulers = cse_settings_node(init, "schedulers");
    settings->loggers = cse_config_plugin_view(config, "loggers", 0);
    settings->logger_count = cse_config_plugin_count(config, "loggers");
    settings->train_dataloader = cse_config_plugin_view(config, "train_dataloader", 0);
    settings->val_dataloader = cse_config_plugin_view(config, "val_dataloader", 0);
}

static void read_records(const cse_config *config, cse_arena *arena, cse_job_settings *settings)
{
    cse_text resolved = { 0 }, origins = { 0 };
    cse_config_resolved(config, &resolved, &origins);
    settings->canonical_configuration = cse_config_canonical(config);
    settings->resolved_configuration = cse_arena_string(arena, resolved.data);
    settings->configuration_origins = cse_arena_string(arena, origins.data);
    cse_text_clear(&resolved);
    cse_text_clear(&origins);
}

static cse_status missing(const cse_config *config, const char *what)
{
    return cse_fail(CSE_CONFIG, "configuration: %s: trainer.%s", cse_config_source(config), what);
}

/* Checks that the sections that the mode needs are there. */
static cse_status check_mode(const cse_config *config, const cse_job_settings *settings)
{
    if (settings->mode == CSE_JOB_EVALUATE)
        return settings->val_dataloader != NULL
                   ? CSE_OK
                   : missing(config, "fit.val_dataloader is missing; evaluation needs it");
    if (settings->train_dataloader == NULL)
        return missing(config, "fit.train_dataloader is missing; training needs it");
    if (settings->optimizer == NULL)
        return missing(config, "init.optimizer is missing; training needs one, see `csengine list "
                               "optimizers`");
    return CSE_OK;
}

cse_status cse_job_settings_read(const cse_config *config, cse_job_mode mode, cse_arena *arena,
                                 cse_job_settings *settings)
{
    const cse_settings *init = cse_config_section_view(config, "init");
    *settings = (cse_job_settings){ .mode = mode, .config = config };
    read_session(init, arena, &settings->session);
    read_precision(init, arena, settings);
    read_loop(config, init, settings);
    read_plugins(config, init, settings);
    read_records(config, arena, settings);
    return check_mode(config, settings);
}
