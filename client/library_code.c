/* Plugins are linked with libcsengine, which would be a second engine in this process, with a state
 * of its own, oneDNN, OpenMP and HDF5. */
#include "engine/base/library_code.h"

#include <stddef.h>

cse_status cse_library_code_load(const char *path, const char *name, void **handle)
{
    (void)name;
    *handle = NULL;
    return cse_fail(CSE_UNAVAILABLE,
                    "library %s: the client library loads no plugins: run the configuration with "
                    "`csengine start`, or link the program with libcsengine",
                    path);
}
