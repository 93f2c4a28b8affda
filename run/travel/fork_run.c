/* A start in the new folder is a resume: its chain goes on from that of the checkpoint. */
#include "run/travel/fork_run.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/config/yaml.h"
#include "engine/base/directory.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "run/travel/run_checkpoints.h"
#include "store/fork.h"

void cse_fork_clear(cse_fork *fork)
{
    cse_text_clear(&fork->words);
    if (fork->arena != NULL)
        cse_arena_destroy(&fork->arena);
    *fork = (cse_fork){ .arena = NULL };
}

static cse_status link_checkpoint(const cse_fork_options *o, int64_t step)
{
    char from[PATH_MAX], to[PATH_MAX];
    cse_checkpoint_path(o->model_dir, step, from, sizeof from);
    cse_checkpoint_path(o->to, step, to, sizeof to);
    return link(from, to) == 0
               ? CSE_OK
               : cse_fail(CSE_CANNOT_CREATE,
                          "%s: %s: a fork shares files, and lies on the file system of the run", to,
                          strerror(errno));
}

static cse_status link_checkpoints(const cse_fork_options *o, const cse_run_chain *chain,
                                   cse_fork *fork)
{
    int64_t step = o->step;
    while (step >= 0 && cse_run_checkpoint_before(o->model_dir, chain, step, &step)) {
        CSE_TRY(link_checkpoint(o, step));
        fork->linked++;
        step--;
    }
    return CSE_OK;
}

/* The checkpoint of the step, where the run has none. */
static cse_status make_checkpoint(const cse_fork_options *o, cse_fork *fork)
{
    char to[PATH_MAX];
    cse_replay replay;
    cse_checkpoint_path(o->to, o->step, to, sizeof to);
    if (access(to, F_OK) == 0)
        return CSE_OK;
    cse_status status = cse_replay_run(&(cse_replay_options){ .model_dir = o->model_dir,
                                                              .step = o->step,
                                                              .num_csx = o->num_csx,
                                                              .latest = INT64_MAX,
                                                              .kept = o->kept,
                                                              .confinement = o->confinement,
                                                              .place = o->to },
                                       &replay);
    if (status == CSE_OK)
        cse_text_add(&fork->words, "%s", replay.words.data);
    if (status == CSE_OK && replay.verdict == CSE_REPLAY_OTHER)
        status = cse_fail(CSE_DATA, "step %" PRId64 " of %s: %s", o->step, o->model_dir,
                          replay.words.data);
    if (status == CSE_OK && rename(replay.checkpoint, to) != 0)
        status = cse_fail(CSE_CANNOT_CREATE, "%s: %s", to, strerror(errno));
    cse_replay_clear(&replay);
    return status;
}

static cse_status damaged(const cse_fork_options *o)
{
    return cse_fail(CSE_DATA, "%s: the configuration in its store is damaged", o->model_dir);
}

/* Adds the samples to fit.train_dataloader.without. */
static cse_status put_without(const cse_fork_options *o, cse_arena *arena, cse_yaml_node *fit)
{
    static const char key[] = "without";
    cse_yaml_node *data = cse_yaml_find(fit, "train_dataloader");
    if (data == NULL || data->kind != CSE_YAML_MAPPING)
        return damaged(o);
    cse_yaml_node *list = cse_yaml_sequence_new(arena, data->place);
    const cse_yaml_node *own = cse_yaml_find(data, key);
    for (int i = 0; own != NULL && own->kind == CSE_YAML_SEQUENCE && i < own->count; i++)
        cse_yaml_append(arena, list, own->children[i]);
    for (int64_t i = 0; i < o->without_count; i++)
        cse_yaml_append(arena, list,
                        cse_yaml_scalar_new(arena, data->place,
                                            cse_arena_printf(arena, "%" PRId64, o->without[i])));
    cse_yaml_put(arena, data, (cse_yaml_key){ .text = key, .place = data->place }, list);
    return CSE_OK;
}

/* The run's, with fit.ckpt_path: newest in place of what it began with, where steps are shared. */
static cse_status make_configuration(const cse_fork_options *o, bool shares, cse_arena *arena,
                                     const char **yaml)
{
    const char *given = NULL;
    cse_yaml_node *root = NULL;
    cse_text text = { 0 };
    *yaml = o->configuration;
    if (o->configuration != NULL)
        return CSE_OK;
    CSE_TRY(cse_replay_configuration(o->model_dir, arena, &given));
    CSE_TRY(cse_yaml_parse(arena, o->model_dir, given, strlen(given), &root));
    cse_yaml_node *trainer = cse_yaml_find(root, "trainer");
    cse_yaml_node *fit = trainer != NULL ? cse_yaml_find(trainer, "fit") : NULL;
    if (fit == NULL)
        return damaged(o);
    const cse_yaml_node *start = cse_yaml_find(fit, "ckpt_path");
    if (!shares && start != NULL && start->kind == CSE_YAML_SCALAR && start->text != NULL &&
        strcmp(start->text, "newest") == 0)
        cse_yaml_remove(fit, "ckpt_path"); /* the run went on from checkpoints of its own */
    if (shares)
        cse_yaml_put(arena, fit, (cse_yaml_key){ .text = "ckpt_path" },
                     cse_yaml_scalar_new(arena, fit->place, "newest"));
    if (o->without_count > 0)
        CSE_TRY(put_without(o, arena, fit));
    /* The first line says where paths begin. */
    cse_text_add(&text, "%.*s\n", (int)strcspn(given, "\n"), given);
    cse_yaml_print_block(root, &text);
    *yaml = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return CSE_OK;
}

cse_status cse_fork_configuration(const cse_fork_options *options, cse_arena *arena,
                                  const char **yaml)
{
    return make_configuration(options, options->step > 0, arena, yaml);
}

static cse_status check_folder(const cse_fork_options *o)
{
    char path[PATH_MAX];
    int64_t *steps = NULL;
    int count = 0;
    snprintf(path, sizeof path, "%s/run.db", o->to);
    const bool has_checkpoints = cse_checkpoint_steps(o->to, &steps, &count) == CSE_OK && count > 0;
    free(steps);
    return access(path, F_OK) != 0 && !has_checkpoints
               ? CSE_OK
               : cse_fail(CSE_CANNOT_CREATE, "%s: there is a run already; name a new folder",
                          o->to);
}

/* The step before the first use of a sample that is to be left out. */
static cse_status find_step(const cse_fork_options *o, cse_fork *fork)
{
    cse_store_reader *reader = NULL;
    cse_run_status run = { .last_step = 0 };
    const cse_first_use *use = &fork->first_use;
    CSE_TRY(make_configuration(o, false, fork->arena, &fork->configuration));
    CSE_TRY(cse_store_reader_open(o->model_dir, &reader));
    cse_status status = cse_store_reader_status(reader, &run);
    cse_store_reader_close(&reader);
    CSE_TRY(status);
    const cse_first_use_question question = { .model_dir = o->model_dir,
                                              .configuration = fork->configuration,
                                              .samples = o->without,
                                              .count = o->without_count,
                                              .last = o->step > 0 ? o->step : run.last_step };
    CSE_TRY(cse_first_use_find(&question, &fork->first_use));
    if (o->step > 0 && use->step > 0)
        return cse_fail(CSE_USAGE,
                        "fork: sample %" PRId64 " was used in step %" PRId64
                        " already: a run without it shares at most the steps before that; give "
                        "--at %" PRId64 ", or leave out --at",
                        use->sample, use->step, use->step - 1);
    if (o->step == 0 && use->step == 0)
        return cse_fail(CSE_USAGE,
                        "fork: no step of %s, 1 to %" PRId64 ", has used any of the samples: give "
                        "--at STEP",
                        o->model_dir, run.last_step);
    fork->step = o->step > 0 ? o->step : use->step - 1;
    return CSE_OK;
}

static cse_status share_steps(const cse_fork_options *o, cse_fork *fork)
{
    cse_run_chain chain = { .count = 0 };
    cse_status status = cse_run_chain_read(o->model_dir, 0, o->step, &chain);
    const cse_chain_step *last = status == CSE_OK ? cse_run_chain_at(&chain, o->step) : NULL;
    if (last != NULL)
        sodium_bin2hex(fork->chain, sizeof fork->chain, last->chain, CSE_CHAIN_BYTES);
    if (status == CSE_OK)
        status = link_checkpoints(o, &chain, fork);
    if (status == CSE_OK)
        status = make_checkpoint(o, fork);
    if (status == CSE_OK)
        status = cse_store_fork(o->model_dir, o->to, o->step);
    cse_run_chain_clear(&chain);
    return status;
}

cse_status cse_fork_run(const cse_fork_options *options, cse_fork *fork)
{
    cse_fork_options o = *options;
    *fork = (cse_fork){ .arena = cse_arena_new(), .step = o.step };
    CSE_TRY(check_folder(&o));
    if (o.without_count > 0)
        CSE_TRY(find_step(&o, fork));
    o.step = fork->step;
    CSE_TRY(make_configuration(&o, o.step > 0, fork->arena, &fork->configuration));
    CSE_TRY(cse_make_directories("fork", o.to));
    return o.step > 0 ? share_steps(&o, fork) : CSE_OK;
}
