/* Selective gradients: the mask and the weights after each step against PyTorch; what is not
 * selected keeps its bits; masks of one's own; where masks come from when a checkpoint is loaded;
 * the mistakes. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/reference/selective_gradients.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
enum { SIZE = SELECTIVE_ROWS * SELECTIVE_COLUMNS };

static char folder[64];

typedef struct training {
    cse_state *weight, *bias;
    cse_optimizer *optimizer;
    const cse_clip *clip;
    bool in_parts; /* by cse_optimizer_gradients and cse_optimizer_apply */
} training;

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

/* The gradient of each parameter is the row. */
static cse_tensor *step_function(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *x = cse_input(step, "images"), *gradients[2];
    cse_tensor *weight = cse_reshape(cse_read(t->weight), cse_shape_of(SIZE));
    cse_tensor *loss = cse_sum_all(cse_mul(x, cse_add(weight, cse_read(t->bias))));
    if (!t->in_parts) {
        cse_optimizer_step(step, loss, t->optimizer, NULL, t->clip);
        return loss;
    }
    cse_optimizer_gradients(t->optimizer, loss, gradients);
    cse_clip_gradients(gradients, 2, t->clip);
    cse_optimizer_apply(t->optimizer, gradients);
    return loss;
}

static training open_training(const char *optimizer, const char *settings)
{
    float values[SIZE];
    const cse_shape matrix = cse_shape_of(SELECTIVE_ROWS, SELECTIVE_COLUMNS);
    must(cse_configure(
        &(cse_configuration){ .model_dir = folder, .seed = 1, .no_run_store = true }));
    training t = { .weight = cse_state_new("model.weight", matrix, CSE_FLOAT32,
                                           (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 }),
                   .bias = cse_state_new("model.norm.bias", cse_shape_of(SIZE), CSE_FLOAT32,
                                         (cse_initializer){ CSE_INIT_CONSTANT, 0.5, 0 }) };
    for (int i = 0; i < SIZE; i++)
        values[i] = (float)selective_weight[0][i];
    must(cse_state_set(t.weight, values, sizeof values));
    cse_state *const states[] = { t.weight, t.bias };
    t.optimizer =
        cse_configure_optimizer(optimizer, cse_model_from_states("two", states, 2), settings);
    must(cse_session_status());
    return t;
}

static cse_loop *begin(training *t, const table_file *file)
{
    return cse_execution_begin(
        cse_executor_new(&(cse_executor_options){
            .input = file->yaml, .num_steps = SELECTIVE_STEPS, .checkpoint_steps = 1 }),
        step_function, t);
}

static void write_gradients(table_file *file)
{
    table_file_write(file, &(table_content){ .features = selective_gradients[0],
                                             .rows = SELECTIVE_STEPS,
                                             .columns = SIZE,
                                             .batch_size = 1,
                                             .micro_batch_size = 1 });
}

static void check_step(const training *t, int step, const double *expected, const int *mask)
{
    const float *weight = cse_state_view(t->weight), *bias = cse_state_view(t->bias);
    ck_assert(weight != NULL && bias != NULL);
    for (int i = 0; i < SIZE; i++) {
        ck_assert_msg(fabs((double)weight[i] - expected[i]) < 1e-5,
                      "step %d, weight %d: %.9g, not %.9g", step, i, (double)weight[i],
                      expected[i]);
        ck_assert_msg(fabs((double)bias[i] - expected[SIZE + i]) < 1e-5,
                      "step %d, bias %d: %.9g, not %.9g", step, i, (double)bias[i],
                      expected[SIZE + i]);
        if (!mask[i]) /* to the bit */
            ck_assert(weight[i] == (float)selective_weight[0][i]);
    }
}

static const struct {
    const char *optimizer, *settings, *selection;
    cse_clip clip;
    bool in_parts;
    const double (*expected)[2 * SIZE];
} cases[] = {
    { "SGD", "{lr: 0.1, momentum: 0.9, weight_decay: 0.1}", NULL, { 0, 0 }, false, sgd_selective },
    { "SGD",
      "{lr: 0.1, momentum: 0.9, weight_decay: 0.1}",
      "[{param_filter: weight, init_method: outlier}, {param_filter: '*', upper_threshold: 0}]",
      { 0, 0 },
      true,
      sgd_selective },
    { "AdamW",
      "{lr: 0.01, weight_decay: 0.3}",
      "{param_filter: ['model.w*']}",
      { 0, 0 },
      false,
      adamw_selective },
    { "SGD", "{lr: 0.1}", "{upper_threshold: 2.25}", { 0.5, 0 }, false, clipped_selective },
    { "SGD", "{lr: 0.1}", "{}", { 0.5, 0 }, true, clipped_selective },
};

START_TEST(chosen_elements_are_trained_as_in_pytorch)
{
    table_file file;
    write_gradients(&file);
    training t = open_training(cases[_i].optimizer, cases[_i].settings);
    t.clip = &cases[_i].clip;
    t.in_parts = cases[_i].in_parts;
    cse_select_gradients(t.optimizer, cases[_i].selection);
    must(cse_session_status());
    cse_loop *loop = begin(&t, &file);
    for (int s = 0; s < SELECTIVE_STEPS; s++) {
        ck_assert_msg(cse_execution_next(loop, -1) == CSE_NEXT_STEP, "%s", cse_error_message());
        check_step(&t, s, cases[_i].expected[s], selective_mask);
    }
    must(cse_execution_end(&loop));
    cse_finish();
    table_file_remove(&file);
}
END_TEST

/* ---- masks of one's own, and checkpoints ---- */

static void check_mask(const int *expected)
{
    int32_t values[SIZE];
    char path[128];
    cse_saved *saved = NULL;
    snprintf(path, sizeof path, "%s/mask.mdl", folder);
    must(cse_save(path));
    must(cse_saved_open(path, &saved));
    must(cse_saved_read(saved, "optimizer.weight.requires_grad", 0, SIZE, values));
    cse_saved_close(&saved);
    for (int i = 0; i < SIZE; i++)
        ck_assert_msg(values[i] == expected[i], "element %d: %d", i, (int)values[i]);
}

static void first_row(void *self, const cse_mask_request *request)
{
    int *calls = self;
    (*calls)++;
    ck_assert_str_eq(request->name, "model.weight");
    ck_assert_int_eq(request->shape.dims[0], SELECTIVE_ROWS);
    ck_assert(request->values[1] == (float)selective_weight[0][1]);
    for (int i = 0; i < SELECTIVE_COLUMNS; i++)
        request->selected[i] = true;
}

START_TEST(a_function_may_choose)
{
    int expected[SIZE] = { 0 }, calls = 0;
    training t = open_training("SGD", "{lr: 0.1}");
    cse_select_gradients_by(t.optimizer, NULL, first_row, &calls);
    must(cse_session_status());
    for (int i = 0; i < SELECTIVE_COLUMNS; i++)
        expected[i] = 1;
    check_mask(expected);
    ck_assert_int_eq(calls, 1);
    cse_finish();
}
END_TEST

START_TEST(masks_come_from_the_checkpoint_or_from_its_weights)
{
    char path[128];
    float other[SIZE];
    int all[SIZE];
    table_file file;
    write_gradients(&file);
    snprintf(path, sizeof path, "%s/trained.mdl", folder);
    for (int i = 0; i < SIZE; i++) {
        other[i] = 1;
        all[i] = 1;
    }
    /* One with masks: they stay, whatever the weights have become. */
    training t = open_training("SGD", "{lr: 100}");
    cse_select_gradients(t.optimizer, NULL);
    cse_loop *loop = begin(&t, &file);
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP)
        ;
    must(cse_execution_end(&loop));
    must(cse_save(path));
    cse_finish();
    t = open_training("SGD", "{lr: 100}");
    must(cse_state_set(t.weight, other, sizeof other));
    cse_select_gradients(t.optimizer, NULL);
    must(cse_load(path));
    check_mask(selective_mask);
    cse_finish();
    /* One without masks: of the weights that it has, which do not differ within a column. */
    t = open_training("SGD", "{lr: 100}");
    must(cse_state_set(t.weight, other, sizeof other));
    must(cse_save(path));
    cse_finish();
    t = open_training("SGD", "{lr: 100}");
    cse_select_gradients(t.optimizer, NULL);
    check_mask(selective_mask);
    must(cse_load(path));
    check_mask(all);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

/* ---- mistakes ---- */

static const struct {
    const char *settings, *words[2];
} wrong[] = {
    { "{param_filter: 'weights*'}", { "\"weights*\" matches no parameter", "as in weight" } },
    { "{init_method: inlier}", { "init_method", "outlier" } },
    { "{param_filters: weight}", { "did you mean", "param_filter" } },
    { "{param_filter: {a: b}}", { "is a pattern", "1:" } },
    { "{upper_threshold: -1}", { "upper_threshold", "0" } },
    { "[weight]", { "expects {param_filter", "1:" } },
};

START_TEST(mistakes_are_named)
{
    training t = open_training("SGD", "{lr: 0.1}");
    cse_select_gradients(t.optimizer, wrong[_i].settings);
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    for (int w = 0; w < COUNT(wrong[_i].words); w++)
        ck_assert_msg(strstr(cse_error_message(), wrong[_i].words[w]) != NULL, "%s: %s",
                      wrong[_i].words[w], cse_error_message());
    cse_finish();
}
END_TEST

START_TEST(a_function_is_needed)
{
    training t = open_training("SGD", "{lr: 0.1}");
    cse_select_gradients_by(t.optimizer, NULL, NULL, NULL);
    ck_assert_int_eq(cse_session_status(), CSE_USAGE);
    cse_finish();
}
END_TEST

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_selective_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    cse_finish();
    temporary_folder_remove(folder);
}

int main(void)
{
    Suite *suite = suite_create("selective gradients");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, make_folder, remove_folder);
    tcase_add_loop_test(all, chosen_elements_are_trained_as_in_pytorch, 0, COUNT(cases));
    tcase_add_test(all, a_function_may_choose);
    tcase_add_test(all, masks_come_from_the_checkpoint_or_from_its_weights);
    tcase_add_loop_test(all, mistakes_are_named, 0, COUNT(wrong));
    tcase_add_test(all, a_function_is_needed);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
