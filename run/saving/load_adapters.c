/* Rows go through the map of transformers for the model; a factor A has none that change. */
#include "run/saving/load_adapters.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/formats/weights/format.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/peft/base.h"
#include "engine/formats/weights/peft/folder.h"
#include "engine/formats/weights/peft/rows.h"
#include "engine/formats/weights/renamed.h"
#include "engine/nn/adapters/adapter.h"
#include "run/session/adapters.h"

static const char prefix[] = "model.";
enum { PREFIX_BYTES = sizeof prefix - 1 };

/* The layer whose factor a state is; NULL: it is none of this adapter's. */
static const char *layer_of(const cse_adapter *adapter, const cse_state *state, const char *factor)
{
    return strncmp(state->name, prefix, PREFIX_BYTES) == 0
               ? cse_adapter_factor_layer(adapter->arena, adapter->given,
                                          state->name + PREFIX_BYTES, factor)
               : NULL;
}

bool cse_session_begins_as_adapter(const cse_session *session, const cse_state *state)
{
    static const char *const factors[] = { CSE_FACTOR_A, CSE_FACTOR_B, CSE_FACTOR_MAGNITUDE };
    for (const cse_adapter *a = session->network.adapter; a != NULL; a = a->next)
        for (int i = 0; i < 3 && a->given->path != NULL; i++)
            if (layer_of(a, state, factors[i]) != NULL)
                return true;
    return false;
}

typedef struct loading {
    cse_session *session;
    const cse_adapter *adapter;
    cse_peft_folder *folder;
    cse_map *map;
    json_t *facts;
    cse_weights *rows[2]; /* B and the magnitudes, by the names of our weights */
    cse_weights *saved;   /* likewise: parameters of the model */
    bool any_base;
} loading;

static cse_status take(cse_weights *from, int index, cse_state *state)
{
    char here[192], there[192];
    const cse_weight *weight = &from->list[index];
    if (!cse_shape_equal(weight->shape, state->shape))
        return cse_fail(CSE_DATA,
                        "%s: '%s' is %s, and %s here, where '%s' is: is it the adapter "
                        "of another model?",
                        from->path, weight->name,
                        cse_shape_text(weight->shape, there, sizeof there),
                        cse_shape_text(state->shape, here, sizeof here), state->name);
    CSE_TRY(cse_weights_read_as(from, index, CSE_ELEMENT_F32, cse_state_own_values(state)));
    cse_state_round_held(state);
    return CSE_OK;
}

static cse_status missing(const loading *l, const cse_state *state)
{
    return cse_fail(CSE_DATA, "%s: has no factor for '%s'", l->folder->path, state->name);
}

/* A of the module that holds the layer there. */
static cse_status take_a(const loading *l, const char *layer, cse_state *state)
{
    bool is_part = false;
    const cse_adapted_layer names = cse_adapter_layer(l->adapter, layer, &is_part);
    for (int i = 0; i < l->folder->module_count && names.theirs != NULL; i++)
        if (cse_peft_is_same_module(l->folder->modules[i].name, names.theirs))
            return take(l->folder->weights, l->folder->modules[i].a, state);
    return missing(l, state);
}

static cse_status take_row(const loading *l, int kind, const char *layer, cse_state *state)
{
    const char *name = cse_arena_printf(l->folder->arena, "%s.weight", layer);
    const int found = l->rows[kind] != NULL ? cse_weights_find(l->rows[kind], name) : -1;
    return found >= 0 ? take(l->rows[kind], found, state) : missing(l, state);
}

static cse_status take_state(const loading *l, cse_state *state)
{
    const char *a = layer_of(l->adapter, state, CSE_FACTOR_A);
    const char *b = layer_of(l->adapter, state, CSE_FACTOR_B);
    const char *magnitude = layer_of(l->adapter, state, CSE_FACTOR_MAGNITUDE);
    if (a != NULL)
        return take_a(l, a, state);
    if (b != NULL)
        return take_row(l, 0, b, state);
    if (magnitude != NULL)
        return take_row(l, 1, magnitude, state);
    const int saved = l->saved != NULL && strncmp(state->name, prefix, PREFIX_BYTES) == 0
                          ? cse_weights_find(l->saved, state->name + PREFIX_BYTES)
                          : -1;
    return saved >= 0 ? take(l->saved, saved, state) : CSE_OK;
}

/* ---- names of ours ---- */

static cse_status map_rows(loading *l, int kind)
{
    cse_weights *view = cse_renamed_new(l->folder->weights, false);
    cse_status status = CSE_OK;
    for (int i = 0; i < l->folder->module_count && status == CSE_OK; i++) {
        const cse_peft_module *m = &l->folder->modules[i];
        const int index = kind == 0 ? m->b : m->magnitude;
        if (index >= 0)
            status = cse_renamed_add(view, index,
                                     cse_arena_printf(l->folder->arena, "%s.weight", m->name));
    }
    if (status == CSE_OK && view->count > 0)
        status = cse_peft_rows_to_ours(l->map, l->facts, &view, &l->rows[kind]);
    cse_weights_close(&view);
    return status;
}

static cse_status map_saved(loading *l)
{
    cse_weights *view = cse_renamed_new(l->folder->weights, false);
    cse_status status = CSE_OK;
    const cse_map own = cse_map_of_some(l->folder->arena, l->map);
    for (int i = 0; i < l->folder->saved_count && status == CSE_OK; i++)
        status = cse_renamed_add(view, l->folder->saved[i].weight, l->folder->saved[i].name);
    if (status == CSE_OK && view->count > 0)
        status = cse_map_to_ours(&own, l->facts, &view, &l->saved);
    cse_weights_close(&view);
    return status;
}

/* The layers that B is beside, as they were loaded. */
static cse_status check_base(const loading *l)
{
    char hex[CSE_BASE_DIGEST_BYTES];
    cse_network *network = &l->session->network;
    cse_weights *rows = l->rows[0];
    if (l->any_base || l->folder->base_digest == NULL)
        return CSE_OK;
    int *order = cse_weights_name_order(rows);
    cse_base_digest *digest = cse_base_digest_new();
    for (int i = 0; i < rows->count; i++) {
        const char *name = rows->list[order[i]].name;
        const int found = cse_name_index_find(
            &network->state_names, cse_arena_printf(l->folder->arena, "%s%s", prefix, name));
        if (found >= 0)
            cse_base_digest_add(digest, name, network->states[found]->shape,
                                cse_state_values(network, network->states[found]));
    }
    cse_base_digest_end(&digest, hex);
    free(order);
    return cse_peft_base_compare(l->folder, hex, "the model");
}

static cse_status load_one(loading *l, const cse_model *model)
{
    CSE_TRY(cse_peft_folder_open(l->adapter->given->path, &l->folder));
    const cse_adapted_model adapted = { model->descriptor->name, cse_model_settings_view(model),
                                        l->adapter->given };
    CSE_TRY(cse_session_map_for(l->folder->arena, &adapted, &l->map, &l->facts));
    CSE_TRY(map_rows(l, 0));
    CSE_TRY(check_base(l));
    CSE_TRY(map_rows(l, 1));
    CSE_TRY(map_saved(l));
    for (int i = 0; i < l->session->network.state_count; i++)
        CSE_TRY(take_state(l, l->session->network.states[i]));
    return CSE_OK;
}

cse_status cse_session_load_adapters(cse_session *session, const cse_model *model, bool any_base)
{
    for (const cse_adapter *a = session->network.adapter; a != NULL; a = a->next) {
        if (a->given->path == NULL)
            continue;
        loading l = { .session = session, .adapter = a, .any_base = any_base };
        cse_status status = load_one(&l, model);
        cse_weights_close(&l.rows[0]);
        cse_weights_close(&l.rows[1]);
        cse_weights_close(&l.saved);
        json_decref(l.facts);
        cse_peft_folder_close(&l.folder);
        CSE_TRY(status);
    }
    return CSE_OK;
}
