/* A number without a unit is one of bytes. */
#include "engine/base/byte_size.h"

#include <stdlib.h>
#include <string.h>

bool cse_byte_size_read(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        uint64_t bytes;
    } units[] = { { "", 1 },          { "KB", 1000 },     { "MB", 1000000 }, { "GB", 1000000000 },
                  { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 } };
    char *end = NULL;
    *bytes = 0;
    if (*text < '0' || *text > '9')
        return false;
    const unsigned long long number = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (number < UINT64_C(1) << 30 && strcmp(end, units[i].unit) == 0)
            *bytes = number * units[i].bytes;
    return *bytes > 0;
}
