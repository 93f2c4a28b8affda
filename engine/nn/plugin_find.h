/* Plugins of a user's libraries, for sessions. */
#ifndef CSE_ENGINE_NN_PLUGIN_FIND_H
#define CSE_ENGINE_NN_PLUGIN_FIND_H

#include "engine/base/config/yaml.h"
#include "engine/base/library.h"

/* cse_plugin_find for code that traces: the ops of a library that it loads become known. */
cse_status cse_network_plugin_find(const cse_plugin_wanted *wanted, const void **descriptor,
                                   const cse_library **library);

/* Takes the key `library` out of a tree of settings, if it is there; NULL: it is not. CSE_CONFIG
 * where it is no path. */
cse_status cse_network_take_library(cse_yaml_node *tree, const char **library);

#endif
