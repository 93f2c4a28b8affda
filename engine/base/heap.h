/* How much of the heap this process has in use: to learn what a piece of code keeps, compare before
 * and after. */
#ifndef CSE_BASE_HEAP_H
#define CSE_BASE_HEAP_H

#include <stdint.h>

/* Bytes that were allocated and not freed; 0 where the C library does not say. */
int64_t cse_heap_bytes(void);

#endif
