/* Chooses the tensors whose statistics are recorded: one row of graph->tracked for each.
 *
 * These are every state, every value that is rounded to 16 bits, every gradient of a parameter, and
 * what the request's patterns name. Of those that its `values` names, all values are kept. This
 * last pass leaves the plan as it is: a step with statistics computes the same values, and copies
 * those that are not stored to memory of its own. Without a request the pass does nothing.
 *
 * The rows are in the order of execution: states, then what REPLICA computes, values and gradients
 * as its groups run, then values of WEIGHTS. So the first row with a NaN is where it arose. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/beside.h"
#include "engine/graph/passes/pass.h"

enum { SEARCH_DEPTH = 256 };

typedef struct survey {
    cse_graph *graph;
    const cse_numerics_request *request;
    bool *matched; /* by pattern */
    cse_value_wish wish;
    const char *example; /* a name that a pattern could have matched */
    int64_t scratch;     /* bytes used by the group at hand */
} survey;

/* ---- names ---- */

static int compare_names(const void *a, const void *b)
{
    const cse_tracked_tensor *p = *(cse_tracked_tensor *const *)a,
                             *q = *(cse_tracked_tensor *const *)b;
    int order = strcmp(p->name, q->name);
    return order != 0 ? order : p < q ? -1 : p > q;
}

/* Appends #2, #3, ... to repeated names, in execution order. */
static void number_names(cse_graph *graph)
{
    int count = graph->tracked_count, same = 1;
    cse_tracked_tensor **sorted = cse_calloc((size_t)count + 1, sizeof *sorted);
    for (int i = 0; i < count; i++)
        sorted[i] = &graph->tracked[i];
    qsort(sorted, (size_t)count, sizeof(cse_tracked_tensor *), compare_names);
    const char *last = "";
    for (int i = 0; i < count; i++) {
        same = strcmp(sorted[i]->name, last) == 0 ? same + 1 : 1;
        last = sorted[i]->name;
        if (same > 1)
            sorted[i]->name = cse_arena_printf(graph->arena, "%s#%d", last, same);
    }
    free(sorted);
}

/* ---- rows ---- */

static cse_tracked_tensor *add_row(cse_graph *graph, cse_tracked_kind kind, cse_node *node)
{
    CSE_GROW(graph->tracked, graph->tracked_count, graph->tracked_capacity);
    cse_tracked_tensor *row = &graph->tracked[graph->tracked_count++];
    *row = (cse_tracked_tensor){
        .kind = kind, .node = node, .source = node->dtype, .scratch_offset = -1
    };
    node->tracked = graph->tracked_count;
    return row;
}

static bool is_narrow(const cse_node *node)
{
    return cse_dtype_is_float(node->dtype) && node->dtype != CSE_FLOAT32;
}

/* Whether a float value can be read by a statistics program: in a loop, or as a group's result. */
static bool is_visible(const cse_group *group, int n)
{
    const cse_node *node = group->nodes[n];
    bool computes = node->op->kind == CSE_OP_ELEMENTWISE || node->op->kind == CSE_OP_REDUCE ||
                    node->op->kind == CSE_OP_BLOCK || node->op->kind == CSE_OP_LIBRARY;
    return computes && node->op->role != CSE_OP_ROLE_STORE && cse_dtype_is_float(node->dtype) &&
           (group->kind == CSE_GROUP_LOOP || n == group->node_count - 1 ||
            cse_node_result(node) >= 0);
}

static bool is_asked_for(survey *s, const char *name, const cse_node *node)
{
    bool asked = false;
    for (int p = 0; p < s->request->pattern_count; p++) {
        const char *pattern = s->request->patterns[p];
        if (fnmatch(pattern, name, 0) != 0 && fnmatch(pattern, node->scope, 0) != 0)
            continue;
        s->matched[p] = asked = true;
    }
    return asked;
}

static void survey_value(survey *s, const cse_group *group, int n)
{
    cse_node *node = group->nodes[n];
    if (!is_visible(group, n) || node->recomputed > 0) /* what it copies is tracked */
        return;
    const char *name = cse_value_name(s->graph, node);
    const bool wanted =
        cse_value_wish_has(&s->wish, name) || cse_beside_tells(s->graph, &s->wish, node);
    const bool asked = is_asked_for(s, name, node) || wanted;
    bool rounds = is_narrow(node) && node->op->precision != CSE_FAMILY_MOVEMENT;
    if (s->example == NULL && node->scope[0] != '\0')
        s->example = name;
    if (!asked && !rounds)
        return;
    cse_tracked_tensor *row =
        add_row(s->graph, rounds ? CSE_TRACKED_CAST : CSE_TRACKED_VALUE, node);
    row->name = name;
    row->whole = wanted;
    row->beside = node->beside;
    row->op = node->inserted_cast ? node->op->name : cse_value_origin(node)->name;
    if (group->kind != CSE_GROUP_LOOP)
        return;
    row->scratch_offset = s->scratch;
    s->scratch += cse_aligned_bytes(cse_shape_elements(node->shape) * 4);
    if (is_narrow(node))
        row->source =
            node->op->role == CSE_OP_ROLE_CAST && cse_dtype_is_float(node->inputs[0]->dtype)
                ? node->inputs[0]->dtype
                : CSE_FLOAT32;
}

static void survey_part(survey *s, cse_part part)
{
    cse_graph *graph = s->graph;
    for (int g = 0; g < graph->group_count; g++) {
        if (graph->groups[g].part != part)
            continue;
        s->scratch = 0;
        for (int n = 0; n < graph->groups[g].node_count; n++)
            survey_value(s, &graph->groups[g], n);
        if (s->scratch > graph->statistics_scratch_bytes)
            graph->statistics_scratch_bytes = s->scratch;
    }
}

/* ---- states and their updates ---- */

static cse_node *unrounded(cse_node *node)
{
    while (node->op->kind == CSE_OP_RESHAPE || node->op->role == CSE_OP_ROLE_CAST)
        node = node->inputs[0];
    return node;
}

/* Matches next = where(finite, round(state - delta), state), where `where` and `round` are
 * optional. */
static void find_update(const cse_graph *graph, cse_tracked_tensor *row, int number)
{
    cse_node *kept = cse_node_storage(row->node->inputs[0]);
    while (kept->op->role == CSE_OP_ROLE_SELECT)
        kept = cse_node_storage(kept->inputs[1]);
    cse_node *sub = unrounded(kept);
    if (sub->op->role != CSE_OP_ROLE_SUBTRACT ||
        unrounded(sub->inputs[0]) != graph->states[number].read)
        return;
    cse_node *delta = cse_node_storage(sub->inputs[1]);
    if (kept->group != row->node->group || delta->group != row->node->group ||
        kept->dtype != CSE_FLOAT32 || delta->dtype != CSE_FLOAT32)
        return;
    row->kept = kept;
    row->delta = delta;
}

static void survey_states(survey *s)
{
    cse_graph *graph = s->graph;
    for (int i = 0; i < graph->state_count; i++) {
        const cse_state_entry *state = &graph->states[i];
        if (state->next == NULL || state->next->op != &cse_op_assign || state->dtype != CSE_FLOAT32)
            continue;
        cse_tracked_tensor *row = add_row(graph, CSE_TRACKED_STATE, state->next);
        row->name = state->name;
        row->op = "update";
        find_update(graph, row, i);
    }
}

/* ---- gradients ---- */

static bool of_backward(const cse_node *partial)
{
    return partial->backward || partial->inputs[0]->backward;
}

/* The sum over the batch that an update reads element by element; values of other sizes (norms,
 * factors) are not followed. */
static const cse_node *find_sum(cse_node *node, int64_t elements, int depth)
{
    const cse_node *found = NULL;
    if (cse_shape_elements(node->shape) != elements || depth > SEARCH_DEPTH)
        return NULL;
    if (node->op == &cse_op_batch_sum)
        return node;
    for (int i = 0; found == NULL && i < node->input_count; i++)
        found = find_sum(node->inputs[i], elements, depth + 1);
    return found;
}

static void survey_gradients(survey *s)
{
    cse_graph *graph = s->graph;
    for (int i = 0; i < graph->state_count; i++) {
        const cse_state_entry *state = &graph->states[i];
        if (!state->trainable || state->next == NULL)
            continue;
        const cse_node *sum = find_sum(state->next, cse_shape_elements(state->shape), 0);
        if (sum == NULL)
            continue;
        cse_node *partial = graph->reductions[sum->attributes.integers[0]].partial;
        if (partial->tracked != 0 || !of_backward(partial))
            continue;
        cse_tracked_tensor *row = add_row(graph, CSE_TRACKED_GRADIENT, partial);
        row->name = cse_arena_printf(graph->arena, "%s.gradient", state->name);
        row->whole = cse_value_wish_has(&s->wish, row->name);
        row->op = cse_value_origin(cse_node_storage(partial->inputs[0]))->name;
    }
}

/* ---- the order of execution ---- */

typedef struct ranked_row {
    cse_tracked_tensor row;
    int phase, group, place, number; /* compared in this order */
} ranked_row;

static ranked_row rank_of(const cse_graph *graph, int number)
{
    const cse_tracked_tensor *row = &graph->tracked[number];
    const cse_node *node = row->node;
    ranked_row ranked = { .row = *row, .number = number };
    if (row->kind == CSE_TRACKED_STATE)
        return ranked;
    while (node->group < 0 && node->input_count > 0) /* it has its input's bytes, and no code */
        node = node->inputs[0];
    ranked.phase = node->part == CSE_PART_WEIGHTS ? 2 : 1;
    ranked.group = node->group;
    if (node->group < 0)
        return ranked;
    const cse_group *group = &graph->groups[node->group];
    while (ranked.place < group->node_count && group->nodes[ranked.place] != node)
        ranked.place++;
    return ranked;
}

static int compare_ranks(const void *a, const void *b)
{
    const ranked_row *p = a, *q = b;
    if (p->phase != q->phase)
        return p->phase - q->phase;
    if (p->group != q->group)
        return p->group - q->group;
    return p->place != q->place ? p->place - q->place : p->number - q->number;
}

static void sort_rows(cse_graph *graph)
{
    const int count = graph->tracked_count;
    ranked_row *ranked = cse_calloc((size_t)count + 1, sizeof *ranked);
    for (int i = 0; i < count; i++)
        ranked[i] = rank_of(graph, i);
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ranks);
    for (int i = 0; i < count; i++) {
        graph->tracked[i] = ranked[i].row;
        graph->tracked[i].node->tracked = i + 1;
    }
    free(ranked);
}

/* ---- whole values ---- */

/* Names a few of them. */
static cse_status nothing_wanted(const cse_graph *graph, const char *values)
{
    cse_text names = { 0 };
    int shown = 0;
    for (int i = 0; i < graph->tracked_count && shown < 6; i++)
        if (graph->tracked[i].kind != CSE_TRACKED_STATE)
            cse_text_add(&names, "%s%s", shown++ > 0 ? ", " : "", graph->tracked[i].name);
    cse_status status =
        cse_fail(CSE_CONFIG,
                 "numerics.values: \"%.120s\" matches nothing that a step computes; among what it "
                 "computes are %s",
                 values, names.data != NULL ? names.data : "no values of floats");
    cse_text_clear(&names);
    return status;
}

/* By the names as they are now, with their numbers. */
static cse_status settle_values(const survey *s)
{
    cse_graph *graph = s->graph;
    int count = 0;
    if (s->wish.pattern == NULL)
        return CSE_OK;
    const bool numbered = strchr(s->request->values, '#') != NULL;
    for (int i = 0; i < graph->tracked_count; i++) {
        cse_tracked_tensor *row = &graph->tracked[i];
        row->whole = row->whole && (!numbered || row->beside == CSE_BESIDE_DIFFERENCE ||
                                    cse_pattern_matches_end(s->wish.pattern, row->name));
        count += row->whole;
    }
    return count > 0 ? CSE_OK : nothing_wanted(graph, s->request->values);
}

static cse_status check_patterns(const survey *s)
{
    for (int p = 0; p < s->request->pattern_count; p++)
        if (!s->matched[p])
            return cse_fail(CSE_CONFIG,
                            "numerics: %s: the pattern \"%.120s\" matches no tensor of the step; "
                            "accepted: patterns of scopes or names, as in %s",
                            s->request->origins[p], s->request->patterns[p],
                            s->example != NULL ? s->example : "model.*");
    return CSE_OK;
}

cse_status cse_pass_numerics(cse_graph *graph, bool enabled)
{
    survey s = { .graph = graph, .request = graph->numerics };
    if (!enabled || s.request == NULL)
        return CSE_OK;
    CSE_TRY(cse_value_wish_open(s.request, &s.wish));
    s.matched = cse_calloc((size_t)s.request->pattern_count + 1, sizeof *s.matched);
    survey_states(&s);
    survey_part(&s, CSE_PART_REPLICA);
    survey_gradients(&s);
    survey_part(&s, CSE_PART_WEIGHTS);
    cse_status status = check_patterns(&s);
    sort_rows(graph);
    number_names(graph);
    if (status == CSE_OK)
        status = settle_values(&s);
    cse_value_wish_close(&s.wish);
    free(s.matched);
    return status;
}
