/* Cuts the one step graph into three programs and the reduction between them.
 *
 *   REPLICA  all that a microbatch contributes: every batch_sum's term is stored by a `partial`;
 *   (the reduction tree sums the partials: batch_sum nodes become leaves, stored in REDUCED)
 *   WEIGHTS  serial, once a step: fetched values and what updates need whole, ended by `fetch` and
 *            `materialize`; it changes no state, so it may be repeated;
 *   UPDATE   elementwise and in place: each `assign` with the elementwise nodes before it. Assigns
 *            whose nodes are shared, or that read one another's old values, become one group, so
 *            that a range of lines can be updated by itself.
 *
 * A group of UPDATE reads, at each element, only its own states, sums over the batch and states
 * that never change; everything else comes from WEIGHTS through a `materialize`. Scalars always do:
 * another process may already have changed them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/union_find.h"
#include "engine/graph/passes/pass.h"

typedef struct cut {
    cse_graph *graph;
    uint32_t ids;            /* ids below are of nodes from before the pass */
    cse_node **replica;      /* by id: the copy for REPLICA */
    cse_node **materialized; /* by id */
    int *owner;              /* by state: representative state of its update group (union_find.h) */
    /* The states of each group that are assigned, in order: by representative 1 + the first, by
     * state 1 + the next; 0: none. */
    int *first_member, *next_member;
    cse_node **copies; /* by id: of the update group that `copied_for` says, 1 + representative */
    int *copied_for;
} cut;

static cse_node *add_identity(cse_graph *graph, const cse_op *op, int64_t number, cse_node *input)
{
    cse_attributes attributes = { .integer_count = 1, .integers = { number } };
    cse_node *node = NULL;
    /* An identity takes any shape, so that adding it cannot fail. */
    if (cse_graph_add(graph, op, &attributes, (cse_operands){ 1, &input }, &node) != CSE_OK)
        abort();
    node->scope = input->scope;
    node->file = input->file;
    node->line = input->line;
    node->backward = input->backward;
    return node;
}

/* ---- REPLICA ---- */

/* Copies every node that a partial needs to REPLICA; in graph order, so inputs come first. */
static void copy_replica_program(cut *c, int count, const bool *needed)
{
    for (int n = 0; n < count; n++) {
        cse_node *node = c->graph->nodes[n];
        if (!needed[node->id])
            continue;
        if (cse_node_is_leaf(node)) {
            c->replica[node->id] = node;
            continue;
        }
        cse_node *copy = cse_graph_clone(c->graph, node);
        copy->part = CSE_PART_REPLICA;
        for (int i = 0; i < copy->input_count; i++)
            copy->inputs[i] = c->replica[copy->inputs[i]->id];
        c->replica[node->id] = copy;
    }
}

static cse_status check_sum(const cse_node *node)
{
    if (node->dtype != CSE_FLOAT32)
        return cse_fail(CSE_SHAPE,
                        "a sum over the batch is float32, not %s (scope '%s'): cast first",
                        cse_dtype_name(node->dtype), node->scope);
    return CSE_OK;
}

/* Removes the input of every batch_sum: a partial of the replica program stores it. */
static cse_status cut_reductions(cut *c)
{
    cse_graph *graph = c->graph;
    int count = graph->node_count;
    bool *needed = cse_calloc(c->ids + 1, sizeof *needed);
    cse_status status = CSE_OK;
    for (int i = 0; i < graph->beside_count; i++)
        needed[graph->beside[i]->id] = true;
    for (int n = count - 1; n >= 0; n--) {
        cse_node *node = graph->nodes[n];
        if (node->op == &cse_op_batch_sum) {
            needed[node->inputs[0]->id] = true;
            if (needed[node->id])
                status =
                    cse_fail(CSE_SHAPE, "a sum over the batch cannot feed another (scope '%s')",
                             node->scope);
            else if (status == CSE_OK)
                status = check_sum(node);
        } else if (needed[node->id]) {
            for (int i = 0; i < node->input_count; i++)
                needed[node->inputs[i]->id] = true;
        }
    }
    if (status == CSE_OK)
        copy_replica_program(c, count, needed);
    for (int i = 0; status == CSE_OK && i < graph->beside_count; i++)
        graph->beside[i] = c->replica[graph->beside[i]->id];
    free(needed);
    for (int n = 0; status == CSE_OK && n < count; n++) {
        cse_node *sum = graph->nodes[n];
        if (sum->op != &cse_op_batch_sum)
            continue;
        int number = graph->reduction_count;
        cse_node *term = c->replica[sum->inputs[0]->id];
        cse_node *partial = add_identity(graph, &cse_op_partial, number, term);
        partial->part = CSE_PART_REPLICA;
        CSE_GROW(graph->reductions, graph->reduction_count, graph->reduction_capacity);
        graph->reductions[graph->reduction_count++] =
            (cse_reduction_entry){ .partial = partial, .sum = sum };
        sum->input_count = 0;
        sum->attributes.integer_count = 1;
        sum->attributes.integers[0] = number;
    }
    return status;
}

/* ---- UPDATE ---- */

static int owner_of(const cut *c, int state)
{
    assert(state >= 0 && state < c->graph->state_count);
    return cse_union_find_root(c->owner, state);
}

static bool is_assigned_state(const cut *c, const cse_node *node)
{
    return node->op == &cse_op_state && c->graph->states[node->attributes.integers[0]].next != NULL;
}

/* Whether a node can be computed element by element in a group of `elements` elements. */
static bool is_flat(const cse_node *node, int64_t elements)
{
    if (cse_shape_elements(node->shape) != elements || elements == 1)
        return false;
    if (node->op->kind == CSE_OP_BROADCAST)
        return cse_shape_elements(node->inputs[0]->shape) == 1;
    if (node->op->kind == CSE_OP_RESHAPE)
        return true;
    return (node->op == &cse_op_dequantize_blockwise && node->inputs[0]->op == &cse_op_state) ||
           (node->op->kind == CSE_OP_ELEMENTWISE && node->dtype != CSE_BOOL &&
            strstr(node->op->expression, "$i") == NULL);
}

/* Whether the node's input `input` is a state's blocks, which the node takes a block a line. */
static bool is_blocks(const cse_node *node, int input)
{
    const cse_node *from = node->inputs[input];
    return from->op == &cse_op_state && from->dtype == CSE_INT32 &&
           (node->op == &cse_op_dequantize_blockwise ||
            (node->op == &cse_op_quantize_blockwise && input == 2));
}

/* The elements of the group that assigns the value: of what is quantized, where it is blocks. */
static int64_t assigned_elements(const cse_node *value)
{
    return cse_shape_elements(value->op == &cse_op_quantize_blockwise ? value->inputs[0]->shape
                                                                      : value->shape);
}

/* A bool result is flat too where a flat node consumes it; only stored bools are excluded. Blocks
 * are so as what is assigned, whose first input is as long as the group. */
static bool is_flat_inside(const cse_node *node, int64_t elements)
{
    cse_node as_float = *node;
    as_float.dtype = CSE_FLOAT32;
    if (node->op == &cse_op_quantize_blockwise)
        return elements > 1 && cse_shape_elements(node->inputs[0]->shape) == elements;
    return is_flat(&as_float, elements);
}

/* Unites the groups of assigns that share a flat node or read each other's old value. `claim`
 * holds, by node id, 1 + the state whose assign met the node first. A broadcast scalar (a learning
 * rate, a decay) unites nobody: each group has a copy of its own, which costs nothing. */
static void unite(cut *c, int *claim, cse_node *node, int state, int64_t elements)
{
    bool flat = is_flat_inside(node, elements);
    if (is_assigned_state(c, node) && cse_shape_elements(node->shape) == elements && elements > 1)
        cse_union_find_join(c->owner, (int)node->attributes.integers[0], state);
    if (!flat || node->op->kind == CSE_OP_BROADCAST)
        return;
    if (claim[node->id] != 0) {
        cse_union_find_join(c->owner, claim[node->id] - 1, state);
        return;
    }
    claim[node->id] = state + 1;
    for (int i = 0; i < node->input_count; i++)
        if (!is_blocks(node, i))
            unite(c, claim, node->inputs[i], state, elements);
        else if (is_assigned_state(c, node->inputs[i]))
            cse_union_find_join(c->owner, (int)node->inputs[i]->attributes.integers[0], state);
}

static cse_node *materialize(cut *c, cse_node *node)
{
    if (c->materialized[node->id] == NULL) {
        c->materialized[node->id] = add_identity(c->graph, &cse_op_materialize, 0, node);
        c->materialized[node->id]->part = CSE_PART_WEIGHTS;
    }
    return c->materialized[node->id];
}

typedef struct update_copy {
    cut *c;
    int state; /* representative of the group */
    int64_t elements;
} update_copy;

static bool is_readable_leaf(const update_copy *u, const cse_node *node)
{
    if (node->op == &cse_op_constant || node->op == &cse_op_step_number ||
        node->op == &cse_op_batch_sum)
        return true;
    if (node->op != &cse_op_state)
        return false;
    bool own = cse_shape_elements(node->shape) == u->elements && u->elements > 1 &&
               owner_of(u->c, (int)node->attributes.integers[0]) == u->state;
    return own || !is_assigned_state(u->c, node);
}

static cse_node *copy_update_node(update_copy *u, cse_node *node)
{
    if (cse_node_is_leaf(node))
        return is_readable_leaf(u, node) ? node : materialize(u->c, node);
    if (!is_flat_inside(node, u->elements))
        return materialize(u->c, node);
    if (u->c->copied_for[node->id] == u->state + 1)
        return u->c->copies[node->id];
    cse_node *copy = cse_graph_clone(u->c->graph, node);
    copy->part = CSE_PART_UPDATE;
    for (int i = 0; i < copy->input_count; i++)
        copy->inputs[i] =
            is_blocks(node, i) ? node->inputs[i] : copy_update_node(u, node->inputs[i]);
    u->c->copied_for[node->id] = u->state + 1;
    return u->c->copies[node->id] = copy;
}

/* Backwards, so that each list is in the order of the states. */
static void collect_members(cut *c, cse_node *const values[])
{
    for (int state = c->graph->state_count - 1; state >= 0; state--) {
        if (values[state] == NULL)
            continue;
        int *first = &c->first_member[owner_of(c, state)];
        c->next_member[state] = *first;
        *first = state + 1;
    }
}

static int group_size(const cut *c, int representative)
{
    int size = 0;
    for (int s = c->first_member[representative]; s > 0; s = c->next_member[s - 1])
        size++;
    return size;
}

/* Copies the update program of one group and ends it with its assigns. */
static void cut_update_group(cut *c, int representative, cse_node **values)
{
    cse_graph *graph = c->graph;
    int64_t elements = assigned_elements(values[representative]);
    update_copy u = { .c = c, .state = representative, .elements = elements };
    /* The undo log holds a bounded number of arrays: larger groups are computed by WEIGHTS, and
     * UPDATE only stores the results. */
    bool whole = elements > 1 && group_size(c, representative) <= CSE_MAX_ASSIGNS;
    for (int at = c->first_member[representative]; at > 0; at = c->next_member[at - 1]) {
        const int s = at - 1;
        cse_node *value = values[s];
        bool constant = value->op == &cse_op_constant;
        cse_node *input = whole && !constant ? copy_update_node(&u, value) : materialize(c, value);
        cse_node *assign = add_identity(graph, &cse_op_assign, s, input);
        assign->part = CSE_PART_UPDATE;
        assign->scope = graph->states[s].name;
        graph->states[s].next = assign;
    }
}

static void cut_updates(cut *c)
{
    cse_graph *graph = c->graph;
    int *claim = cse_calloc(c->ids + 1, sizeof *claim);
    cse_node **values = cse_calloc((size_t)graph->state_count + 1, sizeof *values);
    for (int s = 0; s < graph->state_count; s++)
        if ((values[s] = graph->states[s].next) != NULL)
            unite(c, claim, values[s], s, assigned_elements(values[s]));
    collect_members(c, values);
    for (int s = 0; s < graph->state_count; s++)
        if (values[s] != NULL && owner_of(c, s) == s)
            cut_update_group(c, s, values);
    free(values);
    free(claim);
}

/* ---- the pass ---- */

/* A state that is assigned its own old value does not change. */
static void drop_unchanged_states(cse_graph *graph)
{
    for (int s = 0; s < graph->state_count; s++)
        if (graph->states[s].next != NULL && graph->states[s].next == graph->states[s].read)
            graph->states[s].next = NULL;
}

static cse_status check_levels(const cse_graph *graph)
{
    for (int s = 0; s < graph->state_count; s++)
        if (graph->states[s].next != NULL && graph->states[s].next->batch)
            return cse_fail(CSE_SHAPE,
                            "state '%s' is assigned a value of one microbatch: sum or average it "
                            "over the batch first (cse_batch_sum, cse_batch_mean)",
                            graph->states[s].name);
    for (int f = 0; f < graph->fetch_count; f++)
        if (graph->fetches[f].value->batch)
            return cse_fail(CSE_SHAPE,
                            "'%s' is fetched as a value of one microbatch: sum or average it over "
                            "the batch first (cse_batch_sum, cse_batch_mean)",
                            graph->fetches[f].name);
    return CSE_OK;
}

cse_status cse_pass_partition(cse_graph *graph, bool enabled)
{
    (void)enabled;
    assert(graph->reduction_count == 0); /* a graph is cut once */
    CSE_TRY(check_levels(graph));
    drop_unchanged_states(graph);
    cse_graph_compact(graph);
    cut c = { .graph = graph, .ids = graph->next_id };
    c.replica = cse_calloc(c.ids + 1, sizeof *c.replica);
    c.materialized = cse_calloc(c.ids + 1, sizeof *c.materialized);
    c.owner = cse_union_find_new(graph->state_count);
    c.first_member = cse_calloc((size_t)graph->state_count + 1, sizeof *c.first_member);
    c.next_member = cse_calloc((size_t)graph->state_count + 1, sizeof *c.next_member);
    c.copies = cse_calloc(c.ids + 1, sizeof *c.copies);
    c.copied_for = cse_calloc(c.ids + 1, sizeof *c.copied_for);
    cse_status status = cut_reductions(&c);
    if (status == CSE_OK) {
        cut_updates(&c);
        for (int f = 0; f < graph->fetch_count; f++)
            graph->fetches[f].value =
                add_identity(graph, &cse_op_fetch, f, graph->fetches[f].value);
        cse_graph_compact(graph);
        for (int n = 0; n < graph->node_count; n++) {
            cse_node *node = graph->nodes[n];
            if (node->part == CSE_PART_NONE && !cse_node_is_leaf(node))
                node->part = CSE_PART_WEIGHTS;
        }
    }
    free(c.replica);
    free(c.materialized);
    free(c.owner);
    free(c.first_member);
    free(c.next_member);
    free(c.copies);
    free(c.copied_for);
    return status;
}
