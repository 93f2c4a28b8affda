/* The sections of a configuration that belong to plugins. */
#ifndef CSE_CONFIG_CONFIG_PLUGINS_H
#define CSE_CONFIG_CONFIG_PLUGINS_H

#include "csengine/extend.h"
#include "engine/base/config/yaml.h"
#include "engine/base/diagnostics.h"
#include "engine/base/library.h"
#include "engine/base/registry.h"

/* A plugin that a section names, and its settings. */
typedef struct cse_config_plugin {
    const char *name;            /* "SGD", "fc_mnist"; of a data loader its data_processor */
    const char *library;         /* path of the shared object that holds it, or NULL */
    cse_yaml_node *library_node; /* where that is written */
    const void *descriptor; /* of its kind's type; NULL without kinds, and before its library is
                             * loaded */
    /* Checked against its table; NULL where `descriptor` is, but those that all data loaders have
     * are checked before a library is loaded. */
    const cse_settings *settings;
    cse_yaml_node *tree; /* source of `settings`; checked again once a library is loaded */
    cse_place place;     /* of the name */
} cse_config_plugin;

/* A configuration while it is loaded. */
typedef struct cse_config_loading {
    cse_arena *arena;
    cse_yaml_node *root;
    const cse_kind *kinds;
    cse_diagnostics *diagnostics;
} cse_config_loading;

enum { CSE_PLUGIN_SECTION_COUNT = 11 };

typedef struct cse_plugin_list {
    cse_config_plugin *plugins;
    int count;
} cse_plugin_list;

/* The number of a section of plugins ("model", "loggers"); ends the process for another. */
int cse_plugin_section_index(const char *name);

/* Finds the plugin that each section names, among those of its kind, and checks its settings. */
cse_status cse_config_read_plugins(const cse_config_loading *loading,
                                   cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT]);

/* As cse_plugin_find. */
typedef cse_status cse_plugin_finder(const cse_plugin_wanted *wanted, const void **descriptor,
                                     const cse_library **library);

/* Loads the libraries that sections name and are not loaded yet, and checks the settings of their
 * plugins. Fails as the finder does, with the place of the name. */
cse_status cse_config_load_sections(const cse_config_loading *loading, cse_plugin_finder *find,
                                    const cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT]);

#endif
