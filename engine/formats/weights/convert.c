/* Weights whose floats are converted as they are read, block by block. */
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/weights.h"

typedef struct converted {
    cse_weights *from;
} converted;

static cse_status read_converted(cse_weights *weights, int index, uint64_t first, size_t bytes,
                                 void *to)
{
    converted *self = weights->self;
    const cse_element element = weights->list[index].element;
    const cse_element stored = self->from->list[index].element;
    const size_t width = cse_element_bytes(stored), out = cse_element_bytes(element);
    if (stored == element)
        return cse_weights_read(self->from, index, first, bytes, to);
    const size_t count = bytes / out;
    void *block = cse_malloc(count * width + 1);
    cse_status status =
        cse_weights_read(self->from, index, first / out * width, count * width, block);
    if (status == CSE_OK)
        cse_element_convert(stored, block, element, to, count);
    free(block);
    return status;
}

static void close_converted(cse_weights *weights)
{
    converted *self = weights->self;
    cse_weights_close(&self->from);
}

cse_weights *cse_weights_convert(cse_weights **from, cse_element element, const bool *which)
{
    cse_weights *weights = cse_weights_new((*from)->path);
    converted *self = cse_arena_alloc(weights->arena, sizeof *self);
    self->from = *from;
    weights->self = self;
    weights->read = read_converted;
    weights->close = close_converted;
    weights->format = (*from)->format;
    weights->model_name = (*from)->model_name;
    weights->config = (*from)->config;
    weights->origin = (*from)->origin;
    weights->tokenizer = json_incref((*from)->tokenizer);
    for (int i = 0; i < (*from)->count; i++) {
        cse_weight weight = (*from)->list[i];
        weight.file = -1;
        weight.packed = NULL;
        if (cse_element_is_float(weight.element) && (which == NULL || which[i]))
            weight.element = element;
        (void)cse_weights_add(weights, &weight); /* checked when the others were opened */
    }
    *from = NULL;
    return weights;
}
