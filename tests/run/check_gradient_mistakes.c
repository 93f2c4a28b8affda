/* Mistakes with gradients, scalers, custom gradients and constants: each has one message that names
 * the call and its place, or the state. */
#undef CSE_BUILDING_LIBRARY /* the call's place in this file is part of what is tested */
#include <check.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char data[] = "{data_processor: synthetic, samples: 64, features: [8], classes: 3, "
                           "batch_size: 16, micro_batch_size: 8}";

typedef struct objects {
    cse_state *w, *count;
    cse_optimizer *first, *second; /* both update w */
    cse_grad_scaler *scaler, *other;
    cse_model *model;
} objects;

static cse_tensor *loss_of(cse_step *step, const objects *o)
{
    return cse_mean_all(cse_mul(cse_input(step, "images"), cse_read(o->w)));
}

static cse_tensor *vector_loss(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *gradient;
    cse_gradients(cse_mul(cse_input(step, "images"), cse_read(o->w)), &o->w, 1, &gradient);
    return NULL;
}

static cse_tensor *integer_state(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *gradient;
    cse_gradients(loss_of(step, o), &o->count, 1, &gradient);
    return NULL;
}

static cse_tensor *no_state(cse_step *step, void *self)
{
    cse_state *none = NULL;
    cse_tensor *gradient;
    cse_gradients(loss_of(step, self), &none, 1, &gradient);
    return NULL;
}

/* Autodiff refuses it; it runs here as the step has a custom gradient. */
static void gives_nothing(void *self, const cse_backward *backward)
{
    (void)self;
    (void)backward;
}

static cse_tensor *custom(cse_tensor *x, cse_backward_function *backward)
{
    cse_tensor *y = cse_neg(x);
    cse_custom_gradient(&(cse_custom_function){
        .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1, .backward = backward });
    return y;
}

static cse_tensor *sum_loss(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *gradient;
    cse_tensor *mean = cse_batch_mean(loss_of(step, o));
    cse_gradients(cse_square(custom(mean, gives_nothing)), &o->w, 1, &gradient);
    cse_gradients(cse_square(mean), &o->w, 1, &gradient);
    cse_assign(o->w, gradient);
    return NULL;
}

static void takes_gradients(void *self, const cse_backward *backward)
{
    (void)self;
    cse_gradients(cse_sum_all(backward->inputs[0]), NULL, 0, NULL);
}

static cse_tensor *nested_gradients(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *gradient;
    cse_gradients(custom(loss_of(step, o), takes_gradients), &o->w, 1, &gradient);
    cse_assign(o->w, gradient);
    return NULL;
}

static void gives_another_shape(void *self, const cse_backward *backward)
{
    (void)self;
    backward->input_gradients[0] = cse_full(cse_shape_of(3), 1);
}

static cse_tensor *other_shape(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *gradient;
    cse_gradients(custom(loss_of(step, o), gives_another_shape), &o->w, 1, &gradient);
    cse_assign(o->w, gradient);
    return NULL;
}

static cse_tensor *no_callback(cse_step *step, void *self)
{
    return custom(loss_of(step, self), NULL);
}

static cse_tensor *integer_output(cse_step *step, void *self)
{
    cse_tensor *x = cse_input(step, "images");
    cse_tensor *y = cse_argmax(x, -1);
    (void)self;
    cse_custom_gradient(&(cse_custom_function){ .inputs = &x,
                                                .input_count = 1,
                                                .outputs = &y,
                                                .output_count = 1,
                                                .backward = gives_nothing });
    return NULL;
}

static cse_tensor *state_twice(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *loss = loss_of(step, o);
    cse_optimizer_step(step, loss, o->first, NULL, NULL);
    cse_optimizer_step(step, loss, o->second, NULL, NULL);
    return loss;
}

static cse_tensor *batch_gradient(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *x =
        cse_reshape(cse_slice_axis(cse_input(step, "images"), 0, 0, 1), cse_shape_of(8));
    cse_optimizer_apply(o->first, &x);
    return NULL;
}

static cse_tensor *late_unscale(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *g[1], *again[1];
    cse_optimizer_gradients(o->first, cse_grad_scaler_scale(o->scaler, loss_of(step, o)), g);
    again[0] = g[0];
    cse_grad_scaler_unscale(o->scaler, g, 1);
    cse_grad_scaler_step(o->scaler, o->first, g);
    cse_grad_scaler_unscale(o->scaler, again, 1);
    return NULL;
}

static cse_tensor *early_update(cse_step *step, void *self)
{
    objects *o = self;
    cse_grad_scaler_scale(o->scaler, loss_of(step, o));
    cse_grad_scaler_update(o->scaler);
    return NULL;
}

static cse_tensor *second_update(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *loss = loss_of(step, o);
    cse_optimizer_step(step, loss, o->first, o->scaler, NULL);
    cse_grad_scaler_scale(o->scaler, loss);
    return NULL;
}

static cse_tensor *no_optimizer(cse_step *step, void *self)
{
    (void)step;
    (void)self;
    cse_optimizer_apply(NULL, NULL);
    return NULL;
}

static cse_tensor *negative_clip(cse_step *step, void *self)
{
    cse_tensor *loss = loss_of(step, self);
    cse_clip_gradients(&loss, 1, &(cse_clip){ .max_norm = -1 });
    return NULL;
}

static cse_tensor *no_data(cse_step *step, void *self)
{
    (void)self;
    return cse_constant_data(step, cse_shape_of(2), CSE_FLOAT32, NULL);
}

static cse_tensor *empty_data(cse_step *step, void *self)
{
    (void)self;
    return cse_constant_data(step, cse_shape_of(2, 0), CSE_FLOAT32, "");
}

static cse_tensor *forward_of_states(cse_step *step, void *self)
{
    const objects *o = self;
    return cse_mean_all(cse_forward(o->model, cse_input(step, "images")));
}

static const struct {
    cse_step_function *function;
    const char *words[3];
} mistakes[] = {
    { vector_loss,
      { "check_gradient_mistakes.c:", "cse_gradients", "[8, 8] float32: take its mean" } },
    { integer_state, { "check_gradient_mistakes.c:", "state 'count' is int32" } },
    { no_state, { "cse_gradients: there is no state" } },
    { sum_loss,
      { "check_gradient_mistakes.c:", "through a sum over the batch", "cse_batch_mean" } },
    { nested_gradients, { "check_gradient_mistakes.c:", "custom gradient's callback" } },
    { other_shape, { "check_gradient_mistakes.c:", "input 0 is [] float32", "is [3] float32" } },
    { no_callback, { "check_gradient_mistakes.c:", "cse_custom_gradient", "and a callback" } },
    { integer_output, { "check_gradient_mistakes.c:", "output 0 has an integer type" } },
    { state_twice, { "check_gradient_mistakes.c:", "this is the second update of 'w'" } },
    { batch_gradient,
      { "check_gradient_mistakes.c:", "gradient 0", "the same for all microbatches" } },
    { late_unscale, { "check_gradient_mistakes.c:", "unscale all gradients first" } },
    { early_update, { "check_gradient_mistakes.c:", "no gradient was unscaled" } },
    { second_update, { "check_gradient_mistakes.c:", "was updated in this step already" } },
    { no_optimizer, { "check_gradient_mistakes.c:", "there is no optimizer" } },
    { negative_clip, { "check_gradient_mistakes.c:", "cse_clip_gradients", "not be negative" } },
    { no_data, { "check_gradient_mistakes.c:", "cse_constant_data", "which are NULL" } },
    { empty_data, { "check_gradient_mistakes.c:", "cse_constant_data", "not shape [2, 0]" } },
    { forward_of_states, { "check_gradient_mistakes.c:", "model own consists of states" } },
};

static objects *objects_new(void)
{
    static objects o;
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    open_session();
    o = (objects){ .w = cse_state_new("w", cse_shape_of(8), CSE_FLOAT32, zero),
                   .count = cse_state_new("count", cse_scalar_shape, CSE_INT32, zero) };
    o.model = cse_compile(cse_model_from_states("own", &o.w, 1));
    o.first = cse_optimizer_new("SGD", &o.w, 1, "{lr: 1}");
    o.second = cse_optimizer_new("SGD", &o.w, 1, "{lr: 1}");
    o.scaler = cse_grad_scaler_new("{loss_scale: dynamic}");
    return &o;
}

START_TEST(mistakes_in_a_step_are_named)
{
    const char *message = traced_failure(data, mistakes[_i].function, objects_new());
    for (int w = 0; w < COUNT(mistakes[_i].words) && mistakes[_i].words[w] != NULL; w++)
        ck_assert_msg(strstr(message, mistakes[_i].words[w]) != NULL, "'%s' is not in: %s",
                      mistakes[_i].words[w], message);
    cse_finish();
}
END_TEST

START_TEST(outside_of_a_step_there_are_no_gradients)
{
    objects *o = objects_new();
    cse_tensor *gradient = NULL;
    switch (_i) {
    case 0:
        cse_gradients(NULL, &o->w, 1, &gradient);
        break;
    case 1:
        cse_step_train(NULL);
        break;
    case 2:
        cse_grad_scaler_update(o->scaler);
        break;
    case 3:
        cse_optimizer_apply(o->first, &gradient);
        break;
    case 4:
        cse_custom_gradient(NULL);
        break;
    default:
        cse_constant_data(NULL, cse_scalar_shape, CSE_FLOAT32, "1234");
        break;
    }
    ck_assert_int_eq(cse_session_status(), CSE_USAGE);
    ck_assert_msg(strstr(cse_error_message(), "no step is being traced") != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

START_TEST(states_of_a_model_are_floats)
{
    objects *o = objects_new();
    ck_assert_ptr_null(cse_model_from_states("own", &o->count, 1));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "state 0 (count) is no float32 state"));
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient_mistakes");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, mistakes_in_a_step_are_named, 0, COUNT(mistakes));
    tcase_add_loop_test(cases, outside_of_a_step_there_are_no_gradients, 0, 6);
    tcase_add_test(cases, states_of_a_model_are_floats);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
