/* The body of `csengine worker`: joins a cluster, opens what its role needs, works until told to
 * stop.
 *
 * A worker contains no model: it executes the artefact that the coordinator names. After READY the
 * arena directs its work; the control socket is read between units of work. A failure is reported
 * as (status, message) both in the arena and on the socket before the process ends. */
#include "workers/worker/worker_main.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "dataloader/data_open.h"
#include "engine/base/clock.h"
#include "engine/base/confinement.h"
#include "engine/base/float_mode.h"
#include "engine/base/log.h"
#include "engine/base/memory_limit.h"
#include "engine/base/pages.h"
#include "engine/base/process_number.h"
#include "engine/base/role.h"
#include "engine/base/run_signals.h"
#include "engine/base/sandbox.h"
#include "engine/code/execute/value_log.h"
#include "workers/arena/worker_side.h"
#include "workers/messages/liveness.h"
#include "workers/messages/message.h"
#include "workers/transports/transport.h"
#include "workers/worker/mover.h"
#include "workers/worker/work.h"

#define MILLISECONDS INT64_C(1000000)
#define WELCOME_TIMEOUT_NS (60000 * MILLISECONDS)
/* A connection may take long where many processes wait for a processor. A line of the log must not
 * hold the work up. */
#define SEND_TIMEOUT_NS (30000 * MILLISECONDS)
#define LOG_TIMEOUT_NS (1000 * MILLISECONDS)
#define CONTROL_INTERVAL_NS (20 * MILLISECONDS)
#define IDLE_TIMEOUT_NS (100 * MILLISECONDS)

typedef struct arguments {
    const char *role, *control, *liveness, *transport;
    int slot, incarnation, arena_descriptor;
} arguments;

typedef struct worker {
    arguments given;
    const cse_transport *transport;
    cse_socket *socket;
    cse_respondent *respondent;
    cse_cluster *cluster;
    cse_executable *executable;
    cse_graph *graph; /* of one that fills the ring, which has no executable */
    cse_dataloader *loader;
    cse_microbatch_source *source;
    cse_work *work;
    cse_mover *mover;
    cse_text sent, received, welcome_bytes;
    cse_message welcome;
    cse_confinement *confinement; /* NULL: the worker is not confined */
    cse_value_log *values;        /* NULL: it keeps no values of tensors */
    bool told_to_stop;
} worker;

static volatile sig_atomic_t terminated;

static void on_terminate(int sequence)
{
    (void)sequence;
    terminated = 1;
}

/* The limit of processor time is nearly used up: the coordinator ends the run with a checkpoint.
 * The kernel says so each second. */
static void on_time_used(int number)
{
    static volatile sig_atomic_t told;
    if (!told)
        kill(getppid(), number);
    told = 1;
}

/* ---- Arguments ---- */

static bool parse_number(const char *text, int *sequence)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 0 || value > 1 << 30)
        return false;
    *sequence = (int)value;
    return true;
}

/* The value of "--name=value", or NULL. */
static const char *value_of(const char *argument, const char *name)
{
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                           : NULL;
}

static cse_status parse(int argc, char **argv, arguments *a)
{
    *a = (arguments){ .slot = -1, .arena_descriptor = -1 };
    for (int i = 1; i < argc; i++) {
        const char *value;
        bool good = true;
        if ((value = value_of(argv[i], "--role")) != NULL)
            a->role = value;
        else if ((value = value_of(argv[i], "--control")) != NULL)
            a->control = value;
        else if ((value = value_of(argv[i], "--liveness")) != NULL)
            a->liveness = value;
        else if ((value = value_of(argv[i], "--transport")) != NULL)
            a->transport = value;
        else if ((value = value_of(argv[i], "--slot")) != NULL)
            good = parse_number(value, &a->slot);
        else if ((value = value_of(argv[i], "--incarnation")) != NULL)
            good = parse_number(value, &a->incarnation);
        else if ((value = value_of(argv[i], "--arena-fd")) != NULL)
            good = parse_number(value, &a->arena_descriptor);
        else
            good = false;
        if (!good)
            return cse_fail(CSE_USAGE,
                            "csengine worker: argument %s is not known or has no number; this "
                            "command is started by `csengine start` alone",
                            argv[i]);
    }
    if (a->role == NULL || a->control == NULL || a->liveness == NULL || a->slot < 0 ||
        a->arena_descriptor < 0)
        return cse_fail(CSE_USAGE, "csengine worker: --role, --slot, --arena-fd, --control and "
                                   "--liveness are needed; this command is started by "
                                   "`csengine start` alone");
    return CSE_OK;
}

/* ---- Control ---- */

static cse_status tell(worker *w, const cse_message *message)
{
    w->sent.size = 0;
    CSE_TRY(cse_message_encode(message, &w->sent));
    const int64_t timeout_ns = message->kind == CSE_MESSAGE_LOG ? LOG_TIMEOUT_NS : SEND_TIMEOUT_NS;
    return w->transport->send(w->socket, NULL, w->sent.data, w->sent.size,
                              cse_clock_ns() + timeout_ns);
}

/* Without role and rank: the coordinator knows them by the connection. */
static void forward_record(void *self, const cse_log_record *record)
{
    cse_message message = { .kind = CSE_MESSAGE_LOG };
    message.log.level = record->level;
    message.log.time_ms = record->time_ms;
    message.log.line = record->text;
    if (tell(self, &message) != CSE_OK)
        fprintf(stderr, "csengine worker: %s: %s\n", cse_log_level_name(record->level),
                record->text);
}

static cse_status connect_to_coordinator(worker *w)
{
    char peer[CSE_PEER_BYTES];
    snprintf(peer, sizeof peer, "worker.%d.%d", w->given.slot, w->given.incarnation);
    CSE_TRY(cse_transport_select(w->given.transport, &w->transport));
    CSE_TRY(w->transport->connect(w->given.control, peer, &w->socket));
    cse_log_set_sink(forward_record, w);
    return cse_respondent_start(w->given.liveness, w->given.slot, w->given.incarnation,
                                &w->respondent);
}

/* Receives the coordinator's messages; those that are not for a worker are ignored. */
static cse_status look_at_control(worker *w, int64_t deadline_ns, cse_message *message,
                                  bool *received)
{
    char peer[CSE_PEER_BYTES];
    CSE_TRY(w->transport->receive(w->socket, deadline_ns, peer, &w->received, received));
    if (!*received)
        return CSE_OK;
    CSE_TRY(cse_message_decode(w->received.data, w->received.size, message));
    if (message->kind == CSE_MESSAGE_STOP)
        w->told_to_stop = true;
    return CSE_OK;
}

static cse_status join(worker *w)
{
    cse_message hello = { .kind = CSE_MESSAGE_JOIN };
    hello.join.slot = w->given.slot;
    hello.join.incarnation = w->given.incarnation;
    hello.join.process_id = cse_process_number();
    int64_t deadline_ns = cse_clock_ns() + WELCOME_TIMEOUT_NS;
    CSE_TRY(tell(w, &hello));
    while (!terminated && !w->told_to_stop) {
        cse_message answer;
        bool received;
        CSE_TRY(look_at_control(w, cse_clock_ns() + IDLE_TIMEOUT_NS, &answer, &received));
        if (received && answer.kind == CSE_MESSAGE_WELCOME) {
            /* Texts of the message point into its bytes, which are therefore kept. */
            w->welcome = answer;
            w->welcome_bytes = w->received;
            memset(&w->received, 0, sizeof w->received);
            return CSE_OK;
        }
        if (!received && cse_clock_ns() > deadline_ns)
            return cse_fail(CSE_UNAVAILABLE, "the coordinator at %s did not answer",
                            w->given.control);
    }
    return CSE_OK;
}

/* ---- Resources of a role ---- */

static bool is_role(const worker *w, cse_role role)
{
    return strcmp(w->given.role, cse_role_name(role)) == 0;
}

/* Of a worker that computes, before it may no longer create files. */
static cse_status open_values(worker *w)
{
    const char *prefix = w->welcome.welcome.values_prefix;
    char path[PATH_MAX];
    if (prefix == NULL || *prefix == '\0' || is_role(w, CSE_ROLE_INPUT) ||
        is_role(w, CSE_ROLE_MOVER))
        return CSE_OK;
    if (snprintf(path, sizeof path, "%s%d.%d", prefix, w->given.slot, w->given.incarnation) >=
        (int)sizeof path)
        return cse_fail(CSE_CANNOT_CREATE, "%s: the path is too long", prefix);
    CSE_TRY(cse_value_log_create(path, &w->values));
    cse_value_log_limit(w->values, w->welcome.welcome.values_microbatches);
    return CSE_OK;
}

/* Before anything of the job is opened. */
static cse_status confine(worker *w)
{
    const char *text = w->welcome.welcome.confinement;
    if (text == NULL || *text == '\0')
        return CSE_OK;
    CSE_TRY(cse_confinement_decode(text, &w->confinement));
    cse_confine(w->confinement);
    const bool reads = is_role(w, CSE_ROLE_INPUT), moves = is_role(w, CSE_ROLE_MOVER);
    return cse_sandbox_enter(reads   ? CSE_SANDBOX_INPUT
                             : moves ? CSE_SANDBOX_MOVER
                                     : CSE_SANDBOX_COMPUTE,
                             w->confinement, NULL);
}

/* The data must be those that the run began with. */
static cse_status open_data(worker *w, const cse_settings *settings)
{
    const uint64_t seed = (uint64_t)w->welcome.welcome.seed;
    const char *text = cse_cluster_data_identity(w->cluster);
    cse_data_identity identity = { 0 };
    if (text == NULL)
        return cse_dataloader_open(settings, seed, &w->loader);
    if (!cse_data_identity_parse(text, &identity))
        return cse_fail(CSE_INTERNAL, "the arena's identity of the data is damaged");
    const cse_data_watch watch = { .identity = &identity, .complete = true };
    cse_status status = cse_data_open(settings, seed, &watch, &w->loader);
    cse_data_identity_clear(&identity);
    return status;
}

static cse_status read_graph(worker *w)
{
    return cse_executable_read_graph(w->welcome.welcome.artefact_directory,
                                     cse_cluster_artefact_digest(w->cluster), &w->graph);
}

static cse_status open_input(worker *w)
{
    CSE_TRY(read_graph(w));
    cse_settings *settings = NULL;
    cse_batch_kind kind;
    CSE_TRY(cse_dataloader_settings_decode(w->welcome.welcome.dataloader, &settings, &kind));
    cse_status status = open_data(w, settings);
    cse_settings_destroy(&settings);
    CSE_TRY(status);
    cse_dataloader_choose_kind(w->loader, kind);
    return cse_loader_source_new(w->loader, w->graph, &w->source);
}

static cse_status open_mover(worker *w)
{
    cse_mover_place place;
    CSE_TRY(cse_mover_place_decode(w->welcome.welcome.mover_place, &place));
    if (cse_arena_lacks_data(w->cluster))
        CSE_TRY(read_graph(w));
    CSE_TRY(cse_mover_new(w->cluster, w->given.slot, NULL, &place, &w->mover));
    cse_mover_check_inputs(w->mover, w->graph);
    return CSE_OK;
}

static cse_status open_all(worker *w)
{
    CSE_TRY(cse_cluster_map(w->given.arena_descriptor, &w->cluster));
    if (w->given.slot >= cse_cluster_slot_count(w->cluster))
        return cse_fail(CSE_USAGE, "csengine worker: the cluster has no slot %d", w->given.slot);
    if (cse_cluster_slot_kind(w->cluster, w->given.slot) == CSE_ROLE_MOVER)
        return open_mover(w);
    if (cse_cluster_slot_kind(w->cluster, w->given.slot) == CSE_ROLE_INPUT)
        CSE_TRY(open_input(w));
    else
        CSE_TRY(cse_executable_open_verified(w->welcome.welcome.artefact_directory,
                                             cse_cluster_artefact_digest(w->cluster),
                                             &w->executable));
    return cse_work_new(&(cse_work_options){ .cluster = w->cluster,
                                             .slot = w->given.slot,
                                             .executable = w->executable,
                                             .source = w->source,
                                             .values = w->values },
                        &w->work);
}

static void close_all(worker *w)
{
    cse_log_set_sink(NULL, NULL);
    cse_mover_destroy(&w->mover);
    cse_work_destroy(&w->work);
    cse_value_log_close(&w->values);
    cse_loader_source_destroy(&w->source);
    if (w->loader != NULL)
        cse_dataloader_close(&w->loader);
    cse_graph_destroy(&w->graph);
    if (w->executable != NULL)
        cse_executable_destroy(&w->executable);
    cse_cluster_destroy(&w->cluster);
    cse_respondent_stop(&w->respondent);
    if (w->socket != NULL)
        w->transport->close(&w->socket);
    cse_text_clear(&w->sent);
    cse_text_clear(&w->received);
    cse_text_clear(&w->welcome_bytes);
    cse_confine(NULL);
    cse_confinement_destroy(&w->confinement);
}

/* ---- Work ---- */

static cse_status work_loop(worker *w)
{
    int64_t looked_ns = 0;
    cse_message message;
    bool received;
    while (!terminated && !w->told_to_stop) {
        const cse_work_result result =
            w->mover != NULL ? cse_mover_once(w->mover, cse_clock_ns() + CONTROL_INTERVAL_NS)
                             : cse_work_once(w->work);
        if (result == CSE_WORK_ENDED)
            return CSE_OK;
        if (result == CSE_WORK_FAILED)
            return w->mover != NULL ? cse_mover_status(w->mover) : cse_work_status(w->work);
        if (result == CSE_WORK_IDLE && w->mover == NULL)
            cse_work_wait(w->work, IDLE_TIMEOUT_NS);
        int64_t now_ns = cse_clock_ns();
        if (now_ns - looked_ns < CONTROL_INTERVAL_NS)
            continue;
        looked_ns = now_ns;
        CSE_TRY(look_at_control(w, 0, &message, &received));
    }
    return terminated ? cse_fail(CSE_INTERRUPTED, "terminated") : CSE_OK;
}

static cse_status serve(worker *w)
{
    CSE_TRY(connect_to_coordinator(w));
    CSE_TRY(join(w));
    if (terminated || w->told_to_stop)
        return CSE_OK;
    CSE_TRY(open_values(w));
    CSE_TRY(confine(w));
    cse_set_float_mode();
    CSE_TRY(open_all(w));
    cse_heap_trim();
    cse_message ready = { .kind = CSE_MESSAGE_READY };
    ready.ready.slot = w->given.slot;
    CSE_TRY(tell(w, &ready));
    CSE_TRY(work_loop(w));
    cse_message bye = { .kind = CSE_MESSAGE_BYE };
    bye.bye.slot = w->given.slot;
    tell(w, &bye); /* if it gets lost, the end of the process tells the same */
    return CSE_OK;
}

static void report(worker *w, cse_status status)
{
    if (status == CSE_INTERRUPTED)
        return;
    char *text = cse_strdup(cse_error_message());
    cse_message failure = { .kind = CSE_MESSAGE_FAILURE };
    failure.failure.status = status;
    failure.failure.text = text;
    if (w->cluster != NULL)
        cse_cluster_report_failure(w->cluster, w->given.slot, status, text);
    if (w->socket == NULL || tell(w, &failure) != CSE_OK)
        fprintf(stderr, "csengine worker: %s\n", text);
    free(text);
}

int cse_worker_main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* for launchers that do not set it themselves */
    cse_run_signals_ignore();
    struct sigaction terminate = { .sa_handler = on_terminate };
    sigaction(SIGTERM, &terminate, NULL);
    struct sigaction pass_on = { .sa_handler = on_time_used, .sa_flags = SA_RESTART };
    sigaction(SIGXCPU, &pass_on, NULL);
    cse_memory_offer_self(); /* another worker can take its place, none that of the coordinator */
    worker w = { .socket = NULL };
    cse_status status = parse(argc, argv, &w.given);
    if (status == CSE_OK)
        status = serve(&w);
    if (status != CSE_OK)
        report(&w, status);
    close_all(&w);
    return cse_status_exit_code(status);
}
