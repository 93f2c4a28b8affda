/* The limits and counts of cgroups, read from folders made here: both versions, groups above,
 * containers that see a part of a hierarchy, swap, and files that are not there. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/directory.h"
#include "engine/base/memory_limit.h"
#include "tests/support/temporary_folder.h"

#define MIB (INT64_C(1) << 20)

static char folder[64], cgroup[512], mountinfo[512], meminfo[512], vmstat[512];

static const cse_memory_sources sources = { cgroup, mountinfo, meminfo, vmstat };

static void put(const char *path, const char *text)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", folder, path);
    for (char *slash = strchr(full + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert_int_eq(cse_make_directories("folder", full), CSE_OK);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* A line of mountinfo for a folder of this test. */
static void mount(const char *root, const char *at, const char *type)
{
    char line[1024];
    snprintf(line, sizeof line,
             "22 1 254:1 / / rw - ext4 /dev/vda rw\n"
             "36 35 0:31 %s %s/%s rw,nosuid shared:9 - %s none rw%s\n",
             root, folder, at, type, strcmp(type, "cgroup") == 0 ? ",memory" : "");
    put("mountinfo", line);
}

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/csengine-memory-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cgroup, sizeof cgroup, "%s/cgroup", folder);
    snprintf(mountinfo, sizeof mountinfo, "%s/mountinfo", folder);
    snprintf(meminfo, sizeof meminfo, "%s/meminfo", folder);
    snprintf(vmstat, sizeof vmstat, "%s/vmstat", folder);
    put("meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n"
                   "SwapTotal:       524288 kB\n");
    put("vmstat", "nr_free_pages 5\noom_kill 7\n");
}

static void tear_down(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static void expect(int64_t mebibytes, int64_t swap, const char *file)
{
    char full[1024];
    const cse_memory_limit limit = cse_memory_limit_find(&sources);
    snprintf(full, sizeof full, "%s/%s", folder, file);
    ck_assert_int_eq(limit.bytes, mebibytes * MIB);
    ck_assert_int_eq(limit.swap_bytes, swap * MIB);
    ck_assert_str_eq(limit.file, file[0] != '\0' ? full : "");
}

START_TEST(a_machine_without_cgroups)
{
    expect(8192, 512, "");
    ck_assert_int_eq(cse_memory_limit_find(&sources).free_bytes, 4096 * MIB);
    ck_assert_int_eq(cse_memory_kills_count(&sources), 7);
}
END_TEST

START_TEST(the_least_of_a_group_and_of_those_above)
{
    put("cgroup", "0::/system.slice/train.service\n");
    mount("/", "v2", "cgroup2");
    put("v2/system.slice/train.service/memory.max", "max\n");
    expect(8192, 512, "");
    put("v2/system.slice/memory.max", "1073741824\n");
    expect(1024, 512, "v2/system.slice/memory.max");
    put("v2/system.slice/train.service/memory.high", "536870912\n");
    expect(512, 512, "v2/system.slice/train.service/memory.high");
    put("v2/system.slice/train.service/memory.max", "268435456\n");
    put("v2/system.slice/train.service/memory.swap.max", "67108864\n");
    expect(256, 64, "v2/system.slice/train.service/memory.max");
}
END_TEST

START_TEST(what_others_use_is_not_free_but_pages_of_files_are)
{
    put("cgroup", "0::/a\n");
    mount("/", "v2", "cgroup2");
    put("v2/a/memory.max", "1073741824\n");
    put("v2/a/memory.current", "805306368\n");
    put("v2/a/memory.stat", "anon 1\ninactive_file 134217728\nactive_file 134217728\n");
    ck_assert_int_eq(cse_memory_limit_find(&sources).free_bytes, 512 * MIB);
}
END_TEST

START_TEST(a_limit_beyond_the_machine_is_none)
{
    put("cgroup", "0::/a\n");
    mount("/", "v2", "cgroup2");
    put("v2/a/memory.max", "1099511627776\n");
    expect(8192, 512, "");
}
END_TEST

START_TEST(version_1_beside_version_2)
{
    put("cgroup", "5:cpu,memory:/docker/a1\n1:name=systemd:/\n0::/\n");
    mount("/docker/a1", "v1", "cgroup"); /* a container that sees its own part */
    put("v1/memory.limit_in_bytes", "1073741824\n");
    put("v1/memory.memsw.limit_in_bytes", "1207959552\n");
    put("v1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    expect(1024, 128, "v1/memory.limit_in_bytes");
    ck_assert_int_eq(cse_memory_kills_count(&sources), 3);
    put("v1/memory.limit_in_bytes", "9223372036854771712\n");
    expect(8192, 512, "");
}
END_TEST

START_TEST(a_path_that_is_not_below_the_mount)
{
    put("cgroup", "0::/../other\n");
    mount("/", "v2", "cgroup2");
    put("v2/memory.max", "1073741824\n");
    put("other/memory.max", "1048576\n");
    expect(1024, 512, "v2/memory.max");
}
END_TEST

START_TEST(kills_are_those_of_the_own_group)
{
    put("cgroup", "0::/a/b\n");
    mount("/", "v2", "cgroup2");
    put("v2/a/memory.events", "low 0\noom 9\noom_kill 9\n");
    ck_assert_int_eq(cse_memory_kills_count(&sources), 7); /* of the machine: there is no file */
    put("v2/a/b/memory.events", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 2\noom_group_kill 0\n");
    ck_assert_int_eq(cse_memory_kills_count(&sources), 2);
}
END_TEST

START_TEST(damaged_files_are_no_limits)
{
    put("cgroup", "0:\nnonsense\n:::\n0::/a\n");
    mount("/", "v2", "cgroup2");
    put("v2/a/memory.max", "many\n");
    put("v2/a/memory.high", "-5\n");
    put("v2/a/memory.events", "oom_kill\n");
    expect(8192, 512, "");
    put("meminfo", "");
    put("vmstat", "");
    ck_assert_int_eq(cse_memory_limit_find(&sources).bytes, 0);
}
END_TEST

START_TEST(this_process_has_memory)
{
    const cse_memory_limit limit = cse_memory_limit_look();
    ck_assert_int_gt(limit.bytes, 0);
    ck_assert_int_le(limit.free_bytes, limit.bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_limit");
    TCase *tests = tcase_create("memory_limit");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_machine_without_cgroups);
    tcase_add_test(tests, the_least_of_a_group_and_of_those_above);
    tcase_add_test(tests, what_others_use_is_not_free_but_pages_of_files_are);
    tcase_add_test(tests, a_limit_beyond_the_machine_is_none);
    tcase_add_test(tests, version_1_beside_version_2);
    tcase_add_test(tests, a_path_that_is_not_below_the_mount);
    tcase_add_test(tests, kills_are_those_of_the_own_group);
    tcase_add_test(tests, damaged_files_are_no_limits);
    tcase_add_test(tests, this_process_has_memory);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
