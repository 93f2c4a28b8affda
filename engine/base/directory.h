/* Directories with all that leads to them. */
#ifndef CSE_BASE_DIRECTORY_H
#define CSE_BASE_DIRECTORY_H

#include "csengine/status.h"

/* Makes `path` and what is missing above it. CSE_PERMISSION or CSE_CANNOT_CREATE, with the part
 * that could not be made; `what` ("model_dir") begins the message. */
cse_status cse_directory_make(const char *path, const char *what);

#endif
