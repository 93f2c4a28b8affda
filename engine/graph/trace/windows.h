/* What convolutions and pooling share: windows that slide over [batch, channel, height, width].
 *
 * Attributes: integers[0..1] stride, [2..3] padding, [4..5] dilation, then
 * - convolutions: [6] groups, and for their gradients [7..8] the sizes (height, width) of what is
 *   made: the input's for conv2d_gradient_input, the kernel's for conv2d_gradient_weight;
 * - pooling: [6..7] the kernel's sizes, and [8] for averages: 1 divides by the kernel's size, 0 by
 *   the elements outside the padding. Dilation is 1. */
#ifndef CSE_TRACE_WINDOWS_H
#define CSE_TRACE_WINDOWS_H

#include "engine/graph/trace/arguments.h"

enum {
    CSE_WINDOW_STRIDE = 0,
    CSE_WINDOW_PADDING = 2,
    CSE_WINDOW_DILATION = 4,
    CSE_CONV_GROUPS = 6,
    CSE_CONV_SIZES = 7,
    CSE_POOL_KERNEL = 6,
    CSE_POOL_COUNT_PADDING = 8,
};

/* A convolution's sizes, from its input [batch, in, height, width] and weight [out, in / groups,
 * kernel height, kernel width]. */
typedef struct cse_conv2d_sizes {
    int64_t batch, in, out, groups;
    int64_t height[2]; /* of the input: height and width */
    int64_t kernel[2];
    int64_t made[2]; /* of the output */
    int64_t stride[2], padding[2], dilation[2];
} cse_conv2d_sizes;

/* The options that give these attributes. */
cse_conv2d_options cse_conv2d_options_of(const cse_attributes *attributes);

/* Checks and fills; fails with CSE_SHAPE. */
cse_status cse_conv2d_sizes_of(const cse_attributes *attributes, cse_shape input, cse_shape weight,
                               cse_conv2d_sizes *sizes);

/* The element of the input that tap `tap` of the kernel reads for output position `at` (both row,
 * column); `plane` counts the input's channels over all images. -1: it lies in the padding. And the
 * element of the output whose window reads input position `at` with that tap; -1: there is none. */
int64_t cse_conv2d_input_index(const cse_conv2d_sizes *sizes, int64_t plane, const int64_t at[2],
                               const int64_t tap[2]);
int64_t cse_conv2d_output_index(const cse_conv2d_sizes *sizes, int64_t plane, const int64_t at[2],
                                const int64_t tap[2]);

/* Calls `visit` for each product of a convolution: output element, input element, weight element
 * (flat indices), in that nested order. */
typedef void cse_conv2d_visit(void *self, int64_t output, int64_t input, int64_t weight);
void cse_conv2d_walk(const cse_conv2d_sizes *sizes, cse_conv2d_visit *visit, void *self);

/* Reference kernel of the three convolution ops: accumulates a * b into `made` for each product,
 * where `made`, a and b are numbered 0 output, 1 input, 2 weight. In double, or as
 * engine/graph/trace/accumulate.h says. */
typedef struct cse_conv2d_roles {
    int made, a, b;
} cse_conv2d_roles;
void cse_reference_conv2d(const cse_reference *call, const cse_conv2d_sizes *sizes,
                          cse_conv2d_roles roles);

/* Pooling: the attributes of `options`, the output's shape, and the elements of one window. */
void cse_pool2d_attributes(const cse_pool2d_options *options, cse_attributes *attributes);
cse_status cse_infer_pool2d(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);
/* As the input (inputs[0]); inputs[1] must be the gradient of the pooled output. */
cse_status cse_infer_pool2d_gradient(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);

/* One window of an output element: rows [first[0], end[0]) and columns [first[1], end[1]) of the
 * input plane that starts at `plane`, with rows of `width`. */
typedef struct cse_pool2d_window {
    int64_t plane, width, first[2], end[2];
    double divisor; /* of an average */
} cse_pool2d_window;
cse_pool2d_window cse_pool2d_window_of(const cse_attributes *attributes, cse_shape input,
                                       cse_shape output, int64_t element);

#endif
