/* Settings of an adapter, with PEFT's names (LoraConfig). */
#include "engine/base/config/adapter_settings.h"

#include <math.h>
#include <regex.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

const cse_setting cse_adapter_setting_table[] = {
    { .name = "peft_type",
      .type = CSE_SETTING_CHOICE,
      .default_value = "LORA",
      .choices = "LORA",
      .doc = "low-rank adaptation" },
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
             "expression; q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj are "
             "known besides" },
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
    { .name = "loraplus_lr_ratio",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1",
      .min = 1e-6,
      .max = 1e6,
      .doc = "LoRA+: the learning rate of B over that of A" },
    { .name = "bias",
      .type = CSE_SETTING_CHOICE,
      .default_value = "none",
      .choices = "none|all",
      .doc = "which biases of the model are trained" },
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

/* POSIX extended, as the patterns of frozen parameters. */
static cse_status check_expression(const cse_settings *s, const char *pattern)
{
    char why[128];
    regex_t expression;
    const int failed = regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB);
    if (failed == 0) {
        regfree(&expression);
        return CSE_OK;
    }
    regerror(failed, &expression, why, sizeof why);
    const cse_error error = { .status = CSE_CONFIG,
                              .place = cse_settings_place(s, "target_modules"),
                              .accepted = "accepted: all-linear, a list of names, or a POSIX "
                                          "extended regular expression" };
    return cse_fail_at(&error, "target_modules: \"%.80s\" is no regular expression: %s", pattern,
                       why);
}

static cse_status read_one(cse_arena *arena, const char *name, cse_yaml_node *tree,
                           cse_adapter_settings *adapter)
{
    cse_settings *s = NULL;
    const char *subject = cse_arena_printf(arena, "adapter %s", name);
    const cse_settings_expected expected = { .table = cse_adapter_setting_table,
                                             .subject = subject };
    CSE_TRY(cse_settings_check(arena, &expected, tree, &s));
    const int64_t rank = cse_settings_integer(s, "r");
    const double divisor = cse_settings_bool(s, "use_rslora") ? sqrt((double)rank) : (double)rank;
    *adapter = (cse_adapter_settings){
        .name = name,
        .settings = s,
        .targets = cse_settings_node(s, "target_modules"),
        .rank = rank,
        .scale = cse_settings_number(s, "lora_alpha") / divisor,
    };
    adapter->targets->read = true;
    CSE_TRY(adapter->targets->kind == CSE_YAML_SCALAR
                ? check_expression(s, adapter->targets->text)
                : check_names(s, "target_modules", adapter->targets));
    if (!cse_settings_has(s, "modules_to_save"))
        return CSE_OK;
    adapter->also_trained = cse_settings_node(s, "modules_to_save");
    return check_names(s, "modules_to_save", adapter->also_trained);
}

cse_status cse_adapter_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                     cse_adapter_settings **adapter)
{
    *adapter = NULL;
    if (tree == NULL || cse_yaml_is_null(tree) ||
        (tree->kind == CSE_YAML_MAPPING && tree->count == 0))
        return CSE_OK;
    tree->read = true;
    if (tree->kind != CSE_YAML_MAPPING || tree->count > 1 ||
        tree->children[0]->kind != CSE_YAML_MAPPING) {
        const cse_error error = {
            .status = CSE_CONFIG,
            .place = tree->place,
            .accepted = "accepted: one name with its settings, {default: {peft_type: LORA, r: 8}}",
        };
        return cse_fail_at(&error, "adapters: one adapter is trained at a time");
    }
    *adapter = cse_arena_alloc(arena, sizeof **adapter);
    return read_one(arena, tree->keys[0].text, tree->children[0], *adapter);
}

cse_status cse_adapter_settings_of(cse_arena *arena, const char *configuration,
                                   cse_adapter_settings **adapter)
{
    static const char *const path[] = { "trainer", "init", "adapters" };
    cse_yaml_node *node = NULL;
    *adapter = NULL;
    if (configuration == NULL)
        return CSE_OK;
    CSE_TRY(cse_yaml_parse(arena, "configuration", configuration, strlen(configuration), &node));
    for (int i = 0; i < 3 && node != NULL; i++)
        node = node->kind == CSE_YAML_MAPPING ? cse_yaml_find(node, path[i]) : NULL;
    return cse_adapter_settings_read(arena, node, adapter);
}
