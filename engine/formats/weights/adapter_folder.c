/* Factors go through the rules of the map as the weights beside them do: B has the rows of its
 * weight, which a rotation puts in another order, A has its columns, which none does. */
#include "engine/formats/weights/adapter_folder.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/config/adapter_settings.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/merged.h"

static const char weight_end[] = ".weight", peft_prefix[] = "base_model.model.";
static const char *const ends[] = { ".lora_A.weight", ".lora_B.weight" };
enum { FACTORS = 2, OF_B = 1 };

/* ---- factors under the names of their weights, and back ---- */

typedef struct renamed {
    cse_weights *from;
    bool owns;
    int *sources; /* of each weight */
} renamed;

static cse_status read_renamed(cse_weights *weights, int index, uint64_t first, size_t bytes,
                               void *to)
{
    const renamed *self = weights->self;
    return cse_weights_read(self->from, self->sources[index], first, bytes, to);
}

static void close_renamed(cse_weights *weights)
{
    renamed *self = weights->self;
    free(self->sources);
    if (self->owns)
        cse_weights_close(&self->from);
}

static cse_weights *rename_new(cse_weights *from, bool owns)
{
    cse_weights *view = cse_weights_new(from->path);
    renamed *self = cse_arena_alloc(view->arena, sizeof *self);
    *self = (renamed){ .from = from, .owns = owns };
    self->sources = cse_calloc((size_t)from->count + 1, sizeof *self->sources);
    view->self = self;
    view->read = read_renamed;
    view->close = close_renamed;
    view->format = from->format;
    return view;
}

static cse_status add_renamed(cse_weights *view, int source, const char *name)
{
    renamed *self = view->self;
    cse_weight weight = self->from->list[source];
    weight.name = name;
    weight.file = -1;
    self->sources[view->count] = source;
    return cse_weights_add(view, &weight);
}

/* The length of the module's name where this is one of its factors; 0: it is none. */
static size_t module_length(const char *name, const char *end)
{
    const size_t length = strlen(name), part = strlen(end);
    return length > part && strcmp(name + length - part, end) == 0 ? length - part : 0;
}

/* ---- the rules ---- */

static bool is_of_rule(const cse_map_rule *rule, const char *name)
{
    bool found = false;
    for (int p = 0; p < rule->parts && !found; p++)
        found = cse_map_is_name(rule->ours[p], name);
    return found;
}

/* Their weight is one of ours, with rows and columns of its own. */
static bool is_whole(const cse_map_rule *rule)
{
    return rule->parts == 1 && !rule->is_fused && rule->stack == NULL && !rule->roll &&
           rule->squeeze == 0;
}

/* A map of those rules alone that factors need. */
static cse_status rules_for(const cse_map *map, const cse_weights *factors, bool of_b, cse_map *own)
{
    cse_arena *arena = factors->arena;
    *own = *map;
    own->rope_factors = NULL;
    own->rule_count = 0;
    own->rules = cse_arena_alloc(arena, ((size_t)map->rule_count + 1) * sizeof *own->rules);
    for (int r = 0; r < map->rule_count; r++) {
        cse_map_rule rule = map->rules[r];
        bool needed = false;
        for (int i = 0; i < factors->count && !needed; i++)
            needed = is_of_rule(&rule, factors->list[i].name);
        if (needed && !is_whole(&rule))
            return cse_fail_at(
                &(cse_error){ .status = CSE_DATA,
                              .hint = "convert to another format: the factors are added to the "
                                      "weights then" },
                "%s: the adapter has factors beside %s, a part of %s there (%s)", factors->path,
                rule.ours[0], rule.theirs, map->source);
        rule.optional = true;
        rule.transpose = false;
        if (!of_b)
            rule.rotary = NULL;
        if (needed)
            own->rules[own->rule_count++] = rule;
    }
    return CSE_OK;
}

/* The factors of one kind under PEFT's names; *theirs owns its views. */
static cse_status names_of(cse_weights *from, const cse_map *map, const json_t *facts, int factor,
                           cse_weights **theirs)
{
    cse_map own;
    cse_weights *view = rename_new(from, false), *mapped = NULL;
    cse_status status = CSE_OK;
    for (int i = 0; i < from->count && status == CSE_OK; i++) {
        const size_t module = module_length(from->list[i].name, ends[factor]);
        if (module > 0)
            status = add_renamed(view, i,
                                 cse_arena_printf(view->arena, "%.*s%s", (int)module,
                                                  from->list[i].name, weight_end));
    }
    if (status == CSE_OK)
        status = rules_for(map, view, factor == OF_B, &own);
    if (status == CSE_OK)
        status = cse_map_to_theirs(&own, facts, &view, &mapped);
    if (status != CSE_OK) {
        cse_weights_close(&view);
        return status;
    }
    *theirs = rename_new(mapped, true);
    for (int i = 0; i < mapped->count && status == CSE_OK; i++) {
        const size_t module = module_length(mapped->list[i].name, weight_end);
        status = add_renamed(*theirs, i,
                             cse_arena_printf((*theirs)->arena, "%s%.*s%s", peft_prefix,
                                              (int)module, mapped->list[i].name, ends[factor]));
    }
    return status;
}

/* ---- the folder ---- */

/* Both kinds as one; the views stay the caller's. */
typedef struct both {
    cse_weights *of[FACTORS];
} both;

static cse_status read_both(cse_weights *weights, int index, uint64_t first, size_t bytes, void *to)
{
    const both *self = weights->self;
    const int count = self->of[0]->count;
    return index < count ? cse_weights_read(self->of[0], index, first, bytes, to)
                         : cse_weights_read(self->of[1], index - count, first, bytes, to);
}

static const char *configuration(cse_arena *arena, const cse_adapter_settings *adapter,
                                 const cse_weights *a, bool turned)
{
    const cse_settings *s = adapter->settings;
    json_t *modules = json_array();
    for (int i = 0; i < a->count; i++) {
        const char *name = a->list[i].name + sizeof peft_prefix - 1;
        json_array_append_new(modules, json_stringn(name, module_length(name, ends[0])));
    }
    json_t *config =
        json_pack("{s:s, s:s, s:n, s:I, s:f, s:f, s:o, s:s, s:b, s:b, s:b, s:b}", "peft_type",
                  "LORA", "task_type", "CAUSAL_LM", "base_model_name_or_path", "r",
                  (json_int_t)adapter->rank, "lora_alpha", cse_settings_number(s, "lora_alpha"),
                  "lora_dropout", cse_settings_number(s, "lora_dropout"), "target_modules", modules,
                  "bias", "none", "use_rslora", cse_settings_bool(s, "use_rslora"),
                  "fan_in_fan_out", turned, "inference_mode", 1, "use_dora", 0);
    char *text = json_dumps(config, JSON_INDENT(2) | JSON_SORT_KEYS);
    const char *lines = cse_arena_printf(arena, "%s\n", text);
    free(text);
    json_decref(config);
    return lines;
}

/* Whether the weights that are adapted lie the other way round there (Conv1D). */
static bool are_turned(const cse_map *map, const cse_weights *from)
{
    bool turned = false;
    for (int i = 0; i < from->count && !turned; i++) {
        const size_t module = module_length(from->list[i].name, ends[0]);
        const char *name =
            cse_arena_printf(from->arena, "%.*s%s", (int)module, from->list[i].name, weight_end);
        for (int r = 0; module > 0 && r < map->rule_count && !turned; r++)
            turned = map->rules[r].transpose && is_of_rule(&map->rules[r], name);
    }
    return turned;
}

static cse_status write_folder(cse_weights *from, const cse_map *map,
                               const cse_adapter_settings *adapter, both *factors, const char *path)
{
    cse_weights *all = cse_weights_new(from->path);
    all->self = factors;
    all->read = read_both;
    cse_status status = CSE_OK;
    for (int f = 0; f < FACTORS; f++)
        for (int i = 0; i < factors->of[f]->count && status == CSE_OK; i++) {
            cse_weight weight = factors->of[f]->list[i];
            weight.file = -1;
            status = cse_weights_add(all, &weight);
        }
    if (status == CSE_OK)
        status = cse_weights_save_folder(
            all, path,
            &(cse_weights_folder_options){
                .stem = "adapter_model",
                .adapter_config =
                    configuration(all->arena, adapter, factors->of[0], are_turned(map, from)) });
    cse_weights_close(&all);
    return status;
}

cse_status cse_adapter_folder_save(cse_weights *from, const char *path, const char *map_name)
{
    both factors = { .of = { NULL } };
    cse_adapter_settings *adapter = NULL;
    cse_map *map = NULL;
    json_t *facts = NULL;
    CSE_TRY(cse_adapter_settings_of(from->arena, from->config, &adapter));
    if (adapter == NULL || !cse_weights_have_adapter(from))
        return cse_fail(CSE_DATA, "%s: holds no factors of an adapter", from->path);
    if (adapter->also_trained != NULL ||
        strcmp(cse_settings_text(adapter->settings, "bias"), "none") != 0)
        return cse_fail_at(
            &(cse_error){ .status = CSE_DATA,
                          .hint = "convert to another format: all that was trained leaves then" },
            "%s: the adapter trained modules or biases of the model, too (modules_to_save, bias), "
            "which are not written as a folder of PEFT",
            from->path);
    cse_status status = cse_map_for_weights(from, "hugging_face", map_name, &map, &facts);
    for (int f = 0; f < FACTORS && status == CSE_OK; f++)
        status = names_of(from, map, facts, f, &factors.of[f]);
    if (status == CSE_OK)
        status = write_folder(from, map, adapter, &factors, path);
    json_decref(facts);
    for (int f = 0; f < FACTORS; f++)
        cse_weights_close(&factors.of[f]);
    return status;
}
