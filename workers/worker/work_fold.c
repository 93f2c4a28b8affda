/* The partial sums of a node while its microbatches are computed.
 *
 * They are kept as a binary counter keeps digits: the first in the node's place of the arena, the
 * others in private memory. Where no value is rounded, the replica's program writes each gradient
 * directly to the place of its partial sum, so nothing is copied.
 *
 * In the node's last microbatch of a run of several hosts each part of the gradient is added as
 * soon as it is final, and told, so that the mover can send it. In an arena in a file that is so in
 * each microbatch: the part is still in memory. All additions are element by element: the same
 * bits, in whatever parts. */
#include <sys/mman.h>

#include "workers/arena/audit.h"
#include "workers/arena/final_elements.h"
#include "workers/arena/piece.h"
#include "workers/arena/residency.h"
#include "workers/worker/work_residency.h"

/* Elements that are added at once in an arena in a file. */
enum { RESIDENT_ELEMENTS = CSE_RESIDENCY_BLOCK_BYTES / 4, PAGE_BYTES = 4096 };

/* The sum at a level of the counter, whose first microbatch is `first`. */
static unsigned char *sum_at(const cse_work *work, int level, int first)
{
    const int64_t stride = work->cluster->head->partial_sum_stride;
    if (level == 0)
        return cse_arena_partial_sum(work->cluster, work->node.first);
    if (cse_work_is_by_layers(work)) /* other microbatches have begun theirs */
        return work->sums_memory + (first - work->node.first - 1) * stride;
    return work->sums_memory + (level - 1) * stride;
}

static unsigned char *top_of(const cse_work *work, const cse_work_sums *sums, int below)
{
    const int level = sums->count - 1 - below;
    return sum_at(work, level, sums->ranges[level].first);
}

/* By layers: the whole pages of private memory below byte `end`: all there was added to a sum. */
static void give_back(const cse_work *work, unsigned char *memory, int64_t first, int64_t end)
{
    const int64_t from = first / PAGE_BYTES * PAGE_BYTES, to = end / PAGE_BYTES * PAGE_BYTES;
    if (cse_work_is_by_layers(work) && to > from)
        madvise(memory + from, (size_t)(to - from), MADV_DONTNEED);
}

static void give_back_sum(const cse_work *work, const int64_t range[2], unsigned char *sum)
{
    const cse_segments *segments = &work->cluster->segments;
    cse_segment_part p;
    for (int i = 0; i < segments->count && cse_work_is_by_layers(work); i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const int64_t size = p.segment.rounded ? 2 : 4, at = p.segment.first * 4 + p.skip * size;
        give_back(work, sum, at, at + p.count * size);
    }
}

static void join_top(cse_work *work, const cse_segments *segments, const int64_t range[2],
                     cse_work_sums *sums)
{
    assert(sums->count >= 2);
    cse_microbatch_range *sum = &sums->ranges[sums->count - 2];
    sum->size += sums->ranges[sums->count - 1].size;
    unsigned char *left = top_of(work, sums, 1), *right = top_of(work, sums, 0);
    cse_work_residency_add(work, range, left, right, true);
    cse_partial_sum_add(segments, range, left, right, *sum);
    give_back_sum(work, range, right);
    sums->count--;
}

/* Adds a range of the gradient to the sums, and returns the sums that hold the range then. */
static cse_work_sums add_range(cse_work *work, const int64_t range[2])
{
    cse_segments segments = work->cluster->segments;
    cse_work_sums sums = work->sums;
    segments.step = work->frame.step;
    segments.count = work->counts_only ? 0 : segments.count;
    const bool exact = work->cluster->head->exact;
    const int gradient = work->node.first + sums.added;
    int carries = cse_tree_carries(++sums.added);
    const unsigned char *made = cse_work_gradient(work);
    if (carries > 0 && !exact) {
        cse_microbatch_range *sum = &sums.ranges[sums.count - 1];
        sum->size++;
        cse_work_residency_add(work, range, top_of(work, &sums, 0), made, false);
        cse_partial_sum_add_gradient(&segments, range, top_of(work, &sums, 0), made, *sum);
        carries--;
    } else {
        sums.ranges[sums.count++] = (cse_microbatch_range){ gradient, 1 };
        if (!exact) { /* else the program wrote it there */
            cse_work_residency_add(work, range, top_of(work, &sums, 0), made, false);
            cse_partial_sum_set(&segments, range, top_of(work, &sums, 0), made, gradient);
        }
    }
    if (!exact)
        give_back(work, cse_work_gradient(work), range[0] * 4, range[1] * 4);
    for (; carries > 0; carries--)
        join_top(work, &segments, range, &sums);
    if (sums.added == work->node.size)
        while (sums.count > 1)
            join_top(work, &segments, range, &sums);
    return sums;
}

static cse_work_sums add(cse_work *work, const int64_t range[2])
{
    if (work->residency == NULL)
        return add_range(work, range);
    int64_t first = range[0];
    for (; range[1] - first > RESIDENT_ELEMENTS; first += RESIDENT_ELEMENTS)
        add_range(work, (const int64_t[]){ first, first + RESIDENT_ELEMENTS });
    return add_range(work, (const int64_t[]){ first, range[1] });
}

/* After a group of a microbatch whose parts are added one by one. */
static void add_final(void *self, int group)
{
    cse_work *work = self;
    const int64_t final = work->final[group];
    if (final <= work->folded)
        return;
    add(work, (const int64_t[]){ work->folded, final });
    work->folded = final;
    if (work->cluster->hosts == NULL)
        return;
    cse_final_elements_tell(work->cluster, work->node, final);
    CSE_FAILPOINT(GRADIENT_PART);
    if (final - work->told < CSE_PIECE_ELEMENTS / 2)
        return;
    work->told = final;
    cse_doorbell_ring(work->cluster, CSE_DOORBELL_MOVE);
}

void cse_work_fold_begin(cse_work *work)
{
    work->sums = (cse_work_sums){ 0 };
    if (work->cluster->hosts != NULL)
        cse_final_elements_begin(work->cluster, work->node);
}

unsigned char *cse_work_gradient(cse_work *work)
{
    const int64_t stride = work->cluster->head->partial_sum_stride;
    if (work->cluster->head->exact)
        return sum_at(work, work->sums.count, work->node.first + work->sums.added);
    return cse_work_is_by_layers(work) ? work->gradient + work->at * stride : work->gradient;
}

void cse_work_fold_watch(cse_work *work)
{
    const bool last = work->sums.added + 1 == work->node.size;
    work->folded = work->told = 0;
    if (cse_work_is_by_layers(work) && work->segment > 0)
        work->folded = work->final[work->segments.items[work->segment - 1].end - 1];
    if (work->final == NULL || (!last && work->residency == NULL))
        return;
    /* Another host gets nothing that an audit may still find wrong. */
    if (cse_audit_next(work->cluster->head, work->frame.step, work->node, 0) >= 0)
        return;
    work->frame.watch.call = add_final;
    work->frame.watch.self = work;
}

void cse_work_fold(cse_work *work)
{
    const int64_t rest[2] = { work->folded, work->cluster->head->gradient_bytes / 4 };
    work->frame.watch.call = NULL;
    if (cse_work_is_by_layers(work) && work->segment + 1 < work->segments.count)
        return; /* what is not final is added behind a later segment */
    work->sums = add(work, rest);
}
