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
#include "workers/arena/final_elements.h"
#include "workers/arena/piece.h"
#include "workers/arena/residency.h"
#include "workers/worker/work_residency.h"

/* Elements that are added at once in an arena in a file. */
enum { RESIDENT_ELEMENTS = CSE_RESIDENCY_BLOCK_BYTES / 4 };

static unsigned char *sum_at(const cse_work *work, int level)
{
    if (level == 0)
        return cse_arena_partial_sum(work->cluster, work->node.first);
    return work->sums_memory + (level - 1) * work->cluster->head->partial_sum_stride;
}

static void join_top(cse_work *work, const cse_segments *segments, const int64_t range[2],
                     cse_work_sums *sums)
{
    assert(sums->count >= 2);
    cse_microbatch_range *sum = &sums->ranges[sums->count - 2];
    sum->size += sums->ranges[sums->count - 1].size;
    cse_work_residency_add(work, range, sum_at(work, sums->count - 2),
                           sum_at(work, sums->count - 1), true);
    cse_partial_sum_add(segments, range, sum_at(work, sums->count - 2),
                        sum_at(work, sums->count - 1), *sum);
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
    if (carries > 0 && !exact) {
        cse_microbatch_range *sum = &sums.ranges[sums.count - 1];
        sum->size++;
        cse_work_residency_add(work, range, sum_at(work, sums.count - 1), work->gradient, false);
        cse_partial_sum_add_gradient(&segments, range, sum_at(work, sums.count - 1), work->gradient,
                                     *sum);
        carries--;
    } else {
        if (!exact) { /* else the program wrote it there */
            cse_work_residency_add(work, range, sum_at(work, sums.count), work->gradient, false);
            cse_partial_sum_set(&segments, range, sum_at(work, sums.count), work->gradient,
                                gradient);
        }
        sums.ranges[sums.count++] = (cse_microbatch_range){ gradient, 1 };
    }
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
    return work->cluster->head->exact ? sum_at(work, work->sums.count) : work->gradient;
}

void cse_work_fold_watch(cse_work *work)
{
    const bool last = work->sums.added + 1 == work->node.size;
    work->folded = work->told = 0;
    if (work->final == NULL || (!last && work->residency == NULL))
        return;
    work->frame.watch.call = add_final;
    work->frame.watch.self = work;
}

void cse_work_fold(cse_work *work)
{
    const int64_t rest[2] = { work->folded, work->cluster->head->gradient_bytes / 4 };
    work->frame.watch.call = NULL;
    work->sums = add(work, rest);
}
