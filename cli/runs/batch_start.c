/* Signals are taken where the job is waited for, so that none of them ends this program before the
 * job was told. */
#include "cli/runs/batch_start.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/arguments/option_values.h"
#include "cli/terminal/report.h"
#include "engine/base/arena.h"
#include "run/hosts/batch_run.h"

cse_status cse_batch_start_wanted(const cse_command_line *line, bool *wanted)
{
    static const char *const launchers[] = { "local", "slurm", NULL };
    static const char *const others[] = { "hosts", "data_hosts", "host_launcher", "listen" };
    const char *launcher = launchers[0];
    CSE_TRY(cse_option_word(line, "launcher", launchers, &launcher));
    *wanted = strcmp(launcher, "slurm") == 0;
    if (!*wanted && cse_option_value(line, "launcher_options") != NULL)
        return cse_fail(CSE_USAGE, "--launcher_options are of --launcher slurm");
    for (size_t i = 0; *wanted && i < sizeof others / sizeof *others; i++)
        if (cse_option_value(line, others[i]) != NULL)
            return cse_fail(CSE_USAGE,
                            "--%s has no meaning with --launcher slurm, where Slurm chooses the "
                            "hosts; see --nodes and --nodelist of sbatch",
                            others[i]);
    return CSE_OK;
}

/* The run's own words: those that this command reads itself are left out. */
static void add_arguments(const cse_command_line *line, cse_arena *arena, const char **words)
{
    static const char *const own[] = { "launcher", "launcher_options", "model_dir", "detach",
                                       "no_dashboard" };
    int count = 0;
    for (int i = 0; i < line->option_count; i++) {
        const char *name = line->options[i].option->name;
        bool mine = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            mine = mine || strcmp(own[k], name) == 0;
        if (!mine)
            words[count++] = cse_arena_printf(arena, "--%s=%s", name, line->options[i].value);
    }
    words[count] = NULL;
}

static void show_output(void *self, const char *bytes, size_t size)
{
    (void)self;
    fwrite(bytes, 1, size, stdout);
    fflush(stdout);
}

static int wait_for_signal(void *self)
{
    const struct timespec pause = { .tv_sec = 1 };
    const int number = sigtimedwait(self, NULL, &pause);
    return number <= 0 ? 0 : number == SIGQUIT ? 2 : 1;
}

int cse_batch_start(const cse_command_line *line, const char *model_dir)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGQUIT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    cse_arena *arena = cse_arena_new();
    const char **words = cse_arena_alloc(arena, ((size_t)line->option_count + 1) * sizeof *words);
    add_arguments(line, arena, words);
    int exit_code = 0;
    const cse_status status = cse_batch_run_wait(
        &(cse_batch_run){ .configuration = line->arguments[0],
                          .model_dir = model_dir,
                          .launcher_options = cse_option_value(line, "launcher_options"),
                          .arguments = words,
                          .returns_at_once = cse_option_is_on(line, "detach"),
                          .on_output = show_output,
                          .wait = wait_for_signal,
                          .self = &signals },
        &exit_code);
    cse_arena_destroy(&arena);
    const int reported = cse_report(status);
    return exit_code != 0 ? exit_code : reported;
}
