/* Tensors of a step, chosen by a pattern of their names. */
#ifndef CSE_RUN_TRAVEL_TENSOR_VIEW_H
#define CSE_RUN_TRAVEL_TENSOR_VIEW_H

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/checkpoint.h"

typedef struct cse_tensor_view {
    cse_arena *arena;
    cse_checkpoint *checkpoint;     /* that the states are of; NULL: none */
    cse_checkpoint_tensor *tensors; /* [count], borrowed from the above */
    int count, capacity;
} cse_tensor_view;

/* Release with cse_tensor_view_clear, also after a failure. */
void cse_tensor_view_begin(cse_tensor_view *view);
void cse_tensor_view_clear(cse_tensor_view *view);

/* The tensors of a checkpoint whose names, or ends of their names behind a dot, a regular
 * expression matches; NULL: all. CSE_USAGE: it is none. */
cse_status cse_tensor_view_load(cse_tensor_view *view, const char *path, const char *pattern);

/* Adds a tensor; its elements are copied, and 16-bit floats become float32. */
void cse_tensor_view_add(cse_tensor_view *view, const cse_checkpoint_tensor *tensor);

#endif
