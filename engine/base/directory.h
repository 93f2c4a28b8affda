/* Directories made together with those above them, and removed with all that is below them. */
#ifndef CSE_BASE_DIRECTORY_H
#define CSE_BASE_DIRECTORY_H

#include "csengine/status.h"

/* Makes `path` and what is missing above it; `what` ("model_dir") begins the message. Fails with
 * CSE_PERMISSION or CSE_CANNOT_CREATE. */
cse_status cse_make_directories(const char *what, const char *path);

/* Removes `path` and, when it is a directory, all below it on the same file system, as far as it is
 * allowed. Symbolic links are removed, not followed. */
void cse_remove_tree(const char *path);

#endif
