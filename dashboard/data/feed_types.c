/* One table, looked up in both directions. */
#include "dashboard/data/feed_types.h"

#include <stddef.h>
#include <string.h>

static const char *const type_names[] = {
#define CSE_FEED_NAME(bit, name) name,
    CSE_FEED_TYPES(CSE_FEED_NAME)
#undef CSE_FEED_NAME
};

unsigned cse_feed_type(const char *name)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (strcmp(type_names[i], name) == 0)
            return 1u << i;
    return 0;
}

const char *cse_feed_type_name(unsigned type)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (type == 1u << i)
            return type_names[i];
    return "";
}
