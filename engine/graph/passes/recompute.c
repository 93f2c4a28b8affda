/* Activation recomputation: the backward pass computes a region's values again from what enters the
 * region, instead of keeping them since the forward pass (Chen et al., "Training Deep Nets with
 * Sublinear Memory Cost", 2016).
 *
 * A region is a CSE_RECOMPUTE block of the model's code, or a scope that a pattern of the
 * configuration names. What leaves a region is kept: the next region begins with it. Each other
 * value that the backward pass reads gets a copy, together with the values of the region that it
 * is computed from. Random numbers are functions of the element, so the copies are the same
 * values. What fusion makes of them may differ: a sum that shares its loop with other ops may be
 * taken in another order, so that the last bits of a result belong to the choice of regions.
 *
 * The copies belong to the backward pass: fusion keeps the passes apart, and the order pass takes
 * them as late as it can, the last region first. Common subexpressions were found before, so that
 * no later pass unites a copy with what it copies. */
#include "engine/graph/passes/recompute.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/pass.h"

/* ---- regions ---- */

/* A region by the block or the scope that it is made of. */
typedef struct region_key {
    int block;
    const char *scope; /* its first `length` bytes */
    size_t length;
} region_key;

typedef struct finder {
    const cse_graph *graph;
    bool *matched; /* by pattern */
    region_key *keys;
    int count, capacity;
} finder;

/* Length of the shortest part of the dotted scope that the pattern matches, 0 for none; `*` stands
 * for one name. */
static size_t matched_length(const char *pattern, const char *scope)
{
    char path[512], form[512];
    size_t length = strlen(scope), of_form = strlen(pattern);
    if (length == 0 || length >= sizeof path || of_form >= sizeof form)
        return 0;
    for (size_t i = 0; i <= of_form; i++)
        form[i] = pattern[i] == '.' ? '/' : pattern[i];
    for (size_t i = 0; i <= length; i++) {
        if (scope[i] != '.' && scope[i] != '\0') {
            path[i] = scope[i];
            continue;
        }
        path[i] = '\0';
        if (fnmatch(form, path, FNM_PATHNAME) == 0)
            return i;
        path[i] = '/';
    }
    return 0;
}

/* Length of the part of the scope that ends with the first name that is a number, as in
 * "model.layers.3"; 0 for none. */
static size_t numbered_length(const char *scope)
{
    for (const char *at = scope; *at != '\0';) {
        const size_t digits = strspn(at, "0123456789"), length = strcspn(at, ".");
        if (digits > 0 && digits == length)
            return (size_t)(at - scope) + length;
        at += length + (at[length] == '.');
    }
    return 0;
}

static region_key key_of(finder *f, const cse_node *node)
{
    const cse_recompute_request *request = f->graph->recompute;
    region_key key = { .block = node->recompute_block };
    for (int p = 0; request != NULL && p < request->pattern_count; p++) {
        size_t length = matched_length(request->patterns[p], node->scope);
        f->matched[p] = f->matched[p] || length > 0;
        if (key.block == 0 && key.length == 0 && length > 0)
            key = (region_key){ .scope = node->scope, .length = length };
    }
    if (key.block == 0 && request != NULL && request->pattern_count == 0)
        key = (region_key){ .scope = node->scope, .length = numbered_length(node->scope) };
    return key;
}

static bool is_same_region(const region_key *a, const region_key *b)
{
    return a->block == b->block && a->length == b->length &&
           (a->length == 0 || strncmp(a->scope, b->scope, a->length) == 0);
}

/* From 1; the newest are looked at first, since nodes follow the model. */
static int region_number(finder *f, const region_key *key)
{
    for (int r = f->count; r > 0; r--)
        if (is_same_region(&f->keys[r - 1], key))
            return r;
    CSE_GROW(f->keys, f->count, f->capacity);
    f->keys[f->count++] = *key;
    return f->count;
}

static bool may_be_recomputed(const cse_node *node)
{
    return node->batch && !node->backward && !cse_node_is_leaf(node);
}

static cse_status check_patterns(const finder *f)
{
    const cse_recompute_request *request = f->graph->recompute;
    for (int p = 0; request != NULL && p < request->pattern_count; p++)
        if (!f->matched[p])
            return cse_fail(CSE_CONFIG,
                            "recompute: %s: the pattern \"%.120s\" matches no scope of the step; "
                            "accepted: patterns of scopes, in which * stands for one name, as in "
                            "model.layers.*; `csengine compile CONFIG --print_precision` shows "
                            "them",
                            request->origins[p], request->patterns[p]);
    return CSE_OK;
}

cse_status cse_recompute_find_regions(const cse_graph *graph, cse_recompute_regions *regions)
{
    const int patterns = graph->recompute != NULL ? graph->recompute->pattern_count : 0;
    finder f = { .graph = graph, .matched = cse_calloc((size_t)patterns + 1, sizeof(bool)) };
    regions->of_node = cse_calloc((size_t)graph->node_count + 1, sizeof *regions->of_node);
    for (int n = 0; n < graph->node_count; n++) {
        const region_key key = key_of(&f, graph->nodes[n]);
        if ((key.block > 0 || key.length > 0) && may_be_recomputed(graph->nodes[n]))
            regions->of_node[n] = region_number(&f, &key);
    }
    regions->count = f.count;
    cse_status status = check_patterns(&f);
    if (status != CSE_OK)
        free(regions->of_node);
    free(f.keys);
    free(f.matched);
    return status;
}

/* ---- the pass ---- */

cse_status cse_pass_recompute(cse_graph *graph, bool enabled)
{
    cse_recompute_regions regions = { .count = 0 };
    cse_recompute_extent extent = { .whole = 0 };
    cse_status status = CSE_OK;
    if (!enabled ||
        (graph->recompute == NULL && graph->recompute_blocks == 0 && !graph->streams_states))
        return CSE_OK;
    if (graph->recompute != NULL || graph->recompute_blocks > 0) {
        CSE_TRY(cse_recompute_find_regions(graph, &regions));
        status = cse_recompute_choose(graph, &regions, &extent);
    }
    if (status == CSE_OK)
        cse_recompute_apply(graph, &regions, &extent);
    free(regions.of_node);
    return status;
}
