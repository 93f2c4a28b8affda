/* Convolutions whose accumulation is emulated, and their gradients: each is a tiled product of two
 * matrices that are gathered from the operands, zeros for what lies in the padding.
 *
 *   made        one product for       m                n                  k
 *   output      an image and a group  output channel   position           channel, tap
 *   input       an image and a group  input channel    position           output channel, tap
 *   weight      a group               output channel   input channel, tap image, position */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/types/dtype.h"
#include "engine/code/kernels/tiled.h"
#include "engine/graph/trace/windows.h"

typedef enum result_role { OUTPUT, INPUT, WEIGHT } result_role;

typedef struct tiled_convolution {
    cse_kernel base;
    const cse_node *product;
    cse_conv2d_sizes sizes;
    result_role made;
    cse_dtype dtype; /* of the result */
    int operands[2], bias;
    bool relu;
    cse_tiled_sizes of;
    cse_tiled *tiled;
    uint16_t *a, *b; /* [m, k], [n, k] */
    float *sums;     /* [m, n] */
} tiled_convolution;

/* Tap number `tap` of a channel, as row and column of the kernel. */
static void tap_of(const cse_conv2d_sizes *s, int64_t tap, int64_t at[2])
{
    at[0] = tap / s->kernel[1];
    at[1] = tap % s->kernel[1];
}

/* Element (i, p) of the first matrix: its number in `weight` or, for `made` weight, in the
 * output's gradient. */
static int64_t first_index(const tiled_convolution *c, const int64_t place[2], int64_t i, int64_t p)
{
    const cse_conv2d_sizes *s = &c->sizes;
    int64_t taps = s->kernel[0] * s->kernel[1], per_group = s->in / s->groups;
    int64_t outs = s->out / s->groups, positions = s->made[0] * s->made[1];
    if (c->made == OUTPUT)
        return (place[1] * outs + i) * per_group * taps + p;
    if (c->made == INPUT)
        return ((place[1] * outs + p / taps) * per_group + i) * taps + p % taps;
    return (p / positions * s->out + place[1] * outs + i) * positions + p % positions;
}

/* Element (i, p) of the second matrix: its number in the input or, for `made` input, in the
 * output's gradient; -1: padding. */
static int64_t second_index(const tiled_convolution *c, const int64_t place[2], int64_t i,
                            int64_t p)
{
    const cse_conv2d_sizes *s = &c->sizes;
    int64_t taps = s->kernel[0] * s->kernel[1], per_group = s->in / s->groups, tap[2];
    int64_t positions = s->made[0] * s->made[1];
    bool weight = c->made == WEIGHT;
    tap_of(s, (weight ? i : p) % taps, tap);
    if (c->made == INPUT) {
        const int64_t at[2] = { i / s->height[1], i % s->height[1] };
        int64_t plane = place[0] * s->out + place[1] * (s->out / s->groups) + p / taps;
        return cse_conv2d_output_index(s, plane, at, tap);
    }
    int64_t position = (weight ? p : i) % positions, image = weight ? p / positions : place[0];
    const int64_t at[2] = { position / s->made[1], position % s->made[1] };
    int64_t plane = image * s->in + place[1] * per_group + (weight ? i : p) / taps;
    return cse_conv2d_input_index(s, plane, at, tap);
}

static void gather(const tiled_convolution *c, const int64_t place[2], const void *const inputs[])
{
    const uint16_t *first = inputs[c->operands[c->made == WEIGHT ? 1 : c->made == INPUT ? 0 : 1]];
    const uint16_t *second = inputs[c->operands[c->made == WEIGHT ? 0 : c->made == INPUT ? 1 : 0]];
    for (int64_t i = 0; i < c->of.m; i++)
        for (int64_t p = 0; p < c->of.k; p++)
            c->a[i * c->of.k + p] = first[first_index(c, place, i, p)];
    for (int64_t i = 0; i < c->of.n; i++)
        for (int64_t p = 0; p < c->of.k; p++) {
            int64_t index = second_index(c, place, i, p);
            c->b[i * c->of.k + p] = index < 0 ? 0 : second[index];
        }
}

/* Bias, relu, and the store of one product from element `first` on. */
static void finish(const tiled_convolution *c, const float *bias, int64_t first, void *output)
{
    for (int64_t row = 0; row < c->of.m; row++)
        for (int64_t i = row * c->of.n; i < (row + 1) * c->of.n; i++) {
            float sum = c->sums[i] + (bias ? bias[row] : 0);
            sum = c->relu && sum < 0 ? 0 : sum;
            if (c->dtype == CSE_FLOAT32)
                ((float *)output)[first + i] = sum;
            else
                ((uint16_t *)output)[first + i] = cse_store_format(c->dtype, sum);
        }
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const tiled_convolution *c = (const tiled_convolution *)base;
    const cse_conv2d_sizes *s = &c->sizes;
    const float *bias = c->bias >= 0 ? inputs[c->bias] : NULL;
    const cse_tiled_operand operands[2] = { { c->a, c->of.k, 1 }, { c->b, c->of.k, 1 } };
    int64_t images = c->made == WEIGHT ? 1 : s->batch, first = 0;
    for (int64_t image = 0; image < images; image++)
        for (int64_t group = 0; group < s->groups; group++) {
            const int64_t place[2] = { image, group };
            gather(c, place, inputs);
            cse_tiled_run(c->tiled, base, operands,
                          (cse_tiled_place){ cse_tiled_sample(c->product, base), (uint32_t)first },
                          c->sums);
            finish(c, bias ? bias + group * c->of.m : NULL, first, output);
            first += c->of.m * c->of.n;
        }
}

static void destroy(cse_kernel *base)
{
    tiled_convolution *c = (tiled_convolution *)base;
    cse_tiled_destroy(&c->tiled);
    free(c->a);
    free(c->b);
    free(c->sums);
    free(c);
}

static cse_tiled_sizes product_sizes(const cse_conv2d_sizes *s, result_role made)
{
    int64_t taps = s->kernel[0] * s->kernel[1], positions = s->made[0] * s->made[1];
    int64_t outs = s->out / s->groups, ins = s->in / s->groups;
    if (made == OUTPUT)
        return (cse_tiled_sizes){ outs, positions, ins * taps };
    if (made == INPUT)
        return (cse_tiled_sizes){ ins, s->height[0] * s->height[1], outs * taps };
    return (cse_tiled_sizes){ outs, ins * taps, s->batch * positions };
}

static cse_status new_kernel(const cse_kernel_plan *plan, result_role made, cse_kernel **result)
{
    const cse_node *node = plan->product;
    cse_shape input = made == INPUT ? node->shape : node->inputs[0]->shape;
    cse_shape weight = made == WEIGHT ? node->shape : node->inputs[made == INPUT ? 0 : 1]->shape;
    cse_conv2d_sizes sizes;
    CSE_TRY(cse_conv2d_sizes_of(&node->attributes, input, weight, &sizes));
    const cse_tiled_sizes of = product_sizes(&sizes, made);
    tiled_convolution *c = cse_calloc(1, sizeof *c);
    *c = (tiled_convolution){
        .base = { .run = run, .destroy = destroy, .implementation = "tiled" },
        .product = node,
        .sizes = sizes,
        .made = made,
        .dtype = plan->dtype,
        .operands = { plan->operands[0], plan->operands[1] },
        .bias = plan->bias,
        .relu = plan->relu,
        .of = of,
        .tiled = cse_tiled_new(node, of),
        .a = cse_calloc((size_t)(of.m * of.k + 1), sizeof(uint16_t)),
        .b = cse_calloc((size_t)(of.n * of.k + 1), sizeof(uint16_t)),
        .sums = cse_aligned_calloc((size_t)(of.m * of.n + 1) * sizeof(float)),
    };
    int64_t products = made == WEIGHT ? sizes.groups : sizes.groups * sizes.batch;
    c->base.flops = 2.0 * (double)products * (double)of.m * (double)of.n * (double)of.k;
    *result = &c->base;
    return CSE_OK;
}

cse_status cse_kernel_new_tiled_conv2d(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_kernel(plan, OUTPUT, kernel);
}

cse_status cse_kernel_new_tiled_conv2d_gradient_input(const cse_kernel_plan *plan,
                                                      cse_kernel **kernel)
{
    return new_kernel(plan, INPUT, kernel);
}

cse_status cse_kernel_new_tiled_conv2d_gradient_weight(const cse_kernel_plan *plan,
                                                       cse_kernel **kernel)
{
    return new_kernel(plan, WEIGHT, kernel);
}
