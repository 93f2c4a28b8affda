/* beneath, confinement: no path leads out of its folder, whatever lies on it and whatever is
 * exchanged meanwhile. Both ways of opening (the system call and the walk) are held to the same. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/beneath.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"

typedef int opener(int folder, const char *path, int flags, mode_t mode);
static opener *const openers[] = { cse_open_beneath, cse_open_beneath_stepwise };
enum { OPENERS = 2 };

static char top[PATH_MAX], inside[PATH_MAX + 8];

static void put(const char *name, const char *text)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", top, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void link_to(const char *target, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", top, name);
    ck_assert_int_eq(symlink(target, path), 0);
}

static void make(const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", top, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* in/a/file, and a secret beside `in`. */
/* To the root folder; it is not resolved by its text. */
#define KERNEL_LINK "/proc/self/root"

static int set_up(void)
{
    snprintf(top, sizeof top, "/tmp/cse-beneath-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    make("in");
    make("in/a");
    make("out");
    put("in/a/file", "data");
    put("out/secret", "secret");
    link_to("../out/secret", "in/up");
    link_to("a/file", "in/along");
    link_to("../out", "in/sideways");
    link_to("/etc/passwd", "in/absolute");
    link_to(KERNEL_LINK "/etc/passwd", "in/magic");
    snprintf(inside, sizeof inside, "%s/in", top);
    int folder = open(inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(folder, 0);
    return folder;
}

static void tear_down(int folder)
{
    close(folder);
    cse_remove_tree(top);
}

START_TEST(nothing_leads_out)
{
    static const char *const refused[] = {
        "..",       "../out/secret", "a/../../out/secret", "/etc/passwd", "up", "sideways/secret",
        "absolute", "magic",         "a/../../in/a/file"
    };
    int folder = set_up();
    opener *tried = openers[_i];
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_msg(tried(folder, refused[i], O_RDONLY, 0) < 0, "%s is opened", refused[i]);
        ck_assert_msg(errno == EXDEV, "%s: %s", refused[i], strerror(errno));
        ck_assert_int_lt(tried(folder, refused[i], O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    }
    ck_assert_int_lt(tried(folder, "none/file", O_RDONLY, 0), 0);
    ck_assert_int_eq(errno, ENOENT);
    struct stat facts;
    ck_assert_int_eq(fstatat(folder, "../out/secret", &facts, 0), 0);
    ck_assert_int_eq(facts.st_size, 6);
    tear_down(folder);
}
END_TEST

START_TEST(what_is_inside_is_opened)
{
    static const char *const paths[] = { "a/file", "a//file", "./a/file", "a/./file" };
    char text[8] = "";
    int folder = set_up();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int opened = openers[_i](folder, paths[i], O_RDONLY, 0);
        ck_assert_msg(opened >= 0, "%s: %s", paths[i], strerror(errno));
        ck_assert_int_eq(read(opened, text, 4), 4);
        ck_assert_str_eq(text, "data");
        ck_assert_int_eq(fcntl(opened, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        close(opened);
    }
    int made = openers[_i](folder, "a/new", O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(made, 0);
    close(made);
    ck_assert_int_eq(cse_make_beneath(folder, "x/y/z", 0700), 0);
    ck_assert_int_eq(cse_make_beneath(folder, "x//y/./z/", 0700), 0);
    ck_assert_int_lt(cse_make_beneath(folder, "x/../../out/d", 0700), 0);
    ck_assert_int_eq(errno, EXDEV);
    ck_assert_int_lt(cse_make_beneath(folder, "sideways/d", 0700), 0);
    ck_assert_int_eq(errno, EXDEV);
    ck_assert_int_ne(faccessat(folder, "../out/d", F_OK, 0), 0);
    tear_down(folder);
}
END_TEST

static atomic_bool racing;

/* Exchanges in/a and a link to `out` as fast as it can. */
static void *exchange(void *unused)
{
    char directory[2 * PATH_MAX], link[2 * PATH_MAX], other[2 * PATH_MAX];
    (void)unused;
    snprintf(directory, sizeof directory, "%s/in/r", top);
    snprintf(link, sizeof link, "%s/in/l", top);
    snprintf(other, sizeof other, "%s/in/o", top);
    while (racing) {
        rename(directory, other);
        rename(link, directory);
        rename(directory, link);
        rename(other, directory);
    }
    return NULL;
}

START_TEST(an_exchange_meanwhile_leads_nowhere)
{
    enum { ROUNDS = 5000 };
    int folder = set_up();
    make("in/r");
    put("in/r/secret", "data");
    link_to("../out", "in/l");
    racing = true;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, exchange, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char text[8] = "";
        int opened = openers[_i](folder, "r/secret", O_RDONLY, 0);
        if (opened < 0)
            continue;
        ck_assert_int_eq(read(opened, text, 7), 4);
        ck_assert_str_eq(text, "data");
        close(opened);
    }
    racing = false;
    pthread_join(thread, NULL);
    tear_down(folder);
}
END_TEST

START_TEST(a_file_of_a_job_is_no_link)
{
    char path[2 * PATH_MAX];
    int folder = set_up();
    snprintf(path, sizeof path, "%s/in/a/file", top);
    FILE *file = cse_open_plain_stream(path);
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(mkfifoat(folder, "pipe", 0600), 0);
    static const char *const others[] = { "along", "up", "absolute", "pipe", "a" };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(path, sizeof path, "%s/in/%s", top, others[i]);
        ck_assert_msg(cse_open_plain_stream(path) == NULL && errno == ELOOP, "%s", others[i]);
    }
    tear_down(folder);
}
END_TEST

static cse_confinement *confinement_of(void)
{
    char queue[2 * PATH_MAX], job[2 * PATH_MAX], data[2 * PATH_MAX];
    cse_confinement *made = cse_confinement_new(), *copy = NULL;
    snprintf(queue, sizeof queue, "%s/queue", top);
    snprintf(job, sizeof job, "%s/queue/job", top);
    snprintf(data, sizeof data, "%s/in", top);
    ck_assert_int_eq(cse_confinement_allow(made, CSE_PATH_OUTPUT, job), CSE_OK);
    ck_assert_int_eq(cse_confinement_allow_queue(made, queue), CSE_OK);
    ck_assert_int_eq(cse_confinement_allow(made, CSE_PATH_INPUT, data), CSE_OK);
    cse_text text = { 0 };
    cse_confinement_encode(made, &text);
    ck_assert_int_eq(cse_confinement_decode(text.data, &copy), CSE_OK);
    ck_assert(!cse_confinement_allows_hosts(copy));
    cse_confinement_destroy(&copy);
    cse_text_clear(&text);
    cse_confinement_allow_hosts(made);
    cse_confinement_encode(made, &text);
    ck_assert_int_eq(cse_confinement_decode(text.data, &copy), CSE_OK);
    ck_assert(cse_confinement_allows_hosts(copy));
    ck_assert_str_eq(cse_confinement_name(copy, CSE_PATH_OUTPUT, 0), job);
    cse_text_clear(&text);
    cse_confinement_destroy(&made);
    return copy;
}

static int try(cse_path_use use, const char *format, int flags)
{
    char path[2 * PATH_MAX];
    int length = snprintf(path, sizeof path, "%s", format[0] == '$' ? top : "");
    snprintf(path + length, sizeof path - (size_t)length, "%s",
             format[0] == '$' ? format + 1 : format);
    int opened = cse_confined_open(use, path, flags, 0600);
    if (opened >= 0)
        close(opened);
    return opened >= 0 ? 0 : errno;
}

START_TEST(a_confined_process_opens_what_its_job_may)
{
    int folder = set_up();
    make("queue");
    make("queue/job");
    make("queue/other");
    put("queue/token", "token");
    put("queue/other/file", "data");
    link_to("../token", "queue/job/link");
    cse_confinement *confinement = confinement_of();
    cse_confine(confinement);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "$/in/a/file", O_RDONLY), 0);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "$/queue/other/file", O_RDONLY), 0);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "$/queue/token", O_RDONLY), EXDEV);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "$/queue/job/link", O_RDONLY), EXDEV);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "$/in/up", O_RDONLY), EXDEV);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "$/inn/file", O_RDONLY), EXDEV);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "/etc/passwd", O_RDONLY), EXDEV);
    const int writes = O_WRONLY | O_CREAT;
    ck_assert_int_eq(try(CSE_PATH_OUTPUT, "metrics.csv", writes), 0);
    ck_assert_int_eq(try(CSE_PATH_OUTPUT, "$/queue/job/metrics.csv", writes | O_EXCL), EEXIST);
    ck_assert_int_eq(try(CSE_PATH_OUTPUT, "$/queue/other/x", writes), EXDEV);
    ck_assert_int_eq(try(CSE_PATH_OUTPUT, "../other/x", writes), EXDEV);
    ck_assert_int_eq(try(CSE_PATH_OUTPUT, "$/in/x", writes), EXDEV);
    ck_assert_int_eq(try(CSE_PATH_LIBRARY, "$/in/a/file", O_RDONLY), EXDEV);
    ck_assert_int_eq(cse_make_directories("x", "deep/er"), CSE_OK);
    ck_assert_int_eq(cse_make_directories("x", top), CSE_PERMISSION);
    ck_assert_int_eq(cse_confinement_check(confinement, CSE_PATH_LIBRARY, "x.so"), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "--allow_library"));
    cse_confine(NULL);
    ck_assert_int_eq(try(CSE_PATH_INPUT, "$/queue/token", O_RDONLY), 0);
    cse_confinement_destroy(&confinement);
    ck_assert_int_ne(cse_confinement_decode("0-9 /etc", &confinement), CSE_OK);
    ck_assert_ptr_null(confinement);
    /* Another host need not have every folder. */
    ck_assert_int_eq(cse_confinement_decode("0-12 /no/such/one0-4 /etc", &confinement), CSE_OK);
    ck_assert_int_eq(cse_confinement_count(confinement, CSE_PATH_INPUT), 1);
    ck_assert_str_eq(cse_confinement_folder(confinement, CSE_PATH_INPUT, 0), "/etc");
    cse_confinement_destroy(&confinement);
    tear_down(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beneath");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, nothing_leads_out, 0, OPENERS);
    tcase_add_loop_test(tests, what_is_inside_is_opened, 0, OPENERS);
    tcase_add_loop_test(tests, an_exchange_meanwhile_leads_nowhere, 0, OPENERS);
    tcase_add_test(tests, a_file_of_a_job_is_no_link);
    tcase_add_test(tests, a_confined_process_opens_what_its_job_may);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
