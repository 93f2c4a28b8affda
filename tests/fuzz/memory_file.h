/* A file in memory with the bytes of an input, which is opened by its path as others are. */
#ifndef CSE_TESTS_FUZZ_MEMORY_FILE_H
#define CSE_TESTS_FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY_PATH_BYTES = 64 };

/* The caller closes the descriptor. */
static inline int memory_file(const void *data, size_t size, char path[MEMORY_PATH_BYTES])
{
    int file = memfd_create("fuzzed", MFD_CLOEXEC);
    if (file < 0 || (size > 0 && write(file, data, size) != (ssize_t)size))
        abort();
    snprintf(path, MEMORY_PATH_BYTES, "/proc/self/fd/%d", file);
    return file;
}

#endif
