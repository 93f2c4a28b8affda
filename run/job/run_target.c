/* One JSON object, written beside and renamed, so that it is whole or not there. */
#include "run/job/run_target.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/beneath.h"
#include "engine/base/config/yaml.h"
#include "engine/base/file_status.h"
#include "engine/formats/weights/new_file.h"

#define NAME "unfinished.json"
enum { VERSION = 1, MOST_TOLD = 8 };

bool cse_run_target_path(const char *model_dir, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/" NAME, model_dir) < PATH_MAX;
}

/* ---- of a job's settings ---- */

static void add_limit(cse_text *text, const char *name, int64_t value)
{
    if (value > 0)
        cse_text_add(text, "%s%s %" PRId64, text->size > 0 ? ", " : "", name, value);
}

cse_run_target cse_run_target_of(const cse_job_settings *s, cse_arena *arena)
{
    cse_text length = { 0 };
    add_limit(&length, s->num_steps_from_here ? "--num_steps" : "num_steps", s->loop.num_steps);
    add_limit(&length, "num_epochs", s->loop.num_epochs);
    add_limit(&length, "steps_per_epoch", s->loop.steps_per_epoch);
    add_limit(&length, "max_steps", s->loop.max_steps);
    cse_run_target target = { .settings =
                                  s->effective_settings != NULL ? s->effective_settings : "",
                              .length = length.size > 0 ? cse_arena_string(arena, length.data) : "",
                              .seed = s->session.seed };
    cse_text_clear(&length);
    return target;
}

/* ---- the file ---- */

static cse_status malformed(const char *path)
{
    return cse_fail_at(&(cse_error){ .status = CSE_DATA,
                                     .hint = "remove it: the limits given then count from the "
                                             "newest checkpoint" },
                       "%s: no run wrote this: it is to say where the unfinished run ends", path);
}

static cse_status take(const json_t *root, const char *path, cse_arena *arena,
                       const cse_run_target **result)
{
    json_int_t version = 0, first = -1, last = -1, seed = 0;
    const char *length = NULL, *settings = NULL;
    if (json_unpack((json_t *)(uintptr_t)root, "{s:I, s:I, s:I, s:s, s:I, s:s}", "version",
                    &version, "first_step", &first, "last_step", &last, "length", &length, "seed",
                    &seed, "settings", &settings) != 0 ||
        version != VERSION || first < 0 || last < first || last > INT32_MAX)
        return malformed(path);
    cse_run_target *target = cse_arena_alloc(arena, sizeof *target);
    *target = (cse_run_target){ .first_step = first,
                                .last_step = last,
                                .length = cse_arena_string(arena, length),
                                .settings = cse_arena_string(arena, settings),
                                .seed = (uint64_t)seed };
    *result = target;
    return CSE_OK;
}

cse_status cse_run_target_read(const char *model_dir, cse_arena *arena,
                               const cse_run_target **target)
{
    char path[PATH_MAX];
    *target = NULL;
    if (!cse_run_target_path(model_dir, path))
        return CSE_OK;
    FILE *file = cse_open_plain_stream(path);
    if (file == NULL)
        return errno == ENOENT || errno == ENOTDIR
                   ? CSE_OK
                   : cse_fail(cse_status_of_reading(errno), "%s: %s", path, strerror(errno));
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, NULL);
    fclose(file);
    cse_status status = take(root, path, arena, target);
    json_decref(root);
    return status;
}

cse_status cse_run_target_keep(const char *model_dir, const cse_run_target *target)
{
    char path[PATH_MAX];
    cse_new_file file;
    if (!cse_run_target_path(model_dir, path))
        return cse_fail(CSE_CANNOT_CREATE, "%s: the path is too long", model_dir);
    CSE_TRY(cse_new_file_open(&file, path));
    json_t *root = json_pack("{s:i, s:I, s:I, s:s, s:I, s:s}", "version", VERSION, "first_step",
                             (json_int_t)target->first_step, "last_step",
                             (json_int_t)target->last_step, "length", target->length, "seed",
                             (json_int_t)target->seed, "settings", target->settings);
    const bool written = root != NULL && json_dumpfd(root, file.descriptor, JSON_INDENT(2)) == 0;
    json_decref(root);
    return cse_new_file_close(
        &file,
        written ? CSE_OK : cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno)));
}

void cse_run_target_remove(const char *model_dir)
{
    char path[PATH_MAX];
    if (cse_run_target_path(model_dir, path))
        unlink(path);
}

/* ---- settings that are others now ---- */

typedef struct changes {
    cse_text *text;
    int count;
} changes;

static void add_change(changes *c, const char *path, const cse_yaml_node *before,
                       const cse_yaml_node *now)
{
    if (c->count++ >= MOST_TOLD)
        return;
    cse_text_add(c->text, "%s%s ", c->count > 1 ? ", " : "", path);
    if (now != NULL)
        cse_yaml_print(now, c->text);
    else
        cse_text_add(c->text, "not given");
    cse_text_add(c->text, " (it began ");
    if (before != NULL) {
        cse_text_add(c->text, "with ");
        cse_yaml_print(before, c->text);
    } else {
        cse_text_add(c->text, "without");
    }
    cse_text_add(c->text, ")");
}

static bool prints_alike(const cse_yaml_node *a, const cse_yaml_node *b)
{
    cse_text one = { 0 }, other = { 0 };
    cse_yaml_print(a, &one);
    cse_yaml_print(b, &other);
    const bool alike = one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
    cse_text_clear(&one);
    cse_text_clear(&other);
    return alike;
}

static void compare(changes *c, const char *path, const cse_yaml_node *before,
                    const cse_yaml_node *now)
{
    if (before == NULL || now == NULL || before->kind != CSE_YAML_MAPPING ||
        now->kind != CSE_YAML_MAPPING) {
        if (before == NULL || now == NULL || !prints_alike(before, now))
            add_change(c, path, before, now);
        return;
    }
    char below[512];
    for (int i = 0; i < now->count; i++) {
        snprintf(below, sizeof below, "%s%s%s", path, *path != '\0' ? "." : "", now->keys[i].text);
        compare(c, below, cse_yaml_find(before, now->keys[i].text), now->children[i]);
    }
    for (int i = 0; i < before->count; i++) {
        if (cse_yaml_find(now, before->keys[i].text) != NULL)
            continue;
        snprintf(below, sizeof below, "%s%s%s", path, *path != '\0' ? "." : "",
                 before->keys[i].text);
        compare(c, below, before->children[i], NULL);
    }
}

/* The settings of the training stand in the first line, those of its data in the second. */
static cse_yaml_node *line_of(const char *settings, int line, cse_arena *arena)
{
    cse_yaml_node *root = NULL;
    for (int i = 0; i < line; i++)
        settings += strcspn(settings, "\n") + (strchr(settings, '\n') != NULL);
    return cse_yaml_parse(arena, NAME, settings, strcspn(settings, "\n"), &root) == CSE_OK ? root
                                                                                           : NULL;
}

void cse_run_target_changes(const cse_run_target *before, const cse_run_target *now, cse_text *text)
{
    static const char *const paths[] = { "", "train_dataloader" };
    changes c = { .text = text };
    cse_arena *arena = cse_arena_new();
    for (int line = 0; line < 2; line++) {
        const cse_yaml_node *a = line_of(before->settings, line, arena),
                            *b = line_of(now->settings, line, arena);
        if (a != NULL && b != NULL && a->kind == CSE_YAML_MAPPING && b->kind == CSE_YAML_MAPPING)
            compare(&c, paths[line], a, b);
    }
    if (before->seed != now->seed) {
        c.count++;
        cse_text_add(text, "%sseed %" PRIu64 " (it began with %" PRIu64 ")",
                     c.count > 1 ? ", " : "", now->seed, before->seed);
    }
    if (c.count > MOST_TOLD)
        cse_text_add(text, ", and %d more", c.count - MOST_TOLD);
    cse_arena_destroy(&arena);
}
