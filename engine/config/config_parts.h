/* The parts of loading a configuration, in their order: overrides into the tree, the checked
 * settings against each other, the sections of plugins. For config.c alone. */
#ifndef CSE_CONFIG_CONFIG_PARTS_H
#define CSE_CONFIG_CONFIG_PARTS_H

#include "engine/config/config.h"
#include "engine/config/settings.h"

/* A tree that is changed, and the memory it lives in. */
typedef struct cse_config_tree {
    cse_arena *arena;
    cse_yaml_node *root;
} cse_config_tree;

/* "configuration: place: ...", CSE_CONFIG. */
cse_status cse_config_fail_at(cse_place place, const char *format, ...) CSE_PRINTF(2, 3);

cse_status cse_config_override_apply(cse_config_tree *tree, const cse_config_override *override);

/* "init.loop" below `settings`; NULL where one on the way is no mapping. */
const cse_settings *cse_settings_section(const cse_settings *settings, const char *path);

/* The rules between settings of sections that are not at fault themselves. */
cse_status cse_config_check_rules(const cse_settings *trainer, cse_diagnostics *diagnostics);

enum { CSE_PLUGIN_SECTION_COUNT = 6 };

typedef struct cse_plugin_list {
    cse_config_plugin *plugins;
    int count;
} cse_plugin_list;

/* The number of a section of plugins ("model", "train_dataloader"); ends the process for another. */
int cse_plugin_section_index(const char *name);

/* Reads the plugins that each section of `tree` names into `sections`. */
cse_status cse_config_read_plugins(cse_config_tree *tree, cse_diagnostics *diagnostics,
                                   cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT]);
/* Finds each plugin in `kinds` and checks its settings against its table. */
cse_status cse_config_check_plugins(cse_arena *arena, const cse_kind *kinds,
                                    cse_diagnostics *diagnostics,
                                    cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT]);

#endif
