/* The checkpoint that a leading host sends with its job: it is there also where the job arrives
 * before it is waited for, and a host that cannot write it says so and waits no longer. */
#include "workers/group/host_group.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "workers/group/host_identity.h"

enum { HOSTS = 2, LEADER = 0, FOLLOWER = 1, FILE_BYTES = 300000, LIMIT_MS = 20000 };

typedef struct pair {
    cse_arena *arena;
    char folder[64], file[96];
    cse_host_group *groups[HOSTS];
} pair;

static void find_address(char address[32])
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(bind(descriptor, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(getsockname(descriptor, (struct sockaddr *)&at, &size), 0);
    close(descriptor);
    snprintf(address, 32, "127.0.0.1:%d", ntohs(at.sin_port));
}

static unsigned char byte_at(int i)
{
    return (unsigned char)(i * 7 + i / 251);
}

/* `directory`: of the follower. */
static pair pair_of(const char *directory)
{
    static char addresses[HOSTS][32];
    static const char *const names[] = { "a", "b" }, *const movers[] = { "", "" };
    const char *const at[] = { addresses[0], addresses[1] };
    pair p = { .arena = cse_arena_new(), .folder = "/tmp/csengine-job-file-XXXXXX" };
    ck_assert_ptr_nonnull(mkdtemp(p.folder));
    snprintf(p.file, sizeof p.file, "%s/sent.mdl", p.folder);
    FILE *file = fopen(p.file, "wb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < FILE_BYTES; i++)
        fputc(byte_at(i), file);
    ck_assert_int_eq(fclose(file), 0);
    for (int h = 0; h < HOSTS; h++)
        find_address(addresses[h]);
    for (int h = 0; h < HOSTS; h++) {
        cse_host_group_options options = { .host = h,
                                           .host_count = HOSTS,
                                           .leader = LEADER,
                                           .epoch = 1,
                                           .lease_ns = 10000000000,
                                           .names = names,
                                           .addresses = at,
                                           .movers = movers,
                                           .min_hosts = 1,
                                           .replicas = 1,
                                           .directory = h == LEADER         ? NULL
                                                        : directory != NULL ? directory
                                                                            : p.folder };
        cse_host_identity_new(p.arena, false, &options.identity);
        ck_assert_msg(cse_host_group_open(&options, &p.groups[h]) == CSE_OK, "%s",
                      cse_error_message());
    }
    return p;
}

static void end_pair(pair *p)
{
    for (int h = HOSTS - 1; h >= 0; h--)
        cse_host_group_close(&p->groups[h]);
    cse_remove_tree(p->folder);
    cse_arena_destroy(&p->arena);
}

static void give(pair *p)
{
    const cse_host_message job = { .kind = CSE_HOST_JOB,
                                   .job = { .configuration = "trainer: {}",
                                            .directory = "/",
                                            .model_dir = "/run",
                                            .hosts = "",
                                            .movers = "",
                                            .validations = "" } };
    ck_assert_int_eq(cse_host_group_give_job(p->groups[LEADER], &job, p->file), CSE_OK);
}

static int is_late(void *self)
{
    return cse_clock_ns() > *(int64_t *)self;
}

static cse_status wait_for_job(pair *p, cse_host_job *job)
{
    int64_t limit_ns = cse_clock_ns() + LIMIT_MS * INT64_C(1000000);
    return cse_host_group_wait_job(p->groups[FOLLOWER], is_late, &limit_ns, job);
}

START_TEST(a_job_may_come_before_it_is_waited_for)
{
    pair p = pair_of(NULL);
    cse_host_job job = { .file = NULL };
    const int64_t limit_ns = cse_clock_ns() + LIMIT_MS * INT64_C(1000000);
    give(&p);
    while (_i == 1 && !cse_host_group_has_other_job(p.groups[FOLLOWER], &job)) {
        ck_assert_int_lt(cse_clock_ns(), limit_ns);
        cse_sleep_ns(1000000);
    }
    ck_assert_msg(wait_for_job(&p, &job) == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(job.message.job.configuration, "trainer: {}");
    ck_assert_ptr_nonnull(job.file);
    FILE *file = fopen(job.file, "rb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < FILE_BYTES; i++)
        ck_assert_int_eq(fgetc(file), byte_at(i));
    ck_assert_int_eq(fgetc(file), EOF);
    fclose(file);
    end_pair(&p);
}
END_TEST

START_TEST(a_checkpoint_that_cannot_be_written_is_told)
{
    pair p = pair_of("/dev/null/nowhere");
    cse_host_job job;
    give(&p);
    ck_assert_int_eq(wait_for_job(&p, &job), CSE_IO);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/dev/null/nowhere/received.mdl"));
    end_pair(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job file");
    TCase *tcase = tcase_create("job file");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_job_may_come_before_it_is_waited_for, 0, 2);
    tcase_add_test(tcase, a_checkpoint_that_cannot_be_written_is_told);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
