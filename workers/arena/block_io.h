/* How blocks of an arena's file come into memory and leave it, behind the one who computes.
 *
 * What is begun gets a number; numbers grow by one. A fetch begins when all drops that were begun
 * before it have ended, so that what is in memory never exceeds what the order of the calls allows.
 * The two kinds: the disk (disk_threads.h), and a model of one with a clock of its own
 * (disk_model.h), by which a plan counts the bytes and the time of a run that has not begun. */
#ifndef CSE_WORKERS_ARENA_BLOCK_IO_H
#define CSE_WORKERS_ARENA_BLOCK_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

/* Bytes [first, end) of the arena; `written`: they may be changed. */
typedef struct cse_byte_range {
    int64_t first, end;
    bool written;
} cse_byte_range;

typedef struct cse_block_io cse_block_io;
struct cse_block_io {
    /* Begins to bring the range into memory, ready to be changed where it is `written`. */
    int64_t (*fetch)(cse_block_io *self, cse_byte_range range);
    /* Begins to write what has changed of the range. */
    int64_t (*write)(cse_block_io *self, cse_byte_range range);
    /* Begins to remove the range from memory, once `after` has ended (0: at once); `written`: it
     * may have changed since it was written, or is being written. */
    int64_t (*drop)(cse_block_io *self, cse_byte_range range, int64_t after);
    /* Returns when that number has ended. CSE_IO, here and from then on, where anything failed. */
    cse_status (*await)(cse_block_io *self, int64_t number);
    /* The same of all that was begun. */
    cse_status (*finish)(cse_block_io *self);
    /* The time by which waits are counted; and how long something was going on, so far. */
    int64_t (*now_ns)(cse_block_io *self);
    int64_t (*busy_ns)(cse_block_io *self);
    void (*destroy)(cse_block_io *self);
};

#endif
