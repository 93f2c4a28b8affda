/* A list of blocks from the one used longest ago to the newest, linked by their numbers.
 *
 * What is read ahead counts as resident, and as used in the order in which it was asked for. The
 * writing of dirty blocks begins while they are among the oldest, so that it is done when they must
 * leave. Blocks that leave count no more, and nothing is read in their place before they have. */
#include "workers/arena/residency.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "workers/arena/arena_file.h"

enum { NONE = -1, BLOCK = CSE_RESIDENCY_BLOCK_BYTES, FETCHED_AT_ONCE = 64 };

typedef enum block_state { ABSENT, EXPECTED, PRESENT } block_state;

typedef struct block {
    int32_t older, newer;
    uint8_t state;
    bool dirty;     /* may have been changed since it came, or since its writing began */
    bool writing;   /* its writing has begun */
    bool used;      /* by the call in hand: it stays */
    bool ahead;     /* was asked for ahead, and not used since */
    int64_t coming; /* number of its fetch */
} block;

struct cse_residency {
    cse_residency_options options;
    block *blocks;
    int32_t count, oldest, newest;
    int64_t resident, ahead, most; /* blocks */
    int64_t read, written;         /* likewise */
    int64_t moved; /* blocks that became the newest since the oldest ones were looked at */
    int64_t waited_ns;
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
    r->moved++;
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

static cse_byte_range bytes_of(const cse_residency *r, int32_t from, int32_t to, bool written)
{
    return (cse_byte_range){ start_of(r, from), end_of(r, to - 1), written };
}

void cse_residency_new(const cse_residency_options *options, cse_residency **residency)
{
    cse_residency *r = cse_calloc(1, sizeof *r);
    assert(options->first % BLOCK == 0 && options->end >= options->first);
    r->options = *options;
    r->count = (int32_t)((options->end - options->first + BLOCK - 1) / BLOCK);
    r->blocks = cse_calloc((size_t)r->count + 1, sizeof *r->blocks);
    r->oldest = r->newest = NONE;
    *residency = r;
    if (r->count > 0)
        options->io->drop(options->io, bytes_of(r, 0, r->count, true), 0);
}

/* Whether the block may leave now. */
static bool is_free(const cse_residency *r, int32_t b)
{
    return b >= 0 && b < r->count && r->blocks[b].state != ABSENT && !r->blocks[b].used;
}

/* Begins the writing of blocks [from, to), which are neighbours, as far as they are dirty. */
static void begin_writing(cse_residency *r, int32_t from, int32_t to)
{
    cse_block_io *io = r->options.io;
    for (int32_t b = from; b < to;) {
        const int32_t first = b;
        for (; b < to && r->blocks[b].dirty; b++) {
            r->blocks[b].dirty = false;
            r->blocks[b].writing = true;
        }
        if (b > first)
            io->write(io, bytes_of(r, first, b, true));
        r->written += b - first;
        b += b == first;
    }
}

/* Blocks [from, to) leave; they are neighbours. */
static void leave(cse_residency *r, int32_t from, int32_t to)
{
    int64_t after = 0;
    bool writing = false;
    begin_writing(r, from, to);
    for (int32_t b = from; b < to; b++) {
        block *own = &r->blocks[b];
        writing = writing || own->writing;
        after = own->coming > after ? own->coming : after;
        r->ahead -= own->ahead;
        take_out(r, b);
        *own = (block){ .state = ABSENT };
    }
    r->resident -= to - from;
    r->options.io->drop(r->options.io, bytes_of(r, from, to, writing), after);
}

/* The oldest block leaves, with the neighbours that are next in the list. False: none may. */
static bool drop_oldest(cse_residency *r, int64_t most)
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
    leave(r, from, to);
    return true;
}

/* Begins the writing of the dirty blocks among the oldest quarter. It is looked at as often as an
 * eighth of it may have changed. */
static void write_behind(cse_residency *r)
{
    const int64_t quarter = r->options.budget_bytes / BLOCK / 4;
    int64_t looked = 0;
    if (r->moved < quarter / 8)
        return;
    r->moved = 0;
    for (int32_t b = r->oldest; b != NONE && looked < quarter;) {
        int32_t from = b, to = b;
        for (; b == to && looked < quarter && !r->blocks[b].used; b = r->blocks[b].newer, looked++)
            to++;
        begin_writing(r, from, to);
        if (to == from) {
            b = r->blocks[b].newer;
            looked++;
        }
    }
}

static void make_room(cse_residency *r, int64_t blocks)
{
    const int64_t most = r->options.budget_bytes / BLOCK;
    /* Some more than needed: neighbours leave by one call. */
    const int64_t more = r->resident + blocks > most ? most / 256 : 0;
    while (r->resident + blocks > most)
        if (!drop_oldest(r, r->resident + blocks - most + more))
            break;
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

static void note_coming(cse_residency *r, int32_t b, int64_t number, bool written)
{
    put_last(r, b);
    r->blocks[b].state = EXPECTED;
    r->blocks[b].coming = number;
    r->blocks[b].dirty = written; /* it comes ready to be changed */
    r->resident++;
    r->read++;
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

/* Begins to read what is absent, in pieces that can be waited for one by one. */
static void fetch_absent(cse_residency *r, span s, bool written)
{
    cse_block_io *io = r->options.io;
    for (int32_t b = s.from; b < s.to;) {
        const int32_t from = b;
        while (b < s.to && b - from < FETCHED_AT_ONCE && r->blocks[b].state == ABSENT)
            b++;
        if (b == from) {
            b++;
            continue;
        }
        const int64_t number = io->fetch(io, bytes_of(r, from, b, written));
        for (int32_t each = from; each < b; each++)
            note_coming(r, each, number, written);
    }
}

/* Waits until the blocks are there. */
static cse_status take_in(cse_residency *r, span s, bool written)
{
    cse_block_io *io = r->options.io;
    const int64_t from_ns = io->now_ns(io);
    int64_t awaited = 0;
    for (int32_t b = s.from; b < s.to; b++) {
        block *own = &r->blocks[b];
        if (own->state == EXPECTED && own->coming != awaited)
            CSE_TRY(io->await(io, awaited = own->coming));
        r->ahead -= own->ahead;
        own->ahead = false;
        own->state = PRESENT;
        own->dirty = own->dirty || written;
    }
    r->waited_ns += awaited != 0 ? io->now_ns(io) - from_ns : 0;
    return CSE_OK;
}

/* Pages that the kernel took back, or that were to be read alone, are made ready. */
static cse_status populate(const cse_residency *r, span s, bool written)
{
    if (r->options.base == NULL || s.from >= s.to)
        return CSE_OK;
    const cse_byte_range bytes = bytes_of(r, s.from, s.to, written);
    const int error =
        cse_arena_file_populate(r->options.base, bytes.first, bytes.end - bytes.first, written);
    if (error == 0)
        return CSE_OK;
    return cse_fail(CSE_IO,
                    "states.directory: bytes %lld to %lld of the file of states cannot be read: "
                    "%s; the run goes on from its last checkpoint once the disk is whole",
                    (long long)bytes.first, (long long)bytes.end, strerror(error));
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
    make_room(r, absent);
    for (int i = 0; i < count; i++)
        fetch_absent(r, span_of(r, ranges[i]), ranges[i].written);
    cse_status status = r->options.io->await(r->options.io, 0);
    for (int i = 0; i < count && status == CSE_OK; i++)
        status = take_in(r, span_of(r, ranges[i]), ranges[i].written);
    for (int i = 0; i < count && status == CSE_OK; i++)
        status = populate(r, span_of(r, ranges[i]), ranges[i].written);
    if (status == CSE_OK)
        write_behind(r);
    release(r, ranges, count);
    return status;
}

static void note_ahead(cse_residency *r, span s)
{
    for (int32_t b = s.from; b < s.to; b++) {
        r->ahead += !r->blocks[b].ahead;
        r->blocks[b].ahead = true;
    }
}

/* What is there already counts as well: asked for without a bound, it would drive out what comes
 * before it is used. */
bool cse_residency_expect(cse_residency *r, const cse_byte_range *ranges, int count)
{
    const int64_t most = r->options.budget_bytes / BLOCK / 2;
    int64_t absent = 0, more = 0;
    for (int i = 0; i < count; i++) {
        const span s = span_of(r, ranges[i]);
        for (int32_t b = s.from; b < s.to; b++)
            more += !r->blocks[b].ahead;
    }
    if (r->ahead + more > most)
        return false;
    for (int i = 0; i < count; i++)
        absent += hold(r, span_of(r, ranges[i]));
    make_room(r, absent);
    for (int i = 0; i < count; i++)
        fetch_absent(r, span_of(r, ranges[i]), ranges[i].written);
    for (int i = 0; i < count; i++)
        note_ahead(r, span_of(r, ranges[i]));
    release(r, ranges, count);
    return true;
}

cse_status cse_residency_clear(cse_residency *r)
{
    cse_block_io *io = r->options.io;
    while (drop_oldest(r, r->count))
        continue;
    return io->finish(io);
}

cse_residency_counts cse_residency_count(const cse_residency *r)
{
    return (cse_residency_counts){ .resident_bytes = r->resident * BLOCK,
                                   .most_resident_bytes = r->most * BLOCK,
                                   .read_bytes = r->read * BLOCK,
                                   .written_bytes = r->written * BLOCK,
                                   .waited_ns = r->waited_ns };
}
