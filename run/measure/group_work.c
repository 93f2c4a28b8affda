/* Products are counted by the kernel that computes them, everything else by its op's kind. */
#include "run/measure/group_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/shape.h"
#include "engine/code/kernels/kernel.h"
#include "engine/code/kernels/matmul_sizes.h"

const char *cse_work_class_name(cse_work_class work_class)
{
    static const char *const names[CSE_WORK_CLASS_COUNT] = { "product", "attention product",
                                                             "attention", "rest" };
    return names[work_class];
}

/* ---- bytes ---- */

/* Whether all that the group's nodes read of `value` are the rows that indices name; *rows_bytes
 * becomes their bytes. */
static bool is_read_by_index(const cse_group *group, const cse_node *value, int64_t *rows_bytes)
{
    bool read = false;
    *rows_bytes = 0;
    for (int n = 0; n < group->node_count; n++)
        for (int i = 0; i < group->nodes[n]->input_count; i++) {
            const cse_node *node = group->nodes[n];
            if (cse_node_storage(node->inputs[i]) != value)
                continue;
            if (i != 0 || node->op->indices.count == NULL || node->op->precision == CSE_FAMILY_LOSS)
                return false;
            read = true;
            *rows_bytes += cse_node_bytes(node);
        }
    return read;
}

static int64_t bytes_read(const cse_group *group, const cse_node *value)
{
    int64_t rows_bytes, whole = cse_node_bytes(value);
    return is_read_by_index(group, value, &rows_bytes) && rows_bytes < whole ? rows_bytes : whole;
}

int64_t cse_group_bytes(const cse_graph *graph, const cse_group *group)
{
    int count = cse_group_inputs(graph, group, NULL, 0);
    cse_node **outside = cse_calloc((size_t)count + 1, sizeof *outside);
    int64_t bytes = 0;
    count = cse_group_inputs(graph, group, outside, count);
    for (int i = 0; i < count; i++)
        bytes += bytes_read(group, outside[i]);
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->space != CSE_SPACE_NONE)
            bytes += cse_node_bytes(group->nodes[n]);
    free(outside);
    return bytes;
}

/* ---- operations ---- */

static bool is_matmul(const cse_node *node)
{
    return strcmp(node->op->name, "matmul") == 0;
}

static double elements_read(const cse_node *node)
{
    double most = 0;
    for (int i = 0; i < node->input_count; i++) {
        const double elements = (double)cse_shape_elements(node->inputs[i]->shape);
        most = elements > most ? elements : most;
    }
    return most;
}

static double operations_of(const cse_node *node)
{
    const double written = (double)cse_shape_elements(node->shape), read = elements_read(node);
    switch (node->op->kind) {
    case CSE_OP_ELEMENTWISE:
        return node->op->role == CSE_OP_ROLE_CAST || node->op->role == CSE_OP_ROLE_STORE ||
                       node->op->precision == CSE_FAMILY_STRUCTURAL
                   ? 0
                   : written;
    case CSE_OP_REDUCE:
        return read;
    case CSE_OP_BLOCK:
        return node->op->precision == CSE_FAMILY_MOVEMENT ? 0 : written > read ? written : read;
    case CSE_OP_LIBRARY: /* a pooling: products are counted by their kernel */
        return written > read ? written : read;
    default:
        return 0;
    }
}

static void count_product(const cse_graph *graph, const cse_group *group, cse_group_work *work)
{
    const cse_node *product = group->nodes[0];
    cse_kernel *kernel = NULL;
    if (group->kind != CSE_GROUP_LIBRARY || cse_kernel_new(graph, group, &kernel) != CSE_OK)
        return;
    work->product_flop = kernel->flops;
    snprintf(work->implementation, sizeof work->implementation, "%s", kernel->implementation);
    cse_kernel_destroy(&kernel);
    for (int i = 0; i < 2 && i < product->input_count && work->product_flop > 0; i++)
        work->operands[i] = product->inputs[i]->dtype;
}

static void describe_sizes(const cse_group *group, cse_group_work *work)
{
    const cse_node *product = group->nodes[0], *result = group->nodes[group->node_count - 1];
    const size_t room = sizeof work->sizes;
    if (!is_matmul(product)) {
        const cse_node *shown = group->kind == CSE_GROUP_LIBRARY ? product : result;
        cse_shape_text(shown->shape, work->sizes, room);
        return;
    }
    const cse_matmul_sizes s = cse_matmul_sizes_of(product);
    const int used = s.batches > 1 ? snprintf(work->sizes, room, "%lld*", (long long)s.batches) : 0;
    snprintf(work->sizes + used, room - (size_t)used, "%lldx%lldx%lld", (long long)s.m,
             (long long)s.n, (long long)s.k);
}

/* ---- classes ---- */

static bool is_attention_product(const cse_node *node)
{
    if (strstr(node->op->name, "attention") != NULL)
        return true;
    return is_matmul(node) && cse_matmul_sizes_of(node).batches > 1;
}

static bool reads_attention(const cse_graph *graph, const cse_group *group)
{
    int count = cse_group_inputs(graph, group, NULL, 0);
    cse_node **outside = cse_calloc((size_t)count + 1, sizeof *outside);
    bool reads = false;
    count = cse_group_inputs(graph, group, outside, count);
    for (int i = 0; i < count; i++)
        reads = reads || is_attention_product(outside[i]);
    free(outside);
    return reads;
}

static cse_work_class class_of(const cse_graph *graph, const cse_group *group, bool product)
{
    bool attention = false;
    for (int n = 0; n < group->node_count; n++)
        attention = attention || is_attention_product(group->nodes[n]);
    if (product)
        return attention ? CSE_WORK_ATTENTION_PRODUCT : CSE_WORK_PRODUCT;
    return attention || reads_attention(graph, group) ? CSE_WORK_ATTENTION : CSE_WORK_REST;
}

void cse_group_work_of(const cse_graph *graph, const cse_group *group, cse_group_work *work)
{
    *work = (cse_group_work){ .operands = { CSE_FLOAT32, CSE_FLOAT32 } };
    count_product(graph, group, work);
    describe_sizes(group, work);
    for (int n = work->product_flop > 0 ? 1 : 0; n < group->node_count; n++)
        work->other_flop += operations_of(group->nodes[n]);
    work->bytes = cse_group_bytes(graph, group);
    work->work_class = class_of(graph, group, work->product_flop > 0);
}
