/* Weights that are read in a process of their own: what it may do, and what its end, or what it
 * says wrongly, does to the one that asks. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/landlock.h"
#include "engine/base/system_calls.h"
#include "engine/formats/weights/apart.h"
#include "tests/support/sanitized.h"

enum { FILE_BYTES = 64, SOME = 1000 };

static char path[] = "/tmp/cse-apart-XXXXXX";

static void set_up(void)
{
    const int file = mkstemp(path);
    unsigned char bytes[FILE_BYTES];
    for (int i = 0; i < FILE_BYTES; i++)
        bytes[i] = (unsigned char)i;
    ck_assert_int_eq(write(file, bytes, sizeof bytes), sizeof bytes);
    close(file);
}

static void tear_down(void)
{
    unlink(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
    ck_assert_int_eq(errno, ECHILD);
}

static cse_status open_by(cse_weights_opener *opener, cse_weights **weights)
{
    int file;
    static const cse_weights_options options = { .all = true };
    *weights = cse_weights_new(path);
    ck_assert_int_eq(cse_weights_add_file(*weights, path, &file), CSE_OK);
    return cse_weights_open_apart(*weights, file, &options, opener);
}

static void fails_with(cse_weights_opener *opener, cse_status status, const char *word)
{
    cse_weights *weights;
    ck_assert_int_eq(open_by(opener, &weights), status);
    ck_assert_msg(strstr(cse_error_message(), word) != NULL, "%s", cse_error_message());
    cse_weights_close(&weights);
}

/* ---- in the other process ---- */

static cse_status count_up(cse_weights *weights, int index, uint64_t first, size_t bytes, void *to)
{
    (void)weights;
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)((first + i) * 7 + (uint64_t)index);
    return CSE_OK;
}

static cse_status add(cse_weights *weights, const char *name, int file, uint64_t offset,
                      int64_t elements)
{
    return cse_weights_add(weights, &(cse_weight){ .name = name,
                                                   .element = CSE_ELEMENT_U8,
                                                   .shape = { .rank = 1, .dims = { elements } },
                                                   .file = file,
                                                   .offset = offset });
}

static cse_status good(cse_weights *weights, int file, const cse_weights_options *options)
{
    weights->read = count_up;
    CSE_TRY(add(weights, "made", -1, 0, 40000));
    CSE_TRY(add(weights, "in the file", file, 16, 48));
    return options->all ? add(weights, "made, too", -1, 0, 0) : CSE_OK;
}

static cse_status crash(cse_weights *weights, int index, uint64_t first, size_t bytes, void *to)
{
    raise(SIGKILL);
    return count_up(weights, index, first, bytes, to);
}

static cse_status crashing_later(cse_weights *weights, int file, const cse_weights_options *options)
{
    CSE_TRY(good(weights, file, options));
    weights->read = crash;
    return CSE_OK;
}

static cse_status crashing(cse_weights *weights, int file, const cse_weights_options *options)
{
    CSE_TRY(good(weights, file, options));
    raise(SIGSEGV);
    return CSE_OK;
}

static cse_status refusing(cse_weights *weights, int file, const cse_weights_options *options)
{
    (void)file;
    (void)options;
    return cse_fail(CSE_DATA, "%s: a reason", weights->path);
}

static cse_status out_of_time(cse_weights *weights, int file, const cse_weights_options *options)
{
    raise(SIGXCPU); /* as the kernel does at the limit */
    return good(weights, file, options);
}

/* What a process that a file has taken over could send. */
static cse_status lying_outside(cse_weights *weights, int file, const cse_weights_options *options)
{
    CSE_TRY(good(weights, file, options));
    weights->list[1].offset = FILE_BYTES;
    return CSE_OK;
}

static cse_status lying_twice(cse_weights *weights, int file, const cse_weights_options *options)
{
    CSE_TRY(good(weights, file, options));
    weights->list[1].name = weights->list[0].name;
    return CSE_OK;
}

static cse_status lying_type(cse_weights *weights, int file, const cse_weights_options *options)
{
    CSE_TRY(good(weights, file, options));
    weights->list[0].element = (cse_element)99;
    return CSE_OK;
}

static cse_status lying_rank(cse_weights *weights, int file, const cse_weights_options *options)
{
    CSE_TRY(good(weights, file, options));
    weights->list[0].shape.rank = CSE_MAX_RANK + 1;
    return CSE_OK;
}

static cse_status growing(cse_weights *weights, int file, const cse_weights_options *options)
{
    CSE_TRY(good(weights, file, options));
    return add(weights, "huge", -1, 0, INT64_C(1) << 40);
}

/* Says by its failure what it can do that it should not. */
static cse_status trying(cse_weights *weights, int file, const cse_weights_options *options)
{
    int descriptors = 0;
    (void)options;
    for (int i = 3; i < 256; i++)
        descriptors += fcntl(i, F_GETFD) >= 0;
    if (descriptors != 2)
        return cse_fail(CSE_DATA, "it has %d descriptors", descriptors);
    if (cse_landlock_version() > 0 && !SANITIZED && open("/etc/passwd", O_RDONLY) >= 0)
        return cse_fail(CSE_DATA, "it opens files");
    if (cse_system_calls_can_filter() && !SANITIZED && fork() >= 0)
        return cse_fail(CSE_DATA, "it starts processes");
    return good(weights, file, options);
}

/* ---- in this one ---- */

START_TEST(weights_come_over)
{
    cse_weights *weights;
    unsigned char *elements = malloc(SOME);
    set_up();
    ck_assert_int_eq(open_by(good, &weights), CSE_OK);
    ck_assert_int_eq(weights->count, 3);
    ck_assert_int_eq(cse_weights_find(weights, "made"), 0);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(cse_weights_read(weights, 0, 5, SOME, elements), CSE_OK);
        for (int i = 0; i < SOME; i++)
            ck_assert_int_eq(elements[i], ((i + 5) * 7) & 255);
        ck_assert_int_eq(cse_weights_read(weights, 1, 2, 46, elements), CSE_OK);
        for (int i = 0; i < 46; i++)
            ck_assert_int_eq(elements[i], 18 + i);
        ck_assert_int_eq(cse_weights_read(weights, 2, 0, 0, elements), CSE_OK);
    }
    cse_weights_close(&weights);
    free(elements);
    tear_down();
}
END_TEST

START_TEST(the_end_of_the_process_is_damage_of_the_file)
{
    cse_weights *weights;
    unsigned char elements[64];
    set_up();
    fails_with(crashing, CSE_DATA, "is damaged");
    fails_with(out_of_time, CSE_DATA, "took too much time");
    fails_with(refusing, CSE_DATA, ": a reason");
    ck_assert_int_eq(open_by(crashing_later, &weights), CSE_OK);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(cse_weights_read(weights, 0, 0, 64, elements), CSE_DATA);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), "is damaged"));
    }
    ck_assert_int_eq(cse_weights_read(weights, 1, 0, 48, elements), CSE_OK);
    cse_weights_close(&weights);
    tear_down();
}
END_TEST

START_TEST(what_it_says_is_checked)
{
    set_up();
    fails_with(lying_outside, CSE_DATA, "beyond the end of the file");
    fails_with(lying_twice, CSE_DATA, "two weights");
    fails_with(lying_type, CSE_DATA, "a size that no file can have");
    fails_with(lying_rank, CSE_DATA, "dimensions");
    fails_with(growing, CSE_DATA, "more elements than the file can hold");
    tear_down();
}
END_TEST

START_TEST(it_may_open_and_start_nothing)
{
    cse_weights *weights;
    set_up();
    const cse_status status = open_by(trying, &weights);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    cse_weights_close(&weights);
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights apart");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, weights_come_over);
    tcase_add_test(tests, the_end_of_the_process_is_damage_of_the_file);
    tcase_add_test(tests, what_it_says_is_checked);
    tcase_add_test(tests, it_may_open_and_start_nothing);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
