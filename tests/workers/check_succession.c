/* Who leads after a leader, in simulated time: hosts of which up to all but one die within some
 * seconds, one after the other, in any order, or are cut off from the others. The hosts are the
 * state machine of members.h, with the decisions of run/hosts/follow_leader.c around it, a lock
 * that one living host can have, and a model of a step: it ends on a host when every other one
 * that counts has begun it. One that is left must end the run, from the last step that it has done
 * or a later one, and whoever is cut off from the lock's holder must not lead.
 * CSE_SUCCESSION_SEEDS=FIRST:LAST runs others. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "workers/group/members.h"

#define MS INT64_C(1000000)
#define TICK_NS (10 * MS)
#define LEASE_NS (1000 * MS)
#define FAULTS_NS (5000 * MS)
#define END_NS (90000 * MS)
enum { MOST_HOSTS = 5, USUAL_SEEDS = 600, LAST_STEP = 3000, STEPS_A_TICK = 3, LETTERS = 4096 };

typedef enum phase { WAITS_FOR_JOB, PREPARES, MEETS, RUNS, SAVES, ENDED } phase;

typedef struct letter {
    int64_t due_ns;
    size_t size;
    unsigned char *bytes;
} letter;

/* Letters from one host to another, in their order. */
typedef struct way {
    letter letters[LETTERS];
    int first, count;
    int64_t newest_ns;
} way;

typedef struct host {
    cse_members *members;
    cse_members_io io;
    int index;
    bool alive, has_job, has_lock, leads, gave_up;
    phase phase;
    int64_t until_ns, dies_ns, generation, job_epoch; /* of the job that it runs */
    int64_t done, began_at, released;
    cse_host_set lost;
} host;

static struct {
    uint64_t random;
    int count, holder; /* of the lock; -1: none */
    int64_t now_ns, saved, cut_off_ns, healed_ns;
    bool over, cut_off[MOST_HOSTS];
    bool connected[MOST_HOSTS][MOST_HOSTS];
    host hosts[MOST_HOSTS];
    way ways[MOST_HOSTS][MOST_HOSTS];
} w;
static unsigned long long seed_now;

static uint64_t draw(uint64_t below)
{
    w.random = w.random * 6364136223846793005u + 1442695040888963407u;
    return (w.random >> 33) % below;
}

/* ---- messages ---- */

static cse_status send_letter(void *self, int to, const cse_host_message *message)
{
    const host *h = self;
    way *one = &w.ways[h->index][to];
    cse_text text = { 0 };
    if (!w.connected[h->index][to] || one->count == LETTERS)
        return CSE_UNAVAILABLE;
    cse_host_message_encode(message, &text);
    letter *next = &one->letters[(one->first + one->count++) % LETTERS];
    next->bytes = cse_malloc(text.size + 1);
    next->size = text.size;
    memcpy(next->bytes, text.data, text.size);
    cse_text_clear(&text);
    const int64_t due_ns = w.now_ns + (int64_t)draw(30) * MS;
    next->due_ns = one->newest_ns = due_ns > one->newest_ns ? due_ns : one->newest_ns;
    return CSE_OK;
}

static void discard(way *one)
{
    for (; one->count > 0; one->count--, one->first = (one->first + 1) % LETTERS)
        free(one->letters[one->first].bytes);
}

static void connect_pair(int a, int b, bool is)
{
    if (w.connected[a][b] == is)
        return;
    w.connected[a][b] = w.connected[b][a] = is;
    discard(&w.ways[a][b]);
    discard(&w.ways[b][a]);
    const int pair[] = { a, b };
    for (int i = 0; i < 2; i++) {
        if (!w.hosts[pair[i]].alive)
            continue;
        if (is)
            cse_members_connected(w.hosts[pair[i]].members, pair[1 - i], w.now_ns);
        else
            cse_members_disconnected(w.hosts[pair[i]].members, pair[1 - i]);
    }
}

static bool reach(int a, int b)
{
    const bool cut = w.now_ns >= w.cut_off_ns && w.now_ns < w.healed_ns;
    return w.hosts[a].alive && w.hosts[b].alive && (!cut || w.cut_off[a] == w.cut_off[b]);
}

/* The job as host_group.c takes it. */
static void take_job(host *h, int from, const cse_host_message *message)
{
    if (from != cse_members_leader(h->members)) {
        if (message->job.epoch <= cse_members_epoch(h->members))
            return;
        cse_members_follow(h->members, from, message->job.epoch);
    } else if (h->has_job && message->job.epoch == h->job_epoch) {
        return;
    }
    h->has_job = true;
    h->job_epoch = message->job.epoch;
    h->phase = PREPARES;
    h->began_at = h->done = message->job.run_start;
    h->until_ns = w.now_ns + (int64_t)draw(300) * MS;
}

static void deliver(int from, int to)
{
    way *one = &w.ways[from][to];
    host *h = &w.hosts[to];
    while (one->count > 0 && one->letters[one->first].due_ns <= w.now_ns) {
        letter taken = one->letters[one->first];
        cse_host_message message;
        one->first = (one->first + 1) % LETTERS;
        one->count--;
        ck_assert_int_eq(cse_host_message_decode(taken.bytes, taken.size, &message), CSE_OK);
        if (message.kind == CSE_HOST_JOB && !h->leads)
            take_job(h, from, &message);
        else
            (void)cse_members_receive(h->members, from, &message, w.now_ns);
        free(taken.bytes);
    }
}

/* ---- a host ---- */

static void end(host *h)
{
    if (w.holder == h->index)
        w.holder = -1;
    h->phase = ENDED;
    h->alive = h->has_lock = false;
    for (int o = 0; o < w.count; o++)
        if (o != h->index)
            connect_pair(h->index, o, false);
    for (int o = 0; o < w.count; o++)
        if (o != h->index && w.hosts[o].alive && w.hosts[o].leads && h->index != o && draw(2) == 0)
            cse_members_gone(w.hosts[o].members, h->index, "it has ended");
}

/* Steps that somebody has done who is left are not done again, but for those by which hosts may be
 * apart. */
static void check_what_is_lost(void)
{
    for (int o = 0; o < w.count; o++)
        if (w.hosts[o].alive && w.hosts[o].done > w.saved + 2)
            ck_abort_msg("seed %llu: step %lld is saved, host %d has done %lld", seed_now,
                         (long long)w.saved, o, (long long)w.hosts[o].done);
}

static void lead(host *h)
{
    if (w.cut_off_ns == INT64_MAX) /* one that was cut off may have missed more */
        check_what_is_lost();
    h->leads = true;
    h->done = h->began_at = w.saved;
    cse_members_lead(h->members, &(cse_members_leading){ .replicas = 1 }, w.now_ns);
    const cse_host_message job = { .kind = CSE_HOST_JOB,
                                   .job = { .epoch = cse_members_epoch(h->members),
                                            .run_start = h->done,
                                            .configuration = "",
                                            .directory = "",
                                            .model_dir = "",
                                            .hosts = "",
                                            .movers = "",
                                            .validations = "" } };
    cse_members_set_job(h->members, &job);
    h->phase = PREPARES;
    h->until_ns = w.now_ns + (int64_t)draw(300) * MS;
}

/* What a follower without its leader does: run/hosts/follow_leader.c. */
static void look_for_leader(host *h)
{
    if (h->leads || h->has_lock)
        return;
    const cse_members_turn turn = cse_members_turn_to_lead(h->members);
    if (turn == CSE_TURN_GIVES_UP || (turn == CSE_TURN_LEADS && !h->has_job))
        h->gave_up = true;
    if (h->gave_up || cse_members_told_to_end(h->members) != NULL) {
        end(h);
        return;
    }
    if (turn != CSE_TURN_LEADS)
        return;
    if (w.holder >= 0) {
        cse_members_note_lead_held(h->members);
        return;
    }
    w.holder = h->index;
    h->has_lock = true;
    h->phase = SAVES; /* the step in flight, by itself */
    h->until_ns = w.now_ns + (int64_t)draw(1500) * MS;
}

static bool has_begun(const host *h, const host *other)
{
    if (cse_members_steps_of(h->members, other->index) > h->done)
        return true;
    return w.connected[h->index][other->index] && other->phase == RUNS &&
           cse_members_epoch(other->members) >> 20 == cse_members_epoch(h->members) >> 20 &&
           other->done >= h->done;
}

static void do_steps(host *h)
{
    h->lost = cse_members_lost(h->members);
    const cse_host_cut *next = cse_members_next_cut(h->members);
    if (next != NULL && next->first_step > h->done)
        cse_members_cut_is_set(h->members);
    const int64_t most = cse_members_most_released(h->members);
    h->released = most > h->released ? most : h->released;
    for (int i = 0; i < STEPS_A_TICK; i++) {
        if (h->done >= h->released || h->done >= LAST_STEP)
            return;
        for (int o = 0; o < w.count; o++)
            if (o != h->index && !cse_hosts_have(&h->lost, o) && !has_begun(h, &w.hosts[o]))
                return;
        h->done++;
        cse_members_note_steps(h->members, h->done);
    }
}

static void begin(host *h)
{
    cse_members_begin(h->members, &(cse_members_execution){ .number = 1,
                                                            .microbatches = 16,
                                                            .first_step = h->done,
                                                            .last_step = LAST_STEP });
    h->released = h->done;
    h->phase = MEETS;
}

static void run_host(host *h)
{
    cse_host_cut cut;
    look_for_leader(h);
    if (!h->alive)
        return;
    if (h->phase == SAVES && w.now_ns >= h->until_ns) {
        w.saved = h->done > w.saved ? h->done : w.saved;
        lead(h);
    }
    if (h->phase == PREPARES && w.now_ns >= h->until_ns)
        begin(h);
    if (h->phase == MEETS && cse_members_may_begin(h->members, &cut))
        h->phase = RUNS;
    if (h->phase == RUNS)
        do_steps(h);
    if (h->leads && h->phase == RUNS && h->done == LAST_STEP) {
        cse_members_end(h->members, &(cse_host_message){ .kind = CSE_HOST_LEAVE });
        if (cse_members_all_told(h->members)) {
            w.over = true;
            end(h);
            return;
        }
    }
    cse_members_tick(h->members, w.now_ns);
}

/* ---- a world ---- */

static void make_world(uint64_t seed)
{
    memset(&w, 0, sizeof w);
    w.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w.now_ns = 1;
    w.count = 2 + (int)draw(MOST_HOSTS - 1);
    w.cut_off_ns = w.healed_ns = INT64_MAX;
    for (int i = 0; i < w.count; i++) {
        host *h = &w.hosts[i];
        h->index = i;
        h->alive = true;
        h->dies_ns = INT64_MAX;
        h->io = (cse_members_io){ .self = h, .send = send_letter };
        h->members = cse_members_new(&(cse_members_options){ .io = &h->io,
                                                             .host = i,
                                                             .host_count = w.count,
                                                             .epoch = 1,
                                                             .lease_ns = LEASE_NS,
                                                             .identity = { "b", "i", "k", "t" } },
                                     w.now_ns);
    }
    host *first = &w.hosts[0];
    const cse_host_message job = { .kind = CSE_HOST_JOB,
                                   .job = { .epoch = 1,
                                            .configuration = "",
                                            .directory = "",
                                            .model_dir = "",
                                            .hosts = "",
                                            .movers = "",
                                            .validations = "" } };
    first->leads = first->has_lock = first->has_job = true;
    first->phase = PREPARES;
    cse_members_set_job(first->members, &job);
}

/* Between 1 and all but one of the hosts die, the leader first as a rule. */
static void make_deaths(void)
{
    const int64_t begin_ns = 2000 * MS;
    const int deaths = 1 + (int)draw((uint64_t)w.count - 1);
    for (int i = 0, victim = draw(4) == 0 ? 1 : 0; i < deaths; i++) {
        while (w.hosts[victim].dies_ns != INT64_MAX)
            victim = (int)draw((uint64_t)w.count);
        w.hosts[victim].dies_ns =
            begin_ns + (i == 0 ? 0 : (int64_t)draw((uint64_t)(FAULTS_NS / MS)) * MS);
    }
}

static void turn_world(void)
{
    w.now_ns += TICK_NS;
    for (int i = 0; i < w.count; i++)
        if (w.hosts[i].alive && w.now_ns >= w.hosts[i].dies_ns)
            end(&w.hosts[i]);
    for (int a = 0; a < w.count; a++)
        for (int b = 0; b < a; b++)
            connect_pair(a, b, reach(a, b));
    for (int a = 0; a < w.count; a++)
        for (int b = 0; b < w.count; b++)
            if (a != b && w.hosts[b].alive)
                deliver(a, b);
    for (int i = 0; i < w.count; i++)
        if (w.hosts[i].alive)
            run_host(&w.hosts[i]);
    int leading = 0;
    for (int i = 0; i < w.count; i++)
        leading += w.hosts[i].alive && w.hosts[i].has_lock;
    ck_assert_msg(leading <= 1, "seed %llu: %d hosts lead", seed_now, leading);
}

static void destroy_world(void)
{
    for (int a = 0; a < w.count; a++) {
        for (int b = 0; b < w.count; b++)
            discard(&w.ways[a][b]);
        cse_members_destroy(&w.hosts[a].members);
    }
}

static void tell(void)
{
    for (int i = 0; i < w.count; i++)
        fprintf(stderr, "host %d: %s phase %d%s%s done %lld leader %d turn %d dies %.2f\n", i,
                w.hosts[i].alive ? "alive" : "dead", (int)w.hosts[i].phase,
                w.hosts[i].leads ? " leads" : "", w.hosts[i].has_lock ? " lock" : "",
                (long long)w.hosts[i].done, cse_members_leader(w.hosts[i].members),
                w.hosts[i].leads ? -1 : (int)cse_members_turn_to_lead(w.hosts[i].members),
                (double)w.hosts[i].dies_ns * 1e-9);
}

START_TEST(whoever_is_left_ends_the_run)
{
    const char *seeds = getenv("CSE_SUCCESSION_SEEDS");
    unsigned long long first = 1, last = USUAL_SEEDS;
    if (seeds != NULL && sscanf(seeds, "%llu:%llu", &first, &last) == 1)
        last = first;
    for (seed_now = first; seed_now <= last; seed_now++) {
        make_world(seed_now);
        make_deaths();
        while (!w.over && w.now_ns < END_NS)
            turn_world();
        if (!w.over)
            tell();
        ck_assert_msg(w.over, "seed %llu with %d hosts: nobody ends the run", seed_now, w.count);
        destroy_world();
    }
}
END_TEST

/* The leader is dead, and the hosts are on two sides for longer than all that they wait for: one
 * side goes on, the other ends or goes on after that, and never are there two. */
START_TEST(one_side_of_a_partition_leads)
{
    for (seed_now = 1; seed_now <= USUAL_SEEDS / 4; seed_now++) {
        make_world(seed_now);
        w.cut_off_ns = 2000 * MS + (int64_t)draw(2000) * MS;
        w.healed_ns = w.cut_off_ns + (int64_t)draw(15000) * MS;
        for (int i = 0; i < w.count; i++)
            w.cut_off[i] = draw(2) == 0;
        if (draw(2) == 0)
            w.hosts[0].dies_ns = 2000 * MS + (int64_t)draw(3000) * MS;
        while (!w.over && w.now_ns < END_NS)
            turn_world();
        if (!w.over)
            tell();
        ck_assert_msg(w.over, "seed %llu with %d hosts: nobody ends the run", seed_now, w.count);
        destroy_world();
    }
}
END_TEST

int main(void)
{
    cse_log_set_level(CSE_LOG_ERROR);
    Suite *suite = suite_create("succession");
    TCase *tcase = tcase_create("succession");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, whoever_is_left_ends_the_run);
    tcase_add_test(tcase, one_side_of_a_partition_leads);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
