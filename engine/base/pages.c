/* Anonymous private mappings. */
#include "engine/base/pages.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "csengine/status.h"
#include "engine/base/resource_limits.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

enum { HUGE_BYTES = 4 << 20, AHEAD_BYTES = 64 << 10 };

void cse_out_of_memory(size_t bytes)
{
    char limits[200];
    fprintf(stderr, "csengine: error: out of memory: %zu bytes more cannot be had%s\n", bytes,
            cse_resource_limits_explain(ENOMEM, limits, sizeof limits));
    exit(cse_status_exit_code(limits[0] != '\0' ? CSE_SYSTEM_LIMIT : CSE_TEMPORARY));
}

void *cse_pages_new(size_t bytes)
{
    if (bytes == 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    cse_out_of_memory(bytes);
}

void cse_pages_expect_use(void *memory, size_t bytes)
{
    if (bytes >= HUGE_BYTES)
        madvise(memory, bytes, MADV_HUGEPAGE);
}

bool cse_pages_can_make(void)
{
    return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
}

int cse_pages_make(void *start, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)start / page * page;
    const uintptr_t end = ((uintptr_t)start + bytes + page - 1) / page * page;
    if (bytes == 0 || madvise((void *)first, end - first, MADV_POPULATE_WRITE) == 0)
        return 0;
    return errno == EINVAL ? 0 : errno;
}

void cse_pages_release(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

void cse_pages_discard(const void *start, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)start + bytes) / page * page;
    if (first < end)
        madvise((void *)first, end - first, MADV_REMOVE);
}

void cse_pages_read_ahead(const void *start, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)start / page * page;
    const uintptr_t end = (uintptr_t)start + bytes;
    /* Of a longer range the kernel takes only as much as it reads ahead in order. */
    for (uintptr_t at = first; at < end; at += AHEAD_BYTES)
        madvise((void *)at, end - at < AHEAD_BYTES ? end - at : AHEAD_BYTES, MADV_WILLNEED);
}

/* First out of the cache, for which the pages are looked up in this process's table. */
void cse_pages_let_go(const void *start, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)start / page * page;
    const size_t size = (uintptr_t)start + bytes - first;
    if (bytes == 0)
        return;
    madvise((void *)first, size, MADV_PAGEOUT);
    madvise((void *)first, size, MADV_DONTNEED);
}

int cse_pages_write_out(const void *start, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)start / page * page;
    void *memory = (void *)first;
    const size_t size = (uintptr_t)start + bytes - first;
    if (bytes == 0)
        return 0;
    if (msync(memory, size, MS_SYNC) != 0)
        return errno;
    cse_pages_let_go(start, bytes);
    return 0;
}

void cse_heap_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
