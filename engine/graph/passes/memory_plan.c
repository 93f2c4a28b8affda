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
 * complete are a prefix: other hosts are sent it while the others are computed. Until a gradient is
 * first written, its place holds values of the workspace that end before that. Its padding does
 * not: it is added and sent with the gradient, and stays zero. */
#include "engine/graph/passes/memory_plan.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/lifetimes.h"
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
        if (group->kind != CSE_GROUP_LOOP && cse_is_workspace_value(graph, result))
            add_value(p, result);
        for (int n = 0; n < group->node_count; n++)
            if (group->nodes[n]->op == &cse_op_materialize) {
                add_value(p, group->nodes[n]);
                p->values[p->value_of[group->nodes[n]->id] - 1].last = graph->group_count;
            }
        int count = cse_group_inputs(graph, group, inputs, graph->node_count);
        for (int i = 0; i < count; i++) {
            if (!cse_is_workspace_value(graph, inputs[i]))
                continue;
            add_value(p, inputs[i]);
            placed *value = &p->values[p->value_of[inputs[i]->id] - 1];
            const int last = cse_last_reader(graph, inputs[i], g);
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

/* The gap between neighbours in time that fits best; `sorted` is ordered by offset. Of what is
 * lent, before `behind`, the first that suffices: there lie the gradients that are written first,
 * and the places of those that are written late are left to values that live long. */
static int64_t best_offset(placed *const sorted[], int count, const placed *value, int64_t behind)
{
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (int i = 0; i < count; i++) {
        if (!lives_with(sorted[i], value))
            continue;
        int64_t gap = sorted[i]->offset - end;
        if (gap >= value->bytes && end < behind)
            return end;
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

enum { LINE_BYTES = 64 };

/* The first group that writes to the place of the sum. */
static int first_writer(const plan *p, const cse_node *partial)
{
    int first = partial->group;
    for (int v = 0; v < p->count; v++)
        if (p->values[v].lies_in == partial && p->values[v].first < first)
            first = p->values[v].first;
    return first;
}

/* What the places of the sums hold besides values of the workspace, which lies behind them: the
 * line between them is held, too, so that no value is in both. */
static int add_fields(const plan *p, placed *fields)
{
    const cse_graph *graph = p->graph;
    int count = 0;
    for (int r = 0; r < graph->reduction_count; r++) {
        const cse_reduction_entry *entry = &graph->reductions[r];
        const int64_t bytes = cse_node_bytes(entry->sum), whole = bytes / LINE_BYTES * LINE_BYTES;
        fields[count++] = (placed){ .offset = entry->offset_bytes,
                                    .bytes = whole,
                                    .first = first_writer(p, entry->partial),
                                    .last = INT_MAX };
        if (whole < bytes)
            fields[count++] = (placed){ .offset = entry->offset_bytes + whole,
                                        .bytes = LINE_BYTES,
                                        .last = INT_MAX };
    }
    fields[count++] = (placed){ .offset = graph->space_bytes[CSE_SPACE_PARTIAL],
                                .bytes = LINE_BYTES,
                                .last = INT_MAX };
    return count;
}

/* In a file, places of gradients are not in memory until they are written. */
static bool lends(const plan *p, cse_part part, bool share)
{
    return share && part == CSE_PART_REPLICA && !p->graph->streams_states;
}

static void place_value(const plan *p, placed *value, cse_space space, int64_t behind)
{
    int64_t *lent = &p->graph->space_bytes[CSE_SPACE_LENT];
    const placed *owner = value;
    while (owner->reuses != NULL)
        owner = owner->reuses;
    if (owner->lies_in != NULL) {
        place_at(value->node, owner->lies_in->space, owner->lies_in->offset_bytes);
    } else if (owner->offset >= behind) {
        place_at(value->node, space, owner->offset - behind);
    } else {
        place_at(value->node, CSE_SPACE_LENT, owner->offset);
        *lent = owner->offset + owner->bytes > *lent ? owner->offset + owner->bytes : *lent;
    }
}

static void pack(plan *p, cse_part part, cse_space space, bool share)
{
    const size_t most = (size_t)p->count + 2 * (size_t)p->graph->reduction_count + 1;
    placed **order = cse_calloc((size_t)p->count + 1, sizeof *order);
    placed **sorted = cse_calloc(most, sizeof *sorted), *fields = cse_calloc(most, sizeof *fields);
    int count = 0, done = 0;
    int64_t behind = 0;
    if (lends(p, part, share)) {
        for (const int last = add_fields(p, fields); done < last; done++)
            insert_sorted(sorted, done, &fields[done]);
        behind = p->graph->space_bytes[CSE_SPACE_PARTIAL] + LINE_BYTES;
    }
    int64_t end = behind;
    for (int v = 0; v < p->count; v++)
        if (p->values[v].node->part == part && p->values[v].reuses == NULL &&
            p->values[v].lies_in == NULL)
            order[count++] = &p->values[v];
    qsort(order, (size_t)count, sizeof *order, compare_sizes);
    for (int v = 0; v < count; v++) {
        order[v]->offset = share ? best_offset(sorted, done, order[v], behind) : end;
        insert_sorted(sorted, done++, order[v]);
        if (order[v]->offset + order[v]->bytes > end)
            end = order[v]->offset + order[v]->bytes;
    }
    p->graph->space_bytes[space] = end - behind;
    for (int v = 0; v < p->count; v++)
        if (p->values[v].node->part == part)
            place_value(p, &p->values[v], space, behind);
    free(order);
    free(sorted);
    free(fields);
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
    graph->space_bytes[CSE_SPACE_LENT] = 0;
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
