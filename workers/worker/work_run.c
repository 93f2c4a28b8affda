/* Runs a step's programs: REPLICA for a microbatch, WEIGHTS once per step, UPDATE for a range of
 * lines.
 *
 * In a sampled step the executable times REPLICA and WEIGHTS group by group; a range of lines of an
 * UPDATE group is timed as a whole. Steps that take tensor statistics are not timed, since their
 * kernels do more than those of other steps. */
#include "engine/base/clock.h"
#include "workers/worker/work_state.h"

static bool is_timed(const cse_work *work)
{
    return work->sampled && !cse_arena_takes_statistics(work->cluster, work->frame.step);
}

static void note_kernel(cse_work *work, int group, int64_t ns)
{
    cse_cluster_note_kernel(work->cluster, work->slot, work->frame.step + 1, group, ns);
}

void cse_work_run_program(cse_work *work, cse_part part)
{
    cse_executable *executable = work->executable;
    const cse_graph *graph = work->graph;
    if (!is_timed(work) || executable->timed == NULL) {
        (part == CSE_PART_REPLICA ? executable->replica : executable->weights)(executable,
                                                                               &work->frame);
        return;
    }
    executable->timed(executable, &work->frame, part, work->group_ns);
    for (int g = 0; g < graph->group_count; g++)
        if (graph->groups[g].part == part && work->group_ns[g] >= 0)
            note_kernel(work, g, work->group_ns[g]);
}

void cse_work_run_update(cse_work *work, int group, const int64_t lines[2],
                         const cse_undo_log *undo)
{
    assert(lines[0] >= 0 && lines[0] < lines[1]);
    const int64_t start_ns = is_timed(work) ? cse_clock_ns() : 0;
    work->executable->update(work->executable, &work->frame, group, lines, undo);
    if (start_ns != 0)
        note_kernel(work, group, cse_clock_ns() - start_ns);
}
