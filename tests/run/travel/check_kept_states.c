/* A replay begins with the nearest states that an earlier one left, and finds what one from the
 * run's checkpoint finds; so many stay; and states that are damaged, forged or of another run are
 * refused, with a word. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/piped_program.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "run/travel/replay.h"
#include "tests/support/temporary_folder.h"

enum { STEPS = 40, CHECKPOINTS = 15, MOST = 3 };

static char work[64], run_folder[128], kept_folder[128];

static const char run_yaml[] =
    "trainer:\n"
    "  init:\n"
    "    backend: {compile_dir: %s/compiled}\n"
    "    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}\n"
    "    optimizer: {AdamW: {lr: 0.01}}\n"
    "    loop: {max_steps: %d}\n"
    "    checkpoint: {steps: %d}\n"
    "    seed: %d\n"
    "  fit:\n"
    "    train_dataloader: {data_processor: synthetic, features: [16], classes: 4,\n"
    "                       samples: 1024, batch_size: 64, micro_batch_size: 16, shuffle: true}\n";

/* The exit code of `csengine start` with a setting more (NULL: with none). */
static int start(const char *folder, const char *yaml, const char *setting)
{
    int exit_code = -1;
    cse_text output = { 0 };
    const char *const words[] = { getenv("CSENGINE_EXECUTABLE"),
                                  "start",
                                  "--quiet",
                                  "--no_dashboard",
                                  "--model_dir",
                                  folder,
                                  yaml,
                                  setting != NULL ? "--set" : NULL,
                                  setting,
                                  NULL };
    ck_assert(words[0] != NULL);
    ck_assert_int_eq(
        cse_piped_program_run((char *const *)(uintptr_t)words, 1 << 16, &output, &exit_code),
        CSE_OK);
    cse_text_clear(&output);
    return exit_code;
}

static void train(const char *folder, int seed)
{
    char yaml[192];
    snprintf(yaml, sizeof yaml, "%s.yaml", folder);
    FILE *file = fopen(yaml, "we");
    ck_assert(file != NULL);
    fprintf(file, run_yaml, work, STEPS, CHECKPOINTS, seed);
    fclose(file);
    ck_assert_int_eq(start(folder, yaml, NULL), 0);
}

static void setup(void)
{
    snprintf(work, sizeof work, "/tmp/cse_kept_states_XXXXXX");
    ck_assert(mkdtemp(work) != NULL);
    snprintf(run_folder, sizeof run_folder, "%s/run", work);
    snprintf(kept_folder, sizeof kept_folder, "%s/run/replayed", work);
    train(run_folder, 1);
}

static void teardown(void)
{
    ck_assert(temporary_folder_remove(work));
}

static bool is_kept(int64_t step)
{
    char path[PATH_MAX];
    cse_checkpoint_path(kept_folder, step, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void replay_step(int64_t step, int most, cse_replay *replay)
{
    const cse_replay_options options = { .model_dir = run_folder,
                                         .step = step,
                                         .num_csx = 1,
                                         .latest = INT64_MAX,
                                         .place = work,
                                         .kept = { .folder = kept_folder, .most = most } };
    ck_assert_msg(cse_replay_run(&options, replay) == CSE_OK, "step %d: %s", (int)step,
                  cse_error_message());
    ck_assert_msg(replay->verdict == CSE_REPLAY_SAME, "step %d: %s", (int)step, replay->words.data);
}

/* Begins at `from`, and says so if states were refused. */
static void expect_from(int64_t step, int64_t from, bool kept, const char *words)
{
    cse_replay replay;
    replay_step(step, MOST, &replay);
    ck_assert_int_eq(replay.from, from);
    ck_assert_int_eq(replay.from_kept, kept);
    if (words != NULL)
        ck_assert_msg(strstr(replay.words.data, words) != NULL, "%s", replay.words.data);
    else
        ck_assert_msg(strstr(replay.words.data, "removed") == NULL, "%s", replay.words.data);
    cse_replay_clear(&replay);
}

static void expect_equal(const char *a, const char *b)
{
    cse_checkpoint *x = NULL, *y = NULL;
    ck_assert_int_eq(cse_checkpoint_load(a, &x), CSE_OK);
    ck_assert_int_eq(cse_checkpoint_load(b, &y), CSE_OK);
    ck_assert_int_eq(x->tensor_count, y->tensor_count);
    ck_assert_str_eq(x->chain, y->chain);
    for (int i = 0; i < x->tensor_count; i++) {
        const cse_checkpoint_tensor *t = &x->tensors[i];
        const size_t bytes =
            (size_t)cse_shape_elements(t->shape) * (size_t)cse_dtype_size(t->dtype);
        ck_assert_str_eq(t->name, y->tensors[i].name);
        ck_assert_mem_eq(t->data, y->tensors[i].data, bytes);
    }
    cse_checkpoint_destroy(&x);
    cse_checkpoint_destroy(&y);
}

START_TEST(the_nearest_is_begun_with_and_the_answer_is_the_same)
{
    /* The step, where it begins, and which are kept then. */
    static const int64_t cases[][3] = {
        { 25, 15, 0 }, { 29, 25, 1 }, { 27, 25, 1 }, { 26, 25, 1 },
        { 39, 30, 0 }, { 20, 15, 0 }, { 40, 40, 0 }, { 28, 26, 1 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cse_replay with, without;
        replay_step(cases[i][0], MOST, &with);
        ck_assert_msg(with.from == cases[i][1], "step %d begins at %d", (int)cases[i][0],
                      (int)with.from);
        ck_assert_int_eq(with.from_kept, cases[i][2]);
        replay_step(cases[i][0], 0, &without);
        ck_assert_int_eq(without.from_kept, false);
        ck_assert_int_le(without.from, with.from);
        expect_equal(with.checkpoint, without.checkpoint);
        cse_replay_clear(&with);
        cse_replay_clear(&without);
    }
    /* The last used ones: 26 was begun with last, 27 and 29 went before 39 and 20. */
    ck_assert(is_kept(28) && is_kept(26) && is_kept(20));
    ck_assert(!is_kept(25) && !is_kept(27) && !is_kept(29) && !is_kept(39) && !is_kept(40));
}
END_TEST

START_TEST(no_more_bytes_stay_than_may)
{
    char path[PATH_MAX];
    struct stat about;
    cse_replay replay;
    replay_step(16, MOST, &replay);
    cse_replay_clear(&replay);
    cse_checkpoint_path(run_folder, STEPS, path, sizeof path); /* the largest: of a whole run */
    ck_assert(stat(path, &about) == 0);
    cse_kept_states kept = { .folder = kept_folder, .most = MOST, .most_bytes = 2 * about.st_size };
    for (int64_t step = 17; step < 20; step++) { /* of one size, each a file of its own */
        cse_checkpoint_path(run_folder, (const int64_t[]){ 15, 30, 40 }[step - 17], path,
                            sizeof path);
        cse_kept_states_add(&kept, path, step);
    }
    ck_assert_msg(!is_kept(16) && !is_kept(17) && is_kept(18) && is_kept(19),
                  "of 16 to 19 are kept: %d %d %d %d", is_kept(16), is_kept(17), is_kept(18),
                  is_kept(19));
    kept.most_bytes = about.st_size / 2; /* one alone is too much: what is there stays */
    cse_kept_states_add(&kept, path, 20);
    ck_assert(!is_kept(20) && is_kept(19));
}
END_TEST

/* Flips a bit at so many thousandths of the file. */
static void damage(int64_t step, int thousandths)
{
    char path[PATH_MAX];
    struct stat about;
    unsigned char byte;
    cse_checkpoint_path(kept_folder, step, path, sizeof path);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    ck_assert(file >= 0 && fstat(file, &about) == 0);
    const off_t at = about.st_size / 1000 * thousandths;
    ck_assert(pread(file, &byte, 1, at) == 1);
    byte ^= 4;
    ck_assert(pwrite(file, &byte, 1, at) == 1);
    close(file);
}

START_TEST(damaged_states_are_refused)
{
    static const int places[] = { 0, 300, 700, 990 };
    expect_from(20, 15, false, NULL);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        damage(20, places[i]);
        expect_from(21, 15, false, "step 20 that an earlier replay had left");
        ck_assert(!is_kept(20) && is_kept(21));
        expect_from(20, 15, false, NULL);
    }
}
END_TEST

/* One weight of a whole and sealed checkpoint with the run's chain. */
static void forge(int64_t step)
{
    char path[PATH_MAX];
    cse_checkpoint *checkpoint = NULL;
    cse_checkpoint_path(kept_folder, step, path, sizeof path);
    ck_assert_int_eq(cse_checkpoint_load(path, &checkpoint), CSE_OK);
    for (int i = 0; i < checkpoint->tensor_count; i++)
        if (strcmp(checkpoint->tensors[i].name, "model.last_layer.weight") == 0)
            ((float *)(uintptr_t)checkpoint->tensors[i].data)[7] += 0.25F;
    ck_assert_int_eq(cse_checkpoint_save(checkpoint, path), CSE_OK);
    cse_checkpoint_destroy(&checkpoint);
}

START_TEST(forged_states_are_refused)
{
    char other[128], from[PATH_MAX], to[PATH_MAX];
    expect_from(20, 15, false, NULL);
    forge(20);
    expect_from(21, 15, false, "step 20 that an earlier replay had left could not be gone on");
    ck_assert(!is_kept(20));
    snprintf(other, sizeof other, "%s/other", work);
    train(other, 2);
    cse_checkpoint_path(other, 30, from, sizeof from);
    cse_checkpoint_path(kept_folder, 32, to, sizeof to);
    ck_assert_int_eq(rename(from, to), 0);
    expect_from(33, 30, false, "step 32 that an earlier replay had left were damaged, or not");
    ck_assert(!is_kept(32));
}
END_TEST

START_TEST(a_training_compares_what_it_begins_with)
{
    char begun[128], yaml[192], from[PATH_MAX], to[PATH_MAX];
    static const char *const wanted[] = {
        "checkpoint.begins_with=\"15 00000000000000000000000000000000\"",
        "checkpoint.begins_with=\"15 abc\"",
        "checkpoint.begins_with=\"14 00000000000000000000000000000000\"",
    };
    static const int codes[] = { 65, 78, 0 };
    snprintf(yaml, sizeof yaml, "%s.yaml", run_folder);
    for (int i = 0; i < 3; i++) {
        snprintf(begun, sizeof begun, "%s/begun%d", work, i);
        ck_assert_int_eq(mkdir(begun, 0700), 0);
        cse_checkpoint_path(run_folder, 15, from, sizeof from);
        cse_checkpoint_path(begun, 15, to, sizeof to);
        ck_assert_int_eq(link(from, to), 0);
        ck_assert_int_eq(start(begun, yaml, wanted[i]), codes[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept_states");
    TCase *cases = tcase_create("kept_states");
    tcase_set_timeout(cases, 300);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, the_nearest_is_begun_with_and_the_answer_is_the_same);
    tcase_add_test(cases, no_more_bytes_stay_than_may);
    tcase_add_test(cases, damaged_states_are_refused);
    tcase_add_test(cases, forged_states_are_refused);
    tcase_add_test(cases, a_training_compares_what_it_begins_with);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
