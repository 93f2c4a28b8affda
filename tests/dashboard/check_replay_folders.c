/* What stays in the folders for what replays leave: what has the form of artefacts or checkpoints,
 * the newest of a job, the last used of all jobs, and nothing of jobs that are gone. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/replays/replay_folders.h"
#include "tests/support/temporary_folder.h"

enum { FILE_BYTES = 64 << 10 };

static char root[64];

static const char *in_root(const char *path)
{
    static char paths[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", root, path);
    return paths[next];
}

static bool is_there(const char *path)
{
    struct stat about;
    return lstat(in_root(path), &about) == 0;
}

static void make_folder(const char *path)
{
    ck_assert_int_eq(mkdir(in_root(path), 0700), 0);
}

static void make_file(const char *path)
{
    static const char content[FILE_BYTES] = "step";
    const int file = open(in_root(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert(file >= 0 && write(file, content, sizeof content) == FILE_BYTES);
    close(file);
}

static void set_age(const char *path, int seconds)
{
    const struct timespec times[] = { { .tv_sec = 1000000000 - seconds },
                                      { .tv_sec = 1000000000 - seconds } };
    ck_assert_int_eq(utimensat(AT_FDCWD, in_root(path), times, 0), 0);
}

/* An artefact of one file, which was made so long ago. */
static void make_artefact(const char *job, int number, int age)
{
    char path[128], file[160];
    snprintf(path, sizeof path, ".replay_code/%s/%032x", job, (unsigned)number);
    snprintf(file, sizeof file, "%s/step.so", path);
    make_folder(path);
    make_file(file);
    set_age(path, age);
}

static bool has_artefact(const char *job, int number)
{
    char path[128];
    snprintf(path, sizeof path, ".replay_code/%s/%032x/step.so", job, (unsigned)number);
    return is_there(path);
}

static const cse_replay_kind wide = { .name = ".replay_code",
                                      .artefacts = true,
                                      .most = 3,
                                      .job_bytes = 100 * FILE_BYTES,
                                      .all_bytes = 100 * FILE_BYTES };

/* The folder of a job that is there. */
static void make_job(const char *job, int64_t created_ms)
{
    char folder[PATH_MAX];
    if (!is_there(job))
        make_folder(job);
    ck_assert_int_eq(cse_replay_folder_make(&wide, root, job, created_ms, folder), CSE_OK);
}

static void setup(void)
{
    snprintf(root, sizeof root, "/tmp/cse_replays_XXXXXX");
    ck_assert(mkdtemp(root) != NULL);
}

static void teardown(void)
{
    ck_assert(temporary_folder_remove(root));
}

START_TEST(the_newest_of_a_job_stay)
{
    make_job("a.b", 5);
    for (int i = 0; i < 5; i++)
        make_artefact("a.b.5", i, i == 1 ? 0 : 10 + i); /* 1, 0, 2, 3, 4: from the newest on */
    cse_replay_folders_bound(&wide, root);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(has_artefact("a.b.5", i), i < 3);
    cse_replay_kind narrow = wide;
    narrow.job_bytes = 2 * FILE_BYTES + FILE_BYTES / 2;
    cse_replay_folders_bound(&narrow, root);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(has_artefact("a.b.5", i), i < 2);
}
END_TEST

START_TEST(what_is_no_artefact_goes)
{
    make_job("a", 1);
    make_artefact("a.1", 1, 5);
    make_folder("elsewhere");
    make_file("elsewhere/kept");
    make_folder(".replay_code/a.1/.new-AbCdEf");
    make_file(".replay_code/a.1/.new-AbCdEf/step.c");
    make_file(".replay_code/a.1/0000000000000000000000000000000f");
    make_folder(".replay_code/a.1/0000000000000000000000000000000A");
    make_folder(".replay_code/a.1/00000000000000000000000000000002");
    make_folder(".replay_code/a.1/00000000000000000000000000000002/deep");
    make_folder(".replay_code/a.1/00000000000000000000000000000003");
    ck_assert_int_eq(symlink(in_root("elsewhere/kept"),
                             in_root(".replay_code/a.1/00000000000000000000000000000003/step.so")),
                     0);
    ck_assert_int_eq(
        symlink(in_root("elsewhere"), in_root(".replay_code/a.1/00000000000000000000000000000004")),
        0);
    ck_assert_int_eq(symlink(in_root("elsewhere"), in_root(".replay_code/b.1")), 0);
    cse_replay_folders_bound(&wide, root);
    ck_assert(has_artefact("a.1", 1));
    ck_assert(is_there("elsewhere/kept"));
    ck_assert(!is_there(".replay_code/b.1"));
    ck_assert_int_eq(rmdir(in_root(".replay_code/a.1")), -1);
    cse_replay_kind none = wide;
    none.most = 0;
    cse_replay_folders_bound(&none, root);
    ck_assert_int_eq(rmdir(in_root(".replay_code/a.1")), 0); /* there was nothing else in it */
}
END_TEST

START_TEST(checkpoints_stay_by_use)
{
    cse_replay_kind states = wide;
    char folder[PATH_MAX];
    states.name = ".replay_states";
    states.artefacts = false;
    states.most = 2;
    make_folder("a");
    ck_assert_int_eq(cse_replay_folder_make(&states, root, "a", 1, folder), CSE_OK);
    static const char *const names[] = { "checkpoint_10.mdl", "checkpoint_30.mdl",
                                         "checkpoint_20.mdl" };
    for (int i = 0; i < 3; i++) {
        char path[96];
        snprintf(path, sizeof path, ".replay_states/a.1/%s", names[i]);
        make_file(path);
        set_age(path, i);
    }
    make_file(".replay_states/a.1/checkpoint_.mdl");
    make_file(".replay_states/a.1/checkpoint_1.mdl.x");
    make_file(".replay_states/a.1/.part-7");
    make_folder(".replay_states/a.1/checkpoint_5.mdl");
    cse_replay_folders_bound(&states, root);
    ck_assert(is_there(".replay_states/a.1/checkpoint_10.mdl"));
    ck_assert(is_there(".replay_states/a.1/checkpoint_30.mdl"));
    ck_assert_int_eq(unlink(in_root(".replay_states/a.1/checkpoint_10.mdl")), 0);
    ck_assert_int_eq(unlink(in_root(".replay_states/a.1/checkpoint_30.mdl")), 0);
    ck_assert_int_eq(rmdir(in_root(".replay_states/a.1")), 0);
}
END_TEST

START_TEST(the_last_used_jobs_stay)
{
    cse_replay_kind limits = wide;
    limits.all_bytes = 3 * FILE_BYTES + FILE_BYTES / 2;
    static const char *const jobs[] = { "old", "used", "new" };
    for (int i = 0; i < 3; i++) {
        char folder[64], path[96];
        snprintf(folder, sizeof folder, "%s.7", jobs[i]);
        snprintf(path, sizeof path, ".replay_code/%s", folder);
        make_job(jobs[i], 7);
        make_artefact(folder, 1, 1);
        make_artefact(folder, 2, 2);
        set_age(path, 100 - i);
    }
    cse_replay_folders_bound(&wide, root);
    make_job("used", 7); /* a question now, when only one job's fit */
    cse_replay_folders_bound(&limits, root);
    ck_assert(has_artefact("used.7", 1) && has_artefact("used.7", 2));
    ck_assert(!is_there(".replay_code/old.7") && !is_there(".replay_code/new.7"));
}
END_TEST

START_TEST(nothing_of_a_job_that_is_gone_stays)
{
    make_job("a", 1);
    make_job("a", 2); /* another one that has its id */
    make_job("a.1", 1);
    make_artefact("a.1", 1, 1);
    make_artefact("a.2", 2, 1);
    make_artefact("a.1.1", 3, 1);
    cse_replay_folders_remove(&wide, root, "a");
    ck_assert(!is_there(".replay_code/a.1") && !is_there(".replay_code/a.2"));
    ck_assert(has_artefact("a.1.1", 3));
    cse_replay_folders_bound(&wide, root);
    ck_assert(has_artefact("a.1.1", 3));
    ck_assert_int_eq(rmdir(in_root("a.1")), 0);
    cse_replay_folders_bound(&wide, root);
    ck_assert(!is_there(".replay_code/a.1.1"));
}
END_TEST

START_TEST(a_link_is_no_folder)
{
    char folder[PATH_MAX];
    make_folder("elsewhere");
    make_folder(".replay_code");
    ck_assert_int_eq(symlink(in_root("elsewhere"), in_root(".replay_code/a.1")), 0);
    ck_assert_int_ne(cse_replay_folder_make(&wide, root, "a", 1, folder), CSE_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay_folders");
    TCase *cases = tcase_create("replay_folders");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, the_newest_of_a_job_stay);
    tcase_add_test(cases, what_is_no_artefact_goes);
    tcase_add_test(cases, checkpoints_stay_by_use);
    tcase_add_test(cases, the_last_used_jobs_stay);
    tcase_add_test(cases, nothing_of_a_job_that_is_gone_stays);
    tcase_add_test(cases, a_link_is_no_folder);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
