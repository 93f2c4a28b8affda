/* All of it is reserved before anything runs: a page of a file with a hole would end the process
 * that touches it where the disk is full. */
#include "workers/arena/arena_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/base/unnamed_file.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { LET_GO_ATTEMPTS = 4 };

cse_status cse_arena_file_new(const char *directory, int *descriptor)
{
    *descriptor = cse_unnamed_file(directory);
    if (*descriptor >= 0)
        return CSE_OK;
    const cse_status status = errno == ENOENT || errno == ENOTDIR                   ? CSE_NO_INPUT
                              : errno == EACCES || errno == EPERM || errno == EROFS ? CSE_PERMISSION
                                                                                    : CSE_IO;
    return cse_fail(status,
                    "states.directory: no file can be made in %s: %s; give an existing directory "
                    "that this user may write to",
                    directory, strerror(errno));
}

static cse_status no_room(int descriptor, int64_t bytes, int error)
{
    struct statvfs facts;
    if (error != ENOSPC || fstatvfs(descriptor, &facts) != 0)
        return cse_fail(CSE_IO,
                        "states.directory: no room of %lld bytes for the file of states: %s",
                        (long long)bytes, strerror(error));
    const int64_t free_bytes = (int64_t)facts.f_bavail * (int64_t)facts.f_frsize;
    return cse_fail(CSE_IO,
                    "states.directory: the file of states needs %lld bytes, its file system has "
                    "%lld free, %lld are missing; give a directory with more room",
                    (long long)bytes, (long long)free_bytes,
                    (long long)(bytes > free_bytes ? bytes - free_bytes : 0));
}

cse_status cse_arena_file_reserve(int descriptor, int64_t from, int64_t bytes)
{
    int error;
    do
        error = posix_fallocate(descriptor, from, bytes);
    while (error == EINTR);
    return error == 0 ? CSE_OK : no_room(descriptor, bytes, error);
}

static cse_status map(int descriptor, int64_t bytes, void **start)
{
    CSE_TRY(cse_arena_file_reserve(descriptor, 0, bytes));
    *start = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return *start != MAP_FAILED
               ? CSE_OK
               : cse_fail(CSE_IO, "states.directory: %lld bytes of its file cannot be mapped: %s",
                          (long long)bytes, strerror(errno));
}

cse_status cse_arena_file_map(const char *directory, int64_t bytes, void **start, int *descriptor)
{
    int file;
    CSE_TRY(cse_arena_file_new(directory, &file));
    const cse_status status = map(file, bytes, start);
    if (descriptor != NULL && status == CSE_OK)
        *descriptor = file;
    else
        close(file);
    return status;
}

/* Whether the cache has a page of the range, as far as the kernel tells. */
static bool is_cached(unsigned char *base, int64_t from, int64_t bytes)
{
    unsigned char pages[256];
    const int64_t page = sysconf(_SC_PAGESIZE), most = (int64_t)sizeof pages * page;
    for (int64_t at = 0; at < bytes; at += most) {
        const int64_t part = bytes - at < most ? bytes - at : most;
        if (mincore(base + from + at, (size_t)part, pages) != 0)
            return false;
        for (int64_t p = 0; p < (part + page - 1) / page; p++)
            if (pages[p] & 1)
                return true;
    }
    return false;
}

int cse_arena_file_let_go(int descriptor, unsigned char *base, int64_t from, int64_t bytes,
                          bool dirty)
{
    /* The cache keeps a page that something else holds at this moment (reclaim, migration, a fault
     * that maps the pages around it), and says nothing of it. Those of other processes stay. */
    for (int attempt = 0; attempt < LET_GO_ATTEMPTS; attempt++) {
        madvise(base + from, (size_t)bytes, MADV_DONTNEED);
        if (dirty && sync_file_range(descriptor, from, bytes,
                                     SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                         SYNC_FILE_RANGE_WAIT_AFTER) != 0)
            return errno;
        posix_fadvise(descriptor, from, bytes, POSIX_FADV_DONTNEED);
        if (!is_cached(base, from, bytes))
            break;
        sched_yield();
    }
    return 0;
}

int cse_arena_file_populate(unsigned char *base, int64_t from, int64_t bytes, bool written)
{
    const int advice = written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    int error;
    do
        error = madvise(base + from, (size_t)bytes, advice) != 0 ? errno : 0;
    while (error == EINTR || error == EAGAIN);
    if (error == EINVAL) /* a kernel before 5.14 reads them by faults */
        return 0;
    /* It says EFAULT where an access would end in SIGBUS. */
    return error == EFAULT ? EIO : error;
}
