/* The elements of each weight in a block of its own. */
#include "engine/formats/weights/in_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct in_memory {
    float **values;
    int capacity;
} in_memory;

static cse_status read_memory(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    const in_memory *self = weights->self;
    memcpy(to, (const char *)self->values[index] + first, bytes);
    return CSE_OK;
}

static void close_memory(cse_weights *weights)
{
    in_memory *self = weights->self;
    for (int i = 0; i < weights->count; i++)
        free(self->values[i]);
    free(self->values);
}

cse_weights *cse_in_memory_new(const char *path)
{
    cse_weights *weights = cse_weights_new(path);
    weights->self = cse_arena_alloc(weights->arena, sizeof(in_memory));
    weights->read = read_memory;
    weights->close = close_memory;
    return weights;
}

cse_status cse_in_memory_add(cse_weights *weights, const char *name, cse_shape shape,
                             float **values)
{
    in_memory *self = weights->self;
    const cse_weight weight = {
        .name = name, .element = CSE_ELEMENT_F32, .shape = shape, .file = -1
    };
    CSE_GROW(self->values, weights->count, self->capacity);
    CSE_TRY(cse_weights_add(weights, &weight));
    *values = cse_calloc((size_t)cse_weight_bytes(&weight) + 1, 1);
    self->values[weights->count - 1] = *values;
    return CSE_OK;
}
