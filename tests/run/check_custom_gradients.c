/* Custom gradients and constants from data, interpreted: their values, by hand, and the key by
 * which a compiled step is found. check_gradient_bits.c runs them as compiled code. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/base/types/dtype.h"
#include "tests/support/traced_run.h"

enum { ROWS = 2, COLUMNS = 3 };
static const double features[ROWS * COLUMNS] = { 0.75, -1.25, 2.5, 0.25, 1.75, -0.5 };

typedef struct objects {
    cse_state *w, *of_w, *out, *flags;
    int calls;
    float table[COLUMNS];
    char fingerprint[33];
} objects;

static objects objects_new(void)
{
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    const cse_shape shape = cse_shape_of(COLUMNS);
    open_session();
    return (objects){
        .w = cse_state_new("w", shape, CSE_FLOAT32, (cse_initializer){ CSE_INIT_CONSTANT, 1.5, 0 }),
        .of_w = cse_state_new("of_w", shape, CSE_FLOAT32, zero),
        .out = cse_state_new("out", shape, CSE_FLOAT32, zero),
        .flags = cse_state_new("flags", shape, CSE_INT32, zero),
    };
}

static void open_step(traced_run *traced, cse_step_function *function, objects *o)
{
    table_file file;
    table_file_write(&file, &(table_content){ .features = features,
                                              .rows = ROWS,
                                              .columns = COLUMNS,
                                              .batch_size = ROWS,
                                              .micro_batch_size = 1 });
    traced_run_open(traced, file.yaml, function, o);
    traced_run_step(traced);
    table_file_remove(&file);
}

/* ---- a straight-through estimator ---- */

/* The gradient of a rounded value is taken to be that of the value. */
static void straight_through(void *self, const cse_backward *backward)
{
    ++*(int *)self;
    ck_assert_int_eq(backward->input_count, 1);
    ck_assert_int_eq(backward->output_count, 1);
    backward->input_gradients[0] = backward->output_gradients[0];
}

static cse_tensor *rounded(cse_tensor *x, int *calls)
{
    cse_tensor *y = cse_round(x);
    cse_custom_gradient(&(cse_custom_function){ .inputs = &x,
                                                .input_count = 1,
                                                .outputs = &y,
                                                .output_count = 1,
                                                .backward = straight_through,
                                                .self = calls });
    return y;
}

/* loss = sum of round(w x)^2: with the estimator the gradient is 2 round(w x) x. */
static cse_tensor *estimated(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *gradient;
    cse_tensor *y = rounded(cse_mul(cse_input(step, "images"), cse_read(o->w)), &o->calls);
    cse_tensor *loss = cse_sum_all(cse_square(y));
    cse_gradients(loss, &o->w, 1, &gradient);
    cse_assign(o->of_w, gradient);
    return loss;
}

START_TEST(a_straight_through_estimator_passes_gradients_on)
{
    traced_run traced;
    objects o = objects_new();
    open_step(&traced, estimated, &o);
    ck_assert_int_eq(o.calls, 1);
    for (int c = 0; c < COLUMNS; c++) {
        double expected = 0;
        for (int r = 0; r < ROWS; r++)
            expected += 2 * nearbyint(1.5 * features[r * COLUMNS + c]) * features[r * COLUMNS + c];
        ck_assert_double_eq((double)traced_floats(&traced, "of_w")[c], expected / ROWS);
    }
    for (int n = 0; n < traced.step->graph->node_count; n++)
        ck_assert_ptr_ne(traced.step->graph->nodes[n]->op, &cse_op_custom);
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

static cse_tensor *forward_only(cse_step *step, void *self)
{
    objects *o = self;
    cse_tensor *y = rounded(cse_mul(cse_input(step, "images"), cse_read(o->w)), &o->calls);
    cse_assign(o->out, cse_reshape(cse_batch_sum(y), cse_shape_of(COLUMNS)));
    return NULL;
}

START_TEST(without_gradients_the_callback_is_not_called)
{
    traced_run traced;
    objects o = objects_new();
    open_step(&traced, forward_only, &o);
    ck_assert_int_eq(o.calls, 0);
    for (int c = 0; c < COLUMNS; c++)
        ck_assert_double_eq((double)traced_floats(&traced, "out")[c],
                            nearbyint(1.5 * features[c]) + nearbyint(1.5 * features[COLUMNS + c]));
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

/* ---- several inputs and outputs ---- */

/* Of p = a b and q = a + b: da = 3 dp, db = dq, which the product rule does not give. */
static void made_up(void *self, const cse_backward *b)
{
    ++*(int *)self;
    ck_assert_int_eq(b->input_count, 2);
    ck_assert_int_eq(b->output_count, 2);
    b->input_gradients[0] = cse_scale(b->output_gradients[0], 3);
    b->input_gradients[1] = b->output_gradients[1];
}

/* loss = sum(p) + [1] 5 sum(q): the second output has a gradient of 0 where it is not used. */
static cse_tensor *two_outputs(cse_step *step, void *self)
{
    objects *o = self;
    cse_state *const states[] = { o->w, o->out };
    cse_tensor *gradients[2];
    cse_tensor *x = cse_input(step, "images");
    cse_tensor *inputs[] = { cse_mul(x, cse_read(o->w)), cse_mul(x, cse_read(o->out)) };
    cse_tensor *outputs[] = { cse_mul(inputs[0], inputs[1]), cse_add(inputs[0], inputs[1]) };
    cse_custom_gradient(&(cse_custom_function){ .inputs = inputs,
                                                .input_count = 2,
                                                .outputs = outputs,
                                                .output_count = 2,
                                                .backward = made_up,
                                                .self = &o->calls });
    cse_tensor *loss = cse_sum_all(outputs[0]);
    if (o->table[0] != 0)
        loss = cse_add(loss, cse_scale(cse_sum_all(outputs[1]), 5));
    cse_gradients(loss, states, 2, gradients);
    cse_assign(o->of_w, gradients[0]);
    cse_assign(o->out, gradients[1]);
    return loss;
}

START_TEST(each_output_has_its_gradient)
{
    traced_run traced;
    objects o = objects_new();
    o.table[0] = (float)_i;
    open_step(&traced, two_outputs, &o);
    ck_assert_int_eq(o.calls, 1);
    for (int c = 0; c < COLUMNS; c++) {
        const double mean = (features[c] + features[COLUMNS + c]) / ROWS;
        ck_assert_double_eq((double)traced_floats(&traced, "of_w")[c], 3 * mean);
        ck_assert_double_eq((double)traced_floats(&traced, "out")[c], _i * 5 * mean);
    }
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

/* ---- constants ---- */

static const bool mask[COLUMNS] = { true, false, true };
static const int32_t numbers[COLUMNS] = { 7, -2, 1 << 30 };

/* out = table + [1, 2, 4] in each 16-bit type; flags = where(mask, numbers, -1). */
static cse_tensor *with_tables(cse_step *step, void *self)
{
    objects *o = self;
    const cse_shape shape = cse_shape_of(COLUMNS);
    cse_tensor *sum = cse_constant_data(step, shape, CSE_FLOAT32, o->table);
    ck_assert_ptr_eq(sum, cse_constant_data(step, shape, CSE_FLOAT32, o->table));
    const cse_dtype types[] = { CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };
    for (int t = 0; t < 3; t++) {
        uint16_t bits[COLUMNS];
        for (int i = 0; i < COLUMNS; i++)
            bits[i] = cse_round_to_bits(types[t], (float)(1 << i));
        cse_tensor *table = cse_constant_data(step, shape, types[t], bits);
        ck_assert_int_eq(cse_tensor_dtype(table), types[t]);
        sum = cse_add(sum, cse_cast(table, CSE_FLOAT32));
    }
    cse_tensor *flags = cse_constant_data(step, shape, CSE_BOOL, mask);
    cse_tensor *values = cse_constant_data(step, shape, CSE_INT32, numbers);
    ck_assert_int_eq(cse_tensor_dtype(flags), CSE_BOOL);
    cse_assign(o->out, sum);
    cse_assign(o->flags, cse_where(flags, values, cse_constant_int(-1)));
    /* A value of the batch, so that replicas read a table, too. */
    cse_tensor *x = cse_input(step, "images");
    cse_tensor *weighed = cse_mul(x, cse_constant_data(step, shape, CSE_FLOAT32, o->table));
    cse_assign(o->of_w, cse_reshape(cse_batch_sum(weighed), shape));
    cse_graph_fingerprint(step->graph, o->fingerprint);
    return NULL;
}

START_TEST(constants_have_the_values_of_their_data)
{
    traced_run traced;
    objects o = objects_new();
    for (int c = 0; c < COLUMNS; c++)
        o.table[c] = (float)c * 0.1F - 3;
    open_step(&traced, with_tables, &o);
    for (int c = 0; c < COLUMNS; c++) {
        ck_assert_float_eq(traced_floats(&traced, "out")[c], o.table[c] + 3 * (float)(1 << c));
        ck_assert_int_eq(((int32_t *)(void *)traced_floats(&traced, "flags"))[c],
                         mask[c] ? numbers[c] : -1);
        ck_assert_float_eq_tol(traced_floats(&traced, "of_w")[c],
                               o.table[c] * (float)(features[c] + features[COLUMNS + c]), 1e-6F);
    }
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

/* The trace alone: code for one table does not serve another. */
START_TEST(a_step_is_found_by_the_digest_of_its_data)
{
    char before[33] = "";
    for (int k = 0; k < 3; k++) {
        traced_run traced;
        objects o = objects_new();
        o.table[1] = k == 2 ? 1 : 0;
        open_step(&traced, with_tables, &o);
        ck_assert_str_ne(o.fingerprint, "");
        if (k > 0)
            ck_assert_int_eq(strcmp(o.fingerprint, before) == 0, k == 1);
        memcpy(before, o.fingerprint, sizeof before);
        traced_run_close(&traced);
        cse_finish();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("custom_gradients");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, a_straight_through_estimator_passes_gradients_on);
    tcase_add_test(cases, without_gradients_the_callback_is_not_called);
    tcase_add_loop_test(cases, each_output_has_its_gradient, 0, 2);
    tcase_add_test(cases, constants_have_the_values_of_their_data);
    tcase_add_test(cases, a_step_is_found_by_the_digest_of_its_data);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
