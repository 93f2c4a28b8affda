/* The whole configuration: good ones, overrides, and each kind of mistake with its position. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/config/config_effects.h"
#include "engine/base/config/settings.h"
#include "engine/base/error.h"
#include "run/job/kinds.h"

static const char good[] = "trainer:\n"
                           "  init:\n"
                           "    backend:\n"
                           "      cluster_config: {num_csx: 2, num_workers_per_csx: 3}\n"
                           "    model_dir: /tmp/x\n"
                           "    model: {name: fc_mnist, hidden_sizes: [5, 3]}\n"
                           "    optimizer:\n"
                           "      SGD: {lr: 0.1}\n"
                           "    schedulers:\n"
                           "      - ConstantLR: {val: 0.1}\n"
                           "      - LinearLR:\n"
                           "          total_iters: 5\n"
                           "    loop: {num_steps: 10}\n"
                           "    seed: 3\n"
                           "  fit:\n"
                           "    train_dataloader: {data_processor: synthetic, batch_size: 8}\n";

static cse_status parse(const char *source, const char *yaml, const cse_config_override *overrides,
                        int count, cse_config **config)
{
    const cse_config_text text = {
        .source = source, .yaml = yaml, .overrides = overrides, .override_count = count
    };
    return cse_config_check(&text, NULL, config);
}

/* A tree as one line. */
static const char *line_of(const cse_yaml_node *node)
{
    static char line[512];
    cse_text text = { 0 };
    cse_yaml_print(node, &text);
    snprintf(line, sizeof line, "%s", text.data);
    cse_text_clear(&text);
    return line;
}

static cse_config *load(const cse_config_override *overrides, int count)
{
    cse_config *config = NULL;
    cse_status status = parse("a.yaml", good, overrides, count, &config);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    return config;
}

START_TEST(sections_are_read)
{
    cse_config *config = load(NULL, 0);
    const cse_settings *cluster = cse_config_section_view(config, "init.backend.cluster_config");
    ck_assert_int_eq(cse_settings_integer(cluster, "num_csx"), 2);
    ck_assert_str_eq(cse_settings_origin(cluster, "num_csx"), "a.yaml:4:33");
    const cse_config_plugin *model = cse_config_plugin_view(config, "model", 0);
    ck_assert_str_eq(model->name, "fc_mnist");
    ck_assert_str_eq(line_of(model->tree), "{hidden_sizes: [5, 3]}");
    ck_assert_ptr_null(model->library);
    const cse_config_plugin *optimizer = cse_config_plugin_view(config, "optimizer", 0);
    ck_assert_str_eq(optimizer->name, "SGD");
    ck_assert_str_eq(optimizer->place.source, "a.yaml");
    ck_assert_int_eq(optimizer->place.line, 8);
    ck_assert_int_eq(optimizer->place.column, 7);
    ck_assert_int_eq(cse_config_plugin_count(config, "schedulers"), 2);
    ck_assert_str_eq(cse_config_plugin_view(config, "schedulers", 1)->name, "LinearLR");
    ck_assert_int_eq(cse_config_plugin_count(config, "val_dataloader"), 0);
    ck_assert_ptr_null(cse_config_plugin_view(config, "val_dataloader", 0));
    ck_assert_str_eq(line_of(cse_config_plugin_view(config, "train_dataloader", 0)->tree),
                     "{data_processor: synthetic, batch_size: 8}");
    cse_config_destroy(&config);
}
END_TEST

START_TEST(a_plugins_error_has_the_files_place)
{
    static const cse_setting table[] = {
        { "total_iters", CSE_SETTING_INTEGER, NULL, 10, 20, NULL, "steps", NULL }, { 0 }
    };
    cse_config *config = load(NULL, 0);
    cse_settings *settings = NULL;
    cse_arena *arena = cse_arena_new();
    ck_assert_int_eq(cse_settings_check(
                         arena,
                         &(cse_settings_expected){ .table = table, .subject = "schedule LinearLR" },
                         cse_config_plugin_view(config, "schedulers", 1)->tree, &settings),
                     CSE_CONFIG);
    cse_arena_destroy(&arena);
    ck_assert_msg(strstr(cse_error_message(), "schedule LinearLR: a.yaml:12:24: total_iters: \"5\" "
                                              "is out of range; accepted: an integer from 10 to "
                                              "20 (steps)") != NULL,
                  "%s", cse_error_message());
    cse_config_destroy(&config);
}
END_TEST

START_TEST(later_overrides_win)
{
    static const cse_config_override overrides[] = {
        { "trainer.init.seed", "7", "--set trainer.init.seed", false },
        { "loop.num_steps", "20", "--set loop.num_steps", false },
        { "optimizer", "{Adam: {lr: 1}}", "--set optimizer", false },
        { "schedulers.0.ConstantLR.val", "0.5", "--set schedulers.0.ConstantLR.val", false },
        { "train_dataloader.batch_size", "16", "--set train_dataloader.batch_size", false },
        { "checkpoint.steps", "4", "--set checkpoint.steps", false },
        { "loop.num_steps", "30", "--num_steps", true },
        { "model_dir", "odd: [name", "--model_dir", true },
    };
    cse_config *config = load(overrides, 8);
    const cse_settings *loop = cse_config_section_view(config, "init.loop");
    ck_assert_int_eq(cse_settings_integer(loop, "num_steps"), 30);
    ck_assert_str_eq(cse_settings_origin(loop, "num_steps"), "--num_steps");
    ck_assert_int_eq(cse_settings_integer(cse_config_section_view(config, "init"), "seed"), 7);
    ck_assert_str_eq(cse_settings_text(cse_config_section_view(config, "init"), "model_dir"),
                     "odd: [name");
    ck_assert_str_eq(cse_config_plugin_view(config, "optimizer", 0)->name, "Adam");
    ck_assert_str_eq(line_of(cse_config_plugin_view(config, "schedulers", 0)->tree), "{val: 0.5}");
    ck_assert_str_eq(line_of(cse_config_plugin_view(config, "train_dataloader", 0)->tree),
                     "{data_processor: synthetic, batch_size: 16}");
    ck_assert_int_eq(
        cse_settings_integer(cse_config_section_view(config, "init.checkpoint"), "steps"), 4);
    cse_config_destroy(&config);
}
END_TEST

static const struct {
    const char *path, *value, *message;
} bad_overrides[] = {
    { "loop.num_stepz", "1",
      "--set: unknown setting \"trainer.init.loop.num_stepz\"; did you mean "
      "\"num_steps\"?" },
    { "lop.num_steps", "1", "--set: unknown setting \"lop\"" },
    { "seed", "x",
      "--set: trainer.init.seed: \"x\" is not an integer; accepted: an integer from 0" },
    { "seed.x", "1", "\"x\" cannot be set inside of a single value" },
    { "schedulers.5.x", "1", "\"5\" is no entry of that list; accepted: 0 to 1" },
    { "loop..x", "1", "a name is empty" },
    { "seed", "[1", "--set:" },
    { "loop", "{num_steps: 1, num_epochs: 2}", "exclude" },
    { "loop.steps_per_epoch", "2", "loop.steps_per_epoch has no effect without loop.num_epochs" },
    { "backend.cluster_config.num_csx", "0", "\"0\" is out of range; accepted: an integer from 1" },
    { "precision.weight_grad_reduce", "fp61", "accepted: one of fp32, bf16, bf16sr, fp16, cb16" },
    { "precision.max_gradient_norm", "0", "accepted: a number above 0, or null" },
    { "precision", "{max_gradient_norm: 1, max_gradient_value: 1}", "exclude each other" },
    { "precision.loss_scaling_factor", "dinamic", "accepted: a number, 0 for none, or dynamic" },
    { "backend", "{compile_only: true, validate_only: true}", "exclude each other" },
    { "backend.cluster_config.job_labels", "[a]", "\"a\" is no label; accepted: key=value" },
    { "backend.cluster_config.job_labels", "[a=b=c]", "is no label" },
    { "optimizer", "{SGD: {}, Adam: {}}", "optimizer: one {NAME: {settings}} belongs here" },
    { "model", "{nam: x}", "{name: NAME, ...} belongs here; see `csengine list models`" },
    { "model", "{name: [x]}", "name: a name belongs here" },
    { "fit.val_dataloader", "[1]", "{data_processor: NAME, ...} belongs here" },
    { "model", "null", "trainer.init.model: \"null\" is no value" },
};

START_TEST(an_override_replaces_all_names_of_a_setting)
{
    static const char yaml[] = "trainer:\n"
                               "  init:\n"
                               "    model: {name: fc_mnist, nonlinearity: relu, dropout: 0.5}\n"
                               "    optimizer: {SGD: {lr: 0.1}}\n"
                               "    loop: {num_steps: 10}\n"
                               "  fit:\n"
                               "    train_dataloader: {data_processor: synthetic, batch_size: 8}\n";
    static const cse_config_override overrides[] = {
        { "model.activation", "gelu", "--set model.activation", false },
        { "model.dropout_rate", "0.25", "--set model.dropout_rate", false },
        { "model.dropout", "0.75", "--set model.dropout", false },
    };
    cse_config_text text = { .source = "a.yaml",
                             .yaml = yaml,
                             .overrides = overrides,
                             .override_count = 2,
                             .kinds = cse_kinds };
    cse_config *config = NULL;
    ck_assert_msg(cse_config_check(&text, NULL, &config) == CSE_OK, "%s", cse_error_message());
    const cse_settings *model = cse_config_plugin_view(config, "model", 0)->settings;
    ck_assert_str_eq(cse_settings_text(model, "nonlinearity"), "gelu");
    ck_assert_double_eq(cse_settings_number(model, "dropout_rate"), 0.25);
    ck_assert_str_eq(line_of(cse_config_plugin_view(config, "model", 0)->tree),
                     "{activation: gelu, dropout_rate: 0.25}");
    ck_assert_ptr_null(strstr(cse_config_canonical(config), "nonlinearity"));
    cse_config_destroy(&config);
    text.override_count = 3;
    ck_assert_int_eq(cse_config_check(&text, NULL, &config), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "names of the same setting"));
}
END_TEST

START_TEST(bad_overrides_are_explained)
{
    cse_config_override override = { bad_overrides[_i].path, bad_overrides[_i].value, "--set",
                                     false };
    cse_config *config = NULL;
    ck_assert_int_eq(parse("a.yaml", good, &override, 1, &config), CSE_CONFIG);
    ck_assert_ptr_null(config);
    ck_assert_msg(strstr(cse_error_message(), bad_overrides[_i].message) != NULL, "%s: %s",
                  bad_overrides[_i].path, cse_error_message());
}
END_TEST

static const struct {
    const char *yaml, *message;
} bad[] = {
    { "", "configuration: a.yaml:1:1: there are no settings: the text is empty" },
    { "# x\n", "configuration: a.yaml:1:1: there are no settings: the text is empty" },
    { "a: 1\n", "a.yaml:1:1: unknown setting \"a\"; accepted: trainer" },
    { "init: {}\n", "unknown setting \"init\"; it belongs to trainer; check the indentation" },
    { "{}", "a.yaml:1:1: the setting \"trainer\" is missing (the run); add it" },
    { "[1]", "a.yaml:1:1: a mapping of settings belongs here" },
    { "trainer:\n  init:\n    lopp: {}\n",
      "a.yaml:3:5: unknown setting \"trainer.init.lopp\"; did you mean \"loop\"?; accepted: "
      "backend, model_dir" },
    { "trainer: {init: {}}", "a.yaml:1:17: the setting \"trainer.init.model\" is missing" },
    { "trainer: 5", "a.yaml:1:10: trainer: a mapping of settings belongs here" },
    { "trainer:\n  init:\n    model: {name: x}\n    precision: {enable: true}\n",
      "unknown setting "
      "\"trainer.init.precision.enable\"" },
    { "trainer:\n  init:\n    model: {name: x}\n    precision: {fp16_type: fp16}\n",
      "a.yaml:4:28: trainer.init.precision.fp16_type: \"fp16\" is not accepted here" },
    { "trainer:\n  init:\n    model: {name: x}\n    precision: {precision_opt_level: 3}\n",
      "a.yaml:4:38: trainer.init.precision.precision_opt_level: \"3\" is out of range" },
    { "trainer:\n\tinit: {}\n", "a.yaml:2:" },
};

START_TEST(bad_files_are_explained)
{
    cse_config *config = NULL;
    ck_assert_int_eq(parse("a.yaml", bad[_i].yaml, NULL, 0, &config), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), bad[_i].message) != NULL, "%s", cse_error_message());
}
END_TEST

/* Each fault of one text, in the order in which they are found. */
static const struct {
    const char *yaml;
    const char *messages[8];
} many[] = {
    { "trainer:\n"
      "  init:\n"
      "    sed: 3\n"
      "    model: {name: fc_mnst}\n"
      "    optimizer: {SGD: {lrr: 0.1, momentum: much}}\n"
      "    loop: {num_steps: many}\n"
      "    precision: {max_gradient_norm: 1, max_gradient_value: 1}\n"
      "  fit:\n"
      "    train_dataloader: {data_processor: synthetic, batch_size: 0, features: [4]}\n",
      { "a.yaml:3:5: unknown setting \"trainer.init.sed\"; did you mean \"seed\"?",
        "a.yaml:6:23: trainer.init.loop.num_steps: \"many\" is not an integer",
        "a.yaml:7:59: precision.max_gradient_value and precision.max_gradient_norm",
        "a.yaml:4:19: there is no model 'fc_mnst' (did you mean 'fc_mnist'?)",
        "a.yaml:5:23: unknown setting \"lrr\"; did you mean \"lr\"?",
        "a.yaml:5:43: momentum: \"much\" is not a number",
        "a.yaml:9:63: batch_size: \"0\" is out of range" } },
    /* What settings are to each other is not asked of a section with a fault. */
    { "trainer:\n"
      "  init:\n"
      "    model: {name: fc_mnist}\n"
      "    loop: {num_epoch: 2, steps_per_epoch: 3}\n"
      "    checkpoint: 5\n"
      "    backend: {cluster_config: {job_labels: [a, b=c, d]}}\n",
      { "a.yaml:4:12: unknown setting \"trainer.init.loop.num_epoch\"",
        "a.yaml:5:17: trainer.init.checkpoint: a mapping of settings belongs here",
        "\"a\" is no label", "\"d\" is no label" } },
    { "trainer:\n  init: {}\n  fitt: {}\n",
      { "a.yaml:3:3: unknown setting \"trainer.fitt\"",
        "a.yaml:2:9: the setting \"trainer.init.model\" is missing" } },
    { "trainer: [1", { "a.yaml:" } },
};

START_TEST(every_fault_is_told)
{
    const cse_config_text text = { .source = "a.yaml", .yaml = many[_i].yaml, .kinds = cse_kinds };
    cse_diagnostics faults = { 0 };
    cse_config *config = NULL;
    ck_assert_int_eq(cse_config_check(&text, &faults, &config), CSE_CONFIG);
    ck_assert_ptr_null(config);
    char first[4096], found[4096];
    cse_error_print(faults.errors[0], first, sizeof first);
    ck_assert_str_eq(cse_error_message(), first);
    int expected = 0;
    while (many[_i].messages[expected] != NULL)
        expected++;
    for (int i = 0; i < faults.count && i < expected; i++) {
        cse_error_print(faults.errors[i], found, sizeof found);
        ck_assert_msg(strstr(found, many[_i].messages[i]) != NULL, "%d: %s", i, found);
    }
    ck_assert_int_eq(faults.count, expected);
    cse_diagnostics_clear(&faults);
    /* Without a collector, the first of them. */
    ck_assert_int_eq(cse_config_check(&text, NULL, &config), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), many[_i].messages[0]));
}
END_TEST

START_TEST(faults_are_bounded)
{
    char yaml[8192] = "trainer:\n  init:\n    model: {name: fc_mnist}\n";
    for (int i = 0; i < 2 * CSE_MAX_DIAGNOSTICS; i++)
        snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml), "    wrong_%d: 1\n", i);
    const cse_config_text text = { .source = "a.yaml", .yaml = yaml };
    cse_diagnostics faults = { 0 };
    cse_config *config = NULL;
    ck_assert_int_eq(cse_config_check(&text, &faults, &config), CSE_CONFIG);
    ck_assert_int_eq(faults.count, CSE_MAX_DIAGNOSTICS);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "\"trainer.init.wrong_0\""));
    cse_diagnostics_clear(&faults);
}
END_TEST

/* What the command line gives replaces its opposites in the file; null and false give nothing. */
static const struct {
    const char *file; /* the section init */
    const char *path, *value;
    const char *expected; /* the section of the path, with what was given */
} opposites[] = {
    { "loop: {num_epochs: 3, steps_per_epoch: 5}", "loop.num_steps", "7", "{num_steps: 7}" },
    { "loop: {num_steps: 3, max_steps: 9}", "loop.num_epochs", "2", "{num_epochs: 2}" },
    { "loop: {num_epochs: 3, steps_per_epoch: 5}", "loop.max_steps", "9", "{max_steps: 9}" },
    { "loop: {num_epochs: 3, steps_per_epoch: 5}", "loop.num_epochs", "2",
      "{num_epochs: 2, steps_per_epoch: 5}" },
    { "loop: {num_epochs: 3}", "loop.num_steps", "null", "{num_epochs: 3, num_steps: null}" },
    { "loop: {num_epochs: 3}", "loop.eval_steps", "4", "{num_epochs: 3, eval_steps: 4}" },
    { "precision: {max_gradient_norm: 1}", "precision.max_gradient_value", "2",
      "{max_gradient_value: 2}" },
    { "backend: {compile_only: true}", "backend.validate_only", "true", "{validate_only: true}" },
    { "backend: {compile_only: true}", "backend.validate_only", "false",
      "{compile_only: true, validate_only: false}" },
    { "optimizer: {SGD: {lr: 1, momentum: 0.5}}", "optimizer.SGD.learning_rate", "2",
      "{momentum: 0.5, learning_rate: 2}" },
};

START_TEST(the_command_line_replaces_opposites)
{
    char yaml[512], path[64];
    snprintf(yaml, sizeof yaml, "trainer: {init: {model: {name: fc_mnist}, %s}}",
             opposites[_i].file);
    const cse_config_override override = { opposites[_i].path, opposites[_i].value, "--set",
                                           false };
    cse_config *config = NULL;
    ck_assert_msg(parse("a.yaml", yaml, &override, 1, &config) == CSE_OK, "%s",
                  cse_error_message());
    const cse_yaml_node *node = cse_config_root_view(config);
    snprintf(path, sizeof path, "trainer.init.%s", opposites[_i].path);
    *strrchr(path, '.') = '\0';
    char *rest = path;
    for (char *name = strsep(&rest, "."); name != NULL; name = strsep(&rest, "."))
        node = cse_yaml_find(node, name);
    ck_assert_str_eq(line_of(node), opposites[_i].expected);
    cse_config_destroy(&config);
}
END_TEST

START_TEST(opposites_on_one_command_line_are_refused)
{
    const cse_config_override overrides[] = { { "loop.num_steps", "7", "--num_steps", true },
                                              { "loop.num_epochs", "2", "--set", false } };
    cse_config *config = NULL;
    ck_assert_int_eq(parse("a.yaml", good, overrides, 2, &config), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "exclude each other"));
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    cse_config *config = NULL;
    ck_assert_int_eq(parse("/nowhere/x.yaml", NULL, NULL, 0, &config), CSE_NO_INPUT);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/nowhere/x.yaml: there is no such file"));
}
END_TEST

static const struct {
    const char *path, *value;
    cse_config_start expected;
} starts[] = {
    { "seed", "1", CSE_START_NEWEST },
    { "fit.ckpt_path", "null", CSE_START_FRESH },
    { "fit.ckpt_path", "newest", CSE_START_NEWEST },
    { "fit.ckpt_path", "a.mdl", CSE_START_FROM_PATH },
    { "checkpoint.autoload_last_checkpoint", "false", CSE_START_FRESH },
};

START_TEST(where_a_run_starts)
{
    cse_config_override override = { starts[_i].path, starts[_i].value, "--set", false };
    cse_config *config = load(&override, 1);
    const char *path = NULL;
    ck_assert_int_eq(cse_config_start_from(config, &path), starts[_i].expected);
    ck_assert_int_eq(path != NULL, starts[_i].expected == CSE_START_FROM_PATH);
    cse_config_destroy(&config);
}
END_TEST

START_TEST(the_canonical_line_is_a_configuration)
{
    cse_config *config = load(NULL, 0), *again = NULL;
    ck_assert_msg(parse("b", cse_config_canonical(config), NULL, 0, &again) == CSE_OK, "%s",
                  cse_error_message());
    ck_assert_str_eq(cse_config_canonical(config), cse_config_canonical(again));
    cse_config_destroy(&config);
    cse_config_destroy(&again);
}
END_TEST

/* Every value is listed until it is asked for; of a list of scalars the whole. */
START_TEST(what_was_not_read_is_known)
{
    const char *yaml = "trainer:\n"
                       "  init:\n"
                       "    model: {name: fc_mnist, hidden_sizes: [5, 3], dropout: 0.5}\n"
                       "    loop: {num_steps: 10, eval_steps: null}\n"
                       "    precision: {pol: [{scope: a, level: 1}]}\n";
    static const char *const paths[] = {
        "trainer.init.model.hidden_sizes",    "trainer.init.model.dropout",
        "trainer.init.loop.num_steps",        "trainer.init.precision.pol.0.scope",
        "trainer.init.precision.pol.0.level", "trainer.init.seed"
    };
    const cse_config_override override = { "seed", "7", "--seed", true };
    const cse_config_text text = { .source = "a.yaml",
                                   .yaml = yaml,
                                   .overrides = &override,
                                   .override_count = 1,
                                   .kinds = cse_kinds };
    cse_config *config = NULL;
    cse_yaml_unread *unread = NULL;
    ck_assert_msg(cse_config_check(&text, NULL, &config) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(cse_config_unread(config, &unread), 7);
    const cse_settings *loop = cse_config_section_view(config, "init.loop");
    ck_assert(!cse_settings_has(loop, "eval_steps"));
    ck_assert_int_eq(cse_config_unread(config, &unread), 6);
    for (int i = 0; i < 6; i++)
        ck_assert_str_eq(unread[i].path, paths[i]);
    ck_assert_int_eq(unread[1].place.line, 3);
    ck_assert_int_eq(unread[1].place.column, 60);
    ck_assert_str_eq(unread[5].place.source, "--seed");
    const cse_settings *model = cse_config_plugin_view(config, "model", 0)->settings;
    ck_assert_int_eq(cse_settings_count(model, "hidden_sizes"), 2);
    ck_assert_double_eq(cse_settings_number(model, "dropout_rate"), 0.5);
    ck_assert(cse_settings_has(loop, "num_steps")); /* that it is there is not its value */
    ck_assert_int_eq(cse_config_unread(config, &unread), 4);
    ck_assert_str_eq(unread[0].path, "trainer.init.loop.num_steps");
    cse_config_destroy(&config);
}
END_TEST

/* Settings of which the file alone shows that another one decides. */
static const struct {
    const char *init, *warning; /* NULL: none */
} without_effect[] = {
    { "optimizer: {SGD: {lr: 0.5}}", NULL },
    { "optimizer: {SGD: {lr: 0.5}}, schedulers: [{LinearLR: {initial_learning_rate: 0.1, "
      "end_learning_rate: 0, total_iters: 5}}]",
      "a.yaml:1:65: optimizer.SGD.lr is not used: schedulers sets it" },
    { "optimizer: {SGD: {learning_rate: 0.5}}, schedulers: {ConstantLR: {learning_rate: 0.1}}",
      "optimizer.SGD.learning_rate is not used: schedulers sets it" },
    /* The first value of the schedule, in each of its forms. */
    { "optimizer: {SGD: {lr: 0.10}}, schedulers: [{LinearLR: {initial_learning_rate: 1e-1, "
      "end_learning_rate: 0, total_iters: 5}}, {ConstantLR: {learning_rate: 0.3}}]",
      NULL },
    { "optimizer: {SGD: {learning_rate: 0.1}}, schedulers: {ConstantLR: {learning_rate: 0.1}}",
      NULL },
    { "optimizer: {SGD: {lr: 0.1}}, schedulers: [{SequentialLR: {schedulers: [{ConstantLR: "
      "{learning_rate: 0.1, total_iters: 3}}, {ConstantLR: {learning_rate: 0.3}}]}}]",
      NULL },
    { "precision: {steps_per_increase: 9}",
      "precision.steps_per_increase is not used: loss_scaling_factor is not dynamic" },
    { "precision: {steps_per_increase: 9, loss_scaling_factor: dynamic}", NULL },
    { "precision: {enabled: false, steps_per_increase: 9, fp16_type: bfloat16}", NULL },
    { "loop: {num_steps: 1, eval_steps: 3}",
      "loop.eval_steps is not used: there is no val_dataloader" },
};

START_TEST(settings_without_effect_are_named)
{
    char yaml[1024], found[1024];
    snprintf(yaml, sizeof yaml, "trainer: {init: {model: {name: fc_mnist}, %s}}",
             without_effect[_i].init);
    const cse_config_text text = { .source = "a.yaml", .yaml = yaml, .kinds = cse_kinds };
    cse_config *config = NULL;
    cse_error *warnings = NULL;
    ck_assert_msg(cse_config_check(&text, NULL, &config) == CSE_OK, "%s", cse_error_message());
    int count = cse_config_without_effect(config, &warnings);
    ck_assert_int_eq(count, without_effect[_i].warning != NULL ? 1 : 0);
    if (count > 0) {
        cse_error_print(&warnings[0], found, sizeof found);
        ck_assert_msg(strstr(found, without_effect[_i].warning) != NULL, "%s", found);
    }
    cse_config_destroy(&config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, sections_are_read);
    tcase_add_test(cases, a_plugins_error_has_the_files_place);
    tcase_add_test(cases, later_overrides_win);
    tcase_add_test(cases, an_override_replaces_all_names_of_a_setting);
    tcase_add_loop_test(cases, bad_overrides_are_explained, 0,
                        sizeof bad_overrides / sizeof bad_overrides[0]);
    tcase_add_loop_test(cases, bad_files_are_explained, 0, sizeof bad / sizeof bad[0]);
    tcase_add_loop_test(cases, every_fault_is_told, 0, sizeof many / sizeof many[0]);
    tcase_add_test(cases, faults_are_bounded);
    tcase_add_loop_test(cases, the_command_line_replaces_opposites, 0,
                        sizeof opposites / sizeof opposites[0]);
    tcase_add_test(cases, opposites_on_one_command_line_are_refused);
    tcase_add_loop_test(cases, settings_without_effect_are_named, 0,
                        sizeof without_effect / sizeof without_effect[0]);
    tcase_add_test(cases, a_missing_file_is_named);
    tcase_add_loop_test(cases, where_a_run_starts, 0, sizeof starts / sizeof starts[0]);
    tcase_add_test(cases, what_was_not_read_is_known);
    tcase_add_test(cases, the_canonical_line_is_a_configuration);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
