/* Digests of tensors with libsodium's BLAKE2b, as digest.h defines them. */
#include "engine/formats/checkpoint/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/pages.h"
#include "engine/formats/checkpoint/parallel.h"

/* Raw bits are hashed as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "checkpoints are little endian");

/* Of tensors in a file: what is in memory at a time. */
enum { PASSED_BYTES = 1 << 18 };

uint64_t cse_checkpoint_tensor_bytes(const cse_checkpoint_tensor *tensor)
{
    return (uint64_t)cse_shape_elements(tensor->shape) * cse_dtype_size(tensor->dtype);
}

static void add_head(crypto_generichash_state *state, const cse_checkpoint_tensor *tensor)
{
    char shape[CSE_SHAPE_TEXT_BYTES];
    const char *parts[] = { tensor->name, cse_dtype_name(tensor->dtype),
                            cse_shape_text(tensor->shape, shape, sizeof shape) };
    for (int i = 0; i < 3; i++) {
        crypto_generichash_update(state, (const unsigned char *)parts[i], strlen(parts[i]));
        crypto_generichash_update(state, (const unsigned char *)"\n", 1);
    }
}

void cse_tensor_pass(const cse_checkpoint_tensor *tensor, uint64_t done)
{
    const uint64_t bytes = cse_checkpoint_tensor_bytes(tensor);
    const unsigned char *data = tensor->data;
    if (!tensor->in_file || (done % PASSED_BYTES != 0 && done != bytes))
        return;
    if (done > 0) {
        const uint64_t first = (done - 1) / PASSED_BYTES * PASSED_BYTES;
        cse_pages_let_go(data + first, done - first);
    }
    cse_pages_read_ahead(data + done, bytes - done < PASSED_BYTES ? bytes - done : PASSED_BYTES);
}

static void add_tensor(crypto_generichash_state *state, const cse_checkpoint_tensor *tensor)
{
    add_head(state, tensor);
    const uint64_t bytes = cse_checkpoint_tensor_bytes(tensor);
    const unsigned char *data = tensor->data;
    cse_tensor_pass(tensor, 0);
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t size = bytes - done < PASSED_BYTES ? bytes - done : PASSED_BYTES;
        crypto_generichash_update(state, data + done, size);
        done += size;
        cse_tensor_pass(tensor, done);
    }
}

void cse_digest_begin(crypto_generichash_state *state)
{
    /* Selects the fastest code for this processor; later calls do nothing. */
    if (sodium_init() < 0)
        abort();
    crypto_generichash_init(state, NULL, 0, CSE_DIGEST_DIGITS / 2);
}

void cse_digest_end(crypto_generichash_state *state, char digits[CSE_DIGEST_DIGITS + 1])
{
    unsigned char bytes[CSE_DIGEST_DIGITS / 2];
    crypto_generichash_final(state, bytes, sizeof bytes);
    sodium_bin2hex(digits, CSE_DIGEST_DIGITS + 1, bytes, sizeof bytes);
}

void cse_checkpoint_digest_head(crypto_generichash_state *state,
                                const cse_checkpoint_tensor *tensor)
{
    cse_digest_begin(state);
    add_head(state, tensor);
}

void cse_checkpoint_tensor_digest(const cse_checkpoint_tensor *tensor, char digits[65])
{
    crypto_generichash_state state;
    cse_digest_begin(&state);
    add_tensor(&state, tensor);
    cse_digest_end(&state, digits);
}

static int compare_names(const void *left, const void *right, void *tensors_view)
{
    const cse_checkpoint_tensor *tensors = tensors_view;
    return strcmp(tensors[*(const int *)left].name, tensors[*(const int *)right].name);
}

int *cse_checkpoint_name_order(const cse_checkpoint *checkpoint)
{
    int *order = cse_calloc((size_t)checkpoint->tensor_count + 1, sizeof *order);
    for (int i = 0; i < checkpoint->tensor_count; i++)
        order[i] = i;
    qsort_r(order, (size_t)checkpoint->tensor_count, sizeof *order, compare_names,
            checkpoint->tensors);
    return order;
}

/* Digests of tensors, each by whichever processor is free. */
typedef struct hashing {
    const cse_checkpoint *checkpoint;
    char (*digits)[CSE_DIGEST_DIGITS + 1]; /* by position in the checkpoint */
} hashing;

static void hash_tensor(void *self, int index)
{
    const hashing *h = self;
    cse_checkpoint_tensor_digest(&h->checkpoint->tensors[index], h->digits[index]);
}

void cse_checkpoint_join_digests(const cse_checkpoint *checkpoint, const char *const of_tensors[],
                                 char digits[65])
{
    crypto_generichash_state state;
    cse_digest_begin(&state);
    int *order = cse_checkpoint_name_order(checkpoint);
    for (int i = 0; i < checkpoint->tensor_count; i++)
        crypto_generichash_update(&state, (const unsigned char *)of_tensors[order[i]],
                                  CSE_DIGEST_DIGITS);
    free(order);
    cse_digest_end(&state, digits);
}

/* The tensors whose names begin with the prefix. */
static cse_checkpoint selection(const cse_checkpoint *checkpoint, const char *prefix)
{
    const size_t count = (size_t)checkpoint->tensor_count;
    const size_t length = prefix != NULL ? strlen(prefix) : 0;
    cse_checkpoint chosen = { .tensors = cse_calloc(count + 1, sizeof *chosen.tensors) };
    for (size_t i = 0; i < count; i++)
        if (length == 0 || strncmp(checkpoint->tensors[i].name, prefix, length) == 0)
            chosen.tensors[chosen.tensor_count++] = checkpoint->tensors[i];
    return chosen;
}

void cse_checkpoint_digest(const cse_checkpoint *checkpoint, const char *prefix, char digits[65])
{
    cse_checkpoint chosen = selection(checkpoint, prefix);
    const size_t count = (size_t)chosen.tensor_count;
    hashing h = { .checkpoint = &chosen };
    h.digits = cse_calloc(count + 1, sizeof *h.digits);
    const char **each = cse_calloc(count + 1, sizeof *each);
    for (size_t i = 0; i < count; i++)
        each[i] = h.digits[i];
    cse_parallel_for(chosen.tensor_count, hash_tensor, &h);
    cse_checkpoint_join_digests(&chosen, each, digits);
    free(each);
    free(h.digits);
    free(chosen.tensors);
}
