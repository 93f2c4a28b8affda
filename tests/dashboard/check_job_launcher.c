/* What a JobSpec may ask of Slurm, and what is said of the rest. */
#include <check.h>
#include <stddef.h>
#include <string.h>

#include "dashboard/jobs/job_launcher.h"

static const struct {
    const char *spec;
    bool allowed;        /* by the operator */
    const char *pointer; /* of what is wrong; NULL: nothing is */
    const char *words;
} cases[] = {
    { "{'config': 'x'}", false, NULL, NULL },
    { "{'config': 'x', 'launcher': 'local', 'resources': {'cores': 2}}", false, NULL, NULL },
    { "{'config': 'x', 'launcher': 'slurm'}", true, NULL, NULL },
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--nodes=2 --time=1:00:00'}", true,
      NULL, NULL },
    { "{'config': 'x', 'launcher': 'slurm', 'resources': {'cores': 0}}", true, NULL, NULL },
    { "{'config': 'x', 'launcher': 'slurm'}", false, "/launcher", "--allow_launcher slurm" },
    { "{'program': '/x', 'launcher': 'slurm'}", true, "/launcher", "server's host alone" },
    { "{'config': 'x', 'launcher_options': '--nodes=2'}", true, "/launcher_options", "not given" },
    { "{'config': 'x', 'launcher': 'local', 'launcher_options': '--nodes=2'}", true,
      "/launcher_options", "not given" },
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--output=/x'}", true,
      "/launcher_options", "none that a job may have" },
    { "{'config': 'x', 'launcher': 'slurm', 'resources': {'cores': 2}}", true, "/resources",
      "--cpus-per-task" },
    { "{'config': 'x', 'launcher': 'slurm', 'resources': {'memory_bytes': 9}}", true, "/resources",
      "--mem" },
};

static json_t *spec_of(const char *text)
{
    char quoted[256];
    size_t n = 0;
    for (; text[n] != '\0'; n++)
        quoted[n] = text[n] == '\'' ? '"' : text[n];
    quoted[n] = '\0';
    json_t *spec = json_loads(quoted, 0, NULL);
    ck_assert_ptr_nonnull(spec);
    return spec;
}

START_TEST(a_specification_is_accepted_or_told)
{
    json_t *spec = spec_of(cases[_i].spec), *diagnostics = json_array();
    const bool right = cse_job_launcher_check(spec, cases[_i].allowed, diagnostics);
    ck_assert_int_eq(right, cases[_i].pointer == NULL);
    ck_assert_uint_eq(json_array_size(diagnostics), right ? 0 : 1);
    if (!right) {
        const json_t *told = json_array_get(diagnostics, 0);
        ck_assert_str_eq(json_string_value(json_object_get(told, "pointer")), cases[_i].pointer);
        const char *message = json_string_value(json_object_get(told, "message"));
        ck_assert_msg(strstr(message, cases[_i].words) != NULL, "%s", message);
    }
    ck_assert_int_eq(cse_job_is_batch(spec), strstr(cases[_i].spec, "'slurm'") != NULL);
    json_decref(diagnostics);
    json_decref(spec);
}
END_TEST

static const struct {
    const char *spec;
    bool one;
} places[] = {
    { "{'config': 'x'}", false },
    { "{'config': 'x', 'launcher_options': '--nodes=1'}", false },
    { "{'config': 'x', 'launcher': 'slurm'}", false }, /* two, as the script says */
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--nodes=1'}", true },
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--nodes=1-2'}", false },
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--nodes=12'}", false },
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--nodes=1 --nodes=2'}", false },
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--nodes=2 --nodes=1'}", true },
    { "{'config': 'x', 'launcher': 'slurm', 'launcher_options': '--comment=--nodes=1'}", false },
};

START_TEST(a_job_of_one_node_is_known)
{
    json_t *spec = spec_of(places[_i].spec);
    ck_assert_int_eq(cse_job_is_on_one_node(spec), places[_i].one);
    json_decref(spec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_launcher");
    TCase *tests = tcase_create("specifications");
    tcase_add_loop_test(tests, a_specification_is_accepted_or_told, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(tests, a_job_of_one_node_is_known, 0,
                        (int)(sizeof places / sizeof *places));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
