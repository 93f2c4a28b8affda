/* One table for both directions. */
#include "engine/types/rounding.h"

#include <string.h>

static const struct {
    const char *name;
    cse_rounding rounding;
} names[] = {
    { "fp32", { CSE_FLOAT32, false } },   { "bf16", { CSE_BFLOAT16, false } },
    { "bf16sr", { CSE_BFLOAT16, true } }, { "fp16", { CSE_FLOAT16, false } },
    { "cb16", { CSE_CBFLOAT16, false } },
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
