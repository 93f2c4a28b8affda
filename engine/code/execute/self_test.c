/* The sizes are none of any vector's or tile's, and the depth is long enough that orders of sums
 * differ. Operands are pseudorandom, of both signs. */
#include "engine/code/execute/self_test.h"

#include <stdlib.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/trace.h"

enum { ROWS = 37, COLUMNS = 83, DEPTH = 521, WAYS = 3 };

static const cse_dtype types[] = { CSE_FLOAT32, CSE_BFLOAT16 };

static uint64_t add(uint64_t digest, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static cse_node *operand(cse_graph *graph, int index, cse_shape shape, cse_dtype dtype,
                         void **values)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { index } };
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, dtype);
    const int64_t count = cse_shape_elements(shape);
    node->group = -1;
    values[index] = cse_aligned_calloc((size_t)count * cse_dtype_size(dtype) + 64);
    for (int64_t i = 0; i < count; i++) {
        uint32_t counter[4] = { (uint32_t)i }, random[4];
        cse_philox((uint64_t)index + 1, counter, random);
        cse_write_element(dtype, values[index], i, 2 * cse_uniform_from_bits(random[0]) - 1);
    }
    return node;
}

/* A product that no kernel can do gives no bits, which is a difference, too. */
static uint64_t add_product(uint64_t digest, cse_dtype dtype, bool first, bool second)
{
    void *values[2], *output = cse_aligned_calloc(ROWS * COLUMNS * sizeof(float));
    cse_graph *graph = cse_graph_new(1, 1);
    cse_kernel *kernel = NULL;
    cse_trace_begin(graph);
    const cse_shape a = first ? cse_shape_of(1, DEPTH, ROWS) : cse_shape_of(1, ROWS, DEPTH);
    const cse_shape b = second ? cse_shape_of(1, COLUMNS, DEPTH) : cse_shape_of(1, DEPTH, COLUMNS);
    cse_tensor *left = operand(graph, 0, a, dtype, values);
    cse_tensor *right = operand(graph, 1, b, dtype, values);
    cse_node *node = cse_matmul(left, right, first, second);
    node->dtype = dtype;
    node->group = 0;
    CSE_GROW(graph->groups, graph->group_count, graph->group_capacity);
    graph->groups[graph->group_count++] =
        (cse_group){ .kind = CSE_GROUP_LIBRARY, .nodes = &node, .node_count = 1 };
    cse_trace_end();
    if (cse_kernel_new(graph, &graph->groups[0], &kernel) == CSE_OK) {
        kernel->run(kernel, (const void *const[]){ values[0], values[1] }, output);
        cse_kernel_destroy(&kernel);
    }
    digest = add(digest, output, ROWS * COLUMNS * cse_dtype_size(dtype));
    cse_graph_destroy(&graph);
    free(output);
    free(values[0]);
    free(values[1]);
    return digest;
}

uint64_t cse_kernel_self_test(void)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int way = 0; way < WAYS; way++)
            digest = add_product(digest, types[t], way == 1, way == 2);
    return digest;
}
