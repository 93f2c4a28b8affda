/* Sizes as people write them: "2GiB". */
#ifndef CSE_BASE_BYTE_SIZE_H
#define CSE_BASE_BYTE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define CSE_BYTE_SIZE_ACCEPTED "a whole number and KB, MB, GB, KiB, MiB or GiB, as in 2GiB"

/* False for anything else, for 0, and from 2^30 units on. */
bool cse_byte_size_read(const char *text, uint64_t *bytes);

#endif
