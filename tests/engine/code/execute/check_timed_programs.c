/* Programs that are run group by group with a time for each: a step has the same bits as without
 * timing, and the times add up to at most that of the program, and to most of it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/base/clock.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { STEPS = 3, TRIES = 40 };

static char folder[64];

static const struct {
    const char *model, *settings, *data;
} cases[] = {
    { "fc_mnist", "{input_size: 40, hidden_sizes: [36, 20], num_classes: 5, dropout: 0.2}",
      "{data_processor: synthetic, samples: 256, features: [40], classes: 5, batch_size: 48, "
      "micro_batch_size: 16}" },
    { "gpt2",
      "{hidden_size: 16, num_layers: 2, num_heads: 2, vocab_size: 256, "
      "max_position_embeddings: 12}",
      "{data_processor: text_bytes, path: %s/text, sequence_length: 12, batch_size: 6, "
      "micro_batch_size: 2}" },
};

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    char data[256];
    traced_run traced;
    int64_t *group_ns;
} training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, &(cse_clip){ .max_norm = 1 });
    return loss;
}

/* Each case compiled, and interpreted. */
static void begin(training *t, int number)
{
    const bool compiled = number % 2 == 0;
    number /= 2;
    *t = (training){ .model = NULL };
    snprintf(t->data, sizeof t->data, cases[number].data, folder);
    open_session();
    t->model = cse_compile(cse_model_new(cases[number].model, cases[number].settings));
    t->optimizer = cse_configure_optimizer("AdamW", t->model, "{learning_rate: 0.01}");
    if (compiled)
        traced_run_open_compiled(&t->traced, t->data, training_step, t, folder);
    else
        traced_run_open(&t->traced, t->data, training_step, t);
    ck_assert_str_eq(t->traced.executable->kind, compiled ? "compiled" : "interpreted");
    t->group_ns = cse_calloc((size_t)t->traced.step->graph->group_count, sizeof *t->group_ns);
}

static void end(training *t)
{
    free(t->group_ns);
    traced_run_close(&t->traced);
    cse_finish();
}

START_TEST(a_timed_step_has_the_bits_of_a_plain_one)
{
    training t;
    straight_run timed;
    begin(&t, _i);
    const cse_graph *graph = t.traced.executable->graph;
    straight_run_init(&timed, t.traced.executable, 1);
    timed.group_ns = t.group_ns;
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&t.traced);
        straight_run_step(&timed, t.traced.inputs);
        ck_assert_mem_eq(timed.spaces[CSE_SPACE_STATE], t.traced.run.spaces[CSE_SPACE_STATE],
                         (size_t)graph->space_bytes[CSE_SPACE_STATE]);
        ck_assert_mem_eq(timed.spaces[CSE_SPACE_FETCH], t.traced.run.spaces[CSE_SPACE_FETCH],
                         (size_t)graph->space_bytes[CSE_SPACE_FETCH]);
    }
    straight_run_clear(&timed);
    end(&t);
}
END_TEST

/* The program's time is measured around it; another process may take the processor between two
 * groups, so that most of it is asked for once only. */
START_TEST(times_of_groups_add_up_to_the_program)
{
    training t;
    bool most = false;
    begin(&t, _i);
    cse_executable *executable = t.traced.executable;
    const cse_graph *graph = executable->graph;
    traced_run_step(&t.traced);
    cse_frame frame = straight_run_frame(&t.traced.run);
    frame.base[CSE_SPACE_INPUT] = t.traced.inputs[0];
    frame.base[CSE_SPACE_PARTIAL] = t.traced.run.gradients[1];
    for (int try = 0; try < TRIES; try++) {
        int64_t sum = 0, groups = 0;
        for (int g = 0; g < graph->group_count; g++)
            t.group_ns[g] = -1;
        const int64_t start_ns = cse_clock_ns();
        executable->timed(executable, &frame, CSE_PART_REPLICA, t.group_ns);
        const int64_t whole_ns = cse_clock_ns() - start_ns;
        for (int g = 0; g < graph->group_count; g++) {
            const bool own = graph->groups[g].part == CSE_PART_REPLICA;
            ck_assert_msg((t.group_ns[g] >= 0) == own, "group %d: %lld ns", g,
                          (long long)t.group_ns[g]);
            sum += own ? t.group_ns[g] : 0;
            groups += own;
        }
        ck_assert_int_gt(groups, 3);
        ck_assert_msg(sum <= whole_ns, "%lld of %lld ns", (long long)sum, (long long)whole_ns);
        most = most || sum * 2 > whole_ns;
    }
    ck_assert(most);
    end(&t);
}
END_TEST

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_timed_XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    char path[128];
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    for (int i = 0; file != NULL && i < 300; i++)
        fprintf(file, "line %d of a text\n", i);
    if (file == NULL || fclose(file) != 0)
        return 1;
    Suite *suite = suite_create("timed programs");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    const int count = 2 * (int)(sizeof cases / sizeof cases[0]);
    tcase_add_loop_test(all, a_timed_step_has_the_bits_of_a_plain_one, 0, count);
    tcase_add_loop_test(all, times_of_groups_add_up_to_the_program, 0, count);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed == 0 ? 0 : 1;
}
