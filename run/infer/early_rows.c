/* From the value back to the product that it is made of: each op on the way is traced again for the
 * rows that are wanted, and what is not wanted any more is dropped with all that nothing needs. */
#include "run/infer/early_rows.h"

#include <string.h>

#include "engine/graph/trace/trace.h"

/* Of ops between a product and the value. There are few: a bias, a factor, a cap. */
enum { MOST_STEPS = 8 };

typedef struct taking {
    cse_graph *graph;
    cse_tensor *indices;
    int64_t rows, count; /* that there are, and that are wanted */
} taking;

static int64_t last_size(const cse_tensor *node)
{
    return node->shape.rank > 0 ? node->shape.dims[node->shape.rank - 1] : 1;
}

static bool has_rows(const taking *t, const cse_tensor *node)
{
    return cse_shape_elements(node->shape) == t->rows * last_size(node);
}

static cse_tensor *take(const taking *t, cse_tensor *node, int steps);

static cse_tensor *take_plainly(const taking *t, cse_tensor *node)
{
    return cse_gather(cse_reshape(node, cse_shape_of(t->rows, last_size(node))), t->indices);
}

static cse_tensor *take_broadcast(const taking *t, cse_tensor *node)
{
    cse_tensor *input = node->inputs[0];
    const cse_shape shape = cse_shape_of(t->count, last_size(node));
    const int64_t elements = cse_shape_elements(input->shape);
    if (elements == 1)
        return cse_broadcast_to(cse_reshape(input, cse_scalar_shape), shape);
    if (last_size(input) == elements && elements == last_size(node))
        return cse_broadcast_to(cse_reshape(input, cse_shape_of(1, elements)), shape);
    return take_plainly(t, node);
}

/* Whether each element is computed from the same element of the inputs, wherever it lies. */
static bool is_by_elements(const cse_tensor *node)
{
    const char *code = node->op->expression;
    if (node->op->kind != CSE_OP_ELEMENTWISE || node->input_count == 0 || code == NULL ||
        strstr(code, "$n") != NULL || strstr(code, "$i") != NULL || strstr(code, "$s") != NULL)
        return false;
    for (int i = 0; i < node->input_count; i++)
        if (!cse_shape_equal(node->inputs[i]->shape, node->shape))
            return false;
    return true;
}

static bool is_product(const cse_tensor *node)
{
    return node->op == &cse_op_matmul && node->shape.rank == 2 && node->input_count == 2 &&
           node->attributes.integers[0] == 0;
}

/* The node with other inputs, of the rows alone. */
static cse_tensor *again(const taking *t, const cse_tensor *node, cse_tensor *const inputs[])
{
    for (int i = 0; i < node->input_count; i++)
        if (cse_trace_is_poison(inputs[i]))
            return inputs[i];
    cse_tensor *copy = cse_graph_clone(t->graph, node);
    copy->shape = cse_shape_of(t->count, last_size(node));
    for (int i = 0; i < node->input_count; i++)
        copy->inputs[i] = inputs[i];
    return copy;
}

static cse_tensor *take_step(const taking *t, cse_tensor *node, int steps)
{
    cse_tensor *inputs[CSE_MAX_INPUTS];
    if (is_product(node))
        return again(t, node,
                     (cse_tensor *[]){ take_plainly(t, node->inputs[0]), node->inputs[1] });
    if (steps == 0)
        return take_plainly(t, node);
    if (node->op->kind == CSE_OP_RESHAPE && last_size(node->inputs[0]) == last_size(node))
        return take(t, node->inputs[0], steps - 1);
    if (node->op->kind == CSE_OP_BROADCAST)
        return take_broadcast(t, node);
    if (!is_by_elements(node))
        return take_plainly(t, node);
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = take(t, node->inputs[i], steps - 1);
    return again(t, node, inputs);
}

static cse_tensor *take(const taking *t, cse_tensor *node, int steps)
{
    if (cse_trace_is_poison(node))
        return node;
    if (!has_rows(t, node))
        return cse_trace_fail(CSE_INTERNAL, "a value without the rows that are taken of it");
    cse_trace_begin_for(t->graph, node, node->backward, node->gradient_of);
    cse_tensor *taken = take_step(t, node, steps);
    cse_trace_end();
    return taken;
}

cse_tensor *cse_rows_early(cse_tensor *x, cse_tensor *indices)
{
    if (cse_trace_is_poison(x) || cse_trace_is_poison(indices))
        return cse_gather(x, indices);
    const taking t = { cse_trace_graph(), indices, x->shape.dims[0], indices->shape.dims[0] };
    return take(&t, x, MOST_STEPS);
}
