/* dequantize_blockwise: the float32 values of blocks of 8 bits (blockwise.h).
 *
 * Attributes: integers[0] whether they may be negative; their shape follows. An UPDATE group
 * computes it line by line (engine/code/codegen/emit_update.c). */
#include "csengine/generated/ops.h"
#include "engine/graph/ops/blockwise.h"
#include "engine/graph/trace/arguments.h"

cse_tensor *cse_dequantize_blockwise(cse_tensor *blocks, bool negative, cse_shape shape)
{
    cse_attributes attributes = { .integer_count = 1, .integers = { negative } };
    cse_attributes_add_shape(&attributes, shape);
    return cse_trace_1(&cse_op_dequantize_blockwise, &attributes, blocks);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    *shape = cse_attributes_shape(in->attributes, 1);
    *dtype = CSE_FLOAT32;
    if (in->dtypes[0] != CSE_INT32 ||
        !cse_shape_equal(in->shapes[0], cse_shape_of(cse_block_count(cse_shape_elements(*shape)),
                                                     CSE_BLOCK_WORDS)))
        return cse_fail(CSE_SHAPE, "the blocks are int32, [elements / 256 rounded up, %d]",
                        CSE_BLOCK_WORDS);
    return CSE_OK;
}

static void reference(const cse_reference *call)
{
    cse_dequantize_values(call->inputs[0], cse_shape_elements(call->node->shape),
                          cse_block_factor(&call->node->attributes), call->output);
}

static void emit(cse_text *out, const cse_tensor *node)
{
    const long long count = (long long)cse_shape_elements(node->shape);
    cse_text_add(out,
                 "for (int64_t first = 0; first < %lldll; first += 256) {\n"
                 "float block[256];\n"
                 "cse_dequantize_block(&x0[first / 256 * 65], %d, block);\n"
                 "for (int64_t i = first; i < first + 256 && i < %lldll; i++)\n"
                 "y[i] = block[i - first];\n"
                 "}\n",
                 count, (int)cse_block_factor(&node->attributes), count);
}

const cse_op cse_op_dequantize_blockwise = {
    .name = "dequantize_blockwise",
    .summary = "the values of blocks of 8 bits",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .emit = emit,
};
