/* Memory in whole pages: zeroed and aligned; what is discarded of a shared mapping reads as zeros
 * and takes no memory, and nothing beside it changes. */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/pages.h"

enum { PAGES = 6 };

START_TEST(new_pages_are_zero)
{
    static const size_t sizes[] = { 1, 4095, 4096, 100001 };
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = sizes[_i];
    unsigned char *memory = cse_pages_new(bytes);
    ck_assert_uint_eq((uintptr_t)memory % page, 0);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_uint_eq(memory[i], 0);
    memset(memory, 1, bytes);
    cse_pages_release(memory, bytes);
    ck_assert_ptr_null(cse_pages_new(0));
    cse_pages_release(NULL, 0);
}
END_TEST

START_TEST(whole_pages_are_discarded)
{
    static const struct {
        int from, to; /* offsets, relative to the starts of pages 1 and 4 */
        int first, end;
    } cases[] = { { 0, 0, 1, 4 }, { 1, 0, 2, 4 }, { 0, -1, 1, 3 }, { -7, 9, 1, 4 } };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int descriptor = memfd_create("check_pages", MFD_CLOEXEC);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(ftruncate(descriptor, (off_t)(PAGES * page)), 0);
    unsigned char *memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    memset(memory, 0xab, PAGES * page);
    unsigned char *start = memory + page + cases[_i].from;
    cse_pages_discard(start, (size_t)(memory + 4 * page + cases[_i].to - start));
    for (size_t i = 0; i < PAGES * page; i++) {
        const int at = (int)(i / page);
        const bool gone = at >= cases[_i].first && at < cases[_i].end;
        ck_assert_uint_eq(memory[i], gone ? 0 : 0xab);
    }
    munmap(memory, PAGES * page);
    close(descriptor);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pages");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, new_pages_are_zero, 0, 4);
    tcase_add_loop_test(cases, whole_pages_are_discarded, 0, 4);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
