/* One tensor's line in a seal (see seal.h): its parts, and the check of the tensor's elements by
 * the digest that it holds. */
#ifndef CSE_CHECKPOINT_SEAL_LINE_H
#define CSE_CHECKPOINT_SEAL_LINE_H

#include "engine/formats/checkpoint/digest.h"

/* "tensor OFFSET BYTES BLAKE2B DTYPE [SHAPE] NAME" */
typedef struct cse_seal_line {
    uint64_t offset, bytes;   /* of the elements, in the file */
    const char *shape, *name; /* point into the parsed text */
    char digest[CSE_DIGEST_DIGITS + 1], dtype[32];
} cse_seal_line;

/* Parses `text`, without its newline, in place; false when it is malformed or its bytes do not end
 * before `limit`. */
bool cse_seal_line_read(char *text, uint64_t limit, cse_seal_line *line);

/* Begins the hash of a tensor's elements with its name, type and shape from the line (see
 * digest.h). */
void cse_seal_hash_begin_tensor(crypto_generichash_state *hash, const cse_seal_line *line);

/* Ends the hash of a tensor's elements: CSE_DATA, naming it, when it differs from the line's
 * digest. The message contains no control characters. */
cse_status cse_seal_hash_check_tensor(crypto_generichash_state *hash, const cse_seal_line *line,
                                      const char *path);

#endif
