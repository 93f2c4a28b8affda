/* The loader tells which file an address lies in; that file is hashed once. */
#include "engine/graph/outside_ops.h"

#include <dlfcn.h>
#include <link.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/registry.h"

typedef struct known_op {
    const cse_op *op;
    const cse_library *library;
} known_op;

static known_op *known;
static int known_count, known_capacity;

/* Files that were hashed, by where they are loaded. */
typedef struct hashed_file {
    const void *base;
    char digest[CSE_LIBRARY_DIGEST_BYTES];
} hashed_file;

static hashed_file **hashed;
static int hashed_count, hashed_capacity;

const cse_op *cse_outside_op_find(const char *name)
{
    for (int i = 0; i < known_count; i++)
        if (strcmp(known[i].op->name, name) == 0)
            return known[i].op;
    return NULL;
}

/* ---- checks ---- */

static cse_status lacks(const cse_op *op, const char *member)
{
    return cse_fail(CSE_DATA, "op %s: its descriptor must have the member `%s`, by its kind",
                    op->name, member);
}

cse_status cse_op_check(const cse_op *op)
{
    const cse_op_kind kind = op->kind;
    if (kind == CSE_OP_LIBRARY)
        return cse_fail(
            CSE_DATA,
            "op %s: ops of kind CSE_OP_LIBRARY are the engine's own, because their "
            "kernels are chosen by measurements of its tree: write it as a BLOCK, whose "
            "code the engine compiles, or as a COMPOSITE of matrix products",
            op->name);
    if (kind != CSE_OP_ELEMENTWISE && kind != CSE_OP_REDUCE && kind != CSE_OP_BROADCAST &&
        kind != CSE_OP_RESHAPE && kind != CSE_OP_BLOCK && kind != CSE_OP_COMPOSITE)
        return cse_fail(CSE_DATA, "op %s: this kind of op is for the engine alone", op->name);
    if (kind == CSE_OP_BROADCAST || kind == CSE_OP_RESHAPE)
        return cse_fail(CSE_DATA,
                        "op %s: ops that only move an index are the engine's own: trace "
                        "cse_broadcast_to, cse_transpose, cse_slice or cse_reshape instead",
                        op->name);
    if (op->role != CSE_OP_ROLE_NONE)
        return cse_fail(CSE_DATA,
                        "op %s: its role must be CSE_OP_ROLE_NONE: the other roles name "
                        "ops of the engine",
                        op->name);
    if (op->precision <= CSE_FAMILY_CAST || op->precision >= CSE_FAMILY_COUNT)
        return cse_fail(CSE_DATA,
                        "op %s: its precision family must be one of CSE_FAMILY_FLOAT32 to "
                        "CSE_FAMILY_LOSS",
                        op->name);
    if (op->min_inputs < 1 || op->max_inputs < op->min_inputs || op->max_inputs > CSE_MAX_INPUTS)
        return cse_fail(CSE_DATA, "op %s: min_inputs and max_inputs must be 1 to %d", op->name,
                        CSE_MAX_INPUTS);
    if (op->infer == NULL)
        return lacks(op, "infer");
    if (op->reference == NULL)
        return lacks(op, "reference");
    if ((kind == CSE_OP_ELEMENTWISE || kind == CSE_OP_REDUCE) && op->expression == NULL)
        return lacks(op, "expression");
    if ((kind == CSE_OP_BLOCK || kind == CSE_OP_REDUCE) && op->emit == NULL)
        return lacks(op, "emit");
    return kind == CSE_OP_COMPOSITE && op->expand == NULL ? lacks(op, "expand") : CSE_OK;
}

/* Where the name stands already. A library that was built anew under its path replaces what it had.
 */
static cse_status take_name(const cse_library *library, const cse_op *op, int *place)
{
    *place = known_count;
    if (cse_outside_op_find(op->name) == NULL && cse_op_find(op->name) != NULL)
        return cse_fail(CSE_CONFIG,
                        "library %s: the op %s has the name of an op of the engine, and a step "
                        "names its ops: give it another",
                        library->path, op->name);
    for (int i = 0; i < known_count; i++) {
        if (strcmp(known[i].op->name, op->name) != 0)
            continue;
        if (strcmp(known[i].library->path, library->path) != 0)
            return cse_fail(CSE_CONFIG,
                            "the libraries %s and %s both have an op %s, and a step names its ops: "
                            "rename one of them",
                            known[i].library->path, library->path, op->name);
        *place = i;
    }
    return CSE_OK;
}

cse_status cse_ops_add_library(const cse_library *library)
{
    for (const cse_plugin *p = library->plugins; p->kind != NULL; p++) {
        const cse_op *op = p->descriptor;
        int place;
        if (strcmp(p->kind, "op") != 0)
            continue;
        cse_status status = cse_op_check(op);
        if (status != CSE_OK)
            return cse_fail_within(status, "library %s: ", library->path);
        CSE_TRY(take_name(library, op, &place));
        CSE_GROW(known, known_count, known_capacity);
        known[place] = (known_op){ op, library };
        known_count += place == known_count;
    }
    return CSE_OK;
}

/* ---- digests ---- */

static void hash_file(const char *path, char digest[CSE_LIBRARY_DIGEST_BYTES])
{
    unsigned char hash[32], block[1 << 16];
    crypto_generichash_state state;
    FILE *file = fopen(path, "rbe");
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    for (size_t got = 1; file != NULL && got > 0;) {
        got = fread(block, 1, sizeof block, file);
        crypto_generichash_update(&state, block, got);
    }
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(digest, CSE_LIBRARY_DIGEST_BYTES, hash, sizeof hash);
    if (file != NULL)
        fclose(file);
}

/* The program itself has no name among the loaded objects. */
static const char *digest_of_object(const void *address)
{
    Dl_info about, own;
    struct link_map *map = NULL;
    if (dladdr1(address, &about, (void **)&map, RTLD_DL_LINKMAP) == 0 ||
        (dladdr(&known_count, &own) != 0 && own.dli_fbase == about.dli_fbase))
        return "";
    for (int i = 0; i < hashed_count; i++)
        if (hashed[i]->base == about.dli_fbase)
            return hashed[i]->digest;
    CSE_GROW(hashed, hashed_count, hashed_capacity);
    hashed_file *file = hashed[hashed_count++] = cse_calloc(1, sizeof *file);
    file->base = about.dli_fbase;
    hash_file(map != NULL && map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe", file->digest);
    return file->digest;
}

const char *cse_op_code_digest(const cse_op *op)
{
    if (!cse_op_is_outside(op))
        return "";
    for (int i = 0; i < known_count; i++)
        if (known[i].op == op)
            return known[i].library->digest;
    return digest_of_object(op);
}

const cse_op *cse_op_find(const char *name)
{
    const cse_op *op = cse_op_built_in(name);
    return op != NULL ? op : cse_outside_op_find(name);
}
