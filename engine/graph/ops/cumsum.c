/* cumsum: running sums along one axis.
 *
 * Attributes: integers[0] the axis, integers[1] whether the sums run from the end. Floats are added
 * in float32 in the order of the elements and rounded where they are stored. */
#include "engine/graph/ops/along.h"

/** Element j along `axis` (negative: from the end) is the sum of elements 0 to j of x; floats or
 * int32, which wraps. */
CSE_API cse_tensor *cse_cumsum(cse_tensor *x, int axis)
{
    return cse_trace_on_axis(&cse_op_cumsum, x, axis, 0);
}

/* Element j of x is in the sums j to the last. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    const int64_t *integers = node->attributes.integers;
    gradients[0] =
        cse_trace_on_axis(&cse_op_cumsum, output_gradient, (int)integers[0], !integers[1]);
}

static void reference(const cse_reference *call)
{
    const int64_t *integers = call->node->attributes.integers;
    cse_along a = cse_along_axis(call->node->shape, integers[0]);
    cse_dtype dtype = call->node->dtype;
    for (int64_t i = 0; i < a.before; i++)
        for (int64_t k = 0; k < a.after; k++) {
            double sum = 0;
            for (int64_t j = 0; j < a.length; j++) {
                int64_t at = (i * a.length + (integers[1] ? a.length - 1 - j : j)) * a.after + k;
                sum += cse_read_element(dtype, call->inputs[0], at);
                cse_write_element(dtype, call->output, at, sum);
            }
        }
}

static void emit(cse_text *out, const cse_tensor *node)
{
    cse_along a = cse_along_axis(node->shape, node->attributes.integers[0]);
    bool is_integer = node->dtype == CSE_INT32;
    const char *place = node->attributes.integers[1] ? "LENGTH - 1 - j" : "j";
    cse_text_add(out,
                 "enum { LENGTH = %lld, AFTER = %lld };\n"
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "for (int64_t k = 0; k < AFTER; k++) {\n"
                 "%s sum = 0;\n"
                 "for (int64_t j = 0; j < LENGTH; j++) {\n"
                 "const int64_t at = (i * LENGTH + (%s)) * AFTER + k;\n"
                 "sum += %s(x0[at]);\n"
                 "y[at] = %s(%s);\n"
                 "}\n"
                 "}\n",
                 (long long)a.length, (long long)a.after, (long long)a.before,
                 is_integer ? "uint32_t" : "float", place, cse_emitted_load(node->dtype),
                 cse_emitted_store(node->dtype), is_integer ? "(int32_t)sum" : "sum");
}

const cse_op cse_op_cumsum = {
    .name = "cumsum",
    .summary = "running sums along one axis",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_REDUCTION,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_on_axis,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
};
