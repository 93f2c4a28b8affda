/* One tensor's line in a seal (see seal.h): its parts, and the check of the tensor's elements by
 * the digest that it holds. */
#ifndef CSE_CHECKPOINT_SEAL_LINE_H
#define CSE_CHECKPOINT_SEAL_LINE_H

#include "engine/checkpoint/digest.h"

/* "tensor OFFSET BYTES BLAKE2B DTYPE [SHAPE] NAME" */
typedef struct cse_seal_line {
    uint64_t offset, bytes;   /* of the elements, in the file */
    const char *shape, *name; /* cut out of the text */
    char digest[CSE_DIGEST_DIGITS + 1], dtype[32];
} cse_seal_line;

/* Cuts `text`, without its newline, into its parts; false when it makes no sense or tells of bytes
 * that do not end before `limit`. */
bool cse_seal_line_read(char *text, uint64_t limit, cse_seal_line *line);

/* Begins the hash of a tensor's elements with what the line says of it (see digest.h). */
void cse_seal_hash_begin_tensor(crypto_generichash_state *hash, const cse_seal_line *line);

/* Ends the hash of a tensor's elements: CSE_DATA, naming it, when they are not those of the line.
 * What a terminal would act on is not in the message. */
cse_status cse_seal_hash_check_tensor(crypto_generichash_state *hash, const cse_seal_line *line,
                                      const char *path);

#endif
