/* mount_dirs and python_paths: folders in which relative paths are looked for. */
#ifndef CSE_CONFIG_CONFIG_MOUNTS_H
#define CSE_CONFIG_CONFIG_MOUNTS_H

#include "engine/base/config/config_plugins.h"
#include "engine/base/confinement.h"

/* Replaces relative paths of data loaders, and relative libraries, that are not in the working
 * directory by what one of the folders has. The folders are those of the configuration and, unless
 * the job is confined, those of the file that CSE_CLUSTER_DEFAULTS names; each must exist and, of a
 * confined job, lie below what it may read. `trainer` and `sections` are as in config_paths.h. */
cse_status cse_config_look_in_mounts(const cse_config_loading *loading, const cse_settings *trainer,
                                     const cse_plugin_list *sections,
                                     const cse_confinement *confinement);

#endif
