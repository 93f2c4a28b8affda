/* A list of blocks from the one used longest ago to the newest, linked by their numbers.
 *
 * What is read ahead counts as resident, and as used in the order in which it was asked for. The
 * writing of dirty blocks begins while they are among the oldest, so that it is done when they must
 * leave. Pages leave in three steps: out of this process's table, to the disk, out of the cache. */
#include "workers/arena/residency.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/base/arena.h"
#include "workers/arena/arena_file.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { NONE = -1, BLOCK = CSE_RESIDENCY_BLOCK_BYTES };

typedef enum block_state { ABSENT, EXPECTED, PRESENT } block_state;

typedef struct block {
    int32_t older, newer;
    uint8_t state;
    bool dirty;   /* may have been changed since it came */
    bool writing; /* its writing has begun since it was changed last */
    bool used;    /* by the call in hand: it stays */
} block;

struct cse_residency {
    cse_residency_options options;
    block *blocks;
    int32_t count, oldest, newest;
    int64_t resident, expected, most; /* blocks */
    int64_t read, written;            /* likewise */
};

void cse_residency_destroy(cse_residency **residency)
{
    if (*residency == NULL)
        return;
    free((*residency)->blocks);
    free(*residency);
    *residency = NULL;
}

/* ---- the list ---- */

static void take_out(cse_residency *r, int32_t b)
{
    const block *own = &r->blocks[b];
    *(own->older == NONE ? &r->oldest : &r->blocks[own->older].newer) = own->newer;
    *(own->newer == NONE ? &r->newest : &r->blocks[own->newer].older) = own->older;
}

static void put_last(cse_residency *r, int32_t b)
{
    r->blocks[b].older = r->newest;
    r->blocks[b].newer = NONE;
    *(r->newest == NONE ? &r->oldest : &r->blocks[r->newest].newer) = b;
    r->newest = b;
}

/* ---- bytes ---- */

static int64_t start_of(const cse_residency *r, int32_t b)
{
    return r->options.first + (int64_t)b * BLOCK;
}

static int64_t end_of(const cse_residency *r, int32_t b)
{
    const int64_t end = start_of(r, b) + BLOCK;
    return end < r->options.end ? end : r->options.end;
}

static cse_status failed(const cse_residency *r, const char *what, int32_t b)
{
    return cse_fail(CSE_IO,
                    "states.directory: bytes %lld to %lld of the file of states cannot be %s: %s; "
                    "the run goes on from its last checkpoint once the disk is whole",
                    (long long)start_of(r, b), (long long)end_of(r, b), what, strerror(errno));
}

/* Blocks [from, to) leave; they are neighbours. */
static cse_status write_out(const cse_residency *r, int32_t from, int32_t to, bool dirty)
{
    const cse_residency_options *o = &r->options;
    const int64_t start = start_of(r, from), bytes = end_of(r, to - 1) - start;
    if (o->base == NULL)
        return CSE_OK;
    errno = cse_arena_file_let_go(o->descriptor, o->base, start, bytes, dirty);
    return errno == 0 ? CSE_OK : failed(r, "written", from);
}

cse_status cse_residency_new(const cse_residency_options *options, cse_residency **residency)
{
    cse_residency *r = cse_calloc(1, sizeof *r);
    assert(options->first % BLOCK == 0 && options->end >= options->first);
    r->options = *options;
    r->count = (int32_t)((options->end - options->first + BLOCK - 1) / BLOCK);
    r->blocks = cse_calloc((size_t)r->count + 1, sizeof *r->blocks);
    r->oldest = r->newest = NONE;
    *residency = r;
    if (options->base == NULL || r->count == 0)
        return CSE_OK;
    return write_out(r, 0, r->count, true);
}

/* Whether the block may leave now. */
static bool is_free(const cse_residency *r, int32_t b)
{
    return b >= 0 && b < r->count && r->blocks[b].state != ABSENT && !r->blocks[b].used;
}

/* The oldest block leaves, with the neighbours that are next in the list. False: none may. */
static bool drop_oldest(cse_residency *r, int64_t most, cse_status *status)
{
    int32_t first = r->oldest;
    while (first != NONE && r->blocks[first].used)
        first = r->blocks[first].newer;
    if (first == NONE)
        return false;
    int32_t from = first, to = first + 1;
    int32_t next = r->blocks[first].newer;
    while (to - from < most && next != NONE && is_free(r, next) &&
           (next == to || next + 1 == from)) {
        to += next == to;
        from -= next + 1 == from;
        next = r->blocks[next].newer;
    }
    bool dirty = false;
    for (int32_t b = from; b < to; b++) {
        block *own = &r->blocks[b];
        dirty = dirty || own->dirty;
        r->written += own->dirty;
        r->expected -= own->state == EXPECTED;
        take_out(r, b);
        *own = (block){ .state = ABSENT };
    }
    r->resident -= to - from;
    *status = write_out(r, from, to, dirty);
    return true;
}

/* Begins the writing of the dirty blocks among the oldest ones. */
static cse_status write_behind(cse_residency *r)
{
    int64_t looked = r->options.budget_bytes / BLOCK / 4;
    for (int32_t b = r->oldest; b != NONE && looked > 0; b = r->blocks[b].newer, looked--) {
        block *own = &r->blocks[b];
        if (!own->dirty || own->writing || own->used)
            continue;
        own->writing = true;
        if (r->options.base != NULL &&
            sync_file_range(r->options.descriptor, start_of(r, b), end_of(r, b) - start_of(r, b),
                            SYNC_FILE_RANGE_WRITE) != 0)
            return failed(r, "written", b);
    }
    return CSE_OK;
}

static cse_status make_room(cse_residency *r, int64_t blocks)
{
    const int64_t most = r->options.budget_bytes / BLOCK;
    cse_status status = CSE_OK;
    while (status == CSE_OK && r->resident + blocks > most)
        if (!drop_oldest(r, r->resident + blocks - most, &status))
            break;
    return status;
}

/* ---- ranges ---- */

typedef struct span {
    int32_t from, to; /* blocks */
} span;

static span span_of(const cse_residency *r, cse_byte_range range)
{
    const int64_t first = (range.first > r->options.first ? range.first : r->options.first);
    const int64_t end = (range.end < r->options.end ? range.end : r->options.end);
    if (first >= end)
        return (span){ 0, 0 };
    return (span){ (int32_t)((first - r->options.first) / BLOCK),
                   (int32_t)((end - 1 - r->options.first) / BLOCK + 1) };
}

static void note_resident(cse_residency *r, int32_t b, block_state state)
{
    put_last(r, b);
    r->blocks[b].state = (uint8_t)state;
    r->resident++;
    r->read++;
    r->expected += state == EXPECTED;
    r->most = r->resident > r->most ? r->resident : r->most;
}

/* Marks what is there as the newest, and counts what is not. */
static int64_t hold(cse_residency *r, span s)
{
    int64_t absent = 0;
    for (int32_t b = s.from; b < s.to; b++) {
        block *own = &r->blocks[b];
        if (!own->used && own->state == ABSENT)
            absent++;
        own->used = true;
        if (own->state != ABSENT) {
            take_out(r, b);
            put_last(r, b);
        }
    }
    return absent;
}

/* Block by block: of a longer range the kernel takes only as much as it reads ahead of a file that
 * is read in order. */
static void ask(const cse_residency *r, span s)
{
    for (int32_t b = s.from; b < s.to && r->options.base != NULL; b++)
        posix_fadvise(r->options.descriptor, start_of(r, b), end_of(r, b) - start_of(r, b),
                      POSIX_FADV_WILLNEED);
}

/* Reads what is absent. Neighbours are asked for at once, before the first is waited for. */
static void ask_for_absent(const cse_residency *r, span s)
{
    for (int32_t b = s.from; b < s.to; b++) {
        const int32_t from = b;
        while (b < s.to && r->blocks[b].state == ABSENT)
            b++;
        ask(r, (span){ from, b });
    }
}

static cse_status take_in(cse_residency *r, span s, bool written)
{
    for (int32_t b = s.from; b < s.to; b++) {
        block *own = &r->blocks[b];
        if (own->state == ABSENT)
            note_resident(r, b, PRESENT);
        r->expected -= own->state == EXPECTED;
        own->state = PRESENT;
        own->dirty = own->dirty || written;
        own->writing = own->writing && !written;
    }
    if (r->options.base == NULL || s.from >= s.to)
        return CSE_OK;
    unsigned char *start = r->options.base + start_of(r, s.from);
    const size_t bytes = (size_t)(end_of(r, s.to - 1) - start_of(r, s.from));
    int error;
    do
        error = madvise(start, bytes, written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0
                    ? errno
                    : 0;
    while (error == EINTR || error == EAGAIN);
    if (error == 0 || error == EINVAL) /* a kernel before 5.14 reads them by faults */
        return CSE_OK;
    /* It says EFAULT where an access would end in SIGBUS. */
    errno = error == EFAULT ? EIO : error;
    return failed(r, "read", s.from);
}

static void release(cse_residency *r, const cse_byte_range *ranges, int count)
{
    for (int i = 0; i < count; i++) {
        const span s = span_of(r, ranges[i]);
        for (int32_t b = s.from; b < s.to; b++)
            r->blocks[b].used = false;
    }
}

cse_status cse_residency_use(cse_residency *r, const cse_byte_range *ranges, int count)
{
    int64_t absent = 0;
    for (int i = 0; i < count; i++)
        absent += hold(r, span_of(r, ranges[i]));
    cse_status status = make_room(r, absent);
    for (int i = 0; i < count && status == CSE_OK; i++)
        ask_for_absent(r, span_of(r, ranges[i]));
    for (int i = 0; i < count && status == CSE_OK; i++)
        status = take_in(r, span_of(r, ranges[i]), ranges[i].written);
    if (status == CSE_OK)
        status = write_behind(r);
    release(r, ranges, count);
    return status;
}

cse_status cse_residency_expect(cse_residency *r, const cse_byte_range *ranges, int count,
                                bool *fits)
{
    const int64_t most = r->options.budget_bytes / BLOCK / 2;
    int64_t absent = 0;
    for (int i = 0; i < count; i++) {
        const span s = span_of(r, ranges[i]);
        for (int32_t b = s.from; b < s.to; b++)
            absent += r->blocks[b].state == ABSENT;
    }
    *fits = r->expected + absent <= most;
    if (!*fits)
        return CSE_OK;
    for (int i = 0; i < count; i++)
        hold(r, span_of(r, ranges[i]));
    const cse_status status = make_room(r, absent);
    for (int i = 0; i < count && status == CSE_OK; i++) {
        const span s = span_of(r, ranges[i]);
        ask_for_absent(r, s);
        for (int32_t b = s.from; b < s.to; b++)
            if (r->blocks[b].state == ABSENT)
                note_resident(r, b, EXPECTED);
    }
    release(r, ranges, count);
    return status;
}

cse_status cse_residency_clear(cse_residency *r)
{
    cse_status status = CSE_OK;
    while (status == CSE_OK && drop_oldest(r, r->count, &status))
        ;
    return status;
}

cse_residency_counts cse_residency_count(const cse_residency *r)
{
    return (cse_residency_counts){ .resident_bytes = r->resident * BLOCK,
                                   .most_resident_bytes = r->most * BLOCK,
                                   .read_bytes = r->read * BLOCK,
                                   .written_bytes = r->written * BLOCK };
}
