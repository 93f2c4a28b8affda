/* Which parameters are sparse, and their first masks.
 *
 * First masks are made on the host: of the parameter's first values, whether drawn or loaded, so
 * that `topk` and `from_zeros` see those that training begins with. Values that are set later are
 * masked as they are. Random masks are a pure function of (seed, the mask's name, element). */
#include "engine/nn/update/sparsity.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/config/settings.h"
#include "engine/base/random.h"
#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/update/gradients.h"

/* ---- first masks ---- */

/* The least score among the `count` highest, and how many of those equal to it are taken, the first
 * ones. */
typedef struct cutoff {
    uint32_t least;
    int64_t ties;
} cutoff;

static cutoff find_cutoff(const uint32_t *scores, int64_t elements, int64_t count)
{
    cutoff found = { 0, count };
    for (int shift = 24; shift >= 0; shift -= 8) {
        int64_t counts[256] = { 0 };
        int digit = 255;
        for (int64_t i = 0; i < elements; i++)
            if (((uint64_t)(scores[i] ^ found.least) >> (shift + 8)) == 0)
                counts[scores[i] >> shift & 255]++;
        while (counts[digit] < found.ties)
            found.ties -= counts[digit--];
        found.least |= (uint32_t)digit << shift;
    }
    return found;
}

/* The number of elements that a sparsity leaves of a parameter: to the nearest, as the step does.
 */
static int64_t count_for(double sparsity, int64_t elements)
{
    const int64_t count = (int64_t)nearbyintf((1.0f - (float)sparsity) * (float)elements);
    return count < elements ? count : elements; /* above 2^24 the product may be rounded up */
}

static void mask_highest(const uint32_t *scores, int64_t elements, int64_t count, float *mask)
{
    cutoff found = { 0, 0 };
    if (count > 0)
        found = find_cutoff(scores, elements, count);
    for (int64_t i = 0; i < elements; i++) {
        bool tie = count > 0 && scores[i] == found.least && found.ties > 0;
        mask[i] = count > 0 && (scores[i] > found.least || tie) ? 1.0f : 0.0f;
        found.ties -= tie;
    }
}

/* Ones at even distances along the last axis; each row is shifted by the distance, rounded down,
 * against the row before it. */
static void mask_evenly(cse_shape shape, double sparsity, float *mask)
{
    const double density = 1 - sparsity, margin = 1e-5;
    const int64_t columns = shape.dims[shape.rank - 1];
    const int64_t length = columns + (int64_t)ceil((double)columns / density + margin);
    const int64_t shift = (int64_t)floor(1 / density - margin);
    const int64_t elements = cse_shape_elements(shape);
    for (int64_t i = 0; i < elements; i++) {
        const int64_t at = (i % columns + i / columns * shift) % length;
        mask[i] = floor((double)(at + 1) * density + margin) != floor((double)at * density + margin)
                      ? 1.0f
                      : 0.0f;
    }
}

static void make_scores(const cse_network *network, const cse_sparse *sparse, const float *values,
                        uint32_t *scores)
{
    const int64_t elements = cse_shape_elements(sparse->parameter->shape);
    const uint64_t key = network->seed * 0x9E3779B97F4A7C15u ^ cse_hash_string(sparse->mask->name);
    for (int64_t i = 0; i < elements; i++)
        if (sparse->group->init == CSE_SPARSITY_TOPK) {
            memcpy(&scores[i], &values[i], sizeof scores[i]);
            scores[i] &= 0x7fffffffu;
        } else {
            uint32_t words[4];
            const uint32_t counter[4] = { (uint32_t)i, 0, 0, 0 };
            cse_philox(key, counter, words);
            scores[i] = words[0];
        }
}

static void make_mask(const cse_network *network, const cse_sparse *sparse, const float *values,
                      float *mask)
{
    const cse_sparsity_group *group = sparse->group;
    const cse_shape shape = sparse->parameter->shape;
    const int64_t elements = cse_shape_elements(shape);
    const double sparsity =
        cse_sparsity_starts_sparse(group) ? cse_sparsity_first(&group->sparsity) : 0;
    if (!cse_sparsity_starts_sparse(group)) {
        for (int64_t i = 0; i < elements; i++)
            mask[i] = 1;
    } else if (group->init == CSE_SPARSITY_FROM_ZEROS) {
        for (int64_t i = 0; i < elements; i++)
            mask[i] = values[i] != 0 ? 1.0f : 0.0f;
    } else if (group->init == CSE_SPARSITY_CHECKERBOARD && sparsity < 1) {
        mask_evenly(shape, sparsity, mask);
    } else {
        uint32_t *scores = cse_calloc((size_t)elements, sizeof *scores);
        make_scores(network, sparse, values, scores);
        mask_highest(scores, elements, count_for(sparsity, elements), mask);
        free(scores);
    }
}

/* Values of an execution, which are borrowed, are zero there already, and not written to. */
static void clear_outside(cse_state *parameter, const float *mask)
{
    const int64_t elements = cse_shape_elements(parameter->shape);
    float *values = parameter->values;
    int64_t first = 0;
    while (first < elements && (mask[first] != 0 || values[first] == 0))
        first++;
    if (first == elements)
        return;
    if (parameter->borrowed) {
        float *copy = cse_calloc((size_t)elements, sizeof *copy);
        memcpy(copy, values, cse_state_bytes(parameter));
        values = cse_state_own_values(parameter);
        memcpy(values, copy, cse_state_bytes(parameter));
        free(copy);
    }
    for (int64_t i = first; i < elements; i++)
        if (mask[i] == 0)
            values[i] = 0;
}

/* Sees to it that mask and parameter have values, and that the parameter is zero where its mask is.
 */
static void settle(cse_network *network, cse_state *state)
{
    cse_sparse *sparse = state->sparse;
    if (sparse->settled || sparse->settling)
        return;
    sparse->settling = true;
    const float *values = cse_state_values(network, sparse->parameter);
    if (sparse->mask->values == NULL || sparse->derived) {
        make_mask(network, sparse, values, cse_state_own_values(sparse->mask));
        sparse->derived = true;
    }
    clear_outside(sparse->parameter, sparse->mask->values);
    sparse->settled = true;
    sparse->settling = false;
}

/* Notes that the state gets values from outside. */
static void unsettle(cse_state *state)
{
    cse_sparse *sparse = state->sparse;
    if (sparse->settling)
        return;
    sparse->settled = false;
    if (state == sparse->mask)
        sparse->derived = false;
}

static const cse_state_rule parameter_rule = { .settle = settle, .unsettle = unsettle };
static const cse_state_rule mask_rule = { .fill = settle, .settle = settle, .unsettle = unsettle };

/* ---- which parameters ---- */

static bool contains(const char *name, const char *word)
{
    const size_t length = strlen(word);
    for (; *name != '\0'; name++)
        if (strncasecmp(name, word, length) == 0)
            return true;
    return false;
}

/* Of two or more axes, and no embedding, norm or head by its name. */
static bool is_sparse_by_default(const cse_state *parameter)
{
    return parameter->shape.rank > 1 && !contains(parameter->name, "embedding") &&
           !contains(parameter->name, "norm") && !contains(parameter->name, "lm_head") &&
           !contains(parameter->name, "pe_helper");
}

static bool is_chosen(const cse_sparsity_group *group, const cse_state *parameter)
{
    bool chosen = false;
    if (group->patterns == NULL)
        return is_sparse_by_default(parameter);
    for (int p = 0; p < group->pattern_count; p++)
        chosen = chosen || fnmatch(group->patterns[p], parameter->name, 0) == 0 ||
                 fnmatch(group->patterns[p], cse_short_name(parameter->name), 0) == 0;
    return chosen;
}

static cse_status add(cse_network *network, const cse_optimizer *optimizer,
                      const cse_sparsity_group *group, cse_state *parameter)
{
    cse_sparse *sparse = cse_arena_alloc(network->arena, sizeof *sparse);
    *sparse =
        (cse_sparse){ .parameter = parameter, .group = group, .optimizer = optimizer, .trace = 0 };
    if (parameter->sparse != NULL)
        return cse_fail(CSE_USAGE, "cse_configure_sparsity: '%s' is sparse already",
                        parameter->name);
    sparse->mask =
        cse_network_state(&(cse_state_options){ .shape = parameter->shape,
                                                .dtype = CSE_FLOAT32,
                                                .initializer = { CSE_INIT_CONSTANT, 1, 0 } },
                          "sparsity.%s.mask", cse_short_name(parameter->name));
    if (sparse->mask == NULL)
        return network->error;
    parameter->sparse = sparse->mask->sparse = sparse;
    parameter->rule = &parameter_rule;
    sparse->mask->rule = &mask_rule;
    return CSE_OK;
}

/* The names that a pattern may choose from: all, as far as they fit. */
static void list_names(const cse_optimizer *optimizer, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < optimizer->count && used + 8 < size; i++) {
        const char *name = cse_short_name(optimizer->optimized[i].parameter->name);
        if (used + strlen(name) + 8 > size) {
            used += (size_t)snprintf(text + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", name);
    }
}

/* Each parameter belongs to the first group that chooses it. */
static cse_status choose(cse_network *network, const cse_optimizer *optimizer,
                         const cse_sparsity_groups *groups, int g, int group_of[])
{
    const cse_sparsity_group *group = &groups->groups[g];
    char names[1024];
    int chosen = 0;
    for (int i = 0; i < optimizer->count; i++) {
        cse_state *parameter = optimizer->optimized[i].parameter;
        if (group_of[i] >= 0 || !is_chosen(group, parameter))
            continue;
        group_of[i] = g;
        chosen++;
        CSE_TRY(add(network, optimizer, group, parameter));
    }
    if (chosen > 0)
        return CSE_OK;
    list_names(optimizer, names, sizeof names);
    return cse_fail_at(CSE_ERROR_AT("sparsity: ", group->place),
                       "%s of the optimizer's parameters%s; they are: %s",
                       group->patterns == NULL
                           ? "without param_filter those with two or more axes are sparse that are "
                             "no embedding, norm or head, but that is none"
                           : "param_filter matches none",
                       g > 0 ? " that the groups before it left" : "", names);
}

static cse_status configure(cse_network *network, cse_optimizer *optimizer, cse_yaml_node *tree)
{
    cse_sparsity_groups groups;
    int before = 0;
    if (network->traced != NULL)
        return cse_fail(CSE_USAGE, "cse_configure_sparsity: comes before the first step");
    CSE_TRY(cse_sparsity_settings_read(network->arena, tree, &groups));
    if (groups.count == 0)
        return CSE_OK;
    if (optimizer->sparsity_clock != NULL)
        return cse_fail(CSE_USAGE,
                        "cse_configure_sparsity: the optimizer %s has a sparsity; give several as "
                        "one list",
                        optimizer->descriptor->name);
    int *group_of = cse_arena_alloc(network->arena, ((size_t)optimizer->count + 1) * sizeof(int));
    for (int i = 0; i < optimizer->count; i++)
        group_of[i] = -1;
    for (int g = 0; g < groups.count; g++)
        CSE_TRY(choose(network, optimizer, &groups, g, group_of));
    for (int o = 0; o < network->optimizer_count; o++)
        before += network->optimizers[o]->sparsity_clock != NULL;
    optimizer->sparsity_clock =
        cse_network_state(&(cse_state_options){ .shape = cse_scalar_shape, .dtype = CSE_INT32 },
                          before > 0 ? "sparsity.%d.step" : "sparsity.step", before);
    return network->error;
}

void cse_configured_sparsity(cse_optimizer *optimizer, cse_yaml_node *tree)
{
    cse_network *network = cse_network_open_view("cse_configure_sparsity");
    if (network == NULL || optimizer == NULL)
        return;
    cse_status status = configure(network, optimizer, tree);
    if (status != CSE_OK)
        cse_network_fail(status);
}

/* ---- the public calls ---- */

void cse_configure_sparsity(cse_optimizer *optimizer, const char *settings)
{
    cse_yaml_node *tree = cse_network_text("cse_configure_sparsity", "sparsity", settings);
    if (tree != NULL)
        cse_configured_sparsity(optimizer, tree);
}

cse_state *cse_sparsity_mask(const cse_state *parameter)
{
    return parameter != NULL && parameter->sparse != NULL ? parameter->sparse->mask : NULL;
}
