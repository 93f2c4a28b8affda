/* Row-major layout and broadcasting, over plain arrays of sizes. */
#include "engine/base/types/shape.h"

#include <stdio.h>

int64_t cse_shape_elements(cse_shape shape)
{
    int64_t elements = 1;
    for (int i = 0; i < shape.rank; i++)
        elements *= shape.dims[i];
    return elements;
}

bool cse_shape_equal(cse_shape a, cse_shape b)
{
    bool equal = a.rank == b.rank;
    for (int i = 0; equal && i < a.rank; i++)
        equal = a.dims[i] == b.dims[i];
    return equal;
}

const char *cse_shape_text(cse_shape shape, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < shape.rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)shape.dims[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

void cse_shape_strides(cse_shape shape, int64_t strides[CSE_MAX_RANK])
{
    int64_t stride = 1;
    for (int i = shape.rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape.dims[i];
    }
}

bool cse_shape_broadcast(cse_shape a, cse_shape b, cse_shape *result)
{
    cse_shape wide = a.rank >= b.rank ? a : b, narrow = a.rank >= b.rank ? b : a;
    int offset = wide.rank - narrow.rank;
    for (int i = 0; i < narrow.rank; i++) {
        int64_t *out = &wide.dims[offset + i], in = narrow.dims[i];
        if (*out != in && *out != 1 && in != 1)
            return false;
        *out = *out == 1 ? in : *out;
    }
    *result = wide;
    return true;
}

void cse_shape_broadcast_strides(cse_shape from, cse_shape to, int64_t strides[CSE_MAX_RANK])
{
    int64_t own[CSE_MAX_RANK];
    cse_shape_strides(from, own);
    int offset = to.rank - from.rank;
    for (int i = 0; i < to.rank; i++) {
        bool repeated = i < offset || (from.dims[i - offset] == 1 && to.dims[i] != 1);
        strides[i] = repeated ? 0 : own[i - offset];
    }
}
