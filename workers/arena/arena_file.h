/* The file of an arena that is larger than memory: without a name, in a directory that was given,
 * so that nothing is left of it when the last process of a run has ended, however it has. */
#ifndef CSE_WORKERS_ARENA_ARENA_FILE_H
#define CSE_WORKERS_ARENA_ARENA_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

/* A descriptor, closed by exec, of an empty file. CSE_NO_INPUT, CSE_PERMISSION or CSE_IO where
 * there can be none; messages name states.directory. */
cse_status cse_arena_file_new(const char *directory, int *descriptor);

/* A mapping of a new file of so many bytes, whose room is reserved; the file goes with the mapping
 * (cse_pages_release) and with *descriptor, which is the caller's; NULL: none is wanted. Fails as
 * the calls here do. */
cse_status cse_arena_file_map(const char *directory, int64_t bytes, void **start, int *descriptor);

/* Reserves room on the disk for bytes [from, from + bytes). CSE_IO where there is none: how much is
 * free, and how much is missing. */
cse_status cse_arena_file_reserve(int descriptor, int64_t from, int64_t bytes);

/* Bytes of the mapping at `base` leave this process, and the cache where no other one has them
 * mapped; `dirty`: they are written first. 0, or the error of writing. */
int cse_arena_file_let_go(int descriptor, unsigned char *base, int64_t from, int64_t bytes,
                          bool dirty);

/* Bytes of the mapping at `base` are in this process, read where they were not, and ready to be
 * changed where `written`. 0, or the error of reading. */
int cse_arena_file_populate(unsigned char *base, int64_t from, int64_t bytes, bool written);

#endif
