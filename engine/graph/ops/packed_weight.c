/* Packed weights as inputs of ops. */
#include "engine/graph/ops/packed_weight.h"

#include "engine/graph/graph.h"

cse_status cse_packed_weight_check(const cse_infer *in, int input)
{
    const int64_t number = in->attributes->integers[CSE_PACKED_NUMBER];
    const int64_t columns = in->attributes->integers[CSE_PACKED_COLUMNS];
    const cse_packed_type *type =
        number >= 0 && number < UINT32_MAX ? cse_packed_of_number((uint32_t)number) : NULL;
    const cse_shape weight = in->shapes[input];
    if (type == NULL)
        return cse_fail(CSE_SHAPE, "there is no type %lld of packed weights", (long long)number);
    if (columns < 1 || columns % type->elements != 0)
        return cse_fail(CSE_SHAPE, "%lld columns are no whole blocks of %s, which have %d elements",
                        (long long)columns, type->name, type->elements);
    if (in->dtypes[input] != CSE_INT32 || weight.rank != 2 ||
        weight.dims[1] != cse_packed_row_words(type, columns))
        return cse_fail(
            CSE_SHAPE, "a weight packed as %s with %lld columns must be int32 [rows, %lld]",
            type->name, (long long)columns, (long long)cse_packed_row_words(type, columns));
    return CSE_OK;
}

const cse_packed_type *cse_packed_weight_type(const cse_tensor *node)
{
    return cse_packed_of_number((uint32_t)node->attributes.integers[CSE_PACKED_NUMBER]);
}

void cse_packed_weight_row(const cse_tensor *node, const void *weight, int64_t row, float *values)
{
    const cse_packed_type *type = cse_packed_weight_type(node);
    const int64_t columns = node->attributes.integers[CSE_PACKED_COLUMNS];
    const cse_packed_blocks blocks = { type,
                                       (const int32_t *)weight +
                                           row * cse_packed_row_words(type, columns),
                                       0, columns / type->elements };
    cse_packed_unpack_blocks(&blocks, values);
}
