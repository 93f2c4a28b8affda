/* SM3: keeps one number for each index of each axis in place of one for each element.
 *
 *   v = beta * min over the axes of A_axis + (1 - beta) * g^2        with beta = 0: min + g^2
 *   A_axis = max of v over all other axes                            accumulator_0, ..._1, ...
 *   u = g / sqrt(v + eps)
 *   b = momentum * b + (1 - momentum) * u                            momentum_buffer
 *   p = p - lr * b, or p - lr * u where momentum is 0
 *
 * Anil, Gupta, Koren, Singer, "Memory-efficient adaptive optimization", NeurIPS 2019, SM3-II; beta
 * makes an average of the sum. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_NUMBER("momentum", "0.0", 0, 0.999999, "fraction of the buffer that is kept"),
    CSE_OPTIMIZER_NUMBER("beta", "0.0", 0, 0.999999,
                         "0: sums of squares; above: how much of an average is kept"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-30", 0, 1, "added below the root"),
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static int axis_count(cse_shape shape)
{
    return shape.rank > 0 ? shape.rank : 1;
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    static const char *const names[CSE_MAX_RANK] = {
        "accumulator_0", "accumulator_1", "accumulator_2", "accumulator_3",
        "accumulator_4", "accumulator_5", "accumulator_6", "accumulator_7",
    };
    const unsigned all = (1U << shape.rank) - 1;
    int count = 0;
    for (int axis = 0; axis < axis_count(shape); axis++)
        list[count++] =
            (cse_declared_state){ .name = names[axis], .without_axes = all & ~(1U << axis) };
    if (cse_settings_number(s, "momentum") > 0)
        list[count++] = (cse_declared_state){ .name = "momentum_buffer", .moment = CSE_MOMENT };
    return count;
}

/* The accumulator of an axis, to be broadcast over the others. */
static cse_tensor *along(const cse_optimizer_update *u, int axis)
{
    cse_shape shape = cse_tensor_shape(u->parameter);
    for (int a = 0; a < shape.rank; a++)
        shape.dims[a] = a == axis ? shape.dims[a] : 1;
    return cse_reshape(u->states[axis], shape);
}

/* The largest element over all axes but one. */
static cse_tensor *largest(cse_tensor *x, int axis)
{
    int others[CSE_MAX_RANK], count = 0;
    for (int a = 0; a < cse_tensor_shape(x).rank; a++)
        if (a != axis)
            others[count++] = a;
    return count > 0 ? cse_max(x, others, count, false) : x;
}

static void update(cse_optimizer_update *u)
{
    const double beta = cse_settings_number(u->settings, "beta");
    const double momentum = cse_settings_number(u->settings, "momentum");
    const double eps = cse_settings_number(u->settings, "eps");
    const int axes = axis_count(cse_tensor_shape(u->parameter));
    cse_tensor *least = along(u, 0), *squares = cse_square(u->gradient);
    for (int axis = 1; axis < axes; axis++)
        least = cse_minimum(least, along(u, axis));
    squares = beta > 0 ? cse_optimizer_average(least, squares, beta) : cse_add(least, squares);
    for (int axis = 0; axis < axes; axis++)
        u->next_states[axis] = largest(squares, axis);
    cse_tensor *direction = cse_mul(u->gradient, cse_rsqrt(cse_shift(squares, eps)));
    if (momentum > 0) {
        cse_tensor *fresh = cse_sub(direction, cse_optimizer_with_momentum(u, direction));
        direction = u->next_states[axes] =
            cse_add(cse_optimizer_with_momentum(u, u->states[axes]), fresh);
    }
    cse_optimizer_descend(u, direction);
}

const cse_optimizer_descriptor cse_optimizer_sm3 = {
    .name = "SM3",
    .summary = "squared gradients of each row, column, ... alone",
    .settings = settings,
    .default_learning_rate = 0.1,
    .states = states,
    .update = update,
};
