/* The head of an arena follows from its layout, so equal heads are equal arenas. */
#include "workers/arena/inherit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/pages.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/doorbell.h"
#include "workers/arena/layout.h"

cse_status cse_arena_look(int descriptor, cse_arena_facts *facts)
{
    cse_cluster *cluster = NULL;
    const int own = dup(descriptor);
    if (own < 0)
        return cse_fail(CSE_TEMPORARY, "cluster: no descriptor: %s", strerror(errno));
    CSE_TRY(cse_cluster_map(own, &cluster));
    *facts = (cse_arena_facts){ .freed = cse_cluster_freed(cluster),
                                .steps_done = cse_cluster_steps_done(cluster),
                                .end_step = cluster->head->end_step };
    const bool possible = facts->freed >= 0 && facts->freed <= facts->steps_done &&
                          facts->steps_done <= facts->end_step &&
                          facts->steps_done - facts->freed <= cluster->head->record_count;
    cse_cluster_destroy(&cluster);
    return possible ? CSE_OK : cse_fail(CSE_UNAVAILABLE, "the arena's words are damaged");
}

static cse_status describe(const cse_cluster_layout *layout, cse_arena_head *head)
{
    cse_segment *segments = cse_malloc(((size_t)layout->graph->node_count + 1) * sizeof *segments);
    memset(head, 0, sizeof *head);
    cse_status status = cse_segments_find(layout->graph, layout->weight_grad_reduce, segments,
                                          &head->segment_count);
    head->exact =
        cse_segments_exact((cse_segments){ .items = segments, .count = head->segment_count });
    free(segments);
    return status == CSE_OK ? cse_arena_describe(layout, head) : status;
}

static bool texts_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* What its creator may do depends on the cores that it was allowed, and changes no result. */
static bool is_as(const cse_cluster *cluster, const cse_cluster_layout *layout,
                  const cse_arena_head *wanted)
{
    cse_arena_head head = *cluster->head;
    memcpy(head.magic, wanted->magic, sizeof head.magic);
    head.cores = wanted->cores;
    head.spin_ns = wanted->spin_ns;
    return memcmp(&head, wanted, sizeof head) == 0 &&
           texts_equal(cse_cluster_data_identity(cluster), layout->data_identity);
}

static cse_status check(const cse_cluster *cluster, const cse_cluster_layout *layout,
                        int64_t end_step)
{
    cse_arena_head wanted;
    CSE_TRY(describe(layout, &wanted));
    wanted.end_step = end_step;
    return is_as(cluster, layout, &wanted)
               ? CSE_OK
               : cse_fail(CSE_UNAVAILABLE, "the arena is not that of this step, data and cluster");
}

bool cse_cluster_has_survivors(const cse_cluster *cluster)
{
    for (int s = 0; s < cse_cluster_slot_count(cluster); s++) {
        const pid_t occupant = cse_cluster_occupant(cluster, s);
        if (occupant > 0 && (kill(occupant, 0) == 0 || errno == EPERM))
            return true;
    }
    return false;
}

void cse_cluster_settle(cse_cluster *cluster)
{
    cse_control *control = cluster->control;
    atomic_store(&control->stopping, 0);
    atomic_store(&control->sleeping, 0);
    atomic_store(&control->sampled, 0);
    for (int s = 0; s < cse_cluster_slot_count(cluster); s++)
        cse_cluster_recover(cluster, s);
    cse_cluster_unhold(cluster);
}

cse_status cse_cluster_inherit(const cse_cluster_layout *layout, int descriptor,
                               cse_cluster **result)
{
    cse_cluster *cluster = NULL;
    *result = NULL;
    CSE_TRY(cse_cluster_map(descriptor, &cluster));
    cluster->graph = layout->graph;
    cse_status status = check(cluster, layout, layout->first_step + layout->num_steps);
    if (status == CSE_OK && cse_cluster_steps_done(cluster) < cluster->head->end_step)
        status = cse_arena_reserve(cluster);
    if (status != CSE_OK) {
        cse_cluster_destroy(&cluster);
        return status;
    }
    cluster->read = cse_cluster_freed(cluster);
    *result = cluster;
    return CSE_OK;
}

cse_status cse_cluster_extend(cse_cluster *cluster, const cse_cluster_layout *layout)
{
    const int64_t done = cse_cluster_steps_done(cluster);
    cse_arena_head *head = (cse_arena_head *)(void *)cluster->base;
    CSE_TRY(check(cluster, layout, head->end_step));
    if (layout->first_step != done || done != head->end_step)
        return cse_fail(CSE_UNAVAILABLE, "the arena does not stand at step %lld",
                        (long long)layout->first_step);
    cse_arena_place_hosts(cluster, layout);
    cluster->graph = layout->graph;
    cluster->gather_directory = layout->gather_directory;
    CSE_TRY(cse_arena_reserve(cluster));
    cluster->read = done;
    cse_cluster_free_records(cluster, done);
    atomic_store(&cluster->control->stopping, 0);
    for (int s = 0; s < cse_cluster_slot_count(cluster); s++) {
        atomic_store(&cluster->slots[s].idle_ns, 0);
        atomic_store(&cluster->slots[s].blocked_ns, 0);
        atomic_store(&cluster->slots[s].input_wait_ns, 0);
        atomic_store(&cluster->slots[s].computed, 0);
        atomic_store(&cluster->slots[s].compute_ns, 0);
        atomic_store(&cluster->slots[s].disk_read_bytes, 0);
        atomic_store(&cluster->slots[s].disk_written_bytes, 0);
        atomic_store(&cluster->slots[s].disk_busy_ns, 0);
        atomic_store(&cluster->slots[s].disk_waited_ns, 0);
    }
    if (cluster->hosts != NULL)
        atomic_store(&cluster->hosts->exposed_ns, 0);
    cluster->waited_before_ns = cluster->exposed_before_ns = 0;
    head->end_step = done + layout->num_steps;
    return CSE_OK;
}

static void discard(const cse_cluster *cluster, int64_t from, int64_t to)
{
    if (to > from)
        cse_pages_discard(cluster->base + from, (size_t)(to - from));
}

void cse_cluster_shrink(cse_cluster *cluster)
{
    const cse_arena_head *head = cluster->head;
    discard(cluster, head->reduced_offset, head->states_offset);
    discard(cluster, head->input_offset, head->total_bytes);
}
