/* Fields of the job come first: a label or a setting of the same name is found by its full path. */
#include "dashboard/query/lookup.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_BYTES = 40 };

const char *const cse_lookup_fields[] = {
    "id",       "name",      "state",      "reason",     "message",
    "model",    "priority",  "optimizer",  "token",      "attempt",
    "seed",     "restarts",  "batch_size", "num_csx",    "micro_batch_size",
    "host",     "ran_ms",    "created_ms", "started_ms", "ended_ms",
    "health",   "step",      "last_step",  "rate",       "loss",
    "min_loss", "retryable", "model_dir",  "exit_code",  "note",
    "notes",    NULL
};

static const char *const of_progress[][2] = { { "step", "step" },
                                              { "last_step", "last_step" },
                                              { "rate", "samples_per_second" },
                                              { "loss", "loss" },
                                              { "min_loss", "minimum_loss" } };

typedef void take_text(void *self, const char *text);

static void tell(const json_t *value, take_text *take, void *self)
{
    char text[NUMBER_BYTES];
    if (json_is_string(value))
        take(self, json_string_value(value));
    else if (json_is_integer(value) || json_is_real(value)) {
        snprintf(text, sizeof text, "%.17g", json_number_value(value));
        take(self, text);
    } else if (json_is_boolean(value))
        take(self, json_is_true(value) ? "true" : "false");
}

static bool field(const char *name, const json_t *job, take_text *take, void *self)
{
    const json_t *progress = json_object_get(job, "progress"), *one;
    size_t i;
    for (i = 0; i < sizeof of_progress / sizeof of_progress[0]; i++)
        if (strcmp(name, of_progress[i][0]) == 0) {
            tell(json_object_get(progress, of_progress[i][1]), take, self);
            return true;
        }
    for (i = 0; cse_lookup_fields[i] != NULL; i++)
        if (strcmp(name, cse_lookup_fields[i]) == 0)
            break;
    if (cse_lookup_fields[i] == NULL)
        return false;
    const json_t *value = json_object_get(job, name);
    if (json_is_array(value)) {
        json_array_foreach(value, i, one) tell(json_object_get(one, "kind"), take, self);
    } else {
        tell(value, take, self);
    }
    return true;
}

/* "val_loss", "min(val_loss)", "at(val_loss)": the latter only where a step was asked for. */
static bool series(const char *name, const json_t *metrics, take_text *take, void *self)
{
    static const char *const functions[] = { "last", "min", "max", "at" };
    char series[256];
    const char *member = "last", *open = strchr(name, '(');
    snprintf(series, sizeof series, "%s", name);
    for (size_t i = 0; open != NULL && i < sizeof functions / sizeof functions[0]; i++)
        if ((size_t)(open - name) == strlen(functions[i]) &&
            strncasecmp(name, functions[i], strlen(functions[i])) == 0) {
            member = functions[i];
            snprintf(series, sizeof series, "%s", open + 1);
            series[strcspn(series, ")")] = '\0';
        }
    const json_t *found = json_object_get(json_object_get(metrics, series), member);
    if (found != NULL)
        tell(found, take, self);
    return found != NULL;
}

/* Whether `name` is the path, or its end from a dot on. */
static bool ends_path(const char *path, const char *name)
{
    const size_t all = strlen(path), own = strlen(name);
    return own <= all && strcmp(path + all - own, name) == 0 &&
           (own == all || path[all - own - 1] == '.');
}

static bool setting(const char *name, const json_t *settings, take_text *take, void *self)
{
    const char *path;
    json_t *value;
    bool found = false;
    json_object_foreach((json_t *)(uintptr_t)settings, path, value) if (ends_path(path, name))
    {
        tell(value, take, self);
        found = true;
    }
    return found;
}

bool cse_lookup(const char *name, const json_t *job, const json_t *values, take_text *take,
                void *self)
{
    if (field(name, job, take, self))
        return true;
    const json_t *label = json_object_get(json_object_get(job, "labels"), name);
    if (label != NULL) {
        tell(label, take, self);
        return true;
    }
    return series(name, json_object_get(values, "metrics"), take, self) ||
           setting(name, json_object_get(values, "settings"), take, self);
}

bool cse_lookup_word(const char *word, const json_t *job)
{
    static const char *const members[] = { "id", "name", "model", "optimizer", "state" };
    const char *key;
    json_t *value;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const char *text = json_string_value(json_object_get(job, members[i]));
        if (text != NULL && strcasestr(text, word) != NULL)
            return true;
    }
    json_object_foreach(json_object_get(job, "labels"), key,
                        value) if (strcasestr(key, word) != NULL ||
                                   strcasestr(json_string_value(value), word) != NULL) return true;
    return false;
}
