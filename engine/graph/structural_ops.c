/* The ops that only the engine places: where values come from and where they go. See graph.h for
 * what each means; ops that people call are in engine/graph/ops. */
#include <string.h>

#include "engine/base/registry.h"
#include "engine/graph/graph.h"
#include "engine/graph/outside_ops.h"

static cse_status infer_leaf(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    (void)in;
    (void)shape;
    (void)dtype;
    return cse_fail(CSE_INTERNAL, "has no shape rule: it is placed with its shape");
}

static cse_status infer_same(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

static cse_status infer_gradient(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->shapes[0].rank != 0 || in->dtypes[0] != CSE_FLOAT32)
        return cse_fail(CSE_SHAPE, "the loss must be a float32 scalar");
    *shape = in->shapes[1];
    *dtype = in->dtypes[1];
    return CSE_OK;
}

static void copy_input(const cse_reference *call)
{
    size_t bytes =
        (size_t)cse_shape_elements(call->node->shape) * cse_dtype_size(call->node->dtype);
    if (call->output != call->inputs[0])
        memcpy(call->output, call->inputs[0], bytes);
}

#define LEAF(op_name, text)                                                               \
    const cse_op cse_op_##op_name = {                                                     \
        .name = #op_name, .summary = text, .kind = CSE_OP_STRUCTURAL, .infer = infer_leaf \
    }
#define IDENTITY(op_name, text)                                   \
    const cse_op cse_op_##op_name = { .name = #op_name,           \
                                      .summary = text,            \
                                      .kind = CSE_OP_ELEMENTWISE, \
                                      .role = CSE_OP_ROLE_STORE,  \
                                      .min_inputs = 1,            \
                                      .max_inputs = 1,            \
                                      .infer = infer_same,        \
                                      .reference = copy_input,    \
                                      .expression = "$0" }

LEAF(input, "a tensor of the microbatch");
LEAF(constant, "a number");
LEAF(state, "a state's value before the step");
LEAF(step_number, "the number of the step, from 0");
LEAF(sample_index, "each sample's position in the global batch");
IDENTITY(partial, "a microbatch's term of a sum over the global batch");
IDENTITY(assign, "a state's value after the step");
IDENTITY(fetch, "a value handed to a step closure");
IDENTITY(materialize, "a value of the step that updates read");

const cse_op cse_op_gradient = { .name = "gradient",
                                 .summary = "the gradient of a loss with respect to a state",
                                 .kind = CSE_OP_STRUCTURAL,
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = infer_gradient };

const cse_op cse_op_custom = { .name = "custom",
                               .summary = "a value whose gradient a callback of the model traces",
                               .kind = CSE_OP_STRUCTURAL,
                               .min_inputs = 2,
                               .max_inputs = CSE_MAX_INPUTS,
                               .infer = infer_same };

const cse_op cse_op_batch_sum = { .name = "batch_sum",
                                  .summary = "the sum over the microbatches of the global batch",
                                  .kind = CSE_OP_STRUCTURAL,
                                  .max_inputs = 1,
                                  .infer = infer_same };

static const cse_op *const structural_ops[] = {
    &cse_op_input,
    &cse_op_constant,
    &cse_op_state,
    &cse_op_step_number,
    &cse_op_sample_index,
    &cse_op_gradient,
    &cse_op_custom,
    &cse_op_batch_sum,
    &cse_op_partial,
    &cse_op_assign,
    &cse_op_fetch,
    &cse_op_materialize,
    NULL,
};

bool cse_op_is_outside(const cse_op *op)
{
    for (size_t i = 0; structural_ops[i] != NULL; i++)
        if (structural_ops[i] == op)
            return false;
    for (size_t i = 0; cse_ops[i] != NULL; i++)
        if (cse_ops[i] == op)
            return false;
    return true;
}

const cse_op *cse_op_built_in(const char *name)
{
    const cse_op *op = cse_registry_find(structural_ops, name);
    return op != NULL ? op : cse_registry_find(cse_ops, name);
}
