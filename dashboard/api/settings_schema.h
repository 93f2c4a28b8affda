/* JSON Schema of a table of settings. */
#ifndef CSE_DASHBOARD_API_SETTINGS_SCHEMA_H
#define CSE_DASHBOARD_API_SETTINGS_SCHEMA_H

#include <jansson.h>

#include "csengine/extend.h"

/* The schema of a mapping with these settings and no others; the caller's. Settings of type ANY
 * accept any value. */
json_t *cse_settings_schema(const cse_setting *table);

#endif
