/* A small file that is written whole. */
#ifndef CSE_BASE_FILE_REPLACE_H
#define CSE_BASE_FILE_REPLACE_H

#include <stddef.h>

#include "csengine/status.h"

/* Writes it beside `path` and puts it there: whoever reads finds the file before, or all of this
 * one. CSE_IO. */
cse_status cse_file_replace(const char *path, const void *bytes, size_t size);

#endif
