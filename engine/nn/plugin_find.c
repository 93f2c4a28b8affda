/* A library is loaded for one of its plugins or for all of them; either way its ops are checked and
 * known from then on, since the graph names them. */
#include "engine/nn/plugin_find.h"

#include "engine/base/config/settings.h"
#include "engine/base/error.h"
#include "engine/graph/outside_ops.h"

cse_status cse_network_plugin_find(const cse_plugin_wanted *wanted, const void **descriptor,
                                   const cse_library **library)
{
    const cse_library *found = NULL;
    CSE_TRY(cse_plugin_find(wanted, descriptor, &found));
    if (library != NULL)
        *library = found;
    return found != NULL ? cse_ops_add_library(found) : CSE_OK;
}

cse_status cse_network_take_library(cse_yaml_node *tree, const char **library)
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
