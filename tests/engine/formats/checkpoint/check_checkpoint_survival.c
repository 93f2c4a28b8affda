/* Whatever happens to the writer (killed, full disk, no permission), the final name holds a
 * complete checkpoint or does not exist. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/engine/formats/checkpoint/fixture.h"

enum { BIG_ELEMENTS = 300 * 1000 };

static char directory[PATH_MAX], path[PATH_MAX + 64];
static float *big;

static void set_up(void)
{
    ck_assert_ptr_nonnull(make_directory(directory));
    snprintf(path, sizeof path, "%s/checkpoint_7.mdl", directory);
    big = malloc(BIG_ELEMENTS * sizeof *big);
    for (int i = 0; i < BIG_ELEMENTS; i++)
        big[i] = (float)i;
}

static void tear_down(void)
{
    free(big);
    remove_directory(directory);
}

static cse_checkpoint big_checkpoint(int64_t step)
{
    static cse_checkpoint_tensor tensors[2];
    tensors[0] =
        (cse_checkpoint_tensor){ "model.weight", CSE_FLOAT32, { 1, { BIG_ELEMENTS / 2 } }, big };
    tensors[1] = (cse_checkpoint_tensor){
        "optimizer.weight", CSE_FLOAT32, { 1, { BIG_ELEMENTS / 2 } }, big + BIG_ELEMENTS / 2
    };
    return (cse_checkpoint){ .tensors = tensors, .tensor_count = 2, .global_step = step };
}

static void sleep_us(long microseconds)
{
    struct timespec time = { microseconds / 1000000, microseconds % 1000000 * 1000 };
    nanosleep(&time, NULL);
}

START_TEST(a_killed_writer_leaves_whole_files)
{
    unsigned seed = 12345;
    int before = 0, after = 0;
    for (int round = 0; round < 40; round++) {
        pid_t child = fork();
        if (child == 0) {
            for (int64_t step = 1;; step++) {
                cse_checkpoint checkpoint = big_checkpoint(step);
                cse_checkpoint_save(&checkpoint, path);
            }
        }
        sleep_us(500 + rand_r(&seed) % 40000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        cse_checkpoint *read = NULL;
        cse_status status = cse_checkpoint_load(path, &read);
        ck_assert_msg(status == CSE_OK || status == CSE_NO_INPUT, "%s", cse_error_message());
        before += status == CSE_NO_INPUT;
        after += status == CSE_OK;
        cse_checkpoint_destroy(&read);
        ck_assert_int_le(files_in(directory), 2); /* leftovers do not pile up */
        if (round % 2)
            unlink(path);
    }
    ck_assert_int_gt(before + after, 0);
    cse_checkpoint checkpoint = big_checkpoint(99);
    ck_assert_int_eq(cse_checkpoint_save(&checkpoint, path), CSE_OK);
    ck_assert_int_eq(files_in(directory), 1);
}
END_TEST

/* The previous checkpoint is whole, and nothing else lies beside it. */
static void expect_only_the_previous(const char *name, const char *folder)
{
    cse_checkpoint *read;
    ck_assert_int_eq(cse_checkpoint_load(name, &read), CSE_OK);
    ck_assert_int_eq(read->global_step, 1);
    cse_checkpoint_destroy(&read);
    ck_assert_int_eq(files_in(folder), 1);
}

/* A limit on the file's size cuts writing off wherever it is set: metadata, elements, seal. */
START_TEST(a_write_that_fails_anywhere_keeps_the_previous)
{
    cse_checkpoint first = fixture_checkpoint(), second = big_checkpoint(2);
    first.global_step = 1;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(cse_checkpoint_save(&first, path), CSE_OK);
    struct stat whole;
    char other[PATH_MAX + 64];
    snprintf(other, sizeof other, "%s/whole", directory);
    ck_assert_int_eq(cse_checkpoint_save(&second, other), CSE_OK);
    ck_assert_int_eq(stat(other, &whole), 0);
    unlink(other);
    const rlim_t size = (rlim_t)whole.st_size;
    const rlim_t limits[] = { 0,        1,        100,        700,        2000,      5000,
                              size / 4, size / 2, size - 999, size - 300, size - 98, size - 1 };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit = { limits[i], RLIM_INFINITY };
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        cse_status status = cse_checkpoint_save(&second, path);
        limit.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &limit);
        ck_assert_msg(status == CSE_IO, "limit %lu: status %d", (unsigned long)limits[i], status);
        expect_only_the_previous(path, directory);
    }
    ck_assert_int_eq(cse_checkpoint_save(&second, path), CSE_OK);
}
END_TEST

/* Needs root with mount rights; the limit above covers the same paths where there are none. */
START_TEST(a_full_disk_keeps_the_previous)
{
    if (mount("tmpfs", directory, "tmpfs", 0, "size=1m") != 0)
        return;
    cse_checkpoint first = fixture_checkpoint(), second = big_checkpoint(2);
    first.global_step = 1;
    cse_status status = cse_checkpoint_save(&first, path);
    cse_status full = cse_checkpoint_save(&second, path);
    bool named = strstr(cse_error_message(), "no space") != NULL;
    if (status == CSE_OK)
        expect_only_the_previous(path, directory);
    umount2(directory, MNT_DETACH);
    ck_assert_int_eq(status, CSE_OK);
    ck_assert_int_eq(full, CSE_IO);
    ck_assert(named);
}
END_TEST

START_TEST(places_that_cannot_be_written)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    ck_assert_int_eq(cse_checkpoint_save(&checkpoint, "/nonexistent/checkpoint_1.mdl"),
                     CSE_CANNOT_CREATE);
    ck_assert_int_eq(cse_checkpoint_save(&checkpoint, ""), CSE_CANNOT_CREATE);
    ck_assert_int_eq(cse_checkpoint_save(&checkpoint, "/"), CSE_CANNOT_CREATE);
    ck_assert_int_eq(cse_checkpoint_save(&checkpoint, path), CSE_OK);
    ck_assert_int_eq(chmod(directory, 0555), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    cse_status status = cse_checkpoint_save(&checkpoint, path);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    chmod(directory, 0755);
    ck_assert_int_eq(status, CSE_PERMISSION);
    ck_assert_int_eq(files_in(directory), 1);
}
END_TEST

START_TEST(two_writers_of_one_name_do_not_meet)
{
    cse_checkpoint checkpoint = big_checkpoint(1);
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            for (int round = 0; round < 10; round++) {
                cse_status status = cse_checkpoint_save(&checkpoint, path);
                if (status != CSE_OK && status != CSE_TEMPORARY)
                    _exit(1);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < 3; i++) {
        int status;
        waitpid(children[i], &status, 0);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    cse_checkpoint *read;
    ck_assert_int_eq(cse_checkpoint_load(path, &read), CSE_OK);
    cse_checkpoint_destroy(&read);
    ck_assert_int_eq(files_in(directory), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint survival");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_set_timeout(all, 120);
    tcase_add_test(all, a_killed_writer_leaves_whole_files);
    tcase_add_test(all, a_write_that_fails_anywhere_keeps_the_previous);
    tcase_add_test(all, a_full_disk_keeps_the_previous);
    tcase_add_test(all, places_that_cannot_be_written);
    tcase_add_test(all, two_writers_of_one_name_do_not_meet);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
