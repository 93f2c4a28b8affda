/* Descriptors in the order of their last use: the one that waits longest is closed. Files that are
 * open are mapped, too, where they are small beside the memory of the machine: a copy out of the
 * system's pages costs less than a call for it. Of larger ones, whose pages mostly stand on the
 * disk, a call reads no more than it is asked for. */
#include "dataloader/files/file_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csengine/input.h"
#include "engine/base/arena.h"
#include "engine/base/guarded_copy.h"

typedef struct pool_file {
    const char *path; /* in messages */
    const char *made; /* what is opened in its place; NULL: the path itself */
    int64_t bytes, modified_ns;
    dev_t device;
    ino_t inode;
    int place;       /* in open; -1: closed */
    uint64_t looked; /* the number of the look at it; 0: none */
} pool_file;

typedef struct open_file {
    int file, descriptor;
    uint64_t used;              /* the tick of its last use */
    const unsigned char *bytes; /* all of it; NULL: it is not mapped */
} open_file;

enum { MEMORY_PARTS = 4 }; /* a file of at most so small a part of the memory is mapped */

struct cse_file_pool {
    cse_arena *arena; /* of the paths */
    pool_file *files;
    int count, capacity;
    open_file open[CSE_POOL_OPEN_FILES];
    int open_count;
    uint64_t tick, look; /* look: the number of this one; 0: each use is one */
    void (*closing)(void *self, int file);
    void *self;
};

cse_file_pool *cse_file_pool_new(void (*closing)(void *self, int file), void *self)
{
    cse_file_pool *pool = cse_calloc(1, sizeof *pool);
    pool->arena = cse_arena_new();
    pool->closing = closing;
    pool->self = self;
    return pool;
}

static void close_place(cse_file_pool *pool, int place)
{
    open_file *open = &pool->open[place];
    if (pool->closing != NULL)
        pool->closing(pool->self, open->file);
    if (open->bytes != NULL)
        munmap((void *)(uintptr_t)open->bytes, (size_t)pool->files[open->file].bytes);
    close(open->descriptor);
    pool->files[open->file].place = -1;
    *open = pool->open[--pool->open_count];
    if (place < pool->open_count)
        pool->files[open->file].place = place;
}

void cse_file_pool_destroy(cse_file_pool **pool)
{
    if (*pool == NULL)
        return;
    while ((*pool)->open_count > 0)
        close_place(*pool, 0);
    cse_arena_destroy(&(*pool)->arena);
    free((*pool)->files);
    free(*pool);
    *pool = NULL;
}

/* NULL: it is read by calls. */
static const unsigned char *map(int descriptor, int64_t bytes)
{
    const int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
    if (bytes < 1 || bytes > memory / MEMORY_PARTS)
        return NULL;
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    cse_guarded_copy_prepare();
    return mapped;
}

static void keep_open(cse_file_pool *pool, int file, int descriptor)
{
    int oldest = 0;
    if (pool->open_count == CSE_POOL_OPEN_FILES) {
        for (int i = 1; i < pool->open_count; i++)
            if (pool->open[i].used < pool->open[oldest].used)
                oldest = i;
        close_place(pool, oldest);
    }
    pool->files[file].place = pool->open_count;
    pool->open[pool->open_count++] =
        (open_file){ file, descriptor, ++pool->tick, map(descriptor, pool->files[file].bytes) };
}

static cse_status open_path(const char *path, const char *made, int *descriptor)
{
    if (made == NULL)
        return cse_input_open_file(path, descriptor);
    *descriptor = open(made, O_RDONLY | O_CLOEXEC);
    return *descriptor >= 0 ? CSE_OK
                            : cse_fail(CSE_IO, "%s: its copy %s cannot be opened: %s", path, made,
                                       strerror(errno));
}

static cse_status examine(int descriptor, const char *path, pool_file *file)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return cse_fail(CSE_IO, "%s: %s", path, strerror(errno));
    *file = (pool_file){ .path = path,
                         .bytes = info.st_size,
                         .modified_ns =
                             info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec,
                         .device = info.st_dev,
                         .inode = info.st_ino };
    return CSE_OK;
}

static cse_status add(cse_file_pool *pool, const char *path, const char *made, int *file)
{
    int descriptor;
    if (pool->count == CSE_POOL_MOST_FILES)
        return cse_fail(CSE_DATA,
                        "%s: there are more than %d data files: put samples together in "
                        "larger files",
                        path, CSE_POOL_MOST_FILES);
    CSE_TRY(open_path(path, made, &descriptor));
    CSE_GROW(pool->files, pool->count, pool->capacity);
    cse_status status =
        examine(descriptor, cse_arena_string(pool->arena, path), &pool->files[pool->count]);
    if (status != CSE_OK) {
        close(descriptor);
        return status;
    }
    if (made != NULL)
        pool->files[pool->count].made = cse_arena_string(pool->arena, made);
    *file = pool->count++;
    keep_open(pool, *file, descriptor);
    return CSE_OK;
}

cse_status cse_file_pool_add(cse_file_pool *pool, const char *path, int *file)
{
    return add(pool, path, NULL, file);
}

cse_status cse_file_pool_add_made(cse_file_pool *pool, const char *origin, const char *path,
                                  int *file)
{
    return add(pool, origin, path, file);
}

int cse_file_pool_count(const cse_file_pool *pool)
{
    return pool->count;
}

const char *cse_file_pool_path_view(const cse_file_pool *pool, int file)
{
    return pool->files[file].path;
}

int64_t cse_file_pool_bytes(const cse_file_pool *pool, int file)
{
    return pool->files[file].bytes;
}

static cse_status check_same(const pool_file *known, int descriptor)
{
    pool_file now;
    CSE_TRY(examine(descriptor, known->path, &now));
    if (now.bytes == known->bytes && now.modified_ns == known->modified_ns &&
        now.device == known->device && now.inode == known->inode)
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "%s: the file changed while it was in use, from %" PRId64 " to %" PRId64
                    " bytes; start the run again when it is complete",
                    known->path, known->bytes, now.bytes);
}

void cse_file_pool_look_once(cse_file_pool *pool)
{
    pool->look++;
}

cse_status cse_file_pool_descriptor(cse_file_pool *pool, int file, int *descriptor)
{
    pool_file *known = &pool->files[file];
    int opened;
    if (known->place >= 0) {
        pool->open[known->place].used = ++pool->tick;
        *descriptor = pool->open[known->place].descriptor;
        if (pool->look > 0 && known->looked == pool->look)
            return CSE_OK;
        known->looked = pool->look;
        return check_same(known, *descriptor);
    }
    CSE_TRY(open_path(known->path, known->made, &opened));
    cse_status status = check_same(known, opened);
    if (status != CSE_OK) {
        close(opened);
        return status;
    }
    keep_open(pool, file, opened);
    *descriptor = opened;
    return CSE_OK;
}

/* What is not there any more, reading says. */
static bool copy(const pool_file *file, const open_file *open, int64_t offset, void *bytes,
                 size_t size)
{
    return open->bytes != NULL && offset >= 0 && size <= (size_t)file->bytes &&
           offset <= file->bytes - (int64_t)size &&
           cse_guarded_copy(bytes, open->bytes + offset, size);
}

static cse_status read_all(const pool_file *file, int descriptor, int64_t offset, void *bytes,
                           size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got =
            pread(descriptor, (char *)bytes + done, size - done, (off_t)offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cse_fail(CSE_IO, "%s: reading failed: %s", file->path, strerror(errno));
        if (got == 0)
            return cse_fail(CSE_DATA,
                            "%s: offset %" PRId64 ": the file ends here, expected %zu "
                            "bytes more",
                            file->path, offset + (int64_t)done, size - done);
        done += (size_t)got;
    }
    return CSE_OK;
}

cse_status cse_file_pool_read(cse_file_pool *pool, int file, int64_t offset, void *bytes,
                              size_t size)
{
    int descriptor;
    CSE_TRY(cse_file_pool_descriptor(pool, file, &descriptor));
    const pool_file *known = &pool->files[file];
    if (copy(known, &pool->open[known->place], offset, bytes, size))
        return CSE_OK;
    return read_all(known, descriptor, offset, bytes, size);
}

cse_status cse_file_pool_read_more(cse_file_pool *pool, int file, int64_t offset, void *bytes,
                                   size_t size)
{
    const pool_file *known = &pool->files[file];
    if (known->place < 0)
        return cse_file_pool_read(pool, file, offset, bytes, size);
    if (copy(known, &pool->open[known->place], offset, bytes, size))
        return CSE_OK;
    return read_all(known, pool->open[known->place].descriptor, offset, bytes, size);
}

void cse_file_pool_expect(const cse_file_pool *pool, int file, int64_t offset, size_t size)
{
    enum { LINE_BYTES = 64 };
    const pool_file *known = &pool->files[file];
    const unsigned char *bytes = known->place >= 0 ? pool->open[known->place].bytes : NULL;
    for (size_t at = 0; bytes != NULL && at < size; at += LINE_BYTES)
        __builtin_prefetch(bytes + offset + at);
}
