/* Assertions for inner loops. Check writes down the place of each ck_assert that passes, which
 * takes longer than most comparisons; cse_expect tells it of failures alone. */
#ifndef CSE_TESTS_SUPPORT_EXPECT_H
#define CSE_TESTS_SUPPORT_EXPECT_H

#include <check.h>

/* `...`: a message as of printf, computed only when the condition is false. */
#define cse_expect(condition, ...)     \
    do {                               \
        if (!(condition))              \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)

#endif
