/* A step that uses every way of training at once (an update of its own, two optimizers, groups, a
 * scaler by its calls, a custom gradient, tables of data), in runs with real processes and compiled
 * code: the same bits with 1, 2 and 3 replicas, and with a stop and a resumption in between; and
 * the values of the tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "csengine/csengine.h"
#include "tests/support/temporary_folder.h"

enum { FEATURES = 6, STEPS = 8, STATES = 5, MOST_BYTES = 4096, TABLE = 3 * FEATURES };

static const char data[] = "{data_processor: synthetic, samples: 240, features: [6], classes: 4, "
                           "batch_size: 24, micro_batch_size: 4}";

typedef struct training {
    cse_state *states[STATES]; /* weight, bias, scale, own, velocity */
    cse_state *table_sum;
    cse_optimizer *first, *second;
    cse_grad_scaler *scaler;
    int64_t most_steps;
} training;

/* Gradients pass through the rounding to eighths. */
static void pass_on(void *self, const cse_backward *backward)
{
    (void)self;
    backward->input_gradients[0] = backward->output_gradients[0];
}

static cse_tensor *in_eighths(cse_tensor *x)
{
    cse_tensor *y = cse_scale(cse_round(cse_scale(x, 8)), 0.125);
    cse_custom_gradient(&(cse_custom_function){
        .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1, .backward = pass_on });
    return y;
}

static float table_value(int i)
{
    return sinf((float)i) + 1;
}

static cse_tensor *loss_of(cse_step *step, const training *t)
{
    float table[TABLE];
    for (int i = 0; i < TABLE; i++)
        table[i] = table_value(i);
    cse_tensor *rows = cse_constant_data(step, cse_shape_of(3, FEATURES), CSE_FLOAT32, table);
    cse_assign(t->table_sum, cse_sum(rows, cse_axes(0), false));
    cse_tensor *x = cse_mul(cse_input(step, "images"), cse_slice_axis(rows, 0, 1, 2));
    cse_tensor *hidden = cse_mul(in_eighths(x), cse_read(t->states[2]));
    cse_tensor *scores = cse_linear(hidden, cse_read(t->states[0]), cse_read(t->states[1]));
    return cse_cross_entropy(cse_add(scores, cse_read(t->states[3])), cse_input(step, "labels"));
}

static cse_status save(void *self, const cse_values *values)
{
    (void)self;
    (void)values;
    return cse_save("stopped.mdl");
}

static cse_tensor *step_function(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *first[2], *second[1], *own[1];
    cse_state *const own_states[] = { t->states[3] };
    cse_tensor *loss = loss_of(step, t);
    cse_tensor *scaled = cse_grad_scaler_scale(t->scaler, loss);
    cse_optimizer_gradients(t->first, scaled, first);
    cse_gradients(scaled, own_states, 1, own);
    /* Of another loss. */
    cse_tensor *other = cse_add(scaled, cse_sum_all(cse_square(cse_read(t->states[2]))));
    cse_optimizer_gradients(t->second, other, second);
    cse_grad_scaler_unscale(t->scaler, first, 2);
    cse_grad_scaler_unscale(t->scaler, second, 1);
    cse_grad_scaler_unscale(t->scaler, own, 1);
    cse_clip_gradients(first, 2, &(cse_clip){ .max_norm = 0.5 });
    cse_grad_scaler_step(t->scaler, t->first, first);
    cse_grad_scaler_step(t->scaler, t->second, second);
    cse_tensor *v = cse_add(cse_scale(cse_read(t->states[4]), 0.5), own[0]);
    cse_tensor *next = cse_sub(cse_read(t->states[3]), cse_scale(v, 0.1));
    cse_tensor *finite = cse_grad_scaler_finite(t->scaler);
    cse_assign(t->states[4], cse_where(finite, v, cse_read(t->states[4])));
    cse_assign(t->states[3], cse_where(finite, next, cse_read(t->states[3])));
    cse_grad_scaler_update(t->scaler);
    cse_checkpoint_closure(step, save, NULL);
    return loss;
}

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static void open_training(training *t, const char *folder, int num_csx)
{
    const cse_initializer uniform = { CSE_INIT_UNIFORM, -0.5, 0.5 };
    must(cse_configure(&(cse_configuration){ .model_dir = folder, .seed = 3, .num_csx = num_csx }));
    *t = (training){
        .states = { cse_state_new("weight", cse_shape_of(4, FEATURES), CSE_FLOAT32, uniform),
                    cse_state_new("bias", cse_shape_of(4), CSE_FLOAT32, uniform),
                    cse_state_new("scale", cse_shape_of(FEATURES), CSE_FLOAT32, uniform),
                    cse_state_new("own", cse_shape_of(4), CSE_FLOAT32, uniform),
                    cse_state_new("velocity", cse_shape_of(4), CSE_FLOAT32,
                                  (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 }) },
        .table_sum = cse_state_new("table_sum", cse_shape_of(FEATURES), CSE_FLOAT32,
                                   (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 }),
    };
    t->first = cse_optimizer_new("AdamW", t->states, 2,
                                 "{lr: 0.05, weight_decay: 0.1, params: [{params: bias, "
                                 "weight_decay: 0, adjust_learning_rate: 0.5}]}");
    t->second = cse_optimizer_new("SGD", t->states + 2, 1, "{lr: 0.01, momentum: 0.9}");
    cse_configure_schedule(t->first, "{ScalePerParamLR: {scheduler: {LinearLR: "
                                     "{initial_learning_rate: 0.1, end_learning_rate: 0.01, "
                                     "total_iters: 6}}}}");
    cse_configure_schedule(t->second, "{ExponentialLR: {initial_learning_rate: 0.1, "
                                      "total_iters: 4, decay_rate: 0.5}}");
    t->scaler = cse_grad_scaler_new("{loss_scale: dynamic, steps_per_increase: 3}");
    must(cse_session_status());
}

static void run(training *t, int64_t steps)
{
    must(cse_run(cse_executor_new(&(cse_executor_options){
                     .input = data, .max_steps = steps, .checkpoint_steps = 100 }),
                 step_function, t));
    ck_assert_int_eq(cse_global_step(), steps);
}

static size_t values_of(const training *t, unsigned char *values)
{
    size_t used = 0;
    for (int i = 0; i < STATES; i++) {
        const size_t bytes =
            (size_t)cse_shape_elements(cse_state_shape(t->states[i])) * sizeof(float);
        ck_assert_uint_le(used + bytes, MOST_BYTES);
        must(cse_state_get(t->states[i], values + used, bytes));
        used += bytes;
    }
    /* The values of the own update, which began at 0. */
    ck_assert_float_ne(((const float *)(const void *)(values + used))[-1], 0);
    return used;
}

static void check_table(const training *t)
{
    float sums[FEATURES];
    must(cse_state_get(t->table_sum, sums, sizeof sums));
    for (int c = 0; c < FEATURES; c++)
        ck_assert_float_eq_tol(
            sums[c], table_value(c) + table_value(FEATURES + c) + table_value(2 * FEATURES + c),
            1e-6F);
}

START_TEST(the_bits_are_the_same)
{
    static unsigned char expected[MOST_BYTES], found[MOST_BYTES];
    char folder[64] = "/tmp/cse_gradient_bits_XXXXXX";
    training t;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    for (int num_csx = 1; num_csx <= 3; num_csx++) {
        open_training(&t, folder, num_csx);
        run(&t, STEPS);
        const size_t bytes = values_of(&t, num_csx == 1 ? expected : found);
        check_table(&t);
        if (num_csx > 1)
            ck_assert_msg(memcmp(expected, found, bytes) == 0, "%d replicas", num_csx);
        cse_finish();
    }
    /* A stop at step 3, another session, and a second execution of it. */
    open_training(&t, folder, 2);
    run(&t, 3);
    cse_finish();
    open_training(&t, folder, 3);
    must(cse_load("stopped.mdl"));
    run(&t, 5);
    run(&t, STEPS);
    const size_t bytes = values_of(&t, found);
    ck_assert_msg(memcmp(expected, found, bytes) == 0, "stopped and resumed");
    check_table(&t);
    cse_finish();
    ck_assert_int_eq(chdir("/"), 0);
    temporary_folder_remove(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient_bits");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, the_bits_are_the_same);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
