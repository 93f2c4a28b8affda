/* One hash over names, shapes and elements. */
#include "engine/formats/weights/peft/base.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/format.h"
#include "engine/formats/weights/renamed.h"

struct cse_base_digest {
    crypto_generichash_state state;
};

cse_base_digest *cse_base_digest_new(void)
{
    cse_base_digest *digest = NULL;
    /* The state of the hash is aligned to 64 bytes. */
    if (posix_memalign((void **)&digest, 64, sizeof *digest) != 0)
        abort();
    crypto_generichash_init(&digest->state, NULL, 0, crypto_generichash_BYTES);
    return digest;
}

void cse_base_digest_add(cse_base_digest *digest, const char *name, cse_shape shape,
                         const float *values)
{
    const size_t bytes = (size_t)cse_shape_elements(shape) * sizeof *values;
    const unsigned char *of_name = (const unsigned char *)name;
    crypto_generichash_update(&digest->state, of_name, strlen(name) + 1);
    for (int i = 0; i < shape.rank; i++)
        crypto_generichash_update(&digest->state, (const unsigned char *)&shape.dims[i],
                                  sizeof shape.dims[i]);
    crypto_generichash_update(&digest->state, (const unsigned char *)values, bytes);
}

void cse_base_digest_end(cse_base_digest **digest, char hex[CSE_BASE_DIGEST_BYTES])
{
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash_final(&(*digest)->state, hash, sizeof hash);
    sodium_bin2hex(hex, CSE_BASE_DIGEST_BYTES, hash, sizeof hash);
    free(*digest);
    *digest = NULL;
}

cse_status cse_base_digest_of(cse_weights *weights, char hex[CSE_BASE_DIGEST_BYTES])
{
    int *order = cse_weights_name_order(weights);
    cse_base_digest *digest = cse_base_digest_new();
    cse_status status = CSE_OK;
    for (int i = 0; i < weights->count && status == CSE_OK; i++) {
        const cse_weight *weight = &weights->list[order[i]];
        float *values = cse_malloc((size_t)cse_shape_elements(weight->shape) * sizeof *values + 1);
        status = cse_weights_read_as(weights, order[i], CSE_ELEMENT_F32, values);
        if (status == CSE_OK)
            cse_base_digest_add(digest, weight->name, weight->shape, values);
        free(values);
    }
    cse_base_digest_end(&digest, hex);
    free(order);
    return status;
}

const char *cse_peft_base_text(cse_arena *arena, const char *hex)
{
    return cse_arena_printf(arena, "{\n  \"adapted_weights_digest\": \"%s\"\n}\n", hex);
}

cse_status cse_peft_base_compare(const cse_peft_folder *folder, const char *hex, const char *base)
{
    if (folder->base_digest == NULL || strcmp(folder->base_digest, hex) == 0)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_DATA,
                      .hint = "--any_base (fit.any_base) takes the adapter all the same, as for a "
                              "packed form of its weights" },
        "%s: was trained beside other weights than those of %s: the digest of the layers that it "
        "adapts is %.16s there and %.16s here",
        folder->path, base, folder->base_digest, hex);
}

/* Their weights of the adapted modules, as ours. */
static cse_status adapted_weights(const cse_peft_folder *folder, cse_weights *theirs,
                                  const cse_map *map, const json_t *facts, cse_weights **ours)
{
    cse_weights *some = cse_renamed_new(theirs, false);
    const cse_map own = cse_map_of_some(some->arena, map);
    cse_status status = CSE_OK;
    for (int i = 0; i < theirs->count && status == CSE_OK; i++) {
        const char *name = theirs->list[i].name;
        const size_t length = strlen(name), end = strlen(".weight");
        if (length <= end || strcmp(name + length - end, ".weight") != 0)
            continue;
        const char *module = cse_arena_printf(some->arena, "%.*s", (int)(length - end), name);
        bool adapted = cse_name_index_find(&folder->names, module) >= 0;
        for (int m = 0; m < folder->module_count && !adapted; m++)
            adapted = cse_peft_is_same_module(folder->modules[m].name, module);
        if (adapted)
            status = cse_renamed_add(some, i, name);
    }
    if (status == CSE_OK)
        status = cse_map_to_ours(&own, facts, &some, ours);
    cse_weights_close(&some);
    return status;
}

cse_status cse_peft_base_check(const cse_peft_folder *folder, cse_weights *theirs,
                               const cse_map *map, const json_t *facts)
{
    char hex[CSE_BASE_DIGEST_BYTES];
    cse_weights *ours = NULL;
    if (folder->base_digest == NULL)
        return CSE_OK;
    CSE_TRY(adapted_weights(folder, theirs, map, facts, &ours));
    cse_status status = cse_base_digest_of(ours, hex);
    cse_weights_close(&ours);
    return status == CSE_OK ? cse_peft_base_compare(folder, hex, theirs->path) : status;
}
