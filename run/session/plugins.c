/* A library is loaded for one of its plugins or for all of them; either way its ops are checked and
 * known from then on, since the graph names them. */
#include "run/session/plugins.h"

#include <string.h>

#include "dataloader/input.h"
#include "engine/base/plugin_kinds.h"
#include "engine/base/registry.h"
#include "engine/config/settings.h"
#include "engine/graph/outside_ops.h"
#include "engine/metrics/metric.h"
#include "engine/models/models.h"
#include "engine/optimizers/optimizer.h"
#include "engine/schedules/schedule.h"
#include "run/session/session.h"

cse_status cse_session_plugin_find(const cse_plugin_wanted *wanted, const void **descriptor,
                                   const cse_library **library)
{
    const cse_library *found = NULL;
    CSE_TRY(cse_plugin_find(wanted, descriptor, &found));
    if (library != NULL)
        *library = found;
    return found != NULL ? cse_ops_add_library(found) : CSE_OK;
}

cse_status cse_session_take_library(cse_yaml_node *tree, const char **library)
{
    cse_yaml_node *node = cse_yaml_find(tree, "library");
    *library = NULL;
    if (node == NULL || cse_yaml_is_null(node))
        return CSE_OK;
    if (node->kind != CSE_YAML_SCALAR)
        return cse_fail_at(CSE_ERROR_AT("settings: ", node->place),
                           "library: the path of a shared object belongs here");
    node->read = true;
    *library = node->text;
    cse_yaml_remove(tree, "library");
    return CSE_OK;
}

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
