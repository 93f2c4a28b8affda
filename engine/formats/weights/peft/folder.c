/* Names are "base_model.model.MODULE.lora_A.weight"; what has no word of a factor at its end is a
 * parameter of the model itself. */
#include "engine/formats/weights/peft/folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/types/shape.h"
#include "engine/formats/weights/format.h"
#include "engine/formats/weights/json_file.h"

typedef enum part { OF_A, OF_B, OF_MAGNITUDE, OF_NONE } part;

static const struct {
    const char *end;
    part part;
    bool is_table;
} ends[] = {
    { ".lora_A.weight", OF_A, false },
    { ".lora_B.weight", OF_B, false },
    { ".lora_magnitude_vector", OF_MAGNITUDE, false },
    { ".lora_magnitude_vector.weight", OF_MAGNITUDE, false },
    { ".lora_embedding_A", OF_A, true },
    { ".lora_embedding_B", OF_B, true },
};

static const char *without_prefix(const char *name)
{
    static const char prefix[] = "base_model.model.";
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

bool cse_peft_is_same_module(const char *one, const char *other)
{
    const size_t first = strlen(one), second = strlen(other);
    const char *longer = first > second ? one : other, *shorter = first > second ? other : one;
    const size_t more = strlen(longer) - strlen(shorter);
    return strcmp(longer + more, shorter) == 0 && (more == 0 || longer[more - 1] == '.');
}

/* ---- names ---- */

static cse_peft_module *module_named(cse_peft_folder *f, const char *name, size_t length)
{
    const char *own = cse_arena_printf(f->arena, "%.*s", (int)length, name);
    const int found = cse_name_index_find(&f->names, own);
    if (found >= 0)
        return &f->modules[found];
    CSE_GROW(f->modules, f->module_count, f->module_capacity);
    cse_name_index_add(&f->names, own, f->module_count);
    cse_peft_module *module = &f->modules[f->module_count++];
    *module = (cse_peft_module){ .name = own, .a = -1, .b = -1, .magnitude = -1 };
    return module;
}

/* A layer that is adapted and saved keeps its own weight below this name. */
static const char *without_wrapper(cse_arena *arena, const char *name)
{
    static const char wrapper[] = ".base_layer.";
    const char *at = strstr(name, wrapper);
    return at == NULL ? name
                      : cse_arena_printf(arena, "%.*s.%s", (int)(at - name), name,
                                         at + sizeof wrapper - 1);
}

static cse_status sort_name(cse_peft_folder *f, int index)
{
    const char *name = without_prefix(f->weights->list[index].name);
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t end = strlen(ends[i].end);
        if (length <= end || strcmp(name + length - end, ends[i].end) != 0)
            continue;
        cse_peft_module *module = module_named(f, name, length - end);
        int *const places[] = { &module->a, &module->b, &module->magnitude };
        if (*places[ends[i].part] >= 0)
            return cse_fail(CSE_DATA, "%s: '%s' has two factors of one kind", f->weights->path,
                            module->name);
        *places[ends[i].part] = index;
        module->is_table = module->is_table || ends[i].is_table;
        return CSE_OK;
    }
    if (strstr(name, "lora_") != NULL)
        return cse_fail(CSE_DATA,
                        "%s: '%.120s' is no factor that is known; accepted: names that end with "
                        "lora_A.weight, lora_B.weight, lora_magnitude_vector, lora_embedding_A and "
                        "lora_embedding_B",
                        f->weights->path, f->weights->list[index].name);
    CSE_GROW(f->saved, f->saved_count, f->saved_capacity);
    f->saved[f->saved_count++] =
        (cse_peft_saved){ .name = without_wrapper(f->arena, name), .weight = index };
    return CSE_OK;
}

/* ---- factors ---- */

static cse_status misfit(const cse_peft_folder *f, const cse_peft_module *m, const char *why)
{
    char a[192], b[192];
    return cse_fail(CSE_DATA, "%s: the factors of '%s', %s and %s, %s", f->weights->path, m->name,
                    cse_shape_text(f->weights->list[m->a].shape, a, sizeof a),
                    cse_shape_text(f->weights->list[m->b].shape, b, sizeof b), why);
}

static cse_status check_module(const cse_peft_folder *f, cse_peft_module *m)
{
    if (m->a < 0 || m->b < 0)
        return cse_fail(CSE_DATA, "%s: '%s' has no factor %s", f->weights->path, m->name,
                        m->a < 0 ? "A" : "B");
    const cse_weight *a = &f->weights->list[m->a], *b = &f->weights->list[m->b];
    m->rank = cse_peft_config_rank(&f->config, m->name);
    m->scale = cse_peft_config_scale(&f->config, m->name);
    if (a->shape.rank != 2 || b->shape.rank != 2)
        return misfit(f, m, "are no matrices: only linear layers and tables are adapted");
    if (!cse_element_is_float(a->element) || !cse_element_is_float(b->element))
        return misfit(f, m, "are no floats");
    if (cse_weight_bytes(a) == 0 || cse_weight_bytes(b) == 0)
        return misfit(f, m, "have no elements");
    if (a->shape.dims[0] != b->shape.dims[1] || a->shape.dims[0] != m->rank)
        return misfit(f, m, "have not the rank that adapter_config.json says (r, rank_pattern)");
    if ((m->magnitude >= 0) != f->config.use_dora)
        return misfit(f, m,
                      f->config.use_dora ? "have no lora_magnitude_vector, as use_dora asks"
                                         : "have a lora_magnitude_vector, without use_dora");
    if (m->magnitude < 0)
        return CSE_OK;
    const cse_weight *magnitude = &f->weights->list[m->magnitude];
    return !m->is_table && magnitude->shape.rank == 1 && cse_element_is_float(magnitude->element) &&
                   magnitude->shape.dims[0] == b->shape.dims[0]
               ? CSE_OK
               : misfit(f, m, "have no lora_magnitude_vector of as many elements as B has rows");
}

static cse_status open_weights(cse_peft_folder *f)
{
    static const struct {
        const char *format, *name;
    } files[] = { { "safetensors", "adapter_model.safetensors" },
                  { "pytorch", "adapter_model.bin" } };
    static const cse_weights_options none = { .format = NULL };
    struct stat status;
    int file = 0;
    for (int i = 0; i < 2; i++) {
        const char *path = cse_arena_printf(f->arena, "%s/%s", f->path, files[i].name);
        const cse_weights_format *format = cse_weights_format_find(files[i].format);
        if (stat(path, &status) != 0 || format == NULL)
            continue;
        f->weights = cse_weights_new(path);
        f->weights->format = format->name;
        CSE_TRY(cse_weights_add_file(f->weights, path, &file));
        return format->open(f->weights, file, &none);
    }
    return cse_fail(CSE_NO_INPUT,
                    "%s: is no folder of PEFT; accepted: one with adapter_config.json, and "
                    "adapter_model.safetensors or adapter_model.bin",
                    f->path);
}

/* What a folder that was written here says of its base. */
static cse_status read_base(cse_peft_folder *f)
{
    enum { MOST_BYTES = 4096 };
    struct stat status;
    json_t *base = NULL;
    const char *path = cse_arena_printf(f->arena, "%s/" CSE_PEFT_BASE_FILE, f->path);
    if (stat(path, &status) != 0)
        return CSE_OK;
    CSE_TRY(cse_weights_read_json(path, MOST_BYTES, &base));
    const char *digest = json_string_value(json_object_get(base, "adapted_weights_digest"));
    if (digest != NULL)
        f->base_digest = cse_arena_string(f->arena, digest);
    json_decref(base);
    return digest != NULL ? CSE_OK
                          : cse_fail(CSE_DATA, "%s: there is no text adapted_weights_digest", path);
}

cse_status cse_peft_folder_open(const char *path, cse_peft_folder **folder)
{
    cse_arena *arena = cse_arena_new();
    cse_peft_folder *f = cse_arena_alloc(arena, sizeof *f);
    *f = (cse_peft_folder){ .arena = arena, .path = cse_arena_string(arena, path) };
    *folder = f;
    CSE_TRY(
        cse_peft_config_read(cse_arena_printf(arena, "%s/adapter_config.json", path), &f->config));
    CSE_TRY(read_base(f));
    CSE_TRY(open_weights(f));
    for (int i = 0; i < f->weights->count; i++)
        CSE_TRY(sort_name(f, i));
    for (int i = 0; i < f->module_count; i++)
        CSE_TRY(check_module(f, &f->modules[i]));
    return f->module_count > 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: holds no factors of an adapter", f->weights->path);
}

void cse_peft_folder_close(cse_peft_folder **folder)
{
    cse_peft_folder *f = *folder;
    if (f == NULL)
        return;
    *folder = NULL;
    cse_weights_close(&f->weights);
    cse_peft_config_clear(&f->config);
    cse_name_index_clear(&f->names);
    free(f->modules);
    free(f->saved);
    cse_arena *arena = f->arena;
    cse_arena_destroy(&arena);
}
