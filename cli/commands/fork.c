/* `csengine fork`: a new run that shares the past of another one up to a step. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments/confine.h"
#include "cli/arguments/kept_states_option.h"
#include "cli/arguments/option_values.h"
#include "cli/runs/dashboard_child.h"
#include "cli/runs/start_job.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/arena.h"
#include "engine/base/config/yaml.h"
#include "engine/base/confinement.h"
#include "run/record/recorded_configuration.h"
#include "run/travel/fork_run.h"

/* The value of an option as an absolute path: paths of the configuration begin in the folder that
 * the run was started in, those of this command line here. */
static cse_status make_absolute(cse_command_line *line, const char *option, char path[PATH_MAX])
{
    char here[PATH_MAX];
    for (int i = 0; i < line->option_count; i++) {
        if (strcmp(line->options[i].option->name, option) != 0 || line->options[i].value[0] == '/')
            continue;
        if (getcwd(here, sizeof here) == NULL)
            return cse_fail(CSE_NO_INPUT, "the current folder is gone");
        if (strlen(here) + strlen(line->options[i].value) + 2 > PATH_MAX)
            return cse_fail(CSE_USAGE, "fork: --%s is too long", option);
        stpcpy(stpcpy(stpcpy(path, here), "/"), line->options[i].value);
        line->options[i].value = path;
    }
    return CSE_OK;
}

static void enter_folder(const char *configuration)
{
    char folder[PATH_MAX];
    if (cse_configuration_folder(configuration, folder) && chdir(folder) != 0)
        cse_print_to(stderr,
                     "csengine: %s, where the run was started: %s; paths of its "
                     "configuration begin here\n",
                     folder, strerror(errno));
}

/* "3,14": all of them are checked with the data. */
static cse_status read_samples(const cse_command_line *line, int64_t **samples, int64_t *count)
{
    const char *text = cse_option_value(line, "without");
    *count = 0;
    if (text == NULL)
        return CSE_OK;
    *samples = cse_calloc(strlen(text) + 1, sizeof **samples);
    for (const char *at = text;; at++) {
        char *end = NULL;
        errno = 0;
        (*samples)[(*count)++] = strtoll(at, &end, 10);
        if (*at < '0' || *at > '9' || errno != 0 || (*end != ',' && *end != '\0'))
            return cse_fail(CSE_USAGE,
                            "fork: --without \"%.60s\": accepted are numbers of samples, from 0, "
                            "with commas between them, as in 3,14",
                            text);
        if (*end == '\0')
            return CSE_OK;
        at = end;
    }
}

/* Of a job, as the server wrote it. */
static cse_status read_configuration(const char *path, cse_arena *arena, const char **yaml)
{
    cse_text text = { 0 };
    const cse_status status = cse_yaml_read_file(path, &text);
    *yaml = cse_arena_string(arena, text.data != NULL ? text.data : "");
    cse_text_clear(&text);
    return status;
}

static cse_status read_options(const cse_command_line *line, cse_arena *arena, cse_fork_options *o)
{
    static const int64_t steps[] = { 1, INT32_MAX }, replicas[] = { 1, 250 };
    const char *config = cse_option_value(line, "config");
    const char **confinement = NULL;
    int64_t num_csx = 0;
    o->model_dir = line->arguments[0];
    o->to = cse_option_value(line, "model_dir");
    CSE_TRY(cse_option_integer(line, "at", steps, &o->step));
    CSE_TRY(cse_option_integer(line, "num_csx", replicas, &num_csx));
    CSE_TRY(cse_option_kept_states(line, o->model_dir, arena, &o->kept));
    CSE_TRY(cse_confine_words(line, arena, &confinement));
    o->confinement = confinement;
    o->num_csx = (int)num_csx;
    if ((o->step == 0 && o->without_count == 0) || o->to == NULL)
        return cse_fail(CSE_USAGE, "fork: needs --at STEP or --without SAMPLE,..., and --model_dir "
                                   "DIR, a new folder");
    if (cse_option_value(line, "checkpoint_path") != NULL)
        return cse_fail(CSE_USAGE, "fork: it goes on from the step; leave out --checkpoint_path");
    return config != NULL ? read_configuration(config, arena, &o->configuration) : CSE_OK;
}

static void tell(const cse_fork_options *o, const cse_fork *fork)
{
    const cse_first_use *use = &fork->first_use;
    if (use->step > 0)
        cse_print("step %" PRId64 " of %s is the first that used one of the samples: %" PRId64 "\n",
                  use->step, o->model_dir, use->sample);
    if (fork->step == 0) {
        cse_print("%s shares no step with %s, and begins as it did\n", o->to, o->model_dir);
        return;
    }
    cse_print("%s shares steps 1 to %" PRId64 " with %s: %" PRId64 " checkpoints as one file\n",
              o->to, fork->step, o->model_dir, fork->linked);
    if (fork->words.size > 0)
        cse_print("step %" PRId64 " was done again; %s\n", fork->step, fork->words.data);
    if (fork->chain[0] != '\0')
        cse_print("the chain of both after step %" PRId64 ": %s\n", fork->step, fork->chain);
}

static int start(const cse_command_line *line, const cse_fork *fork)
{
    cse_prepared_job job;
    cse_status status = cse_job_prepare_text(line, fork->configuration, CSE_JOB_TRAIN, &job);
    job.environment.run_store = true;
    if (cse_confinement_view() != NULL)
        job.settings.session.model_dir =
            cse_confinement_folder(cse_confinement_view(), CSE_PATH_OUTPUT, 0);
    const int exit_code =
        status != CSE_OK ? cse_job_report(line, &job, status) : cse_start_job(line, &job);
    cse_job_clear(&job);
    return exit_code;
}

static int run(const cse_command_line *line)
{
    char model_dir[PATH_MAX], compile_dir[PATH_MAX];
    cse_command_line own = *line;
    cse_arena *arena = cse_arena_new();
    int64_t *samples = NULL;
    cse_fork_options options = { .step = 0 };
    cse_fork fork = { .arena = NULL };
    const char *listen = cse_option_value(line, "listen");
    cse_status status = listen != NULL ? cse_dashboard_child_check(listen) : CSE_OK;
    if (status == CSE_OK)
        status = make_absolute(&own, "model_dir", model_dir);
    if (status == CSE_OK)
        status = make_absolute(&own, "compile_dir", compile_dir);
    if (status == CSE_OK)
        status = read_samples(line, &samples, &options.without_count);
    options.without = samples;
    if (status == CSE_OK)
        status = read_options(&own, arena, &options);
    if (status == CSE_OK)
        status = cse_confine_if_asked(&own);
    if (status == CSE_OK)
        status = cse_fork_run(&options, &fork);
    if (status == CSE_OK && !cse_option_is_on(line, "quiet") && !cse_option_is_on(line, "json"))
        tell(&options, &fork);
    if (status == CSE_OK)
        enter_folder(fork.configuration);
    const int exit_code = status != CSE_OK                     ? cse_report(status)
                          : cse_option_is_on(line, "no_start") ? 0
                                                               : start(&own, &fork);
    cse_fork_clear(&fork);
    free(samples);
    cse_arena_destroy(&arena);
    return exit_code;
}

static const cse_option options[] = {
    { "at", "STEP", NULL, "the last step that both runs share" },
    { "without", "SAMPLE,...", NULL,
      "leaves these samples out; without --at both share the steps before the first use" },
    { "no_start", NULL, NULL, "makes the folder, and starts nothing" },
    { "config", "FILE", NULL, "the new run's configuration, in place of the other one's" },
    CSE_KEPT_STATES_OPTION,
    CSE_STATES_DIR_OPTION,
    CSE_JOB_OPTIONS,
    CSE_RUN_OPTIONS,
    CSE_LOOP_OPTIONS,
    CSE_CONFINE_OPTIONS,
    CSE_START_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "fork model_dir/a --at 700 --model_dir model_dir/b --set optimizer.SGD.lr=0.05",
      "the same run up to step 700, and another learning rate from there on" },
    { "fork model_dir/a --without 48213 --model_dir model_dir/c",
      "the run that never had that sample of its data, from right before its first use" },
    { 0 },
};

const cse_command cse_command_fork = {
    .name = "fork",
    .group = CSE_GROUP_RUN,
    .summary = "starts a new run that shares the past of another one",
    .arguments = "MODEL_DIR",
    .doc =
        "The new run has the other one's configuration, less what the options change, its\n"
        "checkpoints up to the step as hard links, its curves and its chain of digests: what\n"
        "differs afterwards is the change alone. A step without a checkpoint is done again, and\n"
        "compared by its digests. `csengine bisect` of both names the step and the settings.\n"
        "With --without the batches that would have such a sample are smaller by it, and all\n"
        "others stay as they are: the new run has the bits of one that never had them.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
