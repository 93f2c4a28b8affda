/* Whether a folder can be written, found out by writing: what another program says about its own
 * failure depends on its version and language. */
#ifndef CSE_BASE_STORAGE_H
#define CSE_BASE_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

/* Writes so many bytes to a file in `directory`, has them reach the disk and removes the file. 0,
 * or the error. */
int cse_storage_try(const char *directory, int64_t bytes);

/* Whether it is the storage that fails: it is full, broken, or bounded by a limit. */
bool cse_storage_is_at_fault(int error);

/* Fails with cse_status_of_writing(error): "FILE: cannot be written: ...". */
cse_status cse_storage_fail(const char *file, int error);

#endif
