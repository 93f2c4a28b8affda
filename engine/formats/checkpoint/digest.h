/* BLAKE2b-256 digests of tensors, by a definition that anybody can recompute.
 *
 * A tensor contributes its name, a newline, its type's name ("float32"), a newline, its shape
 * written as "[128, 784]" ("[]" for a scalar), a newline, and then its elements as raw bits,
 * row-major, little endian. Its own digest is over that; the digest of several is over the
 * hexadecimal digits of their own, joined in the byte order of the names. So each byte is hashed
 * once, by any processor, for both. In Python:
 *
 *     def digest(data):
 *         return hashlib.blake2b(data, digest_size=32).hexdigest()
 *     def of_tensor(name):
 *         return digest(f"{name}\n{dtype[name]}\n{list(shape[name])}\n".encode() + raw[name])
 *     print(digest("".join(of_tensor(name) for name in sorted(tensors)).encode()))
 *
 * Names hold no newline and the shape gives the number of bytes, so no two sets of tensors have the
 * same contributions. */
#ifndef CSE_CHECKPOINT_DIGEST_H
#define CSE_CHECKPOINT_DIGEST_H

#include <sodium.h>

#include "engine/formats/checkpoint/tensors.h"

enum { CSE_DIGEST_DIGITS = 64 };

/* A hash to which crypto_generichash_update adds bytes; its end gives hexadecimal digits. */
void cse_digest_begin(crypto_generichash_state *hash);
void cse_digest_end(crypto_generichash_state *hash, char digits[CSE_DIGEST_DIGITS + 1]);

/* Digest of names, shapes, types and raw bits in name order: BLAKE2b-256 as 64 hexadecimal digits.
 * `prefix` limits it to names that begin so ("model."); NULL takes all. */
void cse_checkpoint_digest(const cse_checkpoint *checkpoint, const char *prefix, char digits[65]);

/* The same of all tensors, from the digits of each, by its position in the checkpoint. */
void cse_checkpoint_join_digests(const cse_checkpoint *checkpoint, const char *const of_tensors[],
                                 char digits[65]);

/* The digest of one tensor alone. */
void cse_checkpoint_tensor_digest(const cse_checkpoint_tensor *tensor, char digits[65]);

/* Begins the digest of one tensor alone; the elements' bytes are to be added. */
void cse_checkpoint_digest_head(crypto_generichash_state *hash,
                                const cse_checkpoint_tensor *tensor);

/* A shape as the digest spells it; `text` holds CSE_SHAPE_TEXT_BYTES. */
enum { CSE_SHAPE_TEXT_BYTES = 2 + CSE_MAX_RANK * 22 };

/* The tensors' positions in the byte order of their names; release with free(). */
int *cse_checkpoint_name_order(const cse_checkpoint *checkpoint);

/* Of a tensor that is in a file, before its first byte is read (done = 0) and whenever the bytes
 * before `done` have been: those leave memory, and the next ones are read ahead. */
void cse_tensor_pass(const cse_checkpoint_tensor *tensor, uint64_t done);

/* Bytes of a tensor's elements. */
uint64_t cse_checkpoint_tensor_bytes(const cse_checkpoint_tensor *tensor);

#endif
