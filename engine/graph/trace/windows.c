/* Sliding windows; see windows.h. */
#include "engine/graph/trace/windows.h"

#include <stdlib.h>

#include "engine/graph/trace/accumulate.h"

/* Positions of a window of `kernel` taps in `size` elements; 0 when it does not fit. */
static int64_t positions(int64_t size, int64_t kernel, const int64_t *window)
{
    int64_t stride = window[CSE_WINDOW_STRIDE], padding = window[CSE_WINDOW_PADDING];
    int64_t reach = window[CSE_WINDOW_DILATION] * (kernel - 1) + 1;
    return size + 2 * padding < reach ? 0 : (size + 2 * padding - reach) / stride + 1;
}

static cse_status check_window(const cse_attributes *attributes)
{
    const int64_t most = (int64_t)1 << 31;
    bool fits = attributes->integer_count >= 7;
    for (int i = 0; fits && i < 2; i++) {
        const int64_t *window = attributes->integers + i;
        fits = window[CSE_WINDOW_STRIDE] >= 1 && window[CSE_WINDOW_STRIDE] < most &&
               window[CSE_WINDOW_PADDING] >= 0 && window[CSE_WINDOW_PADDING] < most &&
               window[CSE_WINDOW_DILATION] >= 1 && window[CSE_WINDOW_DILATION] < most;
    }
    return fits ? CSE_OK
                : cse_fail(CSE_SHAPE, "stride and dilation must be at least 1, padding at least 0");
}

cse_conv2d_options cse_conv2d_options_of(const cse_attributes *attributes)
{
    cse_conv2d_options options = { .groups = attributes->integers[CSE_CONV_GROUPS] };
    for (int i = 0; i < 2; i++) {
        options.stride[i] = attributes->integers[CSE_WINDOW_STRIDE + i];
        options.padding[i] = attributes->integers[CSE_WINDOW_PADDING + i];
        options.dilation[i] = attributes->integers[CSE_WINDOW_DILATION + i];
    }
    return options;
}

cse_status cse_conv2d_sizes_of(const cse_attributes *attributes, cse_shape input, cse_shape weight,
                               cse_conv2d_sizes *sizes)
{
    CSE_TRY(check_window(attributes));
    int64_t groups = attributes->integers[CSE_CONV_GROUPS];
    if (input.rank != 4 || weight.rank != 4)
        return cse_fail(CSE_SHAPE, "the input must be [batch, channel, height, width] and the "
                                   "weight [out, in / groups, kernel height, kernel width]");
    if (groups < 1 || input.dims[1] != weight.dims[1] * groups || weight.dims[0] % groups != 0)
        return cse_fail(CSE_SHAPE,
                        "%lld input channels in %lld groups need a weight [multiple of %lld, %lld, "
                        "...]",
                        (long long)input.dims[1], (long long)groups, (long long)groups,
                        (long long)(groups > 0 ? input.dims[1] / groups : 0));
    *sizes = (cse_conv2d_sizes){
        .batch = input.dims[0], .in = input.dims[1], .out = weight.dims[0], .groups = groups
    };
    for (int i = 0; i < 2; i++) {
        sizes->height[i] = input.dims[2 + i];
        sizes->kernel[i] = weight.dims[2 + i];
        sizes->stride[i] = attributes->integers[CSE_WINDOW_STRIDE + i];
        sizes->padding[i] = attributes->integers[CSE_WINDOW_PADDING + i];
        sizes->dilation[i] = attributes->integers[CSE_WINDOW_DILATION + i];
        if (sizes->kernel[i] < 1)
            return cse_fail(CSE_SHAPE, "the kernel must not be empty");
        sizes->made[i] = positions(sizes->height[i], sizes->kernel[i], attributes->integers + i);
        if (sizes->made[i] < 1)
            return cse_fail(CSE_SHAPE, "the kernel does not fit into the padded input");
    }
    return CSE_OK;
}

int64_t cse_conv2d_input_index(const cse_conv2d_sizes *s, int64_t plane, const int64_t at[2],
                               const int64_t tap[2])
{
    int64_t row = at[0] * s->stride[0] - s->padding[0] + tap[0] * s->dilation[0];
    int64_t column = at[1] * s->stride[1] - s->padding[1] + tap[1] * s->dilation[1];
    bool inside = row >= 0 && row < s->height[0] && column >= 0 && column < s->height[1];
    return inside ? (plane * s->height[0] + row) * s->height[1] + column : -1;
}

int64_t cse_conv2d_output_index(const cse_conv2d_sizes *s, int64_t plane, const int64_t at[2],
                                const int64_t tap[2])
{
    int64_t position[2];
    for (int i = 0; i < 2; i++) {
        int64_t start = at[i] + s->padding[i] - tap[i] * s->dilation[i];
        position[i] = start / s->stride[i];
        if (start < 0 || start % s->stride[i] != 0 || position[i] >= s->made[i])
            return -1;
    }
    return (plane * s->made[0] + position[0]) * s->made[1] + position[1];
}

/* The products of one output element (of image n, output channel o, position y, x). */
static void walk_element(const cse_conv2d_sizes *s, const int64_t at[4], cse_conv2d_visit *visit,
                         void *self)
{
    int64_t per_group = s->in / s->groups, group = at[1] / (s->out / s->groups);
    int64_t output = ((at[0] * s->out + at[1]) * s->made[0] + at[2]) * s->made[1] + at[3];
    for (int64_t c = 0; c < per_group; c++)
        for (int64_t i = 0; i < s->kernel[0]; i++)
            for (int64_t j = 0; j < s->kernel[1]; j++) {
                const int64_t tap[2] = { i, j };
                int64_t plane = at[0] * s->in + group * per_group + c;
                int64_t input = cse_conv2d_input_index(s, plane, at + 2, tap);
                if (input < 0)
                    continue;
                visit(self, output, input,
                      ((at[1] * per_group + c) * s->kernel[0] + i) * s->kernel[1] + j);
            }
}

void cse_conv2d_walk(const cse_conv2d_sizes *sizes, cse_conv2d_visit *visit, void *self)
{
    int64_t at[4];
    for (at[0] = 0; at[0] < sizes->batch; at[0]++)
        for (at[1] = 0; at[1] < sizes->out; at[1]++)
            for (at[2] = 0; at[2] < sizes->made[0]; at[2]++)
                for (at[3] = 0; at[3] < sizes->made[1]; at[3]++)
                    walk_element(sizes, at, visit, self);
}

typedef struct accumulation {
    const cse_reference *call;
    cse_conv2d_roles roles;
    double *sums;
} accumulation;

static void accumulate(void *self, int64_t output, int64_t input, int64_t weight)
{
    const accumulation *to = self;
    const int64_t index[3] = { output, input, weight };
    const cse_tensor *node = to->call->node;
    to->sums[index[to->roles.made]] +=
        cse_read_element(node->inputs[0]->dtype, to->call->inputs[0], index[to->roles.a]) *
        cse_read_element(node->inputs[1]->dtype, to->call->inputs[1], index[to->roles.b]);
}

/* ---- emulated accumulation: every term in its order, zeros in the padding ---- */

/* Adds the product of a term's two factors; a factor that lies in the padding is 0. */
static void add_term(cse_accumulator *sum, cse_conv2d_roles roles, const int64_t index[3])
{
    const cse_reference *call = sum->call;
    cse_dtype dtype = call->node->inputs[0]->dtype;
    int64_t a = index[roles.a], b = index[roles.b];
    cse_accumulator_add(sum, a < 0 ? 0 : cse_read_element(dtype, call->inputs[0], a),
                        b < 0 ? 0 : cse_read_element(dtype, call->inputs[1], b));
}

/* Element (image, channel, row, column) of the output or, for `made` 1, of the input. */
static void accumulate_value(cse_accumulator *sum, const cse_conv2d_sizes *s,
                             cse_conv2d_roles roles, const int64_t at[4])
{
    bool input = roles.made == 1;
    int64_t ins = s->in / s->groups, outs = s->out / s->groups;
    int64_t group = at[1] / (input ? ins : outs);
    for (int64_t other = 0; other < (input ? outs : ins); other++)
        for (int64_t i = 0; i < s->kernel[0]; i++)
            for (int64_t j = 0; j < s->kernel[1]; j++) {
                const int64_t tap[2] = { i, j };
                int64_t out = input ? group * outs + other : at[1];
                int64_t in = input ? at[1] : group * ins + other;
                int64_t weight = ((out * ins + in - group * ins) * s->kernel[0] + i) * s->kernel[1];
                const int64_t index[3] = {
                    input ? cse_conv2d_output_index(s, at[0] * s->out + out, at + 2, tap) : -1,
                    input ? -1 : cse_conv2d_input_index(s, at[0] * s->in + in, at + 2, tap),
                    weight + j
                };
                add_term(sum, roles, index);
            }
}

/* Element (output channel, channel in its group, kernel row, kernel column) of the weight. */
static void accumulate_weight(cse_accumulator *sum, const cse_conv2d_sizes *s,
                              cse_conv2d_roles roles, const int64_t at[4])
{
    int64_t ins = s->in / s->groups, group = at[0] / (s->out / s->groups);
    for (int64_t image = 0; image < s->batch; image++)
        for (int64_t y = 0; y < s->made[0]; y++)
            for (int64_t x = 0; x < s->made[1]; x++) {
                const int64_t position[2] = { y, x };
                int64_t out = ((image * s->out + at[0]) * s->made[0] + y) * s->made[1] + x;
                int64_t plane = image * s->in + group * ins + at[1];
                const int64_t index[3] = { out, cse_conv2d_input_index(s, plane, position, at + 2),
                                           -1 };
                add_term(sum, roles, index);
            }
}

static void reference_tiled_conv2d(const cse_reference *call, const cse_conv2d_sizes *sizes,
                                   cse_conv2d_roles roles)
{
    cse_shape shape = call->node->shape;
    for (int64_t e = 0; e < cse_shape_elements(shape); e++) {
        int64_t at[4], rest = e;
        for (int i = 3; i >= 0; i--, rest /= shape.dims[i + 1])
            at[i] = rest % shape.dims[i];
        cse_accumulator sum = cse_accumulator_start(call, e);
        (roles.made == 2 ? accumulate_weight : accumulate_value)(&sum, sizes, roles, at);
        cse_write_element(call->node->dtype, call->output, e, (double)cse_accumulator_end(&sum));
    }
}

void cse_reference_conv2d(const cse_reference *call, const cse_conv2d_sizes *sizes,
                          cse_conv2d_roles roles)
{
    if (cse_node_is_tiled(call->node)) {
        reference_tiled_conv2d(call, sizes, roles);
        return;
    }
    int64_t count = cse_shape_elements(call->node->shape);
    accumulation to = { call, roles, cse_calloc((size_t)count + 1, sizeof(double)) };
    cse_conv2d_walk(sizes, accumulate, &to);
    for (int64_t i = 0; i < count; i++)
        cse_write_element(call->node->dtype, call->output, i, to.sums[i]);
    free(to.sums);
}

void cse_pool2d_attributes(const cse_pool2d_options *options, cse_attributes *attributes)
{
    const cse_pool2d_options none = { .stride = { 1, 1 } }; /* its empty kernel is refused later */
    *attributes = (cse_attributes){ .integer_count = 9 };
    options = options ? options : &none;
    for (int i = 0; i < 2; i++) {
        attributes->integers[CSE_WINDOW_STRIDE + i] =
            options->stride[i] ? options->stride[i] : options->kernel[i];
        attributes->integers[CSE_WINDOW_PADDING + i] = options->padding[i];
        attributes->integers[CSE_WINDOW_DILATION + i] = 1;
        attributes->integers[CSE_POOL_KERNEL + i] = options->kernel[i];
    }
    attributes->integers[CSE_POOL_COUNT_PADDING] = !options->exclude_padding;
}

cse_status cse_infer_pool2d(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const cse_attributes *attributes = in->attributes;
    if (in->shapes[0].rank != 4 || !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "the input must be floats [batch, channel, height, width]");
    CSE_TRY(check_window(attributes));
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    for (int i = 0; i < 2; i++) {
        int64_t kernel = attributes->integers[CSE_POOL_KERNEL + i];
        int64_t padding = attributes->integers[CSE_WINDOW_PADDING + i];
        if (kernel < 1 || 2 * padding > kernel)
            return cse_fail(CSE_SHAPE, "the kernel must be at least 1 and the padding at most "
                                       "half of it");
        shape->dims[2 + i] = positions(in->shapes[0].dims[2 + i], kernel, attributes->integers + i);
        if (shape->dims[2 + i] < 1)
            return cse_fail(CSE_SHAPE, "the kernel does not fit into the padded input");
    }
    return CSE_OK;
}

cse_status cse_infer_pool2d_gradient(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape pooled;
    CSE_TRY(cse_infer_pool2d(in, &pooled, dtype));
    if (!cse_shape_equal(pooled, in->shapes[1]) || in->dtypes[1] != *dtype)
        return cse_fail(CSE_SHAPE, "the output's gradient must have the output's shape and type");
    *shape = in->shapes[0];
    return CSE_OK;
}

cse_pool2d_window cse_pool2d_window_of(const cse_attributes *attributes, cse_shape input,
                                       cse_shape output, int64_t element)
{
    const int64_t at[2] = { element / output.dims[3] % output.dims[2], element % output.dims[3] };
    int64_t plane = element / (output.dims[2] * output.dims[3]), there = 1, counted = 1;
    cse_pool2d_window window = { .plane = plane * input.dims[2] * input.dims[3],
                                 .width = input.dims[3] };
    for (int i = 0; i < 2; i++) {
        int64_t padding = attributes->integers[CSE_WINDOW_PADDING + i];
        int64_t first = at[i] * attributes->integers[CSE_WINDOW_STRIDE + i] - padding;
        int64_t end = first + attributes->integers[CSE_POOL_KERNEL + i];
        window.first[i] = first > 0 ? first : 0;
        window.end[i] = end < input.dims[2 + i] ? end : input.dims[2 + i];
        there *= window.end[i] - window.first[i];
        counted *= end - first;
    }
    window.divisor = (double)(attributes->integers[CSE_POOL_COUNT_PADDING] ? counted : there);
    return window;
}
