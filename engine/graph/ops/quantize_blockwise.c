/* quantize_blockwise: blocks of 8 bits (blockwise.h) of float32 values.
 *
 * Inputs: 0 x; and where a step may be skipped 1 whether it is finite, a bool scalar, and 2 the
 * blocks that stay if it is not: quantizing what was dequantized does not give the same bits, since
 * -1 is no value of the map. Attributes: integers[0] whether x may be negative. An UPDATE group
 * computes it line by line (engine/code/codegen/emit_update.c). */
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/ops/blockwise.h"
#include "engine/graph/trace/arguments.h"

cse_tensor *cse_quantize_blockwise(cse_tensor *x, bool negative, cse_tensor *finite,
                                   cse_tensor *before)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { negative } };
    cse_tensor *inputs[] = { x, finite, before };
    return cse_trace(&cse_op_quantize_blockwise, &attributes, finite != NULL ? 3 : 1, inputs);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    *shape = cse_shape_of(cse_block_count(cse_shape_elements(in->shapes[0])), CSE_BLOCK_WORDS);
    *dtype = CSE_INT32;
    if (in->dtypes[0] != CSE_FLOAT32)
        return cse_fail(CSE_SHAPE, "x must be float32, not %s", cse_dtype_name(in->dtypes[0]));
    if (in->input_count == 2 ||
        (in->input_count == 3 &&
         (in->dtypes[1] != CSE_BOOL || in->shapes[1].rank != 0 || in->dtypes[2] != CSE_INT32 ||
          !cse_shape_equal(in->shapes[2], *shape))))
        return cse_fail(CSE_SHAPE, "beside x belong a bool scalar and blocks of as many elements");
    return CSE_OK;
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    if (node->input_count == 3 && *(const unsigned char *)call->inputs[1] == 0)
        memmove(call->output, call->inputs[2],
                (size_t)cse_shape_elements(node->shape) * sizeof(int32_t));
    else
        cse_quantize_values(call->inputs[0], cse_shape_elements(node->inputs[0]->shape),
                            cse_block_factor(&node->attributes), call->output);
}

static void emit(cse_text *out, const cse_tensor *node)
{
    const long long count = (long long)cse_shape_elements(node->inputs[0]->shape);
    cse_text_add(out, "for (int64_t first = 0; first < %lldll; first += 256) {\n", count);
    if (node->input_count == 3)
        cse_text_add(out, "if (x1[0] == 0) {\n"
                          "__builtin_memmove(&y[first / 256 * 65], &x2[first / 256 * 65], 260);\n"
                          "continue;\n"
                          "}\n");
    cse_text_add(out,
                 "float block[256] = { 0 };\n"
                 "for (int64_t i = first; i < first + 256 && i < %lldll; i++)\n"
                 "block[i - first] = x0[i];\n"
                 "cse_quantize_block(block, %d, &y[first / 256 * 65]);\n"
                 "}\n",
                 count, (int)cse_block_factor(&node->attributes));
}

const cse_op cse_op_quantize_blockwise = {
    .name = "quantize_blockwise",
    .summary = "blocks of 256 values in 8 bits each",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 3,
    .infer = infer,
    .reference = reference,
    .emit = emit,
};
