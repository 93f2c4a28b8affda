/* What is written down of a run's end: read back as it was kept, gone when the run is over, refused
 * where no run wrote it; and which settings are told as others. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "run/job/run_target.h"
#include "tests/support/temporary_folder.h"

static char folder[64], path[128];
static cse_arena *arena;

static const char settings[] = "{optimizer: {SGD: {lr: 0.1, betas: [0.9, 0.99]}}, model: {name: "
                               "fc_mnist}}\n{data_processor: synthetic, samples: 1024}";

static void open_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/check_run_target.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/unfinished.json", folder);
    arena = cse_arena_new();
}

static void remove_folder(void)
{
    cse_arena_destroy(&arena);
    ck_assert(temporary_folder_remove(folder));
}

static cse_run_target target_of(const char *with, uint64_t seed)
{
    return (cse_run_target){ .first_step = 2000,
                             .last_step = 4000,
                             .length = "--num_steps 2000",
                             .settings = with,
                             .seed = seed };
}

START_TEST(kept_read_and_removed)
{
    const cse_run_target *read = NULL, kept = target_of(settings, UINT64_C(9007199254740991));
    ck_assert_int_eq(cse_run_target_read(folder, arena, &read), CSE_OK);
    ck_assert_ptr_null(read);
    ck_assert_int_eq(cse_run_target_read("/nowhere", arena, &read), CSE_OK);
    ck_assert_ptr_null(read);
    ck_assert_int_eq(cse_run_target_keep(folder, &kept), CSE_OK);
    ck_assert_int_eq(cse_run_target_keep(folder, &kept), CSE_OK); /* in the place of the first */
    ck_assert_int_eq(cse_run_target_read(folder, arena, &read), CSE_OK);
    ck_assert_ptr_nonnull(read);
    ck_assert_int_eq(read->first_step, 2000);
    ck_assert_int_eq(read->last_step, 4000);
    ck_assert_str_eq(read->length, "--num_steps 2000");
    ck_assert_str_eq(read->settings, settings);
    ck_assert_uint_eq(read->seed, UINT64_C(9007199254740991));
    cse_run_target_remove(folder);
    ck_assert_int_eq(cse_run_target_read(folder, arena, &read), CSE_OK);
    ck_assert_ptr_null(read);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(cse_run_target_keep("/nowhere", &kept), CSE_CANNOT_CREATE);
}
END_TEST

static const char *const foreign[] = {
    "",
    "{",
    "[]",
    "{\"version\": 1}",
    "{\"version\": 2, \"first_step\": 0, \"last_step\": 9, \"length\": \"\", \"seed\": 1, "
    "\"settings\": \"\"}",
    "{\"version\": 1, \"first_step\": 10, \"last_step\": 9, \"length\": \"\", \"seed\": 1, "
    "\"settings\": \"\"}",
    "{\"version\": 1, \"first_step\": -1, \"last_step\": 9, \"length\": \"\", \"seed\": 1, "
    "\"settings\": \"\"}",
    "{\"version\": 1, \"first_step\": 0, \"last_step\": 9000000000, \"length\": \"\", \"seed\": 1, "
    "\"settings\": \"\"}",
    "{\"version\": 1, \"first_step\": \"0\", \"last_step\": 9, \"length\": \"\", \"seed\": 1, "
    "\"settings\": \"\"}",
};

START_TEST(refuses_what_no_run_wrote)
{
    const cse_run_target *read = NULL;
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(foreign[_i], file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(cse_run_target_read(folder, arena, &read), CSE_DATA);
    ck_assert_ptr_null(read);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "unfinished.json"));
}
END_TEST

static const struct {
    const char *settings;
    uint64_t seed;
    const char *told; /* NULL: nothing */
} others[] = {
    { settings, 3, NULL },
    { settings, 4, "seed 4 (it began with 3)" },
    { "", 3, NULL }, /* not known */
    { "{optimizer: {SGD: {lr: 0.05, betas: [0.9, 0.99]}}, model: {name: fc_mnist}}\n"
      "{data_processor: synthetic, samples: 1024}",
      3, "optimizer.SGD.lr 0.05 (it began with 0.1)" },
    { "{optimizer: {SGD: {lr: 0.1, betas: [0.9, 0.9]}}, model: {name: fc_mnist, bias: true}}\n"
      "{data_processor: synthetic}",
      3,
      "optimizer.SGD.betas [0.9, 0.9] (it began with [0.9, 0.99]), model.bias true (it began "
      "without), train_dataloader.samples not given (it began with 1024)" },
};

START_TEST(tells_other_settings)
{
    const cse_run_target before = target_of(settings, 3),
                         now = target_of(others[_i].settings, others[_i].seed);
    cse_text text = { 0 };
    cse_run_target_changes(&before, &now, &text);
    if (others[_i].told == NULL)
        ck_assert_msg(text.data == NULL, "%s", text.data);
    else
        ck_assert_str_eq(text.data, others[_i].told);
    cse_text_clear(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run_target");
    TCase *cases = tcase_create("run_target");
    tcase_add_checked_fixture(cases, open_folder, remove_folder);
    tcase_add_test(cases, kept_read_and_removed);
    tcase_add_loop_test(cases, refuses_what_no_run_wrote, 0, sizeof foreign / sizeof foreign[0]);
    tcase_add_loop_test(cases, tells_other_settings, 0, sizeof others / sizeof others[0]);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
