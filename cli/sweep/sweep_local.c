/* A trial is a `csengine start` in a folder of its own below the sweep's. One that was trained
 * before goes on from its checkpoint, and one that is complete ends at once: so it does not
 * matter when the sweep was killed. */
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "cli/sweep/sweep_child.h"
#include "cli/sweep/sweep_trial.h"
#include "store/reader.h"
#include "store/run_lock.h"
#include "workers/control/process.h"

enum { MOST_WORDS = 2 * CSE_SWEEP_MOST_PARAMETERS + 256, WAIT_US = 200000 };

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
    while (!cse_sweep_is_interrupted() && access(model_dir, F_OK) == 0 &&
           cse_run_is_alive(model_dir))
        usleep(WAIT_US);
}

/* One that had not taken the folder's lock yet may take it first, and may have ended since. Another
 * temporary lack is worth a second try, too. */
static bool may_try_again(const char *model_dir, int exit_code, int *tries)
{
    return exit_code == cse_status_exit_code(CSE_TEMPORARY) && !cse_sweep_is_interrupted() &&
           (cse_run_is_alive(model_dir) || (*tries)++ == 0);
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
    cse_status status = CSE_OK;
    int exit_code = 0, tries = 0;
    do {
        wait_for_run(model_dir);
        if (cse_sweep_is_interrupted())
            return cse_fail(CSE_INTERRUPTED, "interrupted; the same command goes on");
        exit_code = cse_sweep_child_run(words, errors, &status);
    } while (status == CSE_OK && may_try_again(model_dir, exit_code, &tries));
    CSE_TRY(status);
    if (cse_sweep_is_interrupted())
        return cse_fail(CSE_INTERRUPTED, "interrupted; the same command goes on");
    *result = (cse_sweep_result){ .rung = rung,
                                  .failed = exit_code != 0,
                                  .value = exit_code == 0 ? value_of(model_dir, plan->metric) : NAN,
                                  .message = exit_code != 0 ? cse_sweep_child_message(errors, arena)
                                                            : "" };
    if (exit_code == 0 && isnan(result->value)) {
        result->failed = true;
        result->message = cse_arena_printf(arena, "it has no value of the metric %s", plan->metric);
    }
    return CSE_OK;
}
