/* All is checked before a value is changed. */
#include "run/saving/load_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/modules.h"
#include "engine/base/arena.h"
#include "engine/base/pages.h"
#include "engine/base/types/shape.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/open.h"
#include "engine/formats/weights/peft/merge_own.h"
#include "engine/formats/weights/peft/own.h"
#include "engine/nn/packed_parameters.h"
#include "engine/nn/update/grad_scaler.h"
#include "run/saving/load_adapters.h"
#include "run/saving/weights_link.h"
#include "run/saving/weights_sources.h"
#include "workers/arena/arena_file.h"

enum { NAMES_TOLD = 8, LEAST_IN_FILE_BYTES = 1 << 20 };

typedef struct matching {
    cse_session *session;
    const char *role; /* before the names of the states, without a dot */
    bool is_frozen;   /* they are of a model that is not trained */
    cse_weights *weights;
    bool stays; /* they are open for longer, and the session's */
    int *found; /* of each state: the weight, or -1 */
    bool *used; /* of each weight */
    cse_weights_loading *loading;
} matching;

/* The name of a parameter without the role; NULL: it is none of the model. */
static const char *parameter_name(const matching *m, const cse_state *state)
{
    const size_t length = strlen(m->role);
    const char *name = state->packed != NULL ? state->unpacked_name : state->name;
    return (state->persistent || m->is_frozen) && strncmp(name, m->role, length) == 0 &&
                   name[length] == '.'
               ? name + length + 1
               : NULL;
}

/* Adds a name to a notice that tells so many of them. */
static void tell(cse_text *notice, int count, const char *name)
{
    if (count < NAMES_TOLD)
        cse_text_add(notice, "%s%s", count > 0 ? ", " : "", name);
    else if (count == NAMES_TOLD)
        cse_text_add(notice, ", ...");
}

/* ---- the model's settings ---- */

/* Those of dropout and of initial values change training, not what the weights mean; how many
 * classes a head has and how many positions a table, its shape tells, and there may be none. A head
 * and a pooler have weights of their own names, and how texts become vectors is no matter of
 * weights. */
static bool has_meaning(const char *name)
{
    static const char *const of_heads[] = { "head", "pooler", "pooling", "normalize" };
    for (size_t i = 0; i < sizeof of_heads / sizeof of_heads[0]; i++)
        if (strcmp(name, of_heads[i]) == 0)
            return false;
    return strstr(name, "dropout") == NULL && strstr(name, "initializer") == NULL &&
           strcmp(name, "pad_token_id") != 0 && strcmp(name, "num_labels") != 0 &&
           strcmp(name, "max_position_embeddings") != 0;
}

/* BERT's pooler has the activation of its encoder, unless it is given one. */
static const cse_yaml_node *find_setting(const cse_yaml_node *settings, const char *name)
{
    const cse_yaml_node *found = cse_yaml_find(settings, name);
    return found != NULL && cse_yaml_is_null(found) && strcmp(name, "pooler_nonlinearity") == 0
               ? cse_yaml_find(settings, "encoder_nonlinearity")
               : found;
}

/* Where null is another network, not a number that the shapes of weights tell. */
static bool may_be_null(const char *name)
{
    return strcmp(name, "rotary_dim") != 0 &&
           strcmp(name, "attention_sliding_window_length") != 0 &&
           strcmp(name, "attention_sink_tokens") != 0;
}

static cse_status differ(const cse_weights *weights, const char *key, const char *there,
                         const char *here)
{
    return cse_fail(CSE_DATA,
                    "%s: belongs to a model with %s %s, this one has %s; set "
                    "trainer.init.model.%s to %s",
                    weights->path, key, there, here, key, there);
}

/* A number in the arguments of scaled positions, or what the models take without it. */
static const char *scaling_argument(const cse_yaml_node *arguments, const char *name)
{
    static const char *const defaults[][2] = { { "low_freq_factor", "1" },
                                               { "high_freq_factor", "4" },
                                               { "original_max_position_embeddings", "8192" } };
    const cse_yaml_node *found = arguments != NULL && arguments->kind == CSE_YAML_MAPPING
                                     ? cse_yaml_find(arguments, name)
                                     : NULL;
    const char *text = found != NULL && found->kind == CSE_YAML_SCALAR ? found->text : NULL;
    for (int i = 0; i < 3; i++)
        if (text == NULL && strcmp(name, defaults[i][0]) == 0)
            text = defaults[i][1];
    return text;
}

static bool is_scaled(const cse_yaml_node *settings)
{
    const cse_yaml_node *type = cse_yaml_find(settings, "pos_scaling_type");
    return type != NULL && type->kind == CSE_YAML_SCALAR && strcmp(type->text, "llama3") == 0;
}

static cse_status compare_scaling(const cse_weights *weights, const cse_yaml_node *theirs,
                                  const cse_yaml_node *ours)
{
    static const char group[] = "pos_scaling_extra_args";
    static const char *const names[] = { "low_freq_factor", "high_freq_factor",
                                         "original_max_position_embeddings" };
    for (int i = 0; i < 3 && is_scaled(theirs) && is_scaled(ours); i++) {
        const char *there = scaling_argument(cse_yaml_find(theirs, group), names[i]);
        const char *here = scaling_argument(cse_yaml_find(ours, group), names[i]);
        if (!cse_map_equal(here, there))
            return differ(weights, cse_arena_printf(weights->arena, "%s.%s", group, names[i]),
                          there, here);
    }
    return CSE_OK;
}

/* Lists that say what each layer has. */
static cse_status compare_layers(const cse_weights *weights, const char *key,
                                 const cse_yaml_node *there, const cse_yaml_node *here)
{
    cse_text theirs = { 0 }, ours = { 0 };
    if (there->kind != CSE_YAML_SEQUENCE || here == NULL ||
        (strcmp(key, "attention_window_layers") != 0 && strcmp(key, "rotary_layers") != 0))
        return CSE_OK;
    cse_yaml_print(there, &theirs);
    cse_yaml_print(here, &ours);
    const cse_status status =
        strcmp(theirs.data, ours.data) == 0 ? CSE_OK : differ(weights, key, theirs.data, ours.data);
    cse_text_clear(&theirs);
    cse_text_clear(&ours);
    return status;
}

static cse_status compare_settings(const cse_weights *weights, const cse_model *model)
{
    const char *name = NULL, *canonical = cse_settings_canonical(cse_model_settings_view(model));
    cse_yaml_node *theirs = NULL, *ours = NULL;
    cse_arena *arena = weights->arena;
    if (weights->config == NULL || canonical == NULL)
        return CSE_OK;
    CSE_TRY(cse_map_model_section(arena, weights->config, &name, &theirs));
    CSE_TRY(cse_yaml_parse(arena, "model", canonical, strlen(canonical), &ours));
    for (int i = 0; i < theirs->count; i++) {
        const char *key = theirs->keys[i].text;
        const cse_yaml_node *here = find_setting(ours, key), *there = theirs->children[i];
        CSE_TRY(compare_layers(weights, key, there, here));
        if (here == NULL || here->kind != CSE_YAML_SCALAR || there->kind != CSE_YAML_SCALAR ||
            !has_meaning(key) ||
            ((cse_yaml_is_null(here) || cse_yaml_is_null(there)) && may_be_null(key)))
            continue;
        if (!cse_map_equal(here->text, there->text) &&
            !cse_activation_is_same(here->text, there->text))
            return differ(weights, key, there->text, here->text);
    }
    return compare_scaling(weights, theirs, ours);
}

/* ---- matching ---- */

/* Whether a weight has the values of a state, of a packed one the same blocks. */
static bool fits(const cse_weight *weight, const cse_state *state)
{
    if (state->packed != NULL)
        return weight->packed == state->packed && weight->shape.rank == 2 &&
               weight->shape.dims[0] == state->shape.dims[0] &&
               weight->shape.dims[1] == state->columns;
    return cse_shape_equal(weight->shape, state->shape) &&
           cse_element_converts(weight->element, cse_element_of_dtype(state->dtype));
}

static cse_status match(matching *m, int index)
{
    char has[192], wants[192];
    const cse_state *state = m->session->network.states[index];
    const char *name = parameter_name(m, state);
    m->found[index] = -1;
    if (name == NULL || (!m->is_frozen && cse_session_begins_as_adapter(m->session, state)))
        return CSE_OK;
    m->loading->parameters++;
    int found = cse_weights_find(m->weights, name);
    if (found < 0)
        found = cse_weights_find(m->weights, state->name);
    if (found < 0 && !m->loading->whole && cse_peft_is_factor(name)) {
        m->loading->parameters--; /* a new adapter begins here: nothing is missing */
        return CSE_OK;
    }
    if (found < 0) {
        tell(&m->loading->notices[0], m->loading->parameters - m->loading->taken - 1, name);
        return CSE_OK;
    }
    const cse_weight *weight = &m->weights->list[found];
    if (!fits(weight, state))
        return cse_fail(
            CSE_DATA, "%s: '%s' is %s %s there and %s %s here", m->weights->path, weight->name,
            cse_shape_text(weight->shape, has, sizeof has), cse_element_name(weight->element),
            cse_shape_text(state->shape, wants, sizeof wants), cse_dtype_name(state->dtype));
    m->found[index] = found;
    m->used[found] = true;
    m->loading->taken++;
    return CSE_OK;
}

static cse_status check_match(const matching *m)
{
    const cse_weights_loading *l = m->loading;
    int left = 0;
    if (l->taken == 0)
        return cse_fail(CSE_DATA,
                        "%s: none of its %d weights has the name of one of the %d parameters; its "
                        "first is '%s'",
                        m->weights->path, m->weights->count, l->parameters,
                        m->weights->count > 0 ? m->weights->list[0].name : "");
    if (l->taken < l->parameters && l->whole)
        return cse_fail(CSE_DATA, "%s: %d of the %d parameters of the model are missing: %s",
                        m->weights->path, l->parameters - l->taken, l->parameters,
                        l->notices[0].data);
    for (int i = 0; i < m->weights->count; i++)
        if (!m->used[i])
            tell(&m->loading->notices[1], left++, m->weights->list[i].name);
    return CSE_OK;
}

/* Puts what the names are in front of them. */
static void complete(cse_text *notice, const char *path, int count, const char *what)
{
    cse_text whole = { 0 };
    if (notice->data == NULL)
        return;
    cse_text_add(&whole, "%s: %d %s: %s", path, count, what, notice->data);
    cse_text_clear(notice);
    *notice = whole;
}

/* Where the values of a state are read to. With states in a file, those of a large one lie in a
 * file of their own there, until they are placed. */
static cse_status place_for(cse_session *session, cse_state *state, void **place)
{
    const char *directory = session->opened.cluster.states_directory;
    const size_t bytes = cse_state_bytes(state);
    if (directory == NULL || bytes < LEAST_IN_FILE_BYTES) {
        *place = cse_state_own_values(state);
        return CSE_OK;
    }
    CSE_TRY(cse_arena_file_map(directory, (int64_t)bytes, place, NULL));
    cse_session_keep_pages(session, *place, bytes);
    cse_state_borrow_values(state, *place);
    return CSE_OK;
}

/* Rows of blocks, each filled up to whole words with zeros: they are read one behind the other, and
 * moved to their places from the last one on. */
static cse_status take_packed(const matching *m, int found, const cse_state *state, char *to)
{
    const size_t row = (size_t)cse_weight_row_bytes(&m->weights->list[found]);
    const size_t step = (size_t)state->shape.dims[1] * sizeof(int32_t);
    const int64_t rows = state->shape.dims[0];
    CSE_TRY(cse_weights_read_rows(m->weights, found, 0, rows, to));
    for (int64_t r = rows - 1; r >= 0 && step > row; r--) {
        memmove(to + (size_t)r * step, to + (size_t)r * row, row);
        memset(to + (size_t)r * step + row, 0, step - row);
    }
    return CSE_OK;
}

static cse_status take(const matching *m, int found, cse_state *state)
{
    void *to = NULL;
    CSE_TRY(place_for(m->session, state, &to));
    CSE_TRY(state->packed != NULL
                ? take_packed(m, found, state, to)
                : cse_weights_read_as(m->weights, found, cse_element_of_dtype(state->dtype), to));
    cse_state_round_held(state);
    const int error = state->borrowed ? cse_pages_write_out(to, cse_state_bytes(state)) : 0;
    return error == 0 ? CSE_OK
                      : cse_fail(CSE_IO, "states.directory: the weights cannot be written: %s",
                                 strerror(error));
}

/* Whether training reads them into its own memory. */
static bool may_stay(const matching *m)
{
    return m->loading->trains && !m->is_frozen &&
           m->session->opened.cluster.states_directory == NULL;
}

static cse_status take_all(matching *m)
{
    struct cse_weights_sources *sources =
        may_stay(m) ? cse_weights_sources_new(m->session, m->weights) : NULL;
    m->stays = sources != NULL;
    for (int i = 0; i < m->session->network.state_count; i++) {
        cse_state *state = m->session->network.states[i];
        if (!m->is_frozen && cse_state_is_made(state))
            cse_state_release_values(state); /* it is made of the weights that are loaded */
        if (state->beside != NULL && m->found[i] < 0)
            cse_state_release_values(state); /* a magnitude likewise */
        if (m->found[i] < 0)
            continue;
        if (sources == NULL || !cse_weights_sources_add(sources, state, m->found[i]))
            CSE_TRY(take(m, m->found[i], state));
    }
    return CSE_OK;
}

static cse_status load(matching *m, const cse_model *model)
{
    cse_weights_loading *l = m->loading;
    CSE_TRY(compare_settings(m->weights, model));
    for (int i = 0; i < m->session->network.state_count; i++)
        CSE_TRY(match(m, i));
    CSE_TRY(check_match(m));
    CSE_TRY(take_all(m));
    if (!m->is_frozen) {
        CSE_TRY(cse_session_load_adapters(
            m->session, model, m->loading->adapters != NULL && m->loading->adapters->any_base));
        cse_weights_link_note(m->session);
        if (m->session->opened.cluster.states_directory != NULL)
            cse_weights_link_settle(m->session); /* they are read where they lie in files */
        m->session->saving.origin = cse_arena_string(m->session->arena, m->weights->origin);
    }
    complete(&l->notices[0], m->weights->path, l->parameters - l->taken,
             "parameters are not in it and keep their initial values");
    complete(&l->notices[1], m->weights->path, m->weights->count - l->taken,
             "of its weights are of no parameter and were left out");
    return CSE_OK;
}

cse_status cse_session_load_weights(cse_session *session, const cse_model *model, const char *path,
                                    cse_weights_loading *loading)
{
    matching m = { .session = session,
                   .role = model->role != NULL ? model->role : "model",
                   .is_frozen = model->role != NULL,
                   .loading = loading };
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_network_may_change(&session->network, "weights"));
    CSE_TRY(cse_network_settle_precision(&session->network));
    const bool adds = loading->adapters != NULL && loading->adapters->count > 0;
    const cse_weights_options options = { .model = model->descriptor->name,
                                          .adapters = adds ? loading->adapters : NULL,
                                          .packs_halves = session->network.packed != NULL &&
                                                          session->network.packed->halves };
    CSE_TRY(cse_weights_open_ours(path, &options, &m.weights));
    cse_status status = m.is_frozen ? cse_weights_merge_adapter(&m.weights) : CSE_OK;
    m.found = cse_malloc(((size_t)session->network.state_count + 1) * sizeof *m.found);
    m.used = cse_calloc((size_t)m.weights->count + 1, sizeof *m.used);
    status = status == CSE_OK ? load(&m, model) : status;
    free(m.found);
    free(m.used);
    if (!m.stays)
        cse_weights_close(&m.weights);
    return status;
}

void cse_weights_loading_clear(cse_weights_loading *loading)
{
    for (int i = 0; i < 2; i++)
        cse_text_clear(&loading->notices[i]);
}
