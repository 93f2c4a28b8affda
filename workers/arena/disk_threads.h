/* Reading ahead and writing behind of a file that processes share: a few threads of each process
 * make the calls that wait for the disk, in the order in which they were begun, while the process
 * computes.
 *
 * The pages are those of the kernel's cache, so that a killed process loses none of them: a thread
 * asks the kernel to read, to write or to drop a range, and never writes to a page itself. */
#ifndef CSE_WORKERS_ARENA_DISK_THREADS_H
#define CSE_WORKERS_ARENA_DISK_THREADS_H

#include "workers/arena/block_io.h"

enum { CSE_DISK_THREADS = 4 };

/* Of the file's mapping at `base`. CSE_TEMPORARY where no thread can be started. */
cse_status cse_disk_threads_new(int descriptor, unsigned char *base, cse_block_io **io);

#endif
