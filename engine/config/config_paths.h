/* The paths of a configuration that somebody else wrote, against what its job may touch. */
#ifndef CSE_CONFIG_CONFIG_PATHS_H
#define CSE_CONFIG_CONFIG_PATHS_H

#include "engine/base/confinement.h"
#include "engine/base/diagnostics.h"
#include "engine/config/config_plugins.h"
#include "engine/config/settings.h"

/* `trainer` is the checked settings of that name; `sections` has CSE_PLUGIN_SECTION_COUNT entries.
 * CSE_CONFIG with the place of a path that lies elsewhere; `diagnostics` may be NULL. All is well
 * without a confinement. model_dir is not looked at: who confines a job chooses it. */
cse_status cse_config_check_paths(const cse_settings *trainer, const cse_plugin_list *sections,
                                  const cse_confinement *confinement, cse_diagnostics *diagnostics);

#endif
