/* Samples of a host that is made of files: rates are those of its counters, what is not there is
 * named and never made up; and what a sample of this host costs. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"
#include "workers/control/host_sampler.h"

#define SECOND INT64_C(1000000000)

static char root[] = "/tmp/cse-host-XXXXXX";

static void write_file(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + sizeof root; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void make_root(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    ck_assert(temporary_folder_remove(root));
    memcpy(root, "/tmp/cse-host-XXXXXX", sizeof root);
}

static double real(const json_t *sample, const char *name)
{
    const json_t *value = json_object_get(sample, name);
    ck_assert_msg(json_is_number(value), "%s is missing", name);
    return json_number_value(value);
}

static bool is_missing(const json_t *sample, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(sample, "not_readable"), i, one)
    {
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    }
    return false;
}

static void first_look(void)
{
    write_file("/proc/stat", "cpu  100 0 0 100 0 0 0 0 0 0\n"
                             "cpu0 100 0 0 0 0 0 0 0 0 0\n"
                             "cpu1 0 0 0 100 0 0 0 0 0 0\nintr 5\n");
    write_file("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n");
    write_file("/proc/diskstats", "   7  0 loop0 9 9 9999 9 9 9 9999 9 0 9999 9\n"
                                  " 259  0 nvme0n1 5 0 1000 1 5 0 2000 1 0 100 1\n"
                                  " 259  1 nvme0n1p1 5 0 1000 1 5 0 2000 1 0 100 1\n"
                                  "   8  0 sda 1 0 0 1 1 0 0 1 0 50 1\n");
    write_file("/proc/net/dev", "Inter-|   Receive |  Transmit\n face |bytes packets\n"
                                "    lo: 5000 1 0 0 0 0 0 0 5000 1 0 0 0 0 0 0\n"
                                "  eth0: 1000 1 0 0 0 0 0 0 3000 1 0 0 0 0 0 0\n");
    write_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
    write_file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n");
    write_file("/sys/class/hwmon/hwmon1/temp1_input", "41000\n");
    write_file("/sys/class/hwmon/hwmon1/temp2_input", "63500\n");
    write_file("/sys/class/hwmon/hwmon2/temp1_input", "-128000\n");
}

/* Two seconds later. */
static void second_look(void)
{
    write_file("/proc/stat", "cpu  250 0 0 150 0 0 0 0 0 0\n"
                             "cpu0 100 50 50 0 0 0 0 0 0 0\n"
                             "cpu1 50 0 0 100 50 0 0 0 0 0\nintr 5\n");
    write_file("/proc/diskstats", "   7  0 loop0 9 9 99999999 9 9 9 99999999 9 0 99999 9\n"
                                  " 259  0 nvme0n1 5 0 9000 1 5 0 6000 1 0 1100 1\n"
                                  " 259  1 nvme0n1p1 5 0 9000 1 5 0 6000 1 0 1100 1\n"
                                  "   8  0 sda 1 0 0 1 1 0 0 1 0 50 1\n");
    write_file("/proc/net/dev", "Inter-|   Receive |  Transmit\n face |bytes packets\n"
                                "    lo: 9999999 1 0 0 0 0 0 0 9999999 1 0 0 0 0 0 0\n"
                                "  eth0: 2001000 1 0 0 0 0 0 0 4003000 1 0 0 0 0 0 0\n");
}

START_TEST(test_rates_are_those_of_the_counters)
{
    bool fresh;
    make_root();
    first_look();
    cse_host_sampler *sampler = cse_host_sampler_new(root);
    ck_assert_ptr_null(cse_host_sampler_take(sampler, SECOND, &fresh));
    second_look();
    ck_assert_ptr_null(cse_host_sampler_take(sampler, 2 * SECOND, &fresh));
    const json_t *sample = cse_host_sampler_take(sampler, 3 * SECOND, &fresh);
    ck_assert_ptr_nonnull(sample);
    ck_assert(fresh);
    ck_assert_int_eq(json_integer_value(json_object_get(sample, "interval_ms")), 2000);
    const json_t *cores = json_object_get(sample, "cores");
    ck_assert_int_eq(json_array_size(cores), 2);
    ck_assert_double_eq_tol(json_number_value(json_array_get(cores, 0)), 1.0, 1e-9);
    ck_assert_double_eq_tol(json_number_value(json_array_get(cores, 1)), 0.5, 1e-9);
    ck_assert_double_eq_tol(real(sample, "busy"), 0.75, 1e-9);
    ck_assert_double_eq_tol(real(sample, "clock_mhz"), 2500, 1e-9);
    ck_assert_double_eq_tol(real(sample, "clock_least_mhz"), 2000, 1e-9);
    ck_assert_double_eq(real(sample, "memory_bytes"), 1024000);
    ck_assert_double_eq(real(sample, "memory_free_bytes"), 409600);
    /* 8000 and 4000 sectors in two seconds; partitions and loops are not counted again. */
    ck_assert_double_eq_tol(real(sample, "disk_read_mb_per_second"), 2.048, 1e-9);
    ck_assert_double_eq_tol(real(sample, "disk_written_mb_per_second"), 1.024, 1e-9);
    ck_assert_double_eq_tol(real(sample, "disk_busy"), 0.5, 1e-9);
    ck_assert_double_eq_tol(real(sample, "network_received_mb_per_second"), 1, 1e-9);
    ck_assert_double_eq_tol(real(sample, "network_sent_mb_per_second"), 2, 1e-9);
    ck_assert_double_eq_tol(real(sample, "temperature_celsius"), 63.5, 1e-9);
    ck_assert_int_eq(json_array_size(json_object_get(sample, "not_readable")), 0);
    ck_assert_ptr_eq(cse_host_sampler_take(sampler, 4 * SECOND, &fresh), sample);
    ck_assert(!fresh);
    cse_host_sampler_destroy(&sampler);
    remove_root();
}
END_TEST

START_TEST(test_what_is_not_there_is_named)
{
    static const char *const names[] = { "cores", "clock",   "memory",
                                         "disk",  "network", "temperature" };
    bool fresh;
    make_root();
    cse_host_sampler *sampler = cse_host_sampler_new(root);
    cse_host_sampler_take(sampler, SECOND, &fresh);
    const json_t *sample = cse_host_sampler_take(sampler, 3 * SECOND, &fresh);
    ck_assert_ptr_nonnull(sample);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_msg(is_missing(sample, names[i]), "%s", names[i]);
    ck_assert_int_eq(json_object_size(sample), 2); /* interval_ms, not_readable */
    cse_host_sampler_destroy(&sampler);
    remove_root();
}
END_TEST

/* Text that is none of what is expected, a counter that runs backwards, a core that goes away. */
START_TEST(test_nonsense_gives_no_figure)
{
    bool fresh;
    make_root();
    first_look();
    write_file("/sys/class/hwmon/hwmon1/temp1_input", "999999999\n");
    write_file("/sys/class/hwmon/hwmon1/temp2_input", "hot\n");
    cse_host_sampler *sampler = cse_host_sampler_new(root);
    cse_host_sampler_take(sampler, SECOND, &fresh);
    write_file("/proc/stat", "cpu  9 9\ncpu0 200 0 0 0 0 0 0 0 0 0\n");
    write_file("/proc/meminfo", "\xff\xfe no memory\n");
    write_file("/proc/diskstats", "  259 0 nvme0n1 5 0 10 1 5 0 20 1 0 1 1\n");
    write_file("/proc/net/dev", "eth0: nonsense\n");
    const json_t *sample = cse_host_sampler_take(sampler, 3 * SECOND, &fresh);
    ck_assert_ptr_nonnull(sample);
    ck_assert(is_missing(sample, "cores") && is_missing(sample, "memory"));
    ck_assert(is_missing(sample, "network") && is_missing(sample, "temperature"));
    ck_assert_ptr_null(json_object_get(sample, "busy"));
    ck_assert_ptr_null(json_object_get(sample, "disk_read_mb_per_second"));
    ck_assert_ptr_null(json_object_get(sample, "disk_busy"));
    ck_assert(!is_missing(sample, "clock"));
    cse_host_sampler_destroy(&sampler);
    remove_root();
}
END_TEST

static double processor_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Of this host, as it is: by the thread's own time, which other load does not add to. */
START_TEST(test_a_sample_costs_less_than_a_thousandth_of_a_core)
{
    enum { SAMPLES = 50 };
    bool fresh;
    cse_host_sampler *sampler = cse_host_sampler_new("");
    const double before = processor_s();
    for (int i = 1; i <= SAMPLES; i++)
        cse_host_sampler_take(sampler, i * CSE_HOST_SAMPLE_NS, &fresh);
    const double cost = (processor_s() - before) / SAMPLES;
    const double share = cost / (1e-9 * (double)CSE_HOST_SAMPLE_NS);
    printf("a sample of this host: %.1f us, %.5f %% of a core\n", 1e6 * cost, 100 * share);
    ck_assert_msg(share <= 0.001, "%g of a core", share);
    cse_host_sampler_destroy(&sampler);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host sampler");
    TCase *cases = tcase_create("host sampler");
    tcase_add_test(cases, test_rates_are_those_of_the_counters);
    tcase_add_test(cases, test_what_is_not_there_is_named);
    tcase_add_test(cases, test_nonsense_gives_no_figure);
    tcase_add_test(cases, test_a_sample_costs_less_than_a_thousandth_of_a_core);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
