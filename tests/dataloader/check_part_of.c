/* The part that has a sample, against a look at each part. */
#include <check.h>

#include "dataloader/files/part_of.h"

enum { PARTS = 40 };

typedef struct part {
    char name[5];
    int64_t first;
} part;

/* Some parts are empty: the last of those that begin at one place has the samples. */
START_TEST(each_sample_is_in_the_part_that_holds_it)
{
    part parts[PARTS];
    for (int count = 1; count <= PARTS; count++) {
        int64_t samples = 0;
        for (int i = 0; i < count; i++) {
            parts[i] = (part){ .first = samples };
            samples += i == 0 ? 1 : (i * 7 + count) % 5;
        }
        for (int64_t sample = 0; sample < samples; sample++) {
            int expected = 0;
            for (int i = 0; i < count; i++)
                if (parts[i].first <= sample)
                    expected = i;
            ck_assert_int_eq(cse_part_of(&parts[0].first, sizeof parts[0], count, sample),
                             expected);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("part_of");
    TCase *tests = tcase_create("parts");
    tcase_add_test(tests, each_sample_is_in_the_part_that_holds_it);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
