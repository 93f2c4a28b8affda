/* Adapters, templates and settings are read once when the server starts, so that what is wrong with
 * one is told then, and not by the first request. */
#include "cli/models/served_models.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/models/model_job.h"
#include "cli/models/served_embeddings.h"
#include "dataloader/chat/chat_template.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/formats/weights/peft/config.h"

typedef struct reading {
    cse_served_model *models;
    int count;
    int base; /* the place of the --model before; -1: none */
} reading;

static cse_status check_adapter(const cse_served_model *model)
{
    char *path, *name, file[PATH_MAX];
    cse_peft_config config = { .json = NULL };
    cse_served_name_split(model->adapter, &path, &name);
    const int length = snprintf(file, sizeof file, "%s/adapter_config.json", path);
    cse_status status = length < (int)sizeof file
                            ? cse_peft_config_read(file, &config)
                            : cse_fail(CSE_USAGE, "--adapter: the path is too long");
    cse_peft_config_clear(&config);
    free(path);
    free(name);
    return status;
}

static cse_status check_template(const char *path)
{
    cse_chat_template *template = NULL;
    json_t *variables = NULL;
    cse_status status = cse_chat_template_of_file(path, NULL, &template, &variables);
    cse_chat_template_destroy(&template);
    json_decref(variables);
    return status;
}

/* ---- settings ---- */

static const cse_option settings_options[] = { { "pooling", "KIND", NULL, NULL },
                                               CSE_INFERENCE_OPTIONS,
                                               { 0 } };

static const cse_option *set_option(void)
{
    const cse_option *option = settings_options;
    while (strcmp(option->name, "set") != 0)
        option++;
    return option;
}

/* As the process of the model reads them. */
static cse_status check_settings(const cse_served_model *model)
{
    static const cse_command command = { .name = "serve", .options = settings_options };
    cse_given_option given[CSE_MOST_SERVED_SETTINGS];
    cse_embedding_texts texts = { .paths = NULL };
    cse_prepared_job job = { .arena = NULL };
    char *path, *name;
    int count = 0;
    for (; model->settings[count] != NULL; count++)
        given[count] = (cse_given_option){ set_option(), model->settings[count] };
    if (count == 0)
        return CSE_OK;
    cse_served_name_split(model->given, &path, &name);
    const char *arguments[] = { path };
    const cse_command_line line = { .command = &command,
                                    .arguments = arguments,
                                    .argument_count = 1,
                                    .options = given,
                                    .option_count = count };
    const cse_status status = cse_is_embedding_folder(path)
                                  ? cse_embedding_prepare(&line, &texts, &job)
                                  : cse_model_prepare(&line, &job);
    cse_job_clear(&job);
    free(path);
    free(name);
    return status;
}

/* Of the base and of the adapters that stand before it. */
static cse_status add_setting(reading *r, const char *setting)
{
    for (int i = r->base; i < r->count; i++) {
        const char **place = r->models[i].settings;
        int count = 0;
        while (place[count] != NULL)
            count++;
        if (count == CSE_MOST_SERVED_SETTINGS)
            return cse_fail(CSE_USAGE,
                            "--set %s: a model has at most %d settings; --model takes a "
                            "CONFIG.yaml, too, which has room for all",
                            setting, CSE_MOST_SERVED_SETTINGS);
        place[count] = setting;
    }
    return CSE_OK;
}

/* ---- options in their order ---- */

/* Of the base and of the adapters that stand before the template. */
static cse_status set_template(reading *r, const char *file)
{
    char *path, *name;
    cse_served_model *base = &r->models[r->base];
    if (base->chat_template != NULL)
        return cse_fail(CSE_USAGE, "--chat_template %s: --model %s has %s already", file,
                        base->given, base->chat_template);
    cse_served_name_split(base->given, &path, &name);
    const bool is_of_vectors = cse_is_embedding_folder(path);
    free(path);
    free(name);
    if (is_of_vectors)
        return cse_fail(CSE_USAGE,
                        "--chat_template %s: --model %s makes vectors of texts, and "
                        "has no conversations",
                        file, base->given);
    for (int i = r->base; i < r->count; i++)
        r->models[i].chat_template = file;
    return check_template(file);
}

static cse_status add(reading *r, const cse_given_option *option)
{
    const bool is_model = strcmp(option->option->name, "model") == 0;
    const bool is_adapter = strcmp(option->option->name, "adapter") == 0;
    const bool is_template = strcmp(option->option->name, "chat_template") == 0;
    const bool is_setting = strcmp(option->option->name, "set") == 0;
    if (!is_model && !is_adapter && !is_template && !is_setting)
        return CSE_OK;
    if (is_model)
        r->base = r->count;
    if (r->base < 0)
        return cse_fail(CSE_USAGE, "--%s %s: there is no --model before it that it is of",
                        option->option->name, option->value);
    if (is_template)
        return set_template(r, option->value);
    if (is_setting)
        return add_setting(r, option->value);
    cse_served_model *added = &r->models[r->count++];
    *added = r->models[r->base];
    if (is_model)
        *added = (cse_served_model){ .given = option->value };
    else
        added->adapter = option->value;
    return is_adapter ? check_adapter(added) : CSE_OK;
}

cse_status cse_served_models_read(const cse_command_line *line, cse_served_model **models)
{
    reading r = { .base = -1 };
    cse_status status = CSE_OK;
    const bool any_base = cse_option_is_on(line, "any_base");
    bool has_adapter = false;
    *models = r.models = cse_calloc((size_t)line->option_count + 1, sizeof *r.models);
    for (int i = 0; i < line->option_count && status == CSE_OK; i++)
        status = add(&r, &line->options[i]);
    for (int i = 0; i < r.count && status == CSE_OK; i++)
        status = check_settings(&r.models[i]);
    for (int i = 0; i < r.count; i++) {
        r.models[i].any_base = any_base && r.models[i].adapter != NULL;
        has_adapter = has_adapter || r.models[i].adapter != NULL;
    }
    if (status == CSE_OK && any_base && !has_adapter)
        status = cse_fail(CSE_USAGE, "--any_base is of --adapter FOLDER");
    return status;
}
