/* Reading a sealed file by its seal alone.
 *
 * The seal holds the facts about the run and each tensor's name, type, shape and position, so that
 * the library of the file's format is not needed: those libraries are not made for files that a
 * stranger wrote. Each byte of the file is hashed once, tensors in parallel, and a block of
 * elements is hashed as it comes into memory. */
#ifndef CSE_CHECKPOINT_SEALED_FILE_H
#define CSE_CHECKPOINT_SEALED_FILE_H

#include "engine/formats/checkpoint/format.h"

/* What becomes of the elements, which are verified in blocks: nothing, a copy in memory, or a
 * mapping of the file, which the checkpoint keeps. */
typedef enum cse_sealed_use {
    CSE_SEALED_VERIFIED,
    CSE_SEALED_KEPT,
    CSE_SEALED_MAPPED,
} cse_sealed_use;

/* Fills in the checkpoint. CSE_DATA, with the damaged tensor's name if it can be told, when the
 * file is not exactly what was sealed, or not what a seal may hold; CSE_IO. */
cse_status cse_sealed_file_read(int descriptor, const char *path, cse_sealed_use use,
                                cse_checkpoint_owned *owned);

/* A file of which elements are read as they are asked for. Opening reads the seal and verifies all
 * that no tensor's digest covers; the descriptor is borrowed to the end. */
typedef struct cse_sealed_reader cse_sealed_reader;
cse_status cse_sealed_reader_open(int descriptor, const char *path, cse_sealed_reader **reader);
void cse_sealed_reader_close(cse_sealed_reader **reader);
/* What the file holds; the tensors' data are NULL. Borrowed. */
const cse_checkpoint *cse_sealed_reader_view(const cse_sealed_reader *reader);
/* Reads bytes [first, first + bytes) of a tensor's elements to `data`. All of the tensor is read
 * and compared with its digest, in blocks, and nothing of any other: CSE_DATA, naming it. */
cse_status cse_sealed_reader_read(cse_sealed_reader *reader, int index, uint64_t first,
                                  uint64_t bytes, void *data);

/* Whether the file is sealed and holds just these tensors: the elements are compared with those in
 * memory, from which the digests were made. CSE_DATA, CSE_IO. */
cse_status cse_sealed_file_confirm(int descriptor, const char *path,
                                   const cse_checkpoint *checkpoint);

#endif
