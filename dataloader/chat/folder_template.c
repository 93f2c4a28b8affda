/* Where a chat template comes from: the files of a model's folder, in the order in which
 * transformers looks for them, and the special tokens that it is given as variables. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "csengine/input.h"
#include "dataloader/chat/chat_template.h"
#include "dataloader/formats/json_file.h"
#include "engine/formats/weights/json_file.h"

enum { MOST_CONFIG_BYTES = 1 << 26 };

static const char *const token_names[] = { "bos_token", "eos_token", "unk_token", "sep_token",
                                           "pad_token", "cls_token", "mask_token" };

/* A text, or {"content": text}. */
static json_t *token_text(json_t *token)
{
    json_t *content = json_is_object(token) ? json_object_get(token, "content") : token;
    return json_is_string(content) ? content : NULL;
}

static void take_tokens(const json_t *config, json_t *variables)
{
    for (size_t i = 0; i < sizeof token_names / sizeof token_names[0]; i++) {
        json_t *text = token_text(json_object_get(config, token_names[i]));
        if (text != NULL && json_object_get(variables, token_names[i]) == NULL)
            json_object_set(variables, token_names[i], text);
    }
}

/* What a template says decides about the tokens of a run: its files are part of the data's identity
 * (csengine/input.h). CSE_NO_INPUT: the file is not there. */
static cse_status note_file(const char *path)
{
    int descriptor;
    CSE_TRY(cse_input_open_file(path, &descriptor));
    close(descriptor);
    return CSE_OK;
}

/* An object, or NULL where there is no such file. */
static cse_status read_config(const char *folder, const char *name, json_t **config)
{
    char path[PATH_MAX];
    *config = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    /* model_max_length is often a number far beyond 64 bits. */
    const cse_status status =
        cse_json_file_read(path, MOST_CONFIG_BYTES, JSON_DECODE_INT_AS_REAL, config);
    return status == CSE_NO_INPUT ? CSE_OK : status;
}

static cse_status parse_file(const char *path, cse_chat_template **template)
{
    char *text;
    size_t size;
    CSE_TRY(note_file(path));
    CSE_TRY(cse_weights_read_text(path, CSE_CHAT_TEMPLATE_MOST_BYTES, &text, &size));
    const cse_status status = cse_chat_template_parse(text, size, path, template);
    free(text);
    return status;
}

/* "a, b": names of a list of templates. */
static void list_names(const json_t *named, char *names, size_t size)
{
    json_t *entry;
    size_t i, used = (size_t)snprintf(names, size, "accepted: ");
    json_array_foreach(named, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        const int more = snprintf(names + used, size - used, "%s%.60s", i > 0 ? ", " : "",
                                  name != NULL ? name : "(no name)");
        used = used + (size_t)more < size ? used + (size_t)more : used;
    }
}

static cse_status choose_named(const json_t *named, const char *name, const char *source,
                               json_t **template)
{
    size_t i;
    json_t *entry;
    char names[512];
    const char *wanted = name != NULL ? name : "default";
    json_array_foreach(named, i, entry)
    {
        const char *known = json_string_value(json_object_get(entry, "name"));
        *template = json_object_get(entry, "template");
        if (known != NULL && strcmp(known, wanted) == 0 && json_is_string(*template))
            return CSE_OK;
    }
    list_names(named, names, sizeof names);
    return cse_fail_at(&(cse_error){ .status = CSE_DATA, .accepted = names },
                       "%s: it has no chat template of the name \"%s\"", source, wanted);
}

/* The member "chat_template" of a file's object. */
static cse_status parse_member(const char *folder, const char *file, const json_t *config,
                               const char *name, cse_chat_template **template)
{
    char source[PATH_MAX];
    json_t *member = json_object_get(config, "chat_template");
    snprintf(source, sizeof source, "%s/%s: chat_template", folder, file);
    if (json_is_array(member))
        CSE_TRY(choose_named(member, name, source, &member));
    else if (name != NULL && strcmp(name, "default") != 0)
        return cse_fail(CSE_DATA, "%s: it has one template, without a name, and none \"%s\"",
                        source, name);
    if (!json_is_string(member))
        return cse_fail(CSE_DATA, "%s: it is no text, and no list of {\"name\", \"template\"}",
                        source);
    return cse_chat_template_parse(json_string_value(member), json_string_length(member), source,
                                   template);
}

/* chat_template.jinja, or additional_chat_templates/NAME.jinja. CSE_NO_INPUT: there is none. */
static cse_status parse_own_file(const char *folder, const char *name, cse_chat_template **template)
{
    char path[PATH_MAX];
    if (name == NULL || strcmp(name, "default") == 0)
        snprintf(path, sizeof path, "%s/chat_template.jinja", folder);
    else if (strchr(name, '/') != NULL)
        return cse_fail(CSE_CONFIG, "the name of a chat template, \"%s\", holds \"/\"", name);
    else
        snprintf(path, sizeof path, "%s/additional_chat_templates/%s.jinja", folder, name);
    return parse_file(path, template);
}

static cse_status parse_of_folder(const char *folder, const char *name,
                                  const json_t *tokenizer_config, cse_chat_template **template)
{
    json_t *own;
    cse_status status = parse_own_file(folder, name, template);
    if (status != CSE_NO_INPUT)
        return status;
    CSE_TRY(read_config(folder, "chat_template.json", &own));
    if (json_object_get(own, "chat_template") != NULL)
        status = parse_member(folder, "chat_template.json", own, name, template);
    else if (json_object_get(tokenizer_config, "chat_template") != NULL)
        status = parse_member(folder, "tokenizer_config.json", tokenizer_config, name, template);
    else
        status = cse_fail_at(
            &(cse_error){ .status = CSE_NO_INPUT,
                          .hint = "give a file with one, or a folder of a model that is made for "
                                  "conversations" },
            "%s: it has no chat template: there is no chat_template.jinja, and no "
            "\"chat_template\" in chat_template.json and tokenizer_config.json",
            folder);
    json_decref(own);
    return status;
}

cse_status cse_chat_template_of_folder(const char *folder, const char *name,
                                       cse_chat_template **template, json_t **variables)
{
    json_t *config, *map = NULL;
    *template = NULL;
    *variables = NULL;
    CSE_TRY(read_config(folder, "tokenizer_config.json", &config));
    cse_status status = read_config(folder, "special_tokens_map.json", &map);
    if (status == CSE_OK)
        status = parse_of_folder(folder, name, config, template);
    if (status == CSE_OK) {
        *variables = json_object();
        take_tokens(config, *variables);
        take_tokens(map, *variables);
    }
    json_decref(config);
    json_decref(map);
    return status;
}

cse_status cse_chat_template_of_file(const char *path, const char *folder,
                                     cse_chat_template **template, json_t **variables)
{
    json_t *config = NULL, *map = NULL;
    *variables = NULL;
    CSE_TRY(parse_file(path, template));
    cse_status status =
        folder == NULL ? CSE_OK : read_config(folder, "tokenizer_config.json", &config);
    if (status == CSE_OK && folder != NULL)
        status = read_config(folder, "special_tokens_map.json", &map);
    if (status == CSE_OK) {
        *variables = json_object();
        take_tokens(config, *variables);
        take_tokens(map, *variables);
    } else
        cse_chat_template_destroy(template);
    json_decref(config);
    json_decref(map);
    return status;
}
