/* The seal: a few lines of text behind a checkpoint's bytes that prove the file is whole.
 *
 * A library that parses a damaged binary file may fail late, return other values, or crash. So the
 * bytes are proven first, without that library: the last line holds the BLAKE2b-256 of everything
 * before its digits, and the lines before it say where each tensor lies, so that damage can be
 * given the tensor's name. HDF5 readers ignore what stands behind their end of file.
 *
 *     tensor OFFSET BYTES BLAKE2B DTYPE [SHAPE] NAME     for each tensor; digest as in digest.h
 *     csengine-seal 1 MANIFEST_BYTES(16 hex) BLAKE2B     98 bytes with the newline
 */
#ifndef CSE_CHECKPOINT_SEAL_H
#define CSE_CHECKPOINT_SEAL_H

#include "engine/base/text.h"
#include "engine/checkpoint/tensors.h"

/* Adds the line of a tensor whose elements begin at byte `offset` of the file. */
void cse_seal_describe(cse_text *manifest, const cse_checkpoint_tensor *tensor, uint64_t offset,
                       const char *digest);

/* Appends the manifest and the last line to the file. CSE_IO, with `path` in the message. */
cse_status cse_seal_append(int descriptor, const cse_text *manifest, const char *path);

/* CSE_DATA when the file is not exactly what was sealed. */
cse_status cse_seal_verify(int descriptor, const char *path);

/* The lines about the tensors as one text that the caller frees, and where in the file they begin.
 * What they say is not proven: cse_seal_verify does that. CSE_DATA when there is no seal. */
cse_status cse_seal_read(int descriptor, const char *path, char **lines, uint64_t *begin);

/* pread and pwrite of all `size` bytes. Reading returns what there was up to the end of the file,
 * or -1; writing 0 or -1; with errno. */
int64_t cse_read_at(int descriptor, void *data, size_t size, uint64_t offset);
int cse_write_at(int descriptor, const void *data, size_t size, uint64_t offset);

#endif
