/* The model of many cores against cases that are computed by hand, in the comments, and the file of
 * a machine's rates. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/measure/machine_model.h"

static const cse_machine_rates rates = {
    .topology = "pack:2 numa:1 l3:2 core:4 pu:1",
    .of_core = { [CSE_RATE_PRODUCT_FLOAT32] = 1e9,
                 [CSE_RATE_OTHER] = 1e9,
                 [CSE_RATE_SERIAL] = 1e9,
                 [CSE_RATE_UPDATE] = 1e9,
                 [CSE_RATE_INPUT] = 1e9 },
    .core_bytes_per_s = 4e9,
    .memory_bytes_per_s = 8e9,
    .link_bytes_per_s = 1e9,
    .cache_bytes = 1e6,
    .cache_line_s = 1e-7,
    .socket_line_s = 2e-7,
    .machine_line_s = 4e-7,
};

static cse_unit_work units[] = {
    { CSE_RATE_PRODUCT_FLOAT32, 1e9, 1e5, 0, false },
    { CSE_RATE_OTHER, 1e8, 1e8, 5e7, false },
    { CSE_RATE_OTHER, 2e8, 2e8, 2e8, true },
};

static const cse_step_work work = {
    .microbatches = 16,
    .micro_batch_size = 2,
    .units = units,
    .unit_count = 3,
    .input_bytes = 1e6,
    .sum_bytes = 4e7,
    .joined_bytes = 1e7,
    .reduced_bytes = 1e7,
    .serial_bytes = 1e7,
    .update_bytes = 12e7,
    .reduce_chunks = 10,
    .update_chunks = 100,
    .exact = true,
};

static cse_core_plan plan_of(const cse_step_work *step, const cse_machine_rates *machine,
                             int replicas)
{
    cse_processors processors;
    cse_core_plan made;
    ck_assert_int_eq(cse_processors_read(machine->topology, &processors), CSE_OK);
    ck_assert_msg(cse_core_plan_make(step, machine, &processors, replicas, &made) == CSE_OK, "%s",
                  cse_error_message());
    cse_processors_clear(&processors);
    return made;
}

static void equal(double a, double b)
{
    ck_assert_double_eq_tol(a, b, 1e-9 * fabs(b) + 1e-15);
}

/* A microbatch has 1 + 0.1 s, and 0.001 s of input; 0.2 s once a step; 15 additions of 0.03 s. */
START_TEST(test_one_replica)
{
    const cse_core_plan p = plan_of(&work, &rates, 1);
    equal(p.compute_s, 0.2 + 16 * 1.101 + 15 * 0.03);
    ck_assert_double_eq(p.unequal_s, 0);
    ck_assert_double_eq(p.reduce_s, 0); /* the sum is there */
    equal(p.serial_s, 0.01);
    equal(p.update_s, 0.12);
    ck_assert_double_eq(p.turns_s, 0);
    equal(p.step_s, 18.396);
    equal(p.samples_per_s, 32 / 18.396);
    equal(p.strong, 1);
    equal(p.weak, 1);
}
END_TEST

/* Four on each memory: 2 GB/s for each. One addition of 0.06 s. REDUCE waits for the link: of
 * 80 MB each socket gets a quarter from the other one, in 0.02 s; 10 chunks for 8 are two rounds,
 * 1.6 times that. UPDATE, too: 210 MB, 0.0525 s, 13 rounds of 12.5. Four stages and 118 words. */
START_TEST(test_eight_replicas_on_two_sockets)
{
    const cse_core_plan p = plan_of(&work, &rates, 8);
    ck_assert_int_eq(p.largest_share, 2);
    ck_assert_int_eq(p.sums, 8);
    equal(p.compute_s, 0.2 + 2 * 1.101 + 0.06);
    equal(p.reduce_s, 0.032);
    equal(p.update_s, 0.0525 * 1.04);
    equal(p.turns_s, (4 * 8 + 118) * 4e-7);
    equal(p.step_s, 2.462 + 0.032 + 0.01 + 0.0546 + 6e-5);
    equal(p.strong, 18.396 / 8 / p.step_s);
    /* Once a step 0.2 s for each; a quarter of it with one for each memory. */
    equal(p.prepared_s, 0.2);
    equal(p.shared_saves_s, 0.15);
    /* 8 * 200 MB and 16 * 50 MB of states, of which a quarter goes over the link to each. */
    equal(p.link_share, 0.6 / p.compute_s);
}
END_TEST

/* Shares of 5, 5 and 6 of 16. */
START_TEST(test_unequal_shares)
{
    const cse_core_plan p = plan_of(&work, &rates, 3);
    ck_assert_int_eq(p.largest_share, 6);
    ck_assert_int_eq(p.sums, 2 + 3 + 2);
    equal(p.unequal_s, (6 - 16 / 3.) * 1.101);
}
END_TEST

/* A memory of 0.5 GB/s for 8: 0.0625 GB/s each. The second unit then takes 1.6 s in place of 0.1,
 * the third 3.2 s; the first lies in the cache. */
START_TEST(test_memory_is_shared)
{
    cse_machine_rates slow = rates;
    snprintf(slow.topology, sizeof slow.topology, "pack:1 numa:1 l3:2 core:4 pu:1");
    slow.memory_bytes_per_s = 0.5e9;
    const cse_core_plan p = plan_of(&work, &slow, 8);
    equal(p.compute_s, 3.2 + 2 * (1 + 1.6 + 0.001) + 12e7 / 0.0625e9);
    slow.cache_bytes = 4e8; /* 100 MB for each of 4: the second unit fits */
    equal(plan_of(&work, &slow, 8).compute_s, 3.2 + 2 * 1.101 + 12e7 / 0.0625e9);
}
END_TEST

/* The latest of 8, of two microbatches each: sqrt(2) * sqrt(2 ln 8) * 1 % of one. */
START_TEST(test_replicas_vary)
{
    cse_machine_rates varied = rates;
    varied.spread = 0.01;
    equal(plan_of(&work, &varied, 8).spread_s, 0.01 * 1.101 * sqrt(2) * sqrt(2 * log(8)));
    ck_assert_double_eq(plan_of(&work, &varied, 1).spread_s, 0);
}
END_TEST

/* 16 of 16 compute; more have nothing to do. Hardware threads halve the rate of a core. */
START_TEST(test_more_replicas_than_microbatches_or_cores)
{
    cse_machine_rates threads = rates;
    snprintf(threads.topology, sizeof threads.topology, "pack:2 numa:1 l3:2 core:2 pu:4");
    const cse_core_plan p = plan_of(&work, &threads, 32);
    ck_assert_int_eq(p.largest_share, 1);
    ck_assert_int_eq(p.sums, 16);
    ck_assert_int_eq(p.replicas, 32);
    equal(p.compute_s, 2 * (0.2 + 1.101));
    equal(p.step_s, plan_of(&work, &threads, 16).step_s);
    equal(p.strong, plan_of(&work, &threads, 16).strong / 2);
}
END_TEST

START_TEST(test_what_is_missing_is_named)
{
    cse_processors processors;
    cse_core_plan made;
    cse_machine_rates machine = rates;
    ck_assert_int_eq(cse_processors_read(rates.topology, &processors), CSE_OK);
    ck_assert_int_eq(cse_core_plan_make(&work, &machine, &processors, 17, &made), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "1 to 16"));
    machine.link_bytes_per_s = 0;
    ck_assert_int_eq(cse_core_plan_make(&work, &machine, &processors, 2, &made), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "link_bytes_per_s"));
    machine = rates;
    machine.of_core[CSE_RATE_PRODUCT_FLOAT32] = 0;
    ck_assert_int_eq(cse_core_plan_make(&work, &machine, &processors, 2, &made), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "product_float32_flop_per_s"));
    cse_processors_clear(&processors);
}
END_TEST

/* ---- the file ---- */

static char path[] = "/tmp/check_machine_XXXXXX";

static cse_status read_text(const char *text, cse_machine_rates *found)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return cse_machine_rates_read(path, found);
}

static char *written(void)
{
    json_t *object = cse_machine_rates_json(&rates);
    char *text = json_dumps(object, 0);
    json_decref(object);
    return text;
}

START_TEST(test_a_file_is_read_as_it_was_written)
{
    cse_machine_rates found;
    close(mkstemp(path));
    ck_assert_int_eq(cse_machine_rates_write(&rates, path), CSE_OK);
    ck_assert_msg(cse_machine_rates_read(path, &found) == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(found.topology, rates.topology);
    for (int i = 0; i < CSE_RATE_COUNT; i++)
        equal(found.of_core[i], rates.of_core[i]);
    equal(found.machine_line_s, rates.machine_line_s);
    equal(plan_of(&work, &found, 8).step_s, plan_of(&work, &rates, 8).step_s);
    unlink(path);
}
END_TEST

START_TEST(test_a_wrong_file_is_refused_by_name)
{
    static const struct {
        const char *from, *to, *named;
    } changes[] = {
        { "\"spread\"", "\"spraed\"", "spraed" },
        { "\"cache_bytes\": 1000000.0", "\"cache_bytes\": -1", "cache_bytes" },
        { "\"cache_bytes\": 1000000.0", "\"cache_bytes\": \"big\"", "cache_bytes" },
        { "\"topology\": \"", "\"topology\": 3, \"other\": \"", "other" },
    };
    cse_machine_rates found;
    close(mkstemp(path));
    char *text = written();
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char changed[4096];
        const char *at = strstr(text, changes[i].from);
        ck_assert_ptr_nonnull(at);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, changes[i].to,
                 at + strlen(changes[i].from));
        ck_assert_int_eq(read_text(changed, &found), CSE_DATA);
        ck_assert_msg(strstr(cse_error_message(), changes[i].named) != NULL, "%s",
                      cse_error_message());
    }
    ck_assert_int_eq(read_text("[]", &found), CSE_DATA);
    ck_assert_int_eq(read_text("{", &found), CSE_DATA);
    unlink(path);
    ck_assert_int_eq(cse_machine_rates_read(path, &found), CSE_NO_INPUT);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine_model");
    TCase *cases = tcase_create("machine_model");
    tcase_add_test(cases, test_one_replica);
    tcase_add_test(cases, test_eight_replicas_on_two_sockets);
    tcase_add_test(cases, test_unequal_shares);
    tcase_add_test(cases, test_memory_is_shared);
    tcase_add_test(cases, test_replicas_vary);
    tcase_add_test(cases, test_more_replicas_than_microbatches_or_cores);
    tcase_add_test(cases, test_what_is_missing_is_named);
    tcase_add_test(cases, test_a_file_is_read_as_it_was_written);
    tcase_add_test(cases, test_a_wrong_file_is_refused_by_name);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
