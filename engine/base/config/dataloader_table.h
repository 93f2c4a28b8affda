/* The settings of a data loader's section: those that all have, then its input function's. They are
 * in this room because a section is checked both when a configuration is read and when a worker
 * receives it. */
#ifndef CSE_CONFIG_DATALOADER_TABLE_H
#define CSE_CONFIG_DATALOADER_TABLE_H

#include "engine/base/config/settings.h"

/* The settings that every data loader has, ended by a NULL name. */
extern const cse_setting cse_dataloader_settings[];

/* As cse_settings_check, against these and an input function's own settings as one table. */
cse_status cse_dataloader_settings_check(cse_arena *arena, const cse_setting *own,
                                         cse_yaml_node *node, cse_diagnostics *diagnostics,
                                         cse_settings **settings);

/* Those that every data loader has, of a section whose input function's own are not known yet. */
cse_status cse_dataloader_common_check(cse_arena *arena, const cse_yaml_node *node,
                                       cse_diagnostics *diagnostics, cse_settings **settings);

#endif
