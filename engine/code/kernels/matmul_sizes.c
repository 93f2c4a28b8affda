/* The sizes of a matrix product, from its node. */
#include "engine/code/kernels/matmul_sizes.h"

cse_matmul_sizes cse_matmul_sizes_of(const cse_node *product)
{
    const cse_node *a = product->inputs[0];
    int rank = product->shape.rank;
    cse_matmul_sizes sizes = {
        .batches = 1,
        .m = product->shape.dims[rank - 2],
        .n = product->shape.dims[rank - 1],
        .transpose_a = product->attributes.integers[0] != 0,
        .transpose_b = product->attributes.integers[1] != 0,
    };
    sizes.k = a->shape.dims[rank - (sizes.transpose_a ? 2 : 1)];
    for (int i = 0; i < rank - 2; i++)
        sizes.batches *= product->shape.dims[i];
    return sizes;
}
