/* COMPUTE by layers: all microbatches of a node go through the groups of a segment before the first
 * of them goes on. Each has a workspace, of which it keeps what later groups read; the sums are
 * those of a microbatch after the other, since each element is added up in the same order. */
#include <sys/mman.h>

#include "workers/worker/work_state.h"

/* The sums that hold the first `count` gradients of the node: the digits of the number. */
static void place_sums(cse_work *work, int count)
{
    int first = work->node.first;
    work->sums = (cse_work_sums){ .added = count };
    for (int bit = 30; bit >= 0; bit--) {
        if (!(count >> bit & 1))
            continue;
        work->sums.ranges[work->sums.count++] = (cse_microbatch_range){ first, 1 << bit };
        first += 1 << bit;
    }
}

void cse_work_enter_segment(cse_work *work)
{
    cse_frame *frame = &work->frame;
    place_sums(work, work->at);
    frame->first_group = work->segment > 0 ? work->segments.items[work->segment - 1].end : 0;
    frame->end_group = work->segments.items[work->segment].end;
    frame->base[CSE_SPACE_REPLICA] = work->workspace + (size_t)work->at * work->workspace_stride;
}

static void give_back(const cse_work *work)
{
    const cse_step_segment *left = &work->segments.items[work->segment];
    const unsigned char *workspace = work->frame.base[CSE_SPACE_REPLICA];
    for (int i = 0; i < left->free_count; i++)
        madvise((void *)(uintptr_t)(workspace + left->free[i].first),
                (size_t)(left->free[i].end - left->free[i].first), MADV_DONTNEED);
}

bool cse_work_leave_segment(cse_work *work)
{
    work->frame.first_group = work->frame.end_group = 0;
    give_back(work);
    if (++work->at < work->node.size)
        return false;
    work->at = 0;
    if (++work->segment < work->segments.count)
        return false;
    work->segment = 0;
    return true;
}
