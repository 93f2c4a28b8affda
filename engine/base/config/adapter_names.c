/* Which layers the names and expressions of an adapter mean. */
#include <string.h>

#include "engine/base/config/adapter_settings.h"
#include "engine/base/pattern.h"

/* Names of transformers' decoders for layers of ours, of models that have no other program's. */
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

static cse_met meets_name(const char *entry, cse_adapted_layer layer)
{
    if (layer.theirs != NULL && ends_with(layer.theirs, entry))
        return CSE_MET_BY_THEIRS;
    return ends_with(layer.ours, our_name(entry)) ? CSE_MET_BY_OURS : CSE_NOT_MET;
}

static cse_met meets_expression(const char *text, cse_adapted_layer layer)
{
    char why[192];
    cse_pattern *pattern = cse_pattern_new(text, why, sizeof why);
    cse_met found = CSE_NOT_MET;
    if (pattern != NULL && layer.theirs != NULL && cse_pattern_matches(pattern, layer.theirs))
        found = CSE_MET_BY_THEIRS;
    else if (pattern != NULL && cse_pattern_matches(pattern, layer.ours))
        found = CSE_MET_BY_OURS;
    cse_pattern_destroy(&pattern);
    return found;
}

cse_met cse_adapter_names_meet(const cse_yaml_node *modules, cse_adapted_layer layer,
                               unsigned *counts)
{
    cse_met first = CSE_NOT_MET;
    if (modules == NULL)
        return CSE_NOT_MET;
    if (modules->kind == CSE_YAML_SCALAR)
        return strcmp(modules->text, "all-linear") == 0 ? CSE_MET_BY_THEIRS
                                                        : meets_expression(modules->text, layer);
    for (int i = 0; i < modules->count; i++) {
        const cse_met found = meets_name(modules->children[i]->text, layer);
        if (counts != NULL)
            counts[i] += found != CSE_NOT_MET;
        first = first == CSE_NOT_MET ? found : first;
    }
    return first;
}
