/* A name is compared as a whole first, since it is seldom meant as a regular expression. */
#include "run/travel/tensor_view.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/pattern.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/weights/element.h"

void cse_tensor_view_begin(cse_tensor_view *view)
{
    *view = (cse_tensor_view){ .arena = cse_arena_new() };
}

void cse_tensor_view_clear(cse_tensor_view *view)
{
    cse_checkpoint_destroy(&view->checkpoint);
    free(view->tensors);
    if (view->arena != NULL)
        cse_arena_destroy(&view->arena);
    *view = (cse_tensor_view){ .arena = NULL };
}

static void append(cse_tensor_view *view, const cse_checkpoint_tensor *tensor)
{
    CSE_GROW(view->tensors, view->count, view->capacity);
    view->tensors[view->count++] = *tensor;
}

cse_status cse_tensor_view_load(cse_tensor_view *view, const char *path, const char *text)
{
    char why[256];
    cse_pattern *pattern = text != NULL ? cse_pattern_new(text, why, sizeof why) : NULL;
    if (text != NULL && pattern == NULL)
        return cse_fail(CSE_USAGE, "\"%s\" is no name and no regular expression: %s", text, why);
    cse_status status = cse_checkpoint_load(path, &view->checkpoint);
    for (int i = 0; status == CSE_OK && i < view->checkpoint->tensor_count; i++) {
        const cse_checkpoint_tensor *tensor = &view->checkpoint->tensors[i];
        if (text == NULL || strcmp(text, tensor->name) == 0 ||
            cse_pattern_matches_end(pattern, tensor->name))
            append(view, tensor);
    }
    cse_pattern_destroy(&pattern);
    return status;
}

void cse_tensor_view_add(cse_tensor_view *view, const cse_checkpoint_tensor *tensor)
{
    const size_t elements = (size_t)cse_shape_elements(tensor->shape);
    cse_checkpoint_tensor own = *tensor;
    own.name = cse_arena_string(view->arena, tensor->name);
    own.dtype = tensor->dtype == CSE_INT32 ? CSE_INT32 : CSE_FLOAT32;
    void *values = cse_arena_alloc(view->arena, elements * 4 + 4);
    if (own.dtype == tensor->dtype)
        memcpy(values, tensor->data, elements * 4);
    else
        cse_element_convert(cse_element_of_dtype(tensor->dtype), tensor->data, CSE_ELEMENT_F32,
                            values, elements);
    own.data = values;
    append(view, &own);
}
