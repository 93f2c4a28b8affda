/* One table: which settings another one makes useless, and why. */
#include "engine/base/config/config_effects.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/cluster_table.h"
#include "engine/base/config/compute_format.h"
#include "engine/base/config/settings.h"

typedef struct effect_rule {
    const char *pattern; /* of paths below "trainer." */
    bool (*applies)(const cse_config *config);
    const char *reason;
} effect_rule;

static bool has_schedule(const cse_config *config)
{
    return cse_config_plugin_count(config, "schedulers") > 0;
}

static bool scale_is_fixed(const cse_config *config)
{
    const cse_settings *precision = cse_config_section_view(config, "init.precision");
    return strcmp(cse_settings_text(precision, "loss_scaling_factor"), "dynamic") != 0;
}

static bool has_no_validation(const cse_config *config)
{
    return cse_config_plugin_count(config, "val_dataloader") == 0;
}

/* enabled: false is asked for "whatever else is set", and so needs no warning. */
static bool is_switched_off(const cse_config *config)
{
    const cse_settings *precision = cse_config_section_view(config, "init.precision");
    return cse_settings_has(precision, "enabled") && !cse_settings_bool(precision, "enabled");
}

static bool keeps_all(const cse_config *config)
{
    const cse_settings *checkpoint = cse_config_section_view(config, "init.checkpoint");
    return !cse_settings_has(checkpoint, "keep") && !cse_settings_has(checkpoint, "replay_budget");
}

static bool is_float32(const cse_config *config)
{
    const cse_settings *precision = cse_config_section_view(config, "init.precision");
    return cse_compute_format_of(precision).name == NULL;
}

static bool is_for_other_hardware(const cse_config *config)
{
    const cse_settings *backend = cse_config_section_view(config, "init.backend");
    return strcmp(cse_settings_text(backend, "backend_type"), "CPU") != 0;
}

static const char not_dynamic[] = "loss_scaling_factor is not dynamic";
static const char no_validation[] = "there is no val_dataloader";

static const char no_level[] =
    "the run computes in float32, since neither precision.fp16_type nor precision.enabled: true "
    "asks for 16 bits";

static const effect_rule rules[] = {
    { "init.backend.cluster_config.precision_opt_level", is_float32, no_level },
    { "init.backend.csx.precision.optimization_level", is_float32, no_level },
    { "init.optimizer.*.lr", has_schedule, "schedulers sets it" },
    { "init.optimizer.*.learning_rate", has_schedule, "schedulers sets it" },
    { "init.precision.initial_loss_scale", scale_is_fixed, not_dynamic },
    { "init.precision.steps_per_increase", scale_is_fixed, not_dynamic },
    { "init.precision.min_loss_scale", scale_is_fixed, not_dynamic },
    { "init.precision.max_loss_scale", scale_is_fixed, not_dynamic },
    { "init.precision.overflow_tolerance", scale_is_fixed, not_dynamic },
    { "init.loop.eval_frequency", has_no_validation, no_validation },
    { "init.loop.eval_steps", has_no_validation, no_validation },
    { "init.checkpoint.keep_best.*", has_no_validation, no_validation },
    { "init.checkpoint.keep_best.*", keeps_all, "without keep all checkpoints stay" },
    { "init.backend.backend_type", is_for_other_hardware, "the step runs on the CPU" },
};

static const char trainer[] = "trainer.";

/* The path without "trainer.init.", as people write it. */
static const char *short_path(const char *path)
{
    static const char *const prefixes[] = { "trainer.init.", "trainer." };
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
            return path + strlen(prefixes[i]);
    return path;
}

static const cse_config_hint *hint_of(const char *path)
{
    const bool below = strncmp(path, trainer, sizeof trainer - 1) == 0;
    return below ? cse_config_hint_of(path + sizeof trainer - 1) : NULL;
}

static const char *reason_of(const cse_config *config, const char *path)
{
    if (strncmp(path, trainer, sizeof trainer - 1) != 0)
        return NULL;
    if (hint_of(path) != NULL)
        return hint_of(path)->reason;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (fnmatch(rules[i].pattern, path + sizeof trainer - 1, 0) == 0 &&
            rules[i].applies(config))
            return rules[i].reason;
    return NULL;
}

/* ---- the value that a schedule begins with ---- */

/* The first schedule of a list, of a SequentialLR, or itself. */
static const cse_yaml_node *first_schedule(const cse_yaml_node *node)
{
    while (node != NULL) {
        const cse_yaml_node *list = cse_yaml_find(node, "schedulers");
        if (list == NULL && node->kind == CSE_YAML_SEQUENCE)
            list = node;
        if (list != NULL)
            node = list->kind == CSE_YAML_SEQUENCE && list->count > 0 ? list->children[0] : NULL;
        else if (node->kind == CSE_YAML_MAPPING && node->count == 1 &&
                 node->children[0]->kind == CSE_YAML_MAPPING)
            node = node->children[0];
        else
            return node;
    }
    return NULL;
}

/* Whether the node is the learning rate of the optimizer, under either of its names. */
static bool is_rate(const cse_config *config, const cse_yaml_node *node)
{
    const cse_config_plugin *optimizer = cse_config_plugin_view(config, "optimizer", 0);
    return optimizer != NULL && (node == cse_yaml_find(optimizer->tree, "lr") ||
                                 node == cse_yaml_find(optimizer->tree, "learning_rate"));
}

/* Whether a learning rate is the first value of the schedule that replaces it. */
static bool begins_schedule(const cse_config *config, const cse_yaml_node *rate)
{
    static const char *const names[] = { "initial_learning_rate", "learning_rate" };
    if (!has_schedule(config) || !is_rate(config, rate))
        return false;
    const cse_yaml_node *first =
        first_schedule(cse_settings_node(cse_config_section_view(config, "init"), "schedulers"));
    const cse_yaml_node *start = first;
    for (size_t i = 0; first != NULL && first->kind == CSE_YAML_MAPPING && i < 2; i++) {
        start = cse_yaml_find(first, names[i]);
        if (start != NULL)
            break;
    }
    return start != NULL && rate->kind == CSE_YAML_SCALAR && start->kind == CSE_YAML_SCALAR &&
           strtod(rate->text, NULL) == strtod(start->text, NULL);
}

/* ---- warnings ---- */

bool cse_config_explain_unread(const cse_config *config, const cse_yaml_unread *unread,
                               cse_config_effect *effect)
{
    cse_arena *arena = cse_config_arena_view(config);
    const cse_config_hint *hint = hint_of(unread->path);
    const bool is_hint =
        hint != NULL || strcmp(unread->path, "trainer.init.backend.backend_type") == 0;
    const char *reason = reason_of(config, unread->path);
    if (reason != NULL && begins_schedule(config, unread->node))
        return false;
    if (fnmatch("trainer.init.precision.*", unread->path, 0) == 0 && is_switched_off(config))
        return false;
    if (is_hint && cse_yaml_is_null(unread->node))
        return false;
    const char *message =
        cse_arena_printf(arena, "%s is not used: %s", short_path(unread->path),
                         reason != NULL ? reason : "nothing in this run reads it");
    *effect = (cse_config_effect){
        .warning = { .status = CSE_CONFIG, .place = unread->place, .message = message },
        .is_hint = is_hint,
        .hint = hint,
        .name = strrchr(hint != NULL ? hint->path : unread->path, '.') + 1,
    };
    return true;
}

int cse_config_without_effect(const cse_config *config, cse_error **warnings)
{
    cse_yaml_unread *given = NULL; /* whether it was read is not asked */
    cse_arena *arena = cse_config_arena_view(config);
    const int given_count = cse_yaml_list_values(arena, cse_config_root_view(config), &given);
    cse_config_effect effect;
    int count = 0;
    *warnings = cse_arena_alloc(arena, ((size_t)given_count + 1) * sizeof **warnings);
    for (int i = 0; i < given_count; i++)
        if (reason_of(config, given[i].path) != NULL &&
            cse_config_explain_unread(config, &given[i], &effect))
            (*warnings)[count++] = effect.warning;
    return count;
}
