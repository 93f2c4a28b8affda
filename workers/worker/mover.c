/* The loop: follows the step word, gives every host what it lacks, and says when all have it. */
#include "workers/worker/mover.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "workers/arena/arena_hosts.h"
#include "workers/arena/state_ranges.h"
#include "workers/worker/mover_state.h"

#define MILLISECONDS INT64_C(1000000)
#define WATCH_NS (100 * MILLISECONDS)
#define TAKEN_NS (5000 * MILLISECONDS) /* how long an address may be taken by a mover before */

#define COUNTS_NS (100 * MILLISECONDS) /* between looks at what was exchanged */

enum { MOST_EVENTS = 4 };

/* ---- the doorbell as a descriptor ---- */

static void *watch(void *self)
{
    cse_mover *mover = self;
    cse_slot *own = &mover->cluster->slots[mover->work->slot];
    uint32_t seen = atomic_load(mover->cluster->doorbell);
    while (!atomic_load(&mover->ends)) {
        cse_doorbell_wait(mover->cluster, &own->sleeping,
                          CSE_DOORBELL_MOVE | CSE_DOORBELL_COMMIT | CSE_DOORBELL_CONTROL, seen,
                          WATCH_NS);
        const uint32_t now = atomic_load(mover->cluster->doorbell);
        if (now != seen)
            eventfd_write(mover->wake, 1);
        seen = now;
    }
    return NULL;
}

static void clear_wake(const cse_mover *mover)
{
    eventfd_t count;
    eventfd_read(mover->wake, &count);
}

/* ---- set-up and clean-up ---- */

static cse_status open_link(cse_mover *mover, const cse_mover_place *place)
{
    const char *addresses[CSE_MAX_HOSTS];
    cse_host_link_options options = { .host = place->host,
                                      .host_count = place->host_count,
                                      .addresses = addresses,
                                      .session = place->session,
                                      .plain = place->plain,
                                      .wake = mover->wake };
    for (int h = 0; h < place->host_count; h++)
        addresses[h] = place->addresses[h];
    for (int i = 0; i < CSE_HOST_LINK_KEY_BYTES; i++)
        options.key[i] = place->key[i];
    const int64_t deadline_ns = cse_clock_ns() + TAKEN_NS;
    cse_status status;
    while ((status = mover->link->open(&options, &mover->state)) == CSE_UNAVAILABLE &&
           cse_clock_ns() < deadline_ns)
        poll(NULL, 0, 50);
    return status;
}

/* Both streams of a host from their beginning. */
static void expect(cse_mover *mover, int host)
{
    const cse_piece_stream stream = cse_mover_stream(mover, host, mover->cluster->head->host);
    const cse_piece_stream joined = cse_mover_joined_stream(mover, host);
    mover->peers[host].receives = cse_piece_begin(&stream);
    mover->peers[host].receives_joined = cse_piece_begin(&joined);
    cse_mover_rewind(mover, host);
}

static void forget_peers(cse_mover *mover)
{
    for (int h = 0; h < CSE_MAX_HOSTS; h++) {
        cse_mover_peer *peer = &mover->peers[h];
        if (mover->work != NULL)
            cse_mover_give_back(mover, h);
        free(peer->early);
        free(peer->wants);
        *peer = (cse_mover_peer){ .have = peer->have, .told = -1 };
        cse_mover_forget_states(mover, h);
        if (mover->step >= 0 && h < mover->cluster->head->host_count)
            expect(mover, h);
    }
}

static cse_status prepare(cse_mover *mover, int slot, const cse_mover_place *place)
{
    const cse_arena_head *head = mover->cluster->head;
    if (place->host != head->host || place->host_count != head->host_count)
        return cse_fail(CSE_UNAVAILABLE, "the arena is that of host %d of %d, not of %d of %d",
                        head->host, head->host_count, place->host, place->host_count);
    const cse_work_options options = { .cluster = mover->cluster, .slot = slot };
    CSE_TRY(cse_work_new(&options, &mover->work));
    mover->work->incarnation = cse_cluster_incarnation(mover->cluster, slot);
    mover->frame_elements = place->frame_elements > 0 && place->frame_elements < CSE_PIECE_ELEMENTS
                                ? place->frame_elements
                                : CSE_PIECE_ELEMENTS;
    mover->own = cse_calloc((size_t)head->microbatches, sizeof *mover->own);
    mover->theirs = cse_calloc((size_t)head->microbatches, sizeof *mover->theirs);
    mover->sources = cse_calloc((size_t)head->microbatches, sizeof *mover->sources);
    mover->wire = cse_malloc((size_t)CSE_PIECE_ELEMENTS * 4);
    mover->values = cse_aligned_calloc((size_t)CSE_PIECE_ELEMENTS * 4);
    mover->statistics = cse_aligned_calloc((size_t)head->statistics_stride + 64);
    mover->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mover->wake < 0)
        return cse_fail(CSE_TEMPORARY, "no descriptor for a mover");
    if (mover->link == NULL)
        CSE_TRY(cse_host_link_select(place->link[0] != '\0' ? place->link : NULL, &mover->link));
    forget_peers(mover);
    cse_mover_prepare_inputs(mover, place);
    cse_mover_prepare_states(mover);
    CSE_TRY(open_link(mover, place));
    mover->watched = pthread_create(&mover->watcher, NULL, watch, mover) == 0;
    return mover->watched ? CSE_OK : cse_fail(CSE_TEMPORARY, "no thread for a mover");
}

cse_status cse_mover_new(cse_cluster *cluster, int slot, const cse_host_link *link,
                         const cse_mover_place *place, cse_mover **result)
{
    cse_mover *mover = cse_calloc(1, sizeof *mover);
    mover->cluster = cluster;
    mover->link = link;
    mover->step = mover->wire_step = -1;
    mover->wake = -1;
    cse_status status = prepare(mover, slot, place);
    if (status != CSE_OK)
        cse_mover_destroy(&mover);
    *result = mover;
    return status;
}

void cse_mover_destroy(cse_mover **mover)
{
    cse_mover *m = *mover;
    if (m == NULL)
        return;
    atomic_store(&m->ends, true);
    if (m->watched) {
        cse_doorbell_ring(m->cluster, CSE_DOORBELL_MOVE);
        pthread_join(m->watcher, NULL);
    }
    if (m->state != NULL)
        m->link->close(&m->state);
    for (int h = 0; h < CSE_MAX_HOSTS; h++)
        free(m->peers[h].early);
    cse_mover_destroy_inputs(m);
    free(m->taken);
    if (m->wake >= 0)
        close(m->wake);
    free(m->own);
    free(m->theirs);
    free(m->sources);
    free(m->wire);
    free(m->values);
    free(m->statistics);
    free(m->states);
    cse_work_destroy(&m->work);
    free(m);
    *mover = NULL;
}

void cse_mover_check_inputs(cse_mover *mover, const cse_graph *graph)
{
    mover->graph = graph;
}

/* ---- one turn ---- */

static void begin_exchange(cse_mover *mover, bool sharded)
{
    mover->sharded = sharded;
    mover->joined = 0;
    for (int h = 0; h < mover->cluster->head->host_count; h++) {
        mover->peers[h].asks = false;
        expect(mover, h);
    }
}

/* Without one of the owners the shards are never complete: whole pieces are exchanged instead, as
 * long as this cut counts. */
static void look_for_losses(cse_mover *mover)
{
    const cse_host_set lost = cse_arena_lost(mover->cluster);
    if (!mover->sharded || !cse_hosts_meet(&lost, &mover->owners))
        return;
    for (int h = 0; h < mover->cluster->head->host_count; h++)
        cse_mover_give_back(mover, h);
    begin_exchange(mover, false);
    for (int h = 0; h < mover->cluster->head->host_count; h++)
        mover->peers[h].asks = !cse_mover_has_root(mover);
}

static void enter_step(cse_mover *mover, int64_t step)
{
    const cse_arena_head *head = mover->cluster->head;
    if (mover->step == step)
        return;
    mover->step = step;
    mover->complete_ns = 0;
    mover->cut = cse_arena_cut(mover->cluster, step);
    mover->owners = cse_shard_owners(mover->cut);
    mover->own_count = cse_mover_pieces(mover, head->host, mover->own);
    begin_exchange(mover, cse_step_is_sharded(mover->cluster, step));
    cse_mover_enter_inputs(mover);
    cse_mover_enter_states(mover);
    for (int h = 0; h < head->host_count; h++)
        cse_mover_rewind_states(mover, h);
    for (int h = 0; h < head->host_count; h++) {
        cse_mover_peer *peer = &mover->peers[h];
        if (peer->early == NULL)
            continue;
        mover->taken = peer->early;
        peer->early = NULL;
        mover->link->hold(mover->state, h, false);
        cse_mover_receive(mover, h, mover->taken, peer->early_bytes);
        free(mover->taken);
        mover->taken = NULL;
    }
}

static bool awaits(const cse_mover *mover, int host)
{
    const cse_arena_hosts *hosts = mover->cluster->hosts;
    return host != mover->cluster->head->host && !cse_arena_is_lost(mover->cluster, host) &&
           mover->peers[host].have <= mover->step &&
           atomic_load(&hosts->hosts[host].steps_done) <= mover->step;
}

/* Says that all other hosts have the pieces of this step. A host that has none waits for the others
 * to have reached the step, too: none may be further than one step ahead. */
static void note_sent(cse_mover *mover)
{
    cse_word *sent = &mover->cluster->hosts->sent;
    const int64_t sequence = mover->step + 1;
    if (!cse_word_takeable(cse_word_load(sent), sequence))
        return;
    for (int h = 0; h < mover->cluster->head->host_count; h++)
        if (awaits(mover, h))
            return;
    for (int i = 0; i < mover->own_count; i++)
        if (!cse_mover_covered(mover->cluster, mover->own[i], sequence))
            return; /* with no other host left, nobody confirms */
    if (!cse_word_claim(sent, sequence, mover->work->slot, mover->work->incarnation))
        return;
    cse_word_publish(sent, sequence, CSE_WORD_DONE);
    CSE_FAILPOINT(PIECES_SENT);
    cse_mover_advance(mover);
}

/* How long the host's own sums have waited for the others'. */
static void note_exposed(cse_mover *mover, uint64_t step)
{
    cse_arena_hosts *hosts = mover->cluster->hosts;
    const int64_t now_ns = cse_clock_ns();
    const bool computing = cse_step_stage(step) == CSE_STAGE_COMPUTE;
    if (mover->complete_ns > 0)
        atomic_fetch_add_explicit(&hosts->exposed_ns, now_ns - mover->complete_ns,
                                  memory_order_relaxed);
    mover->complete_ns = 0;
    for (int i = 0; i < mover->own_count; i++)
        if (!cse_mover_covered(mover->cluster, mover->own[i], mover->step + 1))
            return;
    mover->complete_ns = computing ? now_ns : 0;
}

/* The counts of a link begin anew with each mover, those of the arena do not. */
static void note_traffic(cse_mover *mover)
{
    const int64_t now_ns = cse_clock_ns();
    if (now_ns < mover->counts_ns)
        return;
    mover->counts_ns = now_ns + COUNTS_NS;
    for (int h = 0; h < mover->cluster->head->host_count; h++) {
        cse_mover_peer *peer = &mover->peers[h];
        const cse_host_link_counts before = peer->counted;
        if (h == mover->cluster->head->host)
            continue;
        peer->counted = mover->link->counts(mover->state, h);
        cse_cluster_note_traffic(
            mover->cluster, h,
            &(cse_host_traffic){
                .frames_sent = peer->counted.frames_sent - before.frames_sent,
                .frames_received = peer->counted.frames_received - before.frames_received,
                .bytes_sent = peer->counted.bytes_sent - before.bytes_sent,
                .bytes_received = peer->counted.bytes_received - before.bytes_received,
                .connections = peer->connections,
                .refused = peer->counted.refused - before.refused,
                .retransmits = peer->counted.retransmits - before.retransmits });
        peer->connections = 0;
    }
}

static void serve(cse_mover *mover)
{
    const cse_arena_head *head = mover->cluster->head;
    const cse_host_set lost = cse_arena_lost(mover->cluster);
    for (int h = 0; h < head->host_count; h++) {
        if (h == head->host)
            continue;
        if (cse_hosts_have(&lost, h)) {
            cse_mover_give_back(mover, h);
            cse_mover_forget_inputs(mover, h);
            continue;
        }
        /* Frames of this step can hold the connection where the step before has not ended. */
        cse_mover_confirm(mover, h);
        cse_mover_send_states(mover, h);
        if (mover->step < head->end_step) {
            cse_mover_send(mover, h);
            cse_mover_send_inputs(mover, h);
        }
        cse_mover_confirm(mover, h);
    }
}

static void take_event(cse_mover *mover, const cse_host_link_event *event)
{
    cse_mover_peer *peer = &mover->peers[event->host];
    switch (event->kind) {
    case CSE_HOST_LINK_NOTHING:
        break;
    case CSE_HOST_LINK_CONNECTED:
        peer->connected = true;
        peer->connections++;
        peer->told = -1;
        cse_mover_forget_inputs(mover, event->host);
        cse_mover_forget_states(mover, event->host);
        expect(mover, event->host);
        free(peer->early);
        peer->early = NULL;
        mover->link->hold(mover->state, event->host, false);
        break;
    case CSE_HOST_LINK_LOST:
        peer->connected = false;
        cse_mover_forget_inputs(mover, event->host);
        cse_mover_forget_states(mover, event->host);
        break;
    case CSE_HOST_LINK_FRAME:
        cse_mover_receive(mover, event->host, event->bytes, event->size);
        break;
    }
}

static cse_work_result turn(cse_mover *mover, int64_t deadline_ns)
{
    cse_cluster *cluster = mover->cluster;
    clear_wake(mover);
    const uint64_t step = cse_word_load(cluster->step);
    const bool is_over = cse_step_number(step) >= cluster->head->end_step;
    /* Parts of the last states may be wanted yet. */
    const bool ends =
        atomic_load(&cluster->control->stopping) || (is_over && !cse_states_are_cut(cluster));
    enter_step(mover, cse_step_number(step));
    look_for_losses(mover);
    cse_mover_join(mover);
    cse_mover_ask(mover);
    cse_mover_turn_states(mover);
    serve(mover);
    if (ends)
        return CSE_WORK_ENDED;
    if (!is_over)
        note_sent(mover);
    note_exposed(mover, step);
    note_traffic(mover);
    if (cse_word_load(cluster->step) != step)
        return CSE_WORK_DONE;
    if (!is_over)
        cse_mover_advance(mover);
    cse_host_link_event event;
    mover->status = mover->link->next(mover->state, deadline_ns, &event);
    /* A few at a time: what arrives must not keep the own pieces from being sent. */
    for (int i = 0; mover->status == CSE_OK && event.kind != CSE_HOST_LINK_NOTHING; i++) {
        take_event(mover, &event);
        if (mover->status != CSE_OK)
            break;
        if (i >= MOST_EVENTS || cse_step_number(cse_word_load(cluster->step)) != mover->step)
            return CSE_WORK_DONE;
        mover->status = mover->link->next(mover->state, 0, &event);
    }
    return mover->status == CSE_OK ? CSE_WORK_IDLE : CSE_WORK_FAILED;
}

cse_work_result cse_mover_once(cse_mover *mover, int64_t deadline_ns)
{
    const cse_work_result result = turn(mover, deadline_ns);
    if (result == CSE_WORK_FAILED)
        cse_cluster_report_failure(mover->cluster, mover->work->slot, mover->status,
                                   cse_error_message());
    return result;
}

cse_status cse_mover_status(const cse_mover *mover)
{
    return mover->status;
}
