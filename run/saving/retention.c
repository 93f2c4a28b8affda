/* Only files that the run store names as written by this run, in their size, are ever removed: a
 * checkpoint that somebody put into the folder is not the run's own. */
#include "run/saving/retention.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "run/record/loss_trend.h"
#include "run/saving/checkpoint_ladder.h"
#include "store/reader.h"

typedef struct owned {
    int64_t step, bytes;
    double value; /* of the metric; NaN: none is known */
    bool stays;   /* of cse_retention_apply: on the ladder, or one of the newest */
} owned;

struct cse_retention {
    cse_retention_options options;
    owned *list; /* in the order in which they were written */
    int count, capacity;
    char named[PATH_MAX]; /* resolved; "": none */
    double step_seconds;  /* 0: not measured */
    bool told_long_gaps;
};

static owned *find(cse_retention *r, int64_t step)
{
    for (int i = 0; i < r->count; i++)
        if (r->list[i].step == step)
            return &r->list[i];
    return NULL;
}

static void drop(cse_retention *r, int index)
{
    r->count--;
    memmove(&r->list[index], &r->list[index + 1], (size_t)(r->count - index) * sizeof *r->list);
}

/* At the end of the list; a checkpoint of the same step was replaced by it. */
static void append(cse_retention *r, int64_t step, int64_t bytes)
{
    const owned *before = find(r, step);
    owned added = { .step = step, .bytes = bytes, .value = before != NULL ? before->value : NAN };
    if (before != NULL)
        drop(r, (int)(before - r->list));
    CSE_GROW(r->list, r->count, r->capacity);
    r->list[r->count++] = added;
}

static bool is_file(const cse_retention *r, const owned *o, char path[PATH_MAX])
{
    struct stat facts;
    cse_checkpoint_path(r->options.model_dir, o->step, path, PATH_MAX);
    return lstat(path, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == o->bytes;
}

/* ---- what earlier starts wrote ---- */

static void take_checkpoint(void *self, const cse_row *row)
{
    char name[64];
    const char *path = row->fields[4].text;
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    int64_t step = row->fields[2].integer;
    snprintf(name, sizeof name, "checkpoint_%lld.mdl", (long long)step);
    if (path != NULL && strcmp(slash != NULL ? slash + 1 : path, name) == 0 &&
        row->fields[9].integer == 0)
        append(self, step, row->fields[5].integer);
}

static void take_point(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    cse_retention *r = self;
    if (row != NULL && row->count == 1 &&
        !cse_loss_had_diverged(r->options.model_dir, row->first_step, r->options.diverged_factor))
        cse_retention_metric(r, curve->name, row->first_step, row->last);
}

static void read_store(cse_retention *r)
{
    cse_store_reader *reader = NULL;
    if (cse_store_reader_open(r->options.model_dir, &reader) != CSE_OK)
        return;
    const char *const names[] = { r->options.best, NULL };
    cse_store_query all = { .limit = INT64_MAX };
    cse_status status = cse_store_reader_rows(reader, CSE_ROW_CHECKPOINT, &all, take_checkpoint, r);
    if (status == CSE_OK && r->options.best != NULL)
        status = cse_store_reader_metrics(
            reader, &(cse_metrics_query){ .names = names, .max_points = 1 << 24 }, take_point, r);
    if (status != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "checkpoints of earlier starts are not removed: %s",
                     cse_error_message());
    cse_store_reader_close(&reader);
}

cse_retention *cse_retention_new(const cse_retention_options *options)
{
    if (options->keep <= 0 && options->replay_budget <= 0)
        return NULL;
    cse_retention *r = cse_calloc(1, sizeof *r);
    r->options = *options;
    read_store(r);
    return r;
}

void cse_retention_destroy(cse_retention **retention)
{
    if (*retention != NULL)
        free((*retention)->list);
    free(*retention);
    *retention = NULL;
}

/* ---- what this start does ---- */

void cse_retention_named(cse_retention *r, const char *path)
{
    if (r != NULL && realpath(path, r->named) == NULL)
        r->named[0] = '\0';
}

void cse_retention_written(cse_retention *r, int64_t step)
{
    char path[PATH_MAX];
    struct stat facts;
    if (r == NULL)
        return;
    cse_checkpoint_path(r->options.model_dir, step, path, sizeof path);
    if (lstat(path, &facts) == 0)
        append(r, step, facts.st_size);
}

void cse_retention_metric(cse_retention *r, const char *name, int64_t step, double value)
{
    if (r == NULL || r->options.best == NULL || strcmp(name, r->options.best) != 0)
        return;
    owned *o = find(r, step);
    if (o != NULL)
        o->value = value;
}

/* The first of those with the best value; NULL while none has one. */
static const owned *best(const cse_retention *r)
{
    const owned *found = NULL;
    for (int i = 0; i < r->count; i++) {
        const owned *o = &r->list[i];
        if (!isfinite(o->value))
            continue;
        if (found == NULL ||
            (r->options.best_is_greatest ? o->value > found->value : o->value < found->value))
            found = o;
    }
    return found;
}

static bool is_named(const cse_retention *r, const char *path)
{
    char resolved[PATH_MAX];
    return r->named[0] != '\0' && realpath(path, resolved) != NULL &&
           strcmp(resolved, r->named) == 0;
}

/* The step of the checkpoint that the next start would load. */
static int64_t newest_step(const cse_retention *r)
{
    int64_t *steps = NULL, newest = -1;
    int count = 0;
    if (cse_checkpoint_steps(r->options.model_dir, &steps, &count) == CSE_OK && count > 0)
        newest = steps[0];
    free(steps);
    return newest;
}

static void tell_removed(const cse_retention *r, cse_recorder *recorder, const char *path)
{
    cse_text line = { 0 };
    cse_text_add(&line, "removed checkpoint %s (checkpoint.%s)", path,
                 r->options.replay_budget > 0 ? "replay_budget" : "keep");
    cse_recorder_line(recorder, line.data);
    cse_text_clear(&line);
}

static int by_step(const void *a, const void *b)
{
    const int64_t x = ((const owned *)a)->step, y = ((const owned *)b)->step;
    return (x > y) - (x < y);
}

/* Removing alone cannot make a gap shorter. */
static void tell_long_gaps(cse_retention *r, int64_t gap)
{
    const int last = r->count - 1;
    if (r->told_long_gaps || last < 1 || r->list[last].step - r->list[last - 1].step <= gap)
        return;
    r->told_long_gaps = true;
    cse_log_line(CSE_LOG_WARNING,
                 "checkpoints are %lld steps apart, which take %.3g s to be done again: more than "
                 "checkpoint.replay_budget (%g s) allows, which are %lld steps; write them more "
                 "often (checkpoint.steps, checkpoint.minutes)",
                 (long long)(r->list[last].step - r->list[last - 1].step),
                 (double)(r->list[last].step - r->list[last - 1].step) * r->step_seconds,
                 r->options.replay_budget, (long long)gap);
}

static bool must_stay(const cse_retention *r, const owned *o, int64_t newest)
{
    char path[PATH_MAX];
    return o->step == newest || o == best(r) || !is_file(r, o, path) || is_named(r, path);
}

/* Marks the newest, and with a budget those of the ladder, for which it orders the list by step. */
static void choose(cse_retention *r, int64_t newest)
{
    const int64_t keep = r->options.keep > 0 ? r->options.keep : 1;
    if (r->options.replay_budget <= 0) {
        for (int i = 0; i < r->count; i++)
            r->list[i].stays = i >= r->count - keep || must_stay(r, &r->list[i], newest);
        return;
    }
    qsort(r->list, (size_t)r->count, sizeof *r->list, by_step);
    int64_t *steps = cse_calloc((size_t)r->count + 1, sizeof *steps);
    bool *stays = cse_calloc((size_t)r->count + 1, sizeof *stays);
    const cse_checkpoint_ladder ladder = {
        .newest = r->step_seconds > 0 ? keep : r->count + 1,
        .most_gap = cse_checkpoint_ladder_gap(r->options.replay_budget, r->step_seconds),
    };
    for (int i = 0; i < r->count; i++) {
        steps[i] = r->list[i].step;
        stays[i] = must_stay(r, &r->list[i], newest);
    }
    cse_checkpoint_ladder_choose(&ladder, steps, r->count, stays);
    for (int i = 0; i < r->count; i++)
        r->list[i].stays = stays[i];
    if (r->step_seconds > 0)
        tell_long_gaps(r, ladder.most_gap);
    free(steps);
    free(stays);
}

void cse_retention_step_seconds(cse_retention *r, double seconds)
{
    if (r != NULL)
        r->step_seconds = seconds;
}

void cse_retention_apply(cse_retention *r, cse_recorder *recorder)
{
    char path[PATH_MAX];
    if (r == NULL)
        return;
    for (int i = r->count - 1; i >= 0; i--) /* others of their names are not the run's any more */
        if (!is_file(r, &r->list[i], path))
            drop(r, i);
    choose(r, newest_step(r));
    for (int i = r->count - 1; i >= 0; i--) {
        if (r->list[i].stays || !is_file(r, &r->list[i], path))
            continue;
        if (unlink(path) != 0) {
            cse_log_line(CSE_LOG_WARNING, "%s: cannot be removed: %s", path, strerror(errno));
            continue;
        }
        tell_removed(r, recorder, path);
        drop(r, i);
    }
}
