/* Gradients as tensors, and updates made of them: against finite differences, against the built-in
 * optimizers bit for bit, and each mistake with its message. */
#undef CSE_BUILDING_LIBRARY /* the call's place in this file is part of what is tested */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/nn/update/grad_scaler.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char data[] = "{data_processor: synthetic, samples: 64, features: [8], classes: 3, "
                           "batch_size: 16, micro_batch_size: 8}";
static const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };

static cse_model *model_of_8(void)
{
    return cse_compile(
        cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [4], num_classes: 3}"));
}

/* ---- against finite differences ---- */

enum { ROWS = 4, COLUMNS = 3 };
static const double features[ROWS * COLUMNS] = { 0.5, -1,    0.25, 1.5,  0.75, -0.5,
                                                 2,   -0.25, 1,    -1.5, 0.5,  0.125 };

typedef struct small {
    cse_state *w, *buffer, *unused, *index; /* a weight, a state that no optimizer has, ... */
    cse_state *of_w, *of_buffer, *of_second, *of_norm;
    bool reached[4];
} small;

static small *small_new(void)
{
    static small s;
    const cse_shape shape = cse_shape_of(COLUMNS);
    s = (small){
        .w = cse_state_new("w", shape, CSE_FLOAT32, (cse_initializer){ CSE_INIT_UNIFORM, -1, 1 }),
        .buffer = cse_state_new("buffer", shape, CSE_FLOAT32,
                                (cse_initializer){ CSE_INIT_UNIFORM, -1, 1 }),
        .unused = cse_state_new("unused", shape, CSE_FLOAT32, zero),
        .index = cse_state_new("index", shape, CSE_INT32, zero),
        .of_w = cse_state_new("of_w", shape, CSE_FLOAT32, zero),
        .of_buffer = cse_state_new("of_buffer", shape, CSE_FLOAT32, zero),
        .of_second = cse_state_new("of_second", shape, CSE_FLOAT32, zero),
        .of_norm = cse_state_new("of_norm", shape, CSE_FLOAT32, zero),
    };
    return &s;
}

/* The mean over the batch of sin(sum_i w_i x_i) * exp(buffer_0 x_0), and that of the square. */
static cse_tensor *small_step(cse_step *step, void *self)
{
    small *s = self;
    cse_state *const states[] = { s->w, s->buffer, s->unused };
    cse_tensor *gradients[3], *second, *norm;
    cse_tensor *x = cse_input(step, "images");
    cse_tensor *sum = cse_sum(cse_mul(x, cse_read(s->w)), cse_axes(1), false);
    cse_tensor *first = cse_slice_axis(cse_mul(x, cse_read(s->buffer)), 1, 0, 1);
    cse_tensor *y = cse_mul(cse_sin(sum), cse_reshape(cse_exp(first), cse_tensor_shape(sum)));
    cse_tensor *loss = cse_mean_all(y);
    cse_gradients(loss, states, 3, gradients);
    cse_gradients(cse_mean_all(cse_square(y)), states, 1, &second);
    /* A loss of step level, which no sum over the batch is taken of. */
    cse_gradients(cse_sum_all(cse_square(cse_read(s->w))), states, 1, &norm);
    s->reached[0] = gradients[0] != NULL && second != NULL && norm != NULL;
    s->reached[1] = gradients[1] != NULL;
    s->reached[2] = gradients[2] != NULL;
    cse_assign(s->of_w, gradients[0]);
    cse_assign(s->of_buffer, gradients[1]);
    cse_assign(s->of_second, second);
    cse_assign(s->of_norm, norm);
    cse_step_train(step);
    return loss;
}

static double small_loss(const double w[COLUMNS], const double buffer[COLUMNS], bool squared)
{
    double total = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < COLUMNS; c++)
            sum += w[c] * features[r * COLUMNS + c];
        double y = sin(sum) * exp(buffer[0] * features[r * COLUMNS]);
        total += squared ? y * y : y;
    }
    return total / ROWS;
}

static double difference(double w[COLUMNS], double buffer[COLUMNS], double *at, bool squared)
{
    const double h = 1e-5, before = *at;
    *at = before + h;
    const double above = small_loss(w, buffer, squared);
    *at = before - h;
    const double below = small_loss(w, buffer, squared);
    *at = before;
    return (above - below) / (2 * h);
}

START_TEST(gradients_are_those_of_finite_differences)
{
    table_file file;
    traced_run traced;
    open_session();
    small *s = small_new();
    table_file_write(&file, &(table_content){ .features = features,
                                              .rows = ROWS,
                                              .columns = COLUMNS,
                                              .batch_size = ROWS,
                                              .micro_batch_size = _i });
    traced_run_open(&traced, file.yaml, small_step, s);
    ck_assert(s->reached[0] && s->reached[1] && !s->reached[2]);
    ck_assert(traced.step->training);
    double w[COLUMNS], buffer[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        w[c] = (double)traced_floats(&traced, "w")[c];
        buffer[c] = (double)traced_floats(&traced, "buffer")[c];
    }
    traced_run_step(&traced);
    for (int c = 0; c < COLUMNS; c++) {
        const double of_w = difference(w, buffer, &w[c], false);
        const double of_buffer = difference(w, buffer, &buffer[c], false);
        const double of_second = difference(w, buffer, &w[c], true);
        ck_assert_double_eq_tol((double)traced_floats(&traced, "of_w")[c], of_w, 1e-5);
        ck_assert_double_eq_tol((double)traced_floats(&traced, "of_buffer")[c], of_buffer, 1e-5);
        ck_assert_double_eq_tol((double)traced_floats(&traced, "of_second")[c], of_second, 1e-5);
        ck_assert_float_eq(traced_floats(&traced, "of_norm")[c],
                           2 * traced_floats(&traced, "w")[c]);
    }
    traced_run_close(&traced);
    table_file_remove(&file);
    cse_finish();
}
END_TEST

/* Values that lead to the loss through integers alone have no gradient. */
static cse_tensor *chooses(cse_step *step, void *self)
{
    const small *s = self;
    cse_tensor *gradients[2];
    cse_state *const states[] = { s->w, s->buffer };
    cse_tensor *scores = cse_mul(cse_input(step, "images"), cse_read(s->w));
    cse_tensor *chosen = cse_cast(cse_argmax(scores, -1), CSE_FLOAT32);
    cse_tensor *loss = cse_mean_all(cse_mul(chosen, cse_sum_all(cse_read(s->buffer))));
    cse_gradients(loss, states, 2, gradients);
    ck_assert(gradients[0] == NULL && gradients[1] != NULL);
    cse_assign(s->of_buffer, gradients[1]);
    return loss;
}

START_TEST(a_choice_has_no_gradient)
{
    table_file file;
    traced_run traced;
    open_session();
    table_file_write(&file, &(table_content){ .features = features,
                                              .rows = ROWS,
                                              .columns = COLUMNS,
                                              .batch_size = ROWS,
                                              .micro_batch_size = 2 });
    traced_run_open(&traced, file.yaml, chooses, small_new());
    ck_assert(!traced.step->training);
    traced_run_close(&traced);
    table_file_remove(&file);
    cse_finish();
}
END_TEST

/* ---- against the built-in updates, bit for bit ---- */

enum { STEPS = 5, MOST_PARAMETERS = 16 };

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizers[2];
    cse_state *momentum[MOST_PARAMETERS];
    cse_grad_scaler *scaler;
    cse_clip clip;
} training;

static cse_tensor *built_in(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    for (int o = 0; o < 2; o++)
        if (t->optimizers[o] != NULL)
            cse_optimizer_step(step, loss, t->optimizers[o], t->scaler, &t->clip);
    return loss;
}

/* SGD with momentum: v = 0.9 v + g, w = w - 0.05 v. */
static cse_tensor *by_hand(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    const int count = cse_parameter_tensors(t->model);
    cse_state *states[MOST_PARAMETERS];
    cse_tensor *gradients[MOST_PARAMETERS];
    for (int i = 0; i < count; i++)
        states[i] = cse_parameter_at(t->model, i);
    cse_gradients(loss, states, count, gradients);
    for (int i = 0; i < count; i++) {
        cse_tensor *v = cse_add(cse_scale(cse_read(t->momentum[i]), 0.9), gradients[i]);
        cse_assign(t->momentum[i], v);
        cse_assign(states[i], cse_sub(cse_read(states[i]), cse_mul(cse_constant(0.05), v)));
    }
    cse_step_train(step);
    return loss;
}

static void open_training(training *t)
{
    open_session();
    *t = (training){ .model = model_of_8() };
}

/* The parameters after STEPS steps, one behind the other; release with free. */
static float *trained(training *t, const char *yaml, cse_step_function *function)
{
    traced_run traced;
    float *values = calloc((size_t)cse_parameter_count(t->model), sizeof *values);
    int64_t used = 0;
    traced_run_open(&traced, yaml, function, t);
    ck_assert(traced.step->training);
    for (int s = 0; s < STEPS; s++)
        traced_run_step(&traced);
    for (int i = 0; i < cse_parameter_tensors(t->model); i++) {
        const cse_state *state = cse_parameter_at(t->model, i);
        const int64_t elements = cse_shape_elements(cse_state_shape(state));
        memcpy(values + used, traced_floats(&traced, cse_state_name_view(state)),
               (size_t)elements * sizeof *values);
        used += elements;
    }
    traced_run_close(&traced);
    return values;
}

static void expect_same_bits(float *a, float *b, const training *t)
{
    const size_t bytes = (size_t)cse_parameter_count(t->model) * sizeof *a;
    ck_assert_uint_gt(bytes, 0);
    ck_assert_int_eq(memcmp(a, b, bytes), 0);
    free(a);
    free(b);
}

START_TEST(an_update_by_hand_has_the_bits_of_the_optimizer)
{
    training t;
    open_training(&t);
    t.optimizers[0] = cse_configure_optimizer("SGD", t.model, "{lr: 0.05, momentum: 0.9}");
    float *expected = trained(&t, data, built_in);
    cse_finish();
    open_training(&t);
    for (int i = 0; i < cse_parameter_tensors(t.model); i++) {
        char name[64];
        snprintf(name, sizeof name, "momentum.%d", i);
        t.momentum[i] =
            cse_state_new(name, cse_state_shape(cse_parameter_at(t.model, i)), CSE_FLOAT32, zero);
    }
    expect_same_bits(expected, trained(&t, data, by_hand), &t);
    cse_finish();
}
END_TEST

START_TEST(two_optimizers_have_the_bits_of_one)
{
    static const char settings[] = "{lr: 0.05, momentum: 0.9}";
    training t;
    open_training(&t);
    t.optimizers[0] = cse_configure_optimizer("SGD", t.model, settings);
    t.clip.max_value = 0.01;
    float *expected = trained(&t, data, built_in);
    cse_finish();
    open_training(&t);
    t.clip.max_value = 0.01;
    cse_state *halves[2][2] = { { cse_parameter_at(t.model, 0), cse_parameter_at(t.model, 1) },
                                { cse_parameter_at(t.model, 2), cse_parameter_at(t.model, 3) } };
    ck_assert_int_eq(cse_parameter_tensors(t.model), 4);
    for (int o = 0; o < 2; o++)
        t.optimizers[o] = cse_optimizer_new("SGD", halves[o], 2, settings);
    expect_same_bits(expected, trained(&t, data, built_in), &t);
    cse_finish();
}
END_TEST

static cse_tensor *four_calls(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *gradients[MOST_PARAMETERS];
    cse_optimizer *optimizer = t->optimizers[0];
    const int count = cse_optimizer_parameter_count(optimizer);
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_tensor *scaled = cse_grad_scaler_scale(t->scaler, loss);
    cse_optimizer_gradients(optimizer, scaled, gradients);
    cse_grad_scaler_unscale(t->scaler, gradients, count);
    if (t->clip.max_norm > 0)
        cse_clip_gradients(gradients, count, &t->clip);
    cse_grad_scaler_step(t->scaler, optimizer, gradients);
    cse_grad_scaler_update(t->scaler);
    return loss;
}

/* Rows whose first layer overflows float32 in some microbatches make a dynamic scale fall. */
static void write_overflowing(table_file *file)
{
    static double rows[2 * STEPS * 8];
    static int labels[2 * STEPS];
    for (int i = 0; i < COUNT(rows); i++)
        rows[i] = sin(1.3 * i);
    for (int i = 0; i < 8; i++)
        rows[2 * 8 + i] = 3e38;
    for (int i = 0; i < COUNT(labels); i++)
        labels[i] = i % 3;
    table_file_write(file, &(table_content){ .features = rows,
                                             .labels = labels,
                                             .rows = 2 * STEPS,
                                             .columns = 8,
                                             .classes = 3,
                                             .batch_size = 2,
                                             .micro_batch_size = 1 });
}

static const struct {
    const char *scaler;
    double clip; /* of the built-in step, and of the four calls */
    double clip_of_calls;
} scalings[] = {
    { "{loss_scale: dynamic}", 1, 1 },
    { "{loss_scale: dynamic}", 0, 0 },
    { "{loss_scale: 64}", 0.5, 0.5 },
    { "{loss_scale: 0.0}", 0.5, 0.5 },
    { NULL, 0.5, 0.5 },
    /* The scaler's own norm stands in for one that the step does not give, in both forms. */
    { "{loss_scale: dynamic, max_gradient_norm: 0.25}", 0, 0 },
    { "{loss_scale: dynamic, max_gradient_norm: 0.25}", 0.125, 0.125 },
};

static float *scaled_training(int number, cse_step_function *function, double clip, float *scale)
{
    training t;
    table_file file;
    traced_run traced;
    write_overflowing(&file);
    open_training(&t);
    t.optimizers[0] = cse_configure_optimizer("AdamW", t.model, "{lr: 0.05}");
    cse_configure_schedule(t.optimizers[0], "{LinearLR: {initial_learning_rate: 0.1, "
                                            "end_learning_rate: 0.01, total_iters: 4}}");
    if (scalings[number].scaler != NULL)
        t.scaler = cse_grad_scaler_new(scalings[number].scaler);
    t.clip.max_norm = clip;
    traced_run_open(&traced, file.yaml, function, &t);
    for (int s = 0; s < STEPS; s++)
        traced_run_step(&traced);
    const int64_t bytes = traced.step->graph->space_bytes[CSE_SPACE_STATE];
    float *states = malloc((size_t)bytes);
    memcpy(states, traced.run.spaces[CSE_SPACE_STATE], (size_t)bytes);
    scale[0] = (float)bytes;
    scale[1] = (float)traced_int(&traced, "schedulers.0.last_epoch");
    scale[2] = scalings[number].scaler != NULL && strstr(scalings[number].scaler, "dynamic")
                   ? traced_floats(&traced, "grad_scaler.loss_scale")[0]
                   : 0;
    traced_run_close(&traced);
    table_file_remove(&file);
    cse_finish();
    return states;
}

/* Whole states: a name has its place by the order in which the step binds it, which is the same. */
START_TEST(four_calls_have_the_bits_of_the_optimizer_step)
{
    float one[3], other[3];
    float *expected = scaled_training(_i, built_in, scalings[_i].clip, one);
    float *found = scaled_training(_i, four_calls, scalings[_i].clip_of_calls, other);
    ck_assert_int_eq(memcmp(one, other, sizeof one), 0);
    ck_assert_int_eq(memcmp(expected, found, (size_t)one[0]), 0);
    if (one[2] > 0) { /* one of the steps overflowed */
        ck_assert_float_eq(one[2], 16384);
        ck_assert_float_eq(one[1], STEPS - 1);
    }
    free(expected);
    free(found);
}
END_TEST

/* NULL is the scaler of the session's precision, in the four calls as in the step. */
START_TEST(no_scaler_is_that_of_the_session)
{
    training t = { .scaler = NULL };
    traced_run traced;
    ck_assert_int_eq(
        cse_configure(&(cse_configuration){
            .model_dir = "/nowhere", .seed = 1, .precision = "{loss_scaling_factor: dynamic}" }),
        CSE_OK);
    t.model = model_of_8();
    t.optimizers[0] = cse_configure_optimizer("SGD", t.model, "{lr: 0.05}");
    ck_assert_int_eq(cse_network_settle_precision(&cse_session_open_view("test")->network), CSE_OK);
    traced_run_open(&traced, data, four_calls, &t);
    traced_run_step(&traced);
    ck_assert_int_eq(traced_int(&traced, "grad_scaler.steps_since_rescale"), 1);
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

/* ---- array forms ---- */

static cse_status count_values(void *self, const cse_values *values)
{
    *(int *)self += cse_values_count(values);
    return CSE_OK;
}

typedef struct arrays {
    int values;
    cse_metric *metric;
    cse_state *weights[2];
} arrays;

static cse_tensor *with_arrays(cse_step *step, void *self)
{
    arrays *a = self;
    char file[32] = "transient.py";
    cse_tensor *x = cse_input(step, "images");
    cse_tensor *loss =
        cse_mean_all(cse_linear(x, cse_read(a->weights[0]), cse_read(a->weights[1])));
    cse_tensor *handed[] = { loss, cse_batch_mean(cse_square(loss)) };
    cse_metric_update_array(a->metric, handed, 1);
    cse_closure_add(
        step, &(cse_closure_request){
                  .closure = count_values, .self = &a->values, .tensors = handed, .count = 2 });
    (cse_at)(file, 77);
    memset(file, 'x', sizeof file - 1);
    (cse_matmul)(x, (cse_read)(a->weights[0]), false, false);
    return loss;
}

START_TEST(places_are_copied)
{
    open_session();
    arrays a = { .metric = cse_metric_new("mean", "m") };
    a.weights[0] = cse_state_new("weight", cse_shape_of(2, 8), CSE_FLOAT32, zero);
    a.weights[1] = cse_state_new("bias", cse_shape_of(2), CSE_FLOAT32, zero);
    const char *message = traced_failure(data, with_arrays, &a);
    ck_assert_msg(strstr(message, "transient.py:77: matmul") != NULL, "%s", message);
    cse_finish();
}
END_TEST

static cse_tensor *steps_of_states(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_mean_all(
        cse_square(cse_linear(cse_input(step, "images"), cse_read(cse_parameter_at(t->model, 0)),
                              cse_read(cse_parameter_at(t->model, 1)))));
    cse_optimizer_step(step, loss, t->optimizers[0], NULL, NULL);
    return loss;
}

START_TEST(states_are_a_model)
{
    training t = { .scaler = NULL };
    open_session();
    cse_state *states[] = {
        cse_state_new("encoder.weight", cse_shape_of(2, 8), CSE_FLOAT32,
                      (cse_initializer){ CSE_INIT_UNIFORM, -1, 1 }),
        cse_state_new("encoder.bias", cse_shape_of(2), CSE_FLOAT32, zero),
    };
    t.model = cse_model_from_states("own", states, 2);
    ck_assert_int_eq(cse_parameter_tensors(t.model), 2);
    ck_assert_int_eq(cse_parameter_count(t.model), 18);
    ck_assert_ptr_eq(cse_parameter_at(t.model, 1), states[1]);
    t.optimizers[0] = cse_configure_optimizer("SGD", t.model, "{lr: 0.1, momentum: 0.5}");
    float *after = trained(&t, data, steps_of_states);
    ck_assert_float_ne(after[16], 0);
    free(after);
    cse_finish();
}
END_TEST

static Suite *gradients_suite(void)
{
    Suite *suite = suite_create("gradients");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, gradients_are_those_of_finite_differences, 1, 2);
    tcase_add_loop_test(cases, gradients_are_those_of_finite_differences, 2, 3);
    tcase_add_loop_test(cases, gradients_are_those_of_finite_differences, 4, 5);
    tcase_add_test(cases, a_choice_has_no_gradient);
    tcase_add_test(cases, an_update_by_hand_has_the_bits_of_the_optimizer);
    tcase_add_test(cases, two_optimizers_have_the_bits_of_one);
    tcase_add_loop_test(cases, four_calls_have_the_bits_of_the_optimizer_step, 0, COUNT(scalings));
    tcase_add_test(cases, no_scaler_is_that_of_the_session);
    tcase_add_test(cases, places_are_copied);
    tcase_add_test(cases, states_are_a_model);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(gradients_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
