/* Lists of hosts: forms that Slurm, PBS, LSF, mpirun and hydra document, and what is refused. The
 * names of Slurm's lists are those that scontrol gives (tests/reference/slurm_hostnames.sh). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workers/hosts/host_list.h"

static cse_host_list list;

/* The list as "name", "name:PORT" or "name*SLOTS", with blanks between. */
static const char *shown(void)
{
    static char text[CSE_MAX_HOSTS * (CSE_HOST_NAME_BYTES + 16)];
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < list.count; i++) {
        const cse_host_entry *entry = &list.hosts[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                                 entry->name);
        if (entry->port > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, ":%d", entry->port);
        if (entry->slots > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "*%d", entry->slots);
    }
    return text;
}

START_TEST(lists_of_nodes_are_those_of_slurm)
{
    char path[4096], line[4096];
    snprintf(path, sizeof path, "%s/tests/reference/slurm_hostnames.txt", getenv("top_srcdir"));
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    int lines = 0;
    for (; fgets(line, sizeof line, file) != NULL; lines++) {
        line[strcspn(line, "\n")] = 0;
        char *names = strstr(line, ": ");
        ck_assert_ptr_nonnull(names);
        *names = 0;
        ck_assert_int_eq(cse_host_list_parse(line, "SLURM_JOB_NODELIST", &list), CSE_OK);
        ck_assert_str_eq(shown(), names + 2);
    }
    fclose(file);
    ck_assert_int_eq(lines, 12);
}
END_TEST

static const struct {
    const char *text, *names;
} good[] = {
    { "a,b,c:7000", "a b c:7000" },
    { " a , b ", "a b" },
    { "10.0.0.1,10.0.0.2:65535", "10.0.0.1 10.0.0.2:65535" },
    { "fd00::1,[fd00::2],[fd00::3]:80", "fd00::1 fd00::2 fd00::3:80" },
    { "n[1-2]:9000", "n1:9000 n2:9000" },
    { "n[1-2]-ib,x", "n1-ib n2-ib x" },
    { "a[1-2]b[1-2]c[1-2]d[1-2]e",
      "a1b1c1d1e a1b1c1d2e a1b1c2d1e a1b1c2d2e a1b2c1d1e a1b2c1d2e a1b2c2d1e a1b2c2d2e "
      "a2b1c1d1e a2b1c1d2e a2b1c2d1e a2b1c2d2e a2b2c1d1e a2b2c1d2e a2b2c2d1e a2b2c2d2e" },
    { "node_1.cluster.example", "node_1.cluster.example" },
};

START_TEST(a_list_of_a_command_line_is_read)
{
    ck_assert_int_eq(cse_host_list_parse(good[_i].text, "--hosts", &list), CSE_OK);
    ck_assert_str_eq(shown(), good[_i].names);
}
END_TEST

static const struct {
    const char *text, *message;
} bad[] = {
    { "", "no name" },
    { "a,,b", "no name" },
    { "a,", "no name" },
    { "a,b,A", "twice" },
    { "n[1-2,2]", "twice" },
    { "-oProxyCommand=x", "does not begin with" },
    { "a,-l", "does not begin with" },
    { "a b", "no name of a host" },
    { "a;b", "no name of a host" },
    { "$(x)", "no name of a host" },
    { "a\nb", "no name of a host" },
    { "user@a", "no name of a host" },
    { "../a", "no name of a host" },
    { "h\xc3\xb6st", "no name of a host" },
    { "a:0", "number of a port" },
    { "a:65536", "number of a port" },
    { "a:", "number of a port" },
    { "a:7x", "number of a port" },
    { "a:99999999999999999999", "number of a port" },
    { "[fd00::1", "[ADDRESS]:PORT" },
    { "[fd00::1]7", "[ADDRESS]:PORT" },
    { "n[1-257]", "more hosts than" },
    { "n[0-999999999]", "more hosts than" },
    { "n[0-19][0-19]", "more hosts than" },
    { "n[0-999999999][0-999999999][0-999999999][0-999999999]", "more hosts than" },
    { "n[1-9999999999]", "too many digits" },
    { "n[2-1]", "goes down" },
    { "n[]", "number is missing" },
    { "n[1-]", "number is missing" },
    { "n[,1]", "number is missing" },
    { "n[a]", "number is missing" },
    { "n[-1]", "number is missing" },
    { "n[1", "not closed" },
    { "n[1;2]", "not closed" },
    { "n[[1]]", "number is missing" },
    { "n1]", "not open" },
    { "a[1]b[1]c[1]d[1]e[1]", "4 pairs" },
    { "n[1-200],m[1-60]", "more than 256 hosts" },
};

START_TEST(a_wrong_list_is_refused)
{
    ck_assert_int_eq(cse_host_list_parse(bad[_i].text, "--hosts", &list), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), bad[_i].message) != NULL, "%s: %s", bad[_i].text,
                  cse_error_message());
    ck_assert_msg(strstr(cse_error_message(), "--hosts") != NULL, "%s", cse_error_message());
}
END_TEST

START_TEST(long_texts_are_refused)
{
    char *text = malloc(2 * CSE_HOST_LIST_BYTES);
    memset(text, 'a', 254);
    text[254] = 0;
    ck_assert_int_eq(cse_host_list_parse(text, NULL, &list), CSE_CONFIG);
    text[253] = 0;
    ck_assert_int_eq(cse_host_list_parse(text, NULL, &list), CSE_OK);
    ck_assert_uint_eq(strlen(list.hosts[0].name), 253);
    memset(text, ',', 2 * CSE_HOST_LIST_BYTES - 1);
    text[2 * CSE_HOST_LIST_BYTES - 1] = 0;
    ck_assert_int_eq(cse_host_list_parse(text, NULL, &list), CSE_CONFIG);
    memset(text, '[', 2 * CSE_HOST_LIST_BYTES - 1);
    ck_assert_int_eq(cse_host_list_parse_file(text, "h", false, &list), CSE_CONFIG);
    text[CSE_HOST_LIST_BYTES - 1] = 0;
    ck_assert_int_eq(cse_host_list_parse(text, NULL, &list), CSE_CONFIG);
    free(text);
}
END_TEST

START_TEST(host_files_are_read)
{
    /* From the man page of mpirun (Open MPI 4.1), and from Hydra's documentation. */
    const char *open_mpi = "# This is a comment\nfoo.example.com\nbar.example.com slots=2\n"
                           "yow.example.com slots=4 max-slots=4\n\n";
    ck_assert_int_eq(cse_host_list_parse_file(open_mpi, "hosts", false, &list), CSE_OK);
    ck_assert_str_eq(shown(), "foo.example.com bar.example.com*2 yow.example.com*4");
    ck_assert_int_eq(cse_host_list_parse_file("host1:2\r\nhost2:4 # more\r\n", "h", false, &list),
                     CSE_OK);
    ck_assert_str_eq(shown(), "host1*2 host2*4");
    ck_assert_int_eq(cse_host_list_parse_file("n1\nn1\nn2\nn1\nn2", "pbs", true, &list), CSE_OK);
    ck_assert_str_eq(shown(), "n1*3 n2*2");
    ck_assert_int_eq(cse_host_list_parse_file("fd00::1 slots=1", "h", false, &list), CSE_OK);
    ck_assert_str_eq(shown(), "fd00::1*1");
}
END_TEST

static const struct {
    const char *text, *message;
} bad_files[] = {
    { "", "names no host" },
    { "# a\n\n", "names no host" },
    { "a\nb\na\n", "twice" },
    { "a slots=0\n", "number of slots" },
    { "a slots=-3\n", "number of slots" },
    { "a slots=99999999999\n", "number of slots" },
    { "a user=x\n", "slots=N" },
    { "a b\n", "slots=N" },
    { "a:b\n", "number of slots" },
    { "-x\n", "does not begin with" },
    { "n[1-2]\n", "no name of a host" },
};

START_TEST(a_wrong_host_file_is_refused)
{
    ck_assert_int_eq(cse_host_list_parse_file(bad_files[_i].text, "my_hosts", false, &list),
                     CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), bad_files[_i].message) != NULL, "%s: %s",
                  bad_files[_i].text, cse_error_message());
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "my_hosts"));
}
END_TEST

START_TEST(a_host_file_is_read_from_disk)
{
    char path[] = "/tmp/cse_hosts_XXXXXX";
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, "n1 slots=2\nn2\n", 14), 14);
    ck_assert_int_eq(cse_host_list_read(path, false, &list), CSE_OK);
    ck_assert_str_eq(shown(), "n1*2 n2");
    ck_assert_int_eq(pwrite(file, "\0", 1, 2), 1);
    ck_assert_int_eq(cse_host_list_read(path, false, &list), CSE_DATA);
    close(file);
    unlink(path);
    ck_assert_int_eq(cse_host_list_read(path, false, &list), CSE_NO_INPUT);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), path));
}
END_TEST

START_TEST(pairs_are_read)
{
    /* LSB_MCPU_HOSTS, from "IBM Spectrum LSF: Environment variables". */
    ck_assert_int_eq(cse_host_list_parse_pairs("hostA 5 hostB 3", "LSB_MCPU_HOSTS", &list), CSE_OK);
    ck_assert_str_eq(shown(), "hostA*5 hostB*3");
    ck_assert_int_eq(cse_host_list_parse_pairs("hostA", "LSB_MCPU_HOSTS", &list), CSE_CONFIG);
    ck_assert_int_eq(cse_host_list_parse_pairs("hostA hostB 3", "LSB_MCPU_HOSTS", &list),
                     CSE_CONFIG);
    ck_assert_int_eq(cse_host_list_parse_pairs("a 1 a 1", "LSB_MCPU_HOSTS", &list), CSE_CONFIG);
}
END_TEST

static const char *variable, *value;

static char *get(const char *name)
{
    static char copy[256];
    if (variable == NULL || strcmp(name, variable) != 0)
        return NULL;
    snprintf(copy, sizeof copy, "%s", value);
    return copy;
}

START_TEST(the_environment_names_the_hosts)
{
    const char *source;
    variable = NULL;
    ck_assert_int_eq(cse_host_list_environment(get, &list, &source), CSE_OK);
    ck_assert_ptr_null(source);
    ck_assert_int_eq(list.count, 0);
    variable = "SLURM_JOB_NODELIST";
    value = "n[1-2]";
    ck_assert_int_eq(cse_host_list_environment(get, &list, &source), CSE_OK);
    ck_assert_str_eq(source, "SLURM_JOB_NODELIST");
    ck_assert_str_eq(shown(), "n1 n2");
    value = "n[1-";
    ck_assert_int_eq(cse_host_list_environment(get, &list, &source), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "SLURM_JOB_NODELIST"));
    variable = "LSB_MCPU_HOSTS";
    value = "a 2 b 2";
    ck_assert_int_eq(cse_host_list_environment(get, &list, &source), CSE_OK);
    ck_assert_str_eq(shown(), "a*2 b*2");
    variable = "PBS_NODEFILE";
    value = "/nowhere/nodes";
    ck_assert_int_eq(cse_host_list_environment(get, &list, &source), CSE_NO_INPUT);
}
END_TEST

static const char *const addresses[] = { "127.0.0.1", "10.0.0.7", "fd00::7", NULL };

static const struct {
    const char *hosts, *own;
    int host; /* -1: refused */
} owners[] = {
    { "n1,n2,n3", "n2", 1 },
    { "n1,N2", "n2", 1 },
    { "n1,n2", "n2.cluster.example", 1 },
    { "n1.cluster.example,n2.cluster.example", "n2", 1 },
    { "n2.a,n2.b", "n2.b", 1 },
    { "n2.a,n2.b", "n2", -1 }, /* which of them? */
    { "n2.a,n1", "n2.b", -1 },
    { "n1,n3", "n2", -1 },
    { "n1,10.0.0.7", "n2", 1 },
    { "n1,fd00:0::0007", "n2", 1 },
    { "10.0.0.7,n2", "n2", 1 },         /* a name decides before an address */
    { "10.0.0.7,fd00::7", "n2", -1 },   /* one host twice */
    { "10.0.0.8,10.0.0.70", "10", -1 }, /* an address is no name with a domain */
};

START_TEST(the_own_host_is_found)
{
    ck_assert_int_eq(cse_host_list_parse(owners[_i].hosts, NULL, &list), CSE_OK);
    int host = -1;
    const cse_own_names own = { .name = owners[_i].own, .addresses = addresses };
    const cse_status status = cse_host_list_match(&list, &own, &host);
    ck_assert_int_eq(status, owners[_i].host >= 0 ? CSE_OK : CSE_CONFIG);
    if (status == CSE_OK)
        ck_assert_int_eq(host, owners[_i].host);
}
END_TEST

START_TEST(this_host_is_found)
{
    char name[256] = "", text[600];
    ck_assert_int_eq(gethostname(name, sizeof name - 1), 0);
    snprintf(text, sizeof text, "other.invalid,%s", name);
    int host = -1;
    ck_assert_int_eq(cse_host_list_parse(text, NULL, &list), CSE_OK);
    ck_assert_int_eq(cse_host_list_own(&list, &host), CSE_OK);
    ck_assert_int_eq(host, 1);
    ck_assert_int_eq(cse_host_list_parse("198.51.100.1,127.0.0.1", NULL, &list), CSE_OK);
    ck_assert_int_eq(cse_host_list_own(&list, &host), CSE_OK);
    ck_assert_int_eq(host, 1);
    ck_assert_int_eq(cse_host_list_parse("198.51.100.1,203.0.113.1", NULL, &list), CSE_OK);
    ck_assert_int_eq(cse_host_list_own(&list, &host), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "198.51.100.1, 203.0.113.1"));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("host_list");
    TCase *c = tcase_create("host_list");
    tcase_add_test(c, lists_of_nodes_are_those_of_slurm);
    tcase_add_loop_test(c, a_list_of_a_command_line_is_read, 0, COUNT(good));
    tcase_add_loop_test(c, a_wrong_list_is_refused, 0, COUNT(bad));
    tcase_add_test(c, long_texts_are_refused);
    tcase_add_test(c, host_files_are_read);
    tcase_add_loop_test(c, a_wrong_host_file_is_refused, 0, COUNT(bad_files));
    tcase_add_test(c, a_host_file_is_read_from_disk);
    tcase_add_test(c, pairs_are_read);
    tcase_add_test(c, the_environment_names_the_hosts);
    tcase_add_loop_test(c, the_own_host_is_found, 0, COUNT(owners));
    tcase_add_test(c, this_host_is_found);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
