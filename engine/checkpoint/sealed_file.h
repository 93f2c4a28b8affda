/* Reading a sealed file by its seal alone.
 *
 * The seal holds the facts about the run and each tensor's name, type, shape and position, so that
 * the library of the file's format is not needed: those libraries are not made for files that a
 * stranger wrote. Each byte of the file is hashed once, tensors in parallel, and a block of
 * elements is hashed as it comes into memory. */
#ifndef CSE_CHECKPOINT_SEALED_FILE_H
#define CSE_CHECKPOINT_SEALED_FILE_H

#include "engine/checkpoint/format.h"

/* Fills in the checkpoint; `keep` false: the elements are verified in blocks and not returned.
 * CSE_DATA, with the damaged tensor's name if it can be told, when the file is not exactly what was
 * sealed, or not what a seal may hold; CSE_IO. */
cse_status cse_sealed_file_read(int descriptor, const char *path, bool keep,
                                cse_checkpoint_owned *owned);

/* Whether the file is sealed and holds just these tensors: the elements are compared with those in
 * memory, from which the digests were made. CSE_DATA, CSE_IO. */
cse_status cse_sealed_file_confirm(int descriptor, const char *path,
                                   const cse_checkpoint *checkpoint);

#endif
