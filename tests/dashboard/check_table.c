/* A table of runs: what differs, the order of rows, deltas, figures of groups, and its text. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "dashboard/query/table.h"
#include "dashboard/query/table_csv.h"

static const char runs_text[] =
    "[{\"job\": {\"id\": \"a\", \"name\": \"one, two\", \"state\": \"SUCCEEDED\", \"labels\":"
    "   {\"team\": \"x\", \"site\": \"s\"}}, \"values\": {\"settings\": {\"trainer.init.lr\": "
    "\"0.1\","
    "   \"trainer.init.model_dir\": \"a\", \"trainer.init.seed\": \"1\"},"
    "   \"metrics\": {\"m\": {\"last\": 3.0, \"min\": 1.0, \"max\": 4.0}}}},"
    " {\"job\": {\"id\": \"b\", \"name\": \"say \\\"b\\\"\", \"state\": \"FAILED\", \"labels\":"
    "   {\"team\": \"y\", \"site\": \"s\"}}, \"values\": {\"settings\": {\"trainer.init.lr\": "
    "\"0.2\","
    "   \"trainer.init.model_dir\": \"b\", \"trainer.init.seed\": \"1\"},"
    "   \"metrics\": {\"m\": {\"last\": 1.0, \"min\": 0.5, \"max\": 2.0}}}},"
    " {\"job\": {\"id\": \"c\", \"name\": \"c\", \"state\": \"RUNNING\", \"labels\":"
    "   {\"team\": \"x\", \"site\": \"s\"}}, \"values\": {\"settings\": {\"trainer.init.lr\": "
    "\"0.1\","
    "   \"trainer.init.model_dir\": \"c\", \"trainer.init.seed\": \"1\","
    "   \"trainer.init.more\": \"yes\"}, \"metrics\": {}}}]";

static json_t *runs_of(void)
{
    json_t *runs = json_loads(runs_text, 0, NULL);
    ck_assert(runs != NULL);
    return runs;
}

static json_t *list(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    ck_assert(value != NULL);
    return value;
}

/* Takes `found` over. */
static void expect(json_t *found, const char *text)
{
    json_t *wanted = list(text);
    char *shown = json_dumps(found, 0);
    ck_assert_msg(json_equal(found, wanted), "%s, wanted %s", shown, text);
    free(shown);
    json_decref(wanted);
    json_decref(found);
}

START_TEST(names_are_told_and_what_differs)
{
    json_t *runs = runs_of(), *names = cse_table_names(runs);
    expect(json_incref(json_object_get(names, "differing")),
           "[\"trainer.init.lr\", \"trainer.init.more\", \"team\"]");
    expect(json_incref(json_object_get(names, "settings")),
           "[\"trainer.init.lr\", \"trainer.init.model_dir\", \"trainer.init.seed\", "
           "\"trainer.init.more\"]");
    expect(cse_table_columns(names), "[\"trainer.init.lr\", \"trainer.init.more\", \"team\", "
                                     "\"site\", \"m\"]");
    json_decref(names);
    json_decref(runs);
}
END_TEST

static void expect_order(const json_t *runs, const char *name, bool down, const char *ids)
{
    json_t *sorted = cse_table_sorted(runs, name, down), *found = json_array(), *run;
    size_t i;
    json_array_foreach(sorted, i, run)
        json_array_append(found, json_object_get(json_object_get(run, "job"), "id"));
    expect(found, ids);
    json_decref(sorted);
}

START_TEST(rows_without_a_value_are_last)
{
    json_t *runs = runs_of();
    expect_order(runs, "m", false, "[\"b\", \"a\", \"c\"]");
    expect_order(runs, "m", true, "[\"a\", \"b\", \"c\"]");
    expect_order(runs, "team", false, "[\"a\", \"c\", \"b\"]");
    expect_order(runs, "team", true, "[\"b\", \"a\", \"c\"]");
    expect_order(runs, "site", true, "[\"a\", \"b\", \"c\"]");
    json_decref(runs);
}
END_TEST

START_TEST(deltas_are_of_the_baseline)
{
    json_t *runs = runs_of(), *columns = list("[\"max(m)\", \"team\"]");
    json_t *rows = cse_table_rows(runs, columns, json_array_get(runs, 1));
    expect(json_incref(json_object_get(json_array_get(rows, 0), "deltas")), "[2.0, null]");
    expect(json_incref(json_object_get(json_array_get(rows, 1), "deltas")), "[0.0, null]");
    expect(json_incref(json_object_get(json_array_get(rows, 2), "deltas")), "[null, null]");
    json_decref(rows);
    rows = cse_table_rows(runs, columns, NULL);
    ck_assert(json_object_get(json_array_get(rows, 0), "deltas") == NULL);
    json_decref(rows);
    json_decref(columns);
    json_decref(runs);
}
END_TEST

static void expect_csv(const json_t *table, const json_t *by, const char *wanted)
{
    cse_text csv = { 0 };
    cse_table_csv(table, by, &csv);
    ck_assert_str_eq(csv.data, wanted);
    cse_text_clear(&csv);
}

START_TEST(text_is_quoted_where_it_must_be)
{
    json_t *runs = runs_of(), *columns = list("[\"m\", \"team\"]"), *by = list("[\"team\"]");
    json_t *table = json_pack("{s:O, s:o, s:o, s:n}", "columns", columns, "rows",
                              cse_table_rows(runs, columns, NULL), "groups",
                              cse_table_groups(runs, columns, by), "baseline");
    expect_csv(table, NULL,
               "id,name,state,m,team\r\n"
               "a,\"one, two\",SUCCEEDED,3,x\r\n"
               "b,\"say \"\"b\"\"\",FAILED,1,y\r\n"
               "c,c,RUNNING,,x\r\n");
    expect_csv(table, by,
               "runs,team,mean of m,deviation of m,minimum of m,maximum of m,count of m,"
               "mean of team,deviation of team,minimum of team,maximum of team,count of team\r\n"
               "2,x,3,,3,3,1,,,,,\r\n"
               "1,y,1,,1,1,1,,,,,\r\n");
    json_decref(table);
    json_decref(by);
    json_decref(columns);
    json_decref(runs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *all = tcase_create("all");
    tcase_add_test(all, names_are_told_and_what_differs);
    tcase_add_test(all, rows_without_a_value_are_last);
    tcase_add_test(all, deltas_are_of_the_baseline);
    tcase_add_test(all, text_is_quoted_where_it_must_be);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
