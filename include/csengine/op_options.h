/* What the functions of ops.h take besides tensors and numbers: lists of axes, and the options of
 * ops that have many. A zeroed struct is always a valid choice; 0 stands for the default. */
#ifndef CSENGINE_OP_OPTIONS_H
#define CSENGINE_OP_OPTIONS_H

#include "csengine/tensor.h"

/* cse_sum(x, cse_axes(0, -1), false): an array and its length, as two arguments. */
#define cse_axes(...) \
    (const int[]){ __VA_ARGS__ }, (int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* Each pair is [height, width]. */
typedef struct cse_conv2d_options {
    int64_t stride[2];   /* 0: 1 */
    int64_t padding[2];  /* zeros on each side */
    int64_t dilation[2]; /* 0: 1 */
    int64_t groups;      /* 0: 1 */
} cse_conv2d_options;

typedef struct cse_pool2d_options {
    int64_t kernel[2];
    int64_t stride[2];    /* 0: the kernel's size */
    int64_t padding[2];   /* at most half the kernel on each side */
    bool exclude_padding; /* average pooling divides by the elements outside the padding */
} cse_pool2d_options;

typedef struct cse_attention_options {
    bool causal;                /* query i sees keys 0 to i */
    double dropout;             /* of the weights, in [0, 1); for training */
    const char *dropout_stream; /* its stream of random numbers; NULL: "attention" */
} cse_attention_options;

#endif
