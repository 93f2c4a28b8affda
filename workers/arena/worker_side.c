/* A slot's fields have one writer, its process; the coordinator reads them. The number of a step is
 * stored with the first span or kernel time of it, so that older ones are not taken for its own. */
#include "workers/arena/worker_side.h"

#include <assert.h>
#include <string.h>

/* Spans of one kind with a smaller gap are merged; spans that are shorter are left out. */
enum { JOINED_SPANS_NS = 2000, SHORTEST_SPAN_NS = 200 };

void cse_cluster_report_failure(cse_cluster *cluster, int slot, cse_status status,
                                const char *message)
{
    assert(slot >= 0 && slot < cse_cluster_slot_count(cluster) && status != CSE_OK);
    cse_slot *own = &cluster->slots[slot];
    size_t size = strnlen(message, sizeof own->failure - 1);
    memcpy(own->failure, message, size);
    own->failure[size] = 0;
    atomic_store(&own->failed, (int32_t)status);
    atomic_store(&cluster->control->urgent, 1);
    cse_doorbell_ring(cluster, CSE_DOORBELL_URGENT);
}

void cse_cluster_note_span(cse_cluster *cluster, int slot, int64_t sequence, cse_work_span span)
{
    cse_slot *own = &cluster->slots[slot];
    if (atomic_load_explicit(&own->spans_sequence, memory_order_relaxed) != sequence) {
        atomic_store(&own->span_count, 0);
        atomic_store(&own->spans_sequence, sequence);
    }
    int32_t count = atomic_load_explicit(&own->span_count, memory_order_relaxed);
    assert(count >= 0 && count <= CSE_MOST_SPANS);
    cse_work_span *last = count > 0 ? &own->spans[count - 1] : NULL;
    if (last != NULL && last->kind == span.kind && span.start_ns - last->end_ns < JOINED_SPANS_NS) {
        last->end_ns = span.end_ns;
        return;
    }
    if (count == CSE_MOST_SPANS || span.end_ns - span.start_ns < SHORTEST_SPAN_NS)
        return;
    own->spans[count] = span;
    atomic_store(&own->span_count, count + 1);
}

void cse_cluster_note_kernel(cse_cluster *cluster, int slot, int64_t sequence, int kernel,
                             int64_t ns)
{
    const cse_arena_head *head = cluster->head;
    assert(kernel >= 0 && kernel < head->group_count);
    cse_slot *own = &cluster->slots[slot];
    cse_kernel_runs *all = cse_arena_kernel_runs(cluster, slot), *runs = &all[kernel];
    if (atomic_load_explicit(&own->kernels_sequence, memory_order_relaxed) != sequence) {
        memset(all, 0, (size_t)head->group_count * sizeof *all);
        atomic_store(&own->kernels_sequence, sequence);
    }
    runs->recent_ns[runs->calls % CSE_RECENT_RUNS] = (float)ns;
    runs->total_ns += ns;
    if (runs->calls == 0 || ns < runs->least_ns)
        runs->least_ns = ns;
    runs->calls++;
}
