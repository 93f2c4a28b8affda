/* By the dynamic loader, for this library alone. */
#include "engine/base/library_code.h"

#include <dlfcn.h>
#include <stddef.h>

cse_status cse_library_code_load(const char *path, const char *name, void **handle)
{
    *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*handle != NULL)
        return CSE_OK;
    return cse_fail(CSE_DATA, "library %s cannot be loaded: %s", path, dlerror());
}
