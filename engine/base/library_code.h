/* Loading the code of a library of plugins. */
#ifndef CSE_BASE_LIBRARY_CODE_H
#define CSE_BASE_LIBRARY_CODE_H

#include "csengine/status.h"

/* Loads the shared object `name`, a path; `path` is what messages call it. The handle is that of
 * dlopen(3). */
cse_status cse_library_code_load(const char *path, const char *name, void **handle);

#endif
