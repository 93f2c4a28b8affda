/* cse_compute_num_steps: a table of cases, each worked out by hand from the rule
 * min(num_epochs * steps_per_epoch, num_steps, max_steps - initial_step). */
#include "dataloader/input.h"
#include "tests/dataloader/fixture.h"

typedef struct row {
    cse_loop_settings loop; /* num_steps, max_steps, num_epochs, steps_per_epoch */
    int64_t batches_per_epoch, initial_step;
    int64_t steps;       /* expected */
    const char *message; /* expected part of it, where it is refused */
} row;

static const row rows[] = {
    { { 100, 0, 0, 0 }, 234, 0, 100, NULL },
    { { 100, 0, 0, 0 }, 234, 50, 100, NULL },
    { { 0, 1000, 0, 0 }, 234, 0, 1000, NULL },
    { { 0, 1000, 0, 0 }, 234, 400, 600, NULL },
    { { 0, 1000, 0, 0 }, 234, 1000, 0, NULL },
    { { 0, 0, 3, 0 }, 234, 0, 702, NULL },
    { { 0, 0, 3, 0 }, 234, 700, 702, NULL },
    { { 0, 0, 3, 10 }, 234, 0, 30, NULL },
    { { 0, 0, 3, 234 }, 234, 0, 702, NULL },
    { { 100, 80, 0, 0 }, 234, 0, 80, NULL },
    { { 100, 180, 0, 0 }, 234, 100, 80, NULL },
    { { 0, 500, 3, 0 }, 234, 0, 500, NULL },
    { { 0, 500, 1, 0 }, 234, 0, 234, NULL },
    { { 100, 0, 0, 50 }, 234, 0, 100, NULL },
    { { 100, 0, 0, 0 }, 0, 0, 100, NULL },
    { { 0, 0, 0, 0 }, 234, 0, 0, "the number of steps is not bounded" },
    { { 0, 0, 0, 10 }, 234, 0, 0, "the number of steps is not bounded" },
    { { 10, 0, 2, 0 }, 234, 0, 0, "exclude each other" },
    { { 0, 0, 2, 235 }, 234, 0, 0, "accepted are 1 to 234" },
    { { 10, 0, 0, 235 }, 234, 0, 0, "accepted are 1 to 234" },
    { { 0, 0, 2, 0 }, 0, 0, 0, "no known length" },
    { { 0, 100, 0, 0 }, 234, 101, 0, "beyond max_steps 100" },
    { { -1, 0, 0, 0 }, 234, 0, 0, "num_steps is -1" },
    { { 0, -1, 0, 0 }, 234, 0, 0, "max_steps is -1" },
    { { 0, 0, -1, 0 }, 234, 0, 0, "num_epochs is -1" },
    { { 1, 0, 0, -1 }, 234, 0, 0, "steps_per_epoch is -1" },
    { { 1, 0, 0, 0 }, 234, -1, 0, "the initial step is -1" },
    { { 0, 0, INT64_MAX, 0 }, 2, 0, 0, "more steps than can be counted" },
};

START_TEST(each_row)
{
    const row *r = &rows[_i];
    int64_t steps = -1;
    cse_status status =
        cse_compute_num_steps(&r->loop, r->batches_per_epoch, r->initial_step, &steps);
    fixture_expect(status, r->message == NULL ? CSE_OK : CSE_CONFIG, r->message);
    if (r->message == NULL)
        ck_assert_int_eq(steps, r->steps);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("steps");
    tcase_add_loop_test(tests, each_row, 0, (int)(sizeof rows / sizeof rows[0]));
    return fixture_run(tests);
}
