/* Reads what processes recorded in a sampled step. A span's kind is checked, so that a worker that
 * overwrites its memory does not crash the coordinator. */
#include "workers/arena/timing.h"

#include <stdlib.h>
#include <string.h>

#include "workers/arena/layout.h"
#include "workers/arena/slots.h"

cse_disk_load cse_cluster_disk_load(const cse_cluster *cluster, int slot)
{
    cse_disk_load load = { .read_bytes = 0 };
    for (int s = 0; s < cse_arena_slot_count(cluster->head); s++) {
        const cse_slot *own = &cluster->slots[s];
        if (slot >= 0 && s != slot)
            continue;
        load.read_bytes += atomic_load(&own->disk_read_bytes);
        load.written_bytes += atomic_load(&own->disk_written_bytes);
        load.busy_ns += atomic_load(&own->disk_busy_ns);
        load.waited_ns += atomic_load(&own->disk_waited_ns);
    }
    return load;
}

cse_slot_load cse_cluster_slot_load(const cse_cluster *cluster, int slot)
{
    const cse_slot *s = &cluster->slots[slot];
    return (cse_slot_load){ .idle_ns = atomic_load(&s->idle_ns),
                            .blocked_ns = atomic_load(&s->blocked_ns),
                            .input_wait_ns = atomic_load(&s->input_wait_ns),
                            .disk = cse_cluster_disk_load(cluster, slot) };
}

static void add(_Atomic int64_t *to, int64_t more)
{
    if (more > 0)
        atomic_fetch_add_explicit(to, more, memory_order_relaxed);
}

void cse_cluster_note_disk(cse_cluster *cluster, int slot, const cse_disk_load *now,
                           const cse_disk_load *before)
{
    cse_slot *own = &cluster->slots[slot];
    add(&own->disk_read_bytes, now->read_bytes - before->read_bytes);
    add(&own->disk_written_bytes, now->written_bytes - before->written_bytes);
    add(&own->disk_busy_ns, now->busy_ns - before->busy_ns);
    add(&own->disk_waited_ns, now->waited_ns - before->waited_ns);
}

cse_compute_load cse_cluster_compute_load(const cse_cluster *cluster)
{
    cse_compute_load load = { .microbatches = 0 };
    for (int s = 0; s < cse_arena_slot_count(cluster->head); s++) {
        load.microbatches += atomic_load(&cluster->slots[s].computed);
        load.compute_ns += atomic_load(&cluster->slots[s].compute_ns);
    }
    return load;
}

void cse_cluster_sample(cse_cluster *cluster, int64_t step)
{
    atomic_store(&cluster->control->sampled, step + 1);
}

int cse_cluster_spans(const cse_cluster *cluster, int slot, cse_process_span *spans, int most)
{
    const cse_slot *s = &cluster->slots[slot];
    int64_t sequence = atomic_load(&cluster->control->sampled);
    int count = atomic_load(&s->span_count);
    if (sequence == 0 || atomic_load(&s->spans_sequence) != sequence || count < 0)
        return 0;
    count = count < CSE_MOST_SPANS ? count : CSE_MOST_SPANS;
    count = count < most ? count : most;
    for (int i = 0; i < count; i++) {
        const cse_work_span *span = &s->spans[i];
        bool known = span->kind >= 0 && span->kind < CSE_SPAN_KIND_COUNT;
        spans[i] = (cse_process_span){ .step = sequence,
                                       .kind = known ? (cse_span_kind)span->kind : CSE_SPAN_WAIT,
                                       .start_ns = span->start_ns,
                                       .end_ns = span->end_ns };
        cse_cluster_slot_name(cluster, slot, spans[i].process, sizeof spans[i].process);
    }
    return count;
}

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
    const int64_t sequence = atomic_load(&cluster->control->sampled);
    if (sequence == 0 || slot >= head->replicas + head->weight_servers ||
        atomic_load(&cluster->slots[slot].kernels_sequence) != sequence)
        return 0;
    const cse_kernel_runs *all = cse_arena_kernel_runs(cluster, slot);
    int count = 0;
    for (int g = 0; g < head->group_count && count < most; g++) {
        const cse_kernel_runs runs = all[g];
        if (runs.calls <= 0)
            continue;
        cse_kernel_time *time = &times[count++];
        *time = (cse_kernel_time){ .step = sequence,
                                   .kernel = g,
                                   .calls = runs.calls,
                                   .total_ns = runs.total_ns,
                                   .min_ns = runs.least_ns,
                                   .median_ns = median_of(&runs) };
        cse_cluster_slot_name(cluster, slot, time->process, sizeof time->process);
    }
    return count;
}
