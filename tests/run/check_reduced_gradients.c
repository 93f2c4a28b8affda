/* What weight_grad_reduce rounds: the sum of every gradient, also of one that is a value of the
 * forward pass, and nothing else. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/support/traced_run.h"
#include "workers/arena/reduce.h"

enum { ROWS = 4, COLUMNS = 3 };

static const double features[ROWS][COLUMNS] = {
    { 1, 2, 3 }, { -1, 0.5, 2 }, { 0.25, 1, -2 }, { 3, -1, 1 }
};

/* Of w the gradient is the mean of the data, which the forward pass computes; of v it is not. */
static cse_tensor *step_of_both(cse_step *step, void *self)
{
    cse_state *const *states = self;
    cse_tensor *gradients[2], *x = cse_input(step, "images");
    cse_tensor *mean = cse_mean(x, cse_axes(0), false);
    cse_tensor *first = cse_sum_all(cse_mul(cse_read(states[0]), mean));
    cse_tensor *second = cse_mean_all(cse_tanh(cse_mul(cse_read(states[1]), x)));
    cse_tensor *loss = cse_add(first, second);
    cse_gradients(loss, states, 2, gradients);
    for (int i = 0; i < 2; i++)
        cse_assign(states[i], cse_sub(cse_read(states[i]), gradients[i]));
    cse_step_train(step);
    return loss;
}

/* Whether the elements of the sum named `name` (NULL: of one without a name) are rounded. */
static bool is_rounded(const cse_graph *graph, const char *name)
{
    const cse_rounding payload = { .format = CSE_BFLOAT16 };
    cse_segment *items = calloc((size_t)graph->node_count, sizeof *items);
    int count, found = 0;
    bool rounded = false;
    ck_assert_int_eq(cse_segments_find(graph, payload, items, &count), CSE_OK);
    for (int r = 0; r < graph->reduction_count; r++) {
        const cse_reduction_entry *entry = &graph->reductions[r];
        const char *own = entry->sum->attributes.text;
        if ((name == NULL) != (own == NULL) || (name != NULL && strcmp(own, name) != 0))
            continue;
        found++;
        for (int s = 0; s < count; s++)
            if (entry->offset_bytes / 4 >= items[s].first &&
                entry->offset_bytes / 4 < items[s].first + items[s].count)
                rounded = items[s].rounded;
    }
    free(items);
    ck_assert_msg(found == 1, "%d sums are named %s", found, name != NULL ? name : "nothing");
    return rounded;
}

START_TEST(gradients_are_rounded_and_losses_are_not)
{
    table_file file;
    traced_run traced;
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    cse_state *states[2];
    table_file_write(&file, &(table_content){ .features = features[0],
                                              .rows = ROWS,
                                              .columns = COLUMNS,
                                              .batch_size = ROWS,
                                              .micro_batch_size = 2 });
    open_session();
    states[0] = cse_state_new("w", cse_shape_of(COLUMNS), CSE_FLOAT32, zero);
    states[1] = cse_state_new("v", cse_shape_of(COLUMNS), CSE_FLOAT32, zero);
    traced_run_open(&traced, file.yaml, step_of_both, states);
    ck_assert(is_rounded(traced.step->graph, "w"));
    ck_assert(is_rounded(traced.step->graph, "v"));
    ck_assert(!is_rounded(traced.step->graph, NULL));
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduced gradients");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, gradients_are_rounded_and_losses_are_not);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
