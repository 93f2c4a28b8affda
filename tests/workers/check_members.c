/* Membership of hosts under faults that a seed makes, up to 256 of them: messages that are late,
 * repeated, or lost with their connection, partitions, hosts that freeze, crash and start again,
 * clocks that go wrong, and speeds that change. The hosts' arenas are a model: a step ends when all
 * other hosts that count have begun it.
 *
 * Within a connection messages keep their order, as the contract of a link promises; the delays of
 * different connections are independent. CSE_SIMULATION_SEEDS=1:10000 runs more seeds. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "tests/support/sanitized.h"
#include "workers/group/members.h"

#define MS INT64_C(1000000)
#define LEASE_NS (1000 * MS)
#define FAULTS_NS (10000 * MS)
#define END_NS (150000 * MS)
enum {
    USUAL_SEEDS = SANITIZED ? 20 : 200,
    EXECUTIONS = 3,
    MOST_STEPS = 4096,
    MOST_DELAY_TICKS = 31,
    TICKS = 32, /* lists of letters, by the tick in which they arrive */
    LARGE = 8,  /* hosts; above, ticks are longer */
};

typedef struct letter {
    struct letter *next;
    int from, to;
    unsigned connection;
    size_t size;
    unsigned char bytes[];
} letter;

typedef struct letters {
    letter *first, *last;
} letters;

typedef enum phase { COMPILES, WAITS, RUNS, IS_DONE } phase;

typedef struct host {
    cse_members *members;
    cse_members_io io;
    bool alive, was_started_again, tells_wrong;
    int64_t frozen_until_ns, until_ns; /* frozen; compiles */
    phase phase;
    int64_t execution, done, released, microbatch_ns;
    cse_host_work work;
    cse_host_cut cuts[2]; /* the newer one first */
    cse_host_set lost;
    int64_t clock_ns; /* at time 0 */
    double drift;
    letters held; /* that arrived while it was frozen */
} host;

static cse_host_set data_hosts; /* of the worlds that are made; none: all */

typedef struct world {
    uint64_t random;
    int64_t now_ns, tick, tick_ns;
    int count, steps_per_tick;
    int64_t last[EXECUTIONS + 1], ends[EXECUTIONS + 1]; /* steps; where hosts ended, or -1 */
    host hosts[CSE_MAX_HOSTS];
    bool connected[CSE_MAX_HOSTS][CSE_MAX_HOSTS];
    unsigned connections[CSE_MAX_HOSTS][CSE_MAX_HOSTS]; /* how many ended */
    bool cut_off[CSE_MAX_HOSTS];                        /* on the other side of a partition */
    letters due[TICKS];
    int64_t newest_due[CSE_MAX_HOSTS][CSE_MAX_HOSTS];     /* as a tick */
    uint16_t apart[CSE_MAX_HOSTS * CSE_MAX_HOSTS / 2][2]; /* pairs without a connection */
    int apart_count;
    const cse_host_cut *used[EXECUTIONS + 1][MOST_STEPS];
    cse_host_cut kept[EXECUTIONS + 1][MOST_STEPS];
} world;

static world *w;
static unsigned long long seed_now;

static uint64_t draw(uint64_t below)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (w->random >> 33) % below;
}

/* An assertion of check writes a file each time. */
#define hold(condition)                                                                   \
    do {                                                                                  \
        if (!(condition))                                                                 \
            ck_abort_msg("seed %llu: %s: %s", seed_now, #condition, cse_error_message()); \
    } while (0)

/* What the host takes for the time. */
static int64_t time_of(int index)
{
    const host *h = &w->hosts[index];
    return h->clock_ns + w->now_ns + (int64_t)(h->drift * (double)w->now_ns);
}

/* ---- connections ---- */

static void append(letters *list, letter *one)
{
    one->next = NULL;
    if (list->first == NULL)
        list->first = one;
    else
        list->last->next = one;
    list->last = one;
}

static letter *take_first(letters *list)
{
    letter *one = list->first;
    if (one != NULL)
        list->first = one->next;
    return one;
}

static void discard(letters *list)
{
    for (letter *one; (one = take_first(list)) != NULL;)
        free(one);
}

static void note_apart(int a, int b)
{
    w->apart[w->apart_count][0] = (uint16_t)a;
    w->apart[w->apart_count++][1] = (uint16_t)b;
}

static void disconnect(int a, int b)
{
    if (!w->connected[a][b])
        return;
    w->connected[a][b] = w->connected[b][a] = false;
    w->connections[a][b]++;
    w->connections[b][a]++;
    note_apart(a, b);
    cse_members_disconnected(w->hosts[a].members, b);
    cse_members_disconnected(w->hosts[b].members, a);
}

static bool connect_pair(int a, int b)
{
    if (!w->hosts[a].alive || !w->hosts[b].alive || w->cut_off[a] != w->cut_off[b] || draw(4) != 0)
        return false;
    w->connected[a][b] = w->connected[b][a] = true;
    w->newest_due[a][b] = w->newest_due[b][a] = 0;
    cse_members_connected(w->hosts[a].members, b, time_of(a));
    cse_members_connected(w->hosts[b].members, a, time_of(b));
    return true;
}

static void connect_pairs(void)
{
    for (int i = 0; i < w->apart_count;) {
        if (!connect_pair(w->apart[i][0], w->apart[i][1])) {
            i++;
            continue;
        }
        w->apart_count--;
        memcpy(w->apart[i], w->apart[w->apart_count], sizeof w->apart[i]);
    }
}

static void post(int from, int to, const cse_text *bytes)
{
    letter *one = cse_malloc(sizeof *one + bytes->size);
    int64_t due = w->tick + 1 + (int64_t)draw((uint64_t)(20 * MS / w->tick_ns) + 1);
    memcpy(one->bytes, bytes->data, bytes->size);
    one->from = from;
    one->to = to;
    one->connection = w->connections[from][to];
    one->size = bytes->size;
    if (draw(500) == 0)
        due += (int64_t)draw(20);
    if (due < w->newest_due[from][to])
        due = w->newest_due[from][to];
    w->newest_due[from][to] = due;
    hold(due - w->tick <= MOST_DELAY_TICKS);
    append(&w->due[due % TICKS], one);
}

static cse_status send_letter(void *self, int to, const cse_host_message *message)
{
    const int from = (int)((const host *)self - w->hosts);
    cse_text bytes = { 0 };
    if (!w->connected[from][to])
        return CSE_UNAVAILABLE;
    if (draw(50) == 0)
        return CSE_TEMPORARY;
    hold(cse_host_message_encode(message, &bytes) == CSE_OK);
    post(from, to, &bytes);
    if (draw(100) == 0)
        post(from, to, &bytes);
    cse_text_clear(&bytes);
    return CSE_OK;
}

static void receive(letter *one)
{
    cse_host_message message;
    if (w->connected[one->from][one->to] && one->connection == w->connections[one->from][one->to]) {
        hold(cse_host_message_decode(one->bytes, one->size, &message) == CSE_OK);
        hold(cse_members_receive(w->hosts[one->to].members, one->from, &message,
                                 time_of(one->to)) == CSE_OK);
    }
    free(one);
}

static bool is_frozen(const host *h)
{
    return h->frozen_until_ns > w->now_ns;
}

static void deliver(void)
{
    letters due = w->due[w->tick % TICKS];
    w->due[w->tick % TICKS] = (letters){ NULL, NULL };
    for (int h = 0; h < w->count; h++)
        while (!is_frozen(&w->hosts[h]) && w->hosts[h].held.first != NULL)
            receive(take_first(&w->hosts[h].held));
    for (letter *one; (one = take_first(&due)) != NULL;) {
        /* Lost messages are connections that end. */
        if (draw(100000) == 0)
            disconnect(one->from, one->to);
        if (is_frozen(&w->hosts[one->to]))
            append(&w->hosts[one->to].held, one);
        else
            receive(one);
    }
}

/* ---- hosts ---- */

static bool leads(const host *h)
{
    return h == &w->hosts[0];
}

static void start(int index)
{
    host *h = &w->hosts[index];
    cse_members_destroy(&h->members);
    discard(&h->held);
    *h = (host){ .clock_ns = (int64_t)draw(1000000) * MS,
                 .drift = ((double)draw(401) - 200) * 1e-4,
                 .io = { .self = h, .send = send_letter },
                 .alive = true };
    h->members = cse_members_new(&(cse_members_options){ .io = &h->io,
                                                         .host = index,
                                                         .host_count = w->count,
                                                         .data_hosts = data_hosts,
                                                         .epoch = 1,
                                                         .lease_ns = LEASE_NS,
                                                         .process = (int64_t)draw(1 << 30),
                                                         .identity = { "b", "i", "k", "true" } },
                                 time_of(index));
    h->until_ns = w->now_ns + (int64_t)draw(500) * MS;
}

static bool is_lost(int index)
{
    return index != 0 && cse_members_state(w->hosts[0].members, index) == CSE_MEMBER_LOST;
}

static const cse_host_cut *cut_at(const host *h, int64_t step)
{
    return h->cuts[0].first_step <= step ? &h->cuts[0] : &h->cuts[1];
}

/* All hosts that count begin a step with the same cut. */
static void note_cut(const host *h)
{
    const cse_host_cut *cut = cut_at(h, h->done);
    cse_host_cut *kept = &w->kept[h->execution][h->done];
    if (is_lost((int)(h - w->hosts)) || h->done >= w->last[h->execution])
        return;
    if (w->used[h->execution][h->done] == NULL) {
        *kept = *cut;
        w->used[h->execution][h->done] = kept;
    }
    hold(memcmp(kept->bounds, cut->bounds, sizeof kept->bounds[0] * (size_t)(w->count + 1)) == 0);
}

static void begin(host *h)
{
    h->execution++;
    h->done = h->released = 0;
    h->work = (cse_host_work){ .microbatches = 0 };
    h->phase = WAITS;
    cse_members_begin(h->members, &(cse_members_execution){ .number = h->execution,
                                                            .microbatches = 3 * w->count,
                                                            .first_step = 0,
                                                            .last_step = w->last[h->execution] });
}

static void take_turn(host *h)
{
    cse_members_note_steps(h->members, h->done);
    const cse_host_cut *next = cse_members_next_cut(h->members);
    if (next != NULL && next->first_step <= h->done)
        ck_assert_msg(is_lost((int)(h - w->hosts)), "a cut of step %lld came after step %lld",
                      (long long)next->first_step, (long long)h->done);
    else if (next != NULL && h->cuts[0].first_step <= h->done) {
        h->cuts[1] = h->cuts[0];
        h->cuts[0] = *next;
        cse_members_cut_is_set(h->members);
    }
    h->lost = cse_members_lost(h->members);
    const int64_t most = cse_members_most_released(h->members);
    h->released = most > h->released ? most : h->released;
    const bool ends_here = cse_members_ends_here(h->members);
    if (h->done < w->last[h->execution] && !ends_here)
        return;
    if (ends_here && !is_lost((int)(h - w->hosts))) {
        ck_assert(w->ends[h->execution] < 0 || w->ends[h->execution] == h->done);
        w->ends[h->execution] = h->done;
    }
    h->phase = h->execution == EXECUTIONS ? IS_DONE : COMPILES;
    h->until_ns = w->now_ns + (draw(2) == 0 ? 0 : (int64_t)draw(100) * MS);
}

static void run_host(host *h)
{
    cse_host_cut cut;
    if (h->phase == RUNS)
        take_turn(h);
    if (h->phase == COMPILES && w->now_ns >= h->until_ns)
        begin(h);
    if (h->phase == WAITS && cse_members_may_begin(h->members, &cut)) {
        h->phase = RUNS;
        h->cuts[0] = h->cuts[1] = cut;
        note_cut(h);
    }
    if (h->phase == IS_DONE && leads(h)) {
        cse_host_message leave = { .kind = CSE_HOST_LEAVE };
        cse_members_end(h->members, &leave);
    }
    cse_members_tick(h->members, time_of((int)(h - w->hosts)));
}

/* Whether `other` has begun the step that `h` is in, so that its sums come and those of `h` are
 * taken. */
static bool has_begun_too(const host *h, const host *other)
{
    const int a = (int)(h - w->hosts), b = (int)(other - w->hosts);
    if (other->execution > h->execution ||
        (other->execution == h->execution && other->phase > RUNS))
        return cse_members_steps_of(h->members, b) > h->done || w->connected[a][b];
    return w->connected[a][b] && other->alive && other->execution == h->execution &&
           other->phase == RUNS && other->done >= h->done;
}

/* Its speed changes from time to time, so that the leader cuts anew. */
static void compute(host *h)
{
    const int own = (int)(h - w->hosts);
    const int share = cut_at(h, h->done)->bounds[own + 1] - cut_at(h, h->done)->bounds[own];
    if (h->microbatch_ns == 0 || draw(300) == 0)
        h->microbatch_ns = MS / 2 + (int64_t)draw(8) * MS;
    h->work.microbatches += share;
    h->work.compute_ns += share * h->microbatch_ns;
    cse_members_note_work(h->members, &h->work);
}

static void do_step(host *h)
{
    if (!h->alive || h->phase != RUNS || is_frozen(h) || h->released <= h->done ||
        h->done >= w->last[h->execution])
        return;
    for (int o = 0; o < w->count; o++)
        if (h != &w->hosts[o] && !cse_hosts_have(&h->lost, o) && !has_begun_too(h, &w->hosts[o]))
            return;
    cse_members_note_record(h->members, h->done, (uint64_t)h->done * 7 + h->tells_wrong);
    compute(h);
    h->done++;
    note_cut(h);
}

/* ---- faults ---- */

static void make_fault(void)
{
    const int victim = (int)draw((uint64_t)w->count), other = (int)draw((uint64_t)w->count);
    switch (draw(5)) {
    case 0:
        if (victim != other)
            disconnect(victim, other);
        return;
    case 1:
        w->cut_off[victim] = !w->cut_off[victim];
        for (int o = 0; o < w->count; o++)
            if (w->cut_off[o] != w->cut_off[victim])
                disconnect(victim, o);
        return;
    case 2:
        w->hosts[victim].frozen_until_ns = w->now_ns + (int64_t)draw(2 * LEASE_NS / MS) * MS;
        return;
    case 3:
        if (victim == 0 || draw(4) != 0)
            return;
        for (int o = 0; o < w->count; o++)
            disconnect(victim, o);
        w->hosts[victim].alive = false;
        if (draw(2) == 0 || cse_members_state(w->hosts[0].members, victim) == CSE_MEMBER_EXPECTED)
            cse_members_gone(w->hosts[0].members, victim, "it has ended");
        return;
    default:
        if (w->hosts[victim].alive)
            return;
        start(victim);
        w->hosts[victim].was_started_again = true;
    }
}

static void heal(void)
{
    for (int h = 0; h < w->count; h++) {
        w->cut_off[h] = false;
        w->hosts[h].frozen_until_ns = 0;
    }
}

static void turn_world(void)
{
    w->now_ns += w->tick_ns;
    w->tick++;
    connect_pairs();
    deliver();
    for (int h = 0; h < w->count; h++)
        if (w->hosts[h].alive && !is_frozen(&w->hosts[h]))
            run_host(&w->hosts[h]);
    for (int i = 0; i < w->steps_per_tick; i++)
        for (int h = 0; h < w->count; h++)
            do_step(&w->hosts[(h + (int)draw((uint64_t)w->count)) % w->count]);
}

/* Most worlds are small, one in 500 has up to all hosts. */
static int draw_count(void)
{
    const uint64_t kind = draw(500);
    return kind == 0   ? 2 + (int)draw(CSE_MAX_HOSTS - 1)
           : kind < 25 ? 2 + (int)draw(30)
                       : 2 + (int)draw(5);
}

static void make_world(uint64_t seed, int count)
{
    w = cse_calloc(1, sizeof *w);
    w->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w->now_ns = 1;
    w->count = count > 0 ? count : draw_count();
    w->tick_ns = (count > 0 ? 5 : w->count > 64 ? 100 : w->count > LARGE ? 40 : 10) * MS;
    w->steps_per_tick = count == 0 && w->count < 8 && draw(2) == 0 ? 40 : 3;
    for (int e = 1; e <= EXECUTIONS; e++) {
        const uint64_t first = w->count > 64 ? 40 : w->count > LARGE ? 300 : 1500;
        w->last[e] = 1 + (int64_t)draw(e == 1 ? first : w->count > 64 ? 5 : 60);
        w->ends[e] = -1;
    }
    for (int h = 0; h < w->count; h++) {
        for (int o = 0; o < h; o++)
            note_apart(h, o);
        start(h);
    }
}

static void destroy_world(void)
{
    for (int h = 0; h < w->count; h++) {
        discard(&w->hosts[h].held);
        cse_members_destroy(&w->hosts[h].members);
    }
    for (int i = 0; i < TICKS; i++)
        discard(&w->due[i]);
    free(w);
}

/* The leader has done all steps, and all others are told that, or that they are lost. */
static bool is_over(void)
{
    if (w->hosts[0].phase != IS_DONE)
        return false;
    for (int h = 1; h < w->count; h++) {
        const host *one = &w->hosts[h];
        if (one->alive && cse_members_told_to_end(one->members) == NULL)
            return false;
    }
    return true;
}

static void run_seed(uint64_t seed)
{
    const clock_t begun = clock();
    seed_now = seed;
    make_world(seed, 0);
    const bool ends_early = draw(2) == 0;
    const int64_t faults_ns = w->count > 64 ? FAULTS_NS / 2 : FAULTS_NS;
    const int64_t end_ns = (int64_t)draw((uint64_t)(faults_ns / MS)) * MS;
    bool asked = false;
    while (!is_over() && w->now_ns < END_NS) {
        if (w->now_ns < faults_ns && draw(60) == 0)
            make_fault();
        else if (w->now_ns >= faults_ns)
            heal();
        if (ends_early && !asked && w->now_ns > end_ns && w->hosts[0].phase == RUNS) {
            cse_members_end_execution(w->hosts[0].members);
            asked = true;
        }
        turn_world();
    }
    for (int h = 0; h < w->count && !is_over(); h++)
        fprintf(
            stderr, "host %d: %s, %s, phase %d, execution %lld, done %lld, released %lld of %lld\n",
            h, w->hosts[h].alive ? "alive" : "dead", is_lost(h) ? "lost" : "counts",
            (int)w->hosts[h].phase, (long long)w->hosts[h].execution, (long long)w->hosts[h].done,
            (long long)w->hosts[h].released, (long long)w->last[w->hosts[h].execution]);
    ck_assert_msg(is_over(), "seed %llu with %d hosts: no end", (unsigned long long)seed, w->count);
    int differing;
    int64_t step;
    ck_assert(!cse_members_differ(w->hosts[0].members, &differing, &step));
    if (getenv("CSE_SIMULATION_TIMES") != NULL)
        printf("seed %llu: %d hosts, %.3f s of processor for %.1f s\n", seed_now, w->count,
               (double)(clock() - begun) / CLOCKS_PER_SEC, (double)w->now_ns * 1e-9);
    destroy_world();
}

START_TEST(any_order_of_faults_has_one_cut_a_step_and_an_end)
{
    const char *seeds = getenv("CSE_SIMULATION_SEEDS");
    unsigned long long first = 1, last = USUAL_SEEDS;
    if (seeds != NULL && sscanf(seeds, "%llu:%llu", &first, &last) == 1)
        last = first;
    for (unsigned long long seed = first; seed <= last; seed++)
        run_seed(seed);
}
END_TEST

/* As many hosts as there may be. */
START_TEST(all_hosts_there_may_be)
{
    make_world(2, CSE_MAX_HOSTS);
    w->tick_ns = 100 * MS;
    w->last[1] = 20;
    w->last[2] = w->last[3] = 1;
    for (int i = 0; w->hosts[0].phase != IS_DONE || w->hosts[255].phase != IS_DONE; i++) {
        ck_assert_int_lt(i, 400);
        if (i == 12)
            w->cut_off[200] = true;
        for (int o = 0; i == 12 && o < w->count; o++)
            disconnect(200, o);
        turn_world();
    }
    ck_assert_int_eq(cse_members_state(w->hosts[0].members, 200), CSE_MEMBER_LOST);
    /* So are some of those whose messages were late by more than a lease. */
    const cse_host_set lost = cse_members_lost(w->hosts[255].members);
    ck_assert(cse_hosts_have(&lost, 200) && cse_hosts_count(&lost) < 60);
    ck_assert_int_eq(w->hosts[255].execution, EXECUTIONS);
    destroy_world();
}
END_TEST

/* A host that starts again under an old number is not taken for the one that was lost. */
START_TEST(a_host_that_was_lost_is_refused)
{
    make_world(3, 3);
    w->last[1] = 3000;
    for (int i = 0; i < 400; i++)
        turn_world();
    ck_assert(w->hosts[0].phase == RUNS && w->hosts[0].done > 10);
    w->cut_off[2] = true;
    disconnect(2, 0);
    disconnect(2, 1);
    const int64_t epoch = cse_members_epoch(w->hosts[0].members);
    for (int i = 0; i < 600; i++)
        turn_world();
    ck_assert_int_eq(cse_members_state(w->hosts[0].members, 2), CSE_MEMBER_LOST);
    ck_assert_int_eq(cse_members_epoch(w->hosts[1].members), epoch + 1);
    ck_assert_int_eq(w->hosts[0].cuts[0].bounds[2], w->hosts[0].cuts[0].bounds[3]);
    int successor;
    ck_assert(cse_members_lack_leader(w->hosts[2].members, &successor) && successor == 2);
    heal();
    for (int i = 0; i < 100; i++)
        turn_world();
    const cse_host_message *told = cse_members_told_to_end(w->hosts[2].members);
    ck_assert(told != NULL && told->kind == CSE_HOST_REFUSED);
    destroy_world();
}
END_TEST

START_TEST(a_record_that_differs_is_found)
{
    make_world(5, 3);
    int differing = -1;
    int64_t step = -1;
    for (int i = 0; i < 400; i++)
        turn_world();
    w->hosts[1].tells_wrong = true;
    const int64_t done = w->hosts[1].done;
    for (int i = 0; i < 400; i++)
        turn_world();
    ck_assert(cse_members_differ(w->hosts[0].members, &differing, &step));
    ck_assert_int_eq(differing, 1);
    int told;
    ck_assert_int_eq(cse_members_accused(w->hosts[0].members, &told), 1);
    ck_assert_int_eq(told, 3);
    ck_assert(w->hosts[1].execution > 1 || step == done);
    destroy_world();
}
END_TEST

/* Without a leader the lowest of those that are left is next, of those that have data first. */
static void check_who_is_next(int next)
{
    make_world(7, 4);
    for (int i = 0; i < 400; i++)
        turn_world();
    for (int o = 1; o < 4; o++)
        disconnect(0, o);
    w->hosts[0].alive = false;
    for (int i = 0; i < 600; i++)
        turn_world();
    for (int h = 1; h < 4; h++) {
        int successor = -1;
        ck_assert(cse_members_lack_leader(w->hosts[h].members, &successor));
        ck_assert_int_eq(successor, next);
    }
    destroy_world();
}

START_TEST(followers_agree_who_is_next)
{
    check_who_is_next(1);
    cse_hosts_add(&data_hosts, 0);
    check_who_is_next(1);
    cse_hosts_add(&data_hosts, 3);
    check_who_is_next(3);
    cse_hosts_add(&data_hosts, 2);
    check_who_is_next(2);
    data_hosts = (cse_host_set){ { 0 } };
}
END_TEST

/* The end of the program that started a follower (an ssh that was killed) says nothing of the
 * leader, whose connection stands. */
START_TEST(a_leader_whose_starter_ended_is_not_lost)
{
    int successor;
    make_world(11, 2);
    w->last[1] = 3000;
    for (int i = 0; i < 400; i++)
        turn_world();
    ck_assert(w->hosts[1].phase == RUNS);
    cse_members_gone(w->hosts[1].members, 0, "its program has ended");
    const int64_t done = w->hosts[1].done;
    for (int i = 0; i < 400; i++)
        turn_world();
    const cse_host_set lost = cse_members_lost(w->hosts[1].members);
    ck_assert_int_eq(cse_hosts_count(&lost), 0);
    ck_assert_int_ne(cse_members_state(w->hosts[1].members, 0), CSE_MEMBER_LOST);
    ck_assert(!cse_members_lack_leader(w->hosts[1].members, &successor));
    ck_assert_int_gt(w->hosts[1].done, done);
    destroy_world();
}
END_TEST

START_TEST(another_build_is_refused_with_both_values)
{
    make_world(9, 2);
    cse_members_destroy(&w->hosts[1].members);
    w->hosts[1].members =
        cse_members_new(&(cse_members_options){ .io = &w->hosts[1].io,
                                                .host = 1,
                                                .host_count = 2,
                                                .epoch = 1,
                                                .lease_ns = LEASE_NS,
                                                .identity = { "other", "i", "k", "true" } },
                        time_of(1));
    for (int i = 0; i < 100; i++)
        turn_world();
    ck_assert_int_eq(cse_members_state(w->hosts[0].members, 1), CSE_MEMBER_LOST);
    ck_assert_str_eq(cse_members_why(w->hosts[0].members, 1),
                     "its build is other, that of the leading host b");
    ck_assert_ptr_nonnull(cse_members_told_to_end(w->hosts[1].members));
    destroy_world();
}
END_TEST

int main(void)
{
    cse_log_set_level(CSE_LOG_ERROR);
    Suite *suite = suite_create("members");
    TCase *tcase = tcase_create("members");
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, any_order_of_faults_has_one_cut_a_step_and_an_end);
    tcase_add_test(tcase, all_hosts_there_may_be);
    tcase_add_test(tcase, a_host_that_was_lost_is_refused);
    tcase_add_test(tcase, a_record_that_differs_is_found);
    tcase_add_test(tcase, followers_agree_who_is_next);
    tcase_add_test(tcase, a_leader_whose_starter_ended_is_not_lost);
    tcase_add_test(tcase, another_build_is_refused_with_both_values);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
