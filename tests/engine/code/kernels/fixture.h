/* Groups of a product and its epilogue, values for their inputs, and the reference result with a
 * bound on how far a kernel may be from it. */
#ifndef TESTS_KERNELS_FIXTURE_H
#define TESTS_KERNELS_FIXTURE_H

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/expect.h"

enum { CASE_MOST_NODES = 16, CASE_SHIFT_BYTES = 64, CASE_BORDER_BYTES = 4096 };

/* One group, its inputs and their values. `nodes` holds leaves and reshapes too, in order. */
typedef struct kernel_case {
    cse_graph *graph;
    cse_node *nodes[CASE_MOST_NODES], *members[CASE_MOST_NODES];
    void *values[CASE_MOST_NODES]; /* of leaves */
    int node_count;
    cse_group group;
    uint64_t seed; /* what random numbers are drawn for */
    int64_t step, first_sample;
} kernel_case;

static inline void kernel_case_begin(kernel_case *one)
{
    memset(one, 0, sizeof *one);
    one->graph = cse_graph_new(1, 1);
    one->group = (cse_group){ .kind = CSE_GROUP_LIBRARY, .nodes = one->members };
    cse_trace_begin(one->graph);
}

static inline cse_node *kernel_case_leaf(kernel_case *one, cse_shape shape, cse_dtype dtype)
{
    cse_attributes attributes = { .integer_count = 1, .integers = { one->node_count } };
    cse_node *node = cse_graph_leaf(one->graph, &cse_op_input, &attributes, shape, dtype);
    node->group = -1;
    one->values[one->node_count] =
        cse_aligned_calloc((size_t)cse_shape_elements(shape) * sizeof(float) + 64);
    return one->nodes[one->node_count++] = node;
}

/* An input of a sample, of another format where it is one of floats. */
static inline cse_node *kernel_case_input(kernel_case *one, const cse_sample_input *input,
                                          cse_dtype dtype)
{
    return kernel_case_leaf(one, input->shape,
                            cse_dtype_is_float(input->dtype) ? dtype : input->dtype);
}

/* A node that is computed; reshapes are no members of the group. */
static inline cse_node *kernel_case_add(kernel_case *one, cse_node *node)
{
    ck_assert_msg(cse_trace_status(one->graph) == CSE_OK, "%s", cse_error_message());
    bool member = node->op->kind != CSE_OP_RESHAPE;
    node->group = member ? 0 : -1;
    if (member)
        one->members[one->group.node_count++] = node;
    one->nodes[one->node_count] = node;
    one->values[one->node_count++] = NULL;
    return node;
}

/* The graph as cse_kernel_new wants it: group 0 is the case's. */
static inline void kernel_case_close(kernel_case *one)
{
    cse_trace_end();
    CSE_GROW(one->graph->groups, one->graph->group_count, one->graph->group_capacity);
    one->graph->groups[one->graph->group_count++] = one->group;
}

static inline void kernel_case_draw(kernel_case *one, uint64_t seed, double low, double high)
{
    for (int n = 0; n < one->node_count; n++) {
        int64_t count = one->values[n] ? cse_shape_elements(one->nodes[n]->shape) : 0;
        for (int64_t e = 0; e < count; e++) {
            uint32_t counter[4] = { (uint32_t)e, (uint32_t)n, 7, 0 }, words[4];
            cse_philox(seed, counter, words);
            const double uniform = (double)cse_uniform_from_bits(words[0]);
            const bool is_index = one->nodes[n]->dtype == CSE_INT32; /* 0 or 1 */
            cse_write_element(one->nodes[n]->dtype, one->values[n], e,
                              is_index ? uniform >= 0.5 : low + (high - low) * uniform);
        }
    }
}

static inline void kernel_case_end(kernel_case *one)
{
    for (int n = 0; n < one->node_count; n++)
        free(one->values[n]);
    cse_graph_destroy(&one->graph);
}

static inline int kernel_case_find(const kernel_case *one, const cse_node *node)
{
    for (int n = 0; n < one->node_count; n++)
        if (one->nodes[n] == node)
            return n;
    ck_abort_msg("the case does not know an input");
    return -1;
}

/* The group's value by the ops' reference kernels, in the result's type; release with free(). With
 * `magnitudes` every input is replaced by its absolute value: then a product's result is the sum of
 * |a b|, which rounding errors scale with. */
static inline void *kernel_case_reference(const kernel_case *one, bool magnitudes)
{
    void *results[CASE_MOST_NODES];
    for (int n = 0; n < one->node_count; n++) {
        cse_node *node = one->nodes[n];
        int64_t count = cse_shape_elements(node->shape);
        results[n] = cse_aligned_calloc((size_t)count * sizeof(float) + 64);
        if (one->values[n] != NULL) {
            for (int64_t e = 0; e < count; e++) {
                double value = cse_read_element(node->dtype, one->values[n], e);
                cse_write_element(node->dtype, results[n], e, magnitudes ? fabs(value) : value);
            }
            continue;
        }
        const void *inputs[CSE_MAX_INPUTS];
        for (int i = 0; i < node->input_count; i++)
            inputs[i] = results[kernel_case_find(one, node->inputs[i])];
        if (node->op->kind == CSE_OP_RESHAPE)
            memcpy(results[n], inputs[0], (size_t)count * cse_dtype_size(node->dtype));
        else
            node->op->reference(&(cse_reference){ .node = node,
                                                  .inputs = inputs,
                                                  .output = results[n],
                                                  .seed = one->seed,
                                                  .step = one->step,
                                                  .first_sample = one->first_sample });
    }
    for (int n = 0; n < one->node_count - 1; n++)
        free(results[n]);
    return results[one->node_count - 1];
}

/* A copy that lies `shift` times 64 bytes behind a page border; release `*block`. */
static inline void *kernel_case_shifted(const void *values, size_t size, int shift, void **block)
{
    *block = NULL;
    size_t total = size + 2 * CASE_BORDER_BYTES + (size_t)shift * CASE_SHIFT_BYTES;
    ck_assert_int_eq(posix_memalign(block, CASE_BORDER_BYTES, total), 0);
    memset(*block, 0xff, total); /* NaN wherever nothing was written */
    char *place = (char *)*block + (size_t)shift * CASE_SHIFT_BYTES;
    if (values != NULL)
        memcpy(place, values, size);
    return place;
}

static inline size_t kernel_case_output_bytes(const kernel_case *one)
{
    const cse_node *last = one->nodes[one->node_count - 1];
    return (size_t)cse_shape_elements(last->shape) * cse_dtype_size(last->dtype);
}

/* Runs the kernel on operands that lie elsewhere for each `shift`; the result is copied to
 * `output`, and what lies behind it must be untouched. */
static inline void kernel_case_run(const kernel_case *one, cse_kernel *kernel, int shift,
                                   void *output)
{
    cse_node *nodes[CSE_MAX_INPUTS];
    void *blocks[CSE_MAX_INPUTS], *result_block;
    const void *inputs[CSE_MAX_INPUTS];
    int count = cse_group_inputs(one->graph, &one->group, nodes, CSE_MAX_INPUTS);
    for (int i = 0; i < count; i++) {
        size_t size = (size_t)cse_shape_elements(nodes[i]->shape) * cse_dtype_size(nodes[i]->dtype);
        inputs[i] = kernel_case_shifted(one->values[kernel_case_find(one, nodes[i])], size,
                                        shift + i, &blocks[i]);
    }
    size_t size = kernel_case_output_bytes(one);
    unsigned char *result = kernel_case_shifted(NULL, size, shift, &result_block);
    kernel->seed = one->seed;
    kernel->step = one->step;
    kernel->first_sample = one->first_sample;
    kernel->run(kernel, inputs, result);
    for (size_t i = 0; i < CASE_BORDER_BYTES; i++)
        cse_expect(result[size + i] == 0xff, "byte %zu behind the result was written", i);
    memcpy(output, result, size);
    for (int i = 0; i < count; i++)
        free(blocks[i]);
    free(result_block);
}

/* Half a unit in the last place of a type, relative. */
static inline double half_unit(cse_dtype dtype)
{
    switch (dtype) {
    case CSE_BFLOAT16:
        return 0x1p-8;
    case CSE_FLOAT16:
        return 0x1p-11;
    case CSE_CBFLOAT16:
        return 0x1p-10;
    default:
        return 0x1p-24;
    }
}

/* |kernel - reference| <= terms * 2^-24 * 1.01 * sum|a b| (`terms` roundings of float32 on the way,
 * in any order) + two roundings of the result's type. */
static inline void kernel_case_compare(const kernel_case *one, cse_kernel *kernel, double terms,
                                       const char *name)
{
    const cse_node *last = one->nodes[one->node_count - 1];
    int64_t count = cse_shape_elements(last->shape);
    void *expected = kernel_case_reference(one, false), *sums = kernel_case_reference(one, true);
    void *got = cse_calloc(kernel_case_output_bytes(one) + 1, 1);
    kernel_case_run(one, kernel, 0, got);
    for (int64_t e = 0; e < count; e++) {
        double y = cse_read_element(last->dtype, got, e);
        double wanted = cse_read_element(last->dtype, expected, e);
        double bound = terms * 0x1p-24 * 1.01 * cse_read_element(last->dtype, sums, e) +
                       2.1 * half_unit(last->dtype) * fabs(wanted) + 1e-37;
        cse_expect(fabs(y - wanted) <= bound, "%s: element %lld is %.9g, expected %.9g +- %.3g",
                   name, (long long)e, y, wanted, bound);
    }
    free(expected);
    free(sums);
    free(got);
}

/* The kernel's bits are the same wherever its operands lie, and every time. */
static inline void kernel_case_same_bits(const kernel_case *one, cse_kernel *kernel, int runs,
                                         const char *name)
{
    size_t size = kernel_case_output_bytes(one);
    unsigned char *first = cse_calloc(size + 1, 1), *again = cse_calloc(size + 1, 1);
    kernel_case_run(one, kernel, 0, first);
    for (int i = 1; i <= runs; i++) {
        kernel_case_run(one, kernel, i % 13, again);
        cse_expect(memcmp(first, again, size) == 0, "%s: run %d gave other bits", name, i);
    }
    free(first);
    free(again);
}

static inline cse_kernel *kernel_case_kernel(const kernel_case *one, const char *name)
{
    cse_kernel *kernel;
    cse_status status = cse_kernel_new(one->graph, &one->graph->groups[0], &kernel);
    ck_assert_msg(status == CSE_OK, "%s: %s", name, cse_error_message());
    return kernel;
}

#endif
