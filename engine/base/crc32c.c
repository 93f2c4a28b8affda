/* Byte by byte with a 256-entry table: records are small and few, so speed does not matter. */
#include "engine/base/crc32c.h"

#include <pthread.h>

static const uint32_t reflected_polynomial = 0x82f63b78u;

static uint32_t remainders[256];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_remainders(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; bit++)
            remainder = remainder >> 1 ^ (remainder & 1 ? reflected_polynomial : 0);
        remainders[byte] = remainder;
    }
}

uint32_t cse_crc32c(const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    uint32_t remainder = 0xffffffffu;
    pthread_once(&made, make_remainders);
    for (size_t i = 0; i < size; i++)
        remainder = remainder >> 8 ^ remainders[(remainder ^ byte[i]) & 0xff];
    return remainder ^ 0xffffffffu;
}
