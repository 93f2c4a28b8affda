/* Each variant is a `csengine fork`. What the ablation is stands in ablation.json before anything
 * else happens, so that the same command finds its variants again, and no other takes them. A
 * variant that was not complete is done again from the step on: it has the same bits. */
#include "cli/sweep/ablation.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/sweep/sweep_child.h"
#include "engine/base/config/yaml.h"
#include "engine/base/directory.h"
#include "engine/base/file_replace.h"
#include "engine/base/text.h"
#include "store/reader.h"
#include "workers/control/process.h"

static const char unchanged[] = "unchanged", kept_name[] = "ablation.json";
static const char accepted[] = "accepted: a mapping of settings, such as optimizer.SGD.lr: 0.05";

/* ---- the plan ---- */

/* Letters, digits, '.', '_' and '-': it becomes a folder. */
static cse_status name_of(cse_arena *arena, const char *file, const char **name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const char *base = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
    const char *end = strrchr(base, '.');
    const size_t length = end != NULL && end > base ? (size_t)(end - base) : strlen(base);
    *name = cse_arena_printf(arena, "%.*s", (int)length, base);
    if (length > 0 && base[0] != '.' && strspn(*name, letters) == length)
        return CSE_OK;
    return cse_fail(CSE_USAGE,
                    "ablate: --each %s: the name of the file names the variant and its folder: "
                    "accepted are letters, digits, '_', '-' and '.'",
                    file);
}

static cse_status check_name(const cse_ablation *a, const char *name)
{
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->variants[i].name, name) == 0 || strcmp(name, "compiled") == 0)
            return cse_fail(CSE_USAGE,
                            "ablate: --each: there is a variant \"%s\" already; give each file "
                            "another name",
                            name);
    return CSE_OK;
}

static cse_status wrong(cse_place place, const char *what)
{
    const cse_error error = {
        .status = CSE_CONFIG, .context = "ablate: ", .place = place, .accepted = accepted
    };
    return cse_fail_at(&error, "%s", what);
}

/* {PATH: VALUE} as "PATH=VALUE". */
static cse_status read_settings(cse_arena *arena, const char *file, const char ***settings)
{
    cse_yaml_node *root = NULL;
    CSE_TRY(cse_yaml_parse_file(arena, file, &root));
    if (root->kind != CSE_YAML_MAPPING || root->count == 0)
        return wrong(root->place, "the file of a variant holds no settings");
    *settings = cse_arena_alloc(arena, ((size_t)root->count + 1) * sizeof **settings);
    for (int i = 0; i < root->count; i++) {
        cse_text value = { 0 };
        if (strchr(root->keys[i].text, '=') != NULL || root->keys[i].text[0] == '\0')
            return wrong(root->keys[i].place, "this is no path of a setting");
        cse_yaml_print(root->children[i], &value);
        (*settings)[i] = cse_arena_printf(arena, "%s=%s", root->keys[i].text, value.data);
        cse_text_clear(&value);
    }
    (*settings)[root->count] = NULL;
    return CSE_OK;
}

static void add_variant(cse_ablation *a, const char *name, const char **settings)
{
    a->variants[a->count++] = (cse_ablation_variant){
        .name = name,
        .model_dir = cse_arena_printf(a->arena, "%s/%s", a->folder, name),
        .settings = settings,
    };
}

static cse_status status_of(const char *model_dir, cse_run_status *run)
{
    cse_store_reader *reader = NULL;
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    cse_status status = cse_store_reader_status(reader, run);
    cse_store_reader_close(&reader);
    return status;
}

/* The run's own future is that of the unchanged variant where it has gone as far, and no setting is
 * changed for all. */
static cse_status add_unchanged(cse_ablation *a)
{
    static const char *none[] = { NULL };
    cse_run_status run;
    CSE_TRY(status_of(a->run, &run));
    if (a->at > run.last_step)
        return cse_fail(CSE_NO_INPUT, "step %" PRId64 ": %s has done the steps 1 to %" PRId64,
                        a->at, a->run, run.last_step > 0 ? run.last_step : 0);
    if (a->end > 0 && a->end <= a->at)
        return cse_fail(CSE_USAGE,
                        "ablate: --max_steps %" PRId64 " leaves no step after --at %" PRId64,
                        a->end, a->at);
    add_variant(a, unchanged, none);
    a->variants[0].is_own = a->settings[0] == NULL && run.last_step > a->at &&
                            (a->end > 0 ? run.last_step >= a->end : run.state == CSE_RUN_SUCCEEDED);
    if (a->variants[0].is_own)
        a->variants[0].model_dir = a->run;
    return CSE_OK;
}

cse_status cse_ablation_plan(cse_ablation *a, const char *const *files)
{
    int count = 0;
    while (files[count] != NULL)
        count++;
    if (count > CSE_ABLATION_MOST_VARIANTS)
        return cse_fail(CSE_USAGE, "ablate: --each: at most %d files", CSE_ABLATION_MOST_VARIANTS);
    a->variants = cse_arena_alloc(a->arena, ((size_t)count + 1) * sizeof *a->variants);
    a->count = 0;
    CSE_TRY(add_unchanged(a));
    for (int i = 0; i < count; i++) {
        const char *name = NULL, **settings = NULL;
        CSE_TRY(name_of(a->arena, files[i], &name));
        CSE_TRY(check_name(a, name));
        CSE_TRY(read_settings(a->arena, files[i], &settings));
        add_variant(a, name, settings);
    }
    return CSE_OK;
}

/* ---- its folder ---- */

static json_t *list_json(const char *const *settings)
{
    json_t *list = json_array();
    for (; *settings != NULL; settings++)
        json_array_append_new(list, json_string(*settings));
    return list;
}

/* What the ablation is; variants may be added to it later. */
static json_t *identity_json(const cse_ablation *a, const char *run)
{
    json_t *variants = json_object();
    for (int i = 0; i < a->count; i++)
        json_object_set_new(variants, a->variants[i].name, list_json(a->variants[i].settings));
    return json_pack("{s:s, s:I, s:I, s:o, s:o}", "run", run, "at", (json_int_t)a->at, "max_steps",
                     (json_int_t)a->end, "settings", list_json(a->settings), "variants", variants);
}

static bool is_same(const json_t *kept, const json_t *now)
{
    static const char *const keys[] = { "run", "at", "max_steps", "settings" };
    const char *name;
    json_t *settings;
    for (int i = 0; i < 4; i++)
        if (!json_equal(json_object_get(kept, keys[i]), json_object_get(now, keys[i])))
            return false;
    json_object_foreach(json_object_get(now, "variants"), name, settings)
    {
        const json_t *before = json_object_get(json_object_get(kept, "variants"), name);
        if (before != NULL && !json_equal(before, settings))
            return false;
    }
    return true;
}

static cse_status note(const cse_ablation *a, const char *path, json_t *kept, json_t *now)
{
    json_t *variants = json_object_get(now, "variants");
    json_object_update_missing(variants, json_object_get(kept, "variants"));
    char *text = json_dumps(now, JSON_INDENT(1));
    cse_status status = cse_make_directories("ablate", a->folder);
    if (status == CSE_OK)
        status = cse_file_replace(path, text, strlen(text));
    free(text);
    return status;
}

static cse_status take_folder(const cse_ablation *a)
{
    char path[PATH_MAX], run[PATH_MAX];
    if (realpath(a->run, run) == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", a->run, strerror(errno));
    snprintf(path, sizeof path, "%s/%s", a->folder, kept_name);
    json_t *kept = json_load_file(path, 0, NULL), *now = identity_json(a, run);
    cse_status status = CSE_OK;
    if (access(path, F_OK) == 0 && !is_same(kept, now))
        status = cse_fail(CSE_CONFIG,
                          "%s holds another ablation, or this one before its files were changed: "
                          "give another --model_dir, or move it away",
                          a->folder);
    if (status == CSE_OK)
        status = note(a, path, kept, now);
    json_decref(kept);
    json_decref(now);
    return status;
}

/* ---- its runs ---- */

static const char **words_of(const cse_ablation *a, const cse_ablation_variant *v,
                             const char *executable)
{
    const char *const *lists[] = { a->settings, v->settings };
    int settings = 0, count = 0;
    for (int l = 0; l < 2; l++)
        for (int i = 0; lists[l][i] != NULL; i++)
            settings++;
    const char **words = cse_arena_alloc(a->arena, (2 * (size_t)settings + 12) * sizeof *words);
    words[count++] = executable;
    words[count++] = "fork";
    words[count++] = "--json";
    words[count++] = "--no_dashboard";
    words[count++] = cse_arena_printf(a->arena, "--at=%" PRId64, a->at);
    words[count++] = cse_arena_printf(a->arena, "--model_dir=%s", v->model_dir);
    words[count++] = cse_arena_printf(a->arena, "--compile_dir=%s/compiled", a->folder);
    if (a->end > 0)
        words[count++] = cse_arena_printf(a->arena, "--max_steps=%" PRId64, a->end);
    if (a->num_csx > 0)
        words[count++] = cse_arena_printf(a->arena, "--num_csx=%" PRId64, a->num_csx);
    for (int l = 0; l < 2; l++)
        for (int i = 0; lists[l][i] != NULL; i++) {
            words[count++] = "--set";
            words[count++] = lists[l][i];
        }
    words[count++] = a->run;
    words[count] = NULL;
    return words;
}

/* A fork that has done no step of its own has the state of the run. */
static bool is_complete(const cse_ablation *a, const char *model_dir)
{
    cse_run_status run;
    return access(model_dir, F_OK) == 0 && status_of(model_dir, &run) == CSE_OK &&
           run.state == CSE_RUN_SUCCEEDED && run.last_step > a->at;
}

static cse_status train(const cse_ablation *a, cse_ablation_variant *v, const char *executable)
{
    cse_status status = CSE_OK;
    const char *errors = cse_arena_printf(a->arena, "%s.log", v->model_dir);
    if (v->is_own || is_complete(a, v->model_dir))
        return CSE_OK;
    if (a->on_begin != NULL)
        a->on_begin(v);
    cse_remove_tree(v->model_dir);
    const int exit_code = cse_sweep_child_run(words_of(a, v, executable), errors, &status);
    CSE_TRY(status);
    if (cse_sweep_is_interrupted())
        return cse_fail(CSE_INTERRUPTED, "interrupted; the same command goes on");
    if (exit_code != 0)
        v->failure = cse_sweep_child_message(errors, a->arena);
    return CSE_OK;
}

cse_status cse_ablation_run(cse_ablation *a)
{
    char executable[PATH_MAX];
    CSE_TRY(cse_worker_executable(NULL, executable, sizeof executable));
    CSE_TRY(take_folder(a));
    for (int i = 0; i < a->count; i++)
        CSE_TRY(train(a, &a->variants[i], executable));
    return CSE_OK;
}
