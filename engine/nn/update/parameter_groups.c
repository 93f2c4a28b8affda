/* Parameter groups: a group's settings are the optimizer's own with those of the group put over
 * them, checked against the optimizer's table like any others. So every setting of every optimizer
 * can differ from group to group, and an optimizer's update rule sees one set of settings. */
#include "engine/nn/update/parameter_groups.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/text.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/update/gradients.h"
#include "engine/nn/update/moments.h"

static const cse_setting group_table[] = {
    { .name = "params",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "patterns of the names of the group's parameters" },
    { .name = "name",
      .type = CSE_SETTING_NAME,
      .default_value = "null",
      .doc = "the learning rate is recorded as lr/NAME; null: lr/NUMBER" },
    { .name = "tags",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "words by which a schedule is chosen (param_group_tags)" },
    { .name = "adjust_learning_rate",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1e9,
      .doc = "factor of the group's learning rate" },
    { .name = NULL },
};
static const char *const group_words[] = { "params", "name", "tags", "adjust_learning_rate", NULL };

/* ---- settings ---- */

/* A word stands for a list of one. */
static void list_of_one(cse_arena *arena, cse_yaml_node *mapping, const char *key)
{
    cse_yaml_node *word = cse_yaml_find(mapping, key);
    if (word == NULL || word->kind != CSE_YAML_SCALAR || cse_yaml_is_null(word))
        return;
    cse_yaml_node *list = cse_yaml_sequence_new(arena, word->place);
    cse_yaml_append(arena, list, word);
    cse_yaml_put(arena, mapping, (cse_yaml_key){ key, word->place }, list);
}

/* The optimizer's settings, and over them the group's. */
static cse_yaml_node *merged(cse_arena *arena, const cse_yaml_node *base,
                             const cse_yaml_node *group)
{
    static const char *const none[] = { "params", NULL };
    static const char *const rates[] = { "params", "lr", "learning_rate", NULL };
    bool rate = cse_yaml_find(group, "lr") != NULL || cse_yaml_find(group, "learning_rate") != NULL;
    cse_yaml_node *tree = base->kind == CSE_YAML_MAPPING
                              ? cse_yaml_without(arena, base, rate ? rates : none)
                              : cse_yaml_mapping_new(arena, group->place);
    const cse_yaml_node *own = cse_yaml_without(arena, group, group_words);
    for (int i = 0; i < own->count; i++)
        cse_yaml_put(arena, tree, own->keys[i], own->children[i]);
    return tree;
}

/* The settings of a group's parameters that have no weight decay, where the group itself does not
 * say what it is. */
static cse_status add_spared(cse_network *network, const cse_optimizer *optimizer,
                             const cse_yaml_node *node, cse_parameter_group *group)
{
    const cse_setting *const table = optimizer->descriptor->settings;
    if (!optimizer->spares || !cse_setting_table_has(table, "weight_decay") ||
        cse_yaml_find(node, "weight_decay") != NULL ||
        cse_settings_number(group->settings, "weight_decay") == 0)
        return CSE_OK;
    const cse_place place = optimizer->tree->place;
    cse_yaml_node *none = cse_yaml_mapping_new(network->arena, place);
    if (node != NULL)
        none = cse_yaml_without(network->arena, node, (const char *const[]){ NULL });
    cse_yaml_put(network->arena, none, (cse_yaml_key){ "weight_decay", place },
                 cse_yaml_scalar_new(network->arena, place, "0"));
    return cse_network_check(table, optimizer->descriptor->name,
                             merged(network->arena, optimizer->tree, none), &group->spared);
}

static cse_status check_settings(const cse_optimizer *optimizer, const cse_settings *settings)
{
    if (cse_settings_has(settings, "lr") && cse_settings_has(settings, "learning_rate"))
        return cse_fail(CSE_CONFIG,
                        "optimizer %s: lr (%s) and learning_rate (%s) mean the same; give one",
                        optimizer->descriptor->name, cse_settings_origin(settings, "lr"),
                        cse_settings_origin(settings, "learning_rate"));
    if (optimizer->descriptor->check != NULL)
        CSE_TRY(optimizer->descriptor->check(settings));
    return cse_moments_check(optimizer->descriptor, settings);
}

/* Adds a group; `node` NULL: with the optimizer's own settings. */
static cse_status add_group(cse_network *network, cse_optimizer *optimizer, cse_yaml_node *node,
                            const cse_settings **described)
{
    char subject[128];
    cse_parameter_group group = { .settings = optimizer->settings, .adjust_learning_rate = 1 };
    snprintf(subject, sizeof subject, "optimizer %s", optimizer->descriptor->name);
    if (node != NULL) {
        if (node->kind != CSE_YAML_MAPPING && !cse_yaml_is_null(node))
            return cse_fail_at(CSE_ERROR_AT("", node->place),
                               "%s: a parameter group is a mapping: {params: [PATTERN, ...], "
                               "SETTING: VALUE, ...}",
                               subject);
        cse_yaml_node *own = cse_yaml_mapping_new(network->arena, node->place);
        for (int i = 0; i < node->count; i++)
            for (int w = 0; group_words[w] != NULL; w++)
                if (strcmp(node->keys[i].text, group_words[w]) == 0)
                    cse_yaml_put(network->arena, own, node->keys[i], node->children[i]);
        list_of_one(network->arena, own, "params");
        if (cse_yaml_find(node, "params") != NULL)
            cse_yaml_find(node, "params")->read = true; /* by the patterns that are matched */
        list_of_one(network->arena, own, "tags");
        CSE_TRY(cse_network_check(group_table, subject, own, described));
        CSE_TRY(cse_network_check(optimizer->descriptor->settings, subject,
                                  merged(network->arena, optimizer->tree, node), &group.settings));
        group.name = cse_settings_text(*described, "name");
        group.tags = cse_settings_node(*described, "tags");
        group.adjust_learning_rate = cse_settings_number(*described, "adjust_learning_rate");
    }
    CSE_TRY(check_settings(optimizer, group.settings));
    CSE_TRY(add_spared(network, optimizer, node, &group));
    if (group.name == NULL)
        group.name = cse_arena_printf(network->arena, "%d", network->group_count);
    network->group_count++;
    CSE_GROW(optimizer->groups, optimizer->group_count, optimizer->group_capacity);
    optimizer->groups[optimizer->group_count++] = group;
    return CSE_OK;
}

bool cse_group_constant_rate(const cse_optimizer *optimizer, const cse_parameter_group *group,
                             double *rate)
{
    const cse_settings *settings = group->settings;
    const char *name = cse_settings_has(settings, "lr") ? "lr" : "learning_rate";
    if (group->rate != NULL)
        return false;
    *rate = cse_settings_has(settings, name) ? cse_settings_number(settings, name)
                                             : optimizer->descriptor->default_learning_rate;
    *rate *= group->adjust_learning_rate;
    return *rate > 0 || cse_settings_has(settings, name);
}

bool cse_group_has_tag(const cse_parameter_group *group, const char *tag)
{
    const int count = group->tags != NULL ? group->tags->count : 0;
    for (int i = 0; tag != NULL && i < count; i++)
        if (strcmp(group->tags->children[i]->text, tag) == 0)
            return group->tags->children[i]->read = true; /* it has an effect */
    return tag == NULL && count == 0;
}

/* ---- states ---- */

static cse_shape shape_of(const cse_declared_state *declared, cse_shape parameter)
{
    cse_shape shape = cse_scalar_shape;
    for (int axis = 0; !declared->scalar && axis < parameter.rank; axis++)
        if ((declared->without_axes >> axis & 1U) == 0)
            shape.dims[shape.rank++] = parameter.dims[axis];
    return shape;
}

static cse_state *declare(const cse_state *parameter, const char *name,
                          const cse_state_options *options)
{
    return cse_network_state(options, "optimizer.%s.%s", cse_short_name(parameter->name), name);
}

static cse_status check_parameter(const cse_network *network, const cse_optimizer *optimizer,
                                  const cse_state *parameter)
{
    const char *name = optimizer->descriptor->name;
    if (parameter == NULL)
        return cse_fail(CSE_USAGE, "optimizer %s: there is no state among the parameters", name);
    if (parameter->dtype != CSE_FLOAT32)
        return cse_fail(CSE_SHAPE,
                        "optimizer %s: state '%s' is %s; optimizers update float32 states", name,
                        parameter->name, cse_dtype_name(parameter->dtype));
    for (int i = 0; i < optimizer->count; i++)
        if (optimizer->optimized[i].parameter == parameter)
            return cse_fail(CSE_USAGE, "optimizer %s: state '%s' is one of its parameters twice",
                            name, parameter->name);
    for (int o = 0; o < network->optimizer_count; o++)
        for (int i = 0; i < network->optimizers[o]->count; i++) {
            const cse_optimized *other = &network->optimizers[o]->optimized[i];
            if (other->parameter == parameter && other->state_count > 0)
                return cse_fail(CSE_USAGE,
                                "optimizer %s: state '%s' is a parameter of optimizer %s, which "
                                "keeps values for it; divide the parameters between the two "
                                "(cse_optimizer_new)",
                                name, parameter->name, network->optimizers[o]->descriptor->name);
        }
    return CSE_OK;
}

/* With weights in bfloat16 a parameter is marked, and for bf16_kahan has a compensation state,
 * which is declared after the states of all parameters. */
static void declare_weights(const cse_network *network, cse_optimizer *optimizer, int first)
{
    for (int i = first; i < optimizer->count; i++) {
        cse_optimized *one = &optimizer->optimized[i];
        if (network->weight_update != CSE_WEIGHT_FP32)
            cse_state_hold_bfloat16(one->parameter);
        if (network->weight_update == CSE_WEIGHT_BF16_KAHAN)
            one->compensation = declare(
                one->parameter, "compensation",
                &(cse_state_options){ .shape = one->parameter->shape, .dtype = CSE_FLOAT32 });
    }
}

static cse_status add_parameter(cse_network *network, cse_optimizer *optimizer,
                                cse_state *parameter, int group)
{
    cse_declared_state declared[CSE_MAX_DECLARED_STATES];
    CSE_TRY(check_parameter(network, optimizer, parameter));
    cse_optimized one = { .parameter = parameter, .group = group };
    one.state_count = optimizer->descriptor->states(optimizer->groups[group].settings,
                                                    parameter->shape, declared);
    one.states =
        cse_arena_alloc(network->arena, ((size_t)one.state_count + 1) * sizeof(cse_state *));
    for (int s = 0; s < one.state_count; s++) {
        const cse_shape shape = shape_of(&declared[s], parameter->shape);
        cse_state_options options = { .shape = shape,
                                      .initializer = { CSE_INIT_CONSTANT, declared[s].initial, 0 },
                                      .of_optimizer = true };
        CSE_TRY(cse_moment_options(optimizer->descriptor, optimizer->groups[group].settings,
                                   &declared[s], &options));
        one.states[s] = declare(parameter, declared[s].name, &options);
        if (declared[s].dense || !cse_shape_equal(shape, parameter->shape))
            one.dense_states |= 1U << s;
        if (declared[s].moment == CSE_MOMENT_NOT_NEGATIVE)
            one.positive_states |= 1U << s;
    }
    parameter->trainable = true;
    CSE_GROW(optimizer->optimized, optimizer->count, optimizer->capacity);
    optimizer->optimized[optimizer->count++] = one;
    return network->error;
}

/* ---- which parameter belongs to which group ---- */

static bool matches(const cse_settings *described, const cse_state *parameter, bool matched[])
{
    bool any = false;
    for (int p = 0; p < cse_settings_count(described, "params"); p++) {
        const char *pattern = cse_settings_text_at(described, "params", p);
        bool one = fnmatch(pattern, parameter->name, 0) == 0 ||
                   fnmatch(pattern, cse_short_name(parameter->name), 0) == 0;
        matched[p] = matched[p] || one;
        any = any || one;
    }
    return any;
}

/* Marks the parameters of a described group; a pattern that matches none is a mistake. */
static cse_status choose(cse_network *network, const cse_settings *described, int group,
                         cse_state_list parameters, int group_of[])
{
    const int patterns = cse_settings_count(described, "params");
    bool *matched = cse_arena_alloc(network->arena, (size_t)patterns + 1);
    if (patterns == 0)
        return cse_fail(CSE_CONFIG,
                        "optimizer: a parameter group (%s) has no params: give the "
                        "patterns of its parameters' names, as in \"*.bias\"",
                        cse_settings_origin(described, "params"));
    for (int i = 0; i < parameters.count; i++)
        if (parameters.states[i] != NULL && matches(described, parameters.states[i], matched) &&
            group_of[i] < 0)
            group_of[i] = group;
    for (int p = 0; p < patterns; p++)
        if (!matched[p])
            return cse_fail_at(
                CSE_ERROR_AT("", cse_settings_place_at(described, "params", p)),
                "optimizer: the pattern \"%.120s\" matches no parameter; accepted: names and "
                "patterns of names, as in %s",
                cse_settings_text_at(described, "params", p),
                parameters.count > 0 ? cse_short_name(parameters.states[0]->name) : "fc.weight");
    return CSE_OK;
}

static cse_status describe_groups(cse_network *network, cse_optimizer *optimizer,
                                  cse_state_list parameters, int group_of[])
{
    cse_yaml_node *list = cse_settings_node(optimizer->settings, "params");
    if (list->kind != CSE_YAML_SEQUENCE)
        return cse_fail_at(CSE_ERROR_AT("", list->place),
                           "optimizer %s: params is a list of groups, {params: [PATTERN, ...], "
                           "SETTING: VALUE, ...}",
                           optimizer->descriptor->name);
    for (int g = 0; g < list->count; g++) {
        const cse_settings *described = NULL;
        CSE_TRY(add_group(network, optimizer, list->children[g], &described));
        if (described == NULL)
            return cse_fail_at(CSE_ERROR_AT("", list->children[g]->place),
                               "optimizer %s: a parameter group is empty",
                               optimizer->descriptor->name);
        CSE_TRY(choose(network, described, g, parameters, group_of));
    }
    return CSE_OK;
}

cse_status cse_optimizer_divide(cse_network *network, cse_optimizer *optimizer,
                                cse_state_list parameters)
{
    int *group_of =
        cse_arena_alloc(network->arena, ((size_t)parameters.count + 1) * sizeof *group_of);
    bool others = false;
    for (int i = 0; i < parameters.count; i++)
        group_of[i] = -1;
    /* A library's own table may lack it. */
    if (cse_setting_table_has(optimizer->descriptor->settings, "params") &&
        cse_settings_has(optimizer->settings, "params"))
        CSE_TRY(describe_groups(network, optimizer, parameters, group_of));
    for (int i = 0; i < parameters.count; i++)
        others = others || group_of[i] < 0;
    if (others || optimizer->group_count == 0)
        CSE_TRY(add_group(network, optimizer, NULL, NULL));
    for (int i = 0; i < parameters.count; i++)
        CSE_TRY(add_parameter(network, optimizer, parameters.states[i],
                              group_of[i] >= 0 ? group_of[i] : optimizer->group_count - 1));
    declare_weights(network, optimizer, 0);
    return network->error;
}

void cse_optimizer_add_group(cse_optimizer *optimizer, cse_state *const states[], int count,
                             const char *settings)
{
    const char *caller = "cse_optimizer_add_group";
    cse_yaml_node *tree = cse_network_text(caller, caller, settings);
    const cse_settings *described = NULL;
    cse_network *network = cse_network_open_view(caller);
    if (tree == NULL || optimizer == NULL)
        return;
    cse_status status = CSE_OK;
    if (network->traced != NULL || optimizer->schedule != NULL)
        status = cse_fail(CSE_USAGE,
                          "%s: parameters are added before the optimizer has a schedule, and "
                          "outside of steps",
                          caller);
    if (status == CSE_OK)
        status = add_group(network, optimizer, tree, &described);
    const int first = optimizer->count;
    for (int i = 0; status == CSE_OK && i < count; i++)
        status = add_parameter(network, optimizer, states[i], optimizer->group_count - 1);
    if (status == CSE_OK)
        declare_weights(network, optimizer, first);
    else
        cse_network_fail(status);
}
