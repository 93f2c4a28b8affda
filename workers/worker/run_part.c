/* How long each kernel of the plan - each group - took in a sampled step.
 *
 * A process notes the times of its own runs in its place of the arena; the coordinator reads them
 * once the step is over. Runs of the replica's and the serial program are timed group by group by
 * the executable; a run of an UPDATE group is a stretch of its lines. Observed steps are not timed:
 * their kernels do more than those of other steps. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "workers/worker/work.h"

/* ---- noting ---- */

/* The process's places, empty when the sampled step is a new one. */
static cse_kernel_runs *own_runs(const cse_work *work)
{
    const cse_arena_head *head = work->cluster->head;
    cse_slot *own = &work->cluster->slots[work->slot];
    cse_kernel_runs *runs = cse_arena_kernel_runs(work->cluster, work->slot);
    const int64_t number = work->frame.step + 1;
    if (atomic_load_explicit(&own->kernels_number, memory_order_relaxed) != number) {
        memset(runs, 0, (size_t)head->group_count * sizeof *runs);
        atomic_store(&own->kernels_number, number);
    }
    return runs;
}

static void note(cse_kernel_runs *runs, int64_t ns)
{
    runs->recent_ns[runs->calls % CSE_RECENT_RUNS] = (float)ns;
    runs->total_ns += ns;
    if (runs->calls == 0 || ns < runs->least_ns)
        runs->least_ns = ns;
    runs->calls++;
}

void cse_work_run_part(cse_work *work, cse_part part)
{
    cse_executable *executable = work->executable;
    const cse_graph *graph = work->graph;
    if (!work->sampled || work->frame.collector != NULL || executable->timed == NULL) {
        if (part == CSE_PART_REPLICA)
            executable->replica(executable, &work->frame);
        else
            executable->weights(executable, &work->frame);
        return;
    }
    executable->timed(executable, &work->frame, part, work->group_ns);
    cse_kernel_runs *runs = own_runs(work);
    for (int g = 0; g < graph->group_count; g++)
        if (graph->groups[g].part == part)
            note(&runs[g], work->group_ns[g]);
}

void cse_work_run_update(cse_work *work, int group, const int64_t lines[2],
                         const cse_undo_log *undo)
{
    cse_executable *executable = work->executable;
    const bool timed =
        work->sampled && !cse_arena_takes_statistics(work->cluster, work->frame.step);
    const int64_t start_ns = timed ? cse_clock_ns() : 0;
    executable->update(executable, &work->frame, group, lines, undo);
    if (timed)
        note(&own_runs(work)[group], cse_clock_ns() - start_ns);
}

/* ---- reading ---- */

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int64_t median_of(const cse_kernel_runs *runs)
{
    float sorted[CSE_RECENT_RUNS];
    const int count = runs->calls < CSE_RECENT_RUNS ? (int)runs->calls : CSE_RECENT_RUNS;
    memcpy(sorted, runs->recent_ns, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return (int64_t)((sorted[(count - 1) / 2] + sorted[count / 2]) / 2);
}

int cse_cluster_kernel_times(const cse_cluster *cluster, int slot, cse_kernel_time *times, int most)
{
    const cse_arena_head *head = cluster->head;
    const int64_t number = atomic_load(&cluster->control->sampled);
    if (number == 0 || slot >= head->replicas + head->weight_servers ||
        atomic_load(&cluster->slots[slot].kernels_number) != number)
        return 0;
    const cse_kernel_runs *all = cse_arena_kernel_runs(cluster, slot);
    int count = 0;
    for (int g = 0; g < head->group_count && count < most; g++) {
        const cse_kernel_runs runs = all[g];
        if (runs.calls <= 0)
            continue;
        cse_kernel_time *time = &times[count++];
        *time = (cse_kernel_time){ .step = number,
                                   .kernel = g,
                                   .calls = runs.calls,
                                   .total_ns = runs.total_ns,
                                   .min_ns = runs.least_ns,
                                   .median_ns = median_of(&runs) };
        cse_cluster_slot_name(cluster, slot, time->process, sizeof time->process);
    }
    return count;
}
