/* Deaths leave a turn by longjmp; nothing that they leave behind is private to the test. */
#include "tests/support/host_play.h"

#include <check.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "workers/arena/arena_hosts.h"
#include "workers/arena/piece.h"
#include "workers/arena/state_ranges.h"

enum { POISON = 0xa5 };

static jmp_buf death;
static uint64_t random_state;
static int death_percent, only_point;
static play *current;
static host *computing; /* whose replica has its turn */
long play_deaths_at[CSE_FAILPOINT_COUNT], play_sent_early;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static long frames_sent(void)
{
    long sent = 0;
    for (int other = 0; other < current->test->hosts; other++)
        sent += (long)memory_link_counts((int)(computing - current->hosts), other).frames_sent;
    return sent;
}

/* While a replica computes, its host's mover may have a turn: what is final then is sent. */
static void move_meanwhile(void)
{
    const int percent = death_percent;
    if (random_below(2) != 0 || computing->mover == NULL)
        return;
    const long before = frames_sent();
    death_percent = 0;
    ck_assert_int_ne(cse_mover_once(computing->mover, 0), CSE_WORK_FAILED);
    death_percent = percent;
    play_sent_early += frames_sent() - before;
}

static void on_failpoint(cse_failpoint point)
{
    if (point == CSE_FAILPOINT_GRADIENT_PART)
        move_meanwhile();
    if ((only_point >= 0 && (int)point != only_point) || (int)random_below(1000) >= death_percent)
        return;
    play_deaths_at[point]++;
    longjmp(death, 1);
}

static void seat(play *self, int h, int slot)
{
    host *place = &self->hosts[h];
    const cse_role kind = cse_cluster_slot_kind(place->cluster, slot);
    cse_cluster_attach(place->cluster, slot, 1000 + slot);
    if (kind == CSE_ROLE_MOVER) {
        cse_mover_destroy(&place->mover);
        self->place.host = h;
        ck_assert_int_eq(
            cse_mover_new(place->cluster, slot, &memory_link, &self->place, &place->mover), CSE_OK);
        return;
    }
    const bool input = kind == CSE_ROLE_INPUT;
    const cse_work_options options = { .cluster = place->cluster,
                                       .slot = slot,
                                       .executable =
                                           input ? NULL : fake_step_executable(self->step),
                                       .source = input ? fake_step_source(self->step) : NULL };
    cse_work_destroy(&place->works[slot]);
    ck_assert_int_eq(cse_work_new(&options, &place->works[slot]), CSE_OK);
}

static bool has_data(const play_case *test, int h)
{
    return test->with_data == 0 || h >= test->hosts - test->with_data;
}

/* What the host has no use for must neither be read nor written. */
static void for_absent(const cse_cluster *cluster, void (*call)(unsigned char *bytes, size_t size))
{
    for (int c = 0; cse_states_are_cut(cluster) && c < cluster->head->update_chunks; c++) {
        const cse_state_chunk *of = &cluster->state_chunks[c];
        for (int r = of->ranges[CSE_STATES_OWN];
             r < of->ranges[CSE_STATES_OWN + 1] && !cse_chunk_is_kept(cluster, c); r++)
            call(cse_arena_states(cluster) + cluster->state_ranges[r].first,
                 (size_t)cluster->state_ranges[r].bytes);
    }
}

static void poison(unsigned char *bytes, size_t size)
{
    memset(bytes, POISON, size);
}

static void poison_absent(const cse_cluster *cluster)
{
    for_absent(cluster, poison);
}

/* What a piece lacks must not be read. */
static void poison_sums(const cse_cluster *cluster)
{
    const cse_arena_head *head = cluster->head;
    if (head->gradient_cut != CSE_GRADIENTS_WHOLE)
        memset(cluster->base + head->partial_sums_offset, POISON,
               (size_t)(head->total_bytes - head->partial_sums_offset));
}

static void expect_poison(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ck_assert_int_eq(bytes[i], POISON);
}

static unsigned char *copied; /* states that are compared */
static unsigned char *copied_from;

static void copy_over(unsigned char *bytes, size_t size)
{
    memcpy(copied + (bytes - copied_from), bytes, size);
}

static void open_host(play *self, int h, const cse_host_cut *cut)
{
    const play_case *test = self->test;
    host *place = &self->hosts[h];
    cse_host_set data = { { 0 } };
    for (int other = 0; other < test->hosts; other++)
        if (has_data(test, other))
            cse_hosts_add(&data, other);
    cse_cluster_layout layout = { .graph = fake_step_graph(self->step),
                                  .states = self->states,
                                  .replica_count = test->replicas,
                                  .weight_server_count = test->servers,
                                  .input_worker_count = has_data(test, h),
                                  .weight_grad_reduce = test->payload,
                                  .seed = 77,
                                  .num_steps = test->steps,
                                  .host = h,
                                  .host_count = test->hosts,
                                  .data_hosts = data,
                                  .cut = cut,
                                  .state_copies = test->copies,
                                  .cuts_gradients = test->cuts_gradients };
    ck_assert_int_eq(cse_cluster_create(&layout, &place->cluster), CSE_OK);
    poison_absent(place->cluster);
    poison_sums(place->cluster);
    place->count = cse_cluster_slot_count(place->cluster);
    for (int slot = 0; slot < place->count; slot++)
        seat(self, h, slot);
    cse_cluster_release(place->cluster, test->steps);
}

void play_open(play *self, const play_case *test, uint64_t seed)
{
    *self = (play){ .test = test,
                    .step = test->unclipped
                                ? fake_step_new_unclipped(test->microbatches, test->large, 100)
                                : fake_step_new(test->microbatches, test->large, 100),
                    .place = { .host_count = test->hosts,
                               .session = 5,
                               .frame_elements = test->copies > 0 ? 6000 : 700,
                               .frame_input_bytes = test->frame_bytes } };
    self->states = fake_step_states(self->step);
    random_state = seed;
    memory_link_reset(test->hosts, seed + 1, 1 + (int)(seed % 5));
    cse_host_cut cut;
    const cse_host_set all = cse_hosts_first(test->hosts);
    cse_host_cut_even(test->microbatches, test->hosts, &all, &cut);
    for (int h = 0; h < test->hosts; h++)
        open_host(self, h, &cut);
}

static void close_host(host *place)
{
    cse_mover_destroy(&place->mover);
    for (int slot = 0; slot < place->count; slot++)
        cse_work_destroy(&place->works[slot]);
    cse_cluster_destroy(&place->cluster);
}

void play_close(play *self)
{
    for (int h = 0; h < self->test->hosts; h++)
        close_host(&self->hosts[h]);
    free(self->states);
    fake_step_destroy(&self->step);
}

static void drain(host *place)
{
    cse_record record;
    while (cse_cluster_next_record(place->cluster, &record)) {
        ck_assert_int_eq(record.step, place->recorded);
        memcpy(place->fetched[place->recorded++], record.fetched, sizeof place->fetched[0]);
        cse_cluster_close_record(place->cluster);
        cse_cluster_free_records(place->cluster, place->recorded);
    }
}

/* One turn of one process; true: it died in it. */
static bool turn(play *self, int h, int slot)
{
    host *place = &self->hosts[h];
    computing = place;
    if (setjmp(death) != 0)
        return true;
    const cse_work_result result = cse_cluster_slot_kind(place->cluster, slot) == CSE_ROLE_MOVER
                                       ? cse_mover_once(place->mover, 0)
                                       : cse_work_once(place->works[slot]);
    ck_assert_int_ne(result, CSE_WORK_FAILED);
    return false;
}

static void replace(play *self, int h, int slot)
{
    const int percent = death_percent;
    death_percent = 0;
    if (cse_cluster_slot_kind(self->hosts[h].cluster, slot) == CSE_ROLE_MOVER)
        cse_mover_destroy(&self->hosts[h].mover);
    cse_cluster_recover(self->hosts[h].cluster, slot);
    seat(self, h, slot);
    death_percent = percent;
}

static cse_host_set hosts_gone(const play *self)
{
    cse_host_set gone = { { 0 } };
    for (int h = 0; h < self->test->hosts; h++)
        if (self->hosts[h].gone)
            cse_hosts_add(&gone, h);
    return gone;
}

/* The host is never heard of again; the others learn it, each at another time. */
static void lose(play *self, int h)
{
    self->hosts[h].gone = true;
    cse_mover_destroy(&self->hosts[h].mover);
}

/* One host with data stays. */
static bool may_lose(const play *self, int h)
{
    int left = 0;
    for (int other = 0; other < self->test->hosts; other++)
        left += other != h && has_data(self->test, other) && !self->hosts[other].gone;
    if (self->test->copies > 0 && h == 0)
        return false; /* it leads */
    return left > 0;
}

/* All hosts that are left get a cut without those that are lost; false: not yet, as the cut before
 * has not begun to count on one of them. */
static bool cut_again(play *self)
{
    cse_host_set left = cse_hosts_first(self->test->hosts);
    int64_t most = 0;
    cse_host_cut cut;
    for (int h = 0; h < self->test->hosts; h++) {
        if (self->hosts[h].gone) {
            cse_hosts_remove(&left, h);
            continue;
        }
        const int64_t done = cse_cluster_steps_done(self->hosts[h].cluster);
        if (done < self->cut_step)
            return false;
        most = done > most ? done : most;
    }
    cse_host_cut_even(self->test->microbatches, self->test->hosts, &left, &cut);
    cut.first_step = self->cut_step = most + 1;
    for (int h = 0; h < self->test->hosts; h++)
        if (!self->hosts[h].gone)
            ck_assert_int_eq(cse_cluster_set_cut(self->hosts[h].cluster, &cut), CSE_OK);
    return true;
}

/* A host that has ended its last step takes its connections with it. */
static bool all_done(play *self)
{
    bool done = true;
    for (int h = 0; h < self->test->hosts; h++) {
        host *place = &self->hosts[h];
        if (place->gone)
            continue;
        drain(place);
        done = done && place->recorded == self->test->steps;
        for (int other = 0; other < self->test->hosts; other++)
            if (other != h && !self->hosts[other].gone && random_below(50) == 0)
                cse_cluster_note_host(self->hosts[other].cluster, h,
                                      cse_cluster_steps_done(place->cluster));
    }
    return done;
}

static void check_bits(play *self, uint64_t seed)
{
    static float want[MOST_STEPS][FAKE_FETCHES];
    const int64_t steps[] = { 0, self->test->steps };
    const size_t bytes = (size_t)fake_step_graph(self->step)->space_bytes[CSE_SPACE_STATE];
    unsigned char *expected = fake_step_states(self->step);
    fake_step_reference(self->step, self->test->payload, steps, expected, want);
    unsigned char *whole = cse_malloc(bytes);
    memcpy(whole, expected, bytes);
    for (int h = 0; h < self->test->hosts; h++) {
        const host *place = &self->hosts[h];
        if (place->gone)
            continue;
        /* All but what is absent, which is as it was. */
        for_absent(place->cluster, expect_poison);
        copied = expected;
        copied_from = cse_arena_states(place->cluster);
        for_absent(place->cluster, copy_over);
        ck_assert_msg(memcmp(want, place->fetched, (size_t)steps[1] * sizeof want[0]) == 0 &&
                          memcmp(expected, cse_cluster_states_view(place->cluster), bytes) == 0,
                      "seed %llu: host %d has other bits", (unsigned long long)seed, h);
        memcpy(expected, whole, bytes);
    }
    free(whole);
    free(expected);
}

static void hang(play *self, uint64_t seed)
{
    cse_text dump = { 0 };
    for (int h = 0; h < self->test->hosts; h++)
        if (!self->hosts[h].gone)
            cse_cluster_dump(self->hosts[h].cluster, &dump);
    fprintf(stderr, "%s", dump.data);
    cse_text_clear(&dump);
    ck_abort_msg("seed %llu: nothing moves any more", (unsigned long long)seed);
}

long play_run(const play_case *test, const faults *given, uint64_t seed)
{
    static play self;
    long deaths = 0, turns = 0;
    play_open(&self, test, seed);
    current = &self;
    int losses = given->losses;
    int64_t cut_turn = -1;
    death_percent = given->percent;
    only_point = given->point;
    atomic_store(&cse_failpoint_armed, on_failpoint);
    while (!all_done(&self)) {
        const int h = (int)random_below((unsigned)test->hosts);
        if (self.hosts[h].gone)
            continue;
        const int slot = (int)random_below((unsigned)self.hosts[h].count);
        if (turn(&self, h, slot)) {
            deaths++;
            replace(&self, h, slot);
        }
        if (given->breaks > 0 && random_below((unsigned)given->breaks) == 0 && test->hosts > 1)
            memory_link_break(h, (h + 1) % test->hosts);
        if (losses > 0 && random_below(2000) == 0 && may_lose(&self, h)) {
            lose(&self, h);
            losses--;
            cut_turn = turns + 1 + random_below(4000);
        }
        for (int i = 0; i < test->hosts; i++)
            if (!self.hosts[i].gone && random_below(200) == 0) {
                const cse_host_set gone = hosts_gone(&self);
                ck_assert_int_eq(cse_cluster_lose_hosts(self.hosts[i].cluster, &gone), CSE_OK);
            }
        if (turns++ == cut_turn && !cut_again(&self))
            cut_turn += 100;
        if (turns > 4000000)
            hang(&self, seed);
    }
    atomic_store(&cse_failpoint_armed, NULL);
    check_bits(&self, seed);
    if (given->expect != NULL)
        given->expect(&self);
    play_close(&self);
    return deaths;
}

play_case play_random_case(uint64_t seed)
{
    return (play_case){ .microbatches = 1 + (int)(seed * 7 % 13),
                        .hosts = 2 + (int)(seed % 4),
                        .replicas = 1 + (int)(seed / 3 % 3),
                        .servers = (int)(seed / 2 % 2),
                        .payload = fake_payloads[seed % FAKE_PAYLOADS],
                        .steps = 3 + (int)(seed % 5),
                        .large = 1000 + (int)(seed % 3) * 5000 };
}

uint64_t play_seeds(uint64_t usual)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    usual = (usual + 3) / 4;
#endif
    const char *times = getenv("CSE_MOVER_SEEDS");
    return usual * (times != NULL ? strtoull(times, NULL, 10) : 1);
}

int64_t play_wire_bytes(const cse_cluster *cluster, const int64_t range[2])
{
    return cse_piece_bytes(&cluster->segments, range[0], range[1]);
}
