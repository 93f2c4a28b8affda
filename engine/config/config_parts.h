/* The parts of loading a configuration, in their order: overrides into the tree, the checked
 * settings against each other, the sections of plugins. For config.c alone. */
#ifndef CSE_CONFIG_CONFIG_PARTS_H
#define CSE_CONFIG_CONFIG_PARTS_H

#include "engine/config/config.h"
#include "engine/config/settings.h"

/* A configuration while it is loaded. */
typedef struct cse_config_loading {
    cse_arena *arena;
    cse_yaml_node *root;
    const cse_kind *kinds;
    cse_diagnostics *diagnostics;
} cse_config_loading;

#define CSE_CONFIG_ERROR_AT(place) CSE_ERROR_AT("configuration: ", place)

cse_status cse_config_override_apply(cse_config_loading *loading,
                                     const cse_config_override *override);

/* "init.loop" below `settings`; NULL where one on the way is no mapping. */
const cse_settings *cse_settings_section(const cse_settings *settings, const char *path);

/* The rules between the settings of a section; not of one with an error in itself. */
cse_status cse_config_check_rules(const cse_settings *trainer, cse_diagnostics *diagnostics);

enum { CSE_PLUGIN_SECTION_COUNT = 6 };

typedef struct cse_plugin_list {
    cse_config_plugin *plugins;
    int count;
} cse_plugin_list;

/* The number of a section of plugins ("model", "loggers"); ends the process for another. */
int cse_plugin_section_index(const char *name);

/* Reads the plugins that each section names, finds them in their kinds and checks their settings. */
cse_status cse_config_read_plugins(const cse_config_loading *loading,
                                   cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT]);

#endif
