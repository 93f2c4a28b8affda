/* Adapters and templates are read once when the server starts, so that what is wrong with one is
 * told then, and not by the first request. */
#include "cli/models/served_models.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
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
    if (!is_model && !is_adapter && !is_template)
        return CSE_OK;
    if (is_model)
        r->base = r->count;
    if (r->base < 0)
        return cse_fail(CSE_USAGE, "--%s %s: there is no --model before it that it is of",
                        option->option->name, option->value);
    if (is_template)
        return set_template(r, option->value);
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
    for (int i = 0; i < r.count; i++) {
        r.models[i].any_base = any_base && r.models[i].adapter != NULL;
        has_adapter = has_adapter || r.models[i].adapter != NULL;
    }
    if (status == CSE_OK && any_base && !has_adapter)
        status = cse_fail(CSE_USAGE, "--any_base is of --adapter FOLDER");
    return status;
}
