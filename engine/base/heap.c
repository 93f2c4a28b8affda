/* Sanitizers bring an allocator of their own, which does not say it either. */
#include "engine/base/heap.h"

#include <malloc.h>

int64_t cse_heap_bytes(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    const struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
#else
    return 0;
#endif
}
