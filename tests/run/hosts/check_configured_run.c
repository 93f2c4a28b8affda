/* A program runs a configuration on several hosts without the command line: the bits are those of
 * one host, the steps are told, and what is wrong is told with the place where it stands. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csengine/csengine.h"
#include "tests/support/temporary_folder.h"

enum { STEPS = 8 };

static char folder[64];
static int told;
static bool stops;

static void write_configuration(const char *hosts, char path[128])
{
    static int number;
    snprintf(path, 128, "%s/c%d.yaml", folder, number++);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(
        file,
        "trainer:\n  init:\n    model: {name: mlp, input_size: 4, hidden_sizes: [4], num_classes: "
        "2}\n"
        "    optimizer: {SGD: {lr: 0.1}}\n    logging: {log_steps: 1}\n"
        "    backend:\n      cluster_config:\n        host_launcher: local\n"
        "        hosts: %s\n"
        "  fit:\n    train_dataloader: {data_processor: synthetic, samples: 48, features: [4],\n"
        "      classes: 2, batch_size: 8, micro_batch_size: 2}\n",
        hosts);
    ck_assert_int_eq(fclose(file), 0);
}

static void on_step(void *self, int64_t step, double loss)
{
    (void)self;
    ck_assert_int_eq(step, ++told);
    ck_assert(loss > 0);
}

static int stop_requested(void *self)
{
    (void)self;
    return stops && told >= 2;
}

static cse_status run(const char *hosts, const char *name, cse_run_outcome *outcome)
{
    char path[128], model_dir[128];
    write_configuration(hosts, path);
    snprintf(model_dir, sizeof model_dir, "model_dir=%s/%s", folder, name);
    const char *const settings[] = { "loop.num_steps=8", model_dir, NULL };
    told = 0;
    return cse_run_configuration(&(cse_run_request){ .configuration = path,
                                                     .settings = settings,
                                                     .on_step = on_step,
                                                     .stop_requested = stop_requested },
                                 outcome);
}

START_TEST(several_hosts_give_the_bits_of_one)
{
    cse_run_outcome one, three;
    ck_assert_msg(run("[]", "one", &one) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(told, STEPS);
    ck_assert_msg(run("[a, b, c]", "three", &three) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(told, STEPS);
    ck_assert_int_eq(three.steps, STEPS);
    ck_assert(!three.stopped);
    ck_assert_int_eq(strlen(one.weights_digest), 64);
    ck_assert_str_eq(one.weights_digest, three.weights_digest);
    ck_assert_int_eq(access(three.checkpoint_path, R_OK), 0);
}
END_TEST

START_TEST(a_run_is_stopped_and_goes_on)
{
    cse_run_outcome whole, part;
    ck_assert_int_eq(run("[]", "whole", &whole), CSE_OK);
    stops = true;
    ck_assert_int_eq(run("[a, b]", "part", &part), CSE_OK);
    stops = false;
    ck_assert(part.stopped);
    ck_assert_int_lt(part.steps, STEPS);
    told = (int)part.steps;
    char path[128], model_dir[128];
    write_configuration("[a, b]", path);
    snprintf(model_dir, sizeof model_dir, "model_dir=%s/part", folder);
    const char *const settings[] = { "loop.max_steps=8", model_dir, NULL };
    ck_assert_int_eq(cse_run_configuration(
                         &(cse_run_request){ .configuration = path, .settings = settings }, &part),
                     CSE_OK);
    ck_assert_int_eq(part.steps, STEPS);
    ck_assert_str_eq(part.weights_digest, whole.weights_digest);
}
END_TEST

START_TEST(what_is_wrong_is_told_with_its_place)
{
    static const struct {
        const char *hosts, *message;
    } wrong[] = {
        { "[a, -b]", ".yaml:9:20: \"-b\": a name of a host does not begin with \"-\"" },
        { "[a, b, b]", ".yaml:9:23: \"b\": the host is in the list twice" },
        { "[a, b]\n        data_hosts: [c]", ".yaml:10:21: c is none of the hosts of the run" },
        { "[auto]", "auto: this process is in no job of Slurm" },
    };
    cse_run_outcome outcome;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(run(wrong[i].hosts, "wrong", &outcome), CSE_CONFIG);
        ck_assert_msg(strstr(cse_error_message(), wrong[i].message) != NULL, "%s",
                      cse_error_message());
    }
    const char *const settings[] = { "loop.num_steps", NULL };
    ck_assert_int_eq(
        cse_run_configuration(&(cse_run_request){ .configuration = "c.yaml", .settings = settings },
                              &outcome),
        CSE_USAGE);
    ck_assert_int_eq(cse_run_configuration(&(cse_run_request){ .configuration = NULL }, &outcome),
                     CSE_USAGE);
    ck_assert_int_eq(
        cse_run_configuration(&(cse_run_request){ .configuration = "/nowhere.yaml" }, &outcome),
        CSE_NO_INPUT);
}
END_TEST

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_configured_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    temporary_folder_remove(folder);
}

int main(void)
{
    Suite *suite = suite_create("configured run");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, several_hosts_give_the_bits_of_one);
    tcase_add_test(cases, a_run_is_stopped_and_goes_on);
    tcase_add_test(cases, what_is_wrong_is_told_with_its_place);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
