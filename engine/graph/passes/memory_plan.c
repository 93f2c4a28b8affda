/* Storage for each value that another group reads.
 *
 * States, inputs, sums and fetched values have fixed offsets, one aligned field each. The
 * workspaces of REPLICA and WEIGHTS are packed best fit by decreasing size: values from large to
 * small, each into the smallest gap among the values whose lifetimes overlap. A fused loop's result
 * reuses the storage of an input whose lifetime ends there, when the loop reads each element of it
 * before it writes the same one; a value that a block or a product adds to lies where the result
 * does.
 * Results of WEIGHTS that updates read live until the end of the step, and so does in REPLICA what
 * is computed once a step and read for each microbatch.
 *
 * Gradients lie in the order in which the groups of REPLICA complete them, so that those which are
 * complete are a prefix: other hosts are sent it while the others are computed. */
#include "engine/graph/passes/memory_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/loop.h"
#include "engine/graph/passes/pass.h"

typedef struct placed {
    cse_node *node;
    int64_t bytes, offset;
    int first, last;       /* groups between which it is live */
    struct placed *reuses; /* the value whose storage it reuses */
    bool reused;           /* by another value */
    cse_node *lies_in;     /* a result outside of the workspace that takes its place */
} placed;

typedef struct plan {
    cse_graph *graph;
    placed *values;
    int count;
    int *value_of; /* by node id: 1 + position in values */
} plan;

static int64_t take_field(cse_graph *graph, cse_space space, const cse_node *node)
{
    int64_t offset = graph->space_bytes[space];
    graph->space_bytes[space] += cse_aligned_bytes(cse_node_bytes(node));
    return offset;
}

static void place_at(cse_node *node, cse_space space, int64_t offset)
{
    assert(offset >= 0 && offset % 64 == 0);
    node->space = space;
    node->offset_bytes = offset;
}

/* A sum over the batch, and where it is in the order of places. */
typedef struct reduction_rank {
    bool backward; /* sums of the forward pass come first: the serial program reads them */
    int group, index;
} reduction_rank;

static int compare_ranks(const void *a, const void *b)
{
    const reduction_rank *p = a, *q = b;
    if (p->backward != q->backward)
        return p->backward ? 1 : -1;
    return p->group != q->group ? (p->group > q->group) - (p->group < q->group)
                                : (p->index > q->index) - (p->index < q->index);
}

static void place_reductions(cse_graph *graph)
{
    reduction_rank *ranks = cse_calloc((size_t)graph->reduction_count + 1, sizeof *ranks);
    for (int r = 0; r < graph->reduction_count; r++) {
        const cse_node *partial = graph->reductions[r].partial;
        ranks[r] = (reduction_rank){ partial->backward || partial->inputs[0]->backward,
                                     partial->group, r };
    }
    qsort(ranks, (size_t)graph->reduction_count, sizeof *ranks, compare_ranks);
    graph->space_bytes[CSE_SPACE_PARTIAL] = 0;
    for (int r = 0; r < graph->reduction_count; r++) {
        cse_reduction_entry *entry = &graph->reductions[ranks[r].index];
        entry->offset_bytes = take_field(graph, CSE_SPACE_PARTIAL, entry->sum);
        place_at(entry->partial, CSE_SPACE_PARTIAL, entry->offset_bytes);
        place_at(entry->sum, CSE_SPACE_REDUCED, entry->offset_bytes);
    }
    graph->space_bytes[CSE_SPACE_REDUCED] = graph->space_bytes[CSE_SPACE_PARTIAL];
    free(ranks);
}

static void place_tables(cse_graph *graph)
{
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        if (state->read != NULL)
            place_at(state->read, CSE_SPACE_STATE, state->offset_bytes);
        if (state->next != NULL && state->next->op == &cse_op_assign)
            place_at(state->next, CSE_SPACE_STATE, state->offset_bytes);
    }
    graph->space_bytes[CSE_SPACE_INPUT] = 0;
    for (int i = 0; i < graph->input_count; i++) {
        cse_input_entry *input = &graph->inputs[i];
        input->offset_bytes = graph->space_bytes[CSE_SPACE_INPUT];
        graph->space_bytes[CSE_SPACE_INPUT] += cse_aligned_bytes(
            cse_shape_elements(input->shape) * (int64_t)cse_dtype_size(input->dtype));
        if (input->node != NULL)
            place_at(input->node, CSE_SPACE_INPUT, input->offset_bytes);
    }
    place_reductions(graph);
    graph->space_bytes[CSE_SPACE_FETCH] = 0;
    for (int f = 0; f < graph->fetch_count; f++) {
        cse_fetch_entry *fetch = &graph->fetches[f];
        fetch->offset_bytes = take_field(graph, CSE_SPACE_FETCH, fetch->value);
        place_at(fetch->value, CSE_SPACE_FETCH, fetch->offset_bytes);
    }
}

/* ---- lifetimes ---- */

static bool is_workspace_value(const cse_graph *graph, const cse_node *node)
{
    return node->group >= 0 && node->part != CSE_PART_UPDATE && node->op != &cse_op_partial &&
           node->op != &cse_op_fetch && graph->groups[node->group].part == node->part;
}

/* Until when group `reader` needs the value: what is computed once a step is read again by the
 * groups of the next microbatch. */
static int last_reader(const cse_graph *graph, const cse_node *value, int reader)
{
    const bool stays = graph->groups[value->group].per_step && !graph->groups[reader].per_step;
    return stays ? graph->group_count : reader;
}

static void add_value(plan *p, cse_node *node)
{
    if (p->value_of[node->id] != 0)
        return;
    p->values[p->count] = (placed){ .node = node,
                                    .bytes = cse_aligned_bytes(cse_node_bytes(node)),
                                    .first = node->group,
                                    .last = node->group };
    p->value_of[node->id] = ++p->count;
}

/* A value is stored when another group reads it, or when it is the result of a block or a library
 * call. */
static void collect_values(plan *p)
{
    const cse_graph *graph = p->graph;
    cse_node **inputs = cse_calloc((size_t)graph->node_count + 1, sizeof *inputs);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        assert(group->node_count > 0);
        cse_node *result = group->nodes[group->node_count - 1];
        if (group->kind != CSE_GROUP_LOOP && is_workspace_value(graph, result))
            add_value(p, result);
        for (int n = 0; n < group->node_count; n++)
            if (group->nodes[n]->op == &cse_op_materialize) {
                add_value(p, group->nodes[n]);
                p->values[p->value_of[group->nodes[n]->id] - 1].last = graph->group_count;
            }
        int count = cse_group_inputs(graph, group, inputs, graph->node_count);
        for (int i = 0; i < count; i++) {
            if (!is_workspace_value(graph, inputs[i]))
                continue;
            add_value(p, inputs[i]);
            placed *value = &p->values[p->value_of[inputs[i]->id] - 1];
            const int last = last_reader(graph, inputs[i], g);
            value->last = last > value->last ? last : value->last;
        }
    }
    free(inputs);
}

/* ---- reuse of an input's storage ---- */

/* Whether the loop reads `input`, element by element, no later than it writes `output`; and whether
 * that holds for the interpreter too, which runs one node after the other. */
static bool reads_before_write(const cse_group *group, const cse_loop *loop, const cse_node *input,
                               const cse_node *output)
{
    int at = cse_loop_position(group->nodes, group->node_count, output);
    const cse_loop_value *written = &loop->values[at];
    if (written->level != CSE_LEVEL_FULL || written->after_rows)
        return false;
    for (int n = 0; n < group->node_count; n++)
        for (int i = 0; i < group->nodes[n]->input_count; i++) {
            if (cse_node_storage(group->nodes[n]->inputs[i]) != input)
                continue;
            const cse_loop_value *reader = &loop->values[n];
            bool reduces = group->nodes[n]->op->kind == CSE_OP_REDUCE;
            bool full = reduces ? reader->reduces == CSE_LEVEL_FULL ||
                                      cse_loop_is_degenerate(group->nodes[n])
                                : reader->level == CSE_LEVEL_FULL && !reader->after_rows;
            if (!full || group->nodes[n]->op->kind == CSE_OP_BROADCAST || n > at ||
                reader->phase > written->phase)
                return false;
        }
    return true;
}

/* The value that the result of a block or a product may overwrite; NULL: none. */
static cse_node *updated_by(const cse_group *group)
{
    const cse_node *block = group->nodes[0];
    bool updates = group->kind != CSE_GROUP_LOOP && block->op->updates > 0 &&
                   block->input_count >= block->op->updates;
    return updates ? cse_node_storage(block->inputs[block->op->updates - 1]) : NULL;
}

/* A value that ends in a group which updates it lies where the group's result does. A result
 * outside of the workspace takes the value there, and those that it lies in. */
static void update_in_place(plan *p)
{
    for (int g = 0; g < p->graph->group_count; g++) {
        const cse_group *group = &p->graph->groups[g];
        cse_node *table = updated_by(group), *result = group->nodes[group->node_count - 1];
        placed *input =
            table && p->value_of[table->id] ? &p->values[p->value_of[table->id] - 1] : NULL;
        if (input == NULL || input->last != g || input->first >= g || input->reused ||
            table->part != group->part)
            continue;
        int at = p->value_of[result->id];
        if (at != 0) {
            p->values[at - 1].reuses = input;
            input->reused = true;
        } else if (result->op == &cse_op_partial) {
            while (input->reuses != NULL)
                input = input->reuses;
            input->lies_in = result;
        }
    }
}

/* The values that each group is the last to read, in their order. */
typedef struct ends {
    int *first; /* by group; -1: none */
    int *next;  /* by value; -1: the last */
} ends;

static void reuse_in_group(plan *p, int g, const ends *e, cse_loop *loop)
{
    const cse_group *group = &p->graph->groups[g];
    if (group->kind != CSE_GROUP_LOOP || group->part == CSE_PART_UPDATE ||
        !cse_loop_find(group->nodes, group->node_count, loop))
        return;
    for (int n = 0; n < group->node_count; n++) {
        int at = p->value_of[group->nodes[n]->id];
        if (at == 0)
            continue;
        placed *output = &p->values[at - 1];
        for (int v = e->first[g]; v >= 0 && output->reuses == NULL; v = e->next[v]) {
            placed *input = &p->values[v];
            if (input->first < g && !input->reused &&
                cse_node_bytes(input->node) == cse_node_bytes(output->node) &&
                input->node->part == group->part &&
                reads_before_write(group, loop, input->node, output->node)) {
                output->reuses = input;
                input->reused = true;
            }
        }
    }
}

static void reuse_inputs(plan *p)
{
    const cse_graph *graph = p->graph;
    cse_loop *loop = cse_calloc(1, sizeof *loop);
    ends e = { .first = cse_calloc((size_t)graph->group_count + 1, sizeof *e.first),
               .next = cse_calloc((size_t)p->count + 1, sizeof *e.next) };
    for (int g = 0; g <= graph->group_count; g++)
        e.first[g] = -1;
    for (int v = p->count - 1; v >= 0; v--) {
        e.next[v] = e.first[p->values[v].last];
        e.first[p->values[v].last] = v;
    }
    for (int g = 0; g < graph->group_count; g++)
        reuse_in_group(p, g, &e, loop);
    free(e.first);
    free(e.next);
    free(loop);
}

/* ---- packing ---- */

static int compare_sizes(const void *a, const void *b)
{
    const placed *p = *(placed *const *)a, *q = *(placed *const *)b;
    if (p->bytes != q->bytes)
        return p->bytes > q->bytes ? -1 : 1;
    return p->node->id < q->node->id ? -1 : 1;
}

static bool lives_with(const placed *a, const placed *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The gap between neighbours in time that fits best; `sorted` is ordered by offset. */
static int64_t best_offset(placed *const sorted[], int count, const placed *value)
{
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (int i = 0; i < count; i++) {
        if (!lives_with(sorted[i], value))
            continue;
        int64_t gap = sorted[i]->offset - end;
        if (gap >= value->bytes && gap < best_gap) {
            best = end;
            best_gap = gap;
        }
        if (sorted[i]->offset + sorted[i]->bytes > end)
            end = sorted[i]->offset + sorted[i]->bytes;
    }
    return best >= 0 ? best : end;
}

static void insert_sorted(placed *sorted[], int count, placed *value)
{
    int at = count;
    while (at > 0 && sorted[at - 1]->offset > value->offset) {
        sorted[at] = sorted[at - 1];
        at--;
    }
    sorted[at] = value;
}

static void pack(plan *p, cse_part part, cse_space space, bool share)
{
    placed **order = cse_calloc((size_t)p->count + 1, sizeof *order);
    placed **sorted = cse_calloc((size_t)p->count + 1, sizeof *sorted);
    int count = 0, done = 0;
    int64_t end = 0;
    for (int v = 0; v < p->count; v++)
        if (p->values[v].node->part == part && p->values[v].reuses == NULL &&
            p->values[v].lies_in == NULL)
            order[count++] = &p->values[v];
    qsort(order, (size_t)count, sizeof *order, compare_sizes);
    for (int v = 0; v < count; v++) {
        order[v]->offset = share ? best_offset(sorted, done, order[v]) : end;
        insert_sorted(sorted, done++, order[v]);
        if (order[v]->offset + order[v]->bytes > end)
            end = order[v]->offset + order[v]->bytes;
    }
    p->graph->space_bytes[space] = end;
    for (int v = 0; v < p->count; v++) {
        placed *value = &p->values[v];
        const placed *owner = value;
        while (owner->reuses != NULL)
            owner = owner->reuses;
        if (value->node->part == part && owner->lies_in != NULL)
            place_at(value->node, owner->lies_in->space, owner->lies_in->offset_bytes);
        else if (value->node->part == part)
            place_at(value->node, space, owner->offset);
    }
    free(order);
    free(sorted);
}

/* Storage that is reused lives as long as its last value. */
static void extend_lifetimes(plan *p)
{
    for (int v = 0; v < p->count; v++)
        for (placed *owner = p->values[v].reuses; owner != NULL; owner = owner->reuses)
            owner->last = p->values[v].last > owner->last ? p->values[v].last : owner->last;
}

cse_status cse_pass_memory_plan(cse_graph *graph, bool enabled)
{
    plan p = { .graph = graph };
    p.values = cse_calloc((size_t)graph->node_count + 1, sizeof *p.values);
    p.value_of = cse_calloc((size_t)graph->next_id + 1, sizeof *p.value_of);
    for (int n = 0; n < graph->node_count; n++)
        place_at(graph->nodes[n], CSE_SPACE_NONE, 0);
    place_tables(graph);
    collect_values(&p);
    if (enabled) {
        update_in_place(&p);
        reuse_inputs(&p);
    }
    extend_lifetimes(&p);
    pack(&p, CSE_PART_REPLICA, CSE_SPACE_REPLICA, enabled);
    pack(&p, CSE_PART_WEIGHTS, CSE_SPACE_WEIGHTS, enabled);
    free(p.values);
    free(p.value_of);
    return CSE_OK;
}

/* ---- figures ---- */

static int compare_lifetimes(const void *a, const void *b)
{
    const cse_workspace_value *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->last > y->last) - (x->last < y->last);
}

cse_workspace_value *cse_memory_plan_values(const cse_graph *graph, int *count)
{
    cse_workspace_value *all = cse_calloc((size_t)graph->node_count + 1, sizeof *all);
    int *last = cse_calloc((size_t)graph->next_id + 1, sizeof *last);
    cse_node **inputs = cse_calloc((size_t)graph->node_count + 1, sizeof *inputs);
    for (int g = 0; g < graph->group_count; g++) {
        int read = cse_group_inputs(graph, &graph->groups[g], inputs, graph->node_count);
        for (int i = 0; i < read; i++)
            if (is_workspace_value(graph, inputs[i]) && last[inputs[i]->id] < graph->group_count)
                last[inputs[i]->id] = last_reader(graph, inputs[i], g);
    }
    *count = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (node->space == CSE_SPACE_REPLICA)
            all[(*count)++] =
                (cse_workspace_value){ .offset = node->offset_bytes,
                                       .bytes = cse_aligned_bytes(cse_node_bytes(node)),
                                       .first = node->group,
                                       .last = last[node->id] > node->group ? last[node->id]
                                                                            : node->group };
    }
    free(inputs);
    free(last);
    qsort(all, (size_t)*count, sizeof *all, compare_lifetimes);
    return all;
}

/* Whether the value took over the storage of one that was read for the last time by the group that
 * makes it: it is not counted in that group. */
static bool is_reuse(const cse_workspace_value *all, int count, const cse_workspace_value *value)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        bool before = all[middle].offset < value->offset ||
                      (all[middle].offset == value->offset && all[middle].last < value->first);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    for (; low < count && all[low].offset == value->offset && all[low].last == value->first; low++)
        if (all[low].first < value->first)
            return true;
    return false;
}

cse_memory_figures cse_memory_plan_figures(const cse_graph *graph)
{
    cse_memory_figures figures = { .workspace_bytes = graph->space_bytes[CSE_SPACE_REPLICA],
                                   .state_bytes = graph->space_bytes[CSE_SPACE_STATE],
                                   .sum_bytes = graph->space_bytes[CSE_SPACE_PARTIAL] };
    /* Bytes that are live in a group more than in the one before it. */
    int64_t *growth = cse_calloc((size_t)graph->group_count + 2, sizeof *growth), live = 0;
    int count;
    cse_workspace_value *all = cse_memory_plan_values(graph, &count);
    for (int v = 0; v < count; v++) {
        int first = all[v].first + is_reuse(all, count, &all[v]);
        if (first > all[v].last)
            continue;
        growth[first] += all[v].bytes;
        growth[all[v].last + 1] -= all[v].bytes;
    }
    for (int g = 0; g < graph->group_count; g++) {
        live += growth[g];
        if (live > figures.lower_bound_bytes)
            figures.lower_bound_bytes = live;
    }
    free(all);
    free(growth);
    return figures;
}
