/* One table for lookups in both directions. */
#include "engine/base/types/rounding.h"

#include <string.h>

static const struct {
    const char *name;
    cse_rounding rounding;
} names[] = {
#define CSE_ROUNDING_ROW(name, format, stochastic) { #name, { format, stochastic } },
    CSE_ROUNDINGS(CSE_ROUNDING_ROW, CSE_ROUNDING_ROW)
#undef CSE_ROUNDING_ROW
};

enum { NAME_COUNT = sizeof names / sizeof names[0] };

bool cse_rounding_from_name(const char *name, cse_rounding *rounding)
{
    for (int i = 0; i < NAME_COUNT; i++)
        if (strcmp(names[i].name, name) == 0) {
            *rounding = names[i].rounding;
            return true;
        }
    return false;
}

const char *cse_rounding_name(cse_rounding rounding)
{
    for (int i = 0; i < NAME_COUNT; i++)
        if (names[i].rounding.format == rounding.format &&
            names[i].rounding.stochastic == rounding.stochastic)
            return names[i].name;
    return "unknown";
}
