/* What is begun ends after all that was begun before it, so that the times of ends only grow. */
#include "workers/arena/disk_model.h"

#include <stddef.h>
#include <sys/mman.h>

static int64_t begin(cse_disk_model *disk, double bytes, double bytes_per_s)
{
    const double seconds = bytes_per_s > 0 ? bytes / bytes_per_s : 0;
    const double start_s = disk->free_s > disk->now_s ? disk->free_s : disk->now_s;
    disk->free_s = seconds > 0 ? start_s + seconds : disk->free_s;
    disk->busy_s += seconds;
    disk->begun++;
    disk->ends_s[disk->begun % CSE_DISK_MODEL_PLACES] = disk->free_s;
    return disk->begun;
}

static int64_t fetch(cse_block_io *self, cse_byte_range range)
{
    cse_disk_model *disk = (cse_disk_model *)self;
    return begin(disk, (double)(range.end - range.first), disk->read_bytes_per_s);
}

static int64_t write(cse_block_io *self, cse_byte_range range)
{
    cse_disk_model *disk = (cse_disk_model *)self;
    return begin(disk, (double)(range.end - range.first), disk->write_bytes_per_s);
}

static int64_t drop(cse_block_io *self, cse_byte_range range, int64_t after)
{
    cse_disk_model *disk = (cse_disk_model *)self;
    (void)after;
    if (disk->base != NULL && range.end > range.first)
        madvise(disk->base + range.first, (size_t)(range.end - range.first), MADV_DONTNEED);
    return begin(disk, 0, 0);
}

static cse_status await(cse_block_io *self, int64_t number)
{
    cse_disk_model *disk = (cse_disk_model *)self;
    /* Of a number that is older than those which are kept, the end is long past. */
    if (number <= 0 || number + CSE_DISK_MODEL_PLACES <= disk->begun)
        return CSE_OK;
    const double end_s = disk->ends_s[number % CSE_DISK_MODEL_PLACES];
    disk->now_s = end_s > disk->now_s ? end_s : disk->now_s;
    return CSE_OK;
}

static cse_status finish(cse_block_io *self)
{
    return await(self, ((cse_disk_model *)self)->begun);
}

static int64_t now_ns(cse_block_io *self)
{
    return (int64_t)(((cse_disk_model *)self)->now_s * 1e9);
}

static int64_t busy_ns(cse_block_io *self)
{
    return (int64_t)(((cse_disk_model *)self)->busy_s * 1e9);
}

static void destroy(cse_block_io *self)
{
    (void)self; /* the caller's memory */
}

void cse_disk_model_begin(cse_disk_model *disk, double read_bytes_per_s, double write_bytes_per_s)
{
    *disk = (cse_disk_model){ .io = { .fetch = fetch,
                                      .write = write,
                                      .drop = drop,
                                      .await = await,
                                      .finish = finish,
                                      .now_ns = now_ns,
                                      .busy_ns = busy_ns,
                                      .destroy = destroy },
                              .read_bytes_per_s = read_bytes_per_s,
                              .write_bytes_per_s = write_bytes_per_s };
}
