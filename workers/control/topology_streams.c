/* A place of the ring belongs to the input worker that prefers its position and to the replica in
 * whose share its microbatch is: what a worker has filled and what a replica finds filled are
 * counts of the same places. On a host without data the mover fills all of them. Streams begin and
 * end at the ring, at the reduction tree and at the weights, not at each other: there are as many
 * as processes, not as pairs of them. */
#include "workers/control/topology_streams.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "workers/arena/node_plan.h"
#include "workers/arena/ring.h"
#include "workers/arena/slots.h"

#define MEGABYTE 1e6

typedef struct stream {
    const char *name, *from, *to;
    const char *payload;
    int64_t depth, capacity; /* -1: does not apply */
    double bytes_per_second;
} stream;

typedef struct places {
    int64_t filled, all;
} places;

typedef struct view {
    const cse_cluster *cluster;
    const cse_arena_head *head;
    uint64_t step;
    int replicas; /* that share the step */
    double steps_per_second;
    json_t *streams;
    places *by_worker, *by_replica;
    int feeders; /* processes that fill the ring */
    bool *feeds; /* [replicas][feeders] */
} view;

static json_t *count_or_null(int64_t count)
{
    return count < 0 ? json_null() : json_integer(count);
}

static void add(view *v, const stream *s)
{
    json_array_append_new(
        v->streams, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:f}", "name", s->name, "from",
                              s->from, "to", s->to, "payload", s->payload, "depth",
                              count_or_null(s->depth), "capacity", count_or_null(s->capacity),
                              "credits", count_or_null(s->depth < 0 ? -1 : s->capacity - s->depth),
                              "mb_per_second", s->bytes_per_second / MEGABYTE));
}

static const char *name_of(cse_role role, int rank, char text[32])
{
    return cse_process_name((cse_process){ .role = role, .rank = rank }, text, 32);
}

/* ---- the input ring ---- */

/* The replica that computes a microbatch; -1: it is another host's. */
static int owner_of(const view *v, int64_t step, int microbatch)
{
    int own, own_end, first, end;
    cse_own_microbatches(v->cluster, step, &own, &own_end);
    if (microbatch < own || microbatch >= own_end)
        return -1;
    int r = (int)((int64_t)(microbatch - own) * v->replicas / (own_end - own));
    cse_tree_share(own_end - own, v->replicas, r, &first, &end);
    return microbatch - own >= end ? r + 1 : r;
}

static json_t *count_places(view *v)
{
    const cse_arena_head *head = v->head;
    const int64_t from = cse_step_number(v->step) * head->microbatches;
    int64_t filled = 0, filling = 0;
    for (int64_t q = from; q < from + head->ring_count; q++) {
        int worker = (int)(q % v->feeders);
        int replica = owner_of(v, q / head->microbatches, (int)(q % head->microbatches));
        if (replica < 0)
            continue;
        bool ready = cse_ring_ready(v->cluster, q);
        filled += ready;
        filling += cse_word_state_of(cse_word_load(&v->cluster->ring[q % head->ring_count])) ==
                   CSE_WORD_CLAIMED;
        v->by_worker[worker].all++;
        v->by_worker[worker].filled += ready;
        v->by_replica[replica].all++;
        v->by_replica[replica].filled += ready;
        v->feeds[replica * v->feeders + worker] = true;
    }
    return json_pack("{s:i, s:I, s:I}", "capacity", (int)head->ring_count, "filled",
                     (json_int_t)filled, "filling", (json_int_t)filling);
}

/* "images float32, labels int32" */
static void describe_input(const cse_graph *graph, cse_text *text)
{
    for (int i = 0; graph != NULL && i < graph->input_count; i++)
        cse_text_add(text, "%s%.40s %s", i > 0 ? ", " : "", graph->inputs[i].name,
                     cse_dtype_name(graph->inputs[i].dtype));
    cse_text_add(text, "%s", "");
}

static void add_ring(view *v)
{
    const cse_arena_head *head = v->head;
    const double bytes = v->steps_per_second * head->microbatches * (double)head->input_bytes /
                         (double)head->ring_count; /* a second, for each place */
    const cse_role feeder = cse_arena_lacks_data(v->cluster) ? CSE_ROLE_MOVER : CSE_ROLE_INPUT;
    char name[32];
    cse_text payload = { 0 };
    describe_input(v->cluster->graph, &payload);
    for (int w = 0; w < v->feeders; w++)
        add(v, &(stream){ .name = "input ring",
                          .from = name_of(feeder, w, name),
                          .to = "input ring",
                          .payload = payload.data,
                          .depth = v->by_worker[w].filled,
                          .capacity = v->by_worker[w].all,
                          .bytes_per_second = bytes * (double)v->by_worker[w].all });
    for (int r = 0; r < v->replicas; r++)
        add(v, &(stream){ .name = "microbatches",
                          .from = "input ring",
                          .to = name_of(CSE_ROLE_REPLICA, r, name),
                          .payload = payload.data,
                          .depth = v->by_replica[r].filled,
                          .capacity = v->by_replica[r].all,
                          .bytes_per_second = bytes * (double)v->by_replica[r].all });
    cse_text_clear(&payload);
}

static void add_feeders(view *v, json_t *processes)
{
    size_t index;
    json_t *process;
    json_array_foreach(processes, index, process)
    {
        const char *role = json_string_value(json_object_get(process, "role"));
        const int r = (int)json_integer_value(json_object_get(process, "rank"));
        if (strcmp(role, cse_role_name(CSE_ROLE_REPLICA)) != 0 || r >= v->replicas)
            continue;
        json_t *workers = json_array();
        for (int w = 0; w < v->head->input_workers; w++)
            if (v->feeds[r * v->head->input_workers + w])
                json_array_append_new(workers, json_integer(w));
        json_object_set_new(process, "fed_by", workers);
    }
}

/* ---- partial sums and weights ---- */

/* Tree nodes of a replica's share: how many there are, and how many are done now. */
static places count_nodes(const view *v, int replica)
{
    cse_node_plan plan = {
        .nodes = cse_calloc((size_t)v->head->microbatches, sizeof *plan.nodes),
    };
    cse_node_plan_make(v->cluster, cse_step_number(v->step), v->replicas, replica, &plan);
    places counted = { .all = plan.own_end - plan.own_first };
    for (int i = plan.own_first; i < plan.own_end; i++)
        counted.filled += cse_word_is(cse_word_load(&v->cluster->nodes[plan.nodes[i].heap]),
                                      CSE_WORD_DONE, cse_step_number(v->step) + 1);
    free(plan.nodes);
    return counted;
}

/* Of one partial sum: rounded segments take half of their bytes. */
static int64_t partial_sum_bytes(const cse_cluster *cluster)
{
    int64_t bytes = cluster->head->gradient_bytes;
    for (int i = 0; i < cluster->segments.count; i++)
        bytes -= cluster->segments.items[i].rounded ? 2 * cluster->segments.items[i].count : 0;
    return bytes;
}

static const char *partial_sum_payload(const cse_arena_head *head, char text[64])
{
    snprintf(text, 64, "%s%s", cse_dtype_name((cse_dtype)head->payload),
             head->payload_stochastic ? ", stochastic" : "");
    return head->exact ? cse_dtype_name(CSE_FLOAT32) : text;
}

static void add_sums(view *v)
{
    const cse_arena_head *head = v->head;
    const double rate = v->steps_per_second * (double)partial_sum_bytes(v->cluster);
    char name[32], payload[64];
    for (int r = 0; r < v->replicas; r++) {
        const places nodes = count_nodes(v, r);
        add(v, &(stream){ .name = "partial sums",
                          .from = name_of(CSE_ROLE_REPLICA, r, name),
                          .to = "reduction tree",
                          .payload = partial_sum_payload(head, payload),
                          .depth = nodes.filled,
                          .capacity = nodes.all,
                          .bytes_per_second = rate * (double)nodes.all });
    }
}

/* Those that update share the lines of the states evenly. */
static void add_weights(view *v)
{
    const cse_arena_head *head = v->head;
    const cse_role role = head->weight_servers > 0 ? CSE_ROLE_WEIGHT_SERVER : CSE_ROLE_REPLICA;
    const int updaters = head->weight_servers > 0 ? head->weight_servers : head->replicas;
    const char *float32 = cse_dtype_name(CSE_FLOAT32);
    char name[32];
    for (int u = 0; u < updaters; u++) {
        name_of(role, u, name);
        add(v, &(stream){ .name = "reduced sums",
                          .from = "reduction tree",
                          .to = name,
                          .payload = float32,
                          .depth = -1,
                          .capacity = -1,
                          .bytes_per_second =
                              v->steps_per_second * (double)head->gradient_bytes / updaters });
        add(v, &(stream){ .name = "weights",
                          .from = name,
                          .to = "replicas",
                          .payload = float32,
                          .depth = -1,
                          .capacity = -1,
                          .bytes_per_second =
                              v->steps_per_second * (double)head->state_bytes / updaters });
    }
    const int64_t waiting = cse_step_number(v->step) - v->cluster->read;
    add(v, &(stream){ .name = "records",
                      .from = name_of(role, 0, name),
                      .to = "coordinator",
                      .payload = float32,
                      .depth = waiting,
                      .capacity = head->record_count,
                      .bytes_per_second = v->steps_per_second * (double)head->fetch_bytes });
}

void cse_topology_add_streams(json_t *report, const cse_cluster *cluster, uint64_t step,
                              double steps_per_second)
{
    const cse_arena_head *head = cluster->head;
    view v = { .cluster = cluster,
               .head = head,
               .step = step,
               .replicas = cse_step_replicas(step),
               .steps_per_second = steps_per_second,
               .streams = json_array() };
    v.feeders = cse_arena_lacks_data(cluster) ? head->movers : head->input_workers;
    v.by_worker = cse_calloc((size_t)v.feeders + 1, sizeof *v.by_worker);
    v.by_replica = cse_calloc((size_t)v.replicas + 1, sizeof *v.by_replica);
    v.feeds = cse_calloc((size_t)v.feeders * (size_t)v.replicas + 1, sizeof *v.feeds);
    if (v.feeders > 0 && v.replicas > 0) {
        json_object_set_new(report, "ring", count_places(&v));
        if (head->input_workers > 0)
            add_feeders(&v, json_object_get(report, "processes"));
        add_ring(&v);
        add_sums(&v);
    }
    add_weights(&v);
    json_object_set_new(report, "streams", v.streams);
    free(v.by_worker);
    free(v.by_replica);
    free(v.feeds);
}
