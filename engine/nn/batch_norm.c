/* The batch norm layer of models: the op with states for its weight, its bias and its running
 * statistics.
 *
 * Training normalizes each microbatch by its own statistics, as PyTorch does on each device: those
 * of the global batch would be a sum over the microbatches that the same microbatches wait for. The
 * running statistics are updated once a step, from the mean of the microbatches' statistics along
 * the reduction tree: so their bits depend on the microbatches, not on who computed them. A step
 * whose statistics are not finite leaves them as they are. */
#include <stdio.h>

#include "csengine/generated/ops.h"
#include "engine/nn/network.h"

cse_batch_norm_layer cse_batch_norm_parameters(cse_model *model, const char *name, int64_t channels)
{
    static const struct {
        const char *name;
        double initial;
        bool is_parameter;
    } states[] = { { "weight", 1, true },
                   { "bias", 0, true },
                   { "running_mean", 0, false },
                   { "running_var", 1, false } };
    cse_batch_norm_layer layer = { .momentum = 0.1, .epsilon = 1e-5 };
    cse_state **const places[] = { &layer.weight, &layer.bias, &layer.running_mean,
                                   &layer.running_var };
    for (int i = 0; i < 4; i++) {
        const cse_initializer initial = { CSE_INIT_CONSTANT, states[i].initial, 0 };
        const char *full_name = cse_model_text(model, "%s.%s", name, states[i].name);
        *places[i] = states[i].is_parameter
                         ? cse_parameter(model, full_name, cse_shape_of(channels), initial)
                         : cse_buffer(model, full_name, cse_shape_of(channels), initial);
    }
    cse_parameter_of_norm(layer.weight);
    cse_parameter_of_norm(layer.bias);
    return layer;
}

/* Moves a running value towards that of this step. */
static void follow(cse_state *state, cse_tensor *now, double momentum)
{
    cse_tensor *before = cse_read(state), *mean = cse_batch_mean(now);
    cse_tensor *after = cse_add(cse_scale(before, 1 - momentum), cse_scale(mean, momentum));
    cse_assign(state, cse_where(cse_is_finite(after), after, before));
}

/* Values of the channels in x's type, as they broadcast to x [batch, channel, ...]. */
static cse_tensor *spread(cse_tensor *values, cse_tensor *x)
{
    cse_shape shape = cse_tensor_shape(x);
    for (int i = 2; i < shape.rank; i++)
        shape.dims[i - 1] = 1;
    shape.dims[0] = cse_tensor_shape(values).dims[0];
    shape.rank--;
    return cse_reshape(values, shape);
}

/* By the running statistics: one factor and one term for each channel. */
static cse_tensor *normalize(const cse_batch_norm_layer *layer, cse_tensor *x)
{
    cse_tensor *variance = cse_shift(cse_read(layer->running_var), layer->epsilon);
    cse_tensor *factor = cse_mul(cse_read(layer->weight), cse_rsqrt(variance));
    cse_tensor *term =
        cse_sub(cse_read(layer->bias), cse_mul(cse_read(layer->running_mean), factor));
    cse_dtype dtype = cse_tensor_dtype(x);
    cse_tensor *scaled = cse_mul(x, cse_cast(spread(factor, x), dtype));
    return cse_add(scaled, cse_cast(spread(term, x), dtype));
}

cse_tensor *cse_apply_batch_norm(const cse_model *model, const cse_batch_norm_layer *layer,
                                 cse_tensor *x)
{
    cse_tensor *statistics[2];
    if (!cse_is_training(model))
        return normalize(layer, x);
    cse_dtype dtype = cse_tensor_dtype(x);
    cse_tensor *weight = cse_read(layer->weight), *bias = cse_read(layer->bias);
    cse_tensor *y =
        cse_batch_norm(x, cse_cast(weight, dtype), cse_cast(bias, dtype), layer->epsilon);
    cse_batch_statistics(x, statistics);
    follow(layer->running_mean, statistics[0], layer->momentum);
    follow(layer->running_var, statistics[1], layer->momentum);
    return y;
}
