/* Which blocks of an arena's file are in memory: a process keeps its part within a budget.
 *
 * An arena in a file (states.keep_in) has its pages in the kernel's cache. A killed process loses
 * none of them, as with an arena in memory; but the kernel does not know which will be needed next,
 * and may keep any number of them. So each process that computes says what it is about to use, in
 * the order of its plan, unit by unit (a group of a program, lines of an update): what has been
 * used longest ago is written behind and leaves, what follows is read ahead. A forward pass goes
 * through the layers and the backward pass back through them, for which this order is nearly the
 * best one possible.
 *
 * Nothing here changes a byte. A block that is dirty is written before it leaves; one that another
 * process has mapped stays until that one lets it go, which is why the budgets of all processes add
 * up to the bound. A failure to read or to write comes back as a status, before the bytes are
 * touched: a page that cannot be read would end the process by SIGBUS. */
#ifndef CSE_WORKERS_ARENA_RESIDENCY_H
#define CSE_WORKERS_ARENA_RESIDENCY_H

#include "workers/arena/block_io.h"

typedef struct cse_residency cse_residency;

enum { CSE_RESIDENCY_BLOCK_BYTES = 64 << 10 };

typedef struct cse_residency_options {
    cse_block_io *io;    /* of the file, or a model of it; borrowed */
    unsigned char *base; /* of the mapping; NULL: there is none, with a model */
    int64_t first, end;  /* the part of the file that is kept within the budget */
    int64_t budget_bytes;
} cse_residency_options;

typedef struct cse_residency_counts {
    int64_t resident_bytes, most_resident_bytes;
    int64_t read_bytes, written_bytes; /* so far */
    int64_t waited_ns;                 /* by the one who computes, for blocks to come */
} cse_residency_counts;

/* What a killed process has left in the cache leaves. */
void cse_residency_new(const cse_residency_options *options, cse_residency **residency);
void cse_residency_destroy(cse_residency **residency);

/* Makes the ranges resident, and others leave. What lies outside of its part of the file is not
 * looked at. The ranges of one call may take more than the budget: then they alone are there.
 * CSE_IO where the file cannot be read or written. */
cse_status cse_residency_use(cse_residency *residency, const cse_byte_range *ranges, int count);
/* Begins to read what will be used next, if half of the budget has room for it; else false. */
bool cse_residency_expect(cse_residency *residency, const cse_byte_range *ranges, int count);
/* Lets all go, and waits until it has. */
cse_status cse_residency_clear(cse_residency *residency);

cse_residency_counts cse_residency_count(const cse_residency *residency);

#endif
