/* One thread waits for all pipes. A prober that is silent for too long counts as gone: what it
 * would have measured lacks then, and the rest goes on. */
#include "run/hosts/probed_hosts.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/json_value.h"
#include "run/hosts/probe_host.h"
#include "workers/control/process.h"
#include "workers/group/agent_place.h"
#include "workers/host_launchers/host_process.h"

enum {
    FIRST_PORT = 20000, /* below those that kernels give to clients */
    PORTS = 10000,
    KEPT_LINES = 4,
    LINE_BYTES = 256,
    WAIT_MS = 100,
};
#define START_NS INT64_C(60000000000)
#define MEASURE_NS INT64_C(60000000000)
#define END_NS INT64_C(5000000000)
#define CAUSE_NS INT64_C(2000000000)

typedef struct prober {
    cse_host_process *process; /* NULL: not started, or gone */
    int asked;                 /* the host that it measures; -1: none */
    char lines[KEPT_LINES][LINE_BYTES];
    int line_count;
} prober;

typedef struct probe {
    cse_arena *arena;
    const cse_probing *probing;
    cse_probed_hosts *probed;
    cse_agent_place place;
    prober *probers;
    struct pollfd *polled;
    bool ends; /* all probers are told to */
} probe;

static void say_why(cse_probed *of, const char *text)
{
    if (of->why == NULL)
        of->why = strdup(text);
}

/* ---- what probers say ---- */

static void take_facts(probe *p, int host, json_t *facts)
{
    cse_probed *of = &p->probed->hosts[host];
    const json_t *peer = json_object_get(facts, "peer");
    prober *from = &p->probers[host];
    if (json_is_integer(peer)) {
        if (from->asked < 0 || json_integer_value(peer) != from->asked)
            return;
        of = &p->probed->pairs[host * p->probed->count + from->asked];
        from->asked = -1;
        const char *error = cse_json_text(facts, "error", NULL);
        if (error != NULL) {
            say_why(of, error);
            return;
        }
    }
    if (of->facts == NULL && of->why == NULL)
        of->facts = json_incref(facts);
}

static void on_line(void *self, const char *host, bool is_error, const char *line)
{
    probe *p = self;
    const size_t mark = sizeof CSE_PROBE_MARK - 1;
    const int h = cse_host_list_find(p->probing->list, host);
    if (h < 0)
        return;
    prober *from = &p->probers[h];
    if (is_error || strncmp(line, CSE_PROBE_MARK, mark) != 0) {
        snprintf(from->lines[from->line_count++ % KEPT_LINES], LINE_BYTES, "%s", line);
        return;
    }
    json_t *facts = cse_json_from_others(line + mark, strlen(line + mark));
    if (json_is_object(facts))
        take_facts(p, h, facts);
    json_decref(facts);
}

static void note_end(probe *p, int host, cse_host_end end)
{
    const prober *of = &p->probers[host];
    const int first = of->line_count > KEPT_LINES ? of->line_count - KEPT_LINES : 0;
    char ended[512];
    cse_text why = { 0 };
    cse_text_add(&why, "%s", cse_host_end_text(of->process, end, ended, sizeof ended));
    for (int i = first; i < of->line_count; i++)
        cse_text_add(&why, "%s%s", i == first ? "; it printed: " : " | ",
                     of->lines[i % KEPT_LINES]);
    say_why(&p->probed->hosts[host], why.data);
    if (of->asked >= 0)
        say_why(&p->probed->pairs[host * p->probed->count + of->asked], why.data);
    cse_text_clear(&why);
}

/* ---- turns ---- */

static void turn(probe *p)
{
    int count = 0;
    for (int h = 0; h < p->probed->count; h++)
        if (p->probers[h].process != NULL)
            count += cse_host_process_poll(p->probers[h].process, p->polled + count);
    poll(p->polled, (nfds_t)count, WAIT_MS);
    for (int h = 0; h < p->probed->count; h++) {
        prober *of = &p->probers[h];
        cse_host_end end;
        if (of->process == NULL)
            continue;
        cse_host_process_turn(of->process);
        if (!cse_host_process_gone(of->process, &end))
            continue;
        if (!p->ends)
            note_end(p, h, end);
        of->asked = -1;
        cse_host_process_destroy(&of->process);
    }
}

static bool is_there(const probe *p, int host)
{
    return p->probers[host].process != NULL && p->probed->hosts[host].facts != NULL;
}

static bool any_awaited(const probe *p, bool starting)
{
    for (int h = 0; h < p->probed->count; h++)
        if (p->probers[h].process != NULL &&
            (starting ? p->probed->hosts[h].facts == NULL : p->probers[h].asked >= 0))
            return true;
    return false;
}

/* Until all have answered that were started, or asked. */
static cse_status wait_for_all(probe *p, bool starting, int64_t most_ns)
{
    const int64_t deadline = cse_clock_ns() + most_ns;
    char why[96];
    while (any_awaited(p, starting) && cse_clock_ns() < deadline) {
        if (p->probing->stops())
            return cse_fail(CSE_INTERRUPTED, "doctor: ended by a signal");
        turn(p);
    }
    snprintf(why, sizeof why, "no answer within %.0f s", 1e-9 * (double)most_ns);
    for (int h = 0; h < p->probed->count; h++) {
        prober *of = &p->probers[h];
        if (of->process == NULL || (starting ? p->probed->hosts[h].facts != NULL : of->asked < 0))
            continue;
        say_why(&p->probed->hosts[h], why);
        if (of->asked >= 0)
            say_why(&p->probed->pairs[h * p->probed->count + of->asked], why);
        of->asked = -1;
        cse_host_process_destroy(&of->process);
    }
    return CSE_OK;
}

/* ---- start ---- */

static bool is_local(const probe *p)
{
    return strcmp(p->probing->launcher->name, "local") == 0;
}

static cse_status make_place(probe *p)
{
    unsigned random[2];
    if (getrandom(p->place.key, sizeof p->place.key, 0) != sizeof p->place.key ||
        getrandom(random, sizeof random, 0) != sizeof random)
        return cse_fail(CSE_TEMPORARY, "doctor: the kernel gives no random bytes");
    const int first =
        p->probing->port > 0 ? p->probing->port : FIRST_PORT + (int)(random[0] % PORTS);
    p->place.host_count = p->probed->count;
    p->place.epoch = random[1];
    p->place.lease_ns = 1;
    p->place.link = "tcp";
    p->place.log_level = "ERROR";
    p->place.confinement = "";
    p->place.run = "doctor";
    for (int h = 0; h < p->probed->count; h++) {
        const cse_host_entry *host = &p->probing->list->hosts[h];
        const char *name = is_local(p) ? "127.0.0.1" : host->name;
        p->place.names[h] = host->name;
        p->place.movers[h] = "-";
        p->place.addresses[h] =
            cse_arena_printf(p->arena, strchr(name, ':') != NULL ? "[%s]:%d" : "%s:%d", name,
                             host->port > 0 ? host->port : first + 2 * h);
    }
    return CSE_OK;
}

static cse_status start_prober(probe *p, int host, const char *program)
{
    const char *const command[] = { program, "probe", NULL };
    cse_agent_place place = p->place;
    cse_text text = { 0 };
    const cse_host_launch launch = { .host = p->place.names[host],
                                     .command = command,
                                     .options = p->probing->launcher_options,
                                     .on_line = on_line,
                                     .self = p };
    place.host = host;
    CSE_TRY(cse_host_process_start(p->probing->launcher, &launch, &p->probers[host].process));
    cse_agent_place_encode(&place, &text);
    cse_status status = cse_host_process_send(p->probers[host].process, text.data, text.size);
    memset(text.data, 0, text.size); /* the key */
    cse_text_clear(&text);
    return status;
}

/* A launcher that can start nothing at all fails; a host that cannot be started is told of. */
static cse_status start_probers(probe *p)
{
    char program[PATH_MAX];
    CSE_TRY(cse_worker_executable(NULL, program, sizeof program));
    for (int h = 0; h < p->probed->count; h++) {
        cse_status status = start_prober(p, h, program);
        if (status == CSE_CONFIG || status == CSE_TEMPORARY)
            return status;
        if (status != CSE_OK)
            say_why(&p->probed->hosts[h], cse_error_message());
    }
    return wait_for_all(p, true, START_NS);
}

/* ---- rounds ---- */

/* The partner of a host in a round of a tournament of `players`, an even number. */
static int partner(int host, int round, int players)
{
    const int others = players - 1;
    if (host == others)
        return round;
    if (host == round)
        return others;
    return (2 * round - host + 2 * others) % others;
}

static void ask(probe *p, int from, int to)
{
    char command[32];
    const int length = snprintf(command, sizeof command, "measure %d\n", to);
    const cse_probed *back = &p->probed->pairs[to * p->probed->count + from];
    if (back->why != NULL) { /* one connection serves both directions */
        say_why(&p->probed->pairs[from * p->probed->count + to], back->why);
        return;
    }
    if (is_there(p, from) && is_there(p, to) &&
        cse_host_process_send(p->probers[from].process, command, (size_t)length) == CSE_OK)
        p->probers[from].asked = to;
}

static cse_status measure_all(probe *p)
{
    const int count = p->probed->count, players = count + count % 2;
    for (int round = 0; round < players - 1; round++)
        for (int side = 0; side < 2; side++) {
            for (int h = 0; h < count; h++) {
                const int other = partner(h, round, players);
                if (other < count && (h < other) == (side == 0))
                    ask(p, h, other);
            }
            CSE_TRY(wait_for_all(p, false, MEASURE_NS));
        }
    return CSE_OK;
}

/* ---- end ---- */

static bool any_link_failed(const probe *p)
{
    for (int i = 0; i < p->probed->count * p->probed->count; i++)
        if (p->probed->pairs[i].why != NULL)
            return true;
    return false;
}

static int processes(const probe *p)
{
    int count = 0;
    for (int h = 0; h < p->probed->count; h++)
        count += p->probers[h].process != NULL;
    return count;
}

/* When the process of a host ends, its links fail first. Waits until that end is known, too, so
 * that the report names the cause. */
static void wait_for_causes(probe *p)
{
    const int64_t deadline = cse_clock_ns() + CAUSE_NS;
    const int before = processes(p);
    while (any_link_failed(p) && before == p->probed->count && processes(p) == before &&
           cse_clock_ns() < deadline && !p->probing->stops())
        turn(p);
}

static void end_probers(probe *p)
{
    const int64_t deadline = cse_clock_ns() + END_NS;
    p->ends = true;
    for (int h = 0; h < p->probed->count; h++)
        if (p->probers[h].process != NULL)
            cse_host_process_close_input(p->probers[h].process);
    while (processes(p) > 0 && cse_clock_ns() < deadline)
        turn(p);
    for (int h = 0; h < p->probed->count; h++)
        if (p->probers[h].process != NULL)
            cse_host_process_destroy(&p->probers[h].process);
}

cse_status cse_probe_hosts(const cse_probing *probing, cse_probed_hosts *probed)
{
    const size_t count = (size_t)probing->list->count;
    probe p = { .arena = cse_arena_new(), .probing = probing, .probed = probed };
    *probed = (cse_probed_hosts){ .count = (int)count };
    probed->names = cse_calloc(count, sizeof *probed->names);
    probed->hosts = cse_calloc(count, sizeof *probed->hosts);
    probed->pairs = cse_calloc(count * count, sizeof *probed->pairs);
    p.probers = cse_calloc(count, sizeof *p.probers);
    p.polled = cse_calloc(count * CSE_HOST_PROCESS_POLLED, sizeof *p.polled);
    for (size_t h = 0; h < count; h++) {
        probed->names[h] = probing->list->hosts[h].name;
        p.probers[h].asked = -1;
    }
    cse_status status = make_place(&p);
    if (status == CSE_OK)
        status = start_probers(&p);
    if (status == CSE_OK)
        status = measure_all(&p);
    if (status == CSE_OK)
        wait_for_causes(&p);
    cse_error *failure = status != CSE_OK ? cse_error_copy(cse_error_last()) : NULL;
    end_probers(&p);
    if (failure != NULL)
        cse_fail_again(failure);
    free(failure);
    memset(p.place.key, 0, sizeof p.place.key);
    free(p.probers);
    free(p.polled);
    cse_arena_destroy(&p.arena);
    return status;
}

static void clear(cse_probed *of)
{
    json_decref(of->facts);
    free(of->why);
}

void cse_probed_hosts_clear(cse_probed_hosts *probed)
{
    for (int i = 0; probed->hosts != NULL && i < probed->count; i++)
        clear(&probed->hosts[i]);
    for (int i = 0; probed->pairs != NULL && i < probed->count * probed->count; i++)
        clear(&probed->pairs[i]);
    free(probed->names);
    free(probed->hosts);
    free(probed->pairs);
    *probed = (cse_probed_hosts){ .count = 0 };
}
