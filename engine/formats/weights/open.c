/* The formats say by a file's first bytes whether it is theirs. */
#include "engine/formats/weights/open.h"

#include <stdlib.h>
#include <string.h>

#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/format.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/packed/packed_weight.h"
#include "engine/formats/weights/peft/add.h"
#include "engine/formats/weights/quantized/quantized.h"

static const cse_weights_format *format_of(const cse_weights *weights, int file)
{
    unsigned char start[CSE_FORMAT_START_BYTES];
    const cse_weights_file *f = &weights->files[file];
    const int64_t got = cse_read_at(f->descriptor, start, sizeof start, 0);
    for (const cse_weights_format *const *row = cse_weights_formats; *row != NULL; row++)
        if (got > 0 && (*row)->begins(f, start, (size_t)got))
            return *row;
    return NULL;
}

static cse_status open_file(cse_weights *weights, const cse_weights_options *options)
{
    int file = 0;
    CSE_TRY(cse_weights_add_file(weights, weights->path, &file));
    const cse_weights_format *format = options->format != NULL
                                           ? cse_weights_format_find(options->format)
                                           : format_of(weights, file);
    if (format == NULL && options->format != NULL)
        return cse_fail(CSE_USAGE, "there is no format \"%s\" of weights; accepted: %s",
                        options->format, cse_weights_format_names(weights->arena, false));
    if (format == NULL)
        return cse_fail(CSE_DATA,
                        "%s: holds no weights: it begins like no file of a format; "
                        "accepted: %s",
                        weights->path, cse_weights_format_names(weights->arena, false));
    weights->format = format->name;
    return format->open(weights, file, options);
}

bool cse_weights_are_foreign(const char *path)
{
    static const char ours[] = ".mdl";
    const size_t length = strlen(path);
    int file = 0;
    if (cse_weights_is_folder(path))
        return true;
    if (length >= sizeof ours && strcmp(path + length - (sizeof ours - 1), ours) == 0)
        return false;
    cse_weights *weights = cse_weights_new(path);
    const cse_weights_format *format =
        cse_weights_add_file(weights, path, &file) == CSE_OK ? format_of(weights, file) : NULL;
    cse_weights_close(&weights);
    return format != NULL && strcmp(format->name, "mdl") != 0;
}

/* Matrices whose elements of 16 bits can be taken from the file as they lie there. */
static void pack_halves(cse_weights *weights)
{
    for (int i = 0; weights->read == NULL && i < weights->count; i++) {
        cse_weight *weight = &weights->list[i];
        const cse_packed_type *type = weight->element == CSE_ELEMENT_BF16  ? &cse_packed_bf16_32
                                      : weight->element == CSE_ELEMENT_F16 ? &cse_packed_f16_32
                                                                           : NULL;
        if (type == NULL || weight->packed != NULL || weight->file < 0 || weight->shape.rank != 2 ||
            !cse_packed_fits(type, weight->shape))
            continue;
        weight->packed = type;
        weight->element = CSE_ELEMENT_F32;
    }
}

cse_status cse_weights_open(const char *path, const cse_weights_options *options,
                            cse_weights **weights)
{
    static const cse_weights_options none = { .format = NULL };
    options = options != NULL ? options : &none;
    *weights = cse_weights_new(path);
    cse_status status = cse_weights_is_folder(path) ? cse_weights_open_folder(*weights, options)
                                                    : open_file(*weights, options);
    if (status == CSE_OK)
        status = cse_quantized_unpack(weights);
    if (status == CSE_OK && options->packs_halves)
        pack_halves(*weights);
    if (status != CSE_OK)
        cse_weights_close(weights);
    return status;
}

/* ---- opening under our names ---- */

/* Keeps what they say besides the model, as text (weights.h). */
static void keep_origin(const cse_map *map, const json_t *facts, cse_weights *weights)
{
    const cse_yaml_node *selects = map->selects;
    json_t *config = cse_map_kept(map, facts);
    cse_map_token_ids(map, facts, config);
    json_t *origin = json_pack("{s:O?, s:o}", "model_type", json_object_get(facts, "model_type"),
                               "config", config);
    for (int i = 0; i < selects->count; i++) /* by which the map is found again */
        if (json_object_get(origin, selects->keys[i].text) == NULL)
            json_object_set(origin, selects->keys[i].text,
                            json_object_get(facts, selects->keys[i].text));
    if (weights->generation != NULL)
        json_object_set(origin, "generation_config", weights->generation);
    char *text = json_dumps(origin, JSON_COMPACT | JSON_SORT_KEYS);
    weights->origin = cse_arena_string(weights->arena, text);
    free(text);
    json_decref(origin);
}

static bool has_adapters(const cse_weights_options *options)
{
    return options != NULL && options->adapters != NULL && options->adapters->count > 0;
}

/* Whether they have the names that adapters have. */
static bool have_names_of_adapters(const cse_weights *weights)
{
    return weights->facts_kind != NULL && strcmp(weights->facts_kind, "hugging_face") == 0;
}

/* A key may be unknown because of the value of another one, as the factor of a kind of scaled
 * positions that the map does not hold for: the value is told then. */
static cse_status check_keys(const cse_map *map, cse_weights *weights, json_t *facts)
{
    cse_yaml_node *settings = NULL;
    if (cse_map_check_keys(map, weights->arena, facts) == CSE_OK)
        return CSE_OK;
    CSE_TRY(cse_map_note_weights(map, weights, facts));
    CSE_TRY(cse_map_settings(map, weights->arena, facts, &settings));
    return cse_map_check_keys(map, weights->arena, facts);
}

/* A refusal of what a file says, with its name. */
static cse_status with_path(const char *path, cse_status status)
{
    const cse_error *last = cse_error_last();
    if (status != CSE_DATA || last->place.source != NULL || strstr(last->message, path) != NULL)
        return status;
    const cse_error error = { .status = status,
                              .reason = last->reason,
                              .context = last->context,
                              .hint = last->hint,
                              .accepted = last->accepted };
    return cse_fail_at(&error, "%s: %s", path, last->message);
}

/* Takes the model's settings from their facts, and the names from the map. */
static cse_status to_ours(cse_weights **weights, const cse_weights_options *options)
{
    const char *map_name = options != NULL ? options->map : NULL;
    const char *begun = options != NULL ? options->model : NULL;
    const bool adds = has_adapters(options) && have_names_of_adapters(*weights);
    cse_weights *mapped = NULL;
    cse_map *map = NULL;
    cse_yaml_node *settings = NULL;
    cse_text config = { 0 };
    cse_arena *arena = (*weights)->arena;
    json_t *facts = (*weights)->facts;
    CSE_TRY(map_name != NULL
                ? cse_map_load(arena, map_name, &map)
                : cse_map_for_theirs(arena, (*weights)->facts_kind, facts, begun, &map));
    CSE_TRY(check_keys(map, *weights, facts));
    keep_origin(map, facts, *weights);
    CSE_TRY(cse_map_note_weights(map, *weights, facts));
    CSE_TRY(cse_map_note_rope(map, *weights, facts));
    CSE_TRY(cse_map_note_elements(map, *weights, facts));
    CSE_TRY(cse_map_settings(map, arena, facts, &settings));
    cse_map_even_stacks(map, weights);
    cse_map_name_tied(map, facts, *weights);
    if (adds)
        CSE_TRY(cse_peft_add(weights, map, facts, options->adapters));
    CSE_TRY(cse_map_to_ours(map, facts, weights, &mapped));
    cse_yaml_print(cse_map_configuration(mapped->arena, map->model, settings), &config);
    mapped->config = cse_arena_string(mapped->arena, config.data);
    cse_text_clear(&config);
    *weights = mapped;
    return CSE_OK;
}

cse_status cse_weights_open_ours(const char *path, const cse_weights_options *options,
                                 cse_weights **weights)
{
    const char *map = options != NULL ? options->map : NULL;
    CSE_TRY(cse_weights_open(path, options, weights));
    const bool is_ours =
        (*weights)->facts_kind == NULL || (map != NULL && strcmp(map, "none") == 0);
    const bool are_added = !is_ours && have_names_of_adapters(*weights); /* on the way */
    cse_status status = is_ours ? CSE_OK : with_path(path, to_ours(weights, options));
    if (status == CSE_OK && has_adapters(options) && !are_added)
        status = cse_peft_add_to_ours(weights, options->adapters);
    if (status != CSE_OK)
        cse_weights_close(weights);
    return status;
}
