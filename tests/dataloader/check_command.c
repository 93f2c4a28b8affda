/* Programs that answer: one that is killed is started again and the samples are the same; wrong
 * answers and silence are named; nothing runs on after the loader is closed. */
#include <signal.h>

#include "dataloader/programs/answer_tensors.h"
#include "dataloader/programs/answering_program.h"
#include "engine/base/clock.h"
#include "tests/dataloader/fixture.h"

/* Answers each line with its process number, and appends that to a file. */
static const char script[] = "while read -r line; do\n"
                             "    echo $$ >>\"$1\"\n"
                             "    printf '\\4\\0\\0\\0\\0\\0\\0\\0same'\n"
                             "done\n";

static pid_t last_process(int *starts)
{
    int pid = 0, before = 0;
    FILE *file = fopen(fixture_path("pids"), "r");
    ck_assert_ptr_nonnull(file);
    for (*starts = 0; fscanf(file, "%d", &pid) == 1; before = pid)
        *starts += pid != before;
    fclose(file);
    return before;
}

static void expect_same(cse_answering_program *program)
{
    const unsigned char *answer;
    size_t size;
    fixture_expect(cse_answering_program_ask(program, "{}\n", &answer, &size), CSE_OK, NULL);
    ck_assert_uint_eq(size, 4);
    ck_assert_mem_eq(answer, "same", 4);
}

START_TEST(a_killed_program_is_started_again)
{
    int starts;
    fixture_write_text("answer.sh", script);
    char answers[512], pids[512];
    snprintf(answers, sizeof answers, "%s", fixture_path("answer.sh"));
    snprintf(pids, sizeof pids, "%s", fixture_path("pids"));
    const char *const arguments[] = { "sh", answers, pids, NULL };
    cse_answering_program *program = cse_answering_program_new(arguments, 60);
    for (int i = 0; i < 3; i++) {
        expect_same(program);
        expect_same(program);
        const pid_t pid = last_process(&starts);
        ck_assert_int_eq(starts, i + 1);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
    }
    expect_same(program);
    const pid_t pid = last_process(&starts);
    cse_answering_program_close(&program);
    ck_assert_int_ne(kill(pid, 0), 0);
}
END_TEST

/* Answers in the memory file; the third request ends with a length that the file has not. */
static const char memory_script[] =
    "file=/proc/self/fd/$CSENGINE_ANSWER_MEMORY\n"
    "for answer in first 2nd gone; do\n"
    "    read -r line || exit\n"
    "    [ $answer = first ] || ! truncate -s 0 $file 2>/dev/null || exit 9\n"
    "    printf %s $answer 1<>$file\n"
    "    [ $answer = gone ] && size='\\0\\7' || size='\\3\\0'\n"
    "    printf \"$size\\0\\0\\0\\0\\0\\200\"\n"
    "done\n";

START_TEST(an_answer_may_be_in_memory)
{
    const unsigned char *answer;
    size_t size;
    char path[512];
    fixture_write_text("memory.sh", memory_script);
    snprintf(path, sizeof path, "%s", fixture_path("memory.sh"));
    const char *const arguments[] = { "sh", path, NULL };
    cse_answering_program *program = cse_answering_program_new(arguments, 60);
    for (int i = 0; i < 2; i++) {
        fixture_expect(cse_answering_program_ask(program, "{}\n", &answer, &size), CSE_OK, NULL);
        ck_assert_uint_eq(size, 3);
        ck_assert_mem_eq(answer, i == 0 ? "fir" : "2nd", 3);
    }
    fixture_expect(cse_answering_program_ask(program, "{}\n", &answer, &size), CSE_DATA,
                   "an answer of 1792 bytes in memory that is smaller");
    /* It starts again with memory of its own. */
    fixture_expect(cse_answering_program_ask(program, "{}\n", &answer, &size), CSE_OK, NULL);
    ck_assert_mem_eq(answer, "fir", 3);
    cse_answering_program_close(&program);
}
END_TEST

START_TEST(silence_ends)
{
    const unsigned char *answer;
    size_t size;
    const char *const arguments[] = { "sleep", "100", NULL };
    const int64_t begun = cse_clock_ns();
    cse_answering_program *program = cse_answering_program_new(arguments, 1);
    fixture_expect(cse_answering_program_ask(program, "{}\n", &answer, &size), CSE_DATA,
                   "it was silent for 1 seconds, twice");
    cse_answering_program_close(&program);
    ck_assert_int_lt(cse_clock_ns() - begun, INT64_C(30000000000));
}
END_TEST

static void make_answer(const char *header, size_t values, unsigned char *bytes, size_t *size)
{
    const uint64_t length = strlen(header);
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + 8, header, length);
    memset(bytes + 8 + length, 7, values);
    *size = 8 + length + values;
}

START_TEST(answers_are_checked)
{
    static const struct {
        const char *header, *part;
    } rows[] = {
        { "{\"x\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]}}", NULL },
        { "{\"x\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}", NULL },
        { "{\"x\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "dtype F16" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", "data_offsets" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", "data_offsets" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "data_offsets" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,8]}}", "shape" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}",
          "shape beyond" },
        { "[]", "no JSON object" },
        { "{", "no JSON object" },
    };
    unsigned char bytes[512];
    size_t size;
    cse_answer_tensors answer;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_answer(rows[i].header, 8, bytes, &size);
        fixture_expect(cse_answer_tensors_read(bytes, size, &answer),
                       rows[i].part == NULL ? CSE_OK : CSE_DATA, rows[i].part);
        if (i == 1) {
            int32_t value;
            fixture_expect(cse_answer_tensor_copy(&answer.tensors[0], &value), CSE_DATA,
                           "no int32");
        }
        cse_answer_tensors_clear(&answer);
    }
    fixture_expect(cse_answer_tensors_read(bytes, 7, &answer), CSE_DATA, "no safetensors");
    memset(bytes, 0xff, 8);
    fixture_expect(cse_answer_tensors_read(bytes, 100, &answer), CSE_DATA, "no safetensors");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("command");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_killed_program_is_started_again);
    tcase_add_test(tests, an_answer_may_be_in_memory);
    tcase_add_test(tests, silence_ends);
    tcase_add_test(tests, answers_are_checked);
    return fixture_run(tests);
}
