/* Convolutions as products, one for each image and group. One operand is a matrix of gathered
 * columns, with zeros for what lies in the padding:
 *
 *   made     product [m, n]              k                    gathered
 *   output   output channel, position    input channel, tap   input at position and tap
 *   input    input channel, position     output channel, tap  output's gradient that reads it
 *   weight   output channel,             position             input, as for the output
 *            input channel and tap
 *
 * Each product is one chain of fused multiply-adds over k (matmul_tiles.h). The weight's gradients
 * of the images are added in the order of the images; a bias and relu follow the whole sum. */
#include "engine/code/kernels/portable_conv2d.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/matmul_sizes.h"
#include "engine/code/kernels/scratch.h"

typedef struct portable_convolution {
    cse_kernel base;
    cse_conv2d_sizes sizes;
    cse_conv2d_made made;
    int operands[2], bias;
    bool relu;
    cse_kernel *product;
    cse_matmul_sizes of;
    cse_scratch *scratch; /* columns, then turned weights (input) or one image's sums (weight) */
    int64_t column_floats;
} portable_convolution;

/* ---- gathering ---- */

/* Positions [range[0], range[1]) of the output along one axis whose tap lies inside the input. */
static void inside(const cse_conv2d_sizes *s, int axis, int64_t tap, int64_t range[2])
{
    const int64_t offset = tap * s->dilation[axis] - s->padding[axis], stride = s->stride[axis];
    const int64_t last = s->height[axis] - 1 - offset; /* position * stride is at most this */
    range[0] = offset >= 0 ? 0 : (stride - 1 - offset) / stride;
    range[1] = last < 0 ? 0 : last / stride + 1;
    range[1] = range[1] < s->made[axis] ? range[1] : s->made[axis];
    range[0] = range[0] < range[1] ? range[0] : range[1];
}

/* The part of the input, or of the output, that one channel's tap connects. */
typedef struct connection {
    int64_t rows[2], columns[2]; /* of the output */
    int64_t offset[2];           /* of the tap: input = output * stride + offset */
} connection;

static connection connect(const cse_conv2d_sizes *s, int64_t tap)
{
    const int64_t at[2] = { tap / s->kernel[1], tap % s->kernel[1] };
    connection c;
    inside(s, 0, at[0], c.rows);
    inside(s, 1, at[1], c.columns);
    for (int axis = 0; axis < 2; axis++)
        c.offset[axis] = at[axis] * s->dilation[axis] - s->padding[axis];
    return c;
}

/* One row of columns: what one tap reads of one input plane, for each position of the output. */
static void gather_input(const cse_conv2d_sizes *s, const float *plane, int64_t tap, float *to)
{
    const connection c = connect(s, tap);
    const int64_t stride = s->stride[1];
    memset(to, 0, (size_t)(s->made[0] * s->made[1]) * sizeof *to);
    for (int64_t r = c.rows[0]; r < c.rows[1]; r++) {
        const float *from = plane + (r * s->stride[0] + c.offset[0]) * s->height[1] + c.offset[1];
        float *row = to + r * s->made[1];
        if (stride == 1)
            memcpy(row + c.columns[0], from + c.columns[0],
                   (size_t)(c.columns[1] - c.columns[0]) * sizeof *row);
        else
            for (int64_t i = c.columns[0]; i < c.columns[1]; i++)
                row[i] = from[i * stride];
    }
}

/* The reverse: the output's gradients that read each position of an input plane by one tap. */
static void gather_output(const cse_conv2d_sizes *s, const float *plane, int64_t tap, float *to)
{
    const connection c = connect(s, tap);
    const int64_t stride = s->stride[1];
    memset(to, 0, (size_t)(s->height[0] * s->height[1]) * sizeof *to);
    for (int64_t r = c.rows[0]; r < c.rows[1]; r++) {
        float *row = to + (r * s->stride[0] + c.offset[0]) * s->height[1] + c.offset[1];
        const float *from = plane + r * s->made[1];
        if (stride == 1)
            memcpy(row + c.columns[0], from + c.columns[0],
                   (size_t)(c.columns[1] - c.columns[0]) * sizeof *row);
        else
            for (int64_t i = c.columns[0]; i < c.columns[1]; i++)
                row[i * stride] = from[i];
    }
}

/* Columns of an image and group: [channel, tap][position]. */
static void gather(const portable_convolution *c, const float *values, float *to)
{
    const cse_conv2d_sizes *s = &c->sizes;
    const int64_t taps = s->kernel[0] * s->kernel[1];
    const bool reverse = c->made == CSE_CONV2D_INPUT;
    const int64_t made = s->made[0] * s->made[1], read = s->height[0] * s->height[1];
    const int64_t channels = (reverse ? s->out : s->in) / s->groups;
    for (int64_t channel = 0; channel < channels; channel++)
        for (int64_t tap = 0; tap < taps; tap++, to += reverse ? read : made) {
            if (reverse)
                gather_output(s, values + channel * made, tap, to);
            else
                gather_input(s, values + channel * read, tap, to);
        }
}

/* A group's weights [output channel][input channel][tap] as [input channel][output channel, tap].
 */
static void turn_weight(const cse_conv2d_sizes *s, const float *weight, float *to)
{
    const int64_t taps = s->kernel[0] * s->kernel[1];
    const int64_t ins = s->in / s->groups, outs = s->out / s->groups;
    for (int64_t i = 0; i < ins; i++)
        for (int64_t o = 0; o < outs; o++, to += taps)
            memcpy(to, weight + (o * ins + i) * taps, (size_t)taps * sizeof *to);
}

/* ---- the products ---- */

static void multiply(const portable_convolution *c, const float *a, const float *b, float *to)
{
    const void *const operands[2] = { a, b };
    c->product->run(c->product, operands, to);
}

static void add_bias(const portable_convolution *c, const float *bias, float *to)
{
    for (int64_t row = 0; row < c->of.m; row++)
        for (int64_t i = row * c->of.n; i < (row + 1) * c->of.n; i++) {
            const float sum = bias != NULL ? to[i] + bias[row] : to[i];
            to[i] = c->relu && sum < 0 ? 0 : sum;
        }
}

/* Sizes of one group's part of an image and of the weight. */
typedef struct parts {
    int64_t input, output, weight;
} parts;

static parts parts_of(const cse_conv2d_sizes *s)
{
    return (parts){ s->in / s->groups * s->height[0] * s->height[1],
                    s->out / s->groups * s->made[0] * s->made[1],
                    s->out / s->groups * (s->in / s->groups) * s->kernel[0] * s->kernel[1] };
}

static void make_output(const portable_convolution *c, const void *const inputs[], float *columns,
                        float *output)
{
    const parts p = parts_of(&c->sizes);
    const float *x = inputs[c->operands[0]], *weight = inputs[c->operands[1]];
    const float *bias = c->bias >= 0 ? inputs[c->bias] : NULL;
    for (int64_t i = 0; i < c->sizes.batch * c->sizes.groups; i++) {
        const int64_t group = i % c->sizes.groups;
        gather(c, x + i * p.input, columns);
        multiply(c, weight + group * p.weight, columns, output + i * p.output);
        if (bias != NULL || c->relu)
            add_bias(c, bias != NULL ? bias + group * c->of.m : NULL, output + i * p.output);
    }
}

static void make_input(const portable_convolution *c, const void *const inputs[], float *columns,
                       float *output)
{
    const parts p = parts_of(&c->sizes);
    const float *weight = inputs[c->operands[0]], *gradient = inputs[c->operands[1]];
    float *turned = columns + c->column_floats;
    for (int64_t group = 0; group < c->sizes.groups; group++) {
        turn_weight(&c->sizes, weight + group * p.weight, turned);
        for (int64_t image = 0; image < c->sizes.batch; image++) {
            const int64_t i = image * c->sizes.groups + group;
            gather(c, gradient + i * p.output, columns);
            multiply(c, turned, columns, output + i * p.input);
        }
    }
}

static void make_weight(const portable_convolution *c, const void *const inputs[], float *columns,
                        float *output)
{
    const parts p = parts_of(&c->sizes);
    const float *x = inputs[c->operands[0]], *gradient = inputs[c->operands[1]];
    float *sums = columns + c->column_floats;
    for (int64_t i = 0; i < c->sizes.batch * c->sizes.groups; i++) {
        float *made = output + i % c->sizes.groups * p.weight;
        gather(c, x + i * p.input, columns);
        multiply(c, gradient + i * p.output, columns, i < c->sizes.groups ? made : sums);
        for (int64_t e = 0; i >= c->sizes.groups && e < p.weight; e++)
            made[e] += sums[e];
    }
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const portable_convolution *c = (const portable_convolution *)base;
    float *columns = cse_scratch_view(c->scratch);
    if (c->made == CSE_CONV2D_OUTPUT)
        make_output(c, inputs, columns, output);
    else if (c->made == CSE_CONV2D_INPUT)
        make_input(c, inputs, columns, output);
    else
        make_weight(c, inputs, columns, output);
}

/* ---- making the kernel ---- */

static void destroy(cse_kernel *base)
{
    portable_convolution *c = (portable_convolution *)base;
    cse_kernel_destroy(&c->product);
    cse_scratch_release(&c->scratch);
    free(c);
}

static cse_matmul_sizes product_of(const cse_conv2d_sizes *s, cse_conv2d_made made)
{
    const int64_t taps = s->kernel[0] * s->kernel[1], positions = s->made[0] * s->made[1];
    const int64_t outs = s->out / s->groups, ins = s->in / s->groups;
    cse_matmul_sizes of = { .batches = 1, .m = outs, .n = positions, .k = ins * taps };
    if (made == CSE_CONV2D_INPUT)
        of = (cse_matmul_sizes){
            .batches = 1, .m = ins, .n = s->height[0] * s->height[1], .k = outs * taps
        };
    else if (made == CSE_CONV2D_WEIGHT)
        of = (cse_matmul_sizes){
            .batches = 1, .m = outs, .n = ins * taps, .k = positions, .transpose_b = true
        };
    return of;
}

cse_status cse_kernel_new_portable_conv2d(const cse_kernel_plan *plan,
                                          const cse_conv2d_sizes *sizes, cse_conv2d_made made,
                                          cse_kernel **kernel)
{
    char text[256];
    if (plan->dtype != CSE_FLOAT32 || !cse_kernel_plan_has_one_type(plan))
        return cse_fail(CSE_UNAVAILABLE, "%s: portable convolutions are in float32",
                        cse_kernel_plan_text(plan, text, sizeof text));
    portable_convolution *c = cse_calloc(1, sizeof *c);
    cse_kernel_plan product = *plan;
    product.operands[0] = 0;
    product.operands[1] = 1;
    product.bias = -1;
    product.relu = false;
    *c = (portable_convolution){
        .base = { .run = run, .destroy = destroy, .implementation = "columns", .order = "chain" },
        .sizes = *sizes,
        .made = made,
        .operands = { plan->operands[0], plan->operands[1] },
        .bias = plan->bias,
        .relu = plan->relu,
        .of = product_of(sizes, made),
    };
    const int64_t line = 64 / (int64_t)sizeof(float), gathered = c->of.n * c->of.k;
    c->column_floats = (gathered + line - 1) / line * line;
    c->base.flops = (double)(sizes->batch * sizes->groups) * cse_matmul_flops(&c->of);
    /* An owner of its own: the product's scratch memory is the graph's. */
    c->scratch =
        cse_scratch_share((const char *)plan->graph + 2,
                          (size_t)(c->column_floats + parts_of(sizes).weight) * sizeof(float));
    *kernel = &c->base;
    cse_status status = cse_kernel_new_product(&product, &c->of, &c->product);
    if (status != CSE_OK)
        cse_kernel_destroy(kernel);
    return status;
}
