/* A loss that is a quotient of sums over the global batch: the divisor is known when all
 * microbatches are computed, so that it divides what they made, the mean of the numerator and of
 * its gradients, and not the loss of a microbatch. The handle of such a loss is its numerator; who
 * brings a loss or its gradients to the step's level asks for its parts, and divides each.
 *
 * What is computed of such losses by sums, multiples and reshapes is a sum of parts: those of one
 * divisor are one part, so that a loss times a number, or plus a penalty of the weights, needs no
 * second backward pass through the network. Any other op sees the quotient of its microbatch. Both
 * are traced when the loss is taken, and kept, so that every gradient is one of the same nodes. */
#include "engine/graph/ops/loss_quotient.h"

#include <stdlib.h>
#include <string.h>

#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"

/* ---- quotients ---- */

static cse_tensor *keep(cse_tensor *loss, cse_tensor *count, cse_tensor *divisor)
{
    cse_graph *graph = cse_trace_graph();
    cse_quotient *entry = cse_arena_alloc(graph->arena, sizeof *entry);
    *entry = (cse_quotient){
        .loss = loss, .count = count, .divisor = divisor, .next = graph->quotients
    };
    graph->quotients = entry;
    return loss;
}

/* 1 where nothing counts, so that the sum of losses, 0, is the loss. */
static cse_tensor *not_zero(cse_tensor *count)
{
    return cse_where(cse_equal(count, cse_constant(0)), cse_constant(1), count);
}

cse_tensor *cse_loss_quotient(cse_step *step, cse_tensor *sum, cse_tensor *count)
{
    (void)step; /* as in other calls, it is the step that is traced */
    if (cse_trace_is_poison(sum) || cse_trace_is_poison(count))
        return cse_trace_is_poison(sum) ? sum : count;
    if (sum->shape.rank != 0 || count->shape.rank != 0 || sum->dtype != CSE_FLOAT32 ||
        count->dtype != CSE_FLOAT32)
        return cse_trace_fail(CSE_SHAPE, "cse_loss_quotient: takes two float32 scalars, a sum of "
                                         "losses and how many count");
    if (!sum->batch)
        return count->batch ? cse_trace_fail(CSE_SHAPE, "cse_loss_quotient: a sum of the step over "
                                                        "a count of the microbatch")
                            : cse_div(sum, not_zero(count));
    cse_tensor *mean = count;
    if (count->batch)
        mean = cse_trace_1(&cse_op_batch_sum, NULL, count);
    /* Divided, so that a count of 1 in each microbatch is 1, whatever their number is. */
    if (count->batch && cse_trace_graph()->microbatch_count > 1)
        mean = cse_div(mean, cse_constant(cse_trace_graph()->microbatch_count));
    return keep(sum, count, not_zero(mean));
}

cse_tensor *cse_loss_quotient_of_means(cse_tensor *mean, cse_tensor *fraction)
{
    cse_tensor *loss = cse_loss_quotient(NULL, mean, fraction);
    cse_graph *graph = cse_trace_graph();
    if (cse_quotient_of(loss) != NULL)
        graph->quotients->of_means = true;
    return loss;
}

const cse_quotient *cse_quotient_of(const cse_tensor *loss)
{
    const cse_graph *graph = cse_trace_graph();
    const cse_quotient *entry = graph != NULL ? graph->quotients : NULL;
    while (entry != NULL && entry->loss != loss)
        entry = entry->next;
    return entry;
}

cse_tensor *cse_quotient_keep(const cse_tensor *loss, cse_tensor *scaled)
{
    const cse_quotient *entry = cse_quotient_of(loss);
    if (entry == NULL || scaled == loss)
        return scaled;
    keep(scaled, entry->count, entry->divisor);
    cse_trace_graph()->quotients->of_means = entry->of_means;
    return scaled;
}

/* ---- the parts of a loss ---- */

typedef struct split {
    bool *depends;     /* by node: whether a quotient leads to it, within the microbatch */
    cse_tensor **seen; /* by node: what other ops see in its place; NULL: not traced yet */
} split;

static bool *nodes_after_quotients(const cse_graph *graph)
{
    bool *after = cse_calloc(graph->next_id + 1, sizeof *after);
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        after[node->id] = cse_quotient_of(node) != NULL;
        for (int i = 0; i < node->input_count && node->batch && node->op != &cse_op_gradient; i++)
            after[node->id] = after[node->id] || after[node->inputs[i]->id];
    }
    return after;
}

static cse_tensor *traced_again(const cse_tensor *node, cse_tensor *const inputs[])
{
    cse_trace_begin_for(cse_trace_graph(), node, node->backward, node->gradient_of);
    cse_tensor *again = cse_trace(node->op, &node->attributes, node->input_count, inputs);
    cse_trace_end();
    return again;
}

/* The value with the quotients of the microbatch in place of numerators. */
static cse_tensor *seen_by_others(const split *s, cse_tensor *node)
{
    cse_tensor *inputs[CSE_MAX_INPUTS];
    const cse_quotient *quotient = cse_quotient_of(node);
    if (!s->depends[node->id])
        return node;
    if (s->seen[node->id] != NULL)
        return s->seen[node->id];
    if (quotient != NULL)
        return s->seen[node->id] = cse_div(node, not_zero(quotient->count));
    if (node->op == &cse_op_custom)
        return cse_trace_fail(CSE_SHAPE, "cse_custom_gradient: a mean over what counts in the "
                                         "global batch cannot be an input; give it the losses of "
                                         "the rows, and take the mean of its outputs");
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = seen_by_others(s, node->inputs[i]);
    return s->seen[node->id] = traced_again(node, inputs);
}

static void add_term(cse_loss_parts *parts, cse_tensor *value, cse_tensor *divisor)
{
    for (int i = 0; i < parts->count; i++)
        if (parts->terms[i].divisor == divisor) {
            parts->terms[i].value = cse_add(parts->terms[i].value, value);
            return;
        }
    if (parts->count == CSE_MOST_LOSS_TERMS) {
        cse_trace_fail(CSE_SHAPE,
                       "the loss is made of more than %d means over different counts: take sums "
                       "(reduction \"sum\") and divide them by numbers",
                       CSE_MOST_LOSS_TERMS);
        return;
    }
    parts->terms[parts->count++] = (cse_loss_term){ value, divisor };
}

/* The input that a quotient leads to, where the op is linear in it and the other one is the same in
 * all microbatches; -1: another op. */
static int linear_input(const split *s, const cse_tensor *node)
{
    const cse_op *op = node->op;
    if (op == &cse_op_neg || op == &cse_op_reshape || op == &cse_op_sum ||
        op == &cse_op_broadcast_to || (op == &cse_op_cast && node->dtype == CSE_FLOAT32))
        return 0;
    if (op == &cse_op_div && !node->inputs[1]->batch)
        return 0;
    if (op != &cse_op_mul)
        return -1;
    const int at = s->depends[node->inputs[0]->id] ? 0 : 1;
    return node->inputs[1 - at]->batch ? -1 : at;
}

static void collect(const split *s, cse_tensor *node, cse_loss_parts *parts)
{
    const cse_quotient *quotient = cse_quotient_of(node);
    if (quotient != NULL || !s->depends[node->id]) {
        add_term(parts, node, quotient != NULL ? quotient->divisor : NULL);
        return;
    }
    cse_loss_parts inner = { .count = 0 };
    const int at = linear_input(s, node);
    if (node->op == &cse_op_add || node->op == &cse_op_sub) {
        collect(s, node->inputs[0], parts);
        collect(s, node->inputs[1], &inner);
        for (int i = 0; i < inner.count; i++)
            add_term(parts,
                     node->op == &cse_op_sub ? cse_neg(inner.terms[i].value) : inner.terms[i].value,
                     inner.terms[i].divisor);
        return;
    }
    if (at < 0) {
        add_term(parts, seen_by_others(s, node), NULL);
        return;
    }
    collect(s, node->inputs[at], &inner);
    for (int i = 0; i < inner.count; i++) {
        cse_tensor *inputs[2] = { node->inputs[0], node->input_count > 1 ? node->inputs[1] : NULL };
        inputs[at] = inner.terms[i].value;
        add_term(parts, traced_again(node, inputs), inner.terms[i].divisor);
    }
}

static void find_parts(cse_tensor *loss, cse_loss_parts *parts)
{
    const cse_graph *graph = cse_trace_graph();
    split s = { nodes_after_quotients(graph), NULL };
    if (s.depends[loss->id]) {
        /* Of the nodes that there are now: what is traced below is not asked for again. */
        s.seen = cse_calloc(graph->next_id + 1, sizeof(cse_tensor *));
        collect(&s, loss, parts);
    }
    free(s.seen);
    free(s.depends);
}

const cse_loss_parts *cse_loss_parts_of(cse_tensor *loss)
{
    cse_graph *graph = cse_trace_graph();
    if (cse_trace_is_poison(loss) || graph->quotients == NULL || !loss->batch)
        return NULL;
    cse_loss_parts *parts = graph->loss_parts;
    while (parts != NULL && parts->loss != loss)
        parts = parts->next;
    if (parts == NULL) {
        parts = cse_arena_alloc(graph->arena, sizeof *parts);
        *parts = (cse_loss_parts){ .loss = loss, .next = graph->loss_parts };
        graph->loss_parts = parts;
        find_parts(loss, parts);
    }
    return parts->count > 0 ? parts : NULL;
}
