/* Which parameters stay packed. */
#include "engine/nn/packed_parameters.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"

cse_packed_parameters *cse_packed_parameters_new(cse_arena *arena)
{
    return cse_arena_alloc(arena, sizeof(cse_packed_parameters));
}

void cse_packed_parameters_add(cse_packed_parameters *packed, const cse_packed_parameter *parameter)
{
    CSE_GROW(packed->list, packed->count, packed->capacity);
    packed->list[packed->count++] = *parameter;
}

void cse_packed_parameters_clear(cse_packed_parameters *packed)
{
    if (packed != NULL)
        free(packed->list);
}

void cse_packed_parameters_unpack(cse_packed_parameters *packed, const char *name, const char *why)
{
    if (packed->unpacked_count++ > 0)
        return;
    packed->unpacked = name;
    packed->why = why;
}

const cse_packed_type *cse_packed_parameters_take(cse_packed_parameters *packed, const char *name,
                                                  cse_shape shape, bool trained)
{
    const cse_packed_parameter *found = NULL;
    for (int i = 0; packed != NULL && i < packed->count && found == NULL; i++)
        if (strcmp(packed->list[i].name, name) == 0)
            found = &packed->list[i];
    if (found == NULL || !cse_shape_equal(found->shape, shape)) /* which loading refuses */
        return NULL;
    if (trained && !packed->all) {
        cse_packed_parameters_unpack(packed, found->name, "it is trained");
        return NULL;
    }
    packed->kept++;
    return found->type;
}
