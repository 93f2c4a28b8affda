/* Shares of time as Flink defines them: a process is idle while its input is missing,
 * back-pressured while its output is not taken, and busy otherwise. Streams are the shared
 * regions of the arena seen as queues: the input ring, the partial sums, the states, the
 * records. */
#include "workers/control/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/json.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/layout.h"
#include "workers/arena/ring.h"
#include "workers/arena/timing.h"

#define INTERVAL_NS INT64_C(500000000)
enum { MOST_PAIRS = 256, MEGABYTE = 1000000 };

struct cse_topology {
    cse_cluster *cluster;
    const cse_run_events *events;
    int slot_count;
    cse_slot_load *loads; /* at the last report */
    int64_t told_ns, told_step, cpu_ns;
    double rate; /* steps a second between the last two */
    cse_text json;
};

static int64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

cse_topology *cse_topology_new(cse_cluster *cluster, const cse_run_events *events)
{
    cse_topology *t = cse_calloc(1, sizeof *t);
    t->cluster = cluster;
    t->events = events;
    t->slot_count = cse_cluster_slot_count(cluster);
    t->loads = cse_calloc((size_t)t->slot_count, sizeof *t->loads);
    return t;
}

void cse_topology_destroy(cse_topology **topology)
{
    if (*topology == NULL)
        return;
    free((*topology)->loads);
    cse_text_clear(&(*topology)->json);
    free(*topology);
    *topology = NULL;
}

/* ---- processes ---- */

static double share(int64_t part_ns, int64_t whole_ns)
{
    double value = whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0;
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static void add_process(cse_topology *t, int slot, int64_t elapsed_ns)
{
    char name[32];
    cse_slot_load now = cse_cluster_slot_load(t->cluster, slot), before = t->loads[slot];
    double idle = share(now.idle_ns - before.idle_ns, elapsed_ns);
    double blocked = share(now.blocked_ns - before.blocked_ns, elapsed_ns);
    /* A wait is counted when it ends, so it may be longer than the interval. */
    if (idle + blocked > 1)
        idle = 1 - blocked;
    cse_text_add(&t->json,
                 ",{\"name\":\"%s\",\"role\":\"%s\",\"rank\":%d,\"pid\":%d,\"incarnation\":%d,"
                 "\"busy\":%.4f,\"idle\":%.4f,\"back_pressured\":%.4f,\"input_wait\":%.4f}",
                 cse_cluster_slot_name(t->cluster, slot, name, sizeof name),
                 cse_role_name(cse_cluster_slot_kind(t->cluster, slot)),
                 cse_cluster_slot_index(t->cluster, slot),
                 (int)cse_cluster_occupant(t->cluster, slot),
                 cse_cluster_incarnation(t->cluster, slot), 1 - idle - blocked, idle, blocked,
                 share(now.input_wait_ns - before.input_wait_ns, elapsed_ns));
    t->loads[slot] = now;
}

static void add_processes(cse_topology *t, int64_t elapsed_ns)
{
    int64_t used_ns = cpu_ns();
    double busy = share(used_ns - t->cpu_ns, elapsed_ns);
    t->cpu_ns = used_ns;
    cse_text_add(&t->json,
                 "\"processes\":[{\"name\":\"coordinator\",\"role\":\"coordinator\",\"rank\":0,"
                 "\"pid\":%d,\"incarnation\":0,\"busy\":%.4f,\"idle\":%.4f,\"back_pressured\":0}",
                 (int)getpid(), busy, 1 - busy);
    for (int slot = 0; slot < t->slot_count; slot++)
        add_process(t, slot, elapsed_ns);
    cse_text_add(&t->json, "]");
}

/* ---- streams ---- */

typedef struct stream {
    const char *name;
    char from[32], to[32];
    int64_t depth, capacity, credits; /* -1: does not apply */
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

static void add_stream(cse_topology *t, const stream *s)
{
    cse_text *json = &t->json;
    cse_text_add(json, "%s{\"name\":\"%s\",\"from\":\"%s\",\"to\":\"%s\"",
                 json->data[json->size - 1] == '[' ? "" : ",", s->name, s->from, s->to);
    add_count(json, "depth", s->depth);
    add_count(json, "capacity", s->capacity);
    add_count(json, "credits", s->credits);
    cse_text_add(json, ",\"mb_per_second\":%.3f}", s->bytes_per_second / MEGABYTE);
}

/* The replica, of `replicas`, whose share contains the microbatch. */
static int owner_of(int microbatches, int replicas, int microbatch)
{
    for (int r = 0; r < replicas; r++) {
        int first, end;
        cse_tree_share(microbatches, replicas, r, &first, &end);
        if (microbatch >= first && microbatch < end)
            return r;
    }
    return 0;
}

/* Positions of the ring by the input worker that prefers them and the replica whose share they are
 * in. */
static void add_input_streams(cse_topology *t, uint64_t step, double steps_per_second)
{
    const cse_arena_head *head = t->cluster->head;
    int workers = head->input_workers, replicas = cse_step_replicas(step);
    int pairs = workers * replicas;
    if (workers == 0 || replicas == 0 || pairs > MOST_PAIRS)
        return;
    int64_t filled[MOST_PAIRS] = { 0 }, places[MOST_PAIRS] = { 0 };
    int64_t from = cse_step_number(step) * head->microbatches;
    for (int64_t q = from; q < from + head->ring_count; q++) {
        int microbatch = (int)(q % head->microbatches);
        int pair =
            (int)(q % workers) * replicas + owner_of(head->microbatches, replicas, microbatch);
        places[pair]++;
        filled[pair] += cse_ring_ready(t->cluster, q);
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
        add_stream(t, &s);
    }
}

/* The reduction-tree nodes of a replica's share: how many there are, and how many are done now. */
static int count_nodes(const cse_cluster *cluster, uint64_t step, int replica, int *done)
{
    const cse_arena_head *head = cluster->head;
    cse_tree_node *nodes = cse_calloc((size_t)head->microbatches, sizeof *nodes);
    int first, end;
    cse_tree_share(head->microbatches, cse_step_replicas(step), replica, &first, &end);
    int count = cse_tree_cover(head->microbatches, first, end, nodes);
    *done = 0;
    for (int i = 0; i < count; i++)
        *done += cse_word_is(cse_word_load(&cluster->nodes[nodes[i].heap]), CSE_WORD_DONE,
                             cse_step_number(step) + 1);
    free(nodes);
    return count;
}

/* Partial sums go from each replica to all weight servers, states back to it. */
static void add_weight_streams(cse_topology *t, uint64_t step, double steps_per_second)
{
    const cse_arena_head *head = t->cluster->head;
    int replicas = cse_step_replicas(step);
    int servers = head->weight_servers > 0 ? head->weight_servers : head->replicas;
    const char *kind = head->weight_servers > 0 ? "weight server" : "replica";
    if (replicas * servers > MOST_PAIRS)
        return;
    int64_t released = atomic_load(&t->cluster->control->released) - cse_step_number(step);
    for (int r = 0; r < replicas; r++) {
        int done, nodes = count_nodes(t->cluster, step, r, &done);
        for (int server = 0; server < servers; server++) {
            stream s = {
                .name = "partial sums", .depth = done, .capacity = nodes, .credits = nodes - done
            };
            if (head->weight_servers == 0 && server == r)
                continue; /* to itself */
            s.bytes_per_second = steps_per_second * nodes * (double)head->gradient_bytes / servers;
            snprintf(s.from, sizeof s.from, "replica %d", r);
            snprintf(s.to, sizeof s.to, "%s %d", kind, server);
            add_stream(t, &s);
            stream back = { .name = "weights",
                            .depth = -1,
                            .capacity = -1,
                            .credits = released > 0 ? released : 0 };
            back.bytes_per_second = steps_per_second * (double)head->state_bytes / servers;
            memcpy(back.from, s.to, sizeof back.from);
            memcpy(back.to, s.from, sizeof back.to);
            add_stream(t, &back);
        }
    }
}

static void add_record_stream(cse_topology *t, uint64_t step, double steps_per_second)
{
    const cse_arena_head *head = t->cluster->head;
    int64_t waiting = cse_step_number(step) - atomic_load(&t->cluster->control->closed);
    stream s = { .name = "records",
                 .depth = waiting,
                 .capacity = head->record_count,
                 .credits = head->record_count - waiting,
                 .to = "coordinator" };
    s.bytes_per_second = steps_per_second * (double)head->fetch_bytes;
    snprintf(s.from, sizeof s.from, "%s 0", head->weight_servers > 0 ? "weight server" : "replica");
    add_stream(t, &s);
}

static void report(cse_topology *t, double rate, int64_t now_ns)
{
    uint64_t step = cse_word_load(t->cluster->step);
    const int64_t elapsed_ns = now_ns - t->told_ns;
    t->json.size = 0;
    cse_text_add(&t->json, "{\"step\":%lld,\"steps_per_second\":%.3f,",
                 (long long)cse_step_number(step), rate);
    add_processes(t, elapsed_ns);
    cse_text_add(&t->json, ",\"streams\":[");
    add_input_streams(t, step, rate);
    add_weight_streams(t, step, rate);
    add_record_stream(t, step, rate);
    cse_text_add(&t->json, "]}");
    CSE_RUN_EVENT(t->events, on_topology, t->json.data);
}

double cse_topology_poll(cse_topology *t, int64_t now_ns)
{
    if (t->told_ns != 0 && now_ns - t->told_ns < INTERVAL_NS)
        return t->rate;
    int64_t done = cse_cluster_steps_done(t->cluster);
    if (t->told_ns != 0) {
        t->rate = (double)(done - t->told_step) * 1e9 / (double)(now_ns - t->told_ns);
        if (t->events != NULL && t->events->on_topology != NULL)
            report(t, t->rate, now_ns);
    } else {
        t->cpu_ns = cpu_ns();
    }
    t->told_ns = now_ns;
    t->told_step = done;
    return t->rate;
}
