/* Of the modules that there are, the encoder, pooling and the division by the length are computed
 * here. The names of modules changed with the library's releases; their ends did not. */
#include "engine/formats/weights/sentence_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/json_file.h"
#include "engine/formats/weights/new_file.h"

enum { LIMIT_BYTES = 1 << 20 };

static const char key[] = "sentence_transformers";

/* ---- reading ---- */

static cse_status path_of(const char *folder, const char *below, const char *name,
                          char path[PATH_MAX])
{
    const int size = *below == '\0' ? snprintf(path, PATH_MAX, "%s/%s", folder, name)
                                    : snprintf(path, PATH_MAX, "%s/%s/%s", folder, below, name);
    return size < PATH_MAX ? CSE_OK : cse_fail(CSE_DATA, "%s: the path is too long", folder);
}

/* *value: NULL where there is no such file. */
static cse_status read_file(const char *folder, const char *below, const char *name, json_t **value)
{
    char path[PATH_MAX];
    struct stat status;
    *value = NULL;
    CSE_TRY(path_of(folder, below, name, path));
    return stat(path, &status) == 0 ? cse_weights_read_json_value(path, LIMIT_BYTES, value)
                                    : CSE_OK;
}

static bool is_module(const json_t *module, const char *name)
{
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *dot = type != NULL ? strrchr(type, '.') : NULL;
    return dot != NULL && strcmp(dot + 1, name) == 0;
}

static cse_status refuse_module(const char *folder, const json_t *module)
{
    const char *type = json_string_value(json_object_get(module, "type"));
    return cse_fail(CSE_DATA,
                    "%s/modules.json: the module %.120s is not computed here; accepted: "
                    "Transformer, then Pooling, then, where it is wanted, Normalize",
                    folder, type != NULL ? type : "without a type");
}

/* A setting of a module besides those that are read: refused but with the value that changes
 * nothing. */
static cse_status check_setting(const char *path, const char *name, const json_t *value)
{
    static const char *const harmless[] = { "word_embedding_dimension", "embedding_dimension",
                                            "module_output_name" };
    bool good = strcmp(name, "include_prompt") == 0 && json_is_true(value);
    good = good || (strcmp(name, "module_input_name") == 0 && json_is_string(value) &&
                    strcmp(json_string_value(value), "sentence_embedding") == 0);
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        good = good || strcmp(name, harmless[i]) == 0;
    return good ? CSE_OK
                : cse_fail(CSE_DATA, "%s: %.80s has a value that is not computed here", path, name);
}

/* {"pooling_mode_mean_tokens": true, ...} of older files. */
static const char *older_mode(const char *name)
{
    static const char *const modes[][2] = {
        { "pooling_mode_mean_tokens", "mean" },
        { "pooling_mode_cls_token", "cls" },
        { "pooling_mode_max_tokens", "max" },
        { "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens" },
        { "pooling_mode_weightedmean_tokens", "weightedmean" },
        { "pooling_mode_lasttoken", "lasttoken" },
    };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(name, modes[i][0]) == 0)
            return modes[i][1];
    return NULL;
}

/* *mode is borrowed from the settings, or a constant. */
static cse_status read_pooling(const char *path, const json_t *settings, const char **mode)
{
    const char *name;
    const json_t *given = json_object_get(settings, "pooling_mode");
    json_t *value;
    int modes = 0;
    if (json_array_size(given) == 1)
        given = json_array_get(given, 0);
    *mode = json_string_value(given);
    json_object_foreach((json_t *)(uintptr_t)settings, name, value)
    {
        const char *older = older_mode(name);
        if (older == NULL && strcmp(name, "pooling_mode") != 0)
            CSE_TRY(check_setting(path, name, value));
        if (older == NULL || given != NULL || !json_is_true(value))
            continue;
        modes++;
        *mode = older;
    }
    if (given == NULL && modes == 0)
        *mode = "mean";
    return modes <= 1 && *mode != NULL
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "%s: several kinds of pooling whose vectors stand behind one another "
                          "are not computed here; accepted: one of them",
                          path);
}

/* The settings of one module, {} where it has none. */
static cse_status read_settings(const char *folder, const json_t *module, char path[PATH_MAX],
                                json_t **settings)
{
    const char *below = json_string_value(json_object_get(module, "path"));
    if (below == NULL || *below == '\0' || *below == '.' || strchr(below, '/') != NULL)
        return cse_fail(CSE_DATA, "%s/modules.json: a path is no name in this folder", folder);
    CSE_TRY(path_of(folder, below, "config.json", path));
    CSE_TRY(read_file(folder, below, "config.json", settings));
    if (*settings == NULL)
        *settings = json_object();
    if (json_is_object(*settings))
        return CSE_OK;
    json_decref(*settings);
    return cse_fail(CSE_DATA, "%s: not a JSON object", path);
}

static cse_status add_pooling(const char *folder, const json_t *module, json_t *made)
{
    char path[PATH_MAX];
    json_t *settings = NULL;
    const char *mode = NULL;
    CSE_TRY(read_settings(folder, module, path, &settings));
    cse_status status = read_pooling(path, settings, &mode);
    if (status == CSE_OK)
        json_object_set_new(made, "pooling", json_string(mode));
    json_decref(settings);
    return status;
}

static cse_status add_normalize(const char *folder, const json_t *module, json_t *made)
{
    char path[PATH_MAX];
    json_t *settings = NULL, *value;
    const char *name;
    cse_status status = CSE_OK;
    CSE_TRY(read_settings(folder, module, path, &settings));
    json_object_foreach(settings, name, value)
    {
        if (status == CSE_OK)
            status = check_setting(path, name, value);
    }
    json_decref(settings);
    json_object_set_new(made, "normalize", json_true());
    return status;
}

static cse_status add_modules(const char *folder, const json_t *modules, json_t *made)
{
    const size_t count = json_array_size(modules);
    if (count < 2)
        return cse_fail(CSE_DATA,
                        "%s/modules.json: no list of modules with Transformer and Pooling", folder);
    if (!is_module(json_array_get(modules, 0), "Transformer"))
        return refuse_module(folder, json_array_get(modules, 0));
    if (!is_module(json_array_get(modules, 1), "Pooling"))
        return refuse_module(folder, json_array_get(modules, 1));
    CSE_TRY(add_pooling(folder, json_array_get(modules, 1), made));
    json_object_set_new(made, "normalize", json_false());
    if (count > 2 && !is_module(json_array_get(modules, 2), "Normalize"))
        return refuse_module(folder, json_array_get(modules, 2));
    if (count > 3)
        return refuse_module(folder, json_array_get(modules, 3));
    return count > 2 ? add_normalize(folder, json_array_get(modules, 2), made) : CSE_OK;
}

cse_status cse_sentence_folder_read(const char *folder, json_t *facts)
{
    json_t *modules = NULL, *made = json_object();
    cse_status status = read_file(folder, "", "modules.json", &modules);
    if (status == CSE_OK && modules != NULL)
        status = add_modules(folder, modules, made);
    if (status == CSE_OK && modules != NULL)
        json_object_set(facts, key, made);
    json_decref(modules);
    json_decref(made);
    return status;
}

/* ---- writing ---- */

json_t *cse_sentence_folder_take(json_t *facts)
{
    json_t *found = json_incref(json_object_get(facts, key));
    json_object_del(facts, key);
    if (json_is_string(json_object_get(found, "pooling")))
        return found;
    json_decref(found);
    return NULL;
}

static cse_status write_json(const char *folder, const char *below, const char *name, json_t *value)
{
    char path[PATH_MAX];
    cse_new_file file;
    char *text = json_dumps(value, JSON_INDENT(2));
    cse_status status = path_of(folder, below, name, path);
    json_decref(value);
    if (status == CSE_OK)
        status = cse_new_file_open(&file, path);
    if (status == CSE_OK)
        status = cse_new_file_close(
            &file, cse_write_at(file.descriptor, text, strlen(text), 0) == 0
                       ? CSE_OK
                       : cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno)));
    free(text);
    return status;
}

static void add_module(json_t *modules, const char *path, const char *type)
{
    const json_int_t index = (json_int_t)json_array_size(modules);
    char name[16], whole[128];
    snprintf(name, sizeof name, "%d", (int)index);
    snprintf(whole, sizeof whole, "sentence_transformers.models.%s", type);
    json_array_append_new(modules, json_pack("{s:I, s:s, s:s, s:s}", "idx", index, "name", name,
                                             "path", path, "type", whole));
}

cse_status cse_sentence_folder_write(const char *folder, const json_t *taken,
                                     int64_t vector_channels)
{
    static const char *const modes[][2] = {
        { "pooling_mode_cls_token", "cls" },
        { "pooling_mode_mean_tokens", "mean" },
        { "pooling_mode_max_tokens", "max" },
        { "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens" },
    };
    const char *pooling = json_string_value(json_object_get(taken, "pooling"));
    char path[PATH_MAX];
    json_t *modules = json_array();
    json_t *settings = json_pack("{s:I}", "word_embedding_dimension", (json_int_t)vector_channels);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        json_object_set_new(settings, modes[i][0], json_boolean(strcmp(pooling, modes[i][1]) == 0));
    add_module(modules, "", "Transformer");
    add_module(modules, "1_Pooling", "Pooling");
    if (json_is_true(json_object_get(taken, "normalize")))
        add_module(modules, "2_Normalize", "Normalize");
    cse_status status = path_of(folder, "", "1_Pooling", path);
    if (status == CSE_OK && mkdir(path, 0777) != 0)
        status = cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(errno));
    if (status == CSE_OK)
        status = write_json(folder, "1_Pooling", "config.json", json_incref(settings));
    if (status == CSE_OK)
        status = write_json(folder, "", "modules.json", json_incref(modules));
    json_decref(settings);
    json_decref(modules);
    return status;
}

/* ---- texts ---- */

static cse_status check_prompt(const char *folder)
{
    json_t *said = NULL;
    CSE_TRY(read_file(folder, "", "config_sentence_transformers.json", &said));
    const char *name = json_string_value(json_object_get(said, "default_prompt_name"));
    cse_status status =
        name == NULL ? CSE_OK
                     : cse_fail(CSE_DATA,
                                "%s/config_sentence_transformers.json: default_prompt_name is "
                                "%.80s: texts that begin with a prompt are not read; set it to "
                                "null, and put the prompt into the texts",
                                folder, name);
    json_decref(said);
    return status;
}

cse_status cse_sentence_folder_length(const char *folder, int64_t *tokens)
{
    static const char *const files[][2] = { { "sentence_bert_config.json", "max_seq_length" },
                                            { "tokenizer_config.json", "model_max_length" } };
    *tokens = 0;
    CSE_TRY(check_prompt(folder));
    for (int i = 0; i < 2 && *tokens == 0; i++) {
        json_t *said = NULL;
        CSE_TRY(read_file(folder, "", files[i][0], &said));
        const json_t *value = json_object_get(said, files[i][1]);
        if (json_is_integer(value) && json_integer_value(value) > 0 &&
            json_integer_value(value) < INT32_MAX)
            *tokens = json_integer_value(value);
        json_decref(said);
    }
    return CSE_OK;
}
