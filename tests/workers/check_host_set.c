/* Sets of hosts against a table of booleans. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "workers/hosts/host_set.h"

START_TEST(it_is_what_a_table_says)
{
    srand(1);
    for (int i = 0; i < 300; i++) {
        bool table[CSE_MAX_HOSTS] = { false };
        cse_host_set set = { { 0 } };
        for (int k = 0; k < 3 * i; k++) {
            const int h = rand() % CSE_MAX_HOSTS;
            table[h] = rand() % 3 != 0;
            (table[h] ? cse_hosts_add : cse_hosts_remove)(&set, h);
        }
        int before = 0;
        for (int h = 0; h < CSE_MAX_HOSTS; h++) {
            ck_assert_int_eq(cse_hosts_have(&set, h), table[h]);
            ck_assert_int_eq(cse_hosts_before(&set, h), before);
            before += table[h];
        }
        ck_assert_int_eq(cse_hosts_count(&set), before);
        unsigned char bytes[CSE_HOST_SET_BYTES];
        cse_hosts_encode(&set, bytes);
        const cse_host_set decoded = cse_hosts_decode(bytes);
        ck_assert(cse_hosts_equal(&set, &decoded));
    }
}
END_TEST

START_TEST(bounds)
{
    static const int counts[] = { 0, 1, 63, 64, 65, 128, 255, 256 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const cse_host_set set = cse_hosts_first(counts[i]);
        ck_assert_int_eq(cse_hosts_count(&set), counts[i]);
        for (int h = 0; h < CSE_MAX_HOSTS; h++)
            ck_assert_int_eq(cse_hosts_have(&set, h), h < counts[i]);
    }
    cse_host_set last = { { 0 } };
    cse_hosts_add(&last, CSE_MAX_HOSTS - 1);
    const cse_host_set all = cse_hosts_first(CSE_MAX_HOSTS);
    const cse_host_set others = cse_hosts_first(CSE_MAX_HOSTS - 1);
    ck_assert(cse_hosts_meet(&last, &all));
    ck_assert(!cse_hosts_meet(&last, &others));
    ck_assert(!cse_hosts_equal(&all, &others));
    unsigned char bytes[CSE_HOST_SET_BYTES];
    cse_hosts_encode(&last, bytes);
    ck_assert_int_eq(bytes[CSE_HOST_SET_BYTES - 1], 0x80);
    ck_assert_int_eq(bytes[0], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host set");
    TCase *tcase = tcase_create("host set");
    tcase_add_test(tcase, it_is_what_a_table_says);
    tcase_add_test(tcase, bounds);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
