/* Adafactor: keeps the second moments of a matrix's rows and columns in place of each element's.
 *
 *   b = 1 - t^decay_rate
 *   R = b * R + (1 - b) * mean of (g^2 + eps[0]) over the last axis             exp_avg_sq_row
 *   C = b * C + (1 - b) * mean of (g^2 + eps[0]) over the one before it         exp_avg_sq_col
 *   u = g / sqrt(R / mean of R over its last axis) / sqrt(C)
 *   u = u / max(1, rms(u) / clip_threshold)
 *   a = lr * max(eps[1], rms(p)), or lr without scale_parameter
 *   p = p - weight_decay * a * p - a * u
 *
 * where t = 1, 2, ... is the number of the step, in the state `step`, and rms the root of the mean
 * square of the whole parameter. A parameter with fewer than two axes has V = exp_avg_sq of its own
 * shape, and u = g / sqrt(V). With beta1 an average of a * u (exp_avg) is subtracted in its place.
 *
 * Shazeer, Stern, "Adafactor: adaptive learning rates with sublinear memory cost", ICML 2018. As in
 * cerebras.pytorch the learning rate must be given; the paper's relative one is a schedule. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_PAIR("eps", "[1e-30, 1e-3]", 0, 1e6,
                       "added to squared gradients; the least size of a parameter"),
    CSE_OPTIMIZER_NUMBER("clip_threshold", "1.0", 1e-6, 1e6,
                         "largest root of the mean square of a step"),
    CSE_OPTIMIZER_NUMBER("decay_rate", "-0.8", -10, 0, "power by which the averages become longer"),
    { .name = "beta1",
      .type = CSE_SETTING_NUMBER,
      .default_value = "null",
      .min = 0,
      .max = 0.999999,
      .doc = "how much of an average of the steps is kept; null: none" },
    CSE_OPTIMIZER_NUMBER("weight_decay", "0.0", 0, 1e6,
                         "fraction of the parameter, times the learning rate, that is taken off"),
    CSE_OPTIMIZER_SWITCH("scale_parameter", "true", "times the size of the parameter"),
    CSE_OPTIMIZER_SWITCH("relative_step", "false", "not accepted: a schedule does it"),
    CSE_OPTIMIZER_SWITCH("warmup_init", "false", "not accepted: a schedule does it"),
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    if (cse_settings_count(s, "eps") != 2)
        return cse_fail(CSE_CONFIG, "optimizer Adafactor: eps (%s) must be two numbers",
                        cse_settings_origin(s, "eps"));
    if (cse_settings_bool(s, "relative_step") || cse_settings_bool(s, "warmup_init"))
        return cse_fail(
            CSE_CONFIG,
            "optimizer Adafactor: relative_step and warmup_init must be false: schedulers: "
            "{InverseSquareRootDecayLR: {warmup_steps: 10000}} is the relative learning rate");
    return CSE_OK;
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "step", .scalar = true };
    if (shape.rank >= 2) {
        list[count++] = (cse_declared_state){ .name = "exp_avg_sq_row",
                                              .without_axes = 1U << (shape.rank - 1) };
        list[count++] = (cse_declared_state){ .name = "exp_avg_sq_col",
                                              .without_axes = 1U << (shape.rank - 2) };
    } else {
        list[count++] = (cse_declared_state){ .name = "exp_avg_sq" };
    }
    if (cse_settings_has(s, "beta1"))
        list[count++] = (cse_declared_state){ .name = "exp_avg", .moment = CSE_MOMENT };
    return count;
}

static cse_tensor *root_mean_square(cse_tensor *x)
{
    return cse_sqrt(cse_mean_all(cse_square(x)));
}

/* average + fresh * (value - average) */
static cse_tensor *follow(cse_tensor *average, cse_tensor *value, cse_tensor *fresh)
{
    return cse_add(average, cse_mul(cse_sub(value, average), fresh));
}

static cse_tensor *squares_of(const cse_optimizer_update *u)
{
    return cse_shift(cse_square(u->gradient), cse_settings_number_at(u->settings, "eps", 0));
}

static cse_tensor *by_elements(cse_optimizer_update *u, cse_tensor *fresh)
{
    u->next_states[1] = follow(u->states[1], squares_of(u), fresh);
    return cse_mul(u->gradient, cse_rsqrt(u->next_states[1]));
}

/* x with an axis of size 1 at `axis`, counted from the end: 1 is the last. */
static cse_tensor *with_axis(cse_tensor *x, cse_shape whole, int axis)
{
    whole.dims[whole.rank - axis] = 1;
    return cse_reshape(x, whole);
}

static cse_tensor *by_rows_and_columns(cse_optimizer_update *u, cse_tensor *fresh)
{
    static const int last[] = { -1 }, before_it[] = { -2 };
    const cse_shape whole = cse_tensor_shape(u->parameter);
    cse_tensor *squares = squares_of(u);
    cse_tensor *rows = follow(u->states[1], cse_mean(squares, last, 1, false), fresh);
    cse_tensor *columns = follow(u->states[2], cse_mean(squares, before_it, 1, false), fresh);
    u->next_states[1] = rows;
    u->next_states[2] = columns;
    cse_tensor *of_rows = cse_rsqrt(cse_div(rows, cse_mean(rows, last, 1, true)));
    cse_tensor *of_columns = cse_rsqrt(columns);
    return cse_mul(cse_mul(u->gradient, with_axis(of_rows, whole, 1)),
                   with_axis(of_columns, whole, 2));
}

static void update(cse_optimizer_update *u)
{
    const cse_settings *s = u->settings;
    const bool factored = cse_tensor_shape(u->parameter).rank >= 2;
    const int average = factored ? 3 : 2;
    cse_tensor *one = cse_constant(1), *rate = u->learning_rate;
    cse_tensor *step = cse_optimizer_count_step(u, 0);
    /* What fades: 1 - b. */
    cse_tensor *fresh = cse_pow(step, cse_constant(cse_settings_number(s, "decay_rate")));
    cse_tensor *direction = (factored ? by_rows_and_columns : by_elements)(u, fresh);
    cse_tensor *excess =
        cse_scale(root_mean_square(direction), 1 / cse_settings_number(s, "clip_threshold"));
    direction = cse_div(direction, cse_maximum(one, excess));
    if (cse_settings_bool(s, "scale_parameter"))
        rate = cse_mul(rate, cse_maximum(root_mean_square(u->parameter),
                                         cse_constant(cse_settings_number_at(s, "eps", 1))));
    cse_tensor *change = cse_mul(direction, rate);
    if (cse_settings_has(s, "beta1"))
        change = u->next_states[average] =
            cse_optimizer_average(u->states[average], change, cse_settings_number(s, "beta1"));
    cse_tensor *decay = cse_optimizer_decayed(u, cse_constant(0));
    u->next_parameter = cse_sub(u->parameter, cse_add(change, cse_mul(decay, rate)));
}

const cse_optimizer_descriptor cse_optimizer_adafactor = {
    .name = "Adafactor",
    .summary = "second moments of rows and columns alone",
    .settings = settings,
    .check = check,
    .states = states,
    .update = update,
};
