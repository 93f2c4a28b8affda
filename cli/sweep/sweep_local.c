/* A trial is a `csengine start` in a folder of its own below the sweep's. One that was trained
 * before goes on from its checkpoint, and one that is complete ends at once: so it does not
 * matter when the sweep was killed. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sweep/sweep_trial.h"
#include "engine/base/piped_program.h"
#include "store/reader.h"
#include "store/run_lock.h"
#include "workers/control/process.h"

enum { MOST_WORDS = 2 * CSE_SWEEP_MOST_PARAMETERS + 256, WAIT_US = 200000 };

static volatile sig_atomic_t interrupted, running_child;

/* A terminal sends SIGINT to the child as well, so only other signals are passed on. */
static void note_interrupt(int number)
{
    interrupted = 1;
    if (running_child > 0 && number != SIGINT)
        kill((pid_t)running_child, SIGTERM);
}

void cse_sweep_take_signals(void)
{
    static const int handled[] = { SIGINT, SIGTERM, SIGHUP };
    const struct sigaction action = { .sa_handler = note_interrupt };
    for (int i = 0; i < 3; i++)
        sigaction(handled[i], &action, NULL);
}

bool cse_sweep_is_interrupted(void)
{
    return interrupted != 0;
}

/* The error that the child reported, or else its last line. */
static const char *message_of(const char *path, cse_arena *arena)
{
    static const char mark[] = "error: ";
    FILE *file = fopen(path, "re");
    char line[1024], message[sizeof line] = "it ended without a message";
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *error = strstr(line, mark);
        found = error != NULL;
        if (line[0] != '\0')
            snprintf(message, sizeof message, "%s", found ? error + strlen(mark) : line);
    }
    if (file != NULL)
        fclose(file);
    return cse_arena_string(arena, message);
}

static int run_child(const char *const *words, const char *errors, cse_status *status)
{
    pid_t child = -1;
    int output = -1, state = 0;
    cse_text nothing = { 0 };
    *status = cse_piped_program_start((char *const *)(uintptr_t)words, errors, &child, &output);
    if (*status != CSE_OK)
        return 0;
    running_child = child;
    if (interrupted) /* before there was a child to pass it on to */
        kill(child, SIGTERM);
    cse_piped_program_read(output, 0, &nothing);
    close(output);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    running_child = 0;
    cse_text_clear(&nothing);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

static double value_of(const char *model_dir, const char *metric)
{
    cse_store_reader *reader = NULL;
    cse_point point = { .value = NAN };
    if (cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return NAN;
    if (!cse_store_reader_last_point(reader, metric, &point))
        point.value = NAN;
    cse_store_reader_close(&reader);
    return point.value;
}

/* One of a sweep that was killed may train this trial still. */
static void wait_for_run(const char *model_dir)
{
    while (!interrupted && access(model_dir, F_OK) == 0 && cse_run_is_alive(model_dir))
        usleep(WAIT_US);
}

cse_status cse_sweep_train_here(const cse_sweep_run *run, int trial, int rung,
                                cse_sweep_result *result)
{
    const cse_sweep_state *state = run->state;
    const cse_sweep_plan *plan = state->plan;
    cse_arena *arena = state->arena;
    char executable[PATH_MAX];
    const char *words[MOST_WORDS] = { executable, "start", "--json", "--no_dashboard" };
    int count = 4;
    CSE_TRY(cse_worker_executable(NULL, executable, sizeof executable));
    const char *model_dir = cse_arena_printf(arena, "%s/trial_%04d", state->folder, trial + 1);
    const char *errors = cse_arena_printf(arena, "%s.log", model_dir);
    const char **settings = cse_sweep_settings(run, trial, rung, arena);
    for (; *settings != NULL; settings++) {
        if (count + 6 >= MOST_WORDS)
            return cse_fail(CSE_CONFIG, "sweep: there are too many settings");
        words[count++] = "--set";
        words[count++] = *settings;
    }
    words[count++] = cse_arena_printf(arena, "--model_dir=%s", model_dir);
    words[count++] = cse_arena_printf(arena, "--compile_dir=%s/compiled", state->folder);
    words[count] = plan->config;
    wait_for_run(model_dir);
    if (interrupted)
        return cse_fail(CSE_INTERRUPTED, "interrupted; the same command goes on");
    cse_status status;
    const int exit_code = run_child(words, errors, &status);
    CSE_TRY(status);
    if (interrupted)
        return cse_fail(CSE_INTERRUPTED, "interrupted; the same command goes on");
    *result = (cse_sweep_result){ .rung = rung,
                                  .failed = exit_code != 0,
                                  .value = exit_code == 0 ? value_of(model_dir, plan->metric) : NAN,
                                  .message = exit_code != 0 ? message_of(errors, arena) : "" };
    if (exit_code == 0 && isnan(result->value)) {
        result->failed = true;
        result->message = cse_arena_printf(arena, "it has no value of the metric %s", plan->metric);
    }
    return CSE_OK;
}
