/* The body of `csengine worker`: joins a cluster, opens what its role needs, works until told to
 * stop.
 *
 * A worker knows no model: it executes the artefact the coordinator points it to. After READY the
 * arena tells it everything; the control socket is looked at between units of work. Whatever goes
 * wrong is left as (status, message) both in the arena and on the socket before the process
 * ends. */
#include "workers/worker/worker_main.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/arena/worker_side.h"
#include "workers/messages/liveness.h"
#include "workers/messages/message.h"
#include "workers/transports/transport.h"
#include "workers/worker/work.h"

#define MILLISECONDS INT64_C(1000000)
#define WELCOME_TIMEOUT_NS (60000 * MILLISECONDS)
#define SEND_TIMEOUT_NS (1000 * MILLISECONDS)
#define CONTROL_INTERVAL_NS (20 * MILLISECONDS)
#define IDLE_TIMEOUT_NS (100 * MILLISECONDS)

typedef struct arguments {
    const char *role, *control, *liveness, *transport;
    int slot, incarnation, arena_descriptor;
} arguments;

typedef struct member {
    arguments given;
    const cse_transport *transport;
    cse_socket *socket;
    cse_respondent *respondent;
    cse_cluster *cluster;
    cse_executable *executable;
    cse_graph *graph; /* an input worker's, which has no executable */
    cse_dataloader *loader;
    cse_microbatch_source *source;
    cse_work *work;
    cse_text sent, received, welcome_bytes;
    cse_message welcome;
    bool told_to_stop;
} member;

static volatile sig_atomic_t terminated;

static void on_terminate(int sequence)
{
    (void)sequence;
    terminated = 1;
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

static cse_status tell(member *m, const cse_message *message)
{
    m->sent.size = 0;
    CSE_TRY(cse_message_encode(message, &m->sent));
    return m->transport->send(m->socket, NULL, m->sent.data, m->sent.size,
                              cse_clock_ns() + SEND_TIMEOUT_NS);
}

/* The coordinator knows the worker's role and rank by the connection. */
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

static cse_status connect_to_coordinator(member *m)
{
    char peer[CSE_PEER_BYTES];
    snprintf(peer, sizeof peer, "worker.%d.%d", m->given.slot, m->given.incarnation);
    CSE_TRY(cse_transport_select(m->given.transport, &m->transport));
    CSE_TRY(m->transport->connect(m->given.control, peer, &m->socket));
    cse_log_set_sink(forward_record, m);
    return cse_respondent_start(m->given.liveness, m->given.slot, m->given.incarnation,
                                &m->respondent);
}

/* Looks at what the coordinator said; messages that are not for a worker are passed over. */
static cse_status look_at_control(member *m, int64_t deadline_ns, cse_message *message,
                                  bool *received)
{
    char peer[CSE_PEER_BYTES];
    CSE_TRY(m->transport->receive(m->socket, deadline_ns, peer, &m->received, received));
    if (!*received)
        return CSE_OK;
    CSE_TRY(cse_message_decode(m->received.data, m->received.size, message));
    if (message->kind == CSE_MESSAGE_STOP)
        m->told_to_stop = true;
    return CSE_OK;
}

static cse_status join(member *m)
{
    cse_message hello = { .kind = CSE_MESSAGE_JOIN };
    hello.join.slot = m->given.slot;
    hello.join.incarnation = m->given.incarnation;
    hello.join.process_id = getpid();
    int64_t deadline_ns = cse_clock_ns() + WELCOME_TIMEOUT_NS;
    CSE_TRY(tell(m, &hello));
    while (!terminated && !m->told_to_stop) {
        cse_message answer;
        bool received;
        CSE_TRY(look_at_control(m, cse_clock_ns() + IDLE_TIMEOUT_NS, &answer, &received));
        if (received && answer.kind == CSE_MESSAGE_WELCOME) {
            /* The texts are views: they stay with the bytes they came in. */
            m->welcome = answer;
            m->welcome_bytes = m->received;
            memset(&m->received, 0, sizeof m->received);
            return CSE_OK;
        }
        if (!received && cse_clock_ns() > deadline_ns)
            return cse_fail(CSE_UNAVAILABLE, "the coordinator at %s did not answer",
                            m->given.control);
    }
    return CSE_OK;
}

/* ---- What a role needs ---- */

static cse_status open_input(member *m)
{
    CSE_TRY(cse_executable_read_graph(m->welcome.welcome.artefact_directory, &m->graph));
    cse_settings *settings = NULL;
    CSE_TRY(cse_dataloader_settings_decode(m->welcome.welcome.dataloader, &settings));
    cse_status status =
        cse_dataloader_open(settings, (uint64_t)m->welcome.welcome.seed, &m->loader);
    cse_settings_destroy(&settings);
    CSE_TRY(status);
    return cse_loader_source_new(m->loader, m->graph, &m->source);
}

static cse_status open_all(member *m)
{
    CSE_TRY(cse_cluster_map(m->given.arena_descriptor, &m->cluster));
    if (m->given.slot >= cse_cluster_slot_count(m->cluster))
        return cse_fail(CSE_USAGE, "csengine worker: the cluster has no slot %d", m->given.slot);
    if (cse_cluster_slot_kind(m->cluster, m->given.slot) == CSE_ROLE_INPUT)
        CSE_TRY(open_input(m));
    else
        CSE_TRY(cse_executable_open(m->welcome.welcome.artefact_directory, &m->executable));
    return cse_work_new(&(cse_work_options){ .cluster = m->cluster,
                                             .slot = m->given.slot,
                                             .executable = m->executable,
                                             .source = m->source },
                        &m->work);
}

static void close_all(member *m)
{
    cse_log_set_sink(NULL, NULL);
    cse_work_destroy(&m->work);
    cse_loader_source_destroy(&m->source);
    if (m->loader != NULL)
        cse_dataloader_close(&m->loader);
    cse_graph_destroy(&m->graph);
    if (m->executable != NULL)
        cse_executable_destroy(&m->executable);
    cse_cluster_destroy(&m->cluster);
    cse_respondent_stop(&m->respondent);
    if (m->socket != NULL)
        m->transport->close(&m->socket);
    cse_text_clear(&m->sent);
    cse_text_clear(&m->received);
    cse_text_clear(&m->welcome_bytes);
}

/* ---- Work ---- */

static cse_status work_loop(member *m)
{
    int64_t looked_ns = 0;
    cse_message message;
    bool received;
    while (!terminated && !m->told_to_stop) {
        cse_work_result result = cse_work_once(m->work);
        if (result == CSE_WORK_ENDED)
            return CSE_OK;
        if (result == CSE_WORK_FAILED)
            return cse_work_status(m->work);
        if (result == CSE_WORK_IDLE)
            cse_work_wait(m->work, IDLE_TIMEOUT_NS);
        int64_t now_ns = cse_clock_ns();
        if (now_ns - looked_ns < CONTROL_INTERVAL_NS)
            continue;
        looked_ns = now_ns;
        CSE_TRY(look_at_control(m, 0, &message, &received));
    }
    return terminated ? cse_fail(CSE_INTERRUPTED, "terminated") : CSE_OK;
}

static cse_status serve(member *m)
{
    CSE_TRY(connect_to_coordinator(m));
    CSE_TRY(join(m));
    if (terminated || m->told_to_stop)
        return CSE_OK;
    cse_set_float_mode();
    CSE_TRY(open_all(m));
    cse_message ready = { .kind = CSE_MESSAGE_READY };
    ready.ready.slot = m->given.slot;
    CSE_TRY(tell(m, &ready));
    CSE_TRY(work_loop(m));
    cse_message bye = { .kind = CSE_MESSAGE_BYE };
    bye.bye.slot = m->given.slot;
    tell(m, &bye); /* the end of the process says the same */
    return CSE_OK;
}

static void report(member *m, cse_status status)
{
    if (status == CSE_INTERRUPTED)
        return;
    char *text = cse_strdup(cse_error_message());
    cse_message failure = { .kind = CSE_MESSAGE_FAILURE };
    failure.failure.status = status;
    failure.failure.text = text;
    if (m->cluster != NULL)
        cse_cluster_report_failure(m->cluster, m->given.slot, status, text);
    if (m->socket == NULL || tell(m, &failure) != CSE_OK)
        fprintf(stderr, "csengine worker: %s\n", text);
    free(text);
}

int cse_worker_main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the launcher did so, too: this holds for other launchers */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    struct sigaction terminate = { .sa_handler = on_terminate };
    sigaction(SIGTERM, &terminate, NULL);
    member m = { .socket = NULL };
    cse_status status = parse(argc, argv, &m.given);
    if (status == CSE_OK)
        status = serve(&m);
    if (status != CSE_OK)
        report(&m, status);
    close_all(&m);
    return cse_status_exit_code(status);
}
