/* Settings of an adapter, with PEFT's names (LoraConfig). */
#include "engine/base/config/adapter_settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/pattern.h"
#include "engine/base/registry.h"

const cse_setting cse_adapter_setting_table[] = {
    { .name = "peft_type",
      .type = CSE_SETTING_CHOICE,
      .default_value = "LORA",
      .choices = "LORA",
      .doc = "low-rank adaptation; with use_dora: DoRA" },
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "a folder of PEFT that the adapter begins as; what is given besides replaces what "
             "only training asks for: lora_dropout, loraplus_lr_ratio" },
    { .name = "r",
      .type = CSE_SETTING_INTEGER,
      .default_value = "8",
      .min = 1,
      .max = 1 << 16,
      .doc = "rank: columns of A" },
    { .name = "lora_alpha",
      .type = CSE_SETTING_NUMBER,
      .default_value = "8",
      .min = 0,
      .max = 1e9,
      .doc = "what the adapter adds is multiplied by lora_alpha / r" },
    { .name = "lora_dropout",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0",
      .min = 0,
      .max = 0.999,
      .doc = "probability, while training, that an input of the adapter is dropped" },
    { .name = "target_modules",
      .type = CSE_SETTING_ANY,
      .default_value = "all-linear",
      .doc = "all-linear, a list of names or ends of names of linear layers, or one regular "
             "expression; by their names here or in the model of transformers" },
    { .name = "exclude_modules",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "likewise: layers that are no targets" },
    { .name = "rank_pattern",
      .type = CSE_SETTING_ANY,
      .default_value = "{}",
      .doc = "{expression of names: r} for layers with another rank" },
    { .name = "alpha_pattern",
      .type = CSE_SETTING_ANY,
      .default_value = "{}",
      .doc = "{expression of names: lora_alpha} for layers with another one" },
    { .name = "modules_to_save",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "names or ends of names of modules that are trained as they are" },
    { .name = "layers_to_transform",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "[]",
      .min = 0,
      .max = 1 << 20,
      .doc = "numbers of the layers that are adapted; none: all" },
    { .name = "use_rslora",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "multiplied by lora_alpha / sqrt(r) in place of lora_alpha / r" },
    { .name = "use_dora",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "DoRA: the norms of the rows of adapted weights are parameters of their own" },
    { .name = "loraplus_lr_ratio",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1",
      .min = 1e-6,
      .max = 1e6,
      .doc = "LoRA+: the learning rate of B over that of A" },
    { .name = "bias",
      .type = CSE_SETTING_CHOICE,
      .default_value = "none",
      .choices = "none|all|lora_only",
      .doc = "which biases of the model are trained: none, all, or those of adapted layers" },
    { .name = NULL },
};

static cse_status refuse_list(const cse_settings *s, const char *name)
{
    const cse_error error = { .status = CSE_CONFIG,
                              .place = cse_settings_place(s, name),
                              .accepted = "accepted: a list of names, [q_proj, v_proj]" };
    return cse_fail_at(&error, "%s is no list of names", name);
}

static cse_status check_names(const cse_settings *s, const char *name, cse_yaml_node *list)
{
    bool right = list->kind == CSE_YAML_SEQUENCE && list->count > 0;
    list->read = true;
    for (int i = 0; right && i < list->count; i++) {
        right = list->children[i]->kind == CSE_YAML_SCALAR && list->children[i]->text[0] != '\0';
        list->children[i]->read = true;
    }
    return right ? CSE_OK : refuse_list(s, name);
}

static cse_status check_expression(const cse_settings *s, const char *name, const char *text)
{
    char why[192];
    cse_pattern *expression = cse_pattern_new(text, why, sizeof why);
    const bool good = expression != NULL;
    cse_pattern_destroy(&expression);
    if (good)
        return CSE_OK;
    const cse_error error = { .status = CSE_CONFIG,
                              .place = cse_settings_place(s, name),
                              .accepted = "accepted: a list of names, or a regular expression as "
                                          "Python has them" };
    return cse_fail_at(&error, "%s: \"%.80s\" is no regular expression: %s", name, text, why);
}

/* A list of names, or one expression. */
static cse_status check_modules(const cse_settings *s, const char *name, cse_yaml_node *node)
{
    node->read = true;
    return node->kind == CSE_YAML_SCALAR ? check_expression(s, name, node->text)
                                         : check_names(s, name, node);
}

/* {expression: number}. */
static cse_status check_pattern(const cse_settings *s, const char *name, double least)
{
    cse_yaml_node *node = cse_settings_node(s, name);
    char *end = NULL;
    node->read = true;
    for (int i = 0; node->kind == CSE_YAML_MAPPING && i < node->count; i++) {
        cse_yaml_node *value = node->children[i];
        value->read = true;
        CSE_TRY(check_expression(s, name, node->keys[i].text));
        const double number = value->kind == CSE_YAML_SCALAR ? strtod(value->text, &end) : -1;
        if (number < least || !isfinite(number) || end == value->text || *end != '\0' ||
            (least >= 1 && (number != floor(number) || number > 1 << 16))) {
            const cse_error error = { .status = CSE_CONFIG,
                                      .place = value->place,
                                      .accepted = least >= 1
                                                      ? "accepted: a rank, an integer from 1 on"
                                                      : "accepted: a number that is not negative" };
            return cse_fail_at(&error, "%s: \"%s\" has a value that is none", name,
                               node->keys[i].text);
        }
    }
    if (node->kind == CSE_YAML_MAPPING)
        return CSE_OK;
    const cse_error error = { .status = CSE_CONFIG,
                              .place = node->place,
                              .accepted = "accepted: {expression of names: number}" };
    return cse_fail_at(&error, "%s is no mapping", name);
}

static cse_status read_one(cse_arena *arena, const char *name, cse_yaml_node *tree,
                           cse_adapter_settings *adapter)
{
    cse_settings *s = NULL;
    const char *subject = cse_arena_printf(arena, "adapter %s", name);
    const cse_settings_expected expected = { .table = cse_adapter_setting_table,
                                             .subject = subject };
    CSE_TRY(cse_settings_check(arena, &expected, tree, &s));
    *adapter = (cse_adapter_settings){
        .name = name,
        .settings = s,
        .targets = cse_settings_node(s, "target_modules"),
        .path = cse_settings_text(s, "path"),
        .use_dora = cse_settings_bool(s, "use_dora"),
    };
    CSE_TRY(check_modules(s, "target_modules", adapter->targets));
    CSE_TRY(check_pattern(s, "rank_pattern", 1));
    CSE_TRY(check_pattern(s, "alpha_pattern", 0));
    if (cse_settings_has(s, "exclude_modules")) {
        adapter->excluded = cse_settings_node(s, "exclude_modules");
        CSE_TRY(check_modules(s, "exclude_modules", adapter->excluded));
    }
    if (!cse_settings_has(s, "modules_to_save"))
        return CSE_OK;
    adapter->also_trained = cse_settings_node(s, "modules_to_save");
    return check_names(s, "modules_to_save", adapter->also_trained);
}

/* ---- several ---- */

static const char active_key[] = "active";

static cse_status refuse_section(const cse_yaml_node *tree, const char *what)
{
    const cse_error error = {
        .status = CSE_CONFIG,
        .place = tree->place,
        .accepted = "accepted: names with their settings, and of several the active one: {law: {r: "
                    "8}, code: {r: 4}, active: law}",
    };
    return cse_fail_at(&error, "adapters: %s", what);
}

/* The names of `active`: one, or a list; or none. */
static cse_status activate(cse_arena *arena, cse_yaml_node *node, cse_adapter_settings *first)
{
    const int count = node->kind == CSE_YAML_SEQUENCE ? node->count : 1;
    node->read = true;
    for (int i = 0; i < count; i++) {
        cse_yaml_node *one = node->kind == CSE_YAML_SEQUENCE ? node->children[i] : node;
        const char *names[64] = { "none" };
        int known = 1;
        one->read = true;
        if (one->kind != CSE_YAML_SCALAR)
            return refuse_section(node, "active is no name and no list of names");
        if (strcmp(one->text, "none") == 0 && node->kind == CSE_YAML_SCALAR)
            return CSE_OK;
        for (cse_adapter_settings *a = first; a != NULL && known < 63; a = a->next)
            names[known++] = a->name;
        cse_adapter_settings *found = cse_adapter_settings_find(first, one->text);
        if (found == NULL) {
            const char *near = cse_did_you_mean(one->text, names);
            return refuse_section(one, cse_arena_printf(arena,
                                                        "there is no adapter \"%.80s\" to be "
                                                        "active%s%s",
                                                        one->text, near ? "; did you mean " : "",
                                                        near != NULL ? near : ""));
        }
        found->is_active = true;
    }
    return CSE_OK;
}

/* DoRA scales the rows of a weight with its own factors alone. */
static cse_status check_active(const cse_yaml_node *tree, const cse_adapter_settings *first)
{
    const cse_adapter_settings *dora = NULL;
    int active = 0;
    for (const cse_adapter_settings *a = first; a != NULL; a = a->next) {
        active += a->is_active;
        dora = a->is_active && a->use_dora ? a : dora;
    }
    return active < 2 || dora == NULL
               ? CSE_OK
               : refuse_section(tree, "an adapter with use_dora is active together with another "
                                      "one; it is applied alone");
}

cse_status cse_adapter_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                     cse_adapter_settings **adapters)
{
    cse_adapter_settings **last = adapters;
    *adapters = NULL;
    if (tree == NULL || cse_yaml_is_null(tree) ||
        (tree->kind == CSE_YAML_MAPPING && tree->count == 0))
        return CSE_OK;
    tree->read = true;
    if (tree->kind != CSE_YAML_MAPPING)
        return refuse_section(tree, "the section is no mapping");
    for (int i = 0; i < tree->count; i++) {
        const char *name = tree->keys[i].text;
        if (strcmp(name, active_key) == 0)
            continue;
        if (tree->children[i]->kind != CSE_YAML_MAPPING || *name == '\0' ||
            strchr(name, '.') != NULL || strchr(name, '/') != NULL)
            return refuse_section(tree->children[i],
                                  cse_arena_printf(arena, "%.80s is no name with settings", name));
        *last = cse_arena_alloc(arena, sizeof **last);
        CSE_TRY(read_one(arena, name, tree->children[i], *last));
        last = &(*last)->next;
    }
    cse_yaml_node *active = cse_yaml_find(tree, active_key);
    if (*adapters == NULL)
        return refuse_section(tree, "there is none");
    (*adapters)->is_alone = (*adapters)->next == NULL;
    if (active != NULL) {
        CSE_TRY(activate(arena, active, *adapters));
        return check_active(active, *adapters);
    }
    (*adapters)->is_active = (*adapters)->is_alone;
    return (*adapters)->is_alone
               ? CSE_OK
               : refuse_section(tree, "there are several, and none is said to be active");
}

cse_adapter_settings *cse_adapter_settings_find(cse_adapter_settings *adapters, const char *name)
{
    while (adapters != NULL && strcmp(adapters->name, name) != 0)
        adapters = adapters->next;
    return adapters;
}

cse_status cse_adapter_settings_of(cse_arena *arena, const char *configuration,
                                   cse_adapter_settings **adapters)
{
    static const char *const path[] = { "trainer", "init", "adapters" };
    cse_yaml_node *node = NULL;
    *adapters = NULL;
    if (configuration == NULL)
        return CSE_OK;
    CSE_TRY(cse_yaml_parse(arena, "configuration", configuration, strlen(configuration), &node));
    for (int i = 0; i < 3 && node != NULL; i++)
        node = node->kind == CSE_YAML_MAPPING ? cse_yaml_find(node, path[i]) : NULL;
    return cse_adapter_settings_read(arena, node, adapters);
}

/* ---- of a layer ---- */

/* The value of the first pattern that is a name of the layer, or an end of one; NULL: of none. */
static const char *of_pattern(const cse_adapter_settings *adapter, const char *table,
                              cse_adapted_layer layer)
{
    const cse_yaml_node *node = cse_settings_node(adapter->settings, table);
    char why[192];
    const char *found = NULL;
    for (int i = 0; i < node->count && found == NULL; i++) {
        cse_pattern *expression = cse_pattern_new(node->keys[i].text, why, sizeof why);
        if (expression != NULL &&
            (cse_pattern_matches_end(expression, layer.ours) ||
             (layer.theirs != NULL && cse_pattern_matches_end(expression, layer.theirs))))
            found = node->children[i]->text;
        cse_pattern_destroy(&expression);
    }
    return found;
}

int64_t cse_adapter_rank(const cse_adapter_settings *adapter, cse_adapted_layer layer)
{
    const char *own = of_pattern(adapter, "rank_pattern", layer);
    return own != NULL ? (int64_t)strtod(own, NULL) : cse_settings_integer(adapter->settings, "r");
}

double cse_adapter_alpha(const cse_adapter_settings *adapter, cse_adapted_layer layer)
{
    const char *own = of_pattern(adapter, "alpha_pattern", layer);
    return own != NULL ? strtod(own, NULL) : cse_settings_number(adapter->settings, "lora_alpha");
}

double cse_adapter_scale(const cse_adapter_settings *adapter, cse_adapted_layer layer)
{
    const double rank = (double)cse_adapter_rank(adapter, layer);
    const bool roots = cse_settings_bool(adapter->settings, "use_rslora");
    return cse_adapter_alpha(adapter, layer) / (roots ? sqrt(rank) : rank);
}

const char *cse_adapter_factor_name(cse_arena *arena, const cse_adapter_settings *adapter,
                                    const char *layer, const char *factor)
{
    return adapter->is_alone
               ? cse_arena_printf(arena, "%s.%s.weight", layer, factor)
               : cse_arena_printf(arena, "%s.%s.%s.weight", layer, factor, adapter->name);
}

const char *cse_adapter_factor_layer(cse_arena *arena, const cse_adapter_settings *adapter,
                                     const char *name, const char *factor)
{
    const char *end = cse_adapter_factor_name(arena, adapter, "", factor);
    const size_t length = strlen(name), part = strlen(end);
    return length > part && strcmp(name + length - part, end) == 0
               ? cse_arena_printf(arena, "%.*s", (int)(length - part), name)
               : NULL;
}
