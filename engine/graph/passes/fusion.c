/* Fusion: nodes are joined to groups, each of which runs as one piece of code.
 *
 * A LIBRARY group is a product with the epilogue that its kernel takes (bias, relu, store), each
 * step read only by the next; or the results that one run of a kernel computes. A BLOCK group is
 * one op with code of its own, and an optional store. All other nodes become fused loops, in three
 * sweeps. Forward: a node joins the last group that produces one of its inputs, if the group is a
 * loop and remains one with the node in it (loop.h). Backward: a loop moves into the first group
 * that consumes one of its values. Then loops that read the same values join, so that these are
 * read once. A node only reads groups before its own, so the numbers of groups are an execution
 * order.
 *
 * Every consumer of a broadcast gets a copy of it, so that broadcasts are index arithmetic and not
 * memory. So does every loop that reads a value widened from 16 bits, which is free: what is kept
 * is the narrow value.
 *
 * What decides bits and depends on the machine, the order in which LIBRARY groups sum, is chosen
 * here too, so that it stands in the graph.
 *
 * UPDATE groups follow the partition pass: nodes that are connected, or share a state, are one
 * group, whether fusion is enabled or not. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/instruction_set.h"
#include "engine/base/union_find.h"
#include "engine/code/kernels/kernel.h"
#include "engine/code/kernels/product_order.h"
#include "engine/graph/passes/loop.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/passes/value_names.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/trace.h"

typedef struct draft {
    cse_group_kind kind;
    cse_part part;
    cse_node **nodes;
    int count, capacity;
} draft;

typedef struct fusion {
    cse_graph *graph;
    draft *drafts;
    int count, capacity;
    /* By position in graph->nodes: the nodes that read the value, directly or through reshapes. */
    cse_node ***users;
    int *user_counts;
    int *positions; /* by node id */
    cse_loop loop;  /* working space of the analysis */
    cse_value_wish wish;
} fusion;

static bool has_code(const cse_node *node)
{
    return node->part != CSE_PART_NONE && node->op->kind != CSE_OP_RESHAPE;
}

/* ---- broadcasts and widening casts, one for each consumer ---- */

static bool is_widening(const cse_node *node)
{
    return node->op->role == CSE_OP_ROLE_CAST && node->dtype == CSE_FLOAT32 &&
           cse_dtype_is_float(node->inputs[0]->dtype) &&
           cse_dtype_size(node->inputs[0]->dtype) == 2;
}

/* Whether the consumer of the value computes it itself. */
static bool is_free_for(const cse_node *node, const cse_node *consumer)
{
    return node->op->kind == CSE_OP_BROADCAST || (is_widening(node) && cse_loop_takes(consumer) &&
                                                  consumer->op->role != CSE_OP_ROLE_STORE);
}

/* Consumers first, so that a broadcast of a broadcast is split as well. */
static void split_broadcasts(cse_graph *graph)
{
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = 0;
    for (int n = graph->node_count - 1; n >= 0; n--) {
        cse_node *node = graph->nodes[n];
        for (int i = 0; i < node->input_count; i++) {
            cse_node *input = node->inputs[i];
            if (!is_free_for(input, node) || input->part == CSE_PART_NONE ||
                input->part == CSE_PART_UPDATE || input->scratch++ == 0)
                continue;
            node->inputs[i] = cse_graph_clone(graph, input);
        }
    }
    cse_graph_compact(graph);
}

/* ---- operands that are numbers ---- */

/* Loops have scalars that are the same everywhere in their code; other ops read memory. */
static bool has_no_memory(const cse_node *node)
{
    return node->shape.rank == 0 &&
           (node->op == &cse_op_constant || node->op == &cse_op_step_number);
}

/* The same value as something that a loop of its own stores. */
static cse_node *stored_scalar(cse_graph *graph, cse_node *node, cse_node *scalar, cse_shape shape)
{
    cse_attributes one = { .integer_count = 0 };
    cse_attributes_add_shape(&one, cse_shape_of(1));
    cse_trace_begin_for(graph, node, node->backward, node->gradient_of);
    cse_node *stored = cse_trace_1(&cse_op_broadcast_to, &one, scalar);
    cse_node *shaped = cse_reshape(stored, shape);
    cse_trace_end();
    stored->part = shaped->part = node->part;
    return shaped;
}

static void store_scalars(cse_graph *graph)
{
    const int count = graph->node_count;
    bool found = false;
    for (int n = 0; n < count; n++) {
        cse_node *node = graph->nodes[n];
        if (!has_code(node) || node->part == CSE_PART_UPDATE || cse_loop_takes(node))
            continue;
        for (int i = 0; i < node->input_count; i++) {
            cse_node *source = cse_node_storage(node->inputs[i]);
            if (!has_no_memory(source))
                continue;
            node->inputs[i] = stored_scalar(graph, node, source, node->inputs[i]->shape);
            found = true;
        }
    }
    if (found)
        cse_graph_compact(graph);
}

/* ---- consumers ---- */

static int position_of(const fusion *f, const cse_node *node)
{
    return f->positions[node->id];
}

static void find_users(fusion *f)
{
    const cse_graph *graph = f->graph;
    f->positions = cse_calloc((size_t)graph->next_id + 1, sizeof *f->positions);
    f->users = cse_calloc((size_t)graph->node_count + 1, sizeof *f->users);
    f->user_counts = cse_calloc((size_t)graph->node_count + 1, sizeof *f->user_counts);
    for (int n = 0; n < graph->node_count; n++)
        f->positions[graph->nodes[n]->id] = n;
    for (int sweep = 0; sweep < 2; sweep++) {
        for (int n = 0; n < graph->node_count; n++) {
            if (sweep == 1)
                f->users[n] = cse_arena_alloc(graph->arena,
                                              (size_t)(f->user_counts[n] + 1) * sizeof(cse_node *));
            f->user_counts[n] = sweep == 1 ? 0 : f->user_counts[n];
        }
        for (int n = 0; n < graph->node_count; n++) {
            cse_node *node = graph->nodes[n];
            if (node->op->kind == CSE_OP_RESHAPE && node->part != CSE_PART_UPDATE)
                continue;
            for (int i = 0; i < node->input_count; i++) {
                int at = position_of(f, cse_node_storage(node->inputs[i]));
                if (sweep == 1)
                    f->users[at][f->user_counts[at]] = node;
                f->user_counts[at]++;
            }
        }
    }
}

static void drop_users(fusion *f)
{
    free(f->positions);
    free(f->users);
    free(f->user_counts);
}

static cse_node *only_user(const fusion *f, const cse_node *node)
{
    int at = position_of(f, node);
    cse_node *user = f->user_counts[at] == 1 ? f->users[at][0] : NULL;
    return user != NULL && user->part == node->part ? user : NULL;
}

/* ---- drafts ---- */

static int add_draft(fusion *f, cse_group_kind kind, cse_part part)
{
    CSE_GROW(f->drafts, f->count, f->capacity);
    f->drafts[f->count] = (draft){ .kind = kind, .part = part };
    return f->count++;
}

static void add_node(fusion *f, int number, cse_node *node)
{
    assert(number >= 0 && number < f->count && f->drafts[number].part == node->part);
    draft *d = &f->drafts[number];
    CSE_GROW(d->nodes, d->count, d->capacity);
    d->nodes[d->count++] = node;
    node->group = number;
}

/* ---- products and blocks, with their epilogues ---- */

/* The bias of an accepted step of an epilogue: the broadcast that it reads. */
static cse_node *bias_of(const cse_node *node)
{
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i]->op->kind == CSE_OP_BROADCAST)
            return node->inputs[i];
    return NULL;
}

/* A bias that this program computes must be computed before the product. */
static bool is_ready(const cse_node *bias, int number)
{
    const cse_node *source = cse_node_storage(bias->inputs[0]);
    return bias->group < 0 &&
           (source->part == CSE_PART_NONE || (source->group >= 0 && source->group < number));
}

/* Whether both are results of one run of a kernel. */
static bool share_a_run(const cse_node *a, const cse_node *b)
{
    const cse_attributes *p = &a->attributes, *q = &b->attributes;
    bool same = a->op == b->op && a->part == b->part && a->input_count == b->input_count &&
                p->integer_count == q->integer_count && p->number_count == q->number_count;
    for (int i = 0; same && i < a->input_count; i++)
        same = cse_node_storage(a->inputs[i]) == cse_node_storage(b->inputs[i]);
    return same &&
           memcmp(p->integers, q->integers, sizeof(int64_t) * (size_t)(p->integer_count - 1)) ==
               0 &&
           memcmp(p->numbers, q->numbers, sizeof(double) * (size_t)p->number_count) == 0;
}

/* The other results of the run that computes `node`: all read an input of it. */
static void add_results(fusion *f, int number, const cse_node *node)
{
    bool filled[CSE_MAX_RESULTS] = { false };
    int at = position_of(f, cse_node_storage(node->inputs[0]));
    filled[cse_node_result(node)] = true;
    for (int u = 0; u < f->user_counts[at]; u++) {
        cse_node *other = f->users[at][u];
        if (other->group >= 0 || !share_a_run(node, other) || filled[cse_node_result(other)])
            continue;
        filled[cse_node_result(other)] = true;
        add_node(f, number, other);
    }
}

/* Whether the value before this step of an epilogue is needed: statistics are taken of it rounded,
 * or the value itself is asked for. */
static bool hides_needed(const fusion *f, const draft *d, const cse_node *next)
{
    if (f->graph->numerics == NULL)
        return false;
    const bool rounds = next->op->role == CSE_OP_ROLE_ADD && next->dtype != CSE_FLOAT32;
    const cse_node *before = d->nodes[d->count - 1];
    return rounds || (f->wish.by_name && before->recomputed == 0 &&
                      cse_value_wish_has(&f->wish, cse_value_name(f->graph, before)));
}

static void draft_product(fusion *f, cse_node *node, bool enabled)
{
    bool library = node->op->kind == CSE_OP_LIBRARY;
    int number = add_draft(f, library ? CSE_GROUP_LIBRARY : CSE_GROUP_BLOCK, node->part);
    add_node(f, number, node);
    if (enabled && node->op->kernel.results > 1)
        add_results(f, number, node);
    cse_node *next = enabled ? only_user(f, node) : NULL;
    while (library && next != NULL && !hides_needed(f, &f->drafts[number], next) &&
           cse_kernel_accepts(f->drafts[number].nodes, f->drafts[number].count, next)) {
        cse_node *bias = bias_of(next);
        if (bias != NULL && !is_ready(bias, number))
            return;
        if (bias != NULL)
            add_node(f, number, bias);
        add_node(f, number, next);
        next = only_user(f, next);
    }
    if (!library && next != NULL && next->op->role == CSE_OP_ROLE_STORE)
        add_node(f, number, next);
}

/* ---- loops ---- */

/* Sorts by position in the graph, by insertion: the sets are short and nearly sorted. */
static void sort_nodes(const fusion *f, cse_node **nodes, int count)
{
    for (int n = 1; n < count; n++) {
        cse_node *node = nodes[n];
        int at = n;
        for (; at > 0 && position_of(f, nodes[at - 1]) > position_of(f, node); at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = node;
    }
}

/* Whether the union of two sorted sets fits one loop. */
static bool fits_together(fusion *f, const draft *a, cse_node *const more[], int count)
{
    cse_node *nodes[CSE_LOOP_MOST_NODES];
    if (a->kind != CSE_GROUP_LOOP || a->count + count > CSE_LOOP_MOST_NODES)
        return false;
    memcpy(nodes, a->nodes, (size_t)a->count * sizeof *nodes);
    memcpy(nodes + a->count, more, (size_t)count * sizeof *nodes);
    sort_nodes(f, nodes, a->count + count);
    return cse_loop_find(nodes, a->count + count, &f->loop);
}

/* Collects broadcasts that have no group yet: each is put in front of its only consumer. */
static int gather_broadcasts(cse_node *node, cse_node *set[], int count)
{
    for (int i = 0; i < node->input_count; i++) {
        cse_node *input = cse_node_storage(node->inputs[i]);
        if (is_free_for(input, node) && input->group < 0 && input->part == node->part) {
            count = gather_broadcasts(input, set, count);
            if (count < CSE_LOOP_MOST_NODES / 2) {
                set[count++] = input;
                input->group = INT32_MAX; /* collected: two inputs may be the same */
            }
        }
    }
    return count;
}

static int last_group_read(cse_node *const set[], int count)
{
    int last = -1;
    for (int n = 0; n < count; n++)
        for (int i = 0; i < set[n]->input_count; i++) {
            int group = cse_node_storage(set[n]->inputs[i])->group;
            if (group != INT32_MAX && group > last)
                last = group;
        }
    return last;
}

static void place_set(fusion *f, cse_node *set[], int count, int target)
{
    if (target < 0 || !fits_together(f, &f->drafts[target], set, count))
        target = add_draft(f, CSE_GROUP_LOOP, set[0]->part);
    for (int n = 0; n < count; n++)
        add_node(f, target, set[n]);
    sort_nodes(f, f->drafts[target].nodes, f->drafts[target].count);
}

/* Gives a node's broadcasts loops of their own: it is no loop, or does not fit with them. */
static void place_broadcasts(fusion *f, cse_node *node)
{
    cse_node *set[CSE_LOOP_MOST_NODES];
    int count = gather_broadcasts(node, set, 0);
    for (int n = 0; n < count; n++)
        set[n]->group = -1;
    for (int n = 0; n < count; n++)
        place_set(f, &set[n], 1, last_group_read(&set[n], 1));
}

static bool draft_loop_node(fusion *f, cse_node *node, bool enabled)
{
    cse_node *set[CSE_LOOP_MOST_NODES];
    int count = enabled ? gather_broadcasts(node, set, 0) : 0;
    set[count++] = node;
    if (count > 1 && !cse_loop_find(set, count, &f->loop)) {
        for (int n = 0; n < count - 1; n++)
            set[n]->group = -1;
        place_broadcasts(f, node);
        set[0] = node;
        count = 1;
    }
    int target = enabled ? last_group_read(set, count) : -1;
    if (target >= 0 && f->drafts[target].part != node->part)
        target = -1;
    place_set(f, set, count, target);
    return true;
}

/* A bias that is only a state's value in another format is computed before the product that may
 * take it. */
static void draft_bias(fusion *f, cse_node *product)
{
    const cse_node *next = only_user(f, product);
    if (product->op->kind != CSE_OP_LIBRARY || next == NULL ||
        !cse_kernel_accepts(&product, 1, next) || bias_of(next) == NULL)
        return;
    cse_node *source = cse_node_storage(bias_of(next)->inputs[0]);
    if (source->part == product->part && source->group < 0 &&
        source->op->role == CSE_OP_ROLE_CAST && cse_loop_takes(source) &&
        cse_node_storage(source->inputs[0])->part == CSE_PART_NONE)
        draft_loop_node(f, source, true);
}

static void draft_part(fusion *f, cse_part part, bool enabled)
{
    const cse_graph *graph = f->graph;
    for (int n = 0; n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        if (node->part != part || !has_code(node) || node->group >= 0)
            continue;
        if (enabled && only_user(f, node) != NULL && is_free_for(node, only_user(f, node)))
            continue;
        if (cse_loop_takes(node)) {
            draft_loop_node(f, node, enabled);
        } else {
            place_broadcasts(f, node);
            if (enabled)
                draft_bias(f, node);
            draft_product(f, node, enabled);
        }
    }
}

/* ---- groups move to their consumers ---- */

static int first_consumer(const fusion *f, int number)
{
    const draft *d = &f->drafts[number];
    int first = -1;
    for (int n = 0; n < d->count; n++) {
        int at = position_of(f, d->nodes[n]);
        for (int u = 0; u < f->user_counts[at]; u++) {
            const cse_node *user = f->users[at][u];
            if (user->group == number || user->part != d->part)
                continue;
            if (first < 0 || user->group < first)
                first = user->group;
        }
    }
    return first;
}

static void move_group(fusion *f, int from, int to)
{
    draft *d = &f->drafts[from];
    for (int n = 0; n < d->count; n++)
        add_node(f, to, d->nodes[n]);
    sort_nodes(f, f->drafts[to].nodes, f->drafts[to].count);
    d->count = 0;
}

static void sink_loops(fusion *f)
{
    for (int g = f->count - 1; g >= 0; g--) {
        draft *d = &f->drafts[g];
        int reader = d->kind == CSE_GROUP_LOOP ? first_consumer(f, g) : -1;
        if (reader < 0 || !fits_together(f, &f->drafts[reader], d->nodes, d->count))
            continue;
        move_group(f, g, reader);
    }
}

/* ---- groups that read the same values ---- */

enum { FEWEST_SHARED_ELEMENTS = 1024 };

static bool is_backward(const draft *d)
{
    bool backward = false;
    for (int n = 0; n < d->count; n++)
        backward = backward || d->nodes[n]->backward;
    return backward;
}

/* The last group that `number` reads. */
static int last_producer(const fusion *f, int number)
{
    const draft *d = &f->drafts[number];
    int last = -1;
    for (int n = 0; n < d->count; n++)
        for (int i = 0; i < d->nodes[n]->input_count; i++) {
            int group = cse_node_storage(d->nodes[n]->inputs[i])->group;
            if (group != number && group > last)
                last = group;
        }
    return last;
}

/* Joins two loops, first < second, in the place of either in which what they read is computed and
 * what they compute is not yet read. One of the forward pass stays apart from one of the backward
 * pass, whose values would have to be kept in between. */
static bool join_two(fusion *f, int first, int second)
{
    draft *a = &f->drafts[first], *b = &f->drafts[second];
    if (a->kind != CSE_GROUP_LOOP || b->kind != CSE_GROUP_LOOP || a->part != b->part ||
        a->count == 0 || b->count == 0 || is_backward(a) != is_backward(b))
        return false;
    bool early = last_producer(f, second) <= first;
    int reader = early ? -1 : first_consumer(f, first);
    if ((!early && reader >= 0 && reader < second) || !fits_together(f, a, b->nodes, b->count))
        return false;
    move_group(f, early ? second : first, early ? first : second);
    return true;
}

/* Joins the group with an earlier one that reads one of the large values it reads. */
static bool join_sibling(fusion *f, int number)
{
    const draft *d = &f->drafts[number];
    for (int n = 0; n < d->count; n++)
        for (int i = 0; i < d->nodes[n]->input_count; i++) {
            const cse_node *input = cse_node_storage(d->nodes[n]->inputs[i]);
            int at = position_of(f, input);
            if (input->group == number || cse_shape_elements(input->shape) < FEWEST_SHARED_ELEMENTS)
                continue;
            for (int u = 0; u < f->user_counts[at]; u++) {
                int other = f->users[at][u]->group;
                if (other >= 0 && other < number && join_two(f, other, number))
                    return true;
            }
        }
    return false;
}

static void join_siblings(fusion *f)
{
    for (int g = 0; g < f->count; g++)
        if (f->drafts[g].kind == CSE_GROUP_LOOP)
            while (f->drafts[g].count > 0 && join_sibling(f, g))
                ;
}

/* ---- UPDATE ---- */

/* An input that must be in the same group: another update node, or the assign of a state that is
 * read. */
static const cse_node *tied_to(const cse_graph *graph, const cse_node *input)
{
    if (input->op == &cse_op_state) {
        const cse_node *next = graph->states[input->attributes.integers[0]].next;
        return next != NULL && cse_shape_elements(input->shape) > 1 ? next : NULL;
    }
    return input->part == CSE_PART_UPDATE ? input : NULL;
}

static void draft_updates(fusion *f)
{
    const cse_graph *graph = f->graph;
    int *sets = cse_union_find_new(graph->node_count);
    int *numbers = cse_calloc((size_t)graph->node_count + 1, sizeof *numbers);
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        for (int i = 0; node->part == CSE_PART_UPDATE && i < node->input_count; i++) {
            const cse_node *tie = tied_to(graph, node->inputs[i]);
            if (tie != NULL)
                cse_union_find_join(sets, n, position_of(f, tie));
        }
    }
    for (int n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n]->part != CSE_PART_UPDATE)
            continue;
        int root = cse_union_find_root(sets, n);
        if (numbers[root] == 0)
            numbers[root] = 1 + add_draft(f, CSE_GROUP_LOOP, CSE_PART_UPDATE);
        add_node(f, numbers[root] - 1, graph->nodes[n]);
    }
    free(sets);
    free(numbers);
}

/* ---- the pass ---- */

/* Blocks of a moment have those of the group that makes them. */
static int64_t elements_of_assign(const cse_node *assign)
{
    const cse_node *value = assign->inputs[0];
    const bool of_blocks =
        value->op == &cse_op_quantize_blockwise && value->part == CSE_PART_UPDATE;
    return cse_shape_elements(of_blocks ? value->inputs[0]->shape : assign->shape);
}

static void finish_groups(fusion *f)
{
    cse_graph *graph = f->graph;
    graph->group_count = 0;
    for (int g = 0; g < f->count; g++) {
        draft *d = &f->drafts[g];
        if (d->count > 0) {
            cse_group group = { .kind = d->kind, .part = d->part, .node_count = d->count };
            group.nodes = cse_arena_alloc(graph->arena, (size_t)d->count * sizeof *group.nodes);
            memcpy(group.nodes, d->nodes, (size_t)d->count * sizeof *group.nodes);
            for (int n = 0; n < d->count; n++) {
                d->nodes[n]->group = graph->group_count;
                if (d->part == CSE_PART_UPDATE && d->nodes[n]->op == &cse_op_assign)
                    group.elements = elements_of_assign(d->nodes[n]);
            }
            CSE_GROW(graph->groups, graph->group_count, graph->group_capacity);
            graph->groups[graph->group_count++] = group;
        }
        free(d->nodes);
    }
    free(f->drafts);
}

cse_status cse_pass_fusion(cse_graph *graph, bool enabled)
{
    fusion f = { .graph = graph };
    CSE_TRY(cse_value_wish_open(graph->numerics, &f.wish));
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->group = -1;
    store_scalars(graph);
    if (enabled)
        split_broadcasts(graph);
    find_users(&f);
    draft_part(&f, CSE_PART_REPLICA, enabled);
    draft_part(&f, CSE_PART_WEIGHTS, enabled);
    if (enabled) {
        sink_loops(&f);
        join_siblings(&f);
    }
    draft_updates(&f);
    finish_groups(&f);
    drop_users(&f);
    cse_value_wish_close(&f.wish);
    graph->product_order = cse_product_order_choose(graph->portable);
    graph->isa = cse_isa_name(cse_isa_of_host());
    return CSE_OK;
}
