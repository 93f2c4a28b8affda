/* Answers to pings come from the loop that waits for frames, so a round trip is what two movers
 * have, scheduling and cipher with it. The clocks of two hosts are compared by the ping with the
 * shortest round trip: half of that is how far the difference can be wrong. */
#include "run/hosts/probe_host.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/machine.h"
#include "workers/group/agent_place.h"
#include "workers/group/host_identity.h"

enum {
    PINGS = 300,
    CLOCK_PINGS = 50, /* of the second comparison of clocks */
    PING_BYTES = 64,
    FIRST_DATA_BYTES = 16 << 10,
    DATA_BYTES = 1 << 20,
    MOST_UNDER_WAY = 6, /* data frames; a link queues 8 MiB */
    COMMAND_BYTES = 64,
};
#define CONNECT_NS INT64_C(2000000000)        /* of a measurement */
#define FIRST_CONNECT_NS INT64_C(10000000000) /* since the program has begun */
#define ANSWER_NS INT64_C(10000000000)
#define PINGING_NS INT64_C(500000000)
#define SENDING_NS INT64_C(500000000)
#define IDLE_NS INT64_C(1000000000)

/* The first byte of each frame. */
enum { PING = 1, PONG, DATA, TAKEN };

typedef struct ping {
    unsigned char kind;
    unsigned char unused[7];
    int64_t number, unix_ns; /* unix_ns: of who answers */
    unsigned char rest[PING_BYTES - 24];
} ping;

typedef struct prober {
    const cse_prober *options;
    cse_arena *arena;
    cse_agent_place place;
    const cse_host_link *link;
    cse_host_link_state *state;
    unsigned char *data;
    int64_t begun_ns; /* links try to connect since then */
    bool ended;
    char command[COMMAND_BYTES]; /* as far as it is read */
    size_t command_bytes;
    bool has_command;
} prober;

typedef struct round_trips {
    int count;
    int64_t ns[PINGS];
} round_trips;

/* How a peer's clock stood against the own one. */
typedef struct clock_offset {
    int64_t offset_ns, error_ns, at_ns;
} clock_offset;

/* ---- input ---- */

/* Reads what is there, up to the end of one command. */
static void read_input(prober *p)
{
    struct pollfd input = { .fd = p->options->input, .events = POLLIN };
    char byte;
    while (!p->ended && !p->has_command && poll(&input, 1, 0) > 0) {
        const ssize_t got = read(p->options->input, &byte, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || p->command_bytes + 1 >= sizeof p->command)
            p->ended = true;
        else if (byte != '\n')
            p->command[p->command_bytes++] = byte;
        else
            p->has_command = true;
    }
}

/* ---- answering ---- */

static void answer(prober *p, const cse_host_link_event *event)
{
    ping pong = { .kind = PONG };
    if (event->kind != CSE_HOST_LINK_FRAME || event->size == 0)
        return;
    if (event->bytes[0] == PING && event->size == sizeof pong) {
        memcpy(&pong, event->bytes, sizeof pong);
        pong.kind = PONG;
        pong.unix_ns = cse_unix_ns();
        p->link->send(p->state, event->host, &pong, sizeof pong, NULL, 0);
    } else if (event->bytes[0] == DATA) {
        const unsigned char taken = TAKEN;
        p->link->send(p->state, event->host, &taken, 1, NULL, 0);
    }
}

/* Waits for an event; what is not of `host` and of `kind` is answered. False: none until then, the
 * host was lost, or this program is to end. */
static bool wait_for(prober *p, int host, unsigned char kind, int64_t deadline_ns,
                     cse_host_link_event *event)
{
    while (cse_clock_ns() < deadline_ns) {
        if (p->link->next(p->state, deadline_ns, event) != CSE_OK)
            return false;
        if (event->host == host && event->kind == CSE_HOST_LINK_LOST)
            return false;
        if (event->host == host && event->kind == CSE_HOST_LINK_FRAME && event->size > 0 &&
            event->bytes[0] == kind)
            return true;
        answer(p, event);
        read_input(p);
        if (p->ended || p->has_command) /* nobody waits for the answer any more */
            return false;
    }
    return false;
}

/* ---- measuring ---- */

static cse_status no_answer(const prober *p, int host)
{
    if (!p->link->connected(p->state, host))
        return cse_fail(CSE_UNAVAILABLE, "the connection ended while it was measured");
    return cse_fail(CSE_UNAVAILABLE, "no answer within %.0f s", 1e-9 * (double)ANSWER_NS);
}

static cse_status connect_to(prober *p, int host)
{
    const int64_t now = cse_clock_ns(), first = p->begun_ns + FIRST_CONNECT_NS;
    const int64_t deadline = now + CONNECT_NS > first ? now + CONNECT_NS : first;
    cse_host_link_event event;
    while (!p->link->connected(p->state, host) && cse_clock_ns() < deadline && !p->ended)
        wait_for(p, host, 0, cse_clock_ns() + 50000000, &event);
    if (p->link->connected(p->state, host))
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE, "no connection within %.0f s",
                    1e-9 * (double)(cse_clock_ns() - p->begun_ns));
}

/* Round trips of up to `count` pings. */
static cse_status send_pings(prober *p, int host, int count, round_trips *trips,
                             clock_offset *clock)
{
    const int64_t end = cse_clock_ns() + PINGING_NS;
    clock->error_ns = INT64_MAX;
    for (trips->count = 0; trips->count < count && (trips->count == 0 || cse_clock_ns() < end);
         trips->count++) {
        cse_host_link_event event;
        ping sent = { .kind = PING, .number = trips->count }, pong;
        const int64_t begun = cse_clock_ns(), begun_unix = cse_unix_ns();
        CSE_TRY(p->link->send(p->state, host, &sent, sizeof sent, NULL, 0));
        if (!wait_for(p, host, PONG, begun + ANSWER_NS, &event) || event.size != sizeof pong)
            return no_answer(p, host);
        memcpy(&pong, event.bytes, sizeof pong);
        const int64_t now = cse_clock_ns(), trip = now - begun;
        trips->ns[trips->count] = trip;
        if (trip / 2 < clock->error_ns)
            *clock = (clock_offset){ pong.unix_ns - begun_unix - trip / 2, trip / 2, now };
    }
    return CSE_OK;
}

/* Frames grow, and so does their number under way, until the time is over: a slow link has few
 * bytes to take after that. Counted is what was taken after the first answer. */
static cse_status send_data(prober *p, int host, double *bytes_per_s)
{
    const int64_t begun = cse_clock_ns();
    int64_t first = 0, last = begun, counted = 0;
    size_t sizes[MOST_UNDER_WAY], size = FIRST_DATA_BYTES;
    int under_way = 0, most = 1, oldest = 0;
    for (;;) {
        cse_host_link_event event;
        while (under_way < most && (first == 0 || cse_clock_ns() - begun < SENDING_NS)) {
            p->data[0] = DATA;
            cse_status status = p->link->send(p->state, host, p->data, size, NULL, 0);
            if (status == CSE_TEMPORARY)
                break;
            CSE_TRY(status);
            sizes[(oldest + under_way++) % MOST_UNDER_WAY] = size;
        }
        if (under_way == 0)
            break;
        if (!wait_for(p, host, TAKEN, cse_clock_ns() + ANSWER_NS, &event))
            return no_answer(p, host);
        last = cse_clock_ns();
        if (first == 0)
            first = last;
        else
            counted += (int64_t)sizes[oldest];
        oldest = (oldest + 1) % MOST_UNDER_WAY;
        under_way--;
        size = size < DATA_BYTES ? 2 * size : DATA_BYTES;
        most = most < MOST_UNDER_WAY ? most + 1 : MOST_UNDER_WAY;
    }
    *bytes_per_s = counted > 0 && last > first ? (double)counted / (1e-9 * (double)(last - first))
                                               : FIRST_DATA_BYTES / (1e-9 * (double)(last - begun));
    return CSE_OK;
}

static int compare_trips(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static cse_status measure(prober *p, int host, json_t *result)
{
    round_trips trips, later;
    clock_offset first, second;
    double bytes_per_s = 0;
    CSE_TRY(connect_to(p, host));
    CSE_TRY(send_pings(p, host, PINGS, &trips, &first));
    qsort(trips.ns, (size_t)trips.count, sizeof *trips.ns, compare_trips);
    const int64_t median = trips.ns[trips.count / 2], late = trips.ns[(trips.count * 99) / 100];
    CSE_TRY(send_data(p, host, &bytes_per_s));
    CSE_TRY(send_pings(p, host, CLOCK_PINGS, &later, &second));
    const double elapsed = (double)(second.at_ns - first.at_ns);
    const double drift = (double)(second.offset_ns - first.offset_ns) / elapsed;
    const double drift_error = (double)(second.error_ns + first.error_ns) / elapsed;
    const bool drifts = drift > 2 * drift_error || drift < -2 * drift_error;
    json_object_set_new(result, "round_trips", json_integer(trips.count));
    json_object_set_new(result, "latency_s", json_real(1e-9 * (double)median));
    json_object_set_new(result, "latency_p99_s", json_real(1e-9 * (double)late));
    json_object_set_new(result, "bytes_per_s", json_real(bytes_per_s));
    json_object_set_new(result, "clock_offset_s", json_real(1e-9 * (double)second.offset_ns));
    json_object_set_new(result, "clock_error_s", json_real(1e-9 * (double)second.error_ns));
    json_object_set_new(result, "clock_drift_ppm", drifts ? json_real(1e6 * drift) : json_null());
    return CSE_OK;
}

/* ---- commands ---- */

static void say(const prober *p, json_t *object)
{
    p->options->say(object);
    json_decref(object);
}

static void obey(prober *p)
{
    int host = -1;
    p->command[p->command_bytes] = '\0';
    p->command_bytes = 0;
    p->has_command = false;
    if (sscanf(p->command, "measure %d", &host) != 1 || host < 0 || host >= p->place.host_count ||
        host == p->place.host) {
        p->ended = true;
        return;
    }
    json_t *result = json_pack("{s:i}", "peer", host);
    if (measure(p, host, result) != CSE_OK)
        json_object_set_new(result, "error", json_string(cse_error_message()));
    say(p, result);
}

static void introduce(prober *p)
{
    cse_host_identity identity;
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    cse_host_identity_new(p->arena, p->place.portable, &identity);
    const cse_machine machine = cse_machine_look();
    say(p, json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:f, s:I, s:I}", "hostname", name, "version",
                     PACKAGE_VERSION, "build", identity.build, "instruction_set",
                     identity.instruction_set, "kernels", identity.kernels, "cores", machine.cores,
                     "free_cores", machine.free_cores, "memory_bytes",
                     (json_int_t)machine.memory_bytes, "memory_free_bytes",
                     (json_int_t)machine.memory_free_bytes));
}

static cse_status open_link(prober *p)
{
    const cse_agent_place *place = &p->place;
    const char *addresses[CSE_MAX_HOSTS];
    cse_host_link_options options = { .host = place->host,
                                      .host_count = place->host_count,
                                      .addresses = addresses,
                                      .plain = place->plain,
                                      .session = (uint64_t)place->epoch,
                                      .wake = p->options->input };
    for (int h = 0; h < place->host_count; h++)
        addresses[h] = place->addresses[h];
    /* A host's name may be that of another interface, or of 127.0.1.1, in its own hosts file. */
    const char *own = addresses[place->host], *port = strrchr(own, ':');
    if (port != NULL && strncmp(own, "127.", 4) != 0)
        addresses[place->host] = port;
    memcpy(options.key, place->key, sizeof options.key);
    CSE_TRY(cse_host_link_select(place->link, &p->link));
    return p->link->open(&options, &p->state);
}

cse_status cse_probe_host(const cse_prober *options)
{
    prober p = { .options = options, .arena = cse_arena_new(), .begun_ns = cse_clock_ns() };
    cse_status status = cse_agent_place_read(options->input, p.arena, &p.place);
    if (status == CSE_OK) {
        cse_log_set_level(cse_log_level_from_name(p.place.log_level));
        status = open_link(&p);
    }
    if (status == CSE_OK) {
        p.data = cse_calloc(1, DATA_BYTES);
        introduce(&p);
    }
    while (status == CSE_OK && !p.ended) {
        cse_host_link_event event;
        status = p.link->next(p.state, cse_clock_ns() + IDLE_NS, &event);
        if (status == CSE_OK)
            answer(&p, &event);
        read_input(&p);
        if (!p.ended && p.has_command)
            obey(&p);
    }
    if (p.state != NULL)
        p.link->close(&p.state);
    free(p.data);
    memset(p.place.key, 0, sizeof p.place.key);
    cse_arena_destroy(&p.arena);
    return status;
}
