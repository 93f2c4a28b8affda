/* The input function's name decides which settings the section may have, so it is read first. */
#include "dataloader/section.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/mixing.h"
#include "dataloader/positions/left_out.h"
#include "dataloader/sampling.h"
#include "engine/base/arena.h"
#include "engine/base/config/dataloader_table.h"
#include "engine/base/registry.h"

static const char context[] = "data loader: ";

/* The divisors of `whole` on both sides of `size`, or the trivial one where none is near. */
enum { NEAR = 1000000 };

static int64_t divisor_below(int64_t whole, int64_t size)
{
    for (int64_t candidate = size - 1; candidate > 1 && candidate > size - NEAR; candidate--)
        if (whole % candidate == 0)
            return candidate;
    return 1;
}

static int64_t divisor_above(int64_t whole, int64_t size)
{
    for (int64_t candidate = size + 1; candidate < whole && candidate < size + NEAR; candidate++)
        if (whole % candidate == 0)
            return candidate;
    return whole;
}

static void read_batching(cse_dataloader_section *section, uint64_t default_seed)
{
    const cse_settings *settings = section->settings;
    cse_batching *batching = &section->batching;
    *batching = (cse_batching){
        .batch_size = cse_settings_integer(settings, "batch_size"),
        .shuffle = cse_settings_bool(settings, "shuffle"),
        .shuffle_seed = default_seed,
        .drop_last =
            !cse_settings_has(settings, "drop_last") || cse_settings_bool(settings, "drop_last"),
        .skip_samples = cse_settings_integer(settings, "skip_samples"),
    };
    batching->micro_batch_size = batching->batch_size;
    if (cse_settings_has(settings, "micro_batch_size"))
        batching->micro_batch_size = cse_settings_integer(settings, "micro_batch_size");
    if (cse_settings_has(settings, "shuffle_seed"))
        batching->shuffle_seed = (uint64_t)cse_settings_integer(settings, "shuffle_seed");
}

static cse_status find_input(const char *name, const char *path, const void **descriptor,
                             const cse_library **library)
{
    const cse_plugin_wanted wanted = {
        .kind = "input", .library = path, .name = name, .table = cse_inputs
    };
    return cse_plugin_find(&wanted, descriptor, library);
}

cse_status cse_dataloader_section_read(const cse_settings *settings, uint64_t default_seed,
                                       cse_dataloader_section *section)
{
    const void *descriptor = NULL;
    *section = (cse_dataloader_section){ .settings = settings };
    CSE_TRY(find_input(cse_settings_text(settings, "data_processor"),
                       cse_settings_text(settings, "library"), &descriptor, &section->library));
    section->descriptor = descriptor;
    read_batching(section, default_seed);
    CSE_TRY(cse_sampling_check(settings));
    CSE_TRY(cse_mixing_check(settings));
    CSE_TRY(cse_left_out_check(settings));
    const cse_batching *batching = &section->batching;
    if (batching->batch_size % batching->micro_batch_size == 0)
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, "micro_batch_size")),
                       "micro_batch_size %" PRId64 " does not divide batch_size %" PRId64
                       ": accepted are its divisors, such as %" PRId64 " and %" PRId64,
                       batching->micro_batch_size, batching->batch_size,
                       divisor_below(batching->batch_size, batching->micro_batch_size),
                       divisor_above(batching->batch_size, batching->micro_batch_size));
}

cse_status cse_dataloader_too_few(const cse_settings *settings, int64_t sample_count)
{
    return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, "batch_size")),
                       "batch_size %" PRId64 " is larger than the data, which has %" PRId64
                       " samples: accepted are 1 to %" PRId64
                       ", or drop_last: false, with which a smaller batch is one, too",
                       cse_settings_integer(settings, "batch_size"), sample_count, sample_count);
}

cse_status cse_dataloader_section_check_samples(const cse_dataloader_section *section,
                                                int64_t sample_count)
{
    const cse_settings *settings = section->settings;
    const cse_batching *batching = &section->batching;
    const int64_t batch_size = batching->batch_size, skipped = batching->skip_samples;
    const bool drops = cse_settings_has(settings, "drop_last") && batching->drop_last;
    if (drops && batch_size > sample_count)
        return cse_dataloader_too_few(settings, sample_count);
    if (!batching->drop_last && skipped % sample_count % batch_size != 0)
        return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, "skip_samples")),
                           "skip_samples %" PRId64 " ends within a batch, and with drop_last: "
                           "false batches stay as they are: accepted are multiples of batch_size "
                           "(%" PRId64 "), counted anew in each epoch of %" PRId64 " samples",
                           skipped, batch_size, sample_count);
    return CSE_OK;
}

/* ---- settings from a tree ---- */

cse_status cse_dataloader_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                        cse_settings **settings)
{
    const cse_yaml_node *name = cse_yaml_find(tree, "data_processor");
    const cse_yaml_node *path = cse_yaml_find(tree, "library");
    static const cse_setting none[] = { { 0 } };
    const void *found = NULL;
    const cse_library *library = NULL;
    if (path != NULL && (path->kind != CSE_YAML_SCALAR || cse_yaml_is_null(path)))
        path = NULL;
    /* Without a name, the check of the common settings reports what is wrong. */
    if (name == NULL || name->kind != CSE_YAML_SCALAR || cse_yaml_is_null(name))
        return cse_dataloader_settings_check(arena, none, tree, NULL, settings);
    if (find_input(name->text, path != NULL ? path->text : NULL, &found, &library) != CSE_OK) {
        cse_error error = *cse_error_last();
        error.context = context;
        error.place = name->place;
        return cse_fail_at(&error, "data_processor: %s", error.message);
    }
    /* Of a library that is loaded, and not named here: other processes must be told which. */
    if (library != NULL && path == NULL)
        cse_yaml_put(arena, tree, (cse_yaml_key){ "library", name->place },
                     cse_yaml_scalar_new(arena, name->place, library->path));
    const cse_input_descriptor *descriptor = found;
    return cse_dataloader_settings_check(arena, descriptor->settings, tree, NULL, settings);
}

/* What the content of the library must be, where settings are sent to another process, and which
 * batches that is to read. */
static const char digest_key[] = "library_digest", last_key[] = "last_batch";
static const char samples_key[] = "batch_samples";

static void put_text(cse_arena *arena, cse_yaml_node *tree, const char *key, const char *text)
{
    cse_yaml_put(arena, tree, (cse_yaml_key){ key, tree->place },
                 cse_yaml_scalar_new(arena, tree->place, text));
}

void cse_dataloader_settings_encode(const cse_settings *settings, cse_batch_kind kind,
                                    cse_text *json)
{
    static const char *const nothing[] = { NULL };
    cse_dataloader_section section = { .library = NULL };
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *tree = cse_yaml_without(arena, settings->node, nothing);
    if (cse_dataloader_section_read(settings, 0, &section) == CSE_OK && section.library != NULL)
        put_text(arena, tree, digest_key, section.library->digest);
    if (!kind.dropped)
        put_text(arena, tree, last_key, "kept");
    if (kind.samples > 0)
        put_text(arena, tree, samples_key, cse_arena_printf(arena, "%" PRId64, kind.samples));
    cse_yaml_encode(tree, json);
    cse_arena_destroy(&arena);
}

/* The library is loaded with the digest that came with the settings, and found again by its path
 * when they are read. */
static cse_status load_library(cse_yaml_node *tree)
{
    const cse_yaml_node *path = cse_yaml_find(tree, "library");
    const cse_yaml_node *digest = cse_yaml_find(tree, digest_key);
    const cse_library *library = NULL;
    if (path == NULL || cse_yaml_is_null(path))
        return CSE_OK;
    if (path->kind != CSE_YAML_SCALAR || digest == NULL || digest->kind != CSE_YAML_SCALAR)
        return cse_fail(CSE_DATA, "encoded settings name a library without its digest");
    CSE_TRY(cse_library_load(path->text, digest->text, &library));
    cse_yaml_remove(tree, digest_key);
    return CSE_OK;
}

static cse_status take_kind(cse_yaml_node *tree, cse_batch_kind *kind)
{
    const cse_yaml_node *last = cse_yaml_find(tree, last_key);
    const cse_yaml_node *samples = cse_yaml_find(tree, samples_key);
    char *end = NULL;
    *kind = (cse_batch_kind){ .dropped = last == NULL };
    if (samples != NULL && samples->kind == CSE_YAML_SCALAR && samples->text != NULL)
        kind->samples = strtoll(samples->text, &end, 10);
    if ((samples != NULL && (end == NULL || *end != '\0' || kind->samples < 1)) ||
        (last != NULL && (last->kind != CSE_YAML_SCALAR || strcmp(last->text, "kept") != 0)))
        return cse_fail(CSE_DATA, "encoded settings do not say which batches are read");
    cse_yaml_remove(tree, last_key);
    cse_yaml_remove(tree, samples_key);
    return CSE_OK;
}

cse_status cse_dataloader_settings_decode(const char *json, cse_settings **settings,
                                          cse_batch_kind *kind)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *tree = NULL;
    *settings = NULL;
    cse_status status = cse_yaml_decode(arena, json, strlen(json), &tree);
    if (status == CSE_OK)
        status = take_kind(tree, kind);
    if (status == CSE_OK)
        status = load_library(tree);
    status = status == CSE_OK ? cse_dataloader_settings_read(arena, tree, settings)
                              : cse_fail_within(status, "%s", context);
    if (status != CSE_OK)
        cse_arena_destroy(&arena);
    return status;
}
