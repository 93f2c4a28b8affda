/* The table of CONFIG.yaml. */
#ifndef CSE_CONFIG_CONFIG_TABLE_H
#define CSE_CONFIG_CONFIG_TABLE_H

#include "csengine/extend.h"

/* The table of the whole file: its only entry is "trainer". */
extern const cse_setting cse_config_table[];

#endif
