/* The sections of a configuration that belong to plugins. */
#ifndef CSE_CONFIG_CONFIG_PLUGINS_H
#define CSE_CONFIG_CONFIG_PLUGINS_H

#include "csengine/extend.h"
#include "engine/base/diagnostics.h"
#include "engine/base/registry.h"
#include "engine/config/yaml.h"

/* A plugin that a section names, and its settings. */
typedef struct cse_config_plugin {
    const char *name;             /* "SGD", "fc_mnist"; of a data loader its data_processor */
    const char *library;          /* of a model: path of the shared object that holds it, or NULL */
    const void *descriptor;       /* of its kind's type; NULL with a library, or without kinds */
    const cse_settings *settings; /* checked against its table; NULL where `descriptor` is */
    cse_yaml_node *tree;          /* source of `settings`; checked again once a library is loaded */
    cse_place place;              /* of the name */
    cse_place library_place;      /* of `library` */
} cse_config_plugin;

/* A configuration while it is loaded. */
typedef struct cse_config_loading {
    cse_arena *arena;
    cse_yaml_node *root;
    const cse_kind *kinds;
    cse_diagnostics *diagnostics;
} cse_config_loading;

enum { CSE_PLUGIN_SECTION_COUNT = 6 };

typedef struct cse_plugin_list {
    cse_config_plugin *plugins;
    int count;
} cse_plugin_list;

/* The number of a section of plugins ("model", "loggers"); ends the process for another. */
int cse_plugin_section_index(const char *name);

/* Finds the plugin that each section names, among those of its kind, and checks its settings. */
cse_status cse_config_read_plugins(const cse_config_loading *loading,
                                   cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT]);

#endif
