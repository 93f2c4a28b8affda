/* A layer that shares its A with others (engine/nn/adapters/adapter.h) has a factor B alone; A is
 * beside that layer of the same module of transformers that was declared first. */
#include "engine/formats/weights/peft/own.h"

#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/formats/weights/renamed.h"

bool cse_peft_is_factor(const char *name)
{
    return strstr(name, "." CSE_FACTOR_A ".") != NULL ||
           strstr(name, "." CSE_FACTOR_B ".") != NULL ||
           strstr(name, "." CSE_FACTOR_MAGNITUDE ".") != NULL;
}

static const char *their_layer(cse_arena *arena, const cse_map_names *names, const char *layer)
{
    const cse_map_rule *rule = NULL;
    const char *theirs =
        names != NULL ? cse_map_names_of(names, cse_arena_printf(arena, "%s.weight", layer), &rule)
                      : NULL;
    const char *dot = theirs != NULL ? strrchr(theirs, '.') : NULL;
    return dot != NULL ? cse_arena_printf(arena, "%.*s", (int)(dot - theirs), theirs) : NULL;
}

static int factor_at(cse_peft_folder *f, const cse_adapter_settings *adapter, const char *layer,
                     const char *factor)
{
    return cse_weights_find(f->weights, cse_adapter_factor_name(f->arena, adapter, layer, factor));
}

/* A of another layer of the same module there. */
static int shared_a(cse_peft_folder *f, const cse_adapter_settings *adapter,
                    const cse_map_names *names, const char *theirs)
{
    for (int i = 0; i < f->weights->count && theirs != NULL; i++) {
        const char *layer =
            cse_adapter_factor_layer(f->arena, adapter, f->weights->list[i].name, CSE_FACTOR_A);
        const char *other = layer != NULL ? their_layer(f->arena, names, layer) : NULL;
        if (other != NULL && strcmp(other, theirs) == 0)
            return i;
    }
    return -1;
}

static cse_status check(const cse_peft_folder *f, const cse_weights *from, const cse_peft_module *m)
{
    if (m->a < 0)
        return cse_fail(CSE_DATA, "%s: %s has one factor of an adapter; both belong together",
                        f->path, m->name);
    const cse_shape a = f->weights->list[m->a].shape, b = f->weights->list[m->b].shape;
    const int weight = cse_weights_find(from, cse_arena_printf(f->arena, "%s.weight", m->name));
    if (weight < 0)
        return cse_fail(CSE_DATA, "%s: a factor of an adapter has no weight beside it: %s", f->path,
                        m->name);
    const cse_shape w = from->list[weight].shape;
    if (a.rank == 2 && b.rank == 2 && w.rank == 2 && a.dims[1] == w.dims[1] &&
        b.dims[0] == w.dims[0] && a.dims[0] == b.dims[1] && a.dims[0] == m->rank &&
        (m->magnitude < 0 || cse_shape_elements(f->weights->list[m->magnitude].shape) == b.dims[0]))
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "%s: the factors of an adapter do not fit %s: A [r, in] and B [out, r] of "
                    "a weight [out, in]",
                    f->path, m->name);
}

/* The names by which the model met the adapter's targets; NULL: it has none there. */
static const cse_map_names *names_for(cse_arena *arena, const cse_weights *from,
                                      const cse_adapter_settings *adapter)
{
    cse_map *map = NULL;
    json_t *facts = NULL;
    cse_map_wanted wanted = { .kind = "hugging_face" };
    cse_yaml_node *settings = NULL;
    if (cse_map_model_section(arena, from->config, &wanted.model, &settings) != CSE_OK)
        return NULL;
    wanted.settings = settings;
    if (cse_map_for_targets(arena, &wanted, adapter->targets, &map, &facts) != CSE_OK)
        return NULL;
    const cse_map_names *names = cse_map_names_new(arena, map, facts);
    json_decref(facts);
    return names;
}

cse_status cse_peft_own(cse_weights *from, const cse_adapter_settings *adapter,
                        cse_peft_folder **folder)
{
    cse_arena *arena = cse_arena_new();
    const cse_map_names *names = names_for(arena, from, adapter);
    cse_peft_folder *f = cse_arena_alloc(arena, sizeof *f);
    *f = (cse_peft_folder){ .arena = arena, .path = cse_arena_string(arena, from->path) };
    f->config.use_dora = adapter->use_dora;
    f->weights = cse_renamed_new(from, false);
    *folder = f;
    for (int i = 0; i < from->count; i++)
        if (cse_peft_is_factor(from->list[i].name))
            CSE_TRY(cse_renamed_add(f->weights, i, from->list[i].name));
    for (int i = 0; i < f->weights->count; i++) {
        const char *layer =
            cse_adapter_factor_layer(arena, adapter, f->weights->list[i].name, CSE_FACTOR_B);
        if (layer == NULL)
            continue;
        const cse_adapted_layer both = { layer, their_layer(arena, names, layer) };
        cse_peft_module m = { .name = layer,
                              .a = factor_at(f, adapter, layer, CSE_FACTOR_A),
                              .b = i,
                              .magnitude = factor_at(f, adapter, layer, CSE_FACTOR_MAGNITUDE),
                              .rank = cse_adapter_rank(adapter, both),
                              .scale = cse_adapter_scale(adapter, both) };
        if (m.a < 0)
            m.a = shared_a(f, adapter, names, both.theirs);
        CSE_TRY(check(f, from, &m));
        CSE_GROW(f->modules, f->module_count, f->module_capacity);
        f->modules[f->module_count++] = m;
    }
    return CSE_OK;
}
