/* A model's forward pass, for formats that hold one beside the weights. */
#ifndef CSE_WEIGHTS_FORWARD_PASS_H
#define CSE_WEIGHTS_FORWARD_PASS_H

#include "csengine/tensor.h"
#include "engine/base/text.h"

typedef struct cse_forward_weight {
    const char *name; /* as in cse_weights */
    cse_shape shape;
} cse_forward_weight;

/* The weights live as long as the arena that they were made in. */
typedef struct cse_forward_pass {
    cse_text graph; /* the fields of an ONNX GraphProto but for its weights, which it names */
    cse_forward_weight *weights; /* those it takes, all float32 */
    int weight_count;
} cse_forward_pass;

#endif
