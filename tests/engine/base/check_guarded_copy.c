/* Copies out of a mapped file that becomes shorter: they fail, and the process goes on; other uses
 * of the signal have it as before. */
#include <check.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/guarded_copy.h"

enum { BYTES = 1 << 16 };

static sigjmp_buf back;

static void own_handler(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static unsigned char *map(int *descriptor)
{
    char name[] = "/tmp/guarded_XXXXXX";
    *descriptor = mkstemp(name);
    ck_assert_int_ge(*descriptor, 0);
    unlink(name);
    ck_assert_int_eq(ftruncate(*descriptor, BYTES), 0);
    unsigned char *bytes = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, *descriptor, 0);
    ck_assert(bytes != MAP_FAILED);
    return bytes;
}

START_TEST(a_file_that_is_cut_short_fails)
{
    static unsigned char to[BYTES];
    int descriptor;
    unsigned char *bytes = map(&descriptor);
    cse_guarded_copy_prepare();
    ck_assert_int_eq(pwrite(descriptor, "x", 1, 100), 1);
    ck_assert(cse_guarded_copy(to, bytes, BYTES));
    ck_assert_int_eq(to[100], 'x');
    ck_assert_int_eq(ftruncate(descriptor, 5000), 0);
    for (int i = 0; i < 3; i++) { /* the signal is not blocked after the first */
        ck_assert(!cse_guarded_copy(to, bytes, BYTES));
        ck_assert(cse_guarded_copy(to, bytes, 4096));
    }
    munmap(bytes, BYTES);
    close(descriptor);
}
END_TEST

START_TEST(others_have_the_signal_as_before)
{
    int descriptor;
    unsigned char *bytes = map(&descriptor);
    signal(SIGBUS, own_handler);
    cse_guarded_copy_prepare();
    cse_guarded_copy_prepare();
    ck_assert_int_eq(ftruncate(descriptor, 0), 0);
    if (sigsetjmp(back, 1) == 0) {
        volatile unsigned char byte = *(volatile unsigned char *)bytes;
        ck_abort_msg("%d was read beyond the end of a file", byte);
    }
    munmap(bytes, BYTES);
    close(descriptor);
}
END_TEST

START_TEST(without_a_handler_the_process_ends)
{
    int descriptor;
    unsigned char *bytes = map(&descriptor);
    signal(SIGBUS, SIG_DFL); /* not that of a sanitizer */
    cse_guarded_copy_prepare();
    ck_assert_int_eq(ftruncate(descriptor, 0), 0);
    volatile unsigned char byte = *(volatile unsigned char *)bytes;
    (void)byte;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guarded_copy");
    TCase *tests = tcase_create("guarded_copy");
    tcase_add_test(tests, a_file_that_is_cut_short_fails);
    tcase_add_test(tests, others_have_the_signal_as_before);
    tcase_add_test_raise_signal(tests, without_a_handler_the_process_ends, SIGBUS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
