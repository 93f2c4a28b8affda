/* One step is sampled at a time: it is chosen a little ahead, and its times are read when a later
 * step has been committed. Most steps are not sampled, so clock readings cost next to nothing. */
#include "workers/control/step_sampler.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/layout.h"
#include "workers/arena/timing.h"

#define INTERVAL_NS INT64_C(1000000000)      /* least time between samples */
#define SLOW_INTERVAL_NS INT64_C(5000000000) /* below SAMPLED_STEPS a second: any step */
/* The first steps are not typical, since they touch memory for the first time: the first samples
 * follow each other sooner. */
enum { SAMPLED_STEPS = 100, EARLY_SAMPLES = 3 };

struct cse_step_sampler {
    cse_cluster *cluster;
    const cse_run_events *events;
    int slot_count;
    int64_t sampled_step; /* -1: none is pending */
    int64_t sample_ns;    /* when it was chosen */
    int samples;
    cse_process_span *spans;
    cse_kernel_time *kernels;
};

cse_step_sampler *cse_step_sampler_new(cse_cluster *cluster, const cse_run_events *events)
{
    if (events == NULL || events->on_spans == NULL)
        return NULL;
    cse_step_sampler *s = cse_calloc(1, sizeof *s);
    s->cluster = cluster;
    s->events = events;
    s->slot_count = cse_cluster_slot_count(cluster);
    s->spans = cse_calloc((size_t)s->slot_count * CSE_MOST_SPANS, sizeof *s->spans);
    s->kernels = cse_calloc((size_t)cluster->head->group_count + 1, sizeof *s->kernels);
    s->sampled_step = -1;
    return s;
}

void cse_step_sampler_destroy(cse_step_sampler **sampler)
{
    if (*sampler == NULL)
        return;
    free((*sampler)->spans);
    free((*sampler)->kernels);
    free(*sampler);
    *sampler = NULL;
}

static void report(cse_step_sampler *s)
{
    int count = 0;
    for (int slot = 0; slot < s->slot_count; slot++)
        count += cse_cluster_spans(s->cluster, slot, s->spans + count, CSE_MOST_SPANS);
    if (count > 0)
        CSE_RUN_EVENT(s->events, on_spans, s->spans, count);
    for (int slot = 0; slot < s->slot_count; slot++) {
        count = cse_cluster_kernel_times(s->cluster, slot, s->kernels,
                                         (int)s->cluster->head->group_count);
        if (count > 0)
            CSE_RUN_EVENT(s->events, on_kernels, s->kernels, count);
    }
}

void cse_step_sampler_poll(cse_step_sampler *s, double rate, int64_t now_ns)
{
    if (s == NULL)
        return;
    int64_t done = cse_cluster_steps_done(s->cluster);
    if (s->sampled_step >= 0) {
        /* One step later, so that the process of the last unit has recorded it. */
        if (done <= s->sampled_step + 1)
            return;
        report(s);
        s->sampled_step = -1;
        cse_cluster_sample(s->cluster, -1);
    }
    bool fast = rate >= SAMPLED_STEPS, early = s->samples < EARLY_SAMPLES;
    if (s->sample_ns != 0 &&
        now_ns - s->sample_ns < (fast || early ? INTERVAL_NS : SLOW_INTERVAL_NS))
        return;
    /* Far enough ahead that every process sees it begin. */
    int64_t next = done + 2;
    if (fast)
        next = (next + SAMPLED_STEPS) / SAMPLED_STEPS * SAMPLED_STEPS - 1;
    if (cse_arena_takes_statistics(s->cluster, next))
        next++; /* a step with tensor statistics takes longer than others */
    s->samples++;
    s->sampled_step = next;
    s->sample_ns = now_ns;
    cse_cluster_sample(s->cluster, next);
}
