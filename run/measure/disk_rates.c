/* By the calls of a run: what is measured has their costs in it. */
#include "run/measure/disk_rates.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "workers/arena/arena_file.h"
#include "workers/arena/disk_threads.h"

enum { FILE_BYTES = 256 << 20, RANGE_BYTES = 4 << 20 };

/* Everything comes, or everything that has changed leaves; seconds. */
static cse_status pass(cse_block_io *io, bool leaves, double *seconds)
{
    const int64_t start_ns = cse_clock_ns();
    for (int64_t at = 0; at < FILE_BYTES; at += RANGE_BYTES) {
        const cse_byte_range range = { at, at + RANGE_BYTES, leaves };
        if (leaves)
            io->drop(io, range, 0);
        else
            io->fetch(io, range);
    }
    CSE_TRY(io->finish(io));
    *seconds = (double)(cse_clock_ns() - start_ns) * 1e-9;
    return CSE_OK;
}

static cse_status measure(int descriptor, unsigned char *base, cse_disk_rates *rates)
{
    cse_block_io *io = NULL;
    double written_s = 1, read_s = 1;
    CSE_TRY(cse_disk_threads_new(descriptor, base, &io));
    memset(base, 1, FILE_BYTES);
    cse_status status = pass(io, true, &written_s);
    if (status == CSE_OK)
        status = pass(io, false, &read_s);
    io->destroy(io);
    *rates = (cse_disk_rates){ FILE_BYTES / read_s, FILE_BYTES / written_s };
    return status;
}

cse_status cse_disk_rates_measure(const char *directory, cse_disk_rates *rates)
{
    int descriptor = -1;
    CSE_TRY(cse_arena_file_new(directory, &descriptor));
    cse_status status = cse_arena_file_reserve(descriptor, 0, FILE_BYTES);
    void *base = MAP_FAILED;
    if (status == CSE_OK)
        base = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (base != MAP_FAILED) {
        madvise(base, FILE_BYTES, MADV_RANDOM);
        status = measure(descriptor, base, rates);
        munmap(base, FILE_BYTES);
    } else if (status == CSE_OK) {
        status = cse_fail(CSE_TEMPORARY, "states.directory: its disk cannot be measured");
    }
    close(descriptor);
    return status;
}
