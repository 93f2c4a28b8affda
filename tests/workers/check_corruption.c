/* One bit of the weights of one host is turned while it trains, as a memory error would: through
 * the file of its arena, /proc/PID/fd. The run ends with the step and the host, and leaves
 * nothing. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "tests/support/temporary_folder.h"
#include "workers/arena/layout.h"
#include "workers/arena/states_digest.h"

enum { LIMIT_MS = 60000, MOST_CHILDREN = 16 };

static char folder[256];

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/csengine-corruption-XXXXXX",
             parent != NULL ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static const char *content_of(const char *name)
{
    static char text[16384];
    FILE *file = fopen(path_of(name), "r");
    const size_t size = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

static void redirect(const char *name, int to)
{
    const int file = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, to) < 0)
        _exit(70);
}

static pid_t start_run(void)
{
    const char *program = getenv("CSENGINE_EXECUTABLE"), *tree = getenv("top_srcdir");
    char config[600], model_dir[600], compiled[600];
    ck_assert(program != NULL && tree != NULL);
    snprintf(config, sizeof config, "%s/configs/synthetic.yaml", tree);
    snprintf(model_dir, sizeof model_dir, "%s", path_of("model"));
    snprintf(compiled, sizeof compiled, "%s", path_of("compiled"));
    const pid_t child = fork();
    if (child != 0)
        return child;
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    setenv("CSE_DASHBOARD", "0", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    execl(program, program, "start", config, "--model_dir", model_dir, "--compile_dir", compiled,
          "--hosts", "a,b,c", "--host_launcher", "local", "--num_csx", "1", "--num_steps",
          "1000000", "--set", "logging.log_steps=100", "--set", "fit.val_dataloader=null",
          (char *)NULL);
    _exit(127);
}

static int children_of(pid_t parent, const char *word, pid_t *children)
{
    char command[200];
    int count = 0, number;
    snprintf(command, sizeof command,
             "ps -eo pid=,ppid=,args= | awk '$2 == %d && index($0, \"%s\") { print $1 }' | sort -n",
             (int)parent, word);
    FILE *list = popen(command, "r");
    ck_assert_ptr_nonnull(list);
    while (count < MOST_CHILDREN && fscanf(list, "%d", &number) == 1)
        children[count++] = number;
    pclose(list);
    return count;
}

/* The arena of a process; -1: it has none. */
static int open_arena(pid_t process)
{
    char name[64], path[400], target[256];
    snprintf(name, sizeof name, "/proc/%d/fd", (int)process);
    DIR *directory = opendir(name);
    int arena = -1;
    for (struct dirent *one;
         directory != NULL && arena < 0 && (one = readdir(directory)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", name, one->d_name);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strstr(target, "memfd:csengine-arena") != NULL)
            arena = open(path, O_RDWR | O_CLOEXEC);
    }
    if (directory != NULL)
        closedir(directory);
    return arena;
}

/* Of a weight, of which an update keeps something. */
static void turn_bit(pid_t process)
{
    const int arena = open_arena(process);
    ck_assert_int_ge(arena, 0);
    const long page = sysconf(_SC_PAGESIZE);
    const cse_arena_head *head = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, arena, 0);
    ck_assert_ptr_ne(head, MAP_FAILED);
    const int64_t states = head->states_offset;
    ck_assert_int_eq(states % page, 0);
    ck_assert_int_eq(head->host_count, 3);
    unsigned char *bytes =
        mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, arena, (off_t)states);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    bytes[2] ^= 0x10; /* of the mantissa of a float */
    munmap(bytes, (size_t)page);
    munmap((void *)(uintptr_t)head, (size_t)page);
    close(arena);
}

static int await(pid_t process)
{
    int status = 0;
    for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += 10) {
        if (waitpid(process, &status, WNOHANG) == process)
            return status;
        cse_sleep_ns(10000000);
    }
    kill(process, SIGINT);
    waitpid(process, &status, 0);
    ck_abort_msg("the run goes on with a wrong bit");
    return status;
}

/* 0 is the leader. */
static const char *const names[] = { "a", "b", "c" };

START_TEST(a_wrong_bit_ends_the_run_with_step_and_host)
{
    pid_t agents[MOST_CHILDREN], leader;
    const pid_t run = start_run();
    char words[100];
    for (int i = 0; strstr(content_of("out"), "Step=200,") == NULL && i < LIMIT_MS / 20; i++)
        cse_sleep_ns(20000000);
    ck_assert_int_eq(children_of(run, "start", &leader), 1);
    ck_assert_int_eq(children_of(leader, "agent", agents), 2);
    turn_bit(_i == 0 ? leader : agents[_i - 1]);
    const int status = await(run);
    const char *told = content_of("err");
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 65, "status %d: %.2000s", status,
                  told);
    snprintf(words, sizeof words, ": host %s has or computes wrong bits", names[_i]);
    ck_assert_msg(strstr(told, "error: step ") != NULL && strstr(told, words) != NULL, "%.2000s",
                  told);
    ck_assert_msg(strstr(told, "wrong bits") != NULL, "%.2000s", told);
    ck_assert_msg(strstr(told, "are saved") == NULL, "wrong weights are saved: %.2000s", told);
    ck_assert_int_ne(kill(agents[0], 0), 0);
    ck_assert_int_ne(kill(agents[1], 0), 0);
}
END_TEST

START_TEST(all_parts_of_the_states_have_their_turn)
{
    static const int64_t sizes[] = {
        0, 4, 1000, 65536, 65540, 64 << 16, (64 << 16) + 4, 999999996
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t range[2], end = 0, steps = 0;
        do {
            cse_states_part(sizes[i], steps++, range);
            ck_assert_int_eq(range[0], end);
            ck_assert_int_ge(range[1], range[0]);
            end = range[1];
        } while (end < sizes[i]);
        ck_assert_int_eq(end, sizes[i]);
        ck_assert_int_le(steps, CSE_STATES_PARTS);
        cse_states_part(sizes[i], steps, range);
        ck_assert_int_eq(range[0], 0);
    }
}
END_TEST

START_TEST(each_bit_of_the_states_counts)
{
    _Alignas(8) unsigned char bytes[148];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    const uint64_t digest = cse_states_digest(bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_uint_ne(cse_states_digest(bytes, sizeof bytes), digest);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_uint_eq(cse_states_digest(bytes, sizeof bytes), digest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("corruption");
    TCase *runs = tcase_create("runs"), *parts = tcase_create("parts");
    tcase_set_timeout(runs, 300);
    tcase_add_checked_fixture(runs, set_up, tear_down);
    tcase_add_loop_test(runs, a_wrong_bit_ends_the_run_with_step_and_host, 0, 3);
    tcase_add_test(parts, all_parts_of_the_states_have_their_turn);
    tcase_add_test(parts, each_bit_of_the_states_counts);
    suite_add_tcase(suite, parts);
    suite_add_tcase(suite, runs);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
