/* The paths, and the words that become a program's arguments, of a configuration that somebody else
 * wrote, against what its job may touch. */
#ifndef CSE_CONFIG_CONFIG_PATHS_H
#define CSE_CONFIG_CONFIG_PATHS_H

#include "engine/base/config/config_plugins.h"
#include "engine/base/config/settings.h"
#include "engine/base/confinement.h"
#include "engine/base/diagnostics.h"

/* The library that is named first anywhere in the tree, or NULL: of whatever kind of plugin,
 * however deep, it stands under the key "library". */
const cse_yaml_node *cse_config_first_library(const cse_yaml_node *root);
/* All of them, against the folders that libraries may lie in. As below. */
cse_status cse_config_check_libraries(cse_arena *arena, const cse_yaml_node *root,
                                      const cse_confinement *confinement,
                                      cse_diagnostics *diagnostics);

/* `trainer` is the checked settings of that name; `sections` has CSE_PLUGIN_SECTION_COUNT entries.
 * CSE_CONFIG with the place of a path that lies elsewhere, or of a setting of the cluster that
 * chooses a program or its arguments; `diagnostics` may be NULL. All is well
 * without a confinement. model_dir is not looked at: who confines a job chooses it. */
cse_status cse_config_check_paths(const cse_settings *trainer, const cse_plugin_list *sections,
                                  const cse_confinement *confinement, cse_diagnostics *diagnostics);

#endif
