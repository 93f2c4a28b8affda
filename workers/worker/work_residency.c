/* Groups of REPLICA and WEIGHTS announce themselves (cse_group_watch); lines of an update and
 * additions are announced by the code that runs them. What a group may need next are the groups
 * behind it in its program; what lines need next are the lines behind them. */
#include "workers/worker/work_residency.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/guarded_copy.h"
#include "workers/arena/arena_budget.h"
#include "workers/arena/disk_threads.h"
#include "workers/arena/program_ahead.h"
#include "workers/arena/shards.h"

typedef struct cse_work_residency {
    cse_block_io *io, *own_io; /* the same, or NULL: a model of the caller's */
    cse_residency *blocks;
    cse_disk_load told;      /* of what was counted */
    cse_program_ahead ahead; /* of its ranges each call makes use */
    /* Of an update: the step, its chunk that runs, and the lines that are to be read ahead next. */
    int64_t step;
    int chunk, ahead_chunk;
    int64_t ahead_line;
} cse_work_residency;

/* Of a handler, which has no argument. */
static cse_cluster *broken_cluster;
static int broken_slot;

static void end_process(cse_cluster *cluster, int slot, cse_status status, const char *message)
{
    cse_cluster_report_failure(cluster, slot, status, message);
    _exit(cse_status_exit_code(status));
}

/* A page that the kernel took back, and cannot read again. */
static void on_bus_error(int number)
{
    (void)number;
    end_process(broken_cluster, broken_slot, CSE_IO,
                "states.directory: a page of the file of states cannot be read again; the run goes "
                "on from its last checkpoint once the disk is whole");
}

static void check(cse_work *work, cse_status status)
{
    if (status != CSE_OK)
        end_process(work->cluster, work->slot, status, cse_error_message());
}

/* ---- ranges ---- */

static int64_t place_of(const cse_cluster *cluster, const unsigned char *address)
{
    const uintptr_t at = (uintptr_t)address, base = (uintptr_t)cluster->base;
    return at >= base && at - base < cluster->mapped_bytes ? (int64_t)(at - base) : -1;
}

static cse_space_places places_of(const cse_work *work)
{
    cse_space_places places;
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        places.at[s] = place_of(work->cluster, work->frame.base[s]);
    return places;
}

static cse_ranges *begin(cse_work *work)
{
    work->residency->ahead.ranges.count = 0;
    return &work->residency->ahead.ranges;
}

static void tell(cse_work *work)
{
    cse_work_residency *r = work->residency;
    const cse_residency_counts counts = cse_residency_count(r->blocks);
    const cse_disk_load now = { .read_bytes = counts.read_bytes,
                                .written_bytes = counts.written_bytes,
                                .busy_ns = r->io->busy_ns(r->io),
                                .waited_ns = counts.waited_ns };
    cse_cluster_note_disk(work->cluster, work->slot, &now, &r->told);
    r->told = now;
}

static void use(cse_work *work)
{
    const cse_work_residency *r = work->residency;
    check(work, cse_residency_use(r->blocks, r->ahead.ranges.items, r->ahead.ranges.count));
    tell(work);
}

static bool expect(cse_work *work)
{
    const cse_work_residency *r = work->residency;
    return cse_residency_expect(r->blocks, r->ahead.ranges.items, r->ahead.ranges.count);
}

/* ---- programs ---- */

static void before_group(void *self, int group)
{
    cse_work *work = self;
    const cse_space_places places = places_of(work);
    const bool skips = work->frame.prepared && work->frame.collector == NULL;
    check(work,
          cse_program_ahead_group(&work->residency->ahead, work->graph, &places, skips, group));
    tell(work);
}

/* ---- sums ---- */

void cse_work_residency_add(cse_work *work, const int64_t range[2], const unsigned char *into,
                            const unsigned char *from, bool packed)
{
    if (work->residency == NULL || range[0] >= range[1])
        return;
    const cse_segments *segments = &work->cluster->segments;
    const int64_t to = place_of(work->cluster, into), of = place_of(work->cluster, from);
    cse_ranges *ranges = begin(work);
    if (to >= 0)
        cse_partial_sum_ranges(segments, to, range, true, ranges);
    if (of >= 0 && packed)
        cse_partial_sum_ranges(segments, of, range, false, ranges);
    else if (of >= 0)
        cse_ranges_add(ranges, of + range[0] * 4, (range[1] - range[0]) * 4, false);
    if (ranges->count > 0)
        use(work);
}

static void add_joined(cse_work *work, const int64_t range[2], cse_ranges *ranges)
{
    for (int i = 0; i < work->join.count; i++)
        if (work->join.steps[i].partial != NULL)
            cse_partial_sum_ranges(&work->cluster->segments,
                                   place_of(work->cluster, work->join.steps[i].partial), range,
                                   false, ranges);
}

void cse_work_residency_join(cse_work *work, const int64_t range[2], const unsigned char *into)
{
    if (work->residency == NULL)
        return;
    cse_ranges *ranges = begin(work);
    add_joined(work, range, ranges);
    if (into != NULL)
        cse_ranges_add(ranges, place_of(work->cluster, into) + range[0] * 4,
                       (range[1] - range[0]) * 4, true);
    use(work);
}

/* ---- updates ---- */

/* Sums that are joined for these lines are private when they run, and in the arena before. */
static void add_lines(cse_work *work, uint64_t step, cse_update_part part, bool ahead)
{
    const int64_t lines[2] = { part.first, part.end };
    const int64_t offset = work->direct_offsets[part.group];
    cse_ranges *ranges = begin(work);
    cse_space_places places = places_of(work);
    const bool joins = offset >= 0 && !(cse_step_flags(step) & CSE_STEP_SINGLE_PARTIAL_SUM);
    places.at[CSE_SPACE_REDUCED] =
        joins ? -1 : place_of(work->cluster, cse_arena_joined_sums(work->cluster, step));
    cse_update_ranges(work->graph, part.group, lines, &places, ranges);
    if (!joins || !ahead)
        return;
    const int64_t elements = work->graph->groups[part.group].elements;
    const int64_t first = part.first * CSE_LINE_ELEMENTS, end = part.end * CSE_LINE_ELEMENTS;
    add_joined(
        work,
        (const int64_t[]){ offset / 4 + first, offset / 4 + (end < elements ? end : elements) },
        ranges);
}

/* What was read ahead behind these lines stays so, unless the chunks began anew before them. */
static void go_on_behind(cse_work_residency *r, int64_t step, int chunk, int64_t line)
{
    const bool is_behind =
        r->ahead_chunk > chunk || (r->ahead_chunk == chunk && r->ahead_line >= line);
    if (r->step != step || chunk < r->chunk || !is_behind) {
        r->ahead_chunk = chunk;
        r->ahead_line = line;
    }
    r->step = step;
    r->chunk = chunk;
}

static void read_lines_ahead(cse_work *work, uint64_t step)
{
    cse_work_residency *r = work->residency;
    while (r->ahead_chunk < work->cluster->head->update_chunks) {
        const cse_update_part next =
            cse_arena_update_part(work->cluster, work->graph, r->ahead_chunk, r->ahead_line);
        if (next.group < 0) {
            r->ahead_chunk++;
            r->ahead_line = 0;
            continue;
        }
        add_lines(work, step, next, true);
        if (!expect(work))
            return;
        r->ahead_line += next.end - next.first;
    }
}

void cse_work_residency_update(cse_work *work, uint64_t step, int chunk, cse_update_part part)
{
    if (work->residency == NULL)
        return;
    add_lines(work, step, part, false);
    use(work);
    go_on_behind(work->residency, cse_step_number(step), chunk,
                 part.chunk_line + part.end - part.first);
    read_lines_ahead(work, step);
}

/* ---- set-up ---- */

static void catch_bus_errors(cse_work *work)
{
    broken_cluster = work->cluster;
    broken_slot = work->slot;
    sigaction(SIGBUS, &(struct sigaction){ .sa_handler = on_bus_error }, NULL);
    cse_guarded_copy_prepare();
}

cse_status cse_work_residency_new(cse_work *work, cse_block_io *modelled)
{
    const cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    if (head->resident_bytes == 0)
        return CSE_OK;
    cse_work_residency *r = work->residency = cse_calloc(1, sizeof *r);
    if (modelled == NULL) {
        catch_bus_errors(work);
        CSE_TRY(cse_disk_threads_new(cluster->descriptor, cluster->base, &r->own_io));
    }
    r->io = modelled != NULL ? modelled : r->own_io;
    work->frame.watch = (cse_group_watch){ .before = before_group, .self = work };
    cse_residency_new(&(cse_residency_options){ .io = r->io,
                                                .base = modelled != NULL ? NULL : cluster->base,
                                                .first = head->weights_offset,
                                                .end = head->total_bytes,
                                                .budget_bytes = cse_arena_budget(head) },
                      &r->blocks);
    r->ahead.blocks = r->blocks;
    return CSE_OK;
}

void cse_work_residency_end(cse_work *work)
{
    if (work->residency == NULL)
        return;
    check(work, cse_residency_clear(work->residency->blocks));
    tell(work);
}

void cse_work_residency_destroy(cse_work *work)
{
    cse_work_residency *r = work->residency;
    if (r == NULL)
        return;
    cse_residency_destroy(&r->blocks);
    if (r->own_io != NULL)
        r->own_io->destroy(r->own_io);
    cse_ranges_clear(&r->ahead.ranges);
    free(r);
    work->residency = NULL;
}
