/* Shares of time as Flink defines them: a process is idle while its input is missing,
 * back-pressured while its output is not taken, and busy otherwise. */
#include "workers/control/topology.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "dataloader/position.h"
#include "engine/base/arena.h"
#include "engine/base/process_number.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/layout.h"
#include "workers/arena/timing.h"
#include "workers/control/host_sampler.h"
#include "workers/control/topology_hosts.h"
#include "workers/control/topology_streams.h"

#define INTERVAL_NS INT64_C(500000000)
enum { DIGITS = 5 };

struct cse_topology {
    cse_cluster *cluster;
    const cse_dataloader *loader;
    const cse_run_events *events;
    const cse_execution_hosts *hosts; /* NULL: this host is alone */
    cse_topology_hosts exchanged;     /* at the last report */
    cse_host_sampler *sampler;
    int slot_count;
    cse_topology_state *states;
    bool tells_changes;   /* all processes have been running, or one was lost */
    cse_slot_load *loads; /* at the last report */
    int64_t told_ns, cpu_ns;
    int64_t due_ns, counted_ns, counted_step; /* of the regular reports */
    double rate;                              /* steps a second between the last two of them */
};

static int64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

cse_topology *cse_topology_new(cse_cluster *cluster, const cse_execution *execution)
{
    cse_topology *t = cse_calloc(1, sizeof *t);
    t->cluster = cluster;
    t->loader = execution->loader;
    t->events = execution->events;
    t->hosts = execution->hosts;
    t->sampler = cse_host_sampler_new("");
    t->slot_count = cse_cluster_slot_count(cluster);
    t->states = cse_calloc((size_t)t->slot_count, sizeof *t->states);
    t->loads = cse_calloc((size_t)t->slot_count, sizeof *t->loads);
    return t;
}

void cse_topology_destroy(cse_topology **topology)
{
    if (*topology == NULL)
        return;
    cse_host_sampler_destroy(&(*topology)->sampler);
    free((*topology)->states);
    free((*topology)->loads);
    free(*topology);
    *topology = NULL;
}

/* ---- processes ---- */

static double share(int64_t part_ns, int64_t whole_ns)
{
    double value = whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0;
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static const char *state_name(cse_topology_state state)
{
    static const char *const names[] = { "starting", "running", "lost", "left" };
    return names[state];
}

/* The microbatch that the process filled or computed last, or is at. */
static void add_bad_records(const cse_topology *t, int slot, json_t *process)
{
    const int64_t count = cse_cluster_slot_bad_records(t->cluster, slot);
    if (count > 0)
        json_object_set_new(process, "bad_records", json_integer(count));
}

static void add_microbatch(const cse_topology *t, int slot, json_t *process)
{
    const cse_arena_head *head = t->cluster->head;
    const int64_t q = cse_cluster_slot_position(t->cluster, slot);
    if (q < 0)
        return;
    const int64_t step = q / head->microbatches, m = q % head->microbatches;
    json_object_set_new(process, "step", json_integer(step + 1));
    json_object_set_new(process, "microbatch", json_integer(m));
    if (t->loader == NULL || cse_cluster_slot_kind(t->cluster, slot) != CSE_ROLE_INPUT)
        return;
    const cse_position place =
        cse_position_of(cse_dataloader_batching_view(t->loader),
                        cse_dataloader_input_view(t->loader)->sample_count, step, m);
    json_object_set_new(process, "epoch", json_integer(place.epoch + 1));
    json_object_set_new(process, "sample", json_integer(place.first_index));
}

/* Of a process that computes, with states in a file. */
static void add_disk(const cse_topology *t, const cse_slot_load loads[2], int64_t elapsed_ns,
                     json_t *process)
{
    const cse_disk_load *before = &loads[0].disk, *now = &loads[1].disk;
    const int64_t busy_ns = now->busy_ns - before->busy_ns;
    const int64_t waited_ns = now->waited_ns - before->waited_ns;
    const double mb_per_s = elapsed_ns > 0 ? 1e3 / (double)elapsed_ns : 0; /* of a byte */
    if (t->cluster->head->resident_bytes == 0 || now->busy_ns == 0)
        return;
    json_object_set_new(process, "disk",
                        json_pack("{s:f, s:f, s:f, s:f}", "read_mb_per_second",
                                  (double)(now->read_bytes - before->read_bytes) * mb_per_s,
                                  "written_mb_per_second",
                                  (double)(now->written_bytes - before->written_bytes) * mb_per_s,
                                  "waited", share(waited_ns, elapsed_ns), "hidden",
                                  share(busy_ns - waited_ns, elapsed_ns)));
}

static json_t *process_of(cse_topology *t, int slot, int64_t elapsed_ns)
{
    char name[32];
    const int64_t pid = cse_cluster_number(t->cluster, slot);
    cse_slot_load now = cse_cluster_slot_load(t->cluster, slot), before = t->loads[slot];
    double idle = share(now.idle_ns - before.idle_ns, elapsed_ns);
    double blocked = share(now.blocked_ns - before.blocked_ns, elapsed_ns);
    /* A wait is counted when it ends, so it may be longer than the interval. */
    if (idle + blocked > 1)
        idle = 1 - blocked;
    const double busy = fmax(0, 1 - idle - blocked); /* the difference may round below it */
    t->loads[slot] = now;
    json_t *process = json_pack(
        "{s:s, s:s, s:i, s:o, s:i, s:s, s:f, s:f, s:f, s:f}", "name",
        cse_cluster_slot_name(t->cluster, slot, name, sizeof name), "role",
        cse_role_name(cse_cluster_slot_kind(t->cluster, slot)), "rank",
        cse_cluster_slot_index(t->cluster, slot), "pid", pid > 0 ? json_integer(pid) : json_null(),
        "incarnation", cse_cluster_incarnation(t->cluster, slot), "state",
        state_name(t->states[slot]), "busy", busy, "idle", idle, "back_pressured", blocked,
        "input_wait", share(now.input_wait_ns - before.input_wait_ns, elapsed_ns));
    add_disk(t, (const cse_slot_load[]){ before, now }, elapsed_ns, process);
    add_microbatch(t, slot, process);
    add_bad_records(t, slot, process);
    return process;
}

static json_t *processes_of(cse_topology *t, int64_t elapsed_ns)
{
    int64_t used_ns = cpu_ns();
    double busy = share(used_ns - t->cpu_ns, elapsed_ns);
    json_t *processes = json_array();
    t->cpu_ns = used_ns;
    json_array_append_new(processes, json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:f, s:f, s:f}",
                                               "name", "coordinator", "role", "coordinator", "rank",
                                               0, "pid", (int)cse_process_number(), "incarnation",
                                               1, "state", state_name(CSE_TOPOLOGY_RUNNING), "busy",
                                               busy, "idle", 1 - busy, "back_pressured", 0.0));
    for (int slot = 0; slot < t->slot_count; slot++)
        json_array_append_new(processes, process_of(t, slot, elapsed_ns));
    return processes;
}

/* ---- the report ---- */

static void add_data(const cse_topology *t, json_t *report)
{
    if (t->loader == NULL)
        return;
    const cse_input *input = cse_dataloader_input_view(t->loader);
    int64_t bad = 0;
    for (int slot = 0; slot < t->slot_count; slot++)
        bad += cse_cluster_slot_bad_records(t->cluster, slot);
    json_object_set_new(
        report, "data",
        json_pack("{s:s, s:o, s:I, s:I}", "input", input->descriptor->name, "source",
                  input->source[0] ? json_string(input->source) : json_null(), "samples",
                  (json_int_t)input->sample_count, "bad_records", (json_int_t)bad));
}

/* Once in several reports, which are stored; but a leader takes of a follower's whichever report is
 * the newest. */
static void add_machine(cse_topology *t, int64_t now_ns, json_t *report)
{
    bool fresh;
    json_t *sample = cse_host_sampler_take(t->sampler, now_ns, &fresh);
    if (sample != NULL && (fresh || t->hosts != NULL))
        json_object_set(report, "machine", sample);
}

static bool is_wanted(const cse_run_events *events)
{
    while (events != NULL && events->on_topology == NULL)
        events = events->next;
    return events != NULL;
}

static void report(cse_topology *t, int64_t now_ns)
{
    const uint64_t step = cse_word_load(t->cluster->step);
    const int64_t elapsed_ns = now_ns - t->told_ns;
    t->told_ns = now_ns;
    if (!is_wanted(t->events))
        return;
    json_t *root =
        json_pack("{s:I, s:I, s:f, s:i, s:i, s:o}", "step", (json_int_t)cse_step_number(step),
                  "interval_ms", (json_int_t)(elapsed_ns / 1000000), "steps_per_second", t->rate,
                  "microbatches", (int)t->cluster->head->microbatches, "replicas",
                  cse_step_replicas(step), "processes", processes_of(t, elapsed_ns));
    add_data(t, root);
    cse_topology_add_streams(root, t->cluster, step, t->rate);
    cse_topology_add_host(root, t->cluster, elapsed_ns, &t->exchanged);
    add_machine(t, now_ns, root);
    if (t->hosts != NULL && t->hosts->describe != NULL)
        t->hosts->describe(t->hosts->describer, root);
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    if (text != NULL)
        CSE_RUN_EVENT(t->events, on_topology, text);
    free(text);
    json_decref(root);
}

void cse_topology_note(cse_topology *t, int slot, cse_topology_state state, int64_t now_ns)
{
    t->states[slot] = state;
    t->tells_changes = t->tells_changes || state == CSE_TOPOLOGY_LOST;
    if (t->tells_changes && state != CSE_TOPOLOGY_LEFT)
        report(t, now_ns);
    bool complete = true;
    for (int s = 0; s < t->slot_count; s++)
        complete = complete && t->states[s] == CSE_TOPOLOGY_RUNNING;
    t->tells_changes = t->tells_changes || complete;
}

double cse_topology_poll(cse_topology *t, int64_t now_ns)
{
    if (now_ns < t->due_ns)
        return t->rate;
    int64_t done = cse_cluster_steps_done(t->cluster);
    if (t->due_ns != 0) {
        t->rate = (double)(done - t->counted_step) * 1e9 / (double)(now_ns - t->counted_ns);
        report(t, now_ns);
    } else {
        t->cpu_ns = cpu_ns();
        t->told_ns = now_ns;
    }
    t->due_ns = now_ns + INTERVAL_NS;
    t->counted_ns = now_ns;
    t->counted_step = done;
    return t->rate;
}
