/* The settings of a data loader's section: those that every one has, then its input function's.
 * They stand with the configuration's tables, since a section is checked both when a
 * configuration is read and when a worker gets it. */
#ifndef CSE_CONFIG_DATALOADER_TABLE_H
#define CSE_CONFIG_DATALOADER_TABLE_H

#include "engine/config/settings.h"

/* The settings that every data loader has, ended by a NULL name. */
extern const cse_setting cse_dataloader_settings[];

/* Checks a section against these and an input function's own, as one table; as
 * cse_settings_check. */
cse_status cse_dataloader_settings_check(cse_arena *arena, const cse_setting *own,
                                         cse_yaml_node *node, cse_diagnostics *diagnostics,
                                         cse_settings **settings);

#endif
