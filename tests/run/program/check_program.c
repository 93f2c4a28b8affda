/* A program's run leaves what a configuration's run leaves: a run store with its state, the values
 * of its steps, its closures by name with what they printed, its own numbers, checkpoints and the
 * step's graph. The same bits come out without it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "csengine/csengine.h"
#include "store/reader.h"
#include "tests/support/temporary_folder.h"

enum { STEPS = 12 };

static const char data[] = "{data_processor: synthetic, samples: 48, features: [4], classes: 2, "
                           "batch_size: 8, micro_batch_size: 4}";
static char folder[64];

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_metric *accuracy;
    bool fails;
} training;

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static cse_status tell_loss(void *self, const cse_values *values)
{
    const training *t = self;
    printf("step %lld\n", (long long)cse_values_step(values));
    must(cse_log_scalar("own/square", (double)(cse_values_step(values) * cse_values_step(values))));
    return t->fails ? cse_fail(CSE_DATA, "enough") : CSE_OK;
}

static cse_status keep_weights(void *self, const cse_values *values)
{
    char path[96];
    (void)self;
    snprintf(path, sizeof path, "%s/own_%lld.mdl", folder, (long long)cse_values_step(values));
    return cse_save(path);
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    cse_step_output(step, "twice", cse_scale(loss, 2));
    cse_step_closure(step, tell_loss, t, loss);
    cse_checkpoint_closure(step, keep_weights, t);
    return loss;
}

static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *outputs = cse_forward(t->model, cse_input(step, "images"));
    cse_metric_update(t->accuracy, cse_input(step, "labels"), cse_argmax(outputs, -1));
    return cse_cross_entropy(outputs, cse_input(step, "labels"));
}

/* Trains and evaluates; returns the accuracy. `digest`: the sum of all weights' bits. */
static double run_program(bool recorded, bool fails, uint64_t *digest)
{
    double accuracy = 0;
    must(cse_configure(&(cse_configuration){
        .model_dir = folder, .num_csx = 2, .seed = 4, .no_run_store = !recorded }));
    training t = { .model = cse_compile(cse_model_new(
                       "fc_mnist", "{input_size: 4, hidden_sizes: [6], num_classes: 2}")),
                   .fails = fails };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.1}");
    t.accuracy = cse_metric_new("accuracy", "eval_accuracy");
    cse_status status = cse_run(
        cse_executor_new(&(cse_executor_options){
            .input = data, .num_steps = STEPS, .checkpoint_steps = 6, .activation_steps = 4 }),
        training_step, &t);
    ck_assert_int_eq(status, fails ? CSE_DATA : CSE_OK);
    if (!fails) {
        cse_eval_mode(t.model);
        must(cse_run(cse_executor_new(&(cse_executor_options){ .input = data, .num_steps = 6 }),
                     evaluation_step, &t));
        must(cse_metric_value(t.accuracy, &accuracy));
    }
    *digest = 0;
    for (int i = 0; i < cse_parameter_tensors(t.model); i++) {
        const uint32_t *bits = cse_state_view(cse_parameter_at(t.model, i));
        const cse_shape shape = cse_state_shape(cse_parameter_at(t.model, i));
        int64_t count = 1;
        for (int d = 0; d < shape.rank; d++)
            count *= shape.dims[d];
        for (int64_t e = 0; e < count; e++)
            *digest = *digest * 31 + bits[e];
    }
    cse_finish();
    return accuracy;
}

/* ---- what is in the store ---- */

static cse_store_reader *open_reader(cse_run_status *status)
{
    cse_store_reader *reader = NULL;
    must(cse_store_reader_open(folder, &reader));
    must(cse_store_reader_status(reader, status));
    return reader;
}

static json_t *rows_of(cse_store_reader *reader, cse_row_kind kind)
{
    cse_text text = { 0 };
    must(cse_store_reader_json(reader, kind, &(cse_store_query){ .after = 0 }, &text));
    json_t *rows = json_loads(text.data, 0, NULL);
    ck_assert_ptr_nonnull(rows);
    cse_text_clear(&text);
    return rows;
}

static json_t *find_row(json_t *rows, const char *column, const char *value)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *text = json_string_value(json_object_get(row, column));
        if (text != NULL && strcmp(text, value) == 0)
            return row;
    }
    ck_abort_msg("no row with %s %s in %s", column, value, json_dumps(rows, 0));
    return NULL;
}

static double last_of(cse_store_reader *reader, const char *series, int64_t step)
{
    cse_point point;
    ck_assert_msg(cse_store_reader_last_point(reader, series, &point), "no series %s", series);
    ck_assert_int_eq(point.step, step);
    return point.value;
}

static void check_key(cse_store_reader *reader, const char *key, const char *value)
{
    cse_text text = { 0 };
    ck_assert(cse_store_reader_key(reader, key, &text));
    ck_assert_str_eq(text.data, value);
    cse_text_clear(&text);
}

START_TEST(a_program_leaves_a_run)
{
    cse_run_status status;
    uint64_t digest;
    const double accuracy = run_program(true, false, &digest);
    cse_store_reader *reader = open_reader(&status);
    ck_assert_int_eq(status.state, CSE_RUN_SUCCEEDED);
    ck_assert_int_eq(status.last_step, STEPS);
    check_key(reader, "name", "check_program");
    check_key(reader, "model", "fc_mnist");
    check_key(reader, "optimizer", "SGD");
    check_key(reader, "num_csx", "2");

    ck_assert(last_of(reader, "twice", STEPS) == 2 * last_of(reader, "loss", STEPS));
    ck_assert(last_of(reader, "own/square", STEPS) == STEPS * STEPS);
    ck_assert(last_of(reader, "eval_accuracy", STEPS) == accuracy);

    json_t *closures = rows_of(reader, CSE_ROW_CLOSURE);
    const json_t *payload = json_object_get(find_row(closures, "name", "tell_loss"), "payload");
    ck_assert_str_eq(json_string_value(json_object_get(payload, "printed")), "step 4");
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(payload, "names"), 0)),
                     "loss");
    payload = json_object_get(find_row(closures, "name", "keep_weights"), "payload");
    ck_assert_ptr_null(json_object_get(payload, "printed"));
    json_decref(closures);

    json_t *logs = rows_of(reader, CSE_ROW_LOG);
    find_row(logs, "message", "step 4");
    find_row(logs, "message", "step 8");
    find_row(logs, "message", "step 12");
    json_decref(logs);

    char path[96];
    struct stat facts;
    json_t *checkpoints = rows_of(reader, CSE_ROW_CHECKPOINT);
    ck_assert_uint_eq(json_array_size(checkpoints), 2);
    snprintf(path, sizeof path, "%s/own_%d.mdl", folder, STEPS);
    ck_assert_int_eq(stat(path, &facts), 0);
    const json_t *row = find_row(checkpoints, "path", path);
    ck_assert_int_eq(json_integer_value(json_object_get(row, "bytes")), facts.st_size);
    json_decref(checkpoints);

    cse_text graph = { 0 };
    char media_type[64];
    must(cse_store_reader_artefact(reader, "graph.training.json", &graph, media_type,
                                   sizeof media_type));
    ck_assert_ptr_nonnull(strstr(graph.data, "fc_layers"));
    cse_text_clear(&graph);
    cse_store_reader_close(&reader);
}
END_TEST

/* The program goes on after an execution that it ended itself: nobody cancels the run. */
START_TEST(a_break_is_no_cancellation)
{
    enum { ENDLESS = 1000000000 };
    cse_run_status status;
    must(cse_configure(&(cse_configuration){ .model_dir = folder, .seed = 4 }));
    training t = { .model = cse_compile(cse_model_new(
                       "fc_mnist", "{input_size: 4, hidden_sizes: [6], num_classes: 2}")) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.1}");
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = data, .num_steps = ENDLESS, .checkpoint_steps = ENDLESS, .activation_steps = 50 });
    for (int i = 0; i < 2; i++) {
        cse_loop *loop = cse_execution_begin(executor, training_step, &t);
        ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_STEP);
        must(cse_execution_end(&loop));
    }
    cse_finish();
    cse_store_reader *reader = open_reader(&status);
    ck_assert_int_eq(status.state, CSE_RUN_SUCCEEDED);
    json_t *transitions = rows_of(reader, CSE_ROW_TRANSITION), *row;
    size_t i;
    json_array_foreach(transitions, i, row)
        ck_assert_str_ne(json_string_value(json_object_get(row, "to_state")), "CANCELLING");
    json_decref(transitions);
    json_t *logs = rows_of(reader, CSE_ROW_LOG);
    json_array_foreach(logs, i, row)
        ck_assert_str_ne(json_string_value(json_object_get(row, "level")), "WARNING");
    json_decref(logs);
    cse_store_reader_close(&reader);
}
END_TEST

START_TEST(recording_changes_no_bit_and_can_be_switched_off)
{
    uint64_t with, without;
    char path[96];
    run_program(false, false, &without);
    snprintf(path, sizeof path, "%s/run.db", folder);
    ck_assert_int_ne(access(path, F_OK), 0);
    run_program(true, false, &with);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert(with == without);
}
END_TEST

START_TEST(a_failure_and_a_second_attempt_are_told)
{
    cse_run_status status;
    uint64_t digest;
    run_program(true, true, &digest);
    cse_store_reader *reader = open_reader(&status);
    ck_assert_int_eq(status.state, CSE_RUN_FAILED);
    ck_assert_ptr_nonnull(strstr(status.message, "enough"));
    cse_store_reader_close(&reader);
    run_program(true, false, &digest);
    reader = open_reader(&status);
    ck_assert_int_eq(status.state, CSE_RUN_SUCCEEDED);
    ck_assert_int_eq(status.attempt, 2);
    cse_store_reader_close(&reader);
}
END_TEST

/* A file of the user's under that name is left alone, and training goes on. */
START_TEST(a_store_that_cannot_be_made_ends_nothing)
{
    char path[96], text[16] = "";
    uint64_t digest;
    snprintf(path, sizeof path, "%s/run.db", folder);
    FILE *file = fopen(path, "w");
    fputs("my notes", file);
    fclose(file);
    ck_assert(run_program(true, false, &digest) > 0);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    ck_assert_str_eq(text, "my notes");
}
END_TEST

START_TEST(names_of_scalars_are_checked)
{
    char name[16];
    ck_assert_int_eq(cse_log_scalar("x", 1), CSE_USAGE);
    must(cse_configure(&(cse_configuration){ .model_dir = folder }));
    ck_assert_int_eq(cse_log_scalar("", 1), CSE_CONFIG);
    ck_assert_int_eq(cse_log_scalar("a b", 1), CSE_CONFIG);
    ck_assert_int_eq(cse_log_scalar(NULL, 1), CSE_CONFIG);
    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "s%d", i);
        must(cse_log_scalar(name, i));
    }
    must(cse_log_scalar("s0", (double)NAN)); /* known already */
    ck_assert_int_eq(cse_log_scalar("one_more", 1), CSE_CONFIG);
    cse_finish();
}
END_TEST

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_program_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    cse_finish();
    temporary_folder_remove(folder);
}

int main(void)
{
    Suite *suite = suite_create("program");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, a_program_leaves_a_run);
    tcase_add_test(cases, a_break_is_no_cancellation);
    tcase_add_test(cases, recording_changes_no_bit_and_can_be_switched_off);
    tcase_add_test(cases, a_failure_and_a_second_attempt_are_told);
    tcase_add_test(cases, a_store_that_cannot_be_made_ends_nothing);
    tcase_add_test(cases, names_of_scalars_are_checked);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
