/* The digest of a sealed file's bytes except the elements of the tensors that its lines describe.
 *
 * Each line holds the digest of its elements, and the lines themselves are part of the rest: so the
 * two kinds of digests together cover every byte, each byte is hashed once, and the tensors can be
 * hashed in parallel. */
#ifndef CSE_CHECKPOINT_SEAL_REST_H
#define CSE_CHECKPOINT_SEAL_REST_H

#include "engine/formats/checkpoint/digest.h"

/* Where the lines stand and how far the digest reaches. */
typedef struct cse_sealed_part {
    char *lines;    /* text of `manifest` bytes; changed in place */
    uint64_t begin; /* of the lines in the file: elements lie before it */
    uint64_t end;   /* the digest is of bytes [0, end) */
} cse_sealed_part;

/* CSE_DATA when the lines are malformed or two of them claim the same bytes; CSE_IO. */
cse_status cse_seal_rest_digest(int descriptor, const char *path, cse_sealed_part part,
                                char digits[CSE_DIGEST_DIGITS + 1]);

/* Adds bytes [offset, offset + bytes) of the file to the hash; false when they cannot be read. */
bool cse_hash_file_range(crypto_generichash_state *state, int descriptor, uint64_t offset,
                         uint64_t bytes);

#endif
