/* Weights to a file or folder: converted, under the names that the format's readers know. */
#include "engine/formats/weights/save.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/types/packed/packed.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/format.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/new_file.h"
#include "engine/formats/weights/sentence_folder.h"
#include "engine/formats/weights/side_files.h"
#include "engine/formats/weights/tokenizer/tokenizer_facts.h"
#include "engine/formats/weights/tokenizer/tokenizer_files.h"

/* Whether the name ends with one of the extensions. */
static bool has_extension(const char *path, const char *extensions)
{
    const size_t length = strlen(path);
    for (const char *at = extensions; *at != '\0';) {
        const size_t size = strcspn(at, " ");
        if (length > size && strncmp(path + length - size, at, size) == 0)
            return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

/* *format: NULL for a folder. */
static cse_status choose(cse_arena *arena, const char *path,
                         const cse_weights_save_options *options, const cse_weights_format **format)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    *format = NULL;
    if (options->format != NULL && strcmp(options->format, "hf") == 0)
        return CSE_OK;
    if (options->format != NULL) {
        *format = cse_weights_format_find(options->format);
        return *format != NULL && (*format)->write != NULL
                   ? CSE_OK
                   : cse_fail(CSE_USAGE, "\"%s\" is no format that is written; accepted: hf, %s",
                              options->format, cse_weights_format_names(arena, true));
    }
    for (const cse_weights_format *const *row = cse_weights_formats; *row != NULL; row++)
        if ((*row)->write != NULL && has_extension(name, (*row)->extensions))
            *format = *row;
    return *format != NULL || strchr(name, '.') == NULL
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "%s: the name tells no format; give --to FORMAT; accepted: hf, %s", path,
                          cse_weights_format_names(arena, true));
}

bool cse_weights_save_wants_forward(const char *path, const cse_weights_save_options *options)
{
    const cse_weights_format *format = NULL;
    cse_arena *arena = cse_arena_new();
    const bool wants =
        choose(arena, path, options, &format) == CSE_OK && format != NULL && format->holds_forward;
    cse_arena_destroy(&arena);
    return wants;
}

/* What is written as another program's. */
typedef struct theirs {
    json_t *facts;             /* what its files say of the model */
    json_t *generation;        /* what its generation_config.json says; NULL: there is none */
    json_t *tokenizer;         /* as facts of GGUF; NULL: there is none */
    cse_tokenizer_files files; /* the same as files of a folder */
    json_t *sentences;         /* how texts become vectors; NULL: not */
    int64_t vector_channels;
} theirs;

/* What transformers makes of a model's own tokens where no file says how it generates: those that
 * begin, end and fill a text. NULL: none of them is known, or the model makes no texts. */
static json_t *generation_of(const cse_map *map, const json_t *facts)
{
    static const char *const names[] = { "bos_token_id", "eos_token_id", "pad_token_id" };
    bool generates = false, known = false;
    json_t *generation = json_pack("{s:b}", "_from_model_config", 1);
    for (int i = 0; i < map->key_count; i++)
        generates = generates || map->keys[i].otherwise != NULL;
    for (int i = 0; i < 3; i++) {
        json_t *value = json_object_get(facts, names[i]);
        known = known || (value != NULL && !json_is_null(value));
        if (value != NULL)
            json_object_set(generation, names[i], value);
    }
    if (generates && known)
        return generation;
    json_decref(generation);
    return NULL;
}

/* Adds what they had said of themselves when they came from such a program. */
static void add_origin(const cse_map *map, const json_t *origin, const cse_yaml_node *settings,
                       theirs *t)
{
    cse_map_add_kept(map, json_object_get(origin, "config"), t->facts);
    cse_map_put_token_ids(map, origin, settings, t->facts);
    t->generation = json_incref(json_object_get(origin, "generation_config"));
    if (t->generation == NULL)
        t->generation = generation_of(map, t->facts);
}

/* Their fact that is hidden_size. */
static const char *channels_of(const cse_map *map)
{
    const char *name = "hidden_size";
    for (int i = 0; i < map->fact_count; i++)
        if (map->facts[i].our_names > 0 && map->facts[i].their_names > 0 &&
            strcmp(map->facts[i].ours[0], "hidden_size") == 0)
            name = map->facts[i].theirs[0];
    return name;
}

/* Under the other program's names. */
static cse_status to_theirs(cse_weights **weights, const char *kind,
                            const cse_weights_save_options *options, theirs *t)
{
    cse_weights *mapped = NULL;
    cse_map *map = NULL;
    cse_yaml_node *settings = NULL;
    const char *model = NULL, *text = (*weights)->origin;
    cse_arena *arena = (*weights)->arena;
    const char *config = options->config != NULL ? options->config : (*weights)->config;
    if (config == NULL)
        return cse_fail(CSE_DATA,
                        "%s: does not say what model it belongs to; give --config CONFIG.yaml, "
                        "whose section model tells",
                        (*weights)->path);
    CSE_TRY(cse_map_model_section(arena, config, &model, &settings));
    json_t *origin = text != NULL ? json_loads(text, 0, NULL) : NULL;
    cse_status status = options->map != NULL
                            ? cse_map_load(arena, options->map, &map)
                            : cse_map_for_model(arena,
                                                &(cse_map_wanted){ .kind = kind,
                                                                   .model = model,
                                                                   .settings = settings,
                                                                   .origin = origin },
                                                &map);
    if (status == CSE_OK)
        status = cse_map_facts(map, arena, settings, &t->facts);
    if (status == CSE_OK)
        add_origin(map, origin, settings, t);
    json_decref(origin);
    CSE_TRY(status);
    if (options->notice != NULL)
        cse_map_tell(map, t->facts, *weights, options->notice);
    CSE_TRY(cse_map_to_theirs(map, t->facts, weights, &mapped));
    cse_map_forget_rope(t->facts);
    cse_map_forget_elements(map, t->facts);
    t->sentences = cse_sentence_folder_take(t->facts);
    t->vector_channels = cse_map_integer(map, t->facts, channels_of(map));
    *weights = mapped;
    return CSE_OK;
}

/* An object as the text of a file; NULL: none. */
static const char *json_lines(cse_arena *arena, const json_t *object)
{
    char *json = object != NULL
                     ? json_dumps(object, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15))
                     : NULL;
    const char *text = json != NULL ? cse_arena_printf(arena, "%s\n", json) : NULL;
    free(json);
    return text;
}

static cse_status save_folder(cse_weights *from, const char *path, const theirs *t,
                              const cse_weights_save_options *options)
{
    return cse_weights_save_folder(
        from, path,
        &(cse_weights_folder_options){ .file_bytes = options->file_bytes,
                                       .config = json_lines(from->arena, t->facts),
                                       .generation = json_lines(from->arena, t->generation),
                                       .side_files = options->side_files,
                                       .tokenizer = t->files.json,
                                       .tokenizer_config = t->files.config,
                                       .sentences = t->sentences,
                                       .vector_channels = t->vector_channels });
}

/* Both files get their names, or neither. */
static cse_status close_both(cse_new_file *file, cse_new_file *beside, cse_status status)
{
    bool is_there = false;
    if (beside->path != NULL) {
        status = cse_new_file_close(beside, status);
        is_there = status == CSE_OK;
    }
    status = cse_new_file_close(file, status);
    if (status != CSE_OK && is_there)
        unlink(beside->path);
    return status;
}

static cse_status save_file(cse_weights *from, const char *path, const theirs *t,
                            const cse_weights_format *format,
                            const cse_weights_save_options *options)
{
    cse_new_file file, beside = { .path = NULL };
    if (access(path, F_OK) == 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: is there already; give a name that is new", path);
    CSE_TRY(cse_new_file_open(&file, path));
    const cse_weights_target to = { .descriptor = file.descriptor,
                                    .path = path,
                                    .model_name = from->model_name,
                                    .config = from->config,
                                    .origin = from->origin,
                                    .facts = t->facts,
                                    .tokenizer = t->tokenizer,
                                    .packed = options->packed,
                                    .notice = options->notice,
                                    .all = options->all,
                                    .forward = options->forward,
                                    .file_bytes = options->file_bytes,
                                    .beside = &beside };
    return close_both(&file, &beside, format->write(from, &to));
}

/* What the names of this format are: those of a kind of maps, or ours (NULL). */
static const char *kind_of(const cse_weights *from, const cse_weights_format *format,
                           const cse_weights_save_options *options)
{
    if (options->all || (options->map != NULL && strcmp(options->map, "none") == 0))
        return NULL;
    if (format == NULL)
        return "hugging_face";
    const bool tells = from->config != NULL || options->config != NULL;
    return strcmp(format->name, "gguf") == 0 && tells ? "gguf" : NULL;
}

/* Of the side files where there is one among them, or else of the file of the weights. */
static cse_status take_tokenizer(cse_weights *from, const cse_weights_format *format,
                                 const cse_weights_save_options *options, theirs *t)
{
    cse_text notice = { 0 };
    const bool is_beside = cse_side_files_have_tokenizer(options->side_files);
    if (format == NULL)
        return is_beside ? CSE_OK
                         : cse_tokenizer_files_make(from->path, from->tokenizer, &t->files);
    if (!format->packs || t->facts == NULL)
        return CSE_OK;
    const int found = cse_weights_find(from, "token_embd.weight");
    if (!is_beside) {
        t->tokenizer =
            cse_tokenizer_facts_are_whole(from->tokenizer) ? json_incref(from->tokenizer) : NULL;
        return CSE_OK;
    }
    cse_status status = cse_tokenizer_facts_read(options->side_files,
                                                 found >= 0 ? from->list[found].shape.dims[0] : 0,
                                                 &notice, &t->tokenizer);
    if (notice.size > 0 && options->notice != NULL)
        cse_text_add(options->notice, "%s", notice.data);
    cse_text_clear(&notice);
    return status;
}

/* Formats that do not pack hold elements alone. */
static cse_status check_packed(const char *path, const cse_weights_format *format,
                               const cse_weights_save_options *options)
{
    if (options->packed == NULL || (format != NULL && format->packs))
        return CSE_OK;
    return cse_fail(CSE_USAGE,
                    "%s: %s is a packed type of GGUF, which %s does not hold; accepted: "
                    "float32, bfloat16, float16, or a name that ends with .gguf",
                    path, options->packed->name, format != NULL ? format->name : "a folder");
}

cse_status cse_weights_save(cse_weights **from, const char *path,
                            const cse_weights_save_options *options)
{
    const cse_weights_format *format = NULL;
    theirs t = { .facts = NULL };
    cse_status status = choose((*from)->arena, path, options, &format);
    const char *kind = kind_of(*from, format, options);
    if (status == CSE_OK)
        status = check_packed(path, format, options);
    if (status == CSE_OK && options->element != CSE_ELEMENT_COUNT)
        *from = cse_weights_convert(from, options->element, NULL);
    if (status == CSE_OK && kind != NULL)
        status = to_theirs(from, kind, options, &t);
    if (status == CSE_OK && t.facts != NULL && strcmp(kind, "hugging_face") == 0 &&
        (*from)->count > 0)
        json_object_set_new(t.facts, "dtype",
                            json_string(cse_element_name((*from)->list[0].element)));
    if (status == CSE_OK)
        status = take_tokenizer(*from, format, options, &t);
    if (status == CSE_OK)
        status = format == NULL ? save_folder(*from, path, &t, options)
                                : save_file(*from, path, &t, format, options);
    cse_tokenizer_files_clear(&t.files);
    json_decref(t.tokenizer);
    json_decref(t.facts);
    json_decref(t.generation);
    json_decref(t.sentences);
    cse_weights_close(from);
    return status;
}
