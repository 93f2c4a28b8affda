/* One execution: connects the coordinator's decisions to processes, sockets and the arena.
 *
 * The calling thread is the main loop: it starts the workers (which are killed when this thread
 * ends), waits, turns what happens into events, and cleans up in every case. While training runs it
 * sleeps on the arena's doorbell and polls sockets and processes only every few milliseconds, since
 * it shares the cores with the replicas.
 *
 * The loop's body is cse_execution_pump, so that a caller can have a loop of its own around it. No
 * thread stands behind that: between two turns the workers go on for as many steps as may be ahead
 * of the coordinator, and then wait. A turn waits for something to happen and ends with a tick, so
 * that what the tick handed out reaches the caller at once. */
#include "workers/control/execution.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/confinement.h"
#include "engine/base/log.h"
#include "engine/base/pages.h"
#include "workers/arena/audit.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/inherit.h"
#include "workers/arena/layout.h"
#include "workers/arena/reserving.h"
#include "workers/arena/state_digests.h"
#include "workers/arena/state_gather.h"
#include "workers/control/coordinator.h"
#include "workers/control/execution_arena.h"
#include "workers/control/execution_limits.h"
#include "workers/control/execution_places.h"
#include "workers/control/process.h"
#include "workers/control/step_sampler.h"
#include "workers/control/topology.h"
#include "workers/hosts/mover_place.h"
#include "workers/launchers/launcher.h"
#include "workers/messages/liveness.h"
#include "workers/messages/run_directory.h"
#include "workers/transports/transport.h"

enum {
    STEPS_AHEAD = 64,
    RESTARTS = 6,
    LIVENESS_MISSES = 10,
    CROWD = 16,         /* processes of a processor that start in the usual time */
    SILENCE_MS = 10000, /* until a worker counts as frozen; CSENGINE_SILENCE_MS sets another */
    ENDPOINT_BYTES = CSE_RUN_DIRECTORY_BYTES + 32,
};
#define MILLISECONDS INT64_C(1000000)
#define SECONDS INT64_C(1000000000)
#define LOOK_INTERVAL_NS (10 * MILLISECONDS)
#define LEAST_JOIN_TIMEOUT_NS (10 * SECONDS)
#define START_TIMEOUT_NS (120 * SECONDS)
#define LEAVE_TIMEOUT_NS (2 * SECONDS)
#define STALL_NS (60 * SECONDS)
#define ANSWERED_OPERATOR "operator"

/* The process that is attached to a slot. */
typedef struct attached {
    cse_worker_process *process; /* NULL when vacant */
    int incarnation;
    int processor;
} attached;

struct cse_running {
    cse_execution options;
    const cse_execution *execution; /* `options`, whose texts and handles are borrowed */
    cse_coordinator_io io;
    const cse_launcher *launcher;
    const cse_transport *transport;
    char executable[PATH_MAX];
    cse_run_directory directory;
    cse_text confinement; /* of this process, for the workers; empty without one */
    char control[ENDPOINT_BYTES], liveness_endpoint[ENDPOINT_BYTES];
    cse_text mover_place; /* for the mover alone, since it holds a key */
    cse_execution_places places;
    cse_cluster *cluster;
    cse_socket *socket;
    cse_liveness *liveness;
    cse_coordinator *coordinator;
    cse_topology *topology;
    cse_step_sampler *sampler;
    int slot_count, replica_count;
    attached *attached;   /* by slot */
    struct pollfd *polls; /* one for each slot, then the control socket */
    cse_text received, sent;
    char host[HOST_NAME_MAX + 1];
    int64_t looked_ns;  /* when sockets and processes were last polled */
    int64_t steps_seen; /* for the step time, and to detect a stall */
    int64_t steps_seen_ns, step_ns;
    bool stall_reported;
    int64_t left_ns; /* when the last turn ended; 0: in one */
};
typedef struct cse_running run;

/* ---- The functions of coordinator_io.h ---- */

static int64_t io_now_ns(void *self)
{
    (void)self;
    return cse_clock_ns();
}

static cse_status io_start(void *self, int slot, int incarnation)
{
    run *r = self;
    attached *a = &r->attached[slot];
    const int descriptor = cse_cluster_descriptor(r->cluster);
    char program[] = "csengine", command[] = "worker", texts[6][ENDPOINT_BYTES + 16];
    snprintf(texts[0], sizeof texts[0], "--role=%s",
             cse_role_name(cse_cluster_slot_kind(r->cluster, slot)));
    snprintf(texts[1], sizeof texts[1], "--slot=%d", slot);
    snprintf(texts[2], sizeof texts[2], "--incarnation=%d", incarnation);
    snprintf(texts[3], sizeof texts[3], "--arena-fd=%d", descriptor);
    snprintf(texts[4], sizeof texts[4], "--control=%s", r->control);
    snprintf(texts[5], sizeof texts[5], "--liveness=%s", r->liveness_endpoint);
    char transport[64];
    snprintf(transport, sizeof transport, "--transport=%s", r->transport->name);
    char *const arguments[] = { program,  command,  texts[0], texts[1],  texts[2],
                                texts[3], texts[4], texts[5], transport, NULL };
    /* A worker computes in one thread: more would take cores from other workers. */
    const char *const environment[] = { "OMP_NUM_THREADS=1", "OMP_THREAD_LIMIT=1", NULL };
    CSE_TRY(r->launcher->start(&(cse_launch_options){ .executable = r->executable,
                                                      .arguments = arguments,
                                                      .environment = environment,
                                                      .inherited_descriptor = descriptor,
                                                      .processor = a->processor },
                               &a->process));
    a->incarnation = incarnation;
    cse_cluster_attach(r->cluster, slot, r->launcher->number(a->process));
    cse_liveness_watch(r->liveness, slot, incarnation);
    cse_topology_note(r->topology, slot, CSE_TOPOLOGY_STARTING, cse_clock_ns());
    return CSE_OK;
}

static void io_signal(void *self, int slot, int number)
{
    run *r = self;
    if (r->attached[slot].process != NULL)
        r->launcher->signal(r->attached[slot].process, number);
}

static void io_reap(void *self, int slot)
{
    run *r = self;
    const bool leaves = cse_coordinator_state_now(r->coordinator) >= CSE_COORDINATOR_STOPPING;
    cse_cluster_recover(r->cluster, slot);
    cse_topology_note(r->topology, slot, leaves ? CSE_TOPOLOGY_LEFT : CSE_TOPOLOGY_LOST,
                      cse_clock_ns());
    cse_liveness_forget(r->liveness, slot);
    r->launcher->destroy(&r->attached[slot].process);
}

static cse_status send_to(run *r, const char *peer, const cse_message *message)
{
    r->sent.size = 0;
    CSE_TRY(cse_message_encode(message, &r->sent));
    return r->transport->send(r->socket, peer, r->sent.data, r->sent.size,
                              cse_clock_ns() + 100 * MILLISECONDS);
}

static cse_status io_send(void *self, int slot, const cse_message *message)
{
    run *r = self;
    char peer[CSE_PEER_BYTES];
    cse_message welcome = *message;
    if (message->kind == CSE_MESSAGE_WELCOME &&
        cse_cluster_slot_kind(r->cluster, slot) == CSE_ROLE_MOVER) {
        welcome.welcome.mover_place = r->mover_place.data;
        message = &welcome;
    }
    snprintf(peer, sizeof peer, "worker.%d.%d", slot, r->attached[slot].incarnation);
    return send_to(r, peer, message);
}

static void hand_out_states(const run *r, int64_t steps, bool last, bool ended)
{
    const cse_run_callbacks *k = &r->execution->callbacks;
    const cse_standing_states standing = { .steps_done = steps,
                                           .states = cse_cluster_states_view(r->cluster),
                                           .last = last,
                                           .ended = ended };
    if (k->on_states != NULL)
        k->on_states(k->self, &standing);
}

static void io_copy_states(void *self, int64_t steps, bool last)
{
    hand_out_states(self, steps, last, false);
}

static int64_t io_memory_kills(void *self)
{
    (void)self;
    return cse_memory_kills_look();
}

static void io_describe_memory(void *self, char *text, size_t size)
{
    const run *r = self;
    const cse_memory_limit limit = cse_memory_limit_look();
    cse_execution_needs needs;
    if (cse_execution_needs_find(r->execution, &needs) == CSE_OK)
        cse_execution_memory_text(&needs, &limit, text, size);
}

static const cse_coordinator_io io_functions = {
    .now_ns = io_now_ns,
    .start = io_start,
    .signal = io_signal,
    .reap = io_reap,
    .send = io_send,
    .copy_states = io_copy_states,
    .memory_kills = io_memory_kills,
    .describe_memory = io_describe_memory,
};

static const cse_coordinator_arena arena_functions = {
    .release = cse_cluster_release,
    .hold = cse_cluster_hold,
    .unhold = cse_cluster_unhold,
    .steps_done = cse_cluster_steps_done,
    .next_record = cse_cluster_next_record,
    .close_record = cse_cluster_close_record,
    .free_records = cse_cluster_free_records,
    .lacks_places = cse_cluster_lacks_places,
    .released = cse_cluster_released,
    .stop = cse_cluster_stop,
    .plan = cse_cluster_plan,
    .failure = cse_cluster_failure,
    .process = cse_cluster_slot_process,
    .count_waits = cse_cluster_count_waits,
    .next_finding = cse_cluster_next_finding,
    .suspects = cse_audit_suspects,
    .bar = cse_cluster_bar,
    .is_barred = cse_cluster_is_barred,
    .gather = cse_cluster_gather,
};

/* ---- Events ---- */

static void handle(run *r, cse_coordinator_event event)
{
    cse_coordinator_handle(r->coordinator, &event);
}

/* A failure is ignored: the operator no longer waits for the reply. */
static void answer_operator(run *r, const char *peer, const cse_operator_reply *reply)
{
    cse_message message = { .kind = CSE_MESSAGE_REPLY };
    message.reply.status = reply->status;
    message.reply.reason = reply->reason;
    message.reply.step = reply->step;
    message.reply.text = reply->text;
    send_to(r, peer, &message);
}

/* Whether the event is a message of that kind of the process that now has the slot. */
static bool is_message(const run *r, const cse_coordinator_event *event, cse_message_kind kind)
{
    return event->kind == CSE_EVENT_MESSAGE && event->message->kind == kind && event->slot >= 0 &&
           event->slot < r->slot_count && r->attached[event->slot].process != NULL &&
           r->attached[event->slot].incarnation == event->incarnation;
}

/* The sender is identified by the name its peer connected with, so that a message cannot claim
 * another worker's slot. */
static void take_message(run *r, const char *peer, const cse_text *bytes)
{
    cse_message message;
    if (cse_message_decode(bytes->data, bytes->size, &message) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "from %s: %s", peer, cse_error_message());
        return;
    }
    cse_operator_reply reply = { .status = CSE_OK };
    cse_coordinator_event event = { .kind = CSE_EVENT_OPERATOR,
                                    .message = &message,
                                    .reply = &reply };
    if (sscanf(peer, "worker.%d.%d", &event.slot, &event.incarnation) == 2)
        event.kind = CSE_EVENT_MESSAGE;
    else if (strncmp(peer, "operator", strlen("operator")) != 0)
        return;
    /* A thread of the worker answers from its first message on. */
    if (event.kind == CSE_EVENT_MESSAGE && message.kind == CSE_MESSAGE_JOIN)
        cse_liveness_expect(r->liveness, event.slot, event.incarnation);
    if (is_message(r, &event, CSE_MESSAGE_JOIN)) /* launched here, it has the number inside */
        cse_cluster_note_number(r->cluster, event.slot, message.join.process_id);
    handle(r, event);
    if (is_message(r, &event, CSE_MESSAGE_READY))
        cse_topology_note(r->topology, event.slot, CSE_TOPOLOGY_RUNNING, cse_clock_ns());
    if (event.kind == CSE_EVENT_OPERATOR && strcmp(peer, ANSWERED_OPERATOR) != 0)
        answer_operator(r, peer, &reply);
}

static void take_messages(run *r, int64_t deadline_ns)
{
    char peer[CSE_PEER_BYTES];
    bool received = true;
    while (r->transport->receive(r->socket, deadline_ns, peer, &r->received, &received) == CSE_OK &&
           received) {
        take_message(r, peer, &r->received);
        deadline_ns = 0;
    }
}

/* What operators said while no execution ran; those who have had their answer get no second one. */
static void take_kept_commands(run *r)
{
    cse_control_endpoint *endpoint = r->execution->endpoint;
    cse_kept_command command;
    while (endpoint != NULL && cse_control_endpoint_next(endpoint, &command)) {
        take_message(r, command.peer[0] != '\0' ? command.peer : ANSWERED_OPERATOR, &command.bytes);
        cse_text_clear(&command.bytes);
    }
}

static void take_deaths(run *r)
{
    for (int s = 0; s < r->slot_count; s++) {
        cse_coordinator_event event = { .kind = CSE_EVENT_GONE, .slot = s };
        if (r->attached[s].process == NULL ||
            !r->launcher->gone(r->attached[s].process, &event.how))
            continue;
        /* Its last messages may still be in transit. */
        take_messages(r, event.how.code > 0 ? cse_clock_ns() + 20 * MILLISECONDS : 0);
        handle(r, event);
    }
}

static void look_at_sockets_and_processes(run *r, int64_t timeout_ns)
{
    for (int s = 0; s < r->slot_count; s++)
        r->polls[s] = (struct pollfd){ .fd = r->attached[s].process != NULL
                                                 ? r->launcher->descriptor(r->attached[s].process)
                                                 : -1,
                                       .events = POLLIN };
    r->polls[r->slot_count] =
        (struct pollfd){ .fd = r->transport->descriptor(r->socket), .events = POLLIN };
    struct timespec timeout = { timeout_ns / SECONDS, timeout_ns % SECONDS };
    ppoll(r->polls, (nfds_t)r->slot_count + 1, &timeout, NULL);
    r->looked_ns = cse_clock_ns();
    take_messages(r, 0);
    take_deaths(r);
    for (int slot; (slot = cse_liveness_poll(r->liveness, r->looked_ns)) >= 0;)
        handle(r, (cse_coordinator_event){ .kind = CSE_EVENT_FROZEN, .slot = slot });
}

/* Measures the step time, and reports all claims once when no step has ended for long. */
static void note_progress(run *r)
{
    int64_t done = cse_cluster_steps_done(r->cluster), now = cse_clock_ns();
    if (done > r->steps_seen) {
        r->step_ns = (now - r->steps_seen_ns) / (done - r->steps_seen);
        r->steps_seen = done;
        r->steps_seen_ns = now;
        r->stall_reported = false;
    } else if (now - r->steps_seen_ns > STALL_NS && !r->stall_reported) {
        cse_text text = { 0 };
        cse_cluster_dump(r->cluster, &text);
        cse_log_line(CSE_LOG_WARNING, "no step has ended for %lld s; what is unfinished: %s",
                     (long long)(STALL_NS / SECONDS), text.data != NULL ? text.data : "nothing");
        cse_text_clear(&text);
        r->stall_reported = true;
    }
}

/* Records of fast steps are handled in batches; those of slow steps, and those that somebody waits
 * for, one by one. */
static void wait_running(run *r, int64_t most_ns)
{
    bool each = r->step_ns > 5 * MILLISECONDS || cse_coordinator_awaits_commit(r->coordinator);
    const int64_t usual_ns = each ? LOOK_INTERVAL_NS : 5 * MILLISECONDS;
    cse_cluster_wait(r->cluster, each ? CSE_WAKE_RECORD | CSE_WAKE_URGENT : CSE_WAKE_URGENT,
                     most_ns < usual_ns ? most_ns : usual_ns);
    note_progress(r);
    if (cse_clock_ns() - r->looked_ns >= LOOK_INTERVAL_NS)
        look_at_sockets_and_processes(r, 0);
}

static void write_mover_place(run *r, const char *const *addresses)
{
    const cse_execution_hosts *hosts = r->execution->hosts;
    cse_mover_place *place = cse_calloc(1, sizeof *place);
    snprintf(place->link, sizeof place->link, "%s", hosts->link != NULL ? hosts->link : "");
    place->host = hosts->host;
    place->host_count = hosts->host_count;
    place->session = hosts->session;
    place->plain = hosts->plain;
    memcpy(place->key, hosts->key, sizeof place->key);
    for (int h = 0; h < hosts->host_count; h++)
        snprintf(place->addresses[h], sizeof place->addresses[h], "%s",
                 addresses[h] != NULL ? addresses[h] : "");
    r->mover_place.size = 0;
    cse_mover_place_encode(place, &r->mover_place);
    free(place);
}

/* What other hosts have said since the last turn. */
static void take_hosts(run *r)
{
    const cse_execution_hosts *hosts = r->execution->hosts;
    if (hosts == NULL || hosts->on_turn == NULL)
        return;
    const cse_status status = hosts->on_turn(hosts->self, r, r->cluster);
    if (status != CSE_OK)
        handle(r, (cse_coordinator_event){ .kind = CSE_EVENT_FAILED,
                                           .status = status,
                                           .at_once = cse_cluster_lacks_states(r->cluster) });
}

bool cse_execution_pump(run *r, int64_t most_ns)
{
    const int64_t wait_ns = most_ns < 0                  ? 0
                            : most_ns < LOOK_INTERVAL_NS ? most_ns
                                                         : LOOK_INTERVAL_NS;
    if (r->left_ns != 0) /* time that the caller took for itself is no stall of the workers */
        r->steps_seen_ns += cse_clock_ns() - r->left_ns;
    if (cse_coordinator_state_now(r->coordinator) == CSE_COORDINATOR_RUNNING)
        wait_running(r, wait_ns);
    else
        look_at_sockets_and_processes(r, wait_ns);
    const int64_t now = cse_clock_ns();
    cse_step_sampler_poll(r->sampler, cse_topology_poll(r->topology, now), now);
    take_hosts(r);
    handle(r, (cse_coordinator_event){ .kind = CSE_EVENT_TICK });
    r->left_ns = cse_clock_ns();
    return cse_coordinator_state_now(r->coordinator) == CSE_COORDINATOR_ENDED;
}

/* ---- Set-up and clean-up ---- */

static cse_status open_cluster(run *r)
{
    const cse_execution *e = r->execution;
    const cse_run_callbacks *k = &e->callbacks;
    CSE_TRY(cse_execution_places_find(e, &r->places));
    CSE_TRY(cse_execution_arena(e, r->places.several_nodes ? &r->places.arena_nodes : NULL,
                                &r->cluster));
    if (e->before != NULL && e->before != r->cluster)
        CSE_TRY(cse_cluster_check_cut(r->cluster, e->before));
    if (k->fill_states != NULL)
        CSE_TRY(k->fill_states(k->self, cse_cluster_initial_states(r->cluster)));
    CSE_TRY(cse_arena_end_reserving(r->cluster));
    if (e->begins_with != NULL)
        CSE_TRY(cse_states_check(r->cluster, e->graph, e->first_step, e->begins_with));
    cse_cluster_drop_absent(r->cluster);
    const unsigned char *chain = k->begun_chain != NULL ? k->begun_chain(k->self) : NULL;
    if (chain != NULL)
        cse_cluster_begin_chain(r->cluster, e->first_step, chain);
    if (k->on_arena != NULL)
        k->on_arena(k->self, cse_cluster_descriptor(r->cluster));
    r->slot_count = cse_cluster_slot_count(r->cluster);
    const int replicas = r->cluster->head->replicas;
    r->replica_count = replicas;
    r->attached = cse_calloc((size_t)r->slot_count, sizeof *r->attached);
    r->polls = cse_calloc((size_t)r->slot_count + 1, sizeof *r->polls);
    for (int s = 0; s < r->slot_count; s++)
        r->attached[s].processor = cse_execution_processor(&r->places, s);
    return CSE_OK;
}

/* The interval of liveness questions: the accepted misses add up to the tolerated silence. */
static int64_t liveness_interval_ns(void)
{
    const char *given = getenv("CSENGINE_SILENCE_MS");
    long silence_ms = given != NULL ? strtol(given, NULL, 10) : 0;
    if (silence_ms < 1 || silence_ms > 86400000)
        silence_ms = SILENCE_MS;
    return silence_ms * MILLISECONDS / LIVENESS_MISSES;
}

/* Until a process that has not connected counts as frozen: it answers no question yet. */
static int64_t join_timeout_ns(void)
{
    int64_t silences_ns = 3 * LIVENESS_MISSES * liveness_interval_ns();
    return silences_ns > LEAST_JOIN_TIMEOUT_NS ? silences_ns : LEAST_JOIN_TIMEOUT_NS;
}

/* How much longer than usual processes take to start that are many for the processors. */
static int64_t crowd(const run *r)
{
    const int processors = r->places.processors.count;
    return 1 + (processors > 0 ? r->slot_count / processors / CROWD : 0);
}

static cse_status open_endpoints(run *r)
{
    const char *path = r->execution->run_directory;
    if (path == NULL) {
        cse_run_directory_sweep();
        CSE_TRY(cse_run_directory_make(&r->directory));
        path = r->directory.path;
    }
    cse_control_endpoint *endpoint = r->execution->endpoint;
    snprintf(r->liveness_endpoint, sizeof r->liveness_endpoint, "ipc://%s/liveness", path);
    if (endpoint != NULL) {
        snprintf(r->control, sizeof r->control, "%s", cse_control_endpoint_address(endpoint));
        r->socket = cse_control_endpoint_take(endpoint);
    } else {
        snprintf(r->control, sizeof r->control, "ipc://%s/control", path);
        CSE_TRY(r->transport->bind(r->control, &r->socket));
    }
    return cse_liveness_open(&(cse_liveness_options){ .endpoint = r->liveness_endpoint,
                                                      .slot_count = r->slot_count,
                                                      .interval_ns = liveness_interval_ns(),
                                                      .misses = LIVENESS_MISSES },
                             &r->liveness);
}

static void make_coordinator(run *r)
{
    const cse_execution *e = r->execution;
    r->io = io_functions;
    r->io.self = r;
    if (gethostname(r->host, sizeof r->host - 1) != 0)
        snprintf(r->host, sizeof r->host, "this host");
    cse_coordinator_options options = {
        .io = &r->io,
        .arena = &arena_functions,
        .cluster = r->cluster,
        .callbacks = &e->callbacks,
        .events = e->events,
        .welcome = { .kind = CSE_MESSAGE_WELCOME },
        .host = r->host,
        .slot_count = r->slot_count,
        .most_replicas = r->replica_count,
        .first_step = e->first_step,
        .num_steps = e->num_steps,
        .settles = e->settles,
        .paused = e->paused,
        .steps_ahead = STEPS_AHEAD,
        .inherited = e->inherited != NULL,
        .restarts = e->cluster.restarts > 0 ? e->cluster.restarts : RESTARTS,
        .join_timeout_ns = crowd(r) * join_timeout_ns(),
        .start_timeout_ns = crowd(r) * START_TIMEOUT_NS,
        .leave_timeout_ns = LEAVE_TIMEOUT_NS,
    };
    if (e->hosts != NULL) {
        options.most_released = e->hosts->most_released;
        options.most_released_self = e->hosts->self;
        write_mover_place(r, e->hosts->addresses);
    }
    options.welcome.welcome.artefact_directory = e->artefact_directory;
    options.welcome.welcome.dataloader = e->dataloader;
    options.welcome.welcome.seed = (int64_t)e->seed;
    options.welcome.welcome.values_prefix = e->values.prefix;
    options.welcome.welcome.values_microbatches = e->values.microbatches;
    if (cse_confinement_view() != NULL)
        cse_confinement_encode(cse_confinement_view(), &r->confinement);
    options.welcome.welcome.confinement = r->confinement.data;
    r->coordinator = cse_coordinator_new(&options);
}

static void leave_states(run *r, int64_t steps)
{
    const cse_execution *e = r->execution;
    hand_out_states(r, steps, false, true);
    if (e->left == NULL)
        return;
    cse_cluster_shrink(r->cluster);
    *e->left = r->cluster;
    r->cluster = NULL;
}

static void close_run(run *r)
{
    for (int s = 0; s < r->slot_count; s++)
        r->launcher->destroy(&r->attached[s].process);
    cse_coordinator_destroy(&r->coordinator);
    cse_topology_destroy(&r->topology);
    cse_step_sampler_destroy(&r->sampler);
    cse_liveness_close(&r->liveness);
    if (r->execution->endpoint == NULL)
        r->transport->close(&r->socket);
    else if (r->socket != NULL)
        cse_control_endpoint_return(r->execution->endpoint);
    cse_run_directory_remove(&r->directory);
    cse_text_clear(&r->confinement);
    if (r->mover_place.data != NULL)
        memset(r->mover_place.data, 0, r->mover_place.size);
    cse_text_clear(&r->mover_place);
    cse_cluster_destroy(&r->cluster);
    cse_execution_places_clear(&r->places);
    free(r->attached);
    free(r->polls);
    cse_text_clear(&r->received);
    cse_text_clear(&r->sent);
}

/* Workers pass on that their processor time is nearly used up. A program that does not care goes on
 * with other workers when the hard limit ends these. */
static void survive_used_time(void)
{
    struct sigaction action;
    if (sigaction(SIGXCPU, NULL, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
        action.sa_handler == SIG_DFL)
        signal(SIGXCPU, SIG_IGN);
}

static cse_status open_run(run *r)
{
    const cse_execution *e = r->execution;
    survive_used_time();
    CSE_TRY(cse_launcher_select(e->cluster.launcher, &r->launcher));
    CSE_TRY(cse_transport_select(e->cluster.transport, &r->transport));
    CSE_TRY(
        cse_worker_executable(e->cluster.worker_executable, r->executable, sizeof r->executable));
    CSE_TRY(open_cluster(r));
    CSE_TRY(open_endpoints(r));
    make_coordinator(r);
    cse_heap_trim();
    r->topology = cse_topology_new(r->cluster, e);
    r->sampler = cse_step_sampler_new(r->cluster, e->events);
    CSE_RUN_EVENT(e->events, on_endpoint, r->control);
    handle(r, (cse_coordinator_event){ .kind = CSE_EVENT_BEGIN });
    take_kept_commands(r);
    handle(r, (cse_coordinator_event){ .kind = CSE_EVENT_TICK });
    return CSE_OK;
}

cse_status cse_execution_open(const cse_execution *execution, cse_running **running)
{
    run *r = cse_calloc(1, sizeof *r);
    r->options = *execution;
    r->execution = &r->options;
    r->cluster = execution->inherited;
    r->directory.lock = -1;
    r->steps_seen = execution->first_step;
    r->steps_seen_ns = cse_clock_ns();
    if (execution->left != NULL)
        *execution->left = NULL;
    cse_status status = open_run(r);
    *running = r;
    if (status != CSE_OK) {
        close_run(r);
        free(r);
        *running = NULL;
    }
    return status;
}

cse_status cse_execution_close(cse_running **running, cse_run_result *result)
{
    run *r = *running;
    *result = (cse_run_result){ .steps_done = r->execution->first_step };
    CSE_RUN_EVENT(r->execution->events, on_endpoint, NULL);
    cse_status status = cse_coordinator_result(r->coordinator, result);
    result->input_wait_seconds = (double)cse_cluster_input_wait_ns(r->cluster) * 1e-9;
    cse_cluster_audit_counts(r->cluster, &result->audits.audited, &result->audits.unequal);
    result->disk = cse_cluster_disk_load(r->cluster, -1);
    if ((status == CSE_OK || result->settled) &&
        cse_cluster_has_its_states(r->cluster, result->steps_done))
        leave_states(r, result->steps_done);
    close_run(r);
    free(r);
    *running = NULL;
    return status;
}

cse_status cse_execution_run(const cse_execution *execution, cse_run_result *result)
{
    cse_running *running = NULL;
    *result = (cse_run_result){ .steps_done = execution->first_step };
    if (execution->left != NULL)
        *execution->left = NULL;
    if (execution->num_steps <= 0)
        return CSE_OK; /* no step: no worker, no record, no snapshot */
    CSE_TRY(cse_execution_open(execution, &running));
    while (!cse_execution_pump(running, INT64_MAX))
        continue;
    return cse_execution_close(&running, result);
}
