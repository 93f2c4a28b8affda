/* A tree of values for a checkpoint under the user's own keys.
 *
 * It is kept flat, as it is written: a branch is a prefix of keys. Arrays and states are tensors of
 * the file. Integers, numbers and texts stand together in one fact, a JSON object of key to text
 * with a letter for the kind ("i3", "n0x1.8p-1", "tnotes"), so that every number, infinity and NaN
 * too, comes back to the bit. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/names.h"
#include "run/session/session.h"

enum { MOST_KEY = 200 };

typedef struct leaf {
    const char *key;
    const char *text; /* a scalar, with its letter; NULL: a tensor */
    cse_checkpoint_tensor tensor;
    cse_state *state; /* whose values the tensor has when it is saved; NULL: an array's */
} leaf;

typedef struct root {
    cse_arena *arena;
    leaf *leaves;
    int count, capacity;
    cse_status status; /* of the first failure */
    char failure[512];
} root;

/* The root's own tree is not in the arena. */
struct cse_tree {
    root *root;
    const char *prefix; /* "best.", or "" */
};

cse_tree *cse_tree_new(void)
{
    cse_tree *tree = cse_calloc(1, sizeof *tree);
    tree->root = cse_calloc(1, sizeof *tree->root);
    tree->root->arena = cse_arena_new();
    tree->prefix = "";
    return tree;
}

void cse_tree_destroy(cse_tree **tree)
{
    if (tree == NULL || *tree == NULL)
        return;
    if ((*tree)->prefix[0] == '\0') { /* a branch goes with its tree */
        cse_arena_destroy(&(*tree)->root->arena);
        free((*tree)->root->leaves);
        free((*tree)->root);
        free(*tree);
    }
    *tree = NULL;
}

static void keep_failure(root *r, cse_status status)
{
    if (r->status != CSE_OK)
        return;
    r->status = status;
    snprintf(r->failure, sizeof r->failure, "%s", cse_error_message());
}

static bool is_key(const char *key)
{
    json_t *text = key != NULL ? json_string(key) : NULL; /* NULL: no UTF-8 */
    const bool good = text != NULL && strlen(key) <= MOST_KEY && cse_checkpoint_name_is_good(key);
    json_decref(text);
    return good;
}

/* The leaf of a key, new or to be replaced; NULL after a failure. */
static leaf *leaf_of(cse_tree *tree, const char *key)
{
    if (tree == NULL)
        return NULL;
    root *r = tree->root;
    if (!is_key(key)) {
        keep_failure(r, cse_fail(CSE_USAGE,
                                 "cse_tree: '%.80s' is no key; accepted are 1 to %d bytes of UTF-8 "
                                 "without '/' and control characters",
                                 key != NULL ? key : "", MOST_KEY));
        return NULL;
    }
    const char *full = cse_arena_printf(r->arena, "%s%s", tree->prefix, key);
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->leaves[i].key, full) == 0) {
            r->leaves[i] = (leaf){ .key = r->leaves[i].key };
            return &r->leaves[i];
        }
    CSE_GROW(r->leaves, r->count, r->capacity);
    r->leaves[r->count] = (leaf){ .key = full };
    return &r->leaves[r->count++];
}

void cse_tree_set_integer(cse_tree *tree, const char *key, int64_t value)
{
    leaf *l = leaf_of(tree, key);
    if (l != NULL)
        l->text = cse_arena_printf(tree->root->arena, "i%" PRId64, value);
}

void cse_tree_set_number(cse_tree *tree, const char *key, double value)
{
    leaf *l = leaf_of(tree, key);
    if (l != NULL)
        l->text = cse_arena_printf(tree->root->arena, "n%a", value);
}

void cse_tree_set_text(cse_tree *tree, const char *key, const char *value)
{
    leaf *l = leaf_of(tree, key);
    json_t *text = value != NULL ? json_string(value) : NULL;
    if (l != NULL && text == NULL)
        keep_failure(tree->root,
                     cse_fail(CSE_USAGE, "cse_tree_set_text: %s is no text in UTF-8", l->key));
    if (l != NULL)
        l->text = cse_arena_printf(tree->root->arena, "t%s", text != NULL ? value : "");
    json_decref(text);
}

void cse_tree_set_array(cse_tree *tree, const char *key, cse_shape shape, cse_dtype dtype,
                        const void *values)
{
    leaf *l = leaf_of(tree, key);
    if (l == NULL)
        return;
    bool good = values != NULL && (dtype == CSE_FLOAT32 || dtype == CSE_INT32) && shape.rank >= 0 &&
                shape.rank <= CSE_MAX_RANK;
    for (int i = 0; good && i < shape.rank; i++)
        good = shape.dims[i] >= 1;
    if (!good) {
        l->text = "i0";
        keep_failure(tree->root, cse_fail(CSE_SHAPE,
                                          "cse_tree_set_array: %s: an array is float32 or int32, "
                                          "of sizes of at least 1",
                                          l->key));
        return;
    }
    const size_t bytes = (size_t)cse_shape_elements(shape) * cse_dtype_size(dtype);
    void *copy = cse_arena_alloc(tree->root->arena, bytes);
    memcpy(copy, values, bytes);
    l->tensor =
        (cse_checkpoint_tensor){ .name = l->key, .dtype = dtype, .shape = shape, .data = copy };
}

cse_tree *cse_tree_set_branch(cse_tree *tree, const char *key)
{
    if (tree == NULL || !is_key(key)) {
        (void)leaf_of(tree, key); /* keeps the failure */
        return NULL;
    }
    cse_tree *branch = cse_arena_alloc(tree->root->arena, sizeof *branch);
    *branch =
        (cse_tree){ .root = tree->root,
                    .prefix = cse_arena_printf(tree->root->arena, "%s%s.", tree->prefix, key) };
    return branch;
}

/* ---- states ---- */

bool cse_state_is_of(const cse_state *state, cse_state_part part, const char **rest)
{
    static const char *const prefixes[] = { [CSE_PART_MODEL] = "model.",
                                            [CSE_PART_OPTIMIZER] = "optimizer.",
                                            [CSE_PART_SCHEDULE] = "schedulers.",
                                            [CSE_PART_GRAD_SCALER] = "grad_scaler." };
    *rest = state->name;
    if (!state->persistent)
        return false;
    for (int p = 0; p < CSE_PART_STATES; p++) {
        const size_t length = strlen(prefixes[p]);
        if (strncmp(state->name, prefixes[p], length) != 0)
            continue;
        *rest = state->name + length;
        return p == (int)part;
    }
    return part == CSE_PART_STATES;
}

static void set_state(cse_tree *tree, const char *key, cse_state *state)
{
    leaf *l = leaf_of(tree, key);
    if (l == NULL)
        return;
    l->state = state;
    l->tensor =
        (cse_checkpoint_tensor){ .name = l->key, .dtype = state->dtype, .shape = state->shape };
}

void cse_tree_set_state(cse_tree *tree, const char *key, cse_state *state)
{
    if (tree == NULL)
        return;
    if (state == NULL)
        keep_failure(tree->root, cse_fail(CSE_USAGE, "cse_tree_set_state: there is no state"));
    else
        set_state(tree, key, state);
}

void cse_tree_set_part(cse_tree *tree, const char *key, cse_state_part part)
{
    const cse_session *session = cse_session_open_view("cse_tree_set_part");
    if (tree == NULL)
        return;
    if (session == NULL || !is_key(key)) {
        keep_failure(tree->root, session == NULL ? CSE_USAGE : CSE_OK);
        (void)(session != NULL ? leaf_of(tree, key) : NULL);
        return;
    }
    for (int i = 0; i < session->network.state_count; i++) {
        const char *rest;
        if (!cse_state_is_of(session->network.states[i], part, &rest))
            continue;
        cse_text full = { 0 };
        cse_text_add(&full, "%s.%s", key, rest);
        set_state(tree, full.data, session->network.states[i]);
        cse_text_clear(&full);
    }
}

int cse_part_states(cse_state_part part, cse_state *states[], int most)
{
    const cse_session *session = cse_session_open_view("cse_part_states");
    int count = 0;
    for (int i = 0; session != NULL && i < session->network.state_count; i++) {
        const char *rest;
        if (!cse_state_is_of(session->network.states[i], part, &rest))
            continue;
        if (count < most)
            states[count] = session->network.states[i];
        count++;
    }
    return count;
}

/* ---- saving ---- */

/* The scalars as JSON; free(). */
static char *values_of(const root *r)
{
    json_t *values = json_object();
    for (int i = 0; i < r->count; i++)
        if (r->leaves[i].text != NULL)
            json_object_set_new(values, r->leaves[i].key, json_string(r->leaves[i].text));
    char *text = json_dumps(values, JSON_COMPACT);
    json_decref(values);
    return text;
}

cse_status cse_save_tree(const cse_tree *tree, const char *path)
{
    cse_session *session = cse_session_open_view("cse_save_tree");
    if (session == NULL)
        return CSE_USAGE;
    if (tree == NULL)
        return cse_fail(CSE_USAGE, "cse_save_tree: there is no tree");
    const root *r = tree->root;
    if (r->status != CSE_OK)
        return cse_fail(r->status, "%s", r->failure);
    CSE_TRY(cse_session_may_save(session, "cse_save_tree"));
    cse_checkpoint checkpoint;
    cse_session_checkpoint(session, &checkpoint);
    free(checkpoint.tensors);
    checkpoint.tensors = cse_calloc((size_t)r->count + 1, sizeof *checkpoint.tensors);
    checkpoint.tensor_count = 0;
    for (int i = 0; i < r->count; i++) {
        const leaf *l = &r->leaves[i];
        if (l->text != NULL)
            continue;
        cse_checkpoint_tensor *tensor = &checkpoint.tensors[checkpoint.tensor_count++];
        *tensor = l->tensor;
        if (l->state != NULL)
            tensor->data = cse_state_values(&session->network, l->state);
    }
    char *values = values_of(r);
    checkpoint.values = values;
    cse_status status = cse_session_save(session, &checkpoint, path);
    free(values);
    free(checkpoint.tensors);
    return status;
}
