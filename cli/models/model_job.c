/* Weights become the configuration that `checkpoint convert --print_model` prints of them, with
 * the weights as the checkpoint to be loaded. */
#include "cli/models/model_job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/arguments/option_values.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/arena.h"
#include "engine/base/config/yaml.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/open.h"
#include "engine/formats/weights/peft/merge_own.h"
#include "engine/formats/weights/side_files.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), length = strlen(end);
    return size > length && strcmp(text + size - length, end) == 0;
}

/* Whether the argument is weights rather than a configuration. */
static bool is_weights(const char *path)
{
    return cse_weights_is_folder(path) || ends_with(path, ".mdl") || ends_with(path, ".gguf") ||
           cse_weights_are_foreign(path);
}

/* The section `adapters` of the run that the weights are of goes to the configuration. */
static cse_status add_adapters(cse_weights *weights, cse_yaml_node *configuration)
{
    static const char *const path[] = { "trainer", "init" };
    cse_yaml_node *there = NULL, *here = configuration;
    CSE_TRY(cse_yaml_parse(weights->arena, "configuration", weights->config,
                           strlen(weights->config), &there));
    for (int i = 0; i < 2; i++) {
        there = cse_yaml_find(there, path[i]);
        here = cse_yaml_find(here, path[i]);
    }
    cse_yaml_node *adapters = cse_yaml_find(there, "adapters");
    if (adapters == NULL || cse_yaml_is_null(adapters))
        return cse_fail(CSE_DATA,
                        "%s: has factors of an adapter, and does not say their scale; give the "
                        "CONFIG.yaml of its run, and this as --checkpoint_path",
                        weights->path);
    cse_yaml_put(weights->arena, here, (cse_yaml_key){ .text = "adapters" }, adapters);
    return CSE_OK;
}

static cse_status write_configuration(const char *path, cse_text *text)
{
    cse_weights *weights = NULL;
    const char *model = NULL;
    cse_yaml_node *settings = NULL, *configuration = NULL;
    cse_status status = cse_weights_open_ours(path, NULL, &weights);
    if (status == CSE_OK && weights->config == NULL)
        status =
            cse_fail(CSE_DATA,
                     "%s: does not say what model it is of; give a CONFIG.yaml with the model, "
                     "and this as --checkpoint_path",
                     path);
    if (status == CSE_OK)
        status = cse_map_model_section(weights->arena, weights->config, &model, &settings);
    if (status == CSE_OK)
        configuration = cse_map_configuration(weights->arena, model, settings);
    if (status == CSE_OK && cse_weights_have_adapter(weights))
        status = add_adapters(weights, configuration);
    if (status == CSE_OK)
        cse_yaml_print_block(configuration, text);
    cse_weights_close(&weights);
    return status;
}

/* ---- checkpoints of a run ---- */

const char *cse_newest_weights(const char *path, char *newest)
{
    struct stat folder;
    return stat(path, &folder) == 0 && S_ISDIR(folder.st_mode) &&
                   cse_checkpoint_latest(path, newest, PATH_MAX) == CSE_OK
               ? newest
               : path;
}

/* The folder that a checkpoint stands in, where the tokenizer and the template of its run are
 * beside it. A path that is too long is none: weights cannot be opened by it either. */
static bool find_run(const char *path, char folder[PATH_MAX])
{
    char side_files[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int length = slash == NULL ? 1 : (int)(slash - path);
    if (!ends_with(path, ".mdl") || length == 0)
        return false;
    if (snprintf(folder, PATH_MAX, "%.*s", length, slash == NULL ? "." : path) >= PATH_MAX)
        return false;
    return cse_tokenizer_is_in(folder) ||
           (snprintf(side_files, sizeof side_files, "%s/" CSE_SIDE_FILES_FOLDER, folder) <
                PATH_MAX &&
            cse_tokenizer_is_in(side_files));
}

static const cse_option *find_option(const cse_command_line *line, const char *name)
{
    const cse_option *option = line->command->options;
    while (strcmp(option->name, name) != 0)
        option++;
    return option;
}

cse_status cse_model_prepare(const cse_command_line *line, cse_prepared_job *job)
{
    char newest[PATH_MAX], folder[PATH_MAX];
    const char *path = line->arguments[0];
    cse_command_line whole = *line;
    cse_text text = { 0 };
    *job = (cse_prepared_job){ .arena = NULL };
    if (!is_weights(path))
        return cse_job_prepare(line, CSE_JOB_INFER, job);
    if (cse_option_value(line, "checkpoint_path") != NULL)
        return cse_fail(CSE_USAGE,
                        "--checkpoint_path: %s is weights itself; give a CONFIG.yaml, or "
                        "leave the option out",
                        path);
    path = cse_newest_weights(path, newest);
    cse_status status = write_configuration(path, &text);
    whole.options = cse_calloc((size_t)line->option_count + 2, sizeof *whole.options);
    if (line->option_count > 0)
        memcpy(whole.options, line->options, (size_t)line->option_count * sizeof *whole.options);
    whole.options[whole.option_count++] =
        (cse_given_option){ find_option(line, "checkpoint_path"), path };
    if (cse_option_value(line, "model_dir") == NULL && find_run(path, folder))
        whole.options[whole.option_count++] =
            (cse_given_option){ find_option(line, "model_dir"), folder };
    if (status == CSE_OK)
        status = cse_job_prepare_text(&whole, text.data, CSE_JOB_INFER, job);
    free(whole.options);
    cse_text_clear(&text);
    return status;
}
