/* An execution as a loop of the caller's own: the same bits as cse_run, steps in order, timeouts,
 * a break, failures, several executions, and states that are read where they lie. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <check.h>

#include "csengine/csengine.h"
#include "tests/support/temporary_folder.h"

enum { STEPS = 40, ACTIVATION = 5, CHECKPOINT = 8, MOST_SEEN = 64 };

static const char data[] = "{data_processor: synthetic, samples: 240, features: [6], classes: 4, "
                           "batch_size: 24, micro_batch_size: 6, shuffle: true}";
static char folder[64];

typedef struct seen {
    int count;
    int64_t steps[MOST_SEEN];
    double losses[MOST_SEEN];
} seen;

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_output *loss;
    cse_metric *accuracy;
    cse_state *count; /* of counting_training_step */
    seen activations, checkpoints;
    double worst; /* a closure fails at this step */
    const cse_loop *loop;
} training;

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static void note(seen *s, int64_t step, double loss)
{
    ck_assert_int_lt(s->count, MOST_SEEN);
    s->steps[s->count] = step;
    s->losses[s->count++] = loss;
}

static cse_status on_activation(void *self, const cse_values *values)
{
    training *t = self;
    note(&t->activations, cse_values_step(values), cse_value(values, 0));
    /* The handle gives a closure the same value as its argument. */
    ck_assert(cse_output_number(t->loss) == cse_value(values, 0));
    if (t->worst > 0 && (double)cse_values_step(values) >= t->worst)
        return cse_fail(CSE_DATA, "the closure has seen enough");
    return CSE_OK;
}

static cse_status on_checkpoint(void *self, const cse_values *values)
{
    training *t = self;
    note(&t->checkpoints, cse_values_step(values), cse_value(values, 0));
    return CSE_OK;
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    t->loss = cse_step_output(step, NULL, loss);
    cse_step_closure(step, on_activation, t, loss);
    cse_checkpoint_closure(step, on_checkpoint, t, loss);
    return loss;
}

static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *outputs = cse_forward(t->model, cse_input(step, "images"));
    cse_metric_update(t->accuracy, cse_input(step, "labels"), cse_argmax(outputs, -1));
    cse_tensor *loss = cse_cross_entropy(outputs, cse_input(step, "labels"));
    t->loss = cse_step_output(step, "eval_loss", loss);
    return loss;
}

static training open_training(int replicas)
{
    must(
        cse_configure(&(cse_configuration){ .model_dir = folder, .num_csx = replicas, .seed = 3 }));
    training t = { .model = cse_compile(cse_model_new(
                       "fc_mnist", "{input_size: 6, hidden_sizes: [8], num_classes: 4}")) };
    t.optimizer = cse_configure_optimizer("AdamW", t.model, "{lr: 0.01}");
    t.accuracy = cse_metric_new("accuracy", "accuracy");
    return t;
}

static cse_executor *executor_of(int64_t steps, int64_t checkpoint_steps)
{
    return cse_executor_new(&(cse_executor_options){ .input = data,
                                                     .num_steps = steps,
                                                     .checkpoint_steps = checkpoint_steps,
                                                     .activation_steps = ACTIVATION });
}

/* All parameters, in order; free(). */
static float *weights_of(cse_model *model, size_t *bytes)
{
    unsigned char *copy = malloc((size_t)cse_parameter_count(model) * sizeof(float));
    *bytes = 0;
    for (int i = 0; i < cse_parameter_tensors(model); i++) {
        cse_state *state = cse_parameter_at(model, i);
        const cse_shape shape = cse_state_shape(state);
        size_t size = sizeof(float);
        for (int d = 0; d < shape.rank; d++)
            size *= (size_t)shape.dims[d];
        const void *view = cse_state_view(state);
        ck_assert_msg(view != NULL, "%s", cse_error_message());
        memcpy(copy + *bytes, view, size);
        *bytes += size;
    }
    ck_assert_uint_eq(*bytes, (size_t)cse_parameter_count(model) * sizeof(float));
    return (float *)(void *)copy;
}

static float *run_with_closures(seen *activations, seen *checkpoints, size_t *bytes)
{
    training t = open_training(1);
    must(cse_run(executor_of(STEPS, CHECKPOINT), training_step, &t));
    *activations = t.activations;
    *checkpoints = t.checkpoints;
    float *weights = weights_of(t.model, bytes);
    cse_finish();
    return weights;
}

static void check_equal(const seen *a, const seen *b)
{
    ck_assert_int_eq(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        ck_assert_int_eq(a->steps[i], b->steps[i]);
        ck_assert(a->losses[i] == b->losses[i]);
    }
}

static void no_process_is_left(void)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

/* With another number of replicas, and in slices of time. */
START_TEST(a_loop_has_the_bits_of_cse_run)
{
    seen activations, checkpoints, in_loop = { 0 }, at_checkpoint = { 0 };
    size_t bytes, bytes_of_loop;
    float *expected = run_with_closures(&activations, &checkpoints, &bytes);
    ck_assert_int_eq(activations.count, STEPS / ACTIVATION);
    ck_assert_int_eq(checkpoints.count, STEPS / CHECKPOINT);
    training t = open_training(2);
    cse_loop *loop = cse_execution_begin(executor_of(STEPS, CHECKPOINT), training_step, &t);
    cse_next next;
    int64_t before = 0;
    while ((next = cse_execution_next(loop, 1)) == CSE_NEXT_STEP || next == CSE_NEXT_TIMEOUT) {
        char path[96];
        const int64_t step = cse_execution_step(loop);
        if (next == CSE_NEXT_TIMEOUT) {
            ck_assert(isnan(cse_output_number(t.loss)));
            continue;
        }
        ck_assert_int_gt(step, before);
        before = step;
        ck_assert_int_eq(cse_execution_at_activation(loop), step % ACTIVATION == 0);
        ck_assert_int_eq(cse_execution_at_checkpoint(loop), step % CHECKPOINT == 0);
        if (cse_execution_at_activation(loop))
            note(&in_loop, step, cse_output_number(t.loss));
        snprintf(path, sizeof path, "%s/at_%" PRId64 ".mdl", folder, step);
        if (!cse_execution_at_checkpoint(loop)) {
            ck_assert_int_eq(cse_save(path), CSE_USAGE);
            ck_assert_ptr_null(cse_state_view(cse_parameter_at(t.model, 0)));
            continue;
        }
        note(&at_checkpoint, step, cse_output_number(t.loss));
        must(cse_save(path));
        ck_assert_int_eq(cse_global_step(), step);
    }
    ck_assert_int_eq(next, CSE_NEXT_END);
    ck_assert_int_eq(cse_execution_next(loop, 0), CSE_NEXT_END);
    must(cse_execution_end(&loop));
    ck_assert_ptr_null(loop);
    no_process_is_left();
    check_equal(&t.activations, &activations);
    check_equal(&in_loop, &activations);
    check_equal(&t.checkpoints, &checkpoints);
    check_equal(&at_checkpoint, &checkpoints);
    float *weights = weights_of(t.model, &bytes_of_loop);
    ck_assert_uint_eq(bytes, bytes_of_loop);
    ck_assert(memcmp(expected, weights, bytes) == 0);
    free(weights);
    cse_finish();

    /* A checkpoint of the loop is one like any other. */
    char path[96];
    snprintf(path, sizeof path, "%s/at_%d.mdl", folder, 2 * CHECKPOINT);
    t = open_training(1);
    must(cse_load(path));
    must(cse_run(executor_of(STEPS - 2 * CHECKPOINT, 0), training_step, &t));
    weights = weights_of(t.model, &bytes_of_loop);
    ck_assert(memcmp(expected, weights, bytes) == 0);
    free(weights);
    free(expected);
    cse_finish();
}
END_TEST

START_TEST(a_break_stops_after_a_step_from_where_training_goes_on)
{
    seen activations, checkpoints;
    size_t bytes;
    float *expected = run_with_closures(&activations, &checkpoints, &bytes);
    training t = open_training(1);
    cse_loop *loop = cse_execution_begin(executor_of(STEPS, STEPS), training_step, &t);
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP)
        if (cse_execution_step(loop) == 2 * ACTIVATION)
            break;
    ck_assert_int_eq(cse_execution_step(loop), 2 * ACTIVATION);
    must(cse_execution_end(&loop));
    no_process_is_left();
    ck_assert_int_ge(cse_global_step(), 2 * ACTIVATION);
    const int64_t left = STEPS - cse_global_step();
    if (left > 0)
        must(cse_run(executor_of(left, 0), training_step, &t));
    float *weights = weights_of(t.model, &bytes);
    ck_assert(memcmp(expected, weights, bytes) == 0);
    free(weights);
    free(expected);
    cse_finish();
}
END_TEST

static void stop(int number)
{
    (void)number;
    cse_stop();
}

/* A handler that asks for the end wakes a loop that waits without a limit; the last step has its
 * checkpoint, as that of a loop that was left. */
START_TEST(a_signal_ends_a_loop_that_waits)
{
    enum { ENDLESS = 1000000000, QUIET = 500000000 };
    training t = open_training(2);
    signal(SIGALRM, stop);
    /* No activation step comes before the signal. */
    cse_loop *loop =
        cse_execution_begin(cse_executor_new(&(cse_executor_options){ .input = data,
                                                                      .num_steps = ENDLESS,
                                                                      .checkpoint_steps = QUIET,
                                                                      .activation_steps = QUIET }),
                            training_step, &t);
    ck_assert_int_eq(cse_execution_next(loop, 200), CSE_NEXT_TIMEOUT);
    ck_assert_int_eq(
        setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = 300000 }, NULL), 0);
    ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_STEP);
    ck_assert(cse_execution_at_checkpoint(loop));
    const int64_t last = cse_execution_step(loop);
    ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_END);
    must(cse_execution_end(&loop));
    signal(SIGALRM, SIG_DFL);
    no_process_is_left();
    ck_assert_int_eq(cse_global_step(), last);
    ck_assert_int_eq(t.checkpoints.count, 1);
    /* From where the next execution goes on. */
    must(cse_run(executor_of(ACTIVATION, 0), training_step, &t));
    ck_assert_int_eq(cse_global_step(), last + ACTIVATION);
    cse_finish();
}
END_TEST

START_TEST(failures_arrive_in_the_loop)
{
    /* Of a closure: no later step is handed out, and its status is the loop's. */
    training t = open_training(1);
    t.worst = 2 * ACTIVATION;
    cse_loop *loop = cse_execution_begin(executor_of(STEPS, 0), training_step, &t);
    ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_STEP);
    ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_FAILED);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "seen enough"));
    ck_assert_int_eq(t.activations.count, 2);
    ck_assert_int_eq(cse_execution_end(&loop), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "seen enough"));
    cse_finish();

    /* Of tracing. */
    t = open_training(1);
    loop = cse_execution_begin(cse_executor_new(&(cse_executor_options){
                                   .input = "{data_processor: none_such}", .num_steps = 1 }),
                               training_step, &t);
    ck_assert_int_eq(cse_execution_next(loop, 0), CSE_NEXT_FAILED);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "none_such"));
    ck_assert_int_ne(cse_execution_end(&loop), CSE_OK);
    cse_finish();

    /* Of the workers: theirs do not start. */
    must(cse_configure(
        &(cse_configuration){ .model_dir = folder, .worker_executable = "/bin/false" }));
    t.model = cse_compile(
        cse_model_new("fc_mnist", "{input_size: 6, hidden_sizes: [8], num_classes: 4}"));
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.01}");
    loop = cse_execution_begin(executor_of(STEPS, 0), training_step, &t);
    ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_FAILED);
    ck_assert_int_ne(cse_execution_end(&loop), CSE_OK);
    cse_finish();
    no_process_is_left();
}
END_TEST

START_TEST(a_second_loop_and_a_missing_one_are_refused)
{
    training t = open_training(1);
    cse_loop *none = NULL;
    cse_loop *loop = cse_execution_begin(executor_of(STEPS, 0), training_step, &t);
    ck_assert_ptr_null(cse_execution_begin(executor_of(STEPS, 0), training_step, &t));
    ck_assert_int_eq(cse_run(executor_of(STEPS, 0), training_step, &t), CSE_USAGE);
    ck_assert_int_eq(cse_execution_next(NULL, 0), CSE_NEXT_FAILED);
    ck_assert_int_eq(cse_execution_end(&none), CSE_USAGE);
    ck_assert(loop != NULL);
    cse_finish(); /* ends it at once */
    no_process_is_left();
}
END_TEST

/* Whether the address lies in the memory that the workers computed in. */
static bool is_in_an_arena(const void *address)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 && (uintptr_t)address >= from &&
            (uintptr_t)address < to)
            found = strstr(line, "csengine-arena") != NULL;
    }
    fclose(maps);
    return found;
}

/* Train, evaluate, train: states may be changed between two of them only after a checkpoint of the
 * last step, and are read where the workers left them. */
START_TEST(states_between_executions_follow_the_rule)
{
    training t = open_training(2);
    cse_state *weight = cse_parameter_at(t.model, 0);
    float values[6 * 8], again[6 * 8];
    double accuracy;
    must(cse_run(executor_of(STEPS, STEPS), training_step, &t));
    const void *view = cse_state_view(weight);
    ck_assert(is_in_an_arena(view));
    must(cse_state_get(weight, values, sizeof values));
    ck_assert(memcmp(view, values, sizeof values) == 0);

    cse_eval_mode(t.model);
    cse_loop *loop = cse_execution_begin(executor_of(5, 0), evaluation_step, &t);
    ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_STEP);
    ck_assert(cse_output_number(t.loss) > 0);
    ck_assert_int_eq(cse_execution_next(loop, -1), CSE_NEXT_END);
    must(cse_execution_end(&loop));
    must(cse_metric_value(t.accuracy, &accuracy));
    ck_assert(accuracy > 0.25);
    cse_train_mode(t.model);
    ck_assert(memcmp(cse_state_view(weight), values, sizeof values) == 0);

    must(cse_run(executor_of(STEPS, STEPS), training_step, &t));
    ck_assert_int_eq(cse_global_step(), 2 * STEPS);
    must(cse_state_get(weight, values, sizeof values));
    for (int i = 0; i < 6 * 8; i++)
        values[i] *= 0.9f;
    must(cse_state_set(weight, values, sizeof values));
    ck_assert(memcmp(cse_state_view(weight), values, sizeof values) == 0);

    must(cse_run(executor_of(STEPS, 0), training_step, &t));
    must(cse_state_get(weight, again, sizeof again));
    ck_assert_int_eq(cse_state_set(weight, values, sizeof values), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "checkpoint on its last step"));
    ck_assert(memcmp(cse_state_view(weight), again, sizeof again) == 0);
    cse_finish();
}
END_TEST

/* Counts its steps in a state of its own, which other steps do not have. */
static cse_tensor *counting_training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_assign(t->count, cse_add(cse_read(t->count), cse_constant(1)));
    return training_step(step, self);
}

static cse_tensor *counting_evaluation_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_assign(t->count, cse_add(cse_read(t->count), cse_constant(1)));
    return evaluation_step(step, self);
}

static float count_of(const training *t)
{
    float count = -1;
    must(cse_state_get(t->count, &count, sizeof count));
    return count;
}

/* The memory of the training that changed it last is given up meanwhile. */
START_TEST(a_state_that_the_next_steps_have_not_keeps_its_value)
{
    training t = open_training(1);
    t.count = cse_state_new("count", cse_scalar_shape, CSE_FLOAT32,
                            (cse_initializer){ .kind = CSE_INIT_CONSTANT });
    must(cse_run(executor_of(STEPS, STEPS), counting_training_step, &t));
    must(cse_run(executor_of(STEPS, STEPS), training_step, &t));
    must(cse_run(executor_of(STEPS, STEPS), training_step, &t));
    ck_assert(count_of(&t) == STEPS);
    must(cse_run(executor_of(STEPS, STEPS), counting_training_step, &t));
    ck_assert(count_of(&t) == 2 * STEPS);
    must(cse_run(executor_of(5, 0), counting_evaluation_step, &t));
    ck_assert(count_of(&t) == 2 * STEPS + 5);
    must(cse_run(executor_of(STEPS, STEPS), counting_training_step, &t));
    ck_assert(count_of(&t) == 3 * STEPS + 5);
    cse_finish();
}
END_TEST

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_loop_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    cse_finish();
    temporary_folder_remove(folder);
}

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, a_loop_has_the_bits_of_cse_run);
    tcase_add_test(cases, a_break_stops_after_a_step_from_where_training_goes_on);
    tcase_add_test(cases, a_signal_ends_a_loop_that_waits);
    tcase_add_test(cases, failures_arrive_in_the_loop);
    tcase_add_test(cases, a_second_loop_and_a_missing_one_are_refused);
    tcase_add_test(cases, states_between_executions_follow_the_rule);
    tcase_add_test(cases, a_state_that_the_next_steps_have_not_keeps_its_value);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
