/* The checkpoint that it begins from is linked into its folder, as the newest one there, so that
 * the start is a resume: it fails where the data are others. On one file system it is the same
 * file, which a confined process may read in its own folder. */
#include "run/travel/replay.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/directory.h"
#include "engine/base/piped_program.h"
#include "engine/code/execute/execute.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "run/record/recorded_configuration.h"
#include "run/travel/replay_verdict.h"
#include "run/travel/run_checkpoints.h"
#include "workers/control/process.h"

enum { MOST_WORDS = 768 };

/* ---- what a run has ---- */

cse_status cse_replay_configuration(const char *model_dir, cse_arena *arena, const char **yaml)
{
    cse_store_reader *reader = NULL;
    cse_text content = { 0 };
    char type[64];
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    cse_status status =
        cse_store_reader_artefact(reader, "config.given.yaml", &content, type, sizeof type);
    cse_store_reader_close(&reader);
    if (status == CSE_OK)
        *yaml = cse_arena_string(arena, content.data);
    else
        status = cse_fail(CSE_NO_INPUT,
                          "%s: its run store holds no configuration, so that its steps cannot be "
                          "done again: only runs of a configuration can, not those of a program",
                          model_dir);
    cse_text_clear(&content);
    return status;
}

static cse_status check_step(const char *model_dir, int64_t step)
{
    int64_t last;
    CSE_TRY(cse_store_last_step(model_dir, &last));
    if (step >= 0 && step <= (last > 0 ? last : 0))
        return CSE_OK;
    return cse_fail(CSE_NO_INPUT, "step %" PRId64 ": %s has done the steps 1 to %" PRId64, step,
                    model_dir, last > 0 ? last : 0);
}

/* ---- the command ---- */

typedef struct words {
    const char *list[MOST_WORDS];
    int count;
    cse_arena *arena;
} words;

static void add(words *w, const char *word)
{
    assert(w->count + 1 < MOST_WORDS);
    w->list[w->count++] = word;
}

static void set(words *w, const char *setting)
{
    add(w, "--set");
    add(w, setting);
}

/* In single quotes, as YAML has them. */
static const char *quoted(cse_arena *arena, const char *text)
{
    cse_text out = { 0 };
    cse_text_add(&out, "'");
    for (; *text != '\0'; text++)
        cse_text_add(&out, "%s%c", *text == '\'' ? "'" : "", *text);
    cse_text_add(&out, "'");
    const char *kept = cse_arena_string(arena, out.data);
    cse_text_clear(&out);
    return kept;
}

/* Of the last step alone, which is the first multiple of its own number. Statistics need states in
 * memory. */
static void set_values(words *w, const cse_replay_options *o)
{
    set(w, cse_arena_printf(w->arena, "numerics.every=%" PRId64, o->step));
    set(w, "numerics.tensors=[]");
    set(w, cse_arena_printf(w->arena, "numerics.values=%s", quoted(w->arena, o->values)));
    set(w, "numerics.microbatches=[]");
    set(w, "states.keep_in=memory");
}

/* What changes no bit of a step, and is of no use here. */
static void add_settings(words *w, const cse_replay_options *o, bool from_start)
{
    static const char *const settings[] = {
        "fit.val_dataloader=null",
        "loop.num_steps=null",
        "loop.num_epochs=null",
        "loop.eval_frequency=null",
        "loop.diverged_factor=0",
        "checkpoint.minutes=0",
        "checkpoint.keep=null",
        "checkpoint.replay_budget=null",
        "checkpoint.keep_best={}",
        "loggers=null",
        "samples.count=0",
        "step_digests=true",
        "backend.cluster_config.hosts=[]",
        "backend.cluster_config.data_hosts=[]",
        "backend.cluster_config.job_time_sec=null",
        "checkpoint.autoload_last_checkpoint=true",
        "checkpoint.new_data=false",
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        set(w, settings[i]);
    set(w, cse_arena_printf(w->arena, "checkpoint.steps=%" PRId64, o->every));
    if (!from_start)
        set(w, "fit.ckpt_path=newest");
    if (o->step == 0)
        set(w, "checkpoint.save_initial_checkpoint=true");
    if (o->values != NULL)
        set_values(w, o);
    if (o->num_csx > 0)
        add(w, cse_arena_printf(w->arena, "--num_csx=%d", o->num_csx));
    for (int i = 0; o->settings != NULL && o->settings[i] != NULL; i++)
        set(w, o->settings[i]);
}

static cse_status write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    const bool written = file != NULL && fputs(text, file) >= 0;
    return (file != NULL && fclose(file) != 0) || !written
               ? cse_fail(CSE_IO, "%s: %s", path, strerror(errno))
               : CSE_OK;
}

/* In the folder in which paths of the configuration begin. */
static cse_status start_in(const words *w, const char *yaml, const char *errors, pid_t *child,
                           int *output)
{
    char folder[PATH_MAX];
    const int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool moved = here >= 0 && cse_configuration_folder(yaml, folder) && chdir(folder) == 0;
    cse_status status =
        cse_piped_program_start((char *const *)(uintptr_t)w->list, errors, child, output);
    if (moved && fchdir(here) != 0)
        status = cse_fail(CSE_NO_INPUT, "the current folder is gone");
    if (here >= 0)
        close(here);
    return status;
}

static cse_status run_child(const words *w, const char *yaml, const char *folder)
{
    char errors[PATH_MAX + 16], message[1024];
    pid_t child = -1;
    int output = -1;
    cse_text nothing = { 0 };
    snprintf(errors, sizeof errors, "%s/errors", folder);
    CSE_TRY(start_in(w, yaml, errors, &child, &output));
    cse_piped_program_read(output, 0, &nothing);
    close(output);
    cse_text_clear(&nothing);
    if (cse_piped_program_wait(child) == 0)
        return CSE_OK;
    cse_piped_program_error(errors, message, sizeof message);
    const char *unknown = strstr(message, "numerics.values: ");
    if (unknown != NULL)
        return cse_fail(CSE_NO_INPUT, "no state has this name, and %s",
                        unknown + strlen("numerics.values: "));
    return cse_fail(CSE_UNAVAILABLE, "the steps cannot be done again: %s",
                    message[0] != '\0' ? message : "it ended without a message");
}

const char *cse_replay_artefact(const char *model_dir, cse_arena *arena)
{
    cse_store_reader *reader = NULL;
    cse_text text = { 0 };
    const char *folder = NULL;
    if (cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return NULL;
    if (cse_store_reader_key(reader, "compiled", &text)) {
        json_t *compiled = json_loads(text.data, 0, NULL);
        const char *path = json_string_value(json_object_get(compiled, "directory"));
        folder = path != NULL ? cse_arena_string(arena, path) : NULL;
        json_decref(compiled);
    }
    cse_text_clear(&text);
    cse_store_reader_close(&reader);
    return folder;
}

/* Where the run's artefacts lie, so that nothing is compiled again; NULL: not known. */
static const char *compiled_in(const char *model_dir, cse_arena *arena)
{
    const char *path = cse_replay_artefact(model_dir, arena);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL && slash != path
               ? cse_arena_printf(arena, "%.*s", (int)(slash - path), path)
               : NULL;
}

cse_status cse_replay_graph(const char *folder, cse_graph **graph)
{
    cse_arena *arena = cse_arena_new();
    const char *path = cse_replay_artefact(folder, arena);
    *graph = NULL;
    cse_status status = path != NULL
                            ? cse_executable_read_graph(path, NULL, graph)
                            : cse_fail(CSE_INTERNAL, "%s does not say what it compiled", folder);
    cse_arena_destroy(&arena);
    return status;
}

/* ---- the replay ---- */

typedef struct task {
    const cse_replay_options *options;
    const cse_run_chain *run;
    const char *configuration; /* a file; NULL: that of the run */
    cse_arena *arena;
} task;

/* What it begins with. */
typedef struct beginning {
    const char *folder; /* of the checkpoint of step replay->from; NULL: the run's start, or: */
    const char *path;   /* of that checkpoint */
    const char *states_digest; /* checkpoint.begins_with; NULL: the checkpoint is the run's own */
} beginning;

static cse_status link_start(const beginning *b, const cse_replay *replay)
{
    char from[PATH_MAX], whole[PATH_MAX], to[PATH_MAX];
    if (b->folder == NULL && b->path == NULL)
        return CSE_OK;
    if (b->path != NULL)
        snprintf(from, sizeof from, "%s", b->path);
    else
        cse_checkpoint_path(b->folder, replay->from, from, sizeof from);
    cse_checkpoint_path(replay->folder, replay->from, to, sizeof to);
    if (realpath(from, whole) == NULL || (link(whole, to) != 0 && symlink(whole, to) != 0))
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", to, strerror(errno));
    return CSE_OK;
}

static void add_compile_dir(words *w, const cse_replay_options *o)
{
    const char *place = o->compile_dir;
    if (place != NULL && o->confinement != NULL)
        add(w, cse_arena_printf(w->arena, "--output_root=%s", place));
    if (place == NULL && o->confinement == NULL && o->model_dir != NULL)
        place = compiled_in(o->model_dir, w->arena);
    if (place != NULL)
        add(w, cse_arena_printf(w->arena, "--compile_dir=%s", place));
}

static cse_status do_again(const task *t, cse_replay *replay, const beginning *b)
{
    char executable[PATH_MAX];
    const cse_replay_options *o = t->options;
    cse_arena *arena = t->arena;
    const char *yaml = "", *config = t->configuration;
    words w = { .arena = arena };
    if (config == NULL)
        CSE_TRY(cse_replay_configuration(o->model_dir, arena, &yaml));
    CSE_TRY(cse_worker_executable(NULL, executable, sizeof executable));
    const char *temporary = o->place != NULL ? o->place : getenv("TMPDIR");
    snprintf(replay->folder, sizeof replay->folder, "%s/csengine-replay-XXXXXX",
             temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (mkdtemp(replay->folder) == NULL) {
        replay->folder[0] = '\0';
        return cse_fail(CSE_CANNOT_CREATE, "no folder for the replay: %s", strerror(errno));
    }
    CSE_TRY(link_start(b, replay));
    if (config == NULL) {
        config = cse_arena_printf(arena, "%s/config.yaml", replay->folder);
        CSE_TRY(write_file(config, yaml));
    }
    add(&w, executable);
    add(&w, "start");
    add(&w, "--quiet");
    add(&w, "--no_dashboard");
    for (int i = 0; o->confinement != NULL && o->confinement[i] != NULL; i++)
        add(&w, o->confinement[i]);
    add_settings(&w, o, b->folder == NULL && b->path == NULL);
    if (b->states_digest != NULL)
        set(&w, cse_arena_printf(arena, "checkpoint.begins_with=%s", b->states_digest));
    add(&w, cse_arena_printf(arena, "--model_dir=%s", replay->folder));
    add_compile_dir(&w, o);
    add(&w, cse_arena_printf(arena, "--max_steps=%" PRId64, o->step > 0 ? o->step : 1));
    add(&w, config);
    CSE_TRY(run_child(&w, yaml, replay->folder));
    cse_checkpoint_path(replay->folder, o->step, replay->checkpoint, sizeof replay->checkpoint);
    return access(replay->checkpoint, R_OK) == 0
               ? CSE_OK
               : cse_fail(CSE_INTERNAL, "the replay has no checkpoint of step %" PRId64, o->step);
}

/* Does them again and compares. */
static cse_status do_and_judge(const task *t, const beginning *b, cse_replay *replay)
{
    cse_run_chain again = { .count = 0 };
    cse_status status = do_again(t, replay, b);
    if (status == CSE_OK)
        status = cse_run_chain_read(replay->folder, 0, 0, &again);
    if (status == CSE_OK)
        cse_replay_judge(t->options->model_dir, t->run, &again, replay);
    cse_run_chain_clear(&again);
    return status;
}

/* From states that an earlier replay left after `step` steps. False, and all is as before, where
 * they cannot be gone on from, or lead to other bits. */
static bool go_on(const task *t, int64_t step, cse_replay *replay, cse_status *status)
{
    char digits[2 * CSE_CHAIN_PART_BYTES + 1];
    const cse_replay before = *replay;
    const cse_kept_states *kept = &t->options->kept;
    const cse_chain_step *row = cse_run_chain_at(t->run, step);
    sodium_bin2hex(digits, sizeof digits, row->states, sizeof row->states);
    const beginning b = {
        .folder = kept->folder,
        .states_digest = cse_arena_printf(t->arena, "%" PRId64 " %s", step, digits),
    };
    replay->from = step;
    replay->from_kept = true;
    *status = do_and_judge(t, &b, replay);
    if (*status == CSE_NO_INPUT || (*status == CSE_OK && replay->verdict != CSE_REPLAY_OTHER)) {
        cse_kept_states_touch(kept, step);
        return true;
    }
    cse_replay_clear(replay);
    *replay = before;
    return false;
}

static cse_kept_states kept_of(const cse_replay_options *o)
{
    return o->step > 0 ? o->kept : (cse_kept_states){ .most = 0 };
}

static cse_status do_steps(const task *t, const beginning *b, cse_replay *replay)
{
    const cse_replay_options *o = t->options;
    const cse_kept_states kept = kept_of(o);
    const int64_t end = o->latest < o->step - 1 ? o->latest + 1 : o->step;
    cse_text refused = { 0 };
    cse_status status = CSE_OK;
    const int64_t step = cse_kept_states_find(&kept, t->run, replay->from, end, &refused);
    const bool went_on = step >= 0 && go_on(t, step, replay, &status);
    if (!went_on)
        status = do_and_judge(t, b, replay);
    const bool good = status == CSE_OK && replay->verdict != CSE_REPLAY_OTHER;
    if (good && !went_on && step >= 0) {
        cse_kept_states_remove(&kept, step);
        cse_text_add(&refused,
                     "; states of step %" PRId64 " that an earlier replay had left could not be "
                     "gone on from, or led to other bits, and were removed",
                     step);
    }
    if (good && refused.size > 0)
        cse_text_add(&replay->words, "%s", refused.data);
    if (good && replay->verdict == CSE_REPLAY_SAME)
        cse_kept_states_add(&kept, replay->checkpoint, o->step);
    cse_text_clear(&refused);
    return status;
}

static cse_status replay_with(const task *t, cse_replay *replay)
{
    const cse_replay_options *o = t->options;
    const cse_run_chain *run = t->run, none = { .count = 0 };
    int64_t found = 0;
    const int64_t last_begin = o->values != NULL ? o->step - 1 : o->step;
    const int64_t newest = o->latest < last_begin ? o->latest : last_begin;
    const bool any = cse_run_checkpoint_before(o->model_dir, run, newest, &found);
    const cse_chain_step *last = cse_run_chain_at(run, o->step);
    if (o->begin != NULL) {
        replay->from = o->step - 1;
        return do_and_judge(t, &(beginning){ .folder = o->begin }, replay);
    }
    /* One that was started from another run's checkpoint has no step before that. */
    replay->from = any ? found : run->count > 0 ? run->steps[0].steps - 1 : 0;
    replay->has_chain = last != NULL;
    if (last != NULL)
        memcpy(replay->chain, last->chain, CSE_CHAIN_BYTES);
    if (!any || found != o->step || o->settings != NULL)
        return do_steps(t, &(beginning){ .folder = any ? o->model_dir : NULL }, replay);
    cse_checkpoint_path(o->model_dir, found, replay->checkpoint, sizeof replay->checkpoint);
    replay->has_chain = last != NULL && cse_checkpoint_has_chain(replay->checkpoint);
    cse_replay_judge(o->model_dir, run, &none, replay);
    return CSE_OK;
}

cse_status cse_replay_run(const cse_replay_options *options, cse_replay *replay)
{
    cse_run_chain run = { .count = 0 };
    *replay = (cse_replay){ .step = options->step };
    CSE_TRY(check_step(options->model_dir, options->step));
    cse_arena *arena = cse_arena_new();
    cse_status status = cse_run_chain_read(options->model_dir, 0, options->step, &run);
    if (status == CSE_OK)
        status = replay_with(&(task){ .options = options, .run = &run, .arena = arena }, replay);
    cse_run_chain_clear(&run);
    cse_arena_destroy(&arena);
    return status;
}

cse_status cse_replay_from(const cse_replay_options *options,
                           const cse_replay_checkpoint *checkpoint, cse_replay *replay,
                           cse_run_chain *again)
{
    *replay = (cse_replay){ .step = options->step, .from = checkpoint->from };
    *again = (cse_run_chain){ .count = 0 };
    cse_arena *arena = cse_arena_new();
    const task t = { .options = options,
                     .configuration = checkpoint->configuration,
                     .arena = arena };
    cse_status status = do_again(&t, replay, &(beginning){ .path = checkpoint->path });
    if (status == CSE_OK)
        status = cse_run_chain_read(replay->folder, 0, 0, again);
    cse_arena_destroy(&arena);
    return status;
}

void cse_replay_clear(cse_replay *replay)
{
    if (replay->folder[0] != '\0')
        cse_remove_tree(replay->folder);
    cse_text_clear(&replay->words);
    replay->folder[0] = '\0';
}
