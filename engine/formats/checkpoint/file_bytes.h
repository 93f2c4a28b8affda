/* Whole reads and writes at a place of an open file: a call that is interrupted or does only a
 * part goes on where it stopped. */
#ifndef CSE_CHECKPOINT_FILE_BYTES_H
#define CSE_CHECKPOINT_FILE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* pread and pwrite of all `size` bytes. Reading returns the bytes up to the end of the file, or -1;
 * writing returns 0 or -1; both set errno. */
int64_t cse_read_at(int descriptor, void *data, size_t size, uint64_t offset);
int cse_write_at(int descriptor, const void *data, size_t size, uint64_t offset);

#endif
