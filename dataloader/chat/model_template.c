/* Where a chat template comes from: the files of a model's folder, in the order in which
 * transformers looks for them, or a GGUF file, and the special tokens that it is given as
 * variables. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csengine/input.h"
#include "dataloader/chat/chat_template.h"
#include "dataloader/formats/json_file.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "engine/formats/weights/json_file.h"
#include "engine/formats/weights/tokenizer/own_tokenizer.h"

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
    char path[2 * PATH_MAX];
    *config = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const cse_status status = cse_json_file_read(path, MOST_CONFIG_BYTES, config);
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
    char path[2 * PATH_MAX];
    if (name == NULL || strcmp(name, "default") == 0)
        snprintf(path, sizeof path, "%s/chat_template.jinja", folder);
    else if (strchr(name, '/') != NULL)
        return cse_fail(CSE_CONFIG, "the name of a chat template, \"%s\", holds \"/\"", name);
    else
        snprintf(path, sizeof path, "%s/additional_chat_templates/%s.jinja", folder, name);
    return parse_file(path, template);
}

/* ---- the places ---- */

/* What stands beside the tokenizer of a model. */
typedef struct place {
    char folder[PATH_MAX]; /* of a GGUF file the file itself */
    bool is_file;
    json_t *config, *map; /* tokenizer_config.json and special_tokens_map.json; NULL: none */
} place;

static void close_place(place *p)
{
    json_decref(p->config);
    json_decref(p->map);
}

static cse_status open_file(place *p)
{
    cse_tokenizer_files files;
    CSE_TRY(note_file(p->folder));
    CSE_TRY(cse_own_tokenizer(p->folder, &files));
    if (files.config != NULL)
        p->config = json_loads(files.config, 0, NULL);
    cse_tokenizer_files_clear(&files);
    return CSE_OK;
}

/* A folder, or a file, whose folder it is unless it has all that a folder has. */
static cse_status open_place(const char *model, place *p)
{
    struct stat about;
    const char *slash = strrchr(model, '/');
    *p = (place){ .is_file = false };
    snprintf(p->folder, sizeof p->folder, "%s", model);
    if (stat(model, &about) == 0 && S_ISREG(about.st_mode)) {
        p->is_file = cse_tokenizer_is_in_weights(model);
        if (p->is_file)
            return open_file(p);
        snprintf(p->folder, sizeof p->folder, "%.*s",
                 slash == NULL || slash == model ? 1 : (int)(slash - model),
                 slash == NULL ? "." : model);
    }
    CSE_TRY(read_config(p->folder, "tokenizer_config.json", &p->config));
    return read_config(p->folder, "special_tokens_map.json", &p->map);
}

static json_t *variables_of(const place *p)
{
    json_t *variables = json_object();
    take_tokens(p->config, variables);
    take_tokens(p->map, variables);
    return variables;
}

static cse_status no_template(const place *p)
{
    return cse_fail_at(
        &(cse_error){ .status = CSE_NO_INPUT,
                      .hint = "give a file with one, or a folder of a model that is made for "
                              "conversations" },
        "%s: it has no chat template: there is no %s", p->folder,
        p->is_file ? "tokenizer.chat_template"
                   : "chat_template.jinja, and no \"chat_template\" in chat_template.json and "
                     "tokenizer_config.json");
}

static cse_status parse_in_place(const place *p, const char *name, cse_chat_template **template)
{
    json_t *own = NULL;
    const bool has_member = json_object_get(p->config, "chat_template") != NULL;
    if (!p->is_file) {
        const cse_status status = parse_own_file(p->folder, name, template);
        if (status != CSE_NO_INPUT)
            return status;
        CSE_TRY(read_config(p->folder, "chat_template.json", &own));
    }
    cse_status status = CSE_OK;
    if (json_object_get(own, "chat_template") != NULL)
        status = parse_member(p->folder, "chat_template.json", own, name, template);
    else if (has_member)
        status = parse_member(p->folder, "tokenizer_config.json", p->config, name, template);
    else
        status = no_template(p);
    json_decref(own);
    return status;
}

cse_status cse_chat_template_of_model(const char *model, const char *name,
                                      cse_chat_template **template, json_t **variables)
{
    place p;
    *template = NULL;
    *variables = NULL;
    cse_status status = open_place(model, &p);
    if (status == CSE_OK)
        status = parse_in_place(&p, name, template);
    if (status == CSE_OK)
        *variables = variables_of(&p);
    close_place(&p);
    return status;
}

cse_status cse_special_tokens_of_model(const char *model, json_t **tokens)
{
    place p;
    *tokens = NULL;
    const cse_status status = open_place(model, &p);
    if (status == CSE_OK)
        *tokens = variables_of(&p);
    close_place(&p);
    return status;
}

cse_status cse_chat_template_of_file(const char *path, const char *model,
                                     cse_chat_template **template, json_t **variables)
{
    *template = NULL;
    *variables = NULL;
    CSE_TRY(parse_file(path, template));
    if (model == NULL) {
        *variables = json_object();
        return CSE_OK;
    }
    const cse_status status = cse_special_tokens_of_model(model, variables);
    if (status != CSE_OK)
        cse_chat_template_destroy(template);
    return status;
}
