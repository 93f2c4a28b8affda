/* Gradients as sums over samples (precision.gradient_sums: sample), so that they do not depend on
 * how many samples a microbatch has.
 *
 * A microbatch's gradient of a weight is one product over the rows of all its samples. Here it
 * becomes a product for each sample, stacked along a leading axis, and a sum of these by the tree
 * that a larger number of microbatches would be added by (workers/hosts/reduction_tree.h): of a
 * power of two of samples the two trees are the same one. What lies between the products and the
 * sum is computed for each sample as well. All else in a step belongs to one row: a kernel's result
 * for a row does not depend on the other rows. */
#include <stdlib.h>

#include "csengine/generated/ops.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/accumulate.h"
#include "engine/graph/trace/trace.h"

typedef struct stacks {
    cse_graph *graph;
    int64_t samples;
    uint32_t ids;       /* those below are of nodes from before the pass */
    cse_node **of;      /* by id: the node for each sample, [samples, ...]; NULL: not made */
    cse_node *obstacle; /* what cannot be made for each sample; NULL: nothing so far */
} stacks;

static cse_shape stacked_shape(const stacks *s, cse_shape shape)
{
    cse_shape stacked = { .rank = shape.rank + 1, .dims = { s->samples } };
    for (int i = 0; i < shape.rank; i++)
        stacked.dims[i + 1] = shape.dims[i];
    return stacked;
}

/* Rows [samples * n, width] as [samples, n, width]. */
static cse_node *rows_by_sample(const stacks *s, cse_node *rows)
{
    return cse_reshape(
        rows, cse_shape_of(s->samples, rows->shape.dims[0] / s->samples, rows->shape.dims[1]));
}

/* Whether it is a product over the rows of a microbatch, each operand's first axis. */
static bool is_sum_over_rows(const stacks *s, const cse_node *node)
{
    const int64_t *transposed = node->attributes.integers;
    return node->op == &cse_op_matmul && node->shape.rank == 2 && transposed[0] != 0 &&
           transposed[1] == 0 && node->inputs[0]->batch && node->inputs[1]->batch &&
           node->inputs[0]->shape.dims[0] % s->samples == 0 && !cse_node_is_tiled(node);
}

/* The precision pass may have chosen another type for a result than its operands have. */
static cse_node *of_type(cse_node *made, const cse_node *node)
{
    if (!cse_trace_is_poison(made))
        made->dtype = node->dtype;
    return made;
}

static cse_node *stack(stacks *s, cse_node *node);

static cse_node *stack_elements(stacks *s, const cse_node *node)
{
    cse_node *inputs[CSE_MAX_INPUTS];
    for (int i = 0; i < node->input_count; i++) {
        const bool is_scalar = !node->inputs[i]->batch && node->inputs[i]->shape.rank == 0;
        inputs[i] = is_scalar ? node->inputs[i] : stack(s, node->inputs[i]);
        if (inputs[i] == NULL)
            return NULL;
    }
    return of_type(cse_trace(node->op, &node->attributes, node->input_count, inputs), node);
}

static cse_node *make(stacks *s, cse_node *node)
{
    if (node->shape.rank == CSE_MAX_RANK)
        return NULL;
    if (!node->batch)
        return cse_broadcast_to(node, stacked_shape(s, node->shape));
    if (is_sum_over_rows(s, node))
        return of_type(cse_matmul(rows_by_sample(s, node->inputs[0]),
                                  rows_by_sample(s, node->inputs[1]), true, false),
                       node);
    if (node->op->kind == CSE_OP_ELEMENTWISE)
        return stack_elements(s, node);
    if (node->op->kind != CSE_OP_RESHAPE)
        return NULL;
    cse_node *input = stack(s, node->inputs[0]);
    return input != NULL ? cse_reshape(input, stacked_shape(s, node->shape)) : NULL;
}

static cse_node *stack(stacks *s, cse_node *node)
{
    if (node->id < s->ids && s->of[node->id] != NULL)
        return s->of[node->id];
    cse_node *made = make(s, node);
    if (made == NULL && s->obstacle == NULL)
        s->obstacle = node;
    if (node->id < s->ids)
        s->of[node->id] = made;
    return made;
}

/* The sum along the leading axis, of a power of two: neighbours are added, then neighbours of
 * these. */
static cse_node *sum_of_samples(cse_node *stacked)
{
    int64_t starts[CSE_MAX_RANK] = { 0 }, stops[CSE_MAX_RANK], steps[CSE_MAX_RANK];
    cse_node *halves[2];
    for (int i = 0; i < CSE_MAX_RANK; i++) {
        stops[i] = INT64_MAX;
        steps[i] = i == 0 ? 2 : 1;
    }
    while (stacked->shape.rank > 0 && stacked->shape.dims[0] > 1) {
        for (int h = 0; h < 2; h++) {
            starts[0] = h;
            halves[h] = cse_slice(stacked, starts, stops, steps);
        }
        stacked = cse_add(halves[0], halves[1]);
    }
    return stacked;
}

static void split(stacks *s, cse_node *sum)
{
    cse_node *gradient = sum->inputs[0];
    cse_trace_begin_for(s->graph, gradient, gradient->backward, gradient->gradient_of);
    cse_node *stacked = stack(s, gradient);
    if (stacked != NULL)
        sum->inputs[0] = cse_reshape(sum_of_samples(stacked), gradient->shape);
    else
        cse_trace_fail(
            CSE_CONFIG,
            "precision.gradient_sums: sample: the gradient of %s cannot be summed sample "
            "by sample, because %s adds up the microbatch; accepted: micro_batch_size 1, "
            "factors of LoRA beside linear layers alone, or gradient_sums: microbatch",
            sum->attributes.text, s->obstacle->op->name);
    cse_trace_end();
}

/* Sums of gradients have the name of what they are the gradient of. */
static bool is_of_gradient(const cse_node *node)
{
    return node->op == &cse_op_batch_sum && node->attributes.text != NULL;
}

static cse_status check(const cse_graph *graph)
{
    const int64_t samples = graph->micro_batch_size;
    if ((samples & (samples - 1)) != 0)
        return cse_fail(CSE_CONFIG,
                        "precision.gradient_sums: sample with microbatches of %lld samples, which "
                        "are added by a tree of pairs; accepted: a power of two (micro_batch_size)",
                        (long long)samples);
    if (graph->precision != NULL && graph->precision->low != CSE_BFLOAT16)
        return cse_fail(CSE_CONFIG,
                        "precision.gradient_sums: sample with fp16_type %s, below whose range a "
                        "gradient's rounding depends on the microbatch; accepted: bfloat16, or "
                        "none (fp16_type)",
                        cse_dtype_name(graph->precision->low));
    return CSE_OK;
}

cse_status cse_pass_sample_sums(cse_graph *graph, bool enabled)
{
    (void)enabled;
    if (!graph->sums_samples)
        return CSE_OK;
    if (graph->micro_batch_size == 1)
        return CSE_OK;
    CSE_TRY(check(graph));
    stacks s = { .graph = graph, .samples = graph->micro_batch_size, .ids = graph->next_id };
    s.of = cse_calloc(s.ids, sizeof(cse_node *));
    const int count = graph->node_count;
    for (int i = 0; i < count && graph->error == CSE_OK; i++)
        if (is_of_gradient(graph->nodes[i]))
            split(&s, graph->nodes[i]);
    free(s.of);
    CSE_TRY(cse_trace_status(graph));
    cse_graph_compact(graph);
    return CSE_OK;
}
