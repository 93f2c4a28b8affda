/* Who may use a session: calls of a second thread and of a forked process are refused, each with
 * what to do, and change nothing; a process that was forked before may open one of its own. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csengine/csengine.h"
#include "tests/support/temporary_folder.h"

enum { STEPS = 6, WEIGHTS = 6 * 8 };

static char folder[64], path[128];

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_loop *loop;
    cse_executor *executor;
} training;

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

static training open_training(void)
{
    must(cse_configure(&(cse_configuration){ .model_dir = folder, .num_csx = 2, .seed = 3 }));
    training t = { .model = cse_compile(cse_model_new(
                       "fc_mnist", "{input_size: 6, hidden_sizes: [8], num_classes: 4}")) };
    t.optimizer = cse_configure_optimizer("AdamW", t.model, "{lr: 0.01}");
    t.executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: synthetic, samples: 240, features: [6], classes: 4, "
                 "batch_size: 24, micro_batch_size: 6, shuffle: true}",
        .num_steps = STEPS,
        .checkpoint_steps = 1 });
    return t;
}

/* ---- calls that are refused ---- */

static const char *wanted; /* what each message says */

/* The first call whose answer is another one; NULL: none. */
static const char *wrong_answer(training *t)
{
    float value;
    cse_loop *loop = t->loop;
#define REFUSED(call)                                           \
    do {                                                        \
        if (!(call) || cse_error_last()->status != CSE_USAGE || \
            strstr(cse_error_message(), wanted) == NULL)        \
            return #call;                                       \
    } while (0)
    REFUSED(cse_configure(&(cse_configuration){ .model_dir = folder }));
    REFUSED(cse_session_status());
    REFUSED(cse_model_new("fc_mnist", NULL) == NULL);
    REFUSED(cse_state_get(cse_parameter_at(t->model, 0), &value, sizeof value));
    REFUSED(cse_state_view(cse_parameter_at(t->model, 0)) == NULL);
    REFUSED(cse_save(path));
    REFUSED(cse_load(path));
    REFUSED(cse_run(t->executor, training_step, t));
    REFUSED(cse_execution_begin(t->executor, training_step, t) == NULL);
    if (loop != NULL) {
        REFUSED(cse_execution_next(loop, 0) == CSE_NEXT_FAILED);
        REFUSED(cse_execution_end(&loop));
    }
#undef REFUSED
    cse_finish();
    return access(path, F_OK) == 0 ? "cse_save" : NULL;
}

static void *call_in_thread(void *self)
{
    return (void *)(uintptr_t)wrong_answer(self);
}

static void in_thread(training *t)
{
    pthread_t thread;
    void *wrong;
    wanted = "belongs to the thread that opened it";
    ck_assert_int_eq(pthread_create(&thread, NULL, call_in_thread, t), 0);
    pthread_join(thread, &wrong);
    ck_assert_msg(wrong == NULL, "in a thread: %s", (const char *)wrong);
}

static void in_child(training *t)
{
    int how;
    wanted = "was forked from one with an open session";
    const pid_t child = fork();
    if (child == 0) {
        const char *wrong = wrong_answer(t);
        if (wrong != NULL)
            fprintf(stderr, "in a child: %s: %s\n", wrong, cse_error_message());
        _exit(wrong != NULL);
    }
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void train(float weights[WEIGHTS], bool disturbed)
{
    training t = open_training();
    must(cse_session_status());
    t.loop = cse_execution_begin(t.executor, training_step, &t);
    ck_assert_msg(t.loop != NULL, "%s", cse_error_message());
    while (cse_execution_next(t.loop, -1) == CSE_NEXT_STEP) {
        if (disturbed && cse_execution_step(t.loop) == 2)
            in_thread(&t);
        if (disturbed && cse_execution_step(t.loop) == 3)
            in_child(&t);
    }
    must(cse_execution_end(&t.loop));
    if (disturbed) {
        in_thread(&t);
        in_child(&t);
    }
    ck_assert_int_eq(cse_global_step(), STEPS);
    must(cse_state_get(cse_parameter_at(t.model, 0), weights, WEIGHTS * sizeof *weights));
    cse_finish();
}

START_TEST(others_are_refused_and_the_run_goes_on)
{
    float alone[WEIGHTS], among_others[WEIGHTS];
    train(alone, false);
    train(among_others, true);
    ck_assert(memcmp(alone, among_others, sizeof alone) == 0);
}
END_TEST

static void *train_in_thread(void *weights)
{
    train(weights, false);
    return NULL;
}

/* Any thread may be the one, and the next session may be another one's. */
START_TEST(another_thread_may_open_a_session)
{
    float here[WEIGHTS], there[WEIGHTS];
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, train_in_thread, there), 0);
    pthread_join(thread, NULL);
    train(here, false);
    ck_assert(memcmp(here, there, sizeof here) == 0);
}
END_TEST

START_TEST(a_child_without_a_session_may_open_one)
{
    float here[WEIGHTS];
    int how;
    train(here, false); /* it is over: the child inherits none */
    const pid_t child = fork();
    if (child == 0) {
        float there[WEIGHTS];
        train(there, false);
        _exit(memcmp(here, there, sizeof here) != 0);
    }
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}
END_TEST

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/check_owner.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/refused.mdl", folder);
    Suite *suite = suite_create("owner");
    TCase *tests = tcase_create("owner");
    tcase_add_test(tests, others_are_refused_and_the_run_goes_on);
    tcase_add_test(tests, another_thread_may_open_a_session);
    tcase_add_test(tests, a_child_without_a_session_may_open_one);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return !temporary_folder_remove(folder) || failed != 0;
}
