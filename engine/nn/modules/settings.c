/* Settings that a model knows by name, for configurations that have them, but not with any other
 * value than their default. */
#include <string.h>

#include "csengine/modules.h"

cse_status cse_refuse_unsupported(const cse_setting *table, const cse_settings *settings)
{
    for (const cse_setting *row = table; row->name != NULL; row++) {
        if (row->type != CSE_SETTING_ANY || row->choices == NULL)
            continue;
        const char *value = cse_settings_text(settings, row->name);
        value = value != NULL ? value : "null";
        if (strcmp(value, row->default_value) != 0)
            return cse_fail(CSE_CONFIG, "%s (%s) is %.80s, which is not supported; accepted: %s",
                            row->name, cse_settings_origin(settings, row->name), value,
                            row->default_value);
    }
    return CSE_OK;
}
