/* Weights become the configuration that `checkpoint convert --print_model` prints of them, with
 * the weights as the checkpoint to be loaded. */
#include "cli/models/model_job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/arguments/option_values.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/merged.h"
#include "engine/formats/weights/open.h"

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

static cse_status write_configuration(const char *path, cse_text *text)
{
    cse_weights *weights = NULL;
    const char *model = NULL;
    cse_yaml_node *settings = NULL;
    cse_status status = cse_weights_open_ours(path, NULL, &weights);
    if (status == CSE_OK && weights->config == NULL)
        status =
            cse_fail(CSE_DATA,
                     "%s: does not say what model it is of; give a CONFIG.yaml with the model, "
                     "and this as --checkpoint_path",
                     path);
    if (status == CSE_OK && cse_weights_have_adapter(weights))
        status = cse_fail(CSE_USAGE,
                          "%s: has adapters, which the configuration of its run describes; give "
                          "that, and this as --checkpoint_path",
                          path);
    if (status == CSE_OK)
        status = cse_map_model_section(weights->arena, weights->config, &model, &settings);
    if (status == CSE_OK)
        cse_yaml_print_block(cse_map_configuration(weights->arena, model, settings), text);
    cse_weights_close(&weights);
    return status;
}

cse_status cse_model_prepare(const cse_command_line *line, cse_prepared_job *job)
{
    const char *path = line->arguments[0];
    const cse_option *checkpoint = line->command->options;
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
    while (strcmp(checkpoint->name, "checkpoint_path") != 0)
        checkpoint++;
    cse_status status = write_configuration(path, &text);
    whole.options = cse_calloc((size_t)line->option_count + 1, sizeof *whole.options);
    if (line->option_count > 0)
        memcpy(whole.options, line->options, (size_t)line->option_count * sizeof *whole.options);
    whole.options[whole.option_count++] = (cse_given_option){ checkpoint, path };
    if (status == CSE_OK)
        status = cse_job_prepare_text(&whole, text.data, CSE_JOB_INFER, job);
    free(whole.options);
    cse_text_clear(&text);
    return status;
}
