/* The settings of a data loader's section: those that every one has, then its input function's.
 * They stand with the configuration's tables, since a section is checked both when a
 * configuration is read and when the data loader is opened. */
#ifndef CSE_CONFIG_DATALOADER_TABLE_H
#define CSE_CONFIG_DATALOADER_TABLE_H

#include "csengine/extend.h"

/* The settings that every data loader has, ended by a NULL name. */
extern const cse_setting cse_dataloader_settings[];

/* These and an input function's own, as one table; the caller frees it, and nothing in it. */
cse_setting *cse_dataloader_table_new(const cse_setting *own);

#endif
