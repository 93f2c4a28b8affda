/* A line that was cut off by a crash is the last one, and is passed over. */
#include "run/sweep/sweep_state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/directory.h"

enum { LOCK_TRIES = 50 };

static cse_status write_line(cse_sweep_state *state, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(17));
    cse_text all = { 0 };
    cse_text_add(&all, "%s\n", text);
    const bool good =
        write(state->file, all.data, all.size) == (ssize_t)all.size && fdatasync(state->file) == 0;
    const int failure = errno;
    free(text);
    json_decref(line);
    cse_text_clear(&all);
    return good ? CSE_OK
                : cse_fail(CSE_IO, "%s/trials.jsonl cannot be written: %s", state->folder,
                           strerror(failure));
}

int cse_sweep_state_take(cse_sweep_state *state, const json_t *line)
{
    const json_int_t trial = json_integer_value(json_object_get(line, "trial"));
    const json_t *rung = json_object_get(line, "rung"), *value = json_object_get(line, "value");
    const char *message = json_string_value(json_object_get(line, "message"));
    if (trial < 1 || trial > state->plan->trials || !json_is_integer(rung) ||
        json_integer_value(rung) < 0 || json_integer_value(rung) >= state->plan->rungs)
        return -1;
    state->results[trial - 1] = (cse_sweep_result){
        .rung = (int)json_integer_value(rung),
        .failed = json_is_true(json_object_get(line, "failed")),
        .value = json_is_number(value) ? json_number_value(value) : NAN,
        .message = cse_arena_string(state->arena, message != NULL ? message : ""),
    };
    return (int)trial - 1;
}

/* The first line names the sweep. */
static cse_status read_lines(cse_sweep_state *state, FILE *file, bool *is_new)
{
    char *line = NULL;
    size_t size = 0;
    cse_status status = CSE_OK;
    for (*is_new = true; status == CSE_OK && getline(&line, &size, file) > 0;) {
        json_t *object = strchr(line, '\n') != NULL ? json_loads(line, 0, NULL) : NULL;
        const char *sweep = json_string_value(json_object_get(object, "sweep"));
        if (*is_new && sweep != NULL && strcmp(sweep, state->plan->identity) != 0)
            status = cse_fail(CSE_CONFIG,
                              "%s holds the trials of another sweep, or of this one before its "
                              "file was changed: give another name or --folder, or move it away",
                              state->folder);
        *is_new = *is_new && sweep == NULL;
        if (sweep == NULL && object != NULL)
            cse_sweep_state_take(state, object);
        json_decref(object);
    }
    free(line);
    return status;
}

/* A reader that looks whether the sweep lives holds the lock for a moment. */
static cse_status take_lock(const cse_sweep_state *state)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(state->file, LOCK_EX | LOCK_NB) == 0)
            return CSE_OK;
        if (errno != EWOULDBLOCK && errno != EINTR) /* a file system without locks */
            return CSE_OK;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return cse_fail(CSE_TEMPORARY,
                    "%s: another process trains this sweep; wait for its end, end it, or give "
                    "another name or --folder",
                    state->folder);
}

static cse_status open_file(cse_sweep_state *state, const char *path)
{
    state->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return state->file >= 0
               ? take_lock(state)
               : cse_fail(CSE_CANNOT_CREATE, "%s cannot be created: %s", path, strerror(errno));
}

cse_status cse_sweep_state_open(const cse_sweep_plan *plan, const char *folder, cse_arena *arena,
                                cse_sweep_state *state)
{
    char path[PATH_MAX];
    bool is_new = true;
    *state = (cse_sweep_state){ .plan = plan, .folder = folder, .arena = arena, .file = -1 };
    state->results = cse_arena_alloc(arena, (size_t)plan->trials * sizeof *state->results);
    for (int i = 0; i < plan->trials; i++)
        state->results[i] = (cse_sweep_result){ .rung = -1, .value = NAN, .message = "" };
    CSE_TRY(cse_make_directories("sweep", folder));
    snprintf(path, sizeof path, "%s/trials.jsonl", folder);
    CSE_TRY(open_file(state, path)); /* first the lock: nobody else writes what is read */
    FILE *file = fopen(path, "re");
    cse_status status = file != NULL ? read_lines(state, file, &is_new) : CSE_OK;
    if (file != NULL)
        fclose(file);
    CSE_TRY(status);
    if (!is_new) /* ends a line that was cut off */
        return write(state->file, "\n", 1) == 1 ? CSE_OK : cse_fail(CSE_IO, "%s", path);
    return write_line(state, json_pack("{s:s}", "sweep", plan->identity));
}

void cse_sweep_state_close(cse_sweep_state *state)
{
    if (state->file >= 0)
        close(state->file);
    state->file = -1;
}

cse_status cse_sweep_state_note(cse_sweep_state *state, int trial, const cse_sweep_result *result)
{
    state->results[trial] = *result;
    json_t *line = json_pack("{s:i, s:i, s:b, s:o, s:s, s:I}", "trial", trial + 1, "rung",
                             result->rung, "failed", result->failed, "value",
                             isfinite(result->value) ? json_real(result->value) : json_null(),
                             "message", result->message, "time_ms", (json_int_t)cse_unix_ms());
    return line != NULL ? write_line(state, line)
                        : cse_fail(CSE_INTERNAL, "sweep: a result is no JSON");
}

static bool has_value(const cse_sweep_result *result)
{
    return !result->failed && isfinite(result->value);
}

bool cse_sweep_is_better(const cse_sweep_plan *plan, const cse_sweep_result *a,
                         const cse_sweep_result *b)
{
    if (has_value(a) != has_value(b))
        return has_value(a);
    return has_value(a) && (plan->maximizes ? a->value > b->value : a->value < b->value);
}

/* Trials that are already beyond the rung were among the best of it: their values at it are not
 * needed, as the sweep chose them before. */
int cse_sweep_trials_of(const cse_sweep_state *state, int rung, int *trials)
{
    const cse_sweep_plan *plan = state->plan;
    int count = 0;
    if (rung == 0) {
        for (; count < plan->trials; count++)
            trials[count] = count;
        return count;
    }
    bool *taken = cse_calloc((size_t)plan->trials, sizeof *taken);
    for (int i = 0; i < plan->trials; i++) {
        taken[i] = state->results[i].rung >= rung;
        count += taken[i];
    }
    for (; count < plan->rung_trials[rung]; count++) {
        int best = -1;
        for (int i = 0; i < plan->trials; i++)
            if (!taken[i] && state->results[i].rung == rung - 1 && has_value(&state->results[i]) &&
                (best < 0 || cse_sweep_is_better(plan, &state->results[i], &state->results[best])))
                best = i;
        if (best < 0)
            break;
        taken[best] = true;
    }
    count = 0;
    for (int i = 0; i < plan->trials; i++)
        if (taken[i])
            trials[count++] = i;
    free(taken);
    return count;
}
