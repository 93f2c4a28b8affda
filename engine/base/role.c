/* Lookups in the table of roles. */
#include "engine/base/role.h"

#include <stdio.h>

static const struct {
    cse_role role;
    const char *name, *text;
} rows[] = {
#define ROLE_ROW(name, bit, word, text, doc) { CSE_ROLE_##name, word, text },
    CSE_ROLE_TABLE(ROLE_ROW)
};

enum { ROLE_COUNT = sizeof rows / sizeof rows[0] };

const char *cse_role_name(cse_role role)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (rows[i].role == role)
            return rows[i].name;
    return "unknown";
}

const char *cse_process_name(cse_process process, char *text, size_t size)
{
    const char *role = "unknown";
    for (int i = 0; i < ROLE_COUNT; i++)
        if (rows[i].role == process.role)
            role = rows[i].text;
    if (process.role == CSE_ROLE_COORDINATOR)
        snprintf(text, size, "%s", role);
    else
        snprintf(text, size, "%s %d", role, process.rank);
    return text;
}
