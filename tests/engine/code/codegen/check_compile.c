/* The compile cache and its failures: no compiler, a broken one, an unwritable directory, damaged
 * entries and those of other programs; and that a step allocates nothing. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/code/codegen/codegen.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/random_graph.h"

enum { NODES = 60, PATH_BYTES = 5000 };

/* ---- a counting allocator: the process's own, unless a sanitizer has that place ---- */

static atomic_long allocations;
static bool counts = false;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTING_ALLOCATOR 1
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, counts);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, counts);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, counts);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, counts);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, counts);
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? 12 : 0;
}
#endif

/* ---- a temporary directory and a graph for each test ---- */

static char directory[64];
static cse_graph *graph;
static char kept_path[PATH_BYTES];

static void set_up(void)
{
    snprintf(directory, sizeof directory, "/tmp/csengine-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(kept_path, sizeof kept_path, "%s", getenv("PATH"));
    unsetenv("CSE_CC");
    graph = random_graph_new(5, NODES);
    fixture_passes(graph, "");
}

static void tear_down(void)
{
    setenv("PATH", kept_path, 1);
    unsetenv("CSE_CC");
    fixture_remove_tree(directory);
    cse_graph_destroy(&graph);
}

static cse_compile_result compile(void)
{
    cse_compile_result result;
    ck_assert_msg(cse_codegen_compile(graph, directory, &result) == CSE_OK, "%s",
                  cse_error_message());
    return result;
}

static bool has_file(const cse_compile_result *result, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", result->directory, name);
    return access(path, R_OK) == 0;
}

static int entries_of_directory(void)
{
    int count = 0;
    DIR *list = opendir(directory);
    ck_assert_ptr_nonnull(list);
    while (readdir(list) != NULL)
        count++;
    closedir(list);
    return count - 2; /* "." and ".." */
}

static void run_once(cse_executable *executable, fixture_memory *memory)
{
    fixture_memory_init(memory, executable->graph);
    random_graph_fill(executable->graph, memory, 5);
    fixture_run(executable, memory);
}

START_TEST(the_second_compilation_is_found)
{
    cse_compile_result first = compile(), second = compile();
    ck_assert(!first.cached && second.cached && first.compiler_present);
    ck_assert_str_eq(first.directory, second.directory);
    ck_assert(has_file(&first, "step.c") && has_file(&first, "step.so") &&
              has_file(&first, "step.plan"));
    ck_assert_int_eq(entries_of_directory(), 1);
}
END_TEST

START_TEST(another_graph_has_another_key)
{
    cse_compile_result first = compile();
    cse_graph_destroy(&graph);
    graph = random_graph_new(6, NODES);
    fixture_passes(graph, "");
    cse_compile_result second = compile();
    ck_assert(!second.cached);
    ck_assert_str_ne(first.directory, second.directory);
}
END_TEST

static char logged[4096];

static void keep_line(void *self, const cse_log_record *record)
{
    (void)self;
    if (record->level >= CSE_LOG_WARNING)
        snprintf(logged, sizeof logged, "%s", record->text);
}

START_TEST(without_a_compiler_the_interpreter_runs_and_says_so)
{
    cse_executable *with, *without;
    fixture_memory ours, theirs;
    cse_compile_result compiled = compile();
    ck_assert_int_eq(cse_executable_open(compiled.directory, &with), CSE_OK);
    setenv("PATH", directory, 1);
    cse_log_set_sink(keep_line, NULL);
    cse_compile_result result = compile();
    ck_assert(!result.compiler_present && !has_file(&result, "step.so"));
    ck_assert_ptr_nonnull(strstr(logged, "no C compiler"));
    ck_assert_int_eq(cse_executable_open(result.directory, &without), CSE_OK);
    ck_assert_str_eq(without->kind, "interpreted");
    ck_assert_ptr_nonnull(strstr(logged, "interpreted"));
    ck_assert(compile().cached);
    cse_log_set_sink(NULL, NULL);
    run_once(with, &ours);
    run_once(without, &theirs);
    const float *a = (const float *)(const void *)ours.base[CSE_SPACE_FETCH];
    const float *b = (const float *)(const void *)theirs.base[CSE_SPACE_FETCH];
    for (int64_t i = 0; i < graph->space_bytes[CSE_SPACE_FETCH] / 4; i++)
        ck_assert_double_eq_tol((double)a[i], (double)b[i], 5e-5);
    fixture_memory_clear(&ours);
    fixture_memory_clear(&theirs);
    cse_executable_destroy(&with);
    cse_executable_destroy(&without);
}
END_TEST

/* A compiler that answers to --version, and otherwise fails with words of its own. */
static void write_compiler(const char *body)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/compiler", directory);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\n[ \"$1\" = --version ] && { echo broken 1.0; exit 0; }\n%s\n", body);
    fclose(file);
    ck_assert_int_eq(chmod(path, 0755), 0);
    setenv("CSE_CC", path, 1);
}

START_TEST(a_broken_compiler_is_quoted)
{
    cse_compile_result result;
    write_compiler("echo 'the moon is full' >&2; exit 3");
    ck_assert_int_eq(cse_codegen_compile(graph, directory, &result), CSE_FAILED);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "the moon is full"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "exit code 3"));
    /* Nothing is left behind but the compiler itself. */
    ck_assert_int_eq(entries_of_directory(), 1);
}
END_TEST

START_TEST(a_compiler_that_is_not_there_is_named)
{
    cse_compile_result result;
    setenv("CSE_CC", "/nonexistent/compiler", 1);
    ck_assert_int_eq(cse_codegen_compile(graph, directory, &result), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/nonexistent/compiler"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "CSE_CC"));
}
END_TEST

START_TEST(a_directory_that_cannot_be_written_is_named)
{
    cse_compile_result result;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/file", directory);
    close(open(path, O_CREAT | O_WRONLY, 0644));
    snprintf(path, sizeof path, "%s/file/below", directory);
    ck_assert_int_eq(cse_codegen_compile(graph, path, &result), CSE_CANNOT_CREATE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), path));
}
END_TEST

START_TEST(a_damaged_entry_is_made_again)
{
    char path[PATH_BYTES];
    cse_compile_result first = compile();
    snprintf(path, sizeof path, "%s/step.so", first.directory);
    ck_assert_int_eq(unlink(path), 0);
    cse_compile_result second = compile();
    ck_assert(!second.cached && has_file(&second, "step.so"));
    ck_assert_str_eq(first.directory, second.directory);
    ck_assert_int_eq(entries_of_directory(), 1);
}
END_TEST

static cse_status open_status(const cse_compile_result *result)
{
    cse_executable *executable;
    cse_status status = cse_executable_open(result->directory, &executable);
    ck_assert_ptr_null(executable);
    return status;
}

START_TEST(damaged_files_are_named)
{
    char path[PATH_BYTES];
    cse_compile_result result = compile();
    snprintf(path, sizeof path, "%s/step.so", result.directory);
    ck_assert_int_eq(truncate(path, 100), 0);
    ck_assert_int_eq(open_status(&result), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "step.so"));
    snprintf(path, sizeof path, "%s/step.plan", result.directory);
    ck_assert_int_eq(truncate(path, 1000), 0);
    ck_assert_int_eq(open_status(&result), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "step.plan"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(open_status(&result), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "step.plan"));
}
END_TEST

/* Changes one byte in the middle of a file. */
static void damage(const cse_compile_result *result, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", result->directory, name);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    long middle = ftell(file) / 2;
    fseek(file, middle, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, middle, SEEK_SET);
    fputc(byte ^ 0x10, file);
    fclose(file);
}

START_TEST(a_changed_byte_is_refused_and_made_again)
{
    static const char *const names[] = { "step.plan", "step.so" };
    cse_compile_result first = compile();
    damage(&first, names[_i]);
    ck_assert_int_eq(open_status(&first), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), names[_i]));
    cse_compile_result second = compile(), third = compile();
    ck_assert(!second.cached && third.cached);
    ck_assert_str_eq(first.directory, second.directory);
    ck_assert_int_eq(entries_of_directory(), 1);
}
END_TEST

static void read_whole(const cse_compile_result *result, const char *name, cse_text *text)
{
    char path[PATH_BYTES], block[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", result->directory, name);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        cse_text_add_bytes(text, block, size);
    fclose(file);
}

START_TEST(compiling_twice_gives_the_same_bytes)
{
    static const char *const names[] = { "step.plan", "step.c", "step.so" };
    cse_compile_result first = compile();
    ck_assert_uint_eq(strlen(first.digest), CSE_ARTEFACT_DIGITS);
    snprintf(directory + strlen(directory), sizeof directory - strlen(directory), "/again");
    cse_compile_result second = compile();
    ck_assert(!second.cached);
    ck_assert_str_eq(first.digest, second.digest);
    for (int i = 0; i < 3; i++) {
        cse_text a = { 0 }, b = { 0 };
        read_whole(&first, names[i], &a);
        read_whole(&second, names[i], &b);
        ck_assert_msg(a.size == b.size && memcmp(a.data, b.data, a.size) == 0, "%s", names[i]);
        cse_text_clear(&a);
        cse_text_clear(&b);
    }
    *strrchr(directory, '/') = '\0';
}
END_TEST

START_TEST(a_step_of_another_graph_is_refused)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    cse_compile_result first = compile();
    cse_graph_destroy(&graph);
    graph = random_graph_new(6, NODES);
    fixture_passes(graph, "");
    cse_compile_result second = compile();
    snprintf(from, sizeof from, "%s/step.so", first.directory);
    snprintf(to, sizeof to, "%s/step.so", second.directory);
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert_int_eq(open_status(&second), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "step.so"));
    /* With a manifest that says so, the step itself tells. */
    ck_assert_int_eq(cse_artefact_seal(second.directory, strrchr(second.directory, '/') + 1),
                     CSE_OK);
    ck_assert_int_eq(open_status(&second), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "another graph"));
}
END_TEST

static void run_whole_step(cse_executable *executable, cse_frame *frame)
{
    executable->replica(executable, frame);
    executable->weights(executable, frame);
    for (int g = 0; g < executable->graph->group_count; g++) {
        const int64_t lines[2] = { 0, 1 };
        if (executable->graph->groups[g].part == CSE_PART_UPDATE)
            executable->update(executable, frame, g, lines, NULL);
    }
}

START_TEST(a_step_allocates_nothing)
{
    cse_executable *executable;
    fixture_memory memory;
    cse_compile_result result = compile();
    ck_assert_int_eq(cse_executable_open(result.directory, &executable), CSE_OK);
    int products = 0;
    for (int g = 0; g < graph->group_count; g++)
        products += graph->groups[g].kind == CSE_GROUP_LIBRARY;
    ck_assert_int_gt(products, 0);
    run_once(executable, &memory);
    cse_frame frame = fixture_frame(&memory);
    run_whole_step(executable, &frame);
    counts = true;
    for (int step = 0; step < 20; step++)
        run_whole_step(executable, &frame);
    counts = false;
    ck_assert_int_eq(atomic_load(&allocations), 0);
#ifdef COUNTING_ALLOCATOR
    /* The counter counts. */
    counts = true;
    free(cse_calloc(1, 100));
    counts = false;
    ck_assert_int_gt(atomic_load(&allocations), 0);
#endif
    fixture_memory_clear(&memory);
    cse_executable_destroy(&executable);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compile");
    TCase *cases = tcase_create("compile");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, the_second_compilation_is_found);
    tcase_add_test(cases, another_graph_has_another_key);
    tcase_add_test(cases, without_a_compiler_the_interpreter_runs_and_says_so);
    tcase_add_test(cases, a_broken_compiler_is_quoted);
    tcase_add_test(cases, a_compiler_that_is_not_there_is_named);
    tcase_add_test(cases, a_directory_that_cannot_be_written_is_named);
    tcase_add_test(cases, a_damaged_entry_is_made_again);
    tcase_add_test(cases, damaged_files_are_named);
    tcase_add_loop_test(cases, a_changed_byte_is_refused_and_made_again, 0, 2);
    tcase_add_test(cases, compiling_twice_gives_the_same_bytes);
    tcase_add_test(cases, a_step_of_another_graph_is_refused);
    tcase_add_test(cases, a_step_allocates_nothing);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
