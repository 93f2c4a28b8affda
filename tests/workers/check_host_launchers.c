/* Host launchers: the arguments that each makes, and the process that carries a command.
 *
 * With CSE_TEST_LAUNCHER it runs other tests: commands on the host CSE_TEST_HOST, by that launcher
 * with the options CSE_TEST_OPTIONS, where CSE_TEST_SHARED is a folder that both hosts see; its
 * hostname is CSE_TEST_HOSTNAME, where that is not its name.
 * tests/workers/check_host_launchers_real.sh makes such hosts. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "workers/host_launchers/host_process.h"
#include "workers/host_launchers/words.h"

static cse_arena *arena;
static cse_text lines;

static void set_up(void)
{
    arena = cse_arena_new();
    if (getenv("CSE_TEST_LAUNCHER") == NULL)
        unsetenv("SLURM_JOB_ID");
}

static void tear_down(void)
{
    cse_arena_destroy(&arena);
    cse_text_clear(&lines);
}

static int open_descriptors(void)
{
    DIR *entries = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

static const cse_host_launcher *launcher(const char *name)
{
    const cse_host_launcher *chosen;
    ck_assert_int_eq(cse_host_launcher_select(name, &chosen), CSE_OK);
    return chosen;
}

/* The arguments with a bar between them. */
static const char *joined(const char *const *arguments)
{
    const char *text = "";
    for (; *arguments != NULL; arguments++)
        text = cse_arena_printf(arena, "%s%s%s", text, *text != 0 ? "|" : "", *arguments);
    return text;
}

static const char *const agent[] = { "/opt/csengine", "agent", "--note", "it's \"a\" $(b)", NULL };

static cse_status arguments_of(const char *name, const char *host, const char *options,
                               const char **text)
{
    const char *const *arguments;
    const cse_host_launch launch = { .host = host, .command = agent, .options = options };
    CSE_TRY(launcher(name)->arguments(&launch, arena, &arguments));
    *text = joined(arguments);
    return CSE_OK;
}

START_TEST(launchers_are_selected_by_name)
{
    static const char *const names[] = { "exec", "local", "mpi", "slurm", "ssh" };
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(cse_host_launchers[i]->name, names[i]);
        ck_assert_ptr_eq(launcher(names[i]), cse_host_launchers[i]);
        ck_assert_ptr_nonnull(cse_host_launchers[i]->leader_loss);
    }
    ck_assert_ptr_null(cse_host_launchers[5]);
    ck_assert_str_eq(launcher(NULL)->name, "ssh");
    const cse_host_launcher *chosen;
    ck_assert_int_eq(cse_host_launcher_select("rsh", &chosen), CSE_CONFIG);
    ck_assert_str_eq(cse_host_launcher_default(), "ssh");
    setenv("SLURM_JOB_ID", "12", 1);
    ck_assert_str_eq(cse_host_launcher_default(), "slurm");
}
END_TEST

START_TEST(ssh_hands_over_one_quoted_text)
{
    const char *text;
    ck_assert_int_eq(arguments_of("ssh", "n1", "-p 2222 -i '/my keys/{host}'", &text), CSE_OK);
    const char *begin = "ssh|-p|2222|-i|/my keys/n1|-T|-e|none|-o|BatchMode=yes|";
    ck_assert_int_eq(strncmp(text, begin, strlen(begin)), 0);
    const char *end = "|--|n1|exec /opt/csengine agent --note 'it'\\''s \"a\" $(b)'";
    ck_assert_uint_gt(strlen(text), strlen(end));
    ck_assert_str_eq(text + strlen(text) - strlen(end), end);
}
END_TEST

START_TEST(slurm_makes_one_step_for_a_host)
{
    const char *text;
    ck_assert_int_eq(arguments_of("slurm", "n1", NULL, &text), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "SLURM_JOB_ID"));
    setenv("SLURM_JOB_ID", "12", 1);
    ck_assert_int_eq(arguments_of("slurm", "n1", "--export=ALL", &text), CSE_OK);
    ck_assert_ptr_nonnull(
        strstr(text, "--export=ALL|--nodelist=n1|/opt/csengine|agent|--note|it's"));
    static const char *const all[] = { "srun|",        "|--nodes=1|", "|--ntasks=1|",
                                       "|--overlap|",  "|--no-kill|", "|--kill-on-bad-exit=0|",
                                       "|--mpi=none|", "|--input=0|" };
    for (int i = 0; i < 8; i++)
        ck_assert_ptr_nonnull(strstr(text, all[i]));
    ck_assert_int_eq(arguments_of("slurm", "fd00::1", NULL, &text), CSE_CONFIG);
}
END_TEST

START_TEST(mpi_makes_one_process_for_a_host)
{
    const char *text;
    ck_assert_int_eq(arguments_of("mpi", "n1", "--mca plm rsh", &text), CSE_OK);
    ck_assert_str_eq(text,
                     "mpirun|--quiet|-np|1|--host|n1|--bind-to|none|--mca|plm|rsh|/opt/csengine|"
                     "agent|--note|it's \"a\" $(b)");
    ck_assert_int_eq(arguments_of("mpi", "n1:4", NULL, &text), CSE_CONFIG);
}
END_TEST

START_TEST(exec_fills_its_template)
{
    const char *text;
    ck_assert_int_eq(arguments_of("exec", "n1", "nsenter --net=/run/netns/{host}", &text), CSE_OK);
    ck_assert_str_eq(text,
                     "nsenter|--net=/run/netns/n1|/opt/csengine|agent|--note|it's \"a\" $(b)");
    ck_assert_int_eq(arguments_of("exec", "n1", "k exec -i {host} -- {command} end", &text),
                     CSE_OK);
    ck_assert_str_eq(text, "k|exec|-i|n1|--|/opt/csengine|agent|--note|it's \"a\" $(b)|end");
    ck_assert_int_eq(arguments_of("exec", "n1", "sh -c 'hostname {host}; exec {command}'", &text),
                     CSE_OK);
    ck_assert_str_eq(text, "sh|-c|hostname n1; exec /opt/csengine agent --note "
                           "'it'\\''s \"a\" $(b)'");
    ck_assert_int_eq(arguments_of("exec", "n1", NULL, &text), CSE_CONFIG);
    ck_assert_int_eq(arguments_of("exec", "n1", " ", &text), CSE_CONFIG);
    ck_assert_int_eq(arguments_of("exec", "n1", "{command}", &text), CSE_CONFIG);
    ck_assert_int_eq(arguments_of("exec", "n1", "sh -c 'x", &text), CSE_CONFIG);
    ck_assert_int_eq(arguments_of("local", "n1", "-x", &text), CSE_CONFIG);
}
END_TEST

static const struct {
    const char *text, *words;
} splits[] = {
    { "", "" },
    { " \t\n", "" },
    { " a  b\tc\n", "a|b|c" },
    { "'a b' \"c d\"", "a b|c d" },
    { "a'b c'd", "ab cd" },
    { "'' \"\"", "|" },
    { "\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d" },
    { "a\\ b \\'c", "a b|'c" },
    { "'a\\b'", "a\\b" },
    { "a\\", "a\\" },
    { "$HOME `x` $(y) *", "$HOME|`x`|$(y)|*" },
};

START_TEST(settings_are_split_once)
{
    cse_words words = { 0 };
    ck_assert_int_eq(cse_words_split(&words, arena, splits[_i].text), CSE_OK);
    const char *text = "";
    for (int i = 0; i < words.count; i++)
        text = cse_arena_printf(arena, "%s%s%s", text, i > 0 ? "|" : "", words.items[i]);
    ck_assert_str_eq(text, splits[_i].words);
}
END_TEST

START_TEST(too_long_settings_are_refused)
{
    char *text = cse_arena_alloc(arena, CSE_WORDS_TEXT_BYTES + 1);
    for (int i = 0; i < CSE_WORDS_TEXT_BYTES; i++)
        text[i] = i % 2 == 0 ? 'a' : ' ';
    cse_words words = { 0 };
    ck_assert_int_eq(cse_words_split(&words, arena, text), CSE_CONFIG);
    text[CSE_WORDS_TEXT_BYTES - 1] = 0;
    ck_assert_int_eq(cse_words_split(&words, arena, text), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "more than 4096 words"));
}
END_TEST

START_TEST(a_shell_reads_quoted_words_unchanged)
{
    static const char *const words[] = { "printf", "%s\\n", "",          "plain", "a b", "it's",
                                         "'",      "$HOME", "`id`",      "$(id)", "\\",  "\\'",
                                         "\"x\"",  "*",     "~",         "a;b&",  "#c",  "--x=1",
                                         "!!",     "{a,b}", "h\xc3\xb6", NULL };
    const char *text;
    ck_assert_int_eq(cse_words_quote(arena, words, &text), CSE_OK);
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    char output[1000] = "", expected[1000] = "";
    size_t used = 0;
    for (ssize_t size; (size = read(ends[0], output + used, sizeof output - 1 - used)) > 0;)
        used += (size_t)size;
    close(ends[0]);
    waitpid(child, NULL, 0);
    for (int i = 2; words[i] != NULL; i++) {
        const size_t end = strlen(expected);
        snprintf(expected + end, sizeof expected - end, "%s\n", words[i]);
    }
    ck_assert_str_eq(output, expected);
    static const char *const control[] = { "a", "b\nc", NULL };
    ck_assert_int_eq(cse_words_quote(arena, control, &text), CSE_CONFIG);
}
END_TEST

static void keep_line(void *self, const char *host, bool is_error, const char *line)
{
    (void)self;
    cse_text_add(&lines, "%s%s %s\n", host, is_error ? "!" : ":", line);
}

static cse_status start_shell(const char *host, const char *script, cse_host_process **process)
{
    static const char *const environment[] = { "CSE_TEST_VALUE=new", NULL };
    const char *const command[] = { "/bin/sh", "-c", script, NULL };
    const cse_host_launch launch = {
        .host = host, .command = command, .environment = environment, .on_line = keep_line
    };
    return cse_host_process_start(launcher("local"), &launch, process);
}

/* The loop that the contract describes, until the process is gone. */
static cse_host_end serve(cse_host_process *process)
{
    cse_host_end end = { 0 };
    const int64_t deadline = cse_clock_ns() + 20000000000;
    while (!cse_host_process_gone(process, &end)) {
        struct pollfd items[CSE_HOST_PROCESS_POLLED];
        const int count = cse_host_process_poll(process, items);
        ck_assert_int_ge(poll(items, (nfds_t)count, 1000), 0);
        const int64_t before = cse_clock_ns();
        cse_host_process_turn(process);
        ck_assert_int_lt(cse_clock_ns() - before, 2000000000); /* it never waits */
        ck_assert_int_lt(before, deadline);
    }
    return end;
}

START_TEST(input_output_and_exit_code_are_passed_on)
{
    const int before = open_descriptors();
    const int secret = open("/dev/null", O_RDONLY); /* not marked close-on-exec */
    cse_host_process *process;
    const char *script = cse_arena_printf(
        arena,
        "cat; echo $CSE_TEST_VALUE >&2; test -e /proc/self/fd/%d && exit 9; printf end; "
        "exit 7",
        secret);
    ck_assert_int_eq(start_shell("n1", script, &process), CSE_OK);
    ck_assert_str_eq(cse_host_process_host(process), "n1");
    ck_assert_int_eq(cse_host_process_send(process, "one\ntw", 6), CSE_OK);
    ck_assert_int_eq(cse_host_process_send(process, "o\n", 2), CSE_OK);
    cse_host_process_close_input(process);
    ck_assert_int_eq(cse_host_process_send(process, "x", 1), CSE_UNAVAILABLE);
    const cse_host_end end = serve(process);
    ck_assert_int_eq(end.how.code, 7);
    ck_assert(end.proved);
    char text[200];
    ck_assert_str_eq(cse_host_end_text(process, end, text, sizeof text),
                     "host n1: /bin/sh ended with exit code 7");
    cse_host_process_destroy(&process);
    ck_assert_ptr_null(process);
    close(secret);
    ck_assert_ptr_nonnull(strstr(lines.data, "n1: one\nn1: two\n"));
    ck_assert_ptr_nonnull(strstr(lines.data, "n1! new\n"));
    ck_assert_ptr_nonnull(strstr(lines.data, "n1: end\n"));
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(much_input_goes_through_without_waiting)
{
    cse_host_process *process;
    ck_assert_int_eq(start_shell("n1", "sleep 0.3; cksum", &process), CSE_OK);
    char *bytes = cse_arena_alloc(arena, CSE_HOST_PROCESS_INPUT_BYTES);
    memset(bytes, 'x', CSE_HOST_PROCESS_INPUT_BYTES);
    ck_assert_int_eq(cse_host_process_send(process, bytes, CSE_HOST_PROCESS_INPUT_BYTES), CSE_OK);
    ck_assert_int_eq(cse_host_process_send(process, bytes, 1), CSE_TEMPORARY);
    cse_host_process_close_input(process);
    serve(process);
    cse_host_process_destroy(&process);
    /* From coreutils: head -c 1048576 /dev/zero | tr '\0' x | cksum */
    ck_assert_str_eq(lines.data, "n1: 2477837332 1048576\n");
}
END_TEST

START_TEST(a_command_that_reads_nothing_ends_no_one)
{
    cse_host_process *process;
    ck_assert_int_eq(start_shell("n1", "exec <&-; sleep 0.2", &process), CSE_OK);
    char bytes[70000] = "";
    signal(SIGPIPE, SIG_DFL);
    ck_assert_int_eq(cse_host_process_send(process, bytes, sizeof bytes), CSE_OK);
    const cse_host_end end = serve(process);
    ck_assert_int_eq(end.how.code, 0);
    ck_assert_int_eq(cse_host_process_send(process, bytes, 1), CSE_UNAVAILABLE);
    cse_host_process_destroy(&process);
}
END_TEST

START_TEST(lines_are_whole_printable_and_bounded)
{
    cse_host_process *process;
    ck_assert_int_eq(
        start_shell("n2",
                    "printf 'half '; sleep 0.1; printf 'line\\r\\n\\033[2Jx\\000y\\n\\n'; "
                    "head -c 5000 /dev/zero | tr '\\000' a",
                    &process),
        CSE_OK);
    serve(process);
    cse_host_process_destroy(&process);
    const char *begin = "n2: half line\nn2: \\x1b[2Jx\\x0dy\nn2: \nn2: aaa";
    ck_assert_msg(strncasecmp(lines.data, begin, strlen(begin)) == 0, "%.100s", lines.data);
    const char *first = strstr(lines.data, "n2: aaa");
    ck_assert_uint_eq(strcspn(first + 4, "\n"), 4096);
    ck_assert_uint_eq(strcspn(first + 4 + 4096 + 1 + 4, "\n"), 904);
}
END_TEST

START_TEST(a_host_that_talks_without_end_does_not_hold_the_loop)
{
    cse_host_process *process;
    ck_assert_int_eq(start_shell("n1", "while :; do echo y; done", &process), CSE_OK);
    for (int i = 0; i < 50; i++)
        cse_host_process_turn(process);
    cse_host_end end;
    ck_assert(!cse_host_process_gone(process, &end));
    cse_host_process_signal(process, SIGKILL);
    ck_assert_int_eq(serve(process).how.signal, SIGKILL);
    cse_host_process_destroy(&process);
}
END_TEST

/* Whether a process of that number runs. */
static bool runs(const char *number)
{
    return kill((pid_t)atol(number), 0) == 0 || errno != ESRCH;
}

static void wait_for_line(cse_host_process *process)
{
    for (int i = 0; i < 10000 && (lines.data == NULL || strchr(lines.data, '\n') == NULL); i++) {
        cse_host_process_turn(process);
        cse_sleep_ns(1000000);
    }
    ck_assert_ptr_nonnull(lines.data);
}

START_TEST(all_of_its_process_group_is_signalled_and_destroyed)
{
    cse_host_process *process;
    ck_assert_int_eq(start_shell("n1", "sleep 1000 & echo $!; wait", &process), CSE_OK);
    wait_for_line(process);
    const char *number = lines.data + 4;
    ck_assert(runs(number));
    cse_host_process_signal(process, SIGTERM);
    ck_assert_int_eq(serve(process).how.signal, SIGTERM);
    for (int i = 0; i < 5000 && runs(number); i++)
        cse_sleep_ns(1000000);
    ck_assert(!runs(number));
    cse_host_process_destroy(&process);

    /* A client that ends before what it started: its pipes are not waited for. */
    cse_text_clear(&lines);
    ck_assert_int_eq(start_shell("n1", "sleep 1000 & echo $!", &process), CSE_OK);
    ck_assert_int_eq(serve(process).how.code, 0);
    number = lines.data + 4;
    ck_assert(runs(number));
    cse_host_process_destroy(&process);
    for (int i = 0; i < 5000 && runs(number); i++)
        cse_sleep_ns(1000000);
    ck_assert(!runs(number));
}
END_TEST

START_TEST(the_command_outlives_its_starter_and_sees_its_input_end)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t leader = fork();
    if (leader == 0) {
        cse_host_process *process;
        char script[100];
        snprintf(script, sizeof script, "echo up; cat; sleep 0.2; echo late >/proc/%d/fd/%d",
                 (int)getppid(), ends[1]);
        if (start_shell("n1", script, &process) != CSE_OK)
            _exit(1);
        wait_for_line(process);
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(leader, &status, 0), leader);
    ck_assert(WIFSIGNALED(status));
    struct pollfd item = { .fd = ends[0], .events = POLLIN };
    ck_assert_int_eq(poll(&item, 1, 10000), 1);
    char text[8] = "";
    ck_assert_int_eq(read(ends[0], text, 5), 5);
    ck_assert_str_eq(text, "late\n");
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(hostile_and_missing_things_are_refused)
{
    const int before = open_descriptors();
    cse_host_process *process = NULL;
    static const char *const names[] = { "", "-oProxyCommand=x", "a b", "a;b", "$(a)", "a/b" };
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(start_shell(names[i], "exit", &process), CSE_CONFIG);
    const char *const relative[] = { "csengine", NULL }, *const none[] = { NULL };
    const char *const missing[] = { "/nowhere/csengine", NULL };
    cse_host_launch launch = { .host = "n1", .command = relative };
    ck_assert_int_eq(cse_host_process_start(launcher("local"), &launch, &process), CSE_USAGE);
    launch.command = none;
    ck_assert_int_eq(cse_host_process_start(launcher("local"), &launch, &process), CSE_USAGE);
    launch.command = missing;
    ck_assert_int_eq(cse_host_process_start(launcher("local"), &launch, &process), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "host n1: /nowhere/csengine"));
    setenv("PATH", "/nowhere", 1);
    ck_assert_int_eq(cse_host_process_start(launcher("ssh"), &launch, &process), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "host n1: ssh cannot be started"));
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(what_an_end_proves)
{
    const cse_exit exited = { .code = 75 }, lost = { .code = 255 }, failed = { .code = 1 };
    const cse_exit killed = { .code = -1, .signal = SIGKILL };
    static const char *const names[] = { "exec", "mpi", "slurm", "ssh" };
    for (int i = 0; i < 4; i++) {
        ck_assert(launcher(names[i])->proves_end(exited));
        ck_assert(!launcher(names[i])->proves_end(killed));
    }
    ck_assert(launcher("local")->proves_end(killed));
    ck_assert(!launcher("ssh")->proves_end(lost));
    ck_assert(!launcher("exec")->proves_end(lost));
    ck_assert(!launcher("slurm")->proves_end(failed));
    ck_assert(!launcher("mpi")->proves_end(failed));
}
END_TEST

START_TEST(closed_standard_descriptors_are_no_obstacle)
{
    const pid_t child = fork();
    if (child == 0) { /* as a daemon that closed all three */
        close(0);
        close(1);
        close(2);
        cse_host_process *process;
        if (start_shell("n1", "cat; echo error >&2", &process) != CSE_OK ||
            cse_host_process_send(process, "in\n", 3) != CSE_OK)
            _exit(1);
        cse_host_process_close_input(process);
        cse_host_end end;
        for (int i = 0; i < 10000 && !cse_host_process_gone(process, &end); i++) {
            cse_host_process_turn(process);
            cse_sleep_ns(1000000);
        }
        _exit(strstr(lines.data, "n1: in\n") != NULL && strstr(lines.data, "n1! error\n") != NULL
                  ? 0
                  : 2);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* Starts a shell's script on the other host. */
static cse_status start_there(const char *script, cse_host_process **process)
{
    const char *const command[] = { "/bin/sh", "-c", script, "it's $(b)", NULL };
    const cse_host_launch launch = { .host = getenv("CSE_TEST_HOST"),
                                     .command = command,
                                     .options = getenv("CSE_TEST_OPTIONS"),
                                     .on_line = keep_line };
    return cse_host_process_start(launcher(getenv("CSE_TEST_LAUNCHER")), &launch, process);
}

static bool exists(const char *name)
{
    return access(cse_arena_printf(arena, "%s/%s", getenv("CSE_TEST_SHARED"), name), F_OK) == 0;
}

static bool appears(const char *name)
{
    for (int i = 0; i < 3000 && !exists(name); i++)
        cse_sleep_ns(10000000);
    return exists(name);
}

static bool has_line(const char *line)
{
    const char *host = getenv("CSE_TEST_HOST");
    return lines.data != NULL &&
           strstr(lines.data, cse_arena_printf(arena, "%s%s\n", host, line)) != NULL;
}

START_TEST(there_a_command_has_input_output_and_an_exit_code)
{
    cse_host_process *process;
    ck_assert_int_eq(start_there("cat; hostname; echo \"$0\"; echo error >&2; exit 75", &process),
                     CSE_OK);
    ck_assert_int_eq(cse_host_process_send(process, "secret\n", 7), CSE_OK);
    cse_host_process_close_input(process);
    const cse_host_end end = serve(process);
    cse_host_process_destroy(&process);
    printf("%s", lines.data);
    ck_assert_int_eq(end.how.code, 75);
    ck_assert(end.proved);
    ck_assert(has_line(": secret"));
    const char *called = getenv("CSE_TEST_HOSTNAME");
    ck_assert(has_line(
        cse_arena_printf(arena, ": %s", called != NULL ? called : getenv("CSE_TEST_HOST"))));
    ck_assert(has_line(": it's $(b)"));
    ck_assert(has_line("! error"));
}
END_TEST

START_TEST(there_a_command_outlives_the_leader)
{
    const pid_t leader = fork();
    if (leader == 0) {
        cse_host_process *process;
        const char *script = cse_arena_printf(
            arena, "trap '' PIPE; cd '%s'; echo up; cat; >ended; sleep 1; echo x; >alive",
            getenv("CSE_TEST_SHARED"));
        if (start_there(script, &process) != CSE_OK)
            _exit(1);
        while (!has_line(": up")) {
            cse_host_process_turn(process);
            cse_sleep_ns(1000000);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(leader, &status, 0), leader);
    ck_assert(WIFSIGNALED(status));
    ck_assert(appears("ended"));
    ck_assert(appears("alive"));
}
END_TEST

static off_t size_of(const char *name)
{
    struct stat about = { 0 };
    stat(cse_arena_printf(arena, "%s/%s", getenv("CSE_TEST_SHARED"), name), &about);
    return about.st_size;
}

/* What becomes of the command: CSE_TEST_LEFT is "ends", "stays" (and sees the end of its input) or
 * "unaware" (its input stays open). */
START_TEST(there_a_command_is_left_by_its_client)
{
    cse_host_process *process;
    const char *script = cse_arena_printf(arena,
                                          "trap '' PIPE HUP; cd '%s'; echo up; "
                                          "(while sleep 0.1; do echo beat >>beats; done) & "
                                          "cat; >left; sleep 20; kill $!",
                                          getenv("CSE_TEST_SHARED"));
    ck_assert_int_eq(start_there(script, &process), CSE_OK);
    while (!has_line(": up") || size_of("beats") == 0) {
        cse_host_process_turn(process);
        cse_sleep_ns(1000000);
    }
    ck_assert(!exists("left"));
    cse_host_process_signal(process, SIGKILL);
    ck_assert(!serve(process).proved);
    cse_host_process_destroy(&process);
    cse_sleep_ns(5000000000); /* mpirun's daemon takes a moment */
    const off_t size = size_of("beats");
    cse_sleep_ns(2000000000);
    const bool runs_on = size_of("beats") > size;
    ck_assert_str_eq(!runs_on         ? "ends"
                     : exists("left") ? "stays"
                                      : "unaware",
                     getenv("CSE_TEST_LEFT"));
}
END_TEST

static void add_tests_there(TCase *c)
{
    tcase_set_timeout(c, 120);
    tcase_add_test(c, there_a_command_has_input_output_and_an_exit_code);
    tcase_add_test(c, there_a_command_outlives_the_leader);
    tcase_add_test(c, there_a_command_is_left_by_its_client);
}

static void add_tests_here(TCase *c)
{
    tcase_set_timeout(c, 60);
    tcase_add_test(c, launchers_are_selected_by_name);
    tcase_add_test(c, ssh_hands_over_one_quoted_text);
    tcase_add_test(c, slurm_makes_one_step_for_a_host);
    tcase_add_test(c, mpi_makes_one_process_for_a_host);
    tcase_add_test(c, exec_fills_its_template);
    tcase_add_loop_test(c, settings_are_split_once, 0, (int)(sizeof splits / sizeof *splits));
    tcase_add_test(c, too_long_settings_are_refused);
    tcase_add_test(c, a_shell_reads_quoted_words_unchanged);
    tcase_add_test(c, input_output_and_exit_code_are_passed_on);
    tcase_add_test(c, much_input_goes_through_without_waiting);
    tcase_add_test(c, a_command_that_reads_nothing_ends_no_one);
    tcase_add_test(c, lines_are_whole_printable_and_bounded);
    tcase_add_test(c, a_host_that_talks_without_end_does_not_hold_the_loop);
    tcase_add_test(c, all_of_its_process_group_is_signalled_and_destroyed);
    tcase_add_test(c, the_command_outlives_its_starter_and_sees_its_input_end);
    tcase_add_test(c, hostile_and_missing_things_are_refused);
    tcase_add_test(c, what_an_end_proves);
    tcase_add_test(c, closed_standard_descriptors_are_no_obstacle);
}

int main(void)
{
    Suite *suite = suite_create("host_launchers");
    TCase *c = tcase_create("host_launchers");
    tcase_add_checked_fixture(c, set_up, tear_down);
    if (getenv("CSE_TEST_LAUNCHER") != NULL)
        add_tests_there(c);
    else
        add_tests_here(c);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
