/* A library that a program loads for all of its plugins. */
#include <string.h>

#include "dataloader/input.h"
#include "engine/base/config/settings.h"
#include "engine/base/plugin_kinds.h"
#include "engine/base/registry.h"
#include "engine/graph/outside_ops.h"
#include "engine/nn/plugins.h"
#include "run/session/session.h"

/* The kinds that a program names plugins of. */
static const struct {
    const char *kind;
    const void *table;
} named[] = { { "input", cse_inputs },
              { "metric", cse_metrics },
              { "model", cse_models },
              { "optimizer", cse_optimizers },
              { "schedule", cse_schedules } };

/* A name that a built-in plugin has would never lead to the library's. */
static cse_status check_names(const cse_library *library)
{
    for (const cse_plugin *p = library->plugins; p->kind != NULL; p++)
        for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
            const cse_descriptor *own = p->descriptor;
            if (strcmp(p->kind, named[i].kind) == 0 &&
                cse_registry_find(named[i].table, own->name) != NULL)
                return cse_fail(CSE_CONFIG,
                                "library %s: the %s %s has the name of a built-in one: give it "
                                "another, or ask for it by {library: PATH, name: %s}",
                                library->path, cse_plugin_kind_find(p->kind)->title, own->name,
                                own->name);
        }
    return CSE_OK;
}

cse_status cse_plugin_load(const char *path)
{
    const cse_library *library = NULL;
    if (path == NULL)
        return cse_fail(CSE_USAGE, "cse_plugin_load: there is no path");
    cse_status status = cse_library_load(path, NULL, &library);
    if (status == CSE_OK)
        status = check_names(library);
    if (status == CSE_OK)
        status = cse_ops_add_library(library);
    return status;
}
