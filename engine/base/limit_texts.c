/* What a limit is called where one stands behind an error. Fails nothing itself, so that the
 * lowest of all files may ask. */
#include "engine/base/resource_limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int resource;
    const char *text, *unit, *option, *directive;
} rows[] = {
#define ROW(name, resource, text, unit, raised, option, pieces, directive) \
    { resource, text, unit, option, directive },
    CSE_RESOURCE_LIMIT_TABLE(ROW)
#undef ROW
};

static cse_resource_limit limit_behind(int error)
{
    switch (error) {
    case EMFILE:
        return CSE_RESOURCE_FILES;
    case EFBIG:
        return CSE_RESOURCE_FILE_SIZE;
    case ENOMEM:
        return CSE_RESOURCE_ADDRESS_SPACE;
    default:
        return CSE_RESOURCE_LIMITS;
    }
}

void cse_resource_limit_add(cse_resource_limit which, const char *before, char *text, size_t size)
{
    struct rlimit limit;
    const size_t at = strlen(text);
    if (getrlimit(rows[which].resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(text + at, size - at, "%s%s is %lld%s (ulimit -%s, %s=)", before, rows[which].text,
                 (long long)limit.rlim_cur, rows[which].unit, rows[which].option,
                 rows[which].directive);
}

const char *cse_resource_limits_explain(int error, char *text, size_t size)
{
    const cse_resource_limit limit = limit_behind(error);
    text[0] = '\0';
    if (limit == CSE_RESOURCE_LIMITS)
        return text;
    cse_resource_limit_add(limit, "; the limit of ", text, size);
    if (limit == CSE_RESOURCE_ADDRESS_SPACE)
        cse_resource_limit_add(CSE_RESOURCE_DATA, "; the limit of ", text, size);
    return text;
}
