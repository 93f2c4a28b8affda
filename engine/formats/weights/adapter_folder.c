/* One module of theirs may hold several layers of ours. Where those share their A the factors are
 * joined by rows; where each has its own, the module's A is all of them, one below the other, and
 * its B has each layer's in its own rows and columns, with zeros elsewhere: the same product. */
#include "engine/formats/weights/adapter_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/adapter_settings.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/in_memory.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/peft/base.h"
#include "engine/formats/weights/peft/merge_own.h"
#include "engine/formats/weights/peft/own.h"
#include "engine/formats/weights/peft/rows.h"
#include "engine/formats/weights/renamed.h"

static const char weight_end[] = ".weight", peft_prefix[] = "base_model.model.";

/* A module of theirs. */
typedef struct module {
    const char *name; /* without ".weight" */
    const cse_map_rule *rule;
    const char *layers[CSE_MAP_PARTS];           /* ours */
    const cse_peft_module *parts[CSE_MAP_PARTS]; /* NULL: that layer is not adapted */
    bool is_shared;                              /* all parts have one A */
    int64_t rank;
    double scale;
} module;

typedef struct folder {
    cse_weights *from;
    const cse_adapter_settings *adapter;
    cse_map *map;
    json_t *facts;
    const cse_map_names *names;
    cse_peft_folder *own;
    module *modules;
    int count, capacity;
    cse_weights *written; /* by the names of PEFT's file */
    json_t *saved;        /* names of modules that were trained as they are */
} folder;

/* ---- modules ---- */

static const char *of_module(cse_arena *arena, const char *weight)
{
    const char *dot = strrchr(weight, '.');
    return cse_arena_printf(arena, "%.*s", (int)(dot != NULL ? dot - weight : 0), weight);
}

/* A layer of the rule, which has the number of `layer`. */
static const char *layer_of_rule(cse_arena *arena, const cse_map_rule *rule, int part,
                                 const char *layer)
{
    const char *star = strchr(rule->ours[part], '*');
    const char *digits = layer;
    for (int p = 0; p < rule->parts; p++)
        if (cse_map_is_name(rule->ours[p], cse_arena_printf(arena, "%s.weight", layer)))
            digits = layer + (star != NULL ? strchr(rule->ours[p], '*') - rule->ours[p] : 0);
    if (star == NULL)
        return of_module(arena, rule->ours[part]);
    return of_module(arena, cse_arena_printf(arena, "%.*s%.*s%s", (int)(star - rule->ours[part]),
                                             rule->ours[part], (int)strspn(digits, "0123456789"),
                                             digits, star + 1));
}

static cse_status add_module(folder *f, const cse_peft_module *own)
{
    const cse_map_rule *rule = NULL;
    cse_arena *arena = f->own->arena;
    const char *theirs =
        cse_map_names_of(f->names, cse_arena_printf(arena, "%s.weight", own->name), &rule);
    if (theirs == NULL)
        return cse_fail_at(
            &(cse_error){ .status = CSE_DATA,
                          .hint = "convert to another format: the factors are added to the "
                                  "weights then" },
            "%s: the adapter has factors beside %s, which is no module of its own there (%s)",
            f->from->path, own->name, f->map->source);
    const char *name = of_module(arena, theirs);
    module *m = NULL;
    for (int i = 0; i < f->count && m == NULL; i++)
        m = strcmp(f->modules[i].name, name) == 0 ? &f->modules[i] : NULL;
    if (m == NULL) {
        CSE_GROW(f->modules, f->count, f->capacity);
        m = &f->modules[f->count++];
        *m = (module){ .name = name, .rule = rule };
        for (int p = 0; p < rule->parts; p++)
            m->layers[p] = layer_of_rule(arena, rule, p, own->name);
    }
    for (int p = 0; p < rule->parts; p++)
        if (strcmp(m->layers[p], own->name) == 0)
            m->parts[p] = own;
    return CSE_OK;
}

/* The rank and the scale of the whole: parts with other scales have them in their B. */
static cse_status join(const folder *f, module *m)
{
    int a = -1, present = 0;
    m->is_shared = true;
    for (int p = 0; p < m->rule->parts; p++) {
        const cse_peft_module *part = m->parts[p];
        if (part == NULL)
            continue;
        m->is_shared = m->is_shared && (present == 0 || part->a == a);
        a = part->a;
        present++;
        m->rank += part->rank;
        m->scale = fmax(m->scale, part->scale);
    }
    m->is_shared = m->is_shared && (present > 1 || m->rule->parts == 1);
    if (m->is_shared)
        m->rank /= present;
    if (present == m->rule->parts || !f->adapter->use_dora)
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "%s: the adapter has magnitudes of a part of %s alone; a folder of PEFT has "
                    "them of a whole module: convert to another format",
                    f->from->path, m->name);
}

/* ---- factors ---- */

static cse_status read_floats(cse_weights *weights, int index, float *to)
{
    return cse_weights_read_as(weights, index, CSE_ELEMENT_F32, to);
}

static const char *factor_name(const folder *f, const module *m, const char *end)
{
    return cse_arena_printf(f->own->arena, "%s%s.%s", peft_prefix, m->name, end);
}

/* A of all parts, one below the other; a shared one once. */
static cse_status write_a(folder *f, const module *m)
{
    cse_weights *own = f->own->weights;
    float *values = NULL;
    int64_t columns = 0, at = 0;
    for (int p = 0; p < m->rule->parts; p++)
        if (m->parts[p] != NULL)
            columns = own->list[m->parts[p]->a].shape.dims[1];
    CSE_TRY(cse_in_memory_add(f->written, factor_name(f, m, "lora_A.weight"),
                              cse_shape_of(m->rank, columns), &values));
    for (int p = 0; p < m->rule->parts && at < m->rank; p++) {
        if (m->parts[p] == NULL)
            continue;
        CSE_TRY(read_floats(own, m->parts[p]->a, values + at * columns));
        at += m->parts[p]->rank;
    }
    return CSE_OK;
}

static int64_t rows_of(const folder *f, const char *layer)
{
    const int index =
        cse_weights_find(f->from, cse_arena_printf(f->own->arena, "%s.weight", layer));
    return index >= 0 ? f->from->list[index].shape.dims[0] : 0;
}

/* B of each layer with as many columns as the module's rank, under the name of its weight. */
static cse_status put_b(folder *f, const module *m, cse_weights *rows)
{
    int64_t at = 0;
    for (int p = 0; p < m->rule->parts; p++) {
        const cse_peft_module *part = m->parts[p];
        const int64_t count = rows_of(f, m->layers[p]);
        float *values = NULL;
        CSE_TRY(cse_in_memory_add(rows,
                                  cse_arena_printf(f->own->arena, "%s%s", m->layers[p], weight_end),
                                  cse_shape_of(count, m->rank), &values));
        if (part == NULL)
            continue;
        const double factor = m->scale > 0 ? part->scale / m->scale : 0;
        float *own = cse_malloc((size_t)(count * part->rank) * sizeof *own + 1);
        cse_status status = read_floats(f->own->weights, part->b, own);
        for (int64_t i = 0; i < count && status == CSE_OK; i++)
            for (int64_t r = 0; r < part->rank; r++)
                values[i * m->rank + at + r] = (float)(factor * (double)own[i * part->rank + r]);
        free(own);
        CSE_TRY(status);
        at += m->is_shared ? 0 : part->rank;
    }
    return CSE_OK;
}

static cse_status put_magnitude(folder *f, const module *m, cse_weights *rows)
{
    for (int p = 0; p < m->rule->parts; p++) {
        float *values = NULL;
        CSE_TRY(cse_in_memory_add(rows,
                                  cse_arena_printf(f->own->arena, "%s%s", m->layers[p], weight_end),
                                  cse_shape_of(rows_of(f, m->layers[p])), &values));
        CSE_TRY(read_floats(f->own->weights, m->parts[p]->magnitude, values));
    }
    return CSE_OK;
}

/* PEFT has a parameter of an adapted module below its own layer. */
static const char *saved_name(const folder *f, const char *name)
{
    cse_arena *arena = f->own->arena;
    const char *module_name = of_module(arena, name);
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->modules[i].name, module_name) == 0)
            return cse_arena_printf(arena, "%s.base_layer%s", module_name,
                                    name + strlen(module_name));
    return name;
}

/* Copies weights of theirs, under the name that `end` makes of a module's. */
static cse_status take(folder *f, cse_weights *theirs, const char *end)
{
    for (int i = 0; i < theirs->count; i++) {
        float *values = NULL;
        const char *name = theirs->list[i].name;
        const char *own = end == NULL ? saved_name(f, name)
                                      : cse_arena_printf(f->own->arena, "%s.%s",
                                                         of_module(f->own->arena, name), end);
        CSE_TRY(cse_in_memory_add(f->written,
                                  cse_arena_printf(f->own->arena, "%s%s", peft_prefix, own),
                                  theirs->list[i].shape, &values));
        CSE_TRY(read_floats(theirs, i, values));
    }
    return CSE_OK;
}

/* Rows of all modules, in their order there. */
static cse_status write_rows(folder *f, const char *end,
                             cse_status (*put)(folder *, const module *, cse_weights *))
{
    cse_weights *rows = cse_in_memory_new(f->from->path), *theirs = NULL;
    cse_status status = CSE_OK;
    for (int i = 0; i < f->count && status == CSE_OK; i++)
        status = put(f, &f->modules[i], rows);
    if (status == CSE_OK)
        status = cse_peft_rows_to_theirs(f->map, f->facts, &rows, &theirs);
    if (status == CSE_OK)
        status = take(f, theirs, end);
    cse_weights_close(&rows);
    cse_weights_close(&theirs);
    return status;
}

/* ---- what was trained as it is ---- */

static bool is_saved(const folder *f, const char *parameter, const char *theirs)
{
    cse_arena *arena = f->own->arena;
    const char *bias = cse_settings_text(f->adapter->settings, "bias");
    const cse_adapted_layer layer = { of_module(arena, parameter),
                                      theirs != NULL ? of_module(arena, theirs) : NULL };
    const char *end = strrchr(parameter, '.');
    if (cse_adapter_names_meet(f->adapter->also_trained, layer, NULL) != CSE_NOT_MET) {
        if (theirs != NULL)
            json_object_set_new(f->saved, layer.theirs, json_true());
        return true;
    }
    if (end == NULL || strcmp(end, ".bias") != 0 || strcmp(bias, "none") == 0)
        return false;
    bool adapted = strcmp(bias, "all") == 0;
    for (int i = 0; i < f->own->module_count && !adapted; i++)
        adapted = strcmp(f->own->modules[i].name, layer.ours) == 0;
    return adapted;
}

static cse_status write_saved(folder *f)
{
    cse_weights *some = cse_renamed_new(f->from, false), *theirs = NULL;
    cse_status status = CSE_OK;
    const cse_map own = cse_map_of_some(f->own->arena, f->map);
    for (int i = 0; i < f->from->count && status == CSE_OK; i++) {
        const cse_map_rule *rule = NULL;
        const char *name = f->from->list[i].name;
        if (!cse_peft_is_factor(name) && is_saved(f, name, cse_map_names_of(f->names, name, &rule)))
            status = cse_renamed_add(some, i, name);
    }
    if (status == CSE_OK && some->count > 0)
        status = cse_map_to_theirs(&own, f->facts, &some, &theirs);
    if (status == CSE_OK && theirs != NULL)
        status = take(f, theirs, NULL);
    cse_weights_close(&some);
    cse_weights_close(&theirs);
    return status;
}

/* ---- the folder ---- */

/* lora_alpha that makes the module's scale of its rank. */
static double alpha_of(const folder *f, const module *m)
{
    const double rank = (double)m->rank;
    return m->scale * (cse_settings_bool(f->adapter->settings, "use_rslora") ? sqrt(rank) : rank);
}

static const char *configuration(const folder *f)
{
    const cse_settings *s = f->adapter->settings;
    const int64_t rank = f->modules[0].rank;
    const double alpha = alpha_of(f, &f->modules[0]);
    json_t *modules = json_array(), *ranks = json_object(), *alphas = json_object();
    bool turned = false;
    const char *name;
    json_t *value, *saved = json_array();
    for (int i = 0; i < f->count; i++) {
        const module *m = &f->modules[i];
        json_array_append_new(modules, json_string(m->name));
        if (m->rank != rank)
            json_object_set_new(ranks, m->name, json_integer(m->rank));
        if (fabs(alpha_of(f, m) - alpha) > 1e-12 * fabs(alpha))
            json_object_set_new(alphas, m->name, json_real(alpha_of(f, m)));
        turned = turned || m->rule->transpose;
    }
    json_object_foreach(f->saved, name, value)
    {
        json_array_append_new(saved, json_string(name));
    }
    json_t *config = json_pack(
        "{s:s, s:s, s:n, s:I, s:f, s:f, s:o, s:o, s:o, s:o, s:s, s:b, s:b, s:b, s:b}", "peft_type",
        "LORA", "task_type", "CAUSAL_LM", "base_model_name_or_path", "r", (json_int_t)rank,
        "lora_alpha", alpha, "lora_dropout", cse_settings_number(s, "lora_dropout"),
        "target_modules", modules, "rank_pattern", ranks, "alpha_pattern", alphas,
        "modules_to_save", json_array_size(saved) > 0 ? json_incref(saved) : json_null(), "bias",
        cse_settings_text(s, "bias"), "use_rslora", cse_settings_bool(s, "use_rslora"),
        "fan_in_fan_out", turned, "inference_mode", 1, "use_dora", f->adapter->use_dora);
    char *text = json_dumps(config, JSON_INDENT(2) | JSON_SORT_KEYS);
    const char *lines = cse_arena_printf(f->own->arena, "%s\n", text);
    free(text);
    json_decref(saved);
    json_decref(config);
    return lines;
}

/* What the adapter was trained beside. */
static cse_status base_of(const folder *f, const char **text)
{
    char hex[CSE_BASE_DIGEST_BYTES];
    cse_weights *some = cse_renamed_new(f->from, false);
    cse_status status = CSE_OK;
    for (int i = 0; i < f->count; i++)
        for (int p = 0; p < f->modules[i].rule->parts && status == CSE_OK; p++) {
            const char *name =
                cse_arena_printf(f->own->arena, "%s%s", f->modules[i].layers[p], weight_end);
            const int index = cse_weights_find(f->from, name);
            if (index >= 0)
                status = cse_renamed_add(some, index, name);
        }
    if (status == CSE_OK)
        status = cse_base_digest_of(some, hex);
    cse_weights_close(&some);
    *text = status == CSE_OK ? cse_peft_base_text(f->own->arena, hex) : NULL;
    return status;
}

static cse_status make(folder *f, const char *path)
{
    const char *base = NULL;
    CSE_TRY(cse_peft_own(f->from, f->adapter, &f->own));
    for (int i = 0; i < f->own->module_count; i++)
        CSE_TRY(add_module(f, &f->own->modules[i]));
    if (f->count == 0)
        return cse_fail(CSE_DATA, "%s: holds no factors of the adapter %s", f->from->path,
                        f->adapter->name);
    f->written = cse_in_memory_new(f->from->path);
    for (int i = 0; i < f->count; i++) {
        CSE_TRY(join(f, &f->modules[i]));
        CSE_TRY(write_a(f, &f->modules[i]));
    }
    CSE_TRY(write_rows(f, "lora_B.weight", put_b));
    if (f->adapter->use_dora)
        CSE_TRY(write_rows(f, "lora_magnitude_vector", put_magnitude));
    CSE_TRY(write_saved(f));
    CSE_TRY(base_of(f, &base));
    return cse_weights_save_folder(
        f->written, path,
        &(cse_weights_folder_options){
            .stem = "adapter_model", .adapter_config = configuration(f), .adapter_base = base });
}

/* The adapter that is named, or the active one. */
static cse_status choose(cse_weights *from, const char *name, cse_adapter_settings **chosen)
{
    cse_adapter_settings *all = NULL, *found = NULL;
    cse_text names = { 0 };
    CSE_TRY(cse_adapter_settings_of(from->arena, from->config, &all));
    if (all == NULL || !cse_weights_have_adapter(from))
        return cse_fail(CSE_DATA, "%s: holds no factors of an adapter", from->path);
    int active = 0;
    for (cse_adapter_settings *a = all; a != NULL; a = a->next) {
        const bool meant = name != NULL ? strcmp(a->name, name) == 0 : a->is_active;
        active += meant;
        found = meant ? a : found;
        cse_text_add(&names, "%s%s", a == all ? "" : ", ", a->name);
    }
    cse_status status =
        active == 1 ? CSE_OK
                    : cse_fail(CSE_DATA, "%s: %s; --adapter_name takes one of %s", from->path,
                               name != NULL ? "there is no adapter of that name"
                                            : "not just one of its adapters is active",
                               names.data);
    cse_text_clear(&names);
    *chosen = found;
    return status;
}

cse_status cse_adapter_folder_save(cse_weights *from, const char *path,
                                   const cse_adapter_folder_options *options)
{
    folder f = { .from = from };
    cse_adapter_settings *adapter = NULL;
    CSE_TRY(choose(from, options->adapter, &adapter));
    f.adapter = adapter;
    CSE_TRY(cse_map_for_weights(from, "hugging_face", options->map, &f.map, &f.facts));
    f.names = cse_map_names_new(from->arena, f.map, f.facts);
    f.saved = json_object();
    cse_status status = make(&f, path);
    json_decref(f.facts);
    json_decref(f.saved);
    free(f.modules);
    cse_weights_close(&f.written);
    cse_peft_folder_close(&f.own);
    return status;
}
