/* The seal: lines of text at the end of a checkpoint that prove the file complete.
 *
 * The lines give each tensor's position and the digest of its elements, and the facts about the
 * run, so that a file is read without the library of its format: a library that parses a hostile
 * binary file may fail late, return wrong values, or crash. The last line holds the BLAKE2b-256 of
 * everything before its digits except those elements (seal_rest.h). A message can name the damaged
 * tensor, and each byte is hashed once. A reader verifies the rest, and then the elements of each
 * tensor that it uses. HDF5 readers ignore what follows the end of their data.
 *
 *     tensor OFFSET BYTES BLAKE2B DTYPE [SHAPE] NAME     for each tensor; digest as in digest.h
 *                                                        an empty line
 *     fact NAME VALUE                                    facts.h
 *     csengine-seal 3 LINES_BYTES(16 hex) BLAKE2B        98 bytes with the newline
 *
 * Earlier files have "csengine-seal 2" without facts, or "csengine-seal 1", where the last digest
 * covers the elements as well (earlier_file.h). */
#ifndef CSE_CHECKPOINT_SEAL_H
#define CSE_CHECKPOINT_SEAL_H

#include "engine/base/text.h"
#include "engine/formats/checkpoint/tensors.h"

/* Adds the line of a tensor whose elements begin at byte `offset` of the file. */
void cse_seal_describe(cse_text *manifest, const cse_checkpoint_tensor *tensor, uint64_t offset,
                       const char *digest);

/* Appends the manifest and the last line to the file. CSE_IO, with `path` in the message. */
cse_status cse_seal_append(int descriptor, const cse_text *manifest, const char *path);

/* Whether a file of so many bytes ends as a sealed one of any version does. */
bool cse_seal_is_at_end(int descriptor, uint64_t bytes);

/* Verifies all that the lines give no digest of: CSE_DATA when it is not exactly what was sealed.
 * The elements are still to be compared with theirs. */
cse_status cse_seal_verify_rest(int descriptor, const char *path);

/* Reads the lines about the tensors into one text that the caller frees, and their position in the
 * file. They are not verified: cse_seal_verify does that. CSE_DATA when there is no seal. */
cse_status cse_seal_read(int descriptor, const char *path, char **lines, uint64_t *begin);

#endif
