/* The file may be written to meanwhile, and may be damaged: a line without its end is not there
 * yet, one that says nothing of a trial is counted. A symbolic link or a pipe in the file's place
 * is not opened. */
#include "run/sweep/sweep_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 20 };

/* ---- the file ---- */

static cse_status read_bytes(int file, const char *path, cse_text *text)
{
    char buffer[65536];
    ssize_t size;
    while ((size = read(file, buffer, sizeof buffer)) > 0) {
        cse_text_add_bytes(text, buffer, (size_t)size);
        if (text->size > MOST_BYTES)
            return cse_fail(CSE_DATA, "%s: more than 64 MiB: these are not a sweep's trials", path);
    }
    return size == 0 ? CSE_OK : cse_fail(CSE_IO, "%s: %s", path, strerror(errno));
}

static cse_status read_file(const char *path, cse_sweep_log *log, cse_text *text)
{
    struct stat about;
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return cse_fail(errno == ENOENT || errno == ENOTDIR ? CSE_NO_INPUT : CSE_DATA, "%s: %s",
                        path, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    cse_status status = CSE_OK;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        status = cse_fail(CSE_DATA, "%s: it is no file", path);
    if (status == CSE_OK)
        status = read_bytes(file, path, text);
    if (status == CSE_OK) {
        log->updated_ms = (int64_t)about.st_mtim.tv_sec * 1000 + about.st_mtim.tv_nsec / 1000000;
        log->alive = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    }
    close(file);
    return status;
}

/* ---- its lines ---- */

static json_t *next_line(const char **at, const char *end)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    json_t *line = json_loadb(*at, (size_t)(stop - *at), 0, NULL);
    *at = stop + 1;
    return line;
}

static cse_status read_head(const char *path, const char **at, const char *end, cse_sweep_log *log)
{
    json_t *line = *at < end ? next_line(at, end) : NULL;
    const char *sweep = json_string_value(json_object_get(line, "sweep"));
    const cse_status status = sweep != NULL
                                  ? cse_sweep_plan_parse(log->state.arena, path, sweep, &log->plan)
                                  : cse_fail(CSE_DATA,
                                             "%s: its first line names no sweep: it is damaged, or "
                                             "no file of `csengine sweep`",
                                             path);
    json_decref(line);
    return status;
}

static void begin_results(cse_sweep_log *log)
{
    const int trials = log->plan.trials;
    log->state.plan = &log->plan;
    log->state.results =
        cse_arena_alloc(log->state.arena, (size_t)trials * sizeof *log->state.results);
    for (int i = 0; i < trials; i++)
        log->state.results[i] = (cse_sweep_result){ .rung = -1, .value = NAN, .message = "" };
}

static void take_line(cse_sweep_log *log, const json_t *line)
{
    const int trial = cse_sweep_state_take(&log->state, line);
    const json_int_t time_ms = json_integer_value(json_object_get(line, "time_ms"));
    if (trial < 0) {
        log->unreadable++;
        return;
    }
    log->entries[log->count++] = (cse_sweep_entry){ .trial = trial,
                                                    .time_ms = time_ms > 0 ? time_ms : 0,
                                                    .result = log->state.results[trial] };
}

static void read_entries(const char *at, const char *end, cse_sweep_log *log)
{
    size_t lines = 0;
    for (const char *c = at; c < end; c++)
        lines += *c == '\n';
    log->entries = cse_arena_alloc(log->state.arena, (lines + 1) * sizeof *log->entries);
    while (at < end) {
        if (*at == '\n') { /* ends a line that was cut off */
            at++;
            continue;
        }
        json_t *line = next_line(&at, end);
        take_line(log, line);
        json_decref(line);
    }
}

cse_status cse_sweep_log_read(const char *folder, cse_arena *arena, cse_sweep_log *log)
{
    char path[PATH_MAX];
    cse_text text = { 0 };
    *log = (cse_sweep_log){ .state = { .arena = arena, .file = -1 } };
    if ((size_t)snprintf(path, sizeof path, "%s/trials.jsonl", folder) >= sizeof path)
        return cse_fail(CSE_NO_INPUT, "%s: the path is too long", folder);
    log->state.folder = cse_arena_string(arena, folder);
    cse_status status = read_file(path, log, &text);
    while (text.size > 0 && text.data[text.size - 1] != '\n')
        text.size--; /* a line that is being written, or was cut off */
    const char *at = text.data != NULL ? text.data : "", *end = at + text.size;
    if (status == CSE_OK)
        status = read_head(path, &at, end, log);
    if (status == CSE_OK) {
        begin_results(log);
        read_entries(at, end, log);
    }
    cse_text_clear(&text);
    return status;
}

/* ---- rungs ---- */

int cse_sweep_log_members(const cse_sweep_log *log, int *rung, int *trials)
{
    int count = 0;
    for (*rung = 0; *rung < log->plan.rungs; ++*rung) {
        bool complete = true;
        count = cse_sweep_trials_of(&log->state, *rung, trials);
        for (int i = 0; complete && i < count; i++)
            complete = log->state.results[trials[i]].rung >= *rung;
        if (!complete)
            break;
    }
    return count;
}
