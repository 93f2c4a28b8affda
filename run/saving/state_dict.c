/* Saving and loading the session's states under their names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/pages.h"
#include "engine/base/types/narrow.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/weights/element.h"
#include "engine/nn/update/grad_scaler.h"
#include "engine/nn/update/sparsity.h"
#include "run/session/session.h"

void cse_session_checkpoint(cse_session *session, cse_checkpoint *checkpoint)
{
    const char *links = cse_session_links(session); /* NULL: nothing was trained */
    *checkpoint = (cse_checkpoint){
        .tensors =
            cse_calloc((size_t)session->network.state_count + 1, sizeof *checkpoint->tensors),
        .global_step = session->training.global_step,
        .seed = session->configuration.seed,
        .samples_seen = session->training.global_step * session->training.batch_size,
        .model_name =
            session->network.model_count > 0 ? session->network.models[0]->descriptor->name : "",
        .config = session->saving.canonical_configuration,
        .kernels = session->saving.kernels,
        .origin = session->saving.origin,
        .links = links,
        .chain = cse_step_chain_text(&session->saving.chain, session->training.global_step),
        /* Trained on no file: the text is empty, but there. */
        .data = links != NULL || session->data.identity.count > 0 ? cse_session_data_text(session)
                                                                  : NULL,
    };
    for (int i = 0; i < session->network.state_count; i++) {
        cse_state *state = session->network.states[i];
        if (!state->persistent)
            continue;
        checkpoint->tensors[checkpoint->tensor_count++] =
            (cse_checkpoint_tensor){ .name = state->name,
                                     .dtype = state->dtype,
                                     .shape = state->shape,
                                     .data = cse_state_values(&session->network, state),
                                     /* Of the arena, or of a copy of it: both are files then. */
                                     .in_file = session->opened.cluster.states_directory != NULL &&
                                                state->borrowed };
    }
}

static cse_status check_saving(const cse_session *session, const char *caller)
{
    if (session->opened.refused)
        return cse_session_status();
    if (session->network.traced != NULL ||
        (session->network.executing && !session->network.states_standing))
        return cse_fail(
            CSE_USAGE,
            "%s: weights cannot be saved here: they stand still only on checkpoint "
            "steps; use cse_checkpoint_closure, or a loop that asks cse_execution_at_checkpoint, "
            "and checkpoint_steps in the executor",
            caller);
    return cse_network_may_read(&session->network, caller);
}

cse_status cse_session_may_save(cse_session *session, const char *caller)
{
    CSE_TRY(check_saving(session, caller));
    return session->network.executing ? CSE_OK : cse_network_settle_precision(&session->network);
}

cse_status cse_session_save(cse_session *session, const cse_checkpoint *checkpoint,
                            const char *path)
{
    for (const cse_session_observer *to = &session->observer; to != NULL; to = to->next)
        if (to->on_save != NULL)
            to->on_save(to->self);
    const int64_t start_ns = cse_clock_ns();
    CSE_TRY(cse_checkpoint_save_digest(checkpoint, path, session->saving.digest));
    cse_session_link_to(session, checkpoint, path);
    CSE_SESSION_REPORT(session, on_saved,
                       &(cse_saved_checkpoint){ .path = path,
                                                .digest = session->saving.digest,
                                                .identity = session->saving.latest.digest,
                                                .step = session->training.global_step,
                                                .start_ns = start_ns,
                                                .end_ns = cse_clock_ns() });
    return CSE_OK;
}

/* Whether a state is one of those that are wanted: its name begins with one of the words. */
static bool is_wanted(const char *const *words, const char *name)
{
    if (words == NULL)
        return true;
    for (; *words != NULL; words++) {
        const size_t length = strlen(*words);
        if (strncmp(name, *words, length) == 0 && (name[length] == '.' || name[length] == '\0'))
            return true;
    }
    return false;
}

cse_status cse_session_save_only(const char *path, const char *const *states)
{
    cse_session *session = cse_session_open_view("cse_session_save_only");
    cse_checkpoint checkpoint;
    char digest[sizeof session->saving.digest];
    int count = 0;
    if (session == NULL)
        return CSE_USAGE;
    CSE_TRY(cse_network_may_read(&session->network, "cse_session_save_only"));
    cse_session_checkpoint(session, &checkpoint);
    for (int i = 0; i < checkpoint.tensor_count; i++)
        if (is_wanted(states, checkpoint.tensors[i].name))
            checkpoint.tensors[count++] = checkpoint.tensors[i];
    checkpoint.tensor_count = count;
    cse_status status = count > 0 ? cse_checkpoint_save_digest(&checkpoint, path, digest)
                                  : cse_fail(CSE_CONFIG,
                                             "%s: no state of the run has one of the "
                                             "names that it is to hold",
                                             path);
    free(checkpoint.tensors);
    return status;
}

cse_status cse_save(const char *path)
{
    cse_session *session = cse_session_open_view("cse_save");
    cse_checkpoint checkpoint;
    if (session == NULL)
        return CSE_USAGE;
    CSE_TRY(cse_session_may_save(session, "cse_save"));
    cse_session_checkpoint(session, &checkpoint);
    cse_status status = cse_session_save(session, &checkpoint, path);
    free(checkpoint.tensors);
    return status;
}

/* ---- loading ---- */

/* Weights that were converted may be narrower than the states of a run: no value is lost. */
static bool fits(cse_dtype stored, cse_dtype wanted)
{
    const cse_element element = cse_element_of_dtype(stored);
    return stored == wanted ||
           (wanted == CSE_FLOAT32 && (element == CSE_ELEMENT_BF16 || element == CSE_ELEMENT_F16 ||
                                      element == CSE_ELEMENT_CBF16));
}

/* Of a tensor of another shape or type. */
static const char *mismatch_of(const cse_state *state)
{
    return strncmp(state->name, "optimizer.", strlen("optimizer.")) == 0
               ? "the optimizer kept its moments otherwise, or the checkpoint belongs to another "
                 "model; go on with the optimizer's `moments` as they were, or begin with the "
                 "weights alone (callback LoadCheckpointStates: {load_checkpoint_states: model})"
               : "the checkpoint belongs to another model";
}

static cse_status check_state(const cse_checkpoint *checkpoint, const cse_state *state,
                              const char *path)
{
    char has[128], wants[128];
    const cse_checkpoint_tensor *tensor = cse_checkpoint_find(checkpoint, state->name);
    if (tensor == NULL && state->sparse != NULL && state->sparse->mask == state)
        return cse_fail(CSE_DATA,
                        "checkpoint %s has no masks: it was written by a run with dense weights, "
                        "or other ones were sparse; to begin with its weights alone, load only "
                        "those (callback LoadCheckpointStates: {load_checkpoint_states: model})",
                        path);
    if (tensor == NULL)
        return cse_fail(CSE_DATA,
                        "checkpoint %s has no tensor '%s'; it was written by model '%s' with other "
                        "settings or another optimizer",
                        path, state->name, checkpoint->model_name ? checkpoint->model_name : "?");
    if (!cse_shape_equal(tensor->shape, state->shape) || !fits(tensor->dtype, state->dtype))
        return cse_fail(CSE_DATA, "checkpoint %s: tensor '%s' is %s %s there and %s %s here; %s",
                        path, state->name, cse_shape_text(tensor->shape, has, sizeof has),
                        cse_dtype_name(tensor->dtype),
                        cse_shape_text(state->shape, wants, sizeof wants),
                        cse_dtype_name(state->dtype), mismatch_of(state));
    return CSE_OK;
}

static bool is_declared(const cse_session *session, const char *name)
{
    return cse_name_index_find(&session->network.state_names, name) >= 0;
}

static bool is_taken(const cse_session *session, const cse_state *state)
{
    return state->persistent && is_wanted(session->plan.load_only, state->name);
}

/* What the checkpoint lacks of such states is made of the weights that are loaded. */
static bool is_made_anew(const cse_checkpoint *checkpoint, const cse_state *state)
{
    return cse_state_is_made(state) && cse_checkpoint_find(checkpoint, state->name) == NULL;
}

static cse_status check_all(const cse_session *session, const cse_checkpoint *checkpoint,
                            const char *path)
{
    const char *prefix = "model.";
    for (int i = 0; i < session->network.state_count; i++)
        if (is_taken(session, session->network.states[i]) &&
            !is_made_anew(checkpoint, session->network.states[i]))
            CSE_TRY(check_state(checkpoint, session->network.states[i], path));
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const char *name = checkpoint->tensors[i].name;
        if (strncmp(name, prefix, strlen(prefix)) == 0 && !is_declared(session, name) &&
            is_wanted(session->plan.load_only, name))
            return cse_fail(CSE_DATA,
                            "checkpoint %s has tensor '%s', which this model lacks; the checkpoint "
                            "belongs to another model",
                            path, name);
    }
    return CSE_OK;
}

/* ---- values that stay in the file ---- */

/* Smaller ones are copied: who sets them may do it where they lie. */
enum { LEAST_BORROWED_BYTES = 64 << 10, LOOKED_AT_ONCE = 1 << 20 };

static bool is_aligned(const cse_checkpoint_tensor *tensor)
{
    return (uintptr_t)tensor->data % cse_dtype_size(tensor->dtype) == 0;
}

/* Whether the values are what the state would hold of them. */
static bool holds(const cse_state *state, const cse_checkpoint_tensor *tensor)
{
    const float *values = tensor->data;
    const int64_t count = state->bfloat16 ? cse_shape_elements(state->shape) : 0;
    bool equal = true;
    for (int64_t first = 0; first < count && equal; first += LOOKED_AT_ONCE) {
        const int64_t end = count - first < LOOKED_AT_ONCE ? count : first + LOOKED_AT_ONCE;
        for (int64_t i = first; i < end && equal; i++) {
            const float held = cse_round_bfloat16(values[i]);
            equal = memcmp(&held, &values[i], sizeof held) == 0;
        }
        cse_pages_let_go(values + first, (size_t)(end - first) * sizeof *values);
    }
    return equal;
}

static bool borrow(const cse_checkpoint_tensor *tensor, cse_state *state)
{
    if (!tensor->in_file || tensor->dtype != state->dtype || !is_aligned(tensor) ||
        cse_state_bytes(state) < LEAST_BORROWED_BYTES || !holds(state, tensor))
        return false;
    cse_state_borrow_values(state, tensor->data);
    return true;
}

static void convert(const cse_checkpoint_tensor *tensor, cse_state *state)
{
    const size_t bytes = cse_checkpoint_tensor_bytes(tensor);
    void *copy = is_aligned(tensor) ? NULL : cse_malloc(bytes);
    if (copy != NULL)
        memcpy(copy, tensor->data, bytes);
    cse_element_convert(cse_element_of_dtype(tensor->dtype), copy != NULL ? copy : tensor->data,
                        cse_element_of_dtype(state->dtype), cse_state_own_values(state),
                        (size_t)cse_shape_elements(state->shape));
    free(copy);
}

/* With `takes_average` the average of a weight, where the checkpoint has one. */
static void take(const cse_checkpoint *checkpoint, cse_state *state, bool takes_average)
{
    const cse_checkpoint_tensor *average =
        takes_average ? cse_checkpoint_average(checkpoint, state->name, state->shape) : NULL;
    const cse_checkpoint_tensor *tensor = average != NULL && average->dtype == state->dtype
                                              ? average
                                              : cse_checkpoint_find(checkpoint, state->name);
    if (borrow(tensor, state))
        return;
    if (tensor->dtype == state->dtype)
        memcpy(cse_state_own_values(state), tensor->data, cse_state_bytes(state));
    else
        convert(tensor, state);
    if (tensor->in_file)
        cse_pages_let_go(tensor->data, cse_checkpoint_tensor_bytes(tensor));
    cse_state_round_held(state);
}

/* In a file, states are larger than memory: they stay in the checkpoint until they are placed. */
static cse_status open_for(const cse_session *session, const char *path,
                           cse_checkpoint **checkpoint)
{
    return session->opened.cluster.states_directory != NULL ? cse_checkpoint_map(path, checkpoint)
                                                            : cse_checkpoint_load(path, checkpoint);
}

/* States that are not of the next step may borrow from one for as long as the session lives. */
static void keep_mapped(cse_session *session, cse_checkpoint **checkpoint)
{
    cse_session_saving *saving = &session->saving;
    CSE_GROW(saving->mapped, saving->mapped_count, saving->mapped_capacity);
    saving->mapped[saving->mapped_count++] = *checkpoint;
    *checkpoint = NULL;
}

void cse_session_end_mapped(cse_session *session)
{
    for (int i = 0; i < session->saving.mapped_count; i++)
        cse_checkpoint_destroy(&session->saving.mapped[i]);
    free(session->saving.mapped);
    session->saving.mapped = NULL;
    session->saving.mapped_count = session->saving.mapped_capacity = 0;
    for (int i = 0; i < session->saving.pages_count; i++)
        cse_pages_release(session->saving.pages[i].start, session->saving.pages[i].bytes);
    free(session->saving.pages);
    session->saving.pages = NULL;
    session->saving.pages_count = session->saving.pages_capacity = 0;
}

void cse_session_keep_pages(cse_session *session, void *start, size_t bytes)
{
    cse_session_saving *saving = &session->saving;
    CSE_GROW(saving->pages, saving->pages_count, saving->pages_capacity);
    saving->pages[saving->pages_count++] = (cse_kept_pages){ start, bytes };
}

static void take_all(cse_session *session, const cse_checkpoint *checkpoint)
{
    for (int i = 0; i < session->network.state_count; i++) {
        cse_state *state = session->network.states[i];
        const bool taken = is_taken(session, state);
        if (cse_state_is_made(state) && (!taken || is_made_anew(checkpoint, state)))
            cse_state_release_values(state);
        else if (taken)
            take(checkpoint, state, session->plan.takes_averages);
    }
    session->saving.kernels =
        checkpoint->kernels != NULL ? cse_arena_string(session->arena, checkpoint->kernels) : NULL;
    session->saving.origin =
        checkpoint->origin != NULL ? cse_arena_string(session->arena, checkpoint->origin) : NULL;
    session->saving.loaded_path = NULL;
    session->network.locked = session->network.locked && !session->network.states_lost;
    session->network.states_lost = false;
    if (!is_wanted(session->plan.load_only, "global_step"))
        return; /* training begins with what was taken */
    session->training.global_step = checkpoint->global_step;
    cse_step_chain_take(&session->saving.chain, checkpoint->chain, checkpoint->global_step);
    if (checkpoint->global_step > 0)
        session->training.batch_size = checkpoint->samples_seen / checkpoint->global_step;
}

cse_status cse_load(const char *path)
{
    cse_session *session = cse_session_open_view("cse_load");
    cse_checkpoint *checkpoint = NULL;
    if (session == NULL)
        return CSE_USAGE;
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_network_may_change(&session->network, "cse_load"));
    CSE_TRY(cse_network_settle_precision(&session->network));
    CSE_TRY(open_for(session, path, &checkpoint));
    if (session->plan.takes_averages &&
        cse_checkpoint_find(checkpoint, CSE_AVERAGE_PREFIX "n_averaged") == NULL)
        cse_log_line(CSE_LOG_WARNING,
                     "checkpoint %s has no averages of weights (ema): it was written without them, "
                     "and its weights are taken",
                     path);
    cse_status status = check_all(session, checkpoint, path);
    if (status == CSE_OK) {
        take_all(session, checkpoint);
        session->saving.loaded_path = cse_arena_string(session->arena, path);
        cse_session_take_data(session, checkpoint, path);
        cse_session_go_on_from(session, checkpoint, path);
        if (checkpoint->global_step > 0 && checkpoint->seed != session->configuration.seed)
            cse_log_line(
                CSE_LOG_WARNING,
                "checkpoint %s was made with seed %llu, this session has %llu: the order of the "
                "data and random numbers continue with the latter",
                path, (unsigned long long)checkpoint->seed,
                (unsigned long long)session->configuration.seed);
        if (session->opened.cluster.states_directory != NULL)
            keep_mapped(session, &checkpoint);
    }
    cse_checkpoint_destroy(&checkpoint);
    return status;
}
