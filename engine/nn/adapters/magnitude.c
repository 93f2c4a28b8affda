/* DoRA (Liu et al. 2024): a target computes
 *
 *   y = m / n (x W^T + s (x A^T) B^T) + b,   n the norms of the rows of W + s B A
 *
 * with m [out] as one more parameter, which begins as n, so that the model begins as it was. No
 * gradient goes through n (section 4.3). While training with dropout the weight's own product is
 * not dropped, but what m / n changes of it is, as in PEFT:
 *
 *   y = x W^T + b + (m / n - 1) d W^T + m / n s (d A^T) B^T,   d = dropout(x) */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/network.h"

/* m begins as the norms of the rows of its weight: B is 0. */
static void fill(cse_network *network, cse_state *state)
{
    const int64_t rows = state->beside->shape.dims[0], columns = state->beside->shape.dims[1];
    const float *weight = cse_state_values(network, state->beside);
    float *values = cse_state_own_values(state);
    for (int64_t i = 0; i < rows; i++) {
        double squares = 0;
        for (int64_t j = 0; j < columns; j++)
            squares += (double)weight[i * columns + j] * (double)weight[i * columns + j];
        values[i] = (float)sqrt(squares);
    }
    cse_state_round_held(state);
}

static const cse_state_rule magnitude_rule = { .fill = fill };

cse_state *cse_magnitude_declare(cse_model *model, const cse_adapter *adapter, const char *layer,
                                 int64_t out)
{
    cse_network *network = cse_network_open_view("cse_magnitude_declare");
    const char *weight = cse_arena_printf(adapter->arena, "model.%s.weight", layer);
    const int found = network != NULL ? cse_name_index_find(&network->state_names, weight) : -1;
    if (found < 0)
        return NULL; /* a failure that the network has */
    cse_state *magnitude = cse_model_adapter_parameter(
        model, cse_adapter_factor_name(adapter->arena, adapter->given, layer, CSE_FACTOR_MAGNITUDE),
        cse_shape_of(out), (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 }, adapter->given->is_active);
    if (magnitude != NULL) {
        magnitude->rule = &magnitude_rule;
        magnitude->beside = network->states[found];
    }
    return magnitude;
}

/* m / n, [out]. */
static cse_tensor *ratio(const cse_low_rank *factors, cse_tensor *weight)
{
    cse_tensor *a = cse_read(factors->a), *b = cse_read(factors->b);
    cse_tensor *sum = cse_stop_gradient(
        cse_add(weight, cse_scale(cse_matmul(b, a, false, false), factors->scale)));
    cse_tensor *norm = cse_sqrt(cse_sum(cse_square(sum), cse_axes(1), false));
    cse_tensor *magnitude = cse_read(factors->magnitude);
    return cse_div(magnitude, norm);
}

static cse_tensor *apply(cse_linear_layer layer, cse_tensor *x)
{
    const cse_low_rank *factors = layer.adapter;
    cse_tensor *weight = cse_read(layer.weight), *own = cse_linear(x, weight, NULL);
    cse_tensor *factor = ratio(factors, weight), *y = NULL;
    const bool drops = factors->dropout > 0 && cse_is_training(factors->model);
    cse_tensor *d = drops ? cse_dropout(x, factors->dropout, "input") : x;
    cse_tensor *a = cse_read(factors->a), *low = cse_linear(d, a, NULL);
    cse_tensor *b = cse_read(factors->b);
    low = cse_scale(cse_linear(low, b, NULL), factors->scale);
    if (drops)
        y = cse_add(own, cse_add(cse_mul(cse_shift(factor, -1), cse_linear(d, weight, NULL)),
                                 cse_mul(factor, low)));
    else
        y = cse_mul(factor, cse_add(own, low));
    return layer.bias != NULL ? cse_add(y, cse_read(layer.bias)) : y;
}

cse_tensor *cse_magnitude_apply(cse_linear_layer layer, cse_tensor *x)
{
    cse_tensor *y = NULL;
    CSE_SCOPE(NULL, "dora")
    {
        y = apply(layer, x);
    }
    return y;
}
