/* Convolutions and their two gradients, by oneDNN's direct convolution.
 *
 * oneDNN computes in layouts of its own choice (channels in blocks of 16); the plain operands are
 * copied to them before the call, and the result back. The batch is computed in parts of a few
 * images, whose copies stay in the cache. The parts depend on the sizes only.
 *
 * Its sums depend on the machine: portable graphs get products of ours (portable_conv2d.h). */
#include <string.h>

#include "engine/code/kernels/dnnl.h"
#include "engine/code/kernels/empty.h"
#include "engine/code/kernels/portable_conv2d.h"
#include "engine/graph/trace/windows.h"

/* The tensors of a convolution; any of the first three may be the result. */
typedef enum role { INPUT, WEIGHT, OUTPUT, BIAS, ROLE_COUNT } role;

/* At most this much for the images of a part: half of a small second-level cache. */
enum { MOST_PART_BYTES = 256 << 10 };

typedef struct convolution {
    const cse_kernel_plan *plan;
    cse_conv2d_sizes sizes;
    int64_t parts, part; /* of the batch: how many, and images of each */
    dnnl_memory_desc_t plain[ROLE_COUNT], any[ROLE_COUNT];
    dnnl_dims_t stride, dilation, padding_before, padding_after;
} convolution;

static dnnl_status_t describe_tensor(convolution *c, role which, int rank, const dnnl_dims_t sizes)
{
    dnnl_data_type_t type = cse_dnnl_type(c->plan->dtype);
    dnnl_dims_t strides = { 0 };
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= sizes[i];
    }
    dnnl_status_t status =
        dnnl_memory_desc_init_by_strides(&c->plain[which], rank, sizes, type, strides);
    if (status == dnnl_success)
        status = dnnl_memory_desc_init_by_tag(&c->any[which], rank, sizes, type,
                                              which == BIAS ? dnnl_a : dnnl_format_tag_any);
    return status;
}

static cse_status describe(convolution *c)
{
    const cse_conv2d_sizes *s = &c->sizes;
    const dnnl_dims_t input = { c->part, s->in, s->height[0], s->height[1] };
    const dnnl_dims_t output = { c->part, s->out, s->made[0], s->made[1] };
    const dnnl_dims_t bias = { s->out };
    dnnl_dims_t weight = { s->groups, s->out / s->groups, s->in / s->groups, s->kernel[0],
                           s->kernel[1] };
    int skip = s->groups == 1 ? 1 : 0; /* no group axis where there is one group */
    if (skip)
        memmove(weight, weight + 1, 4 * sizeof *weight);
    dnnl_status_t status = describe_tensor(c, INPUT, 4, input);
    if (status == dnnl_success)
        status = describe_tensor(c, OUTPUT, 4, output);
    if (status == dnnl_success)
        status = describe_tensor(c, WEIGHT, 5 - skip, weight);
    if (status == dnnl_success)
        status = describe_tensor(c, BIAS, 1, bias);
    for (int i = 0; i < 2; i++) {
        int64_t reach = s->dilation[i] * (s->kernel[i] - 1) + 1;
        c->stride[i] = s->stride[i];
        c->dilation[i] = s->dilation[i] - 1;
        c->padding_before[i] = s->padding[i];
        /* Up to the end of the last window; later rows reach no output. */
        c->padding_after[i] =
            (s->made[i] - 1) * s->stride[i] + reach - s->height[i] - s->padding[i];
    }
    return cse_dnnl_check(c->plan, status);
}

static dnnl_status_t describe_forward(const convolution *c, dnnl_convolution_desc_t *description)
{
    return dnnl_dilated_convolution_forward_desc_init(
        description, dnnl_forward_training, dnnl_convolution_direct, &c->any[INPUT],
        &c->any[WEIGHT], c->plan->bias >= 0 ? &c->any[BIAS] : NULL, &c->any[OUTPUT], c->stride,
        c->dilation, c->padding_before, c->padding_after);
}

/* Whether the result is empty or its sums have no terms. */
static bool is_empty(const convolution *c)
{
    const cse_conv2d_sizes *s = &c->sizes;
    return s->batch == 0 || s->in == 0 || s->out == 0;
}

static cse_status new_empty(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    char text[256];
    int64_t elements = cse_shape_elements(plan->product->shape);
    if (elements > 0 && plan->bias >= 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "%s: a convolution with 0 input channels cannot have a bias",
                        cse_kernel_plan_text(plan, text, sizeof text));
    *kernel = cse_kernel_new_empty(plan, elements > 0 ? 1 : 0, elements);
    return CSE_OK;
}

/* ---- making kernels ---- */

/* The sizes of one image's input and output. */
static size_t image_bytes(const convolution *c, role which)
{
    const cse_conv2d_sizes *s = &c->sizes;
    const int64_t elements =
        which == INPUT ? s->in * s->height[0] * s->height[1] : s->out * s->made[0] * s->made[1];
    return (size_t)elements * cse_dtype_size(c->plan->dtype);
}

/* The largest equal parts of the batch that are small enough. A sum over the batch is not cut. */
static void choose_parts(convolution *c, bool sums_batch)
{
    const int64_t batch = c->sizes.batch;
    const size_t bytes = image_bytes(c, INPUT) + image_bytes(c, OUTPUT);
    c->parts = 1;
    while (!sums_batch && c->parts < batch &&
           (batch % c->parts != 0 || (size_t)(batch / c->parts) * bytes > MOST_PART_BYTES))
        c->parts++;
    c->part = batch / c->parts;
}

static cse_status prepare(const cse_kernel_plan *plan, cse_shape input, cse_shape weight,
                          bool sums_batch, convolution *c)
{
    *c = (convolution){ .plan = plan };
    CSE_TRY(cse_conv2d_sizes_of(&plan->product->attributes, input, weight, &c->sizes));
    choose_parts(c, sums_batch);
    return is_empty(c) ? CSE_OK : describe(c);
}

/* A multiplication and an addition for each tap of each output, padding included. */
static double flops_of(const cse_conv2d_sizes *s)
{
    return 2.0 * (double)(s->batch * s->out * s->made[0] * s->made[1]) *
           (double)(s->in / s->groups * s->kernel[0] * s->kernel[1]);
}

static cse_dnnl_operand operand_of(const convolution *c, int argument, int input, role which)
{
    const bool images = which == INPUT || which == OUTPUT;
    return (cse_dnnl_operand){ argument, input, c->plain[which],
                               images ? (size_t)c->part * image_bytes(c, which) : 0 };
}

static cse_status make(const convolution *c, const void *description,
                       const_dnnl_primitive_desc_t hint, const cse_dnnl_operand operands[4],
                       cse_kernel **kernel)
{
    cse_dnnl_call call = { .plan = c->plan,
                           .description = description,
                           .hint = hint,
                           .operand_count = c->plan->bias >= 0 ? 4 : 3,
                           .parts = c->parts,
                           .flops = flops_of(&c->sizes) };
    memcpy(call.operands, operands, sizeof call.operands);
    return cse_dnnl_kernel_new(&call, kernel);
}

cse_status cse_kernel_new_conv2d(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    convolution c;
    dnnl_convolution_desc_t description;
    CSE_TRY(
        prepare(plan, plan->product->inputs[0]->shape, plan->product->inputs[1]->shape, false, &c));
    if (is_empty(&c))
        return new_empty(plan, kernel);
    if (plan->graph->portable)
        return cse_kernel_new_portable_conv2d(plan, &c.sizes, CSE_CONV2D_OUTPUT, kernel);
    CSE_TRY(cse_dnnl_check(plan, describe_forward(&c, &description)));
    const cse_dnnl_operand operands[4] = {
        operand_of(&c, DNNL_ARG_SRC, plan->operands[0], INPUT),
        operand_of(&c, DNNL_ARG_WEIGHTS, plan->operands[1], WEIGHT),
        operand_of(&c, DNNL_ARG_DST, CSE_DNNL_OUTPUT, OUTPUT),
        operand_of(&c, DNNL_ARG_BIAS, plan->bias, BIAS),
    };
    return make(&c, &description, NULL, operands, kernel);
}

/* oneDNN requires the forward primitive as a hint for that of a gradient. */
static cse_status make_gradient(const convolution *c, const void *description,
                                const cse_dnnl_operand operands[4], cse_kernel **kernel)
{
    dnnl_engine_t engine;
    dnnl_convolution_desc_t forward;
    dnnl_primitive_desc_t hint;
    CSE_TRY(cse_dnnl_engine(&engine));
    dnnl_status_t status = describe_forward(c, &forward);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL);
    CSE_TRY(cse_dnnl_check(c->plan, status));
    cse_status made = make(c, description, hint, operands, kernel);
    dnnl_primitive_desc_destroy(hint);
    return made;
}

cse_status cse_kernel_new_conv2d_gradient_input(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    convolution c;
    dnnl_convolution_desc_t description;
    CSE_TRY(prepare(plan, plan->product->shape, plan->product->inputs[0]->shape, false, &c));
    if (is_empty(&c))
        return new_empty(plan, kernel);
    if (plan->graph->portable)
        return cse_kernel_new_portable_conv2d(plan, &c.sizes, CSE_CONV2D_INPUT, kernel);
    CSE_TRY(cse_dnnl_check(plan, dnnl_dilated_convolution_backward_data_desc_init(
                                     &description, dnnl_convolution_direct, &c.any[INPUT],
                                     &c.any[WEIGHT], &c.any[OUTPUT], c.stride, c.dilation,
                                     c.padding_before, c.padding_after)));
    const cse_dnnl_operand operands[4] = {
        operand_of(&c, DNNL_ARG_WEIGHTS, plan->operands[0], WEIGHT),
        operand_of(&c, DNNL_ARG_DIFF_DST, plan->operands[1], OUTPUT),
        operand_of(&c, DNNL_ARG_DIFF_SRC, CSE_DNNL_OUTPUT, INPUT),
    };
    return make_gradient(&c, &description, operands, kernel);
}

cse_status cse_kernel_new_conv2d_gradient_weight(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    convolution c;
    dnnl_convolution_desc_t description;
    CSE_TRY(prepare(plan, plan->product->inputs[0]->shape, plan->product->shape, true, &c));
    if (is_empty(&c))
        return new_empty(plan, kernel);
    if (plan->graph->portable)
        return cse_kernel_new_portable_conv2d(plan, &c.sizes, CSE_CONV2D_WEIGHT, kernel);
    CSE_TRY(cse_dnnl_check(plan, dnnl_dilated_convolution_backward_weights_desc_init(
                                     &description, dnnl_convolution_direct, &c.any[INPUT],
                                     &c.any[WEIGHT], NULL, &c.any[OUTPUT], c.stride, c.dilation,
                                     c.padding_before, c.padding_after)));
    const cse_dnnl_operand operands[4] = {
        operand_of(&c, DNNL_ARG_SRC, plan->operands[0], INPUT),
        operand_of(&c, DNNL_ARG_DIFF_DST, plan->operands[1], OUTPUT),
        operand_of(&c, DNNL_ARG_DIFF_WEIGHTS, CSE_DNNL_OUTPUT, WEIGHT),
    };
    return make_gradient(&c, &description, operands, kernel);
}
