/* Checkpoints: named tensors and a few facts about the run, in one file that is either complete or
 * absent.
 *
 * A checkpoint is written under a temporary name, read back and compared with the memory that it
 * came from, fsynced, renamed, and its directory fsynced: a process that dies on the way never
 * leaves a file under the final name. Formats are plugins in engine/formats/checkpoint/formats;
 * training uses HDF5, with one dataset for each dotted name. */
#ifndef CSE_CHECKPOINT_CHECKPOINT_H
#define CSE_CHECKPOINT_CHECKPOINT_H

#include "engine/formats/checkpoint/tensors.h"

/* Writes atomically. CSE_IO on a full disk (the previous file of that name stays), CSE_PERMISSION,
 * CSE_CANNOT_CREATE; no temporary file stays behind. */
cse_status cse_checkpoint_save(const cse_checkpoint *checkpoint, const char *path);
/* And gives the digest of all tensors (digest.h), made beside the writing. NULL: without it. */
cse_status cse_checkpoint_save_digest(const cse_checkpoint *checkpoint, const char *path,
                                      char digest[65]);

/* Writes to an empty file that is open, and reads it back. */
cse_status cse_checkpoint_write(const cse_checkpoint *checkpoint, int descriptor, const char *path);

/* Removes the temporary files that writers of a directory have left, those that were killed. What
 * is being written stays. */
void cse_checkpoint_sweep(const char *directory);

/* Removes what a process that died left of the file; another one that is writing it keeps its own.
 * Keeps the thread's last error. */
void cse_checkpoint_remove_part(const char *path);

/* Reads and verifies (per-tensor BLAKE2b): CSE_NO_INPUT when missing, CSE_DATA when truncated,
 * altered or no checkpoint, naming the tensor. The caller owns the result. */
cse_status cse_checkpoint_load(const char *path, cse_checkpoint **checkpoint);
void cse_checkpoint_destroy(cse_checkpoint **checkpoint);

/* The same with the elements left in the file: they are verified, and then lie in a mapping of it
 * (in_file), which may be larger than memory. They may lie at any byte. */
cse_status cse_checkpoint_map(const char *path, cse_checkpoint **checkpoint);

/* Opens a sealed file to read one tensor after another (sealed_file.h); the descriptor is the
 * caller's. CSE_NO_INPUT when it is missing, CSE_DATA when it is no checkpoint. */
cse_status cse_checkpoint_open(const char *path, int *descriptor);

/* The same check without returning the tensors: one tensor in memory at a time. */
cse_status cse_checkpoint_verify(const char *path);

/* Borrowed; NULL when there is none. */
const cse_checkpoint_tensor *cse_checkpoint_find(const cse_checkpoint *checkpoint,
                                                 const char *name);

/* Names of averages of parameters begin with it (engine/nn/update/weight_average.h). */
#define CSE_AVERAGE_PREFIX "ema."
/* The average of a parameter, by the name "model.NAME" of that: ema.NAME, of the same shape.
 * Borrowed; NULL when there is none. */
const cse_checkpoint_tensor *cse_checkpoint_average(const cse_checkpoint *checkpoint,
                                                    const char *parameter, cse_shape shape);

/* "DIR/checkpoint_{step}.mdl" for a step, and the newest whole checkpoint of a directory (by step).
 * latest: CSE_NO_INPUT when there is none. `path` holds at least PATH_MAX bytes. */
void cse_checkpoint_path(const char *directory, int64_t step, char *path, size_t size);
cse_status cse_checkpoint_latest(const char *directory, char *path, size_t size);
/* The steps of the checkpoints of a directory by their names, newest first, without opening them;
 * CSE_NO_INPUT when there is no such directory. free(*steps). */
cse_status cse_checkpoint_steps(const char *directory, int64_t **steps, int *count);

#endif
