/* The whole mesh is one table; a host that is not scheduled takes nothing from it. */
#include "tests/support/memory_link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 16 };

typedef struct frame {
    unsigned char *bytes;
    size_t size;
} frame;

/* From one host to another. */
typedef struct channel {
    frame frames[MOST_FRAMES];
    int count;
} channel;

struct cse_host_link_state {
    int host;
    uint64_t session;
    bool up[CSE_MAX_HOSTS]; /* CONNECTED was delivered, LOST was not */
    bool held[CSE_MAX_HOSTS];
    unsigned char *view;
};

static struct {
    int hosts, most_queued;
    uint64_t random;
    long delivered;
    cse_host_link_state *open[CSE_MAX_HOSTS];
    bool joined[CSE_MAX_HOSTS][CSE_MAX_HOSTS]; /* a connection stands, a < b */
    channel channels[CSE_MAX_HOSTS][CSE_MAX_HOSTS];
    cse_host_link_counts counts[CSE_MAX_HOSTS][CSE_MAX_HOSTS];
} mesh;

static unsigned random_below(unsigned n)
{
    mesh.random = mesh.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(mesh.random >> 33) % n;
}

static bool *joined(int a, int b)
{
    return a < b ? &mesh.joined[a][b] : &mesh.joined[b][a];
}

static void empty(channel *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->frames[i].bytes);
    c->count = 0;
}

void memory_link_break(int a, int b)
{
    *joined(a, b) = false;
    empty(&mesh.channels[a][b]);
    empty(&mesh.channels[b][a]);
}

void memory_link_reset(int hosts, uint64_t seed, int most_queued)
{
    assert(hosts <= CSE_MAX_HOSTS && most_queued <= MOST_FRAMES);
    for (int a = 0; a < mesh.hosts; a++)
        for (int b = 0; b < mesh.hosts; b++)
            if (a != b)
                memory_link_break(a, b);
    for (int a = 0; a < hosts; a++)
        memset(mesh.counts[a], 0, sizeof mesh.counts[a]);
    mesh.hosts = hosts;
    mesh.most_queued = most_queued;
    mesh.random = seed;
    mesh.delivered = 0;
}

long memory_link_delivered(void)
{
    return mesh.delivered;
}

static cse_status link_open(const cse_host_link_options *options, cse_host_link_state **result)
{
    cse_host_link_state *state = calloc(1, sizeof *state);
    assert(mesh.open[options->host] == NULL && options->host_count == mesh.hosts);
    state->host = options->host;
    state->session = options->session;
    mesh.open[options->host] = state;
    *result = state;
    return CSE_OK;
}

static cse_status link_send(cse_host_link_state *state, int host, const void *first,
                            size_t first_bytes, const void *second, size_t second_bytes)
{
    channel *c = &mesh.channels[state->host][host];
    if (!state->up[host] || !*joined(state->host, host))
        return CSE_UNAVAILABLE;
    if (c->count >= mesh.most_queued)
        return CSE_TEMPORARY;
    frame *f = &c->frames[c->count++];
    f->size = first_bytes + second_bytes;
    f->bytes = malloc(f->size);
    memcpy(f->bytes, first, first_bytes);
    if (second_bytes > 0)
        memcpy(f->bytes + first_bytes, second, second_bytes);
    mesh.counts[state->host][host].frames_sent++;
    mesh.counts[state->host][host].bytes_sent += (int64_t)f->size;
    return CSE_OK;
}

static bool connects(cse_host_link_state *state, int host, cse_host_link_event *event)
{
    cse_host_link_state *other = mesh.open[host];
    bool *stands = joined(state->host, host);
    if (state->up[host] && !*stands) {
        state->up[host] = false;
        *event = (cse_host_link_event){ .kind = CSE_HOST_LINK_LOST, .host = host };
        return true;
    }
    if (state->up[host] || other == NULL || other->session != state->session)
        return false;
    /* A new connection begins when neither side is in the one before. */
    if (!*stands && (other->up[state->host] || random_below(3) != 0))
        return false;
    *stands = true;
    state->up[host] = true;
    *event = (cse_host_link_event){ .kind = CSE_HOST_LINK_CONNECTED, .host = host };
    return true;
}

static bool delivers(cse_host_link_state *state, int host, cse_host_link_event *event)
{
    channel *c = &mesh.channels[host][state->host];
    if (!state->up[host] || state->held[host] || c->count == 0 || random_below(2) == 0)
        return false;
    const frame f = c->frames[0];
    memmove(c->frames, c->frames + 1, (size_t)--c->count * sizeof f);
    state->view = f.bytes;
    mesh.counts[state->host][host].frames_received++;
    mesh.counts[state->host][host].bytes_received += (int64_t)f.size;
    mesh.delivered++;
    *event = (cse_host_link_event){
        .kind = CSE_HOST_LINK_FRAME, .host = host, .bytes = f.bytes, .size = f.size
    };
    return true;
}

static cse_status link_next(cse_host_link_state *state, int64_t deadline_ns,
                            cse_host_link_event *event)
{
    const int first = (int)random_below((unsigned)mesh.hosts);
    (void)deadline_ns;
    free(state->view);
    state->view = NULL;
    for (int i = 0; i < mesh.hosts; i++) {
        const int host = (first + i) % mesh.hosts;
        if (host != state->host && (connects(state, host, event) || delivers(state, host, event)))
            return CSE_OK;
    }
    *event = (cse_host_link_event){ .kind = CSE_HOST_LINK_NOTHING };
    return CSE_OK;
}

static void link_hold(cse_host_link_state *state, int host, bool held)
{
    state->held[host] = held;
}

static bool link_connected(const cse_host_link_state *state, int host)
{
    return state->up[host];
}

static bool link_drained(const cse_host_link_state *state, int host)
{
    return mesh.channels[state->host][host].count == 0;
}

static cse_host_link_counts link_counts(const cse_host_link_state *state, int host)
{
    return mesh.counts[state->host][host];
}

cse_host_link_counts memory_link_counts(int host, int other)
{
    return mesh.counts[host][other];
}

/* As when a process is killed: what is on its way is lost. */
static void link_close(cse_host_link_state **state)
{
    cse_host_link_state *s = *state;
    if (s == NULL)
        return;
    for (int h = 0; h < mesh.hosts; h++)
        if (h != s->host)
            memory_link_break(s->host, h);
    mesh.open[s->host] = NULL;
    free(s->view);
    free(s);
    *state = NULL;
}

const cse_host_link memory_link = {
    .name = "memory",
    .summary = "hosts of one thread",
    .open = link_open,
    .send = link_send,
    .next = link_next,
    .hold = link_hold,
    .connected = link_connected,
    .drained = link_drained,
    .counts = link_counts,
    .close = link_close,
};
