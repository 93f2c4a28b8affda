/* The names stand in the list of the header. */
#include "engine/base/types/binding.h"

#include <string.h>

cse_status cse_binding_read(const char *name, cse_binding *binding)
{
    static const struct {
        const char *name;
        cse_binding value;
    } rows[] = { CSE_CHOICE_ROWS(CSE_BINDINGS) };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (name == NULL || strcmp(rows[i].name, name) == 0) {
            *binding = rows[i].value;
            return CSE_OK;
        }
    return cse_fail(CSE_CONFIG, "binding is '%s'; accepted: " CSE_CHOICES_TEXT(CSE_BINDINGS), name);
}
