/* Each worker has a clock, its disk's. The one whose clock is behind does the next unit of work;
 * one that had nothing to do goes on when another has done some, at that one's time. Processes that
 * compute at the same time have equal shares of the disk. */
#include "run/measure/imagined_run.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/disk_model.h"
#include "workers/arena/layout.h"
#include "workers/arena/timing.h"
#include "workers/worker/work.h"

enum { WARM_UP_STEPS = 2, COUNTED_STEPS = 2 };

typedef struct actor {
    cse_executable executable; /* first */
    const cse_imagined_rates *rates;
    cse_disk_model disk;
    cse_work *work;
    bool computes, idle;
    double counted_from_s;
} actor;

typedef struct stage {
    cse_cluster *cluster;
    actor *actors;
    int count, computing;
} stage;

/* ---- programs that take time and compute nothing ---- */

static void run_part(cse_executable *executable, cse_frame *frame, cse_part part)
{
    actor *own = (actor *)executable;
    const cse_graph *graph = executable->graph;
    for (int g = 0; g < graph->group_count; g++) {
        if (graph->groups[g].part != part || cse_frame_leaves_out(frame, part, g))
            continue;
        cse_frame_announce_group(frame, g);
        own->disk.now_s += own->rates->group_s != NULL ? own->rates->group_s[g] : 0;
        cse_frame_note_group(frame, part, g);
    }
}

static void run_replica(cse_executable *executable, cse_frame *frame)
{
    run_part(executable, frame, CSE_PART_REPLICA);
}

static void run_weights(cse_executable *executable, cse_frame *frame)
{
    run_part(executable, frame, CSE_PART_WEIGHTS);
}

static void run_update(cse_executable *executable, cse_frame *frame, int group,
                       const int64_t lines[2], const cse_undo_log *undo)
{
    actor *own = (actor *)executable;
    (void)frame;
    (void)undo;
    if (own->rates->group_s != NULL)
        own->disk.now_s += own->rates->group_s[group] * (double)(lines[1] - lines[0]);
}

static cse_status read_nothing(void *self, int64_t step, int64_t m, void *bytes)
{
    (void)self;
    (void)step;
    (void)m;
    (void)bytes;
    return CSE_OK;
}

static const cse_microbatch_source no_source = { .self = NULL, .read = read_nothing };

/* ---- the workers ---- */

static cse_status open_actor(stage *s, int slot, const cse_imagined_rates *rates)
{
    const cse_arena_head *head = s->cluster->head;
    actor *own = &s->actors[slot];
    const int alike = slot < head->replicas ? head->replicas : head->weight_servers;
    own->computes = slot < head->replicas + head->weight_servers;
    own->rates = rates;
    own->executable = (cse_executable){ .graph = s->cluster->graph,
                                        .kind = "imagined",
                                        .replica = run_replica,
                                        .weights = run_weights,
                                        .update = run_update };
    if (own->computes)
        cse_disk_model_begin(&own->disk, rates->read_bytes_per_s / alike,
                             rates->write_bytes_per_s / alike);
    cse_cluster_attach(s->cluster, slot, slot + 1);
    return cse_work_new(&(cse_work_options){ .cluster = s->cluster,
                                             .slot = slot,
                                             .executable = own->computes ? &own->executable : NULL,
                                             .source = own->computes ? NULL : &no_source,
                                             .disk = &own->disk.io,
                                             .counts_only = true },
                        &own->work);
}

static actor *next_actor(stage *s)
{
    actor *next = NULL;
    for (int i = 0; i < s->count; i++) {
        actor *own = &s->actors[i];
        if (!own->idle && (next == NULL || !own->computes ||
                           (next->computes && own->disk.now_s < next->disk.now_s)))
            next = own;
    }
    return next;
}

static void wake_others(stage *s, const actor *done)
{
    for (int i = 0; i < s->count; i++) {
        actor *own = &s->actors[i];
        if (own->idle && done->disk.now_s > own->disk.now_s)
            own->disk.now_s = done->disk.now_s;
        own->idle = false;
    }
}

static cse_status take_turn(stage *s)
{
    cse_record record;
    actor *own = next_actor(s);
    if (own == NULL)
        return cse_fail(CSE_INTERNAL, "an imagined run has nothing to do and is not done");
    switch (cse_work_once(own->work)) {
    case CSE_WORK_DONE:
        wake_others(s, own);
        break;
    case CSE_WORK_FAILED:
        return cse_work_status(own->work);
    default:
        own->idle = true;
    }
    while (cse_cluster_next_record(s->cluster, &record)) {
        cse_cluster_close_record(s->cluster);
        cse_cluster_free_records(s->cluster, record.step + 1);
    }
    return CSE_OK;
}

/* ---- counting ---- */

typedef struct reading {
    double read_bytes, written_bytes, seconds, waited_s;
} reading;

static reading look(const stage *s)
{
    const cse_disk_load all = cse_cluster_disk_load(s->cluster, -1);
    reading r = { .read_bytes = (double)all.read_bytes,
                  .written_bytes = (double)all.written_bytes };
    for (int i = 0; i < s->count; i++) {
        const double waited_s = (double)cse_cluster_disk_load(s->cluster, i).waited_ns * 1e-9;
        r.seconds = fmax(r.seconds, s->actors[i].disk.now_s);
        r.waited_s = fmax(r.waited_s, waited_s);
    }
    return r;
}

static cse_status count_steps(stage *s, cse_imagined_step *step)
{
    while (cse_cluster_steps_done(s->cluster) < WARM_UP_STEPS)
        CSE_TRY(take_turn(s));
    const reading before = look(s);
    while (cse_cluster_steps_done(s->cluster) < WARM_UP_STEPS + COUNTED_STEPS)
        CSE_TRY(take_turn(s));
    const reading after = look(s);
    *step = (cse_imagined_step){
        .read_bytes = (after.read_bytes - before.read_bytes) / COUNTED_STEPS,
        .written_bytes = (after.written_bytes - before.written_bytes) / COUNTED_STEPS,
        .seconds = (after.seconds - before.seconds) / COUNTED_STEPS,
        .waited_s = (after.waited_s - before.waited_s) / COUNTED_STEPS,
    };
    return CSE_OK;
}

cse_status cse_imagined_run(const cse_cluster_layout *layout, const cse_imagined_rates *rates,
                            cse_imagined_step *step)
{
    cse_cluster_layout longer = *layout;
    stage s = { .cluster = NULL };
    longer.first_step = 0;
    longer.num_steps = WARM_UP_STEPS + COUNTED_STEPS + 1;
    CSE_TRY(cse_cluster_imagine(&longer, &s.cluster));
    s.count = cse_cluster_slot_count(s.cluster);
    s.actors = cse_calloc((size_t)s.count, sizeof *s.actors);
    cse_cluster_release(s.cluster, longer.num_steps);
    cse_status status = CSE_OK;
    for (int slot = 0; slot < s.count && status == CSE_OK; slot++)
        status = open_actor(&s, slot, rates);
    if (status == CSE_OK)
        status = count_steps(&s, step);
    for (int slot = 0; slot < s.count; slot++)
        cse_work_destroy(&s.actors[slot].work);
    free(s.actors);
    cse_cluster_destroy(&s.cluster);
    return status;
}
