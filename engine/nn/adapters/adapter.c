/* Which layers an adapter meets.
 *
 * A target is met by a layer as in PEFT: by its whole name, or by the end of it after a dot; one
 * expression in place of a list must match the whole name. */
#include "engine/nn/adapters/adapter.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/registry.h"

cse_status cse_adapter_read(cse_arena *arena, cse_yaml_node *tree, cse_adapter **adapter)
{
    cse_adapter_settings *given = NULL;
    *adapter = NULL;
    CSE_TRY(cse_adapter_settings_read(arena, tree, &given));
    if (given == NULL)
        return CSE_OK;
    *adapter = cse_arena_alloc(arena, sizeof **adapter);
    **adapter = (cse_adapter){ .given = given, .arena = arena };
    (*adapter)->found =
        cse_arena_alloc(arena, ((size_t)given->targets->count + 1) * sizeof(unsigned));
    return CSE_OK;
}

/* Names of transformers' decoders for layers of ours. */
static const struct {
    const char *theirs, *ours;
} known[] = {
    { "q_proj", "proj_q_dense_layer" },
    { "k_proj", "proj_k_dense_layer" },
    { "v_proj", "proj_v_dense_layer" },
    { "o_proj", "proj_output_dense_layer" },
    { "gate_proj", "ffn.ffn.0.linear_layer_for_glu" },
    { "up_proj", "ffn.ffn.0.linear_layer" },
    { "down_proj", "ffn.ffn.1.linear_layer" },
};

static const char *our_name(const char *target)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].theirs, target) == 0)
            return known[i].ours;
    return target;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), part = strlen(end);
    return length >= part && strcmp(name + length - part, end) == 0 &&
           (length == part || name[length - part - 1] == '.');
}

static bool matches_whole(const char *pattern, const char *name)
{
    regex_t expression;
    regmatch_t whole;
    if (regcomp(&expression, pattern, REG_EXTENDED) != 0)
        return false;
    const bool found = regexec(&expression, name, 1, &whole, 0) == 0 && whole.rm_so == 0 &&
                       name[whole.rm_eo] == '\0';
    regfree(&expression);
    return found;
}

static bool is_all_linear(const cse_adapter *adapter)
{
    return adapter->given->targets->kind == CSE_YAML_SCALAR &&
           strcmp(adapter->given->targets->text, "all-linear") == 0;
}

/* The number behind "layers." in a name; -1: there is none. */
static int64_t layer_number(const char *name)
{
    static const char before[] = "layers.";
    const char *at = strstr(name, before);
    return at != NULL ? strtoll(at + sizeof before - 1, NULL, 10) : -1;
}

static bool is_in_layers(const cse_adapter *adapter, const char *name)
{
    const int count = cse_settings_count(adapter->given->settings, "layers_to_transform");
    bool found = count == 0;
    for (int i = 0; i < count && !found; i++)
        found = cse_settings_integer_at(adapter->given->settings, "layers_to_transform", i) ==
                layer_number(name);
    return found;
}

static bool is_target(cse_adapter *adapter, const char *name)
{
    bool found = false;
    if (!is_in_layers(adapter, name))
        return false;
    if (adapter->given->targets->kind == CSE_YAML_SCALAR)
        return is_all_linear(adapter) || matches_whole(adapter->given->targets->text, name);
    for (int i = 0; i < adapter->given->targets->count; i++) {
        const bool met = ends_with(name, our_name(adapter->given->targets->children[i]->text));
        adapter->found[i] += met;
        found = found || met;
    }
    return found;
}

bool cse_adapter_meets(cse_adapter *adapter, const char *layer)
{
    CSE_GROW(adapter->linear, adapter->linear_count, adapter->linear_capacity);
    adapter->linear[adapter->linear_count++] = cse_arena_string(adapter->arena, layer);
    const bool met = is_target(adapter, layer);
    adapter->adapted += met;
    return met;
}

bool cse_adapter_trains(const cse_adapter *adapter, const char *parameter)
{
    char module[512];
    const char *dot = strrchr(parameter, '.');
    snprintf(module, sizeof module, "%.*s", dot != NULL ? (int)(dot - parameter) : 0, parameter);
    for (int i = 0; adapter->given->also_trained != NULL && i < adapter->given->also_trained->count;
         i++)
        if (ends_with(module, our_name(adapter->given->also_trained->children[i]->text)))
            return true;
    return strcmp(cse_settings_text(adapter->given->settings, "bias"), "all") == 0 &&
           ends_with(parameter, "bias");
}

/* ---- targets that no layer has ---- */

/* The layer whose name is most like the target, by the ends of the names. */
static const char *nearest(const cse_adapter *adapter, const char *target)
{
    const char **ends =
        cse_arena_alloc(adapter->arena, ((size_t)adapter->linear_count + 1) * sizeof *ends);
    for (int i = 0; i < adapter->linear_count; i++) {
        const char *dot = strrchr(adapter->linear[i], '.');
        ends[i] = strchr(target, '.') == NULL && dot != NULL ? dot + 1 : adapter->linear[i];
    }
    return cse_did_you_mean(target, ends);
}

/* The ends of the layers' names, each once. */
static const char *names_of(const cse_adapter *adapter)
{
    enum { MOST = 900 };
    char *list = cse_arena_alloc(adapter->arena, MOST + 64);
    for (int i = 0; i < adapter->linear_count; i++) {
        const char *dot = strrchr(adapter->linear[i], '.');
        const char *end = dot != NULL ? dot + 1 : adapter->linear[i];
        const size_t used = strlen(list);
        if (strstr(list, end) == NULL && used + strlen(end) + 2 < MOST)
            snprintf(list + used, MOST - used, "%s%s", used > 0 ? ", " : "", end);
    }
    return list;
}

static cse_status refuse(const cse_adapter *adapter, const char *target)
{
    const char *near = nearest(adapter, target);
    const cse_error error = {
        .status = CSE_CONFIG,
        .place = cse_settings_place(adapter->given->settings, "target_modules"),
        .accepted = cse_arena_printf(adapter->arena,
                                     "accepted: all-linear, and names or ends of "
                                     "names of the model's linear layers: %s",
                                     names_of(adapter)),
        .hint =
            near != NULL ? cse_arena_printf(adapter->arena, "did you mean \"%s\"?", near) : NULL,
    };
    return cse_fail_at(&error, "adapter %s: no linear layer of the model is a target \"%.120s\"",
                       adapter->given->name, target);
}

cse_status cse_adapter_check(const cse_adapter *adapter)
{
    const cse_yaml_node *targets = adapter->given->targets;
    for (int i = 0; targets->kind == CSE_YAML_SEQUENCE && i < targets->count; i++)
        if (adapter->found[i] == 0)
            return refuse(adapter, targets->children[i]->text);
    return adapter->adapted > 0
               ? CSE_OK
               : refuse(adapter, targets->kind == CSE_YAML_SCALAR ? targets->text : "");
}
