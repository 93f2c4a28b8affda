/* An optimizer, a schedule and an input function of your own, in one shared object.
 *
 * They are the counterparts of a subclass of cstorch.optim.Optimizer, of one of LRScheduler, and of
 * an input_fn:
 *
 *     optimizer.preinitialize             states        declares what is kept for each parameter
 *     optimizer.step                      update        one parameter's update, traced once
 *     optimizer.state_names_to_sparsify   .dense        of a state: not masked as the parameter is
 *     scheduler._get_closed_form_lr       learning_rate a function of the step, traced
 *     input_fn                            open, read    samples by index, in input workers
 *
 * Compiled with `cc -shared -fPIC custom_training.c $(pkg-config --cflags --libs csengine) -o
 * custom_training.so`, checked by `csengine check-plugin ./custom_training.so`, and named in a
 * configuration by {library: ./custom_training.so, name: ..., settings...}. */
#include <csengine/csengine.h>
#include <math.h>
#include <stdlib.h>

/* ---- the optimizer: heavy ball, with decoupled weight decay ----
 *
 *   m = momentum * m + g
 *   p = p - lr * (m + weight_decay * p)
 */

static const cse_setting optimizer_settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    { .name = "momentum",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.9",
      .min = 0,
      .max = 1,
      .doc = "how much of the momentum is kept each step" },
    { .name = "weight_decay",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 1e6,
      .doc = "fraction of the parameter, times lr, that is taken off each step" },
    { .name = NULL },
};

/* A conditional on settings is fine: it is decided once, when the optimizer is made. */
static int states(const cse_settings *settings, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    if (cse_settings_number(settings, "momentum") == 0)
        return 0;
    /* Where a parameter is sparse, the momentum is 0 as the weights are; `.dense = true` would keep
     * it whole, and is for states that sums or counts go through. */
    list[0] = (cse_declared_state){ .name = "momentum_buffer", .dense = false };
    return 1;
}

/* The setting, or the value of a schedule of weight decay. */
static cse_tensor *weight_decay(const cse_optimizer_update *u)
{
    return u->weight_decay != NULL ? u->weight_decay
                                   : cse_constant(cse_settings_number(u->settings, "weight_decay"));
}

static void update(cse_optimizer_update *u)
{
    const double momentum = cse_settings_number(u->settings, "momentum");
    cse_tensor *direction = u->gradient;
    if (momentum != 0) {
        cse_tensor *kept = u->momentum != NULL ? cse_mul(u->states[0], u->momentum)
                                               : cse_scale(u->states[0], momentum);
        direction = cse_add(kept, direction);
        u->next_states[0] = direction;
    }
    direction = cse_add(direction, cse_mul(weight_decay(u), u->parameter));
    u->next_parameter = cse_sub(u->parameter, cse_mul(u->learning_rate, direction));
}

/* Written by tests/reference/outside_plugins.py. */
static const cse_optimizer_sample optimizer_samples[] = {
    { .settings = "{lr: 0.1}",
      .source = "the formula in float64",
      .parameters = { { 0.48832, -1.06898, 1.9257, 0.28833 },
                      { 0.451908, -1.133972, 1.94884, 0.461697 },
                      { 0.44569748, -1.12768132, 1.9823384, 0.49755657 },
                      { 0.408956277, -1.22007814, 1.9602209, 0.662959376 } } },
    { .settings = "{lr: 0.05, momentum: 0.5, weight_decay: 0.2}",
      .source = "the formula in float64",
      .parameters = { { 0.48916, -1.02449, 1.94285, 0.266665 },
                      { 0.4683984, -1.0329451, 1.9498515, 0.34301585 },
                      { 0.471517322, -0.981902143, 1.91722676, 0.279953472 },
                      { 0.452995892, -0.951662748, 1.82711892, 0.265582884 } } },
    { .settings = "{lr: 0.1, momentum: 0.0}",
      .source = "the formula in float64",
      .parameters = { { 0.48832, -1.06898, 1.9257, 0.28833 },
                      { 0.46242, -1.07189, 2.01571, 0.4272 },
                      { 0.50195, -1.01722, 1.96364, 0.23331 },
                      { 0.49869, -1.04031, 1.93638, 0.24263 } } },
    { .settings = "{momentum: 2}", .refusal = "momentum" },
    { .settings = NULL },
};

static const cse_optimizer_descriptor custom_optimizer = {
    .name = "CustomOptimizer",
    .summary = "heavy ball with decoupled weight decay",
    .settings = optimizer_settings,
    .states = states,
    .update = update,
    .samples = optimizer_samples,
};

/* ---- the schedule: a triangle wave ----
 *
 *   lr(t) = peak * (1 - |(t mod 2 h) / h - 1|),   h = half_period
 *
 * Its name ends with LR, so that TriangleWD is the same for weight decay. */

static const cse_setting schedule_settings[] = {
    { .name = "max_lr",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1e6,
      .doc = "learning rate at the peaks (of weight decay: max_val)" },
    { .name = "half_period",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = 1 << 24,
      .doc = "steps from 0 to a peak" },
    { .name = NULL },
};

static cse_tensor *triangle(const cse_schedule_part *part, cse_tensor *t)
{
    const int32_t half = (int32_t)cse_settings_integer(part->settings, "half_period");
    cse_tensor *phase = cse_cast(cse_remainder(t, cse_constant_int(2 * half)), CSE_FLOAT32);
    cse_tensor *away = cse_abs(cse_sub(cse_scale(phase, 1.0 / half), cse_constant(1)));
    return cse_scale(cse_sub(cse_constant(1), away), cse_settings_number(part->settings, "max_lr"));
}

/* By hand: sixteenths. */
static const cse_schedule_sample schedule_samples[] = {
    { .settings = "{max_lr: 0.5, half_period: 4}",
      .source = "by hand",
      .points = { { 0, 0 },
                  { 1, 0.125 },
                  { 2, 0.25 },
                  { 4, 0.5 },
                  { 5, 0.375 },
                  { 7, 0.125 },
                  { 8, 0 },
                  { 1000001, 0.125 } } },
    { .settings = "{max_lr: 0.5, half_period: 0}", .refusal = "half_period" },
    { .settings = NULL },
};

static const cse_schedule_descriptor triangle_lr = {
    .name = "TriangleLR",
    .summary = "up and down in straight lines",
    .settings = schedule_settings,
    .learning_rate = triangle,
    .samples = schedule_samples,
};

/* ---- the input function: points of two classes, on two circles ---- */

typedef struct circles {
    int64_t samples;
    double radii[2];
} circles;

static const cse_setting input_settings[] = {
    { .name = "samples",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1024",
      .min = 1,
      .max = 1e15,
      .doc = "number of samples" },
    { .name = "radii",
      .type = CSE_SETTING_NUMBER_LIST,
      .default_value = "[1.0, 2.0]",
      .min = 0,
      .max = 1e6,
      .doc = "radius of each of the two classes" },
    { .name = NULL },
};

static cse_status open_circles(cse_input *input, const cse_settings *settings)
{
    if (cse_settings_count(settings, "radii") != 2)
        return cse_fail(CSE_CONFIG, "radii (%s): two numbers belong here",
                        cse_settings_origin(settings, "radii"));
    circles *self = malloc(sizeof *self);
    if (self == NULL)
        return cse_fail(CSE_TEMPORARY, "circles: memory is short");
    self->samples = cse_settings_integer(settings, "samples");
    self->radii[0] = cse_settings_number_at(settings, "radii", 0);
    self->radii[1] = cse_settings_number_at(settings, "radii", 1);
    input->self = self;
    input->sample_count = self->samples;
    input->stream_count = 2;
    input->streams[0] = (cse_stream){ "points", cse_shape_of(2), CSE_FLOAT32 };
    input->streams[1] = (cse_stream){ "labels", cse_scalar_shape, CSE_INT32 };
    return CSE_OK;
}

/* Sample i is a function of i alone. The golden angle spreads the points. */
static cse_status read_circles(cse_input *input, const int64_t *indices, int64_t count,
                               void *const outputs[])
{
    const circles *self = input->self;
    float *points = outputs[0];
    int32_t *labels = outputs[1];
    for (int64_t i = 0; i < count; i++) {
        const int label = (int)(indices[i] % 2);
        const double turns = (double)(indices[i] % 1000000) * 0.6180339887498949;
        const double angle = 2 * 3.14159265358979323846 * (turns - floor(turns));
        points[2 * i] = (float)(self->radii[label] * cos(angle));
        points[2 * i + 1] = (float)(self->radii[label] * sin(angle));
        labels[i] = label;
    }
    return CSE_OK;
}

static void close_circles(cse_input *input)
{
    free(input->self);
    input->self = NULL;
}

/* Written by tests/reference/outside_plugins.py. */
static const cse_input_sample input_samples[] = {
    { .settings = "samples: 12, radii: [1.0, 3.0]",
      .source = "the formula in float64",
      .sample_count = 12,
      .value_count = 6,
      .values = {
          { 0, 0, 1, 0 },
          { 1, 0, 0, 0 },
          { 0, 7, 0, -1.38272107414 },
          { 1, 7, 0, 1 },
          { 0, 10, 0, 0.423845995048 },
          { 1, 10, 0, 0 },
      } },
    { .settings = "radii: [1.0]", .refusal = "two numbers" },
    { .settings = NULL },
};

static const cse_input_descriptor circles_input = {
    .name = "circles",
    .summary = "points of two classes, on two circles",
    .settings = input_settings,
    .open = open_circles,
    .read = read_circles,
    .close = close_circles,
    .samples = input_samples,
};

CSE_PLUGINS(CSE_OPTIMIZER_PLUGIN(&custom_optimizer), CSE_SCHEDULE_PLUGIN(&triangle_lr),
            CSE_INPUT_PLUGIN(&circles_input));
