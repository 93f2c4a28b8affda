/* The evaluator: values by node id, computed on demand; see evaluate.h. */
#include "run/contracts/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/trace/arguments.h"

typedef struct value {
    void *data; /* NULL: not computed */
    bool given; /* by cse_evaluation_set */
} value;

struct cse_evaluation {
    cse_graph *graph;
    uint64_t seed;
    int64_t step, first_sample;
    value *values; /* by node id */
    uint32_t count;
};

cse_evaluation *cse_evaluation_new(cse_graph *graph, uint64_t seed, int64_t step,
                                   int64_t first_sample)
{
    cse_evaluation *self = cse_calloc(1, sizeof *self);
    *self = (cse_evaluation){ graph, seed, step, first_sample, NULL, 0 };
    return self;
}

void cse_evaluation_destroy(cse_evaluation **self)
{
    if (*self == NULL)
        return;
    for (uint32_t i = 0; i < (*self)->count; i++)
        free((*self)->values[i].data);
    free((*self)->values);
    free(*self);
    *self = NULL;
}

static value *value_of(cse_evaluation *self, const cse_node *node)
{
    if (node->id >= self->count) {
        uint32_t count = self->graph->next_id > node->id ? self->graph->next_id : node->id + 1;
        self->values = cse_realloc(self->values, count * sizeof *self->values);
        memset(self->values + self->count, 0, (count - self->count) * sizeof *self->values);
        self->count = count;
    }
    return &self->values[node->id];
}

static size_t bytes_of(const cse_node *node)
{
    return (size_t)cse_shape_elements(node->shape) * cse_dtype_size(node->dtype);
}

void cse_evaluation_set(cse_evaluation *self, const cse_node *leaf, const void *values)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (!self->values[i].given) {
            free(self->values[i].data);
            self->values[i].data = NULL;
        }
    value *of = value_of(self, leaf);
    free(of->data);
    of->given = true;
    of->data = cse_malloc(bytes_of(leaf) + 1);
    memcpy(of->data, values, bytes_of(leaf));
}

static void fill_leaf(cse_evaluation *self, const cse_node *node, void *data)
{
    int64_t count = cse_shape_elements(node->shape);
    for (int64_t i = 0; i < count; i++) {
        double element = 0;
        if (node->op == &cse_op_constant)
            element = node->attributes.numbers[0];
        else if (node->op == &cse_op_step_number)
            element = (double)self->step;
        else if (node->op == &cse_op_sample_index)
            element = (double)(self->first_sample + i);
        else {
            fprintf(stderr, "evaluate: %s node %u was given no values\n", node->op->name, node->id);
            abort();
        }
        cse_write_element(node->dtype, data, i, element);
    }
}

const void *cse_evaluation_values(cse_evaluation *self, cse_node *node)
{
    const void *inputs[CSE_MAX_INPUTS];
    if (value_of(self, node)->data != NULL)
        return value_of(self, node)->data;
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = cse_evaluation_values(self, node->inputs[i]);
    void *data = cse_malloc(bytes_of(node) + 1);
    if (node->input_count == 0)
        fill_leaf(self, node, data);
    else if (node->op == &cse_op_batch_sum)
        memcpy(data, inputs[0], bytes_of(node));
    else
        node->op->reference(&(cse_reference){ .node = node,
                                              .inputs = inputs,
                                              .output = data,
                                              .seed = self->seed,
                                              .step = self->step });
    return value_of(self, node)->data = data;
}
