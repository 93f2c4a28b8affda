/* What runs were made from: which of it differs, of what is known. */
#include <check.h>
#include <stdlib.h>

#include "dashboard/query/origins.h"

#define LINKS(graph, version, build, artefact, data)                                     \
    "configuration aaaa \ncode bbbb graph " graph ", csengine " version ", build " build \
    "\nartefact " artefact " amx\ndata " data " \nseed cccc 1\nprevious dddd start\n"

/* Takes `links` over. */
static void expect(json_t *links, const char *text)
{
    json_t *wanted = json_loads(text, 0, NULL), *found = cse_origins_that_differ(links);
    char *shown = json_dumps(found, 0);
    ck_assert_msg(json_equal(found, wanted), "%s, wanted %s", shown, text);
    free(shown);
    json_decref(found);
    json_decref(wanted);
    json_decref(links);
}

START_TEST(each_part_is_told_where_it_differs)
{
    expect(json_pack("[s, s]", LINKS("g1", "1.0", "b1", "a1", "d1"),
                     LINKS("g1", "1.0", "b1", "a1", "d1")),
           "[]");
    expect(json_pack("[s, s]", LINKS("g1", "1.0", "b1", "a1", "d1"),
                     LINKS("g2", "1.1", "b2", "0123456789abcdef0123", "d2")),
           "[{\"path\": \"step graph\", \"changes_bits\": true, \"values\": [\"g1\", \"g2\"]},"
           " {\"path\": \"version of csengine\", \"changes_bits\": true, \"values\": [\"1.0\", "
           "\"1.1\"]},"
           " {\"path\": \"build of csengine\", \"changes_bits\": true, \"values\": [\"b1\", "
           "\"b2\"]},"
           " {\"path\": \"generated code, plan and kernels\", \"changes_bits\": true, \"values\": "
           "[\"a1\", \"0123456789abcdef\"]},"
           " {\"path\": \"training data\", \"changes_bits\": true, \"values\": [\"d1\", \"d2\"]}]");
}
END_TEST

/* A run without a checkpoint differs in nothing, and stands as unknown beside others that do. */
START_TEST(what_is_not_known_is_no_difference)
{
    expect(json_pack("[s, n]", LINKS("g1", "1.0", "b1", "a1", "d1")), "[]");
    expect(json_pack("[n, s, s, s]", LINKS("g1", "1.0", "b1", "a1", "d1"),
                     LINKS("g1", "1.0", "b1", "a1", "d2"), "code bbbb \ndata\n"),
           "[{\"path\": \"training data\", \"changes_bits\": true, \"values\": [null, \"d1\", "
           "\"d2\", null]}]");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("origins");
    TCase *cases = tcase_create("differences");
    tcase_add_test(cases, each_part_is_told_where_it_differs);
    tcase_add_test(cases, what_is_not_known_is_no_difference);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
