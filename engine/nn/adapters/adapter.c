/* Which layers and parameters an adapter meets. */
#include "engine/nn/adapters/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/registry.h"

static int entries(const cse_yaml_node *list)
{
    return list != NULL && list->kind == CSE_YAML_SEQUENCE ? list->count : 0;
}

static unsigned *counters(cse_arena *arena, const cse_yaml_node *list)
{
    return cse_arena_alloc(arena, ((size_t)entries(list) + 1) * sizeof(unsigned));
}

cse_status cse_adapter_read(cse_arena *arena, cse_yaml_node *tree, cse_adapter **adapter)
{
    cse_adapter_settings *given = NULL;
    *adapter = NULL;
    CSE_TRY(cse_adapter_settings_read(arena, tree, &given));
    for (; given != NULL; given = given->next) {
        *adapter = cse_arena_alloc(arena, sizeof **adapter);
        **adapter = (cse_adapter){ .given = given,
                                   .arena = arena,
                                   .found = counters(arena, given->targets),
                                   .excluded = counters(arena, given->excluded),
                                   .saved = counters(arena, given->also_trained) };
        adapter = &(*adapter)->next;
    }
    return CSE_OK;
}

void cse_adapter_clear(cse_adapter *adapter)
{
    for (; adapter != NULL; adapter = adapter->next) {
        free(adapter->linear);
        free(adapter->shared);
    }
}

/* ---- names of a layer ---- */

static const char *without_end(cse_arena *arena, const char *name)
{
    const char *dot = name != NULL ? strrchr(name, '.') : NULL;
    return dot != NULL ? cse_arena_printf(arena, "%.*s", (int)(dot - name), name) : name;
}

/* The module's name there; *is_part: the module holds other layers as well. */
static const char *their_module(const cse_adapter *adapter, const char *layer, bool *is_part)
{
    *is_part = false;
    if (adapter->names == NULL)
        return NULL;
    const char *weight = cse_arena_printf(adapter->arena, "%s.weight", layer);
    return without_end(adapter->arena, adapter->names->of(adapter->names->self, weight, is_part));
}

/* ---- targets ---- */

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

static cse_met target(cse_adapter *adapter, const char *name, bool counts, bool *is_part)
{
    const cse_adapter_settings *given = adapter->given;
    const cse_adapted_layer layer = { .ours = name,
                                      .theirs = their_module(adapter, name, is_part) };
    if (cse_adapter_names_meet(given->excluded, layer, counts ? adapter->excluded : NULL) !=
            CSE_NOT_MET ||
        cse_adapter_names_meet(given->also_trained, layer, NULL) != CSE_NOT_MET ||
        !is_in_layers(adapter, name))
        return CSE_NOT_MET;
    return cse_adapter_names_meet(given->targets, layer, counts ? adapter->found : NULL);
}

bool cse_adapter_is_target(cse_adapter *adapter, const char *layer)
{
    bool is_part = false;
    return target(adapter, layer, false, &is_part) != CSE_NOT_MET;
}

cse_adapted_layer cse_adapter_layer(const cse_adapter *adapter, const char *layer, bool *is_part)
{
    cse_adapter *own = (cse_adapter *)(uintptr_t)adapter; /* whose counters stay */
    const cse_met found = target(own, layer, false, is_part);
    *is_part = *is_part && found == CSE_MET_BY_THEIRS;
    bool ignored = false;
    return (cse_adapted_layer){ .ours = layer, .theirs = their_module(adapter, layer, &ignored) };
}

bool cse_adapter_meets(cse_adapter *adapter, const char *layer)
{
    bool is_part = false;
    CSE_GROW(adapter->linear, adapter->linear_count, adapter->linear_capacity);
    adapter->linear[adapter->linear_count++] = cse_arena_string(adapter->arena, layer);
    const bool met = target(adapter, layer, true, &is_part) != CSE_NOT_MET;
    adapter->adapted += met;
    return met;
}

/* ---- parameters of the model ---- */

/* The name that transformers' norms and tables are found by, too. */
static bool is_saved(cse_adapter *adapter, const char *parameter)
{
    bool is_part = false;
    const char *theirs = adapter->names != NULL
                             ? adapter->names->of(adapter->names->self, parameter, &is_part)
                             : NULL;
    const cse_adapted_layer module = { .ours = without_end(adapter->arena, parameter),
                                       .theirs = without_end(adapter->arena, theirs) };
    return cse_adapter_names_meet(adapter->given->also_trained, module, adapter->saved) !=
           CSE_NOT_MET;
}

static bool is_bias(const char *parameter)
{
    const char *dot = strrchr(parameter, '.');
    return strcmp(dot != NULL ? dot + 1 : parameter, "bias") == 0;
}

static bool trains(cse_adapter *adapter, const char *parameter)
{
    const char *bias = cse_settings_text(adapter->given->settings, "bias");
    const bool saved = is_saved(adapter, parameter); /* counted, active or not */
    if (!adapter->given->is_active || saved)
        return saved && adapter->given->is_active;
    if (!is_bias(parameter) || strcmp(bias, "none") == 0)
        return false;
    return strcmp(bias, "all") == 0 ||
           cse_adapter_is_target(adapter, without_end(adapter->arena, parameter));
}

bool cse_adapter_trains(cse_adapter *adapter, const char *parameter)
{
    bool found = false;
    for (; adapter != NULL; adapter = adapter->next)
        found = trains(adapter, parameter) || found;
    return found;
}

/* ---- targets that no layer has ---- */

/* The layer whose name is most like the target, by the ends of the names. */
static const char *nearest(const cse_adapter *adapter, const char *target)
{
    const char **ends =
        cse_arena_alloc(adapter->arena, (2 * (size_t)adapter->linear_count + 1) * sizeof *ends);
    int count = 0;
    for (int i = 0; i < adapter->linear_count; i++) {
        bool is_part = false;
        const char *const names[] = { their_module(adapter, adapter->linear[i], &is_part),
                                      adapter->linear[i] };
        for (int n = 0; n < 2; n++) {
            const char *dot = names[n] != NULL ? strrchr(names[n], '.') : NULL;
            if (names[n] != NULL)
                ends[count++] = strchr(target, '.') == NULL && dot != NULL ? dot + 1 : names[n];
        }
    }
    return cse_did_you_mean(target, ends);
}

/* The ends of the layers' names, each once. */
static const char *names_of(const cse_adapter *adapter)
{
    enum { MOST = 900 };
    char *list = cse_arena_alloc(adapter->arena, MOST + 64);
    for (int i = 0; i < adapter->linear_count; i++) {
        bool is_part = false;
        const char *const names[] = { their_module(adapter, adapter->linear[i], &is_part),
                                      adapter->linear[i] };
        for (int n = 0; n < 2; n++) {
            const char *dot = names[n] != NULL ? strrchr(names[n], '.') : NULL;
            const char *end = dot != NULL ? dot + 1 : names[n];
            const size_t used = strlen(list);
            if (end != NULL && strstr(list, end) == NULL && used + strlen(end) + 2 < MOST)
                snprintf(list + used, MOST - used, "%s%s", used > 0 ? ", " : "", end);
        }
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

/* An entry of another list that nothing has. */
static cse_status refuse_entry(const cse_adapter *adapter, const char *setting, const char *entry)
{
    const char *near = nearest(adapter, entry);
    const cse_error error = {
        .status = CSE_CONFIG,
        .place = cse_settings_place(adapter->given->settings, setting),
        .accepted = "accepted: names or ends of names of modules of the model",
        .hint =
            near != NULL ? cse_arena_printf(adapter->arena, "did you mean \"%s\"?", near) : NULL,
    };
    return cse_fail_at(&error, "adapter %s: no module of the model is \"%.120s\" (%s)",
                       adapter->given->name, entry, setting);
}

cse_status cse_adapter_check(const cse_adapter *adapter)
{
    const cse_yaml_node *targets = adapter->given->targets;
    for (int i = 0; i < entries(adapter->given->excluded); i++)
        if (adapter->excluded[i] == 0)
            return refuse_entry(adapter, "exclude_modules",
                                adapter->given->excluded->children[i]->text);
    for (int i = 0; i < entries(adapter->given->also_trained); i++)
        if (adapter->saved[i] == 0)
            return refuse_entry(adapter, "modules_to_save",
                                adapter->given->also_trained->children[i]->text);
    for (int i = 0; targets->kind == CSE_YAML_SEQUENCE && i < targets->count; i++)
        if (adapter->found[i] == 0)
            return refuse(adapter, targets->children[i]->text);
    return adapter->adapted > 0
               ? CSE_OK
               : refuse(adapter, targets->kind == CSE_YAML_SCALAR ? targets->text : "");
}
