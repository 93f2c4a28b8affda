/* Directories that come to be together with those above them. */
#ifndef CSE_BASE_DIRECTORY_H
#define CSE_BASE_DIRECTORY_H

#include "csengine/status.h"

/* Makes `path` and what is missing above it; `what` ("model_dir") begins the message. Fails with
 * CSE_PERMISSION or CSE_CANNOT_CREATE. */
cse_status cse_make_directories(const char *what, const char *path);

#endif
