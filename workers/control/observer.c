/* Shares of time as Flink defines them: a process is idle while what it needs is not there,
 * back-pressured while nobody takes what it makes, and busy for the rest. Streams are the shared
 * regions of the arena seen as queues: the input ring, the pieces of the gradient sum, the states,
 * the records. */
#include "workers/control/observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/json.h"
#include "workers/arena/arena.h"
#include "workers/arena/ring.h"

#define INTERVAL_NS INT64_C(500000000)
#define SAMPLE_INTERVAL_NS INT64_C(1000000000)      /* at most a sample in this time */
#define SLOW_SAMPLE_INTERVAL_NS INT64_C(5000000000) /* below SAMPLED_STEPS a second: any step */
/* The first sample may be of a step that touches its memory for the first time: some follow soon.
 */
enum { SAMPLED_STEPS = 100, EARLY_SAMPLES = 3, MOST_PAIRS = 256, MEGABYTE = 1000000 };

struct cse_observer {
    cse_cluster *cluster;
    const cse_run_events *events;
    int slot_count;
    cse_slot_load *loads; /* at the last look */
    int64_t look_ns, look_step, cpu_ns;
    double rate;                     /* steps a second between the last two looks */
    int64_t sampled_step, sample_ns; /* -1: none is awaited */
    int samples;
    cse_process_span *spans;
    cse_kernel_time *kernels;
    cse_text json;
};

/* ---- readings of the arena ---- */

cse_slot_load cse_cluster_slot_load(const cse_cluster *cluster, int slot)
{
    const cse_slot *s = &cluster->slots[slot];
    return (cse_slot_load){ .idle_ns = atomic_load(&s->idle_ns),
                            .blocked_ns = atomic_load(&s->blocked_ns),
                            .input_wait_ns = atomic_load(&s->input_wait_ns) };
}

void cse_cluster_sample(cse_cluster *cluster, int64_t step)
{
    atomic_store(&cluster->control->sampled, step + 1);
}

int cse_cluster_spans(const cse_cluster *cluster, int slot, cse_process_span *spans, int most)
{
    const cse_slot *s = &cluster->slots[slot];
    int64_t number = atomic_load(&cluster->control->sampled);
    int count = atomic_load(&s->span_count);
    if (number == 0 || atomic_load(&s->span_number) != number || count < 0)
        return 0;
    count = count < CSE_MOST_SPANS ? count : CSE_MOST_SPANS;
    count = count < most ? count : most;
    for (int i = 0; i < count; i++) {
        const cse_work_span *span = &s->spans[i];
        bool known = span->kind >= 0 && span->kind < CSE_SPAN_KIND_COUNT;
        spans[i] = (cse_process_span){ .step = number,
                                       .kind = known ? (cse_span_kind)span->kind : CSE_SPAN_WAIT,
                                       .start_ns = span->start_ns,
                                       .end_ns = span->end_ns };
        cse_cluster_slot_name(cluster, slot, spans[i].process, sizeof spans[i].process);
    }
    return count;
}

/* ---- life ---- */

static int64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

cse_observer *cse_observer_new(cse_cluster *cluster, const cse_run_events *events)
{
    if (events == NULL || (events->on_topology == NULL && events->on_spans == NULL))
        return NULL;
    cse_observer *o = cse_calloc(1, sizeof *o);
    o->cluster = cluster;
    o->events = events;
    o->slot_count = cse_cluster_slot_count(cluster);
    o->loads = cse_calloc((size_t)o->slot_count, sizeof *o->loads);
    o->spans = cse_calloc((size_t)o->slot_count * CSE_MOST_SPANS, sizeof *o->spans);
    o->kernels = cse_calloc((size_t)cluster->head->group_count + 1, sizeof *o->kernels);
    o->sampled_step = -1;
    return o;
}

void cse_observer_destroy(cse_observer **observer)
{
    if (*observer == NULL)
        return;
    free((*observer)->loads);
    free((*observer)->spans);
    free((*observer)->kernels);
    cse_text_clear(&(*observer)->json);
    free(*observer);
    *observer = NULL;
}

/* ---- processes ---- */

static double share(int64_t part_ns, int64_t whole_ns)
{
    double value = whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0;
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static void add_process(cse_observer *o, int slot, int64_t elapsed_ns)
{
    char name[32];
    cse_slot_load now = cse_cluster_slot_load(o->cluster, slot), before = o->loads[slot];
    double idle = share(now.idle_ns - before.idle_ns, elapsed_ns);
    double blocked = share(now.blocked_ns - before.blocked_ns, elapsed_ns);
    /* A wait that began before the last look counts where it ended. */
    if (idle + blocked > 1)
        idle = 1 - blocked;
    cse_text_add(&o->json,
                 ",{\"name\":\"%s\",\"role\":\"%s\",\"rank\":%d,\"pid\":%d,\"incarnation\":%d,"
                 "\"busy\":%.4f,\"idle\":%.4f,\"back_pressured\":%.4f,\"input_wait\":%.4f}",
                 cse_cluster_slot_name(o->cluster, slot, name, sizeof name),
                 cse_role_name(cse_cluster_slot_kind(o->cluster, slot)),
                 cse_cluster_slot_index(o->cluster, slot),
                 (int)cse_cluster_occupant(o->cluster, slot),
                 (int)(atomic_load(&o->cluster->slots[slot].who) & 0xff), 1 - idle - blocked, idle,
                 blocked, share(now.input_wait_ns - before.input_wait_ns, elapsed_ns));
    o->loads[slot] = now;
}

static void add_processes(cse_observer *o, int64_t elapsed_ns)
{
    int64_t used_ns = cpu_ns();
    double busy = share(used_ns - o->cpu_ns, elapsed_ns);
    o->cpu_ns = used_ns;
    cse_text_add(&o->json,
                 "\"processes\":[{\"name\":\"coordinator\",\"role\":\"coordinator\",\"rank\":0,"
                 "\"pid\":%d,\"incarnation\":0,\"busy\":%.4f,\"idle\":%.4f,\"back_pressured\":0}",
                 (int)getpid(), busy, 1 - busy);
    for (int slot = 0; slot < o->slot_count; slot++)
        add_process(o, slot, elapsed_ns);
    cse_text_add(&o->json, "]");
}

/* ---- streams ---- */

typedef struct stream {
    const char *name;
    char from[32], to[32];
    int64_t depth, capacity, credits; /* -1: there is no such thing */
    double bytes_per_second;
} stream;

static void add_count(cse_text *json, const char *name, int64_t count)
{
    cse_text_add(json, ",\"%s\":", name);
    if (count < 0)
        cse_text_add(json, "null");
    else
        cse_json_add_integer(json, count);
}

static void add_stream(cse_observer *o, const stream *s)
{
    cse_text *json = &o->json;
    cse_text_add(json, "%s{\"name\":\"%s\",\"from\":\"%s\",\"to\":\"%s\"",
                 json->data[json->size - 1] == '[' ? "" : ",", s->name, s->from, s->to);
    add_count(json, "depth", s->depth);
    add_count(json, "capacity", s->capacity);
    add_count(json, "credits", s->credits);
    cse_text_add(json, ",\"mb_per_second\":%.3f}", s->bytes_per_second / MEGABYTE);
}

/* Whose share a leaf is in, of `replicas`. */
static int owner_of(int leaves, int replicas, int leaf)
{
    for (int r = 0; r < replicas; r++) {
        int first, end;
        cse_tree_share(leaves, replicas, r, &first, &end);
        if (leaf >= first && leaf < end)
            return r;
    }
    return 0;
}

/* Positions of the ring by who fills them first and whose share they are in. */
static void add_input_streams(cse_observer *o, uint64_t step, double steps_per_second)
{
    const cse_arena_head *head = o->cluster->head;
    int workers = head->input_workers, replicas = cse_step_replicas(step);
    int pairs = workers * replicas;
    if (workers == 0 || replicas == 0 || pairs > MOST_PAIRS)
        return;
    int64_t filled[MOST_PAIRS] = { 0 }, places[MOST_PAIRS] = { 0 };
    int64_t from = cse_step_number(step) * head->microbatches;
    for (int64_t q = from; q < from + head->ring_count; q++) {
        int leaf = (int)(q % head->microbatches);
        int pair = (int)(q % workers) * replicas + owner_of(head->microbatches, replicas, leaf);
        places[pair]++;
        filled[pair] += cse_ring_ready(o->cluster, q);
    }
    for (int pair = 0; pair < pairs; pair++) {
        stream s = { .name = "input ring",
                     .depth = filled[pair],
                     .capacity = places[pair],
                     .credits = places[pair] - filled[pair] };
        if (places[pair] == 0)
            continue;
        s.bytes_per_second = steps_per_second * head->microbatches * (double)head->input_bytes *
                             (double)places[pair] / head->ring_count;
        snprintf(s.from, sizeof s.from, "input worker %d", pair / replicas);
        snprintf(s.to, sizeof s.to, "replica %d", pair % replicas);
        add_stream(o, &s);
    }
}

/* The pieces of a replica's share: how many there are, and how many are done at this moment. */
static int count_pieces(const cse_cluster *cluster, uint64_t step, int replica, int *done)
{
    const cse_arena_head *head = cluster->head;
    cse_tree_node *pieces = cse_calloc((size_t)head->microbatches, sizeof *pieces);
    int first, end;
    cse_tree_share(head->microbatches, cse_step_replicas(step), replica, &first, &end);
    int count = cse_tree_pieces(head->microbatches, first, end, pieces);
    *done = 0;
    for (int i = 0; i < count; i++)
        *done += cse_word_is(cse_word_load(&cluster->nodes[pieces[i].heap]), CSE_WORD_DONE,
                             cse_step_number(step) + 1);
    free(pieces);
    return count;
}

/* Sums go from each replica to all that reduce, states back to it. */
static void add_weight_streams(cse_observer *o, uint64_t step, double steps_per_second)
{
    const cse_arena_head *head = o->cluster->head;
    int replicas = cse_step_replicas(step);
    int servers = head->weight_servers > 0 ? head->weight_servers : head->replicas;
    const char *kind = head->weight_servers > 0 ? "weight server" : "replica";
    if (replicas * servers > MOST_PAIRS)
        return;
    int64_t released = atomic_load(&o->cluster->control->released) - cse_step_number(step);
    for (int r = 0; r < replicas; r++) {
        int done, pieces = count_pieces(o->cluster, step, r, &done);
        for (int server = 0; server < servers; server++) {
            stream s = {
                .name = "partial sums", .depth = done, .capacity = pieces, .credits = pieces - done
            };
            if (head->weight_servers == 0 && server == r)
                continue; /* its own */
            s.bytes_per_second = steps_per_second * pieces * (double)head->partial_bytes / servers;
            snprintf(s.from, sizeof s.from, "replica %d", r);
            snprintf(s.to, sizeof s.to, "%s %d", kind, server);
            add_stream(o, &s);
            stream back = { .name = "weights",
                            .depth = -1,
                            .capacity = -1,
                            .credits = released > 0 ? released : 0 };
            back.bytes_per_second = steps_per_second * (double)head->state_bytes / servers;
            memcpy(back.from, s.to, sizeof back.from);
            memcpy(back.to, s.from, sizeof back.to);
            add_stream(o, &back);
        }
    }
}

static void add_record_stream(cse_observer *o, uint64_t step, double steps_per_second)
{
    const cse_arena_head *head = o->cluster->head;
    int64_t waiting = cse_step_number(step) - atomic_load(&o->cluster->control->closed);
    stream s = { .name = "records",
                 .depth = waiting,
                 .capacity = head->record_count,
                 .credits = head->record_count - waiting,
                 .to = "coordinator" };
    s.bytes_per_second = steps_per_second * (double)head->fetch_bytes;
    snprintf(s.from, sizeof s.from, "%s 0", head->weight_servers > 0 ? "weight server" : "replica");
    add_stream(o, &s);
}

static void tell_topology(cse_observer *o, int64_t now_ns)
{
    uint64_t step = cse_word_load(o->cluster->step);
    int64_t elapsed_ns = now_ns - o->look_ns, done = cse_step_number(step);
    double rate = o->rate;
    o->json.size = 0;
    cse_text_add(&o->json, "{\"step\":%lld,\"steps_per_second\":%.3f,", (long long)done, rate);
    add_processes(o, elapsed_ns);
    cse_text_add(&o->json, ",\"streams\":[");
    add_input_streams(o, step, rate);
    add_weight_streams(o, step, rate);
    add_record_stream(o, step, rate);
    cse_text_add(&o->json, "]}");
    o->events->on_topology(o->events->self, o->json.data);
}

/* ---- sampled steps ---- */

static void take_spans(cse_observer *o)
{
    int count = 0;
    for (int slot = 0; slot < o->slot_count; slot++)
        count += cse_cluster_spans(o->cluster, slot, o->spans + count, CSE_MOST_SPANS);
    if (count > 0)
        o->events->on_spans(o->events->self, o->spans, count);
}

static void take_kernels(cse_observer *o)
{
    for (int slot = 0; slot < o->slot_count; slot++) {
        int count = cse_cluster_kernel_times(o->cluster, slot, o->kernels,
                                             (int)o->cluster->head->group_count);
        if (count > 0)
            o->events->on_kernels(o->events->self, o->kernels, count);
    }
}

/* The next step to sample is far enough ahead that every process sees it begin. */
static void sample(cse_observer *o, int64_t now_ns)
{
    int64_t done = cse_cluster_steps_done(o->cluster);
    if (o->sampled_step >= 0) {
        /* One step more, so that who did the last unit has noted it. */
        if (done <= o->sampled_step + 1)
            return;
        take_spans(o);
        if (o->events->on_kernels != NULL)
            take_kernels(o);
        o->sampled_step = -1;
        cse_cluster_sample(o->cluster, -1);
    }
    bool fast = o->rate >= SAMPLED_STEPS, early = o->samples < EARLY_SAMPLES;
    if (o->sample_ns != 0 &&
        now_ns - o->sample_ns < (fast || early ? SAMPLE_INTERVAL_NS : SLOW_SAMPLE_INTERVAL_NS))
        return;
    int64_t next = done + 2;
    if (fast)
        next = (next + SAMPLED_STEPS) / SAMPLED_STEPS * SAMPLED_STEPS - 1;
    if (cse_arena_takes_statistics(o->cluster, next))
        next++; /* counting numbers takes time that other steps do not take */
    o->samples++;
    o->sampled_step = next;
    o->sample_ns = now_ns;
    cse_cluster_sample(o->cluster, next);
}

void cse_observer_look(cse_observer *o, int64_t now_ns)
{
    if (o == NULL)
        return;
    if (o->events->on_spans != NULL)
        sample(o, now_ns);
    if (o->look_ns != 0 && now_ns - o->look_ns < INTERVAL_NS)
        return;
    int64_t done = cse_cluster_steps_done(o->cluster);
    if (o->look_ns != 0)
        o->rate = (double)(done - o->look_step) * 1e9 / (double)(now_ns - o->look_ns);
    if (o->look_ns != 0 && o->events->on_topology != NULL)
        tell_topology(o, now_ns);
    else
        o->cpu_ns = cpu_ns();
    o->look_ns = now_ns;
    o->look_step = done;
}
