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
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "engine/base/types/packed/packed_rows.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/network.h"

static double squares_of(const float *row, int64_t columns)
{
    double squares = 0;
    for (int64_t j = 0; j < columns; j++)
        squares += (double)row[j] * (double)row[j];
    return squares;
}

/* m begins as the norms of the rows of its weight, which may be packed: B is 0. */
static void fill(cse_network *network, cse_state *state)
{
    const cse_state *weight = state->beside;
    const cse_packed_type *packed = weight->packed;
    const int64_t rows = weight->shape.dims[0], words = weight->shape.dims[1];
    const int64_t columns = packed != NULL ? weight->columns : words;
    const float *elements = cse_state_values(network, state->beside);
    float *values = cse_state_own_values(state);
    float *unpacked = cse_malloc((size_t)columns * sizeof *unpacked + 1);
    for (int64_t i = 0; i < rows; i++) {
        const float *row = elements + i * words;
        if (packed != NULL)
            cse_packed_unpack_blocks(
                &(cse_packed_blocks){ packed, row, 0, columns / packed->elements }, unpacked);
        values[i] = (float)sqrt(squares_of(packed != NULL ? unpacked : row, columns));
    }
    free(unpacked);
    cse_state_round_held(state);
}

/* The parameter of that name, which may be packed; NULL: a failure that the network has. */
static cse_state *find_weight(cse_model *model, const char *name)
{
    for (int i = 0; i < model->parameter_count; i++) {
        cse_state *state = model->parameters[i];
        if (strcmp(state->packed != NULL ? state->unpacked_name : state->name, name) == 0)
            return state;
    }
    return NULL;
}

static const cse_state_rule magnitude_rule = { .fill = fill };

cse_state *cse_magnitude_declare(cse_model *model, const cse_adapter *adapter, const char *layer,
                                 int64_t out)
{
    cse_state *weight =
        find_weight(model, cse_arena_printf(adapter->arena, "model.%s.weight", layer));
    if (weight == NULL)
        return NULL;
    cse_state *magnitude = cse_model_adapter_parameter(
        model, cse_adapter_factor_name(adapter->arena, adapter->given, layer, CSE_FACTOR_MAGNITUDE),
        cse_shape_of(out), (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 }, adapter->given->is_active);
    if (magnitude != NULL) {
        magnitude->rule = &magnitude_rule;
        magnitude->beside = weight;
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
