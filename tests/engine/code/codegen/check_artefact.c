/* The manifest of a compiled step: no changed bit of any file is ever loaded, nor a file that
 * others could change; the step is compiled again, and the warning names the file. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/code/codegen/codegen.h"
#include "tests/support/random_graph.h"

enum { NODES = 40, PATH_BYTES = 5000, POSITIONS = 150, BUILDERS = 4, OTHER_USER = 65534 };

static const char *const names[] = { "manifest", "step.plan", "kernels.txt", "step.c", "step.so" };
enum { NAMES = sizeof names / sizeof names[0] };

static char directory[64], warning[4096];
static cse_graph *graph;
static cse_compile_result made;

static void keep_line(void *self, const cse_log_record *record)
{
    (void)self;
    if (record->level >= CSE_LOG_WARNING)
        snprintf(warning, sizeof warning, "%s", record->text);
}

static cse_compile_result compile(void)
{
    cse_compile_result result;
    ck_assert_msg(cse_codegen_compile(graph, directory, &result) == CSE_OK, "%s",
                  cse_error_message());
    return result;
}

static void set_up(void)
{
    snprintf(directory, sizeof directory, "/tmp/csengine-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    graph = random_graph_new(5, NODES);
    fixture_passes(graph, "");
    warning[0] = '\0';
    cse_log_set_sink(keep_line, NULL);
    made = compile();
}

static void tear_down(void)
{
    cse_log_set_sink(NULL, NULL);
    fixture_remove_tree(directory);
    cse_graph_destroy(&graph);
}

static const char *path_of(const char *name)
{
    static char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", made.directory, name);
    return path;
}

static cse_status read_status(void)
{
    cse_artefact artefact;
    cse_status status = cse_artefact_read(made.directory, NULL, &artefact);
    cse_artefact_clear(&artefact);
    return status;
}

static void flip(int file, off_t position, int bit)
{
    unsigned char byte;
    ck_assert_int_eq(pread(file, &byte, 1, position), 1);
    byte ^= (unsigned char)(1 << bit);
    ck_assert_int_eq(pwrite(file, &byte, 1, position), 1);
}

/* That the entry is refused with the file's name, and made again with a warning. */
static void expect_rebuilt(const char *name)
{
    ck_assert_int_eq(read_status(), CSE_DATA);
    ck_assert_msg(strstr(cse_error_message(), name) != NULL, "%s", cse_error_message());
    warning[0] = '\0';
    cse_compile_result again = compile();
    ck_assert(!again.cached);
    ck_assert_msg(strstr(warning, name) != NULL, "%s: %s", name, warning);
    ck_assert_str_eq(again.digest, made.digest);
    warning[0] = '\0';
    ck_assert(compile().cached);
    ck_assert_str_eq(warning, "");
}

static int entries(void)
{
    int count = 0;
    DIR *list = opendir(directory);
    ck_assert_ptr_nonnull(list);
    while (readdir(list) != NULL)
        count++;
    closedir(list);
    return count - 2; /* "." and ".." */
}

START_TEST(no_flipped_bit_is_accepted)
{
    struct stat facts;
    int file = open(path_of(names[_i]), O_RDWR);
    ck_assert(file >= 0 && fstat(file, &facts) == 0);
    for (int i = 0; i < POSITIONS; i++) {
        off_t position = facts.st_size * i / POSITIONS;
        flip(file, position, i % 8);
        ck_assert_msg(read_status() == CSE_DATA, "%s: byte %ld, bit %d was accepted", names[_i],
                      (long)position, i % 8);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), names[_i]));
        flip(file, position, i % 8);
    }
    ck_assert_int_eq(read_status(), CSE_OK);
    close(file);
}
END_TEST

START_TEST(a_flipped_bit_is_compiled_away)
{
    int file = open(path_of(names[_i]), O_RDWR);
    ck_assert_int_ge(file, 0);
    flip(file, lseek(file, 0, SEEK_END) / 2, 3);
    close(file);
    expect_rebuilt(names[_i]);
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(a_truncated_file_is_compiled_away)
{
    ck_assert_int_eq(truncate(path_of(names[_i]), 7), 0);
    expect_rebuilt(names[_i]);
    ck_assert_int_eq(unlink(path_of(names[_i])), 0);
    expect_rebuilt(names[_i]);
}
END_TEST

START_TEST(what_others_could_change_is_compiled_away)
{
    ck_assert_int_eq(chmod(path_of("step.so"), 0664), 0);
    expect_rebuilt("step.so");
    ck_assert_int_eq(chmod(path_of("manifest"), 0646), 0);
    expect_rebuilt("manifest");
    ck_assert_int_eq(chmod(made.directory, 0775), 0);
    expect_rebuilt("may be written by others");
}
END_TEST

START_TEST(a_symbolic_link_is_compiled_away)
{
    char moved[PATH_BYTES];
    snprintf(moved, sizeof moved, "%s/moved", directory);
    ck_assert_int_eq(rename(path_of("step.so"), moved), 0);
    ck_assert_int_eq(symlink(moved, path_of("step.so")), 0);
    expect_rebuilt("step.so");
    ck_assert_int_eq(unlink(moved), 0);
    ck_assert_int_eq(rename(made.directory, moved), 0);
    ck_assert_int_eq(symlink(moved, made.directory), 0);
    expect_rebuilt(strrchr(made.directory, '/'));
}
END_TEST

START_TEST(what_belongs_to_another_is_compiled_away)
{
    if (geteuid() != 0)
        return; /* only root can give a file away */
    ck_assert_int_eq(chown(path_of("step.so"), OTHER_USER, OTHER_USER), 0);
    expect_rebuilt("step.so");
    ck_assert_int_eq(chown(made.directory, OTHER_USER, OTHER_USER), 0);
    expect_rebuilt("belongs to another user");
}
END_TEST

START_TEST(an_artefact_is_of_its_key_and_its_run)
{
    cse_executable *executable;
    char moved[PATH_BYTES];
    ck_assert_int_eq(cse_executable_open_verified(made.directory, made.digest, &executable),
                     CSE_OK);
    cse_executable_destroy(&executable);
    char other[CSE_ARTEFACT_DIGITS + 1];
    memset(other, 'a', sizeof other - 1);
    other[sizeof other - 1] = '\0';
    ck_assert_int_eq(cse_executable_open_verified(made.directory, other, &executable), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "started with"));
    snprintf(moved, sizeof moved, "%s/0123456789abcdef", directory);
    ck_assert_int_eq(rename(made.directory, moved), 0);
    ck_assert_int_eq(cse_executable_open(moved, &executable), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "another step"));
}
END_TEST

/* What is loaded is a copy: damage and truncation afterwards change nothing and crash nothing. */
START_TEST(a_loaded_step_does_not_notice_what_happens_to_its_file)
{
    cse_executable *first, *second;
    fixture_memory a, b;
    ck_assert_int_eq(cse_executable_open(made.directory, &first), CSE_OK);
    ck_assert_int_eq(cse_executable_open(made.directory, &second), CSE_OK);
    int file = open(path_of("step.so"), O_RDWR);
    ck_assert_int_ge(file, 0);
    fixture_memory_init(&a, graph);
    random_graph_fill(graph, &a, 5);
    fixture_run(first, &a);
    for (off_t at = lseek(file, 0, SEEK_END) - 1; at >= 0; at -= 37)
        flip(file, at, 1);
    ck_assert_int_eq(ftruncate(file, 0), 0);
    close(file);
    cse_executable_destroy(&first);
    fixture_memory_init(&b, graph);
    random_graph_fill(graph, &b, 5);
    fixture_run(second, &b);
    ck_assert_mem_eq(a.base[CSE_SPACE_FETCH], b.base[CSE_SPACE_FETCH],
                     (size_t)graph->space_bytes[CSE_SPACE_FETCH]);
    fixture_memory_clear(&a);
    fixture_memory_clear(&b);
    cse_executable_destroy(&second);
}
END_TEST

/* All begin at once: where nothing is, and where what is there is damaged. */
START_TEST(several_processes_may_build_the_same)
{
    if (_i == 0)
        fixture_remove_tree(made.directory);
    else
        ck_assert_int_eq(truncate(path_of("step.plan"), 9), 0);
    pid_t builders[BUILDERS];
    for (int i = 0; i < BUILDERS; i++) {
        builders[i] = fork();
        ck_assert_int_ge(builders[i], 0);
        if (builders[i] != 0)
            continue;
        cse_compile_result result;
        cse_executable *executable;
        bool good =
            cse_codegen_compile(graph, directory, &result) == CSE_OK &&
            strcmp(result.digest, made.digest) == 0 &&
            cse_executable_open_verified(result.directory, made.digest, &executable) == CSE_OK;
        _exit(good ? 0 : 1);
    }
    for (int i = 0; i < BUILDERS; i++) {
        int state;
        ck_assert_int_eq(waitpid(builders[i], &state, 0), builders[i]);
        ck_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
    ck_assert_int_eq(entries(), 1);
    ck_assert(compile().cached);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("artefact");
    TCase *cases = tcase_create("artefact");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, no_flipped_bit_is_accepted, 0, NAMES);
    tcase_add_loop_test(cases, a_flipped_bit_is_compiled_away, 0, NAMES);
    tcase_add_loop_test(cases, a_truncated_file_is_compiled_away, 0, NAMES);
    tcase_add_test(cases, what_others_could_change_is_compiled_away);
    tcase_add_test(cases, a_symbolic_link_is_compiled_away);
    tcase_add_test(cases, what_belongs_to_another_is_compiled_away);
    tcase_add_test(cases, an_artefact_is_of_its_key_and_its_run);
    tcase_add_test(cases, a_loaded_step_does_not_notice_what_happens_to_its_file);
    tcase_add_loop_test(cases, several_processes_may_build_the_same, 0, 2);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
