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

/* Of cse_conv1d; all as in cse_conv2d_options. */
typedef struct cse_conv1d_options {
    int64_t stride, padding, dilation, groups;
} cse_conv1d_options;

/* Of cse_conv_transpose2d and cse_conv_transpose1d. */
typedef struct cse_conv_transpose2d_options {
    int64_t stride[2];         /* 0: 1 */
    int64_t padding[2];        /* elements that are left out of the result on each side */
    int64_t output_padding[2]; /* elements more at the end, to tell apart sizes that a stride maps
                                  to one */
    int64_t dilation[2];       /* 0: 1 */
    int64_t groups;            /* 0: 1 */
} cse_conv_transpose2d_options;

typedef struct cse_conv_transpose1d_options {
    int64_t stride, padding, output_padding, dilation, groups;
} cse_conv_transpose1d_options;

typedef struct cse_pool2d_options {
    int64_t kernel[2];
    int64_t stride[2];    /* 0: the kernel's size */
    int64_t padding[2];   /* at most half the kernel on each side */
    bool exclude_padding; /* average pooling divides by the elements outside the padding */
} cse_pool2d_options;

/* What becomes of the losses of elements or rows. */
typedef enum cse_reduction {
    CSE_REDUCTION_MEAN,
    CSE_REDUCTION_SUM,
    CSE_REDUCTION_NONE, /* each stays */
} cse_reduction;

/* The label of rows that losses of classes leave out, as in PyTorch. */
enum { CSE_DEFAULT_IGNORE_INDEX = -100 };

typedef struct cse_cross_entropy_options {
    cse_reduction reduction;
    bool has_ignore_index;     /* rows labelled ignore_index do not count; false: -100 do not */
    int32_t ignore_index;      /* INT32_MIN: all count */
    cse_tensor *class_weights; /* floats [classes]; NULL: all 1 */
    double label_smoothing;    /* part of the target that all classes share, in [0, 1] */
} cse_cross_entropy_options;

typedef struct cse_interpolate_options {
    int64_t size[2];    /* of the result: height, width */
    bool bilinear;      /* false: the nearest element, as PyTorch's mode "nearest" */
    bool align_corners; /* bilinear: the corners' centres stay where they are */
} cse_interpolate_options;

typedef struct cse_rotary_options {
    double base;           /* of the wave lengths; 0: 10000 */
    int64_t size;          /* channels of a head that are turned, the first ones; 0: all */
    bool interleaved;      /* pairs of neighbours are turned (GPT-J), not of halves (Llama) */
    cse_tensor *positions; /* int32 [time] or [batch, time]; NULL: 0, 1, ... */
    /* Positions, and so angles, are divided by this (position interpolation); 0: 1. */
    double scaling;
    /* Llama 3: pairs that turn less than low_frequency times within original_positions are scaled,
     * those that turn more than high_frequency times are not, others in between. 0: all are. */
    double original_positions, low_frequency, high_frequency;
    double magnitude; /* cosines and sines are multiplied by it; 0: 1 */
    /* The speed of each pair is divided by its factor [size / 2], in sequences of more than
     * `long_from` tokens (0: none are so long) by its long_factor. NULL: it is not. */
    const double *factors, *long_factors;
    int64_t long_from;
    /* NTK-aware: sequences of n tokens, more than dynamic_from, have the base times
     * (dynamic_factor * n / dynamic_from - (dynamic_factor - 1))^(size / (size - 2)). 0: none. */
    int64_t dynamic_from;
    double dynamic_factor;
} cse_rotary_options;

typedef struct cse_relative_bias_options {
    bool bidirectional;   /* as in an encoder: keys after the query have buckets of their own */
    int64_t max_distance; /* from here on one bucket; 0: 128 */
} cse_relative_bias_options;

typedef struct cse_attention_options {
    bool causal;                /* query i sees keys 0 to i */
    double dropout;             /* of the weights, in [0, 1); for training */
    const char *dropout_stream; /* its stream of random numbers; NULL: "attention" */
    double scale;               /* of the products of queries and keys; 0: 1 / sqrt(head) */
    int64_t window;             /* query i sees keys less than `window` places away; 0: all */
    /* Broadcasts to [batch, heads, query, key]. A bool: whether the query sees the key. Floats: are
     * added to the scaled products, and have a gradient. NULL: none. */
    cse_tensor *mask;
    cse_tensor *key_lengths; /* int32 [batch]: the keys from this one on are padding; NULL: none */
    int64_t sink;            /* the first keys, which a window does not hide (Xiao et al. 2023) */
    double cap; /* scaled products become cap * tanh(product / cap), before masks; 0: they do not */
    /* The queries that see a key: int32 [batch, 2, key], or [1, 2, key] for all samples; key j is
     * seen by queries from spans[.][0][j] to before spans[.][1][j]. NULL: by all. */
    cse_tensor *spans;
} cse_attention_options;

#endif
