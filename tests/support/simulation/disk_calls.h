/* The calls by which a program changes files, in place of those of the C library: a test that
 * includes this, in one file, has them all go through disk.h. The linker prefers a program's own
 * functions, for the calls of SQLite and HDF5 as well; so the code under test is what is shipped,
 * and needs no layer of its own above the system. What the C library does for itself (fopen, nftw)
 * goes by its own way. */
#ifndef CSE_TESTS_SIMULATION_DISK_CALLS_H
#define CSE_TESTS_SIMULATION_DISK_CALLS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/simulation/disk.h"

#pragma GCC visibility push(default) /* for the calls of shared libraries */

#define MODE_OF(flags, mode)                                           \
    do {                                                               \
        if (((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0) { \
            va_list arguments;                                         \
            va_start(arguments, flags);                                \
            mode = va_arg(arguments, mode_t);                          \
            va_end(arguments);                                         \
        }                                                              \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE_OF(flags, mode);
    return disk_open(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE_OF(flags, mode);
    return disk_open(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE_OF(flags, mode);
    return disk_open(directory, path, flags, mode);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    return disk_write(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    return disk_pwrite(descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset)
{
    return disk_pwrite(descriptor, data, size, offset);
}

int ftruncate(int descriptor, off_t size)
{
    return disk_truncate(descriptor, size);
}

int ftruncate64(int descriptor, off64_t size)
{
    return disk_truncate(descriptor, size);
}

int fsync(int descriptor)
{
    return disk_sync(descriptor);
}

int fdatasync(int descriptor)
{
    return disk_sync(descriptor);
}

int rename(const char *from, const char *to)
{
    return disk_rename(from, to, false);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to,
              unsigned flags)
{
    if (from_directory != AT_FDCWD || to_directory != AT_FDCWD)
        abort(); /* nothing here does so */
    return disk_rename(from, to, (flags & RENAME_EXCHANGE) != 0);
}

int unlink(const char *path)
{
    return disk_unlink(AT_FDCWD, path, 0);
}

int unlinkat(int directory, const char *path, int flags)
{
    return disk_unlink(directory, path, flags);
}

int remove(const char *path)
{
    struct stat found;
    const bool folder = lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
    return disk_unlink(AT_FDCWD, path, folder ? AT_REMOVEDIR : 0);
}

int rmdir(const char *path)
{
    return disk_unlink(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdir(const char *path, mode_t mode)
{
    return disk_mkdir(path, mode);
}

char *mkdtemp(char *template)
{
    return disk_mkdtemp(template);
}

int close(int descriptor)
{
    return disk_close(descriptor);
}

#pragma GCC visibility pop

#endif
