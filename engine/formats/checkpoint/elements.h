/* The elements of all tensors on their way to a file and back, in blocks that are hashed while they
 * are in the cache, several tensors at once. */
#ifndef CSE_CHECKPOINT_ELEMENTS_H
#define CSE_CHECKPOINT_ELEMENTS_H

#include "engine/formats/checkpoint/digest.h"

/* Where a tensor's elements lie in the file, and their digest. */
typedef struct cse_element_place {
    uint64_t offset;
    char digest[CSE_DIGEST_DIGITS + 1];
} cse_element_place;

/* Writes each tensor's elements to its place and fills in its digest, and that of all tensors, by
 * cse_checkpoint_digest, to `digest` where that is not NULL. Returns 0 or an errno. */
int cse_elements_write(const cse_checkpoint *checkpoint, int descriptor, cse_element_place places[],
                       char digest[CSE_DIGEST_DIGITS + 1]);

/* Reads `bytes` at `offset`, adding them to the hash; to `data`, or, where it is NULL, to nowhere.
 * False when they are not all there. */
bool cse_elements_read(int descriptor, uint64_t offset, uint64_t bytes, unsigned char *data,
                       crypto_generichash_state *hash);

/* Whether just the tensor's bytes are at `offset`. */
bool cse_elements_equal(int descriptor, uint64_t offset, const cse_checkpoint_tensor *tensor);

#endif
