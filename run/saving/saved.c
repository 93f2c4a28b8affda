/* A checkpoint of which only what is asked for is read: its seal when it is opened, a tensor when
 * somebody wants elements of it. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/sealed_file.h"
#include "engine/nn/update/grad_scaler.h"
#include "run/session/session.h"

struct cse_saved {
    char *path;
    int descriptor;
    cse_sealed_reader *reader;
    json_t *values; /* as tree.c writes them */
};

void cse_saved_close(cse_saved **saved)
{
    if (saved == NULL || *saved == NULL)
        return;
    cse_sealed_reader_close(&(*saved)->reader);
    if ((*saved)->descriptor >= 0)
        close((*saved)->descriptor);
    json_decref((*saved)->values);
    free((*saved)->path);
    free(*saved);
    *saved = NULL;
}

/* Of one: a letter for the kind, and what was printed for it. */
static bool is_value(const char *text)
{
    char *end = NULL;
    if (text == NULL)
        return false;
    errno = 0;
    if (text[0] == 'i')
        strtoll(text + 1, &end, 10);
    else if (text[0] == 'n')
        strtod(text + 1, &end);
    else
        return text[0] == 't';
    return end != text + 1 && *end == '\0' && (errno == 0 || text[0] == 'n');
}

static cse_status read_values(cse_saved *saved)
{
    const char *text = cse_sealed_reader_view(saved->reader)->values, *key;
    json_t *one;
    saved->values = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : json_object();
    bool good = json_is_object(saved->values);
    json_object_foreach(saved->values, key, one) good = good && is_value(json_string_value(one));
    return good ? CSE_OK
                : cse_fail(CSE_DATA,
                           "%s: the values in its seal are malformed; use another "
                           "checkpoint",
                           saved->path);
}

static cse_status open_saved(cse_saved *saved)
{
    CSE_TRY(cse_checkpoint_open(saved->path, &saved->descriptor));
    CSE_TRY(cse_sealed_reader_open(saved->descriptor, saved->path, &saved->reader));
    return read_values(saved);
}

cse_status cse_saved_open(const char *path, cse_saved **result)
{
    *result = NULL;
    if (path == NULL)
        return cse_fail(CSE_USAGE, "cse_saved_open: there is no path");
    cse_saved *saved = cse_calloc(1, sizeof *saved);
    saved->path = cse_strdup(path);
    saved->descriptor = -1;
    cse_status status = open_saved(saved);
    if (status == CSE_OK)
        *result = saved;
    else
        cse_saved_close(&saved);
    return status;
}

/* ---- what is there ---- */

int cse_saved_count(const cse_saved *saved)
{
    return saved == NULL ? 0
                         : cse_sealed_reader_view(saved->reader)->tensor_count +
                               (int)json_object_size(saved->values);
}

static cse_saved_kind kind_of(const char *text)
{
    return text[0] == 'i' ? CSE_SAVED_INTEGER : text[0] == 'n' ? CSE_SAVED_NUMBER : CSE_SAVED_TEXT;
}

cse_saved_entry cse_saved_at(const cse_saved *saved, int index)
{
    if (index < 0 || index >= cse_saved_count(saved))
        return (cse_saved_entry){ .key = NULL };
    const cse_checkpoint *checkpoint = cse_sealed_reader_view(saved->reader);
    if (index < checkpoint->tensor_count)
        return (cse_saved_entry){ .key = checkpoint->tensors[index].name,
                                  .kind = CSE_SAVED_TENSOR,
                                  .shape = checkpoint->tensors[index].shape,
                                  .dtype = checkpoint->tensors[index].dtype };
    void *at = json_object_iter(saved->values);
    for (int i = checkpoint->tensor_count; i < index; i++)
        at = json_object_iter_next(saved->values, at);
    return (cse_saved_entry){ .key = json_object_iter_key(at),
                              .kind = kind_of(json_string_value(json_object_iter_value(at))) };
}

static int index_of(const cse_saved *saved, const char *key)
{
    const cse_checkpoint *checkpoint = cse_sealed_reader_view(saved->reader);
    for (int i = 0; i < checkpoint->tensor_count; i++)
        if (strcmp(checkpoint->tensors[i].name, key) == 0)
            return i;
    return -1;
}

static const char *name_of(cse_saved_kind kind)
{
    return kind == CSE_SAVED_TENSOR    ? "a tensor"
           : kind == CSE_SAVED_INTEGER ? "an integer"
           : kind == CSE_SAVED_NUMBER  ? "a number"
                                       : "a text";
}

/* The text of a scalar of that kind, behind its letter. */
static cse_status find_value(const cse_saved *saved, const char *key, cse_saved_kind wanted,
                             const char **text)
{
    if (saved == NULL || key == NULL)
        return cse_fail(CSE_USAGE, "cse_saved: there is no open checkpoint, or no key");
    const char *found = json_string_value(json_object_get(saved->values, key));
    const bool is_tensor = found == NULL && index_of(saved, key) >= 0;
    if (found == NULL && !is_tensor)
        return cse_fail(CSE_NO_INPUT, "%s: there is nothing under the key '%.200s'", saved->path,
                        key);
    const cse_saved_kind kind = is_tensor ? CSE_SAVED_TENSOR : kind_of(found);
    if (kind != wanted)
        return cse_fail(CSE_SHAPE, "%s: '%.200s' is %s, not %s", saved->path, key, name_of(kind),
                        name_of(wanted));
    *text = found + 1;
    return CSE_OK;
}

cse_status cse_saved_integer(const cse_saved *saved, const char *key, int64_t *value)
{
    const char *text;
    if (saved != NULL && key != NULL && strcmp(key, "global_step") == 0 &&
        json_object_get(saved->values, key) == NULL) {
        *value = cse_sealed_reader_view(saved->reader)->global_step;
        return CSE_OK;
    }
    CSE_TRY(find_value(saved, key, CSE_SAVED_INTEGER, &text));
    *value = strtoll(text, NULL, 10);
    return CSE_OK;
}

cse_status cse_saved_number(const cse_saved *saved, const char *key, double *value)
{
    const char *text;
    CSE_TRY(find_value(saved, key, CSE_SAVED_NUMBER, &text));
    *value = strtod(text, NULL);
    return CSE_OK;
}

cse_status cse_saved_text(const cse_saved *saved, const char *key, const char **value)
{
    return find_value(saved, key, CSE_SAVED_TEXT, value);
}

/* ---- tensors ---- */

cse_status cse_saved_read(cse_saved *saved, const char *key, int64_t first, int64_t count,
                          void *values)
{
    if (saved == NULL || key == NULL || values == NULL)
        return cse_fail(CSE_USAGE, "cse_saved_read: a checkpoint, a key and memory are needed");
    const int index = index_of(saved, key);
    if (index < 0)
        return cse_fail(json_object_get(saved->values, key) != NULL ? CSE_SHAPE : CSE_NO_INPUT,
                        "%s: there is no tensor under the key '%.200s'", saved->path, key);
    const cse_checkpoint_tensor *tensor = &cse_sealed_reader_view(saved->reader)->tensors[index];
    const int64_t elements = cse_shape_elements(tensor->shape);
    if (first < 0 || count < 0 || first > elements || count > elements - first)
        return cse_fail(CSE_SHAPE,
                        "%s: '%s' has %" PRId64 " elements; %" PRId64 " from element %" PRId64
                        " on are too many",
                        saved->path, key, elements, count, first);
    const uint64_t size = cse_dtype_size(tensor->dtype);
    return cse_sealed_reader_read(saved->reader, index, (uint64_t)first * size,
                                  (uint64_t)count * size, values);
}

/* ---- into states ---- */

static cse_status check_state(const cse_saved *saved, const char *key, const cse_state *state)
{
    char has[CSE_SHAPE_TEXT_BYTES], wants[CSE_SHAPE_TEXT_BYTES];
    const int index = index_of(saved, key);
    if (index < 0)
        return cse_fail(CSE_DATA, "%s: there is no tensor '%s' for state '%s'", saved->path, key,
                        state->name);
    const cse_checkpoint_tensor *tensor = &cse_sealed_reader_view(saved->reader)->tensors[index];
    if (cse_shape_equal(tensor->shape, state->shape) && tensor->dtype == state->dtype)
        return CSE_OK;
    return cse_fail(CSE_DATA, "%s: '%s' is %s %s there, state '%s' is %s %s", saved->path, key,
                    cse_shape_text(tensor->shape, has, sizeof has), cse_dtype_name(tensor->dtype),
                    state->name, cse_shape_text(state->shape, wants, sizeof wants),
                    cse_dtype_name(state->dtype));
}

/* Read aside first: a damaged tensor leaves the state as it was. */
static cse_status load_state(cse_saved *saved, const char *key, cse_state *state)
{
    void *values = cse_malloc(cse_state_bytes(state));
    cse_status status = cse_saved_read(saved, key, 0, cse_shape_elements(state->shape), values);
    if (status == CSE_OK) {
        memcpy(cse_state_own_values(state), values, cse_state_bytes(state));
        cse_state_round_held(state);
    }
    free(values);
    return status;
}

static cse_status may_load(const cse_saved *saved, const char *key, const char *caller)
{
    cse_session *session = cse_session_open_view(caller);
    if (session == NULL)
        return CSE_USAGE;
    if (saved == NULL || key == NULL)
        return cse_fail(CSE_USAGE, "%s: a checkpoint and a key are needed", caller);
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_network_may_change(&session->network, caller));
    CSE_TRY(cse_network_may_read(&session->network, caller));
    return cse_network_settle_precision(&session->network);
}

cse_status cse_load_state(cse_saved *saved, const char *key, cse_state *state)
{
    CSE_TRY(may_load(saved, key, "cse_load_state"));
    if (state == NULL)
        return cse_fail(CSE_USAGE, "cse_load_state: there is no state");
    CSE_TRY(check_state(saved, key, state));
    return load_state(saved, key, state);
}

/* Checks, or loads, each state of the part; *count: of them. */
static cse_status each_state(cse_saved *saved, const char *key, cse_state_part part, bool loads,
                             int *count)
{
    const cse_session *session = cse_session_open_view("cse_load_part");
    cse_text full = { 0 };
    cse_status status = CSE_OK;
    *count = 0;
    for (int i = 0; i < session->network.state_count && status == CSE_OK; i++) {
        const char *rest;
        if (!cse_state_is_of(session->network.states[i], part, &rest))
            continue;
        full.size = 0;
        cse_text_add(&full, "%s.%s", key, rest);
        status = loads ? load_state(saved, full.data, session->network.states[i])
                       : check_state(saved, full.data, session->network.states[i]);
        ++*count;
    }
    cse_text_clear(&full);
    return status;
}

/* A tensor of the model's key for which there is no state. */
static cse_status check_surplus(const cse_saved *saved, const char *key, int count)
{
    const cse_checkpoint *checkpoint = cse_sealed_reader_view(saved->reader);
    const size_t length = strlen(key);
    for (int i = 0; i < checkpoint->tensor_count; i++)
        if (strncmp(checkpoint->tensors[i].name, key, length) == 0 &&
            checkpoint->tensors[i].name[length] == '.')
            count--;
    return count >= 0 ? CSE_OK
                      : cse_fail(CSE_DATA,
                                 "%s: under '%s' are %d tensors that this model lacks; the "
                                 "checkpoint belongs to another model",
                                 saved->path, key, -count);
}

cse_status cse_load_part(cse_saved *saved, const char *key, cse_state_part part)
{
    int count;
    CSE_TRY(may_load(saved, key, "cse_load_part"));
    CSE_TRY(each_state(saved, key, part, false, &count));
    if (part == CSE_PART_MODEL)
        CSE_TRY(check_surplus(saved, key, count));
    return each_state(saved, key, part, true, &count);
}

cse_status cse_set_global_step(int64_t step)
{
    cse_session *session = cse_session_open_view("cse_set_global_step");
    if (session == NULL)
        return CSE_USAGE;
    CSE_TRY(cse_network_may_change(&session->network, "cse_set_global_step"));
    if (step < 0 || step > INT32_MAX)
        return cse_fail(CSE_CONFIG,
                        "cse_set_global_step: %" PRId64 ": accepted are 0 to 2147483647", step);
    session->training.global_step = step;
    return CSE_OK;
}
