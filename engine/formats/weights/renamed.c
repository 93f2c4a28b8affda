/* Each weight of the view is read through from the one at its position in the other list. */
#include "engine/formats/weights/renamed.h"

#include <stdlib.h>

typedef struct renamed {
    cse_weights *from;
    bool owns;
    int *sources; /* of each weight */
    int capacity;
} renamed;

static cse_status read_renamed(cse_weights *weights, int index, uint64_t first, size_t bytes,
                               void *to)
{
    const renamed *self = weights->self;
    return cse_weights_read(self->from, self->sources[index], first, bytes, to);
}

static void close_renamed(cse_weights *weights)
{
    renamed *self = weights->self;
    free(self->sources);
    if (self->owns)
        cse_weights_close(&self->from);
}

cse_weights *cse_renamed_new(cse_weights *from, bool owns)
{
    cse_weights *view = cse_weights_new(from->path);
    renamed *self = cse_arena_alloc(view->arena, sizeof *self);
    *self = (renamed){ .from = from, .owns = owns };
    view->self = self;
    view->read = read_renamed;
    view->close = close_renamed;
    view->format = from->format;
    view->model_name = from->model_name;
    view->config = from->config;
    view->origin = from->origin;
    return view;
}

void cse_renamed_own(cse_weights *view)
{
    renamed *self = view->self;
    self->owns = true;
}

cse_status cse_renamed_add(cse_weights *view, int source, const char *name)
{
    renamed *self = view->self;
    cse_weight weight = self->from->list[source];
    weight.name = name;
    weight.file = -1;
    weight.packed = NULL;
    weight.span = NULL;
    CSE_GROW(self->sources, view->count, self->capacity);
    self->sources[view->count] = source;
    return cse_weights_add(view, &weight);
}
