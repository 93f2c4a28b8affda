/* Random programs for three hosts, made by a seed: frames of random sizes, hosts that hold others,
 * close and come back, and between host 1 and host 0 a relay that cuts and changes connections.
 *
 * A frame carries who sent it, the how manieth connection of its sender it was sent in, and the how
 * manieth frame of that connection it is. So a receiver knows what must hold: between CONNECTED and
 * LOST the frames of one connection arrive, from the first one on, without a gap, and connections
 * never come back.
 *
 *     CSE_LINK_SEEDS=FIRST:COUNT    other seeds */
#include "tests/workers/link_relay.h"

enum { HOSTS = 3, STEPS = 3000, HEAD = 24, MOST = 100000 };

typedef struct view {
    bool connected;
    uint64_t sends_in; /* number of its connection, by its sender's count */
    uint64_t sent;
    uint64_t newest;   /* connection of the other side whose frames arrived; 0: none */
    uint64_t expected; /* frame of it; 0 after CONNECTED */
} view;

typedef struct program {
    stage s;
    relay r;
    uint64_t seed;
    uint32_t drawn;
    uint64_t connections[HOSTS];
    view views[HOSTS][HOSTS]; /* of [host], of [other] */
    bool held[HOSTS][HOSTS];
    int64_t frames;
    unsigned char *bytes;
} program;

static uint32_t draw(program *p, uint32_t below)
{
    uint32_t words[4];
    cse_philox(p->seed, (const uint32_t[4]){ p->drawn++ }, words);
    return words[0] % below;
}

static relay_edit edit_of(const relay *r, int connection)
{
    uint32_t words[4];
    cse_philox(r->seed, (const uint32_t[4]){ (uint32_t)connection, 1 }, words);
    return (relay_edit){ .kind = words[0] % 2 ? RELAY_NOTHING
                                              : (relay_edit_kind)(RELAY_FLIP + words[0] / 2 % 4),
                         .direction = words[1] % 2,
                         .at = words[2] % (words[1] % 4 < 2 ? 300 : 400000),
                         .length = 1 + words[3] % 100 };
}

static void put_head(program *p, int from, int to, size_t size)
{
    view *v = &p->views[from][to];
    const uint64_t head[3] = { (uint64_t)from, v->sends_in, v->sent };
    stage_fill(p->bytes, size, from, (int64_t)v->sent);
    memcpy(p->bytes, head, HEAD);
}

static void send_one(program *p, int from, int to, size_t size)
{
    view *v = &p->views[from][to];
    if (!v->connected || p->s.hosts[from].state == NULL)
        return;
    put_head(p, from, to, size);
    cse_status status = p->s.link->send(p->s.hosts[from].state, to, p->bytes, size / 2,
                                        p->bytes + size / 2, size - size / 2);
    if (status == CSE_OK)
        v->sent++;
    else
        ck_assert(status == CSE_TEMPORARY || status == CSE_UNAVAILABLE);
}

static void take_frame(program *p, int host, const kept_event *event)
{
    view *v = &p->views[host][event->host];
    uint64_t head[3];
    ck_assert(v->connected && !p->held[host][event->host]);
    ck_assert_uint_ge(event->size, HEAD);
    memcpy(head, event->bytes, HEAD);
    ck_assert_uint_eq(head[0], (uint64_t)event->host);
    if (v->expected == 0)
        ck_assert_uint_gt(head[1], v->newest);
    else
        ck_assert_uint_eq(head[1], v->newest);
    v->newest = head[1];
    ck_assert_uint_eq(head[2], v->expected++);
    for (size_t i = HEAD; i < event->size; i++)
        if (event->bytes[i] != stage_byte(event->host, (int64_t)head[2], i))
            ck_abort_msg("seed %llu: byte %zu of a frame", (unsigned long long)p->seed, i);
    p->frames++;
}

/* Serves one host, and takes what happened at once. */
static void serve(program *p, int host)
{
    stage_host *h = &p->s.hosts[host];
    if (!stage_serve(&p->s, host))
        return;
    kept_event event = h->events[--h->event_count];
    view *v = &p->views[host][event.host];
    if (event.kind == CSE_HOST_LINK_CONNECTED) {
        ck_assert(!v->connected);
        v->connected = true;
        v->sends_in = ++p->connections[host];
        v->sent = v->expected = 0;
    } else if (event.kind == CSE_HOST_LINK_LOST) {
        ck_assert(v->connected);
        v->connected = false;
    } else {
        take_frame(p, host, &event);
    }
    free(event.bytes);
}

static void hold(program *p, int host, int other, bool held)
{
    if (p->s.hosts[host].state == NULL)
        return;
    p->s.link->hold(p->s.hosts[host].state, other, held);
    p->held[host][other] = held;
}

static void close_host(program *p, int host)
{
    if (p->s.hosts[host].state == NULL)
        return;
    p->s.link->close(&p->s.hosts[host].state);
    for (int other = 0; other < HOSTS; other++) {
        p->views[host][other].connected = false;
        p->held[host][other] = false;
    }
}

static void open_host(program *p, int host)
{
    if (p->s.hosts[host].state != NULL)
        return;
    p->s.instead = host == 1 ? p->r.address : NULL;
    stage_open(&p->s, host);
}

static void step(program *p)
{
    int host = (int)draw(p, HOSTS), other = (host + 1 + (int)draw(p, HOSTS - 1)) % HOSTS;
    uint32_t what = draw(p, 100);
    if (what < 40)
        send_one(p, host, other, HEAD + draw(p, draw(p, 8) == 0 ? MOST - HEAD : 300));
    else if (what < 44)
        hold(p, host, other, draw(p, 2));
    else if (what < 45)
        close_host(p, host);
    else if (what < 50)
        open_host(p, host);
    else
        serve(p, host);
}

/* All are there, and a connection lasts as long as it takes to send a frame. */
static void come_to_rest(program *p)
{
    int64_t end = cse_clock_ns() + STAGE_LIMIT_MS * INT64_C(1000000), served = 0;
    atomic_store(&p->r.calms, true);
    for (int h = 0; h < HOSTS; h++) {
        open_host(p, h);
        for (int o = 0; o < HOSTS; o++)
            hold(p, h, o, false);
    }
    for (int left = 1; left > 0 || served < 200; served++) {
        left = 0;
        for (int h = 0; h < HOSTS; h++)
            serve(p, h);
        for (int h = 0; h < HOSTS; h++)
            for (int o = 0; o < HOSTS; o++)
                if (h != o && p->views[h][o].connected && p->views[h][o].sent == 0)
                    send_one(p, h, o, HEAD);
        for (int h = 0; h < HOSTS; h++)
            for (int o = 0; o < HOSTS; o++)
                left += h != o && (!p->views[h][o].connected ||
                                   p->views[h][o].newest != p->views[o][h].sends_in ||
                                   p->views[h][o].expected != p->views[o][h].sent);
        if (left > 0)
            cse_sleep_ns(20000);
        ck_assert_msg(cse_clock_ns() < end, "seed %llu does not come to rest",
                      (unsigned long long)p->seed);
    }
}

static int64_t run(uint64_t seed)
{
    program *p = cse_calloc(1, sizeof *p);
    p->seed = seed;
    p->s = stage_of(tcp_link(), HOSTS);
    p->bytes = cse_malloc(MOST);
    p->s.options.plain = seed % 2;
    p->r.seed = seed;
    p->r.edit_of = edit_of;
    stage_open(&p->s, 0);
    relay_begin(&p->r, &p->s);
    for (int h = 1; h < HOSTS; h++)
        open_host(p, h);
    for (int i = 0; i < STEPS; i++)
        step(p);
    come_to_rest(p);
    int64_t frames = p->frames;
    stage_close(&p->s);
    relay_end(&p->r);
    relay_forget(&p->r);
    free(p->bytes);
    free(p);
    return frames;
}

START_TEST(what_arrives_was_sent_in_this_order)
{
    const char *given = getenv("CSE_LINK_SEEDS");
    unsigned long long first = 1, count = 8;
    if (given != NULL)
        ck_assert_msg(sscanf(given, "%llu:%llu", &first, &count) == 2,
                      "CSE_LINK_SEEDS=%s: accepted is FIRST:COUNT", given);
    int64_t frames = 0;
    for (unsigned long long seed = first; seed < first + count; seed++)
        frames += run(seed);
    printf("%llu programs, %lld frames\n", count, (long long)frames);
    ck_assert_int_gt(frames, 10 * (int64_t)count);
}
END_TEST

static void quiet(void *self, const cse_log_record *record)
{
    (void)self;
    (void)record;
}

int main(void)
{
    Suite *suite = suite_create("link programs");
    TCase *tests = tcase_create("link programs");
    cse_log_set_sink(quiet, NULL);
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, what_arrives_was_sent_in_this_order);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
