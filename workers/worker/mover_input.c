/* Microbatches for hosts that have no data: their movers ask, those of hosts with data answer.
 *
 * A host without data has no input workers. Its mover claims each place of the ring that may be
 * filled, as an input worker would, and asks a host that has the data for its microbatch; so no
 * more is under way than the ring has places. What arrives is written to its place. A mover that
 * has data has its host's input workers read what is asked for, into the place that the position
 * has in its own ring, and sends it from there. That place stays as it is until the step ends, and
 * no step ends before the hosts without data have all sums of it (cse_mover_confirm), from which
 * on they need no more input of it.
 *
 * A microbatch is a function of its position alone, so it may be asked for again at any time, and
 * of any host that has the data: that is all that is done when a connection or a host is lost. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "workers/worker/index_check.h"
#include "workers/worker/mover_state.h"

enum {
    MOST_LOOKED_AT = 64, /* of what one host asks for, until one is found that is there */
    NOBODY = -1,
    MOST_FRAME_BYTES = 1 << 20,
};

struct cse_mover_input {
    int64_t position; /* 1 + that of the microbatch; 0: none */
    int host;         /* that was asked; NOBODY */
    int64_t received; /* bytes of what it sent; 0 while nobody was asked */
};

static int64_t position_of(const cse_mover *mover, const cse_piece_frame *frame)
{
    return frame->step * mover->cluster->head->microbatches + frame->node;
}

static int64_t first_position(const cse_mover *mover)
{
    return mover->step * mover->cluster->head->microbatches;
}

static cse_mover_input *input_at(const cse_mover *mover, int64_t q)
{
    return &mover->inputs[q % mover->cluster->head->ring_count];
}

/* Whether the frame can be about a microbatch of this execution that one of two hosts, which are
 * one step apart at most, has a place for. */
static bool is_possible(const cse_mover *mover, const cse_piece_frame *frame)
{
    const cse_arena_head *head = mover->cluster->head;
    return frame->step < head->end_step && frame->node < head->microbatches &&
           position_of(mover, frame) <
               first_position(mover) + head->microbatches + head->ring_count;
}

void cse_mover_prepare_inputs(cse_mover *mover, const cse_mover_place *place)
{
    const cse_cluster *cluster = mover->cluster;
    mover->lacks_data = cse_arena_lacks_data(cluster);
    if (mover->lacks_data)
        mover->inputs = cse_calloc((size_t)cluster->head->ring_count, sizeof *mover->inputs);
    mover->looked_step = -1;
    mover->frame_input_bytes =
        place->frame_input_bytes > 0 && place->frame_input_bytes < MOST_FRAME_BYTES
            ? place->frame_input_bytes
            : MOST_FRAME_BYTES;
}

void cse_mover_destroy_inputs(cse_mover *mover)
{
    for (int h = 0; h < CSE_MAX_HOSTS; h++)
        free(mover->peers[h].wants);
    free(mover->inputs);
}

/* ---- a host without data ---- */

/* Claims the places that can be filled since a step, a loss or a cut. */
static void take_places(cse_mover *mover)
{
    cse_cluster *cluster = mover->cluster;
    const cse_host_set lost = cse_arena_lost(cluster);
    const int64_t cut_step = cse_arena_cut(cluster, INT64_MAX)->first_step;
    const cse_ring_claim claim = { .slot = mover->work->slot,
                                   .incarnation = mover->work->incarnation,
                                   .worker = -1,
                                   .step = mover->step };
    int64_t q;
    if (mover->looked_step == mover->step && mover->looked_cut == cut_step &&
        cse_hosts_equal(&mover->looked_lost, &lost))
        return;
    while ((q = cse_ring_take(cluster, &mover->work->ring, &claim)) >= 0) {
        *input_at(mover, q) = (cse_mover_input){ .position = q + 1, .host = NOBODY };
        mover->unasked++;
    }
    mover->looked_step = mover->step;
    mover->looked_cut = cut_step;
    mover->looked_lost = lost;
}

/* Whom to ask: hosts that have the data, are not lost, and are connected; returns their number. */
static int find_servers(const cse_mover *mover, int servers[CSE_MAX_HOSTS])
{
    const cse_host_set lost = cse_arena_lost(mover->cluster);
    int count = 0;
    for (int h = 0; h < mover->cluster->head->host_count; h++)
        if (cse_hosts_have_data(&mover->cluster->hosts->data_hosts, h) &&
            !cse_hosts_have(&lost, h) && mover->peers[h].connected)
            servers[count++] = h;
    return count;
}

static bool ask(const cse_mover *mover, int host, int64_t q)
{
    const cse_arena_head *head = mover->cluster->head;
    unsigned char bytes[CSE_PIECE_HEAD_BYTES];
    cse_piece_encode(&(cse_piece_frame){ .kind = CSE_PIECE_ASK,
                                         .node = (int32_t)(q % head->microbatches),
                                         .step = q / head->microbatches,
                                         .count = head->input_bytes },
                     bytes);
    return mover->link->send(mover->state, host, bytes, sizeof bytes, NULL, 0) == CSE_OK;
}

static void ask_for_all(cse_mover *mover)
{
    const cse_arena_head *head = mover->cluster->head;
    int servers[CSE_MAX_HOSTS], count;
    take_places(mover);
    if (mover->unasked == 0 || (count = find_servers(mover, servers)) == 0)
        return;
    const int64_t from = first_position(mover);
    for (int64_t q = from; q < from + head->ring_count && mover->unasked > 0; q++) {
        cse_mover_input *input = input_at(mover, q);
        const int server = servers[q % count];
        if (input->position != q + 1 || input->host != NOBODY || !ask(mover, server, q))
            continue;
        input->host = server;
        mover->peers[server].asked++;
        mover->unasked--;
        CSE_FAILPOINT(INPUT_ASKED);
    }
}

/* An entry is done with, or its step is. */
static void clear(cse_mover *mover, cse_mover_input *input)
{
    if (input->host == NOBODY)
        mover->unasked--;
    else
        mover->peers[input->host].asked--;
    *input = (cse_mover_input){ .position = 0 };
}

/* Places of steps that are over are free for others again. */
static void give_back_old(cse_mover *mover)
{
    cse_cluster *cluster = mover->cluster;
    for (int i = 0; i < cluster->head->ring_count; i++) {
        cse_mover_input *input = &mover->inputs[i];
        if (input->position == 0 || input->position > first_position(mover))
            continue;
        cse_ring_give_back(cluster, input->position - 1);
        clear(mover, input);
    }
}

/* Whether the bytes are the next ones of what that host was asked for. */
static bool is_asked_for(const cse_mover *mover, int host, const cse_piece_frame *frame)
{
    const int64_t bytes = mover->cluster->head->input_bytes;
    const cse_mover_input *input = input_at(mover, position_of(mover, frame));
    return input->position == position_of(mover, frame) + 1 && input->host == host &&
           frame->first == input->received && frame->count <= bytes - frame->first &&
           frame->payload_bytes == (size_t)frame->count && (frame->count > 0 || bytes == 0);
}

static bool take_input(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    cse_cluster *cluster = mover->cluster;
    if (!mover->lacks_data || !is_possible(mover, frame))
        return false;
    if (frame->step < mover->step)
        return true; /* the step ended without it */
    if (!is_asked_for(mover, host, frame))
        return false;
    const int64_t q = position_of(mover, frame);
    cse_mover_input *input = input_at(mover, q);
    unsigned char *place = cse_arena_input(cluster, q);
    memcpy(place + frame->first, frame->payload, frame->payload_bytes);
    input->received += frame->count;
    if (input->received < cluster->head->input_bytes)
        return true;
    if (mover->graph != NULL)
        mover->status = cse_microbatch_check(mover->graph, place);
    if (mover->status != CSE_OK)
        return false;
    CSE_FAILPOINT(INPUT_UNPUBLISHED);
    clear(mover, input);
    cse_ring_publish(cluster, q);
    cse_doorbell_ring(cluster, CSE_DOORBELL_FILLED);
    return true;
}

/* ---- a host with data ---- */

/* Has the input workers read what can be read at this step. They are woken once a turn. */
static void want_now(cse_mover *mover, int64_t q)
{
    const cse_arena_head *head = mover->cluster->head;
    if (q < first_position(mover) || q >= first_position(mover) + head->ring_count)
        return;
    cse_ring_ask(mover->cluster, q);
    mover->wants_read = true;
}

static void wake_readers(cse_mover *mover)
{
    if (mover->wants_read)
        cse_doorbell_ring(mover->cluster, CSE_DOORBELL_FREED);
    mover->wants_read = false;
}

static bool take_ask(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    const cse_arena_head *head = mover->cluster->head;
    cse_mover_peer *peer = &mover->peers[host];
    if (mover->lacks_data || cse_hosts_have_data(&mover->cluster->hosts->data_hosts, host) ||
        !is_possible(mover, frame) || frame->count != head->input_bytes || frame->payload_bytes > 0)
        return false;
    if (frame->step < mover->step)
        return true; /* it has all sums of that step by now */
    if (peer->want_count == head->ring_count)
        return false;
    if (peer->wants == NULL)
        peer->wants = cse_calloc((size_t)head->ring_count, sizeof *peer->wants);
    peer->wants[peer->want_count++] = position_of(mover, frame);
    want_now(mover, position_of(mover, frame));
    return true;
}

static void remove_want(cse_mover_peer *peer, int at)
{
    memmove(peer->wants + at, peer->wants + at + 1,
            (size_t)(--peer->want_count - at) * sizeof *peer->wants);
    peer->want_sent = 0;
}

/* Which of the peer's wishes is sent now; -1: none is there. One that was begun is ended first. */
static int next_want(const cse_mover *mover, cse_mover_peer *peer)
{
    if (peer->want_sent > 0 && peer->wants[peer->want_at] >= first_position(mover))
        return peer->want_at;
    peer->want_sent = 0;
    for (int i = 0; i < peer->want_count && i < MOST_LOOKED_AT; i++) {
        if (peer->wants[i] < first_position(mover))
            remove_want(peer, i--);
        else if (cse_ring_ready(mover->cluster, peer->wants[i]))
            return i;
    }
    return -1;
}

void cse_mover_send_inputs(cse_mover *mover, int host)
{
    const cse_arena_head *head = mover->cluster->head;
    cse_mover_peer *peer = &mover->peers[host];
    unsigned char bytes[CSE_PIECE_HEAD_BYTES];
    int at;
    while (peer->connected && peer->want_count > 0 && (at = next_want(mover, peer)) >= 0) {
        const int64_t q = peer->wants[at], rest = head->input_bytes - peer->want_sent;
        const cse_piece_frame frame = { .kind = CSE_PIECE_INPUT,
                                        .node = (int32_t)(q % head->microbatches),
                                        .step = q / head->microbatches,
                                        .first = peer->want_sent,
                                        .count = rest < mover->frame_input_bytes
                                                     ? rest
                                                     : mover->frame_input_bytes };
        cse_piece_encode(&frame, bytes);
        if (mover->link->send(mover->state, host, bytes, sizeof bytes,
                              cse_arena_input(mover->cluster, q) + frame.first,
                              (size_t)frame.count) != CSE_OK)
            return; /* the link wakes the mover when there is room */
        CSE_FAILPOINT(INPUT_SENT);
        peer->want_at = at;
        peer->want_sent += frame.count;
        if (peer->want_sent == head->input_bytes)
            remove_want(peer, at);
    }
}

/* ---- both ---- */

bool cse_mover_take_input(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    return frame->kind == CSE_PIECE_ASK ? take_ask(mover, host, frame)
                                        : take_input(mover, host, frame);
}

void cse_mover_ask(cse_mover *mover)
{
    if (mover->lacks_data && mover->step < mover->cluster->head->end_step)
        ask_for_all(mover);
    wake_readers(mover);
}

void cse_mover_enter_inputs(cse_mover *mover)
{
    if (mover->lacks_data)
        give_back_old(mover);
    for (int h = 0; h < mover->cluster->head->host_count; h++)
        for (int i = 0; i < mover->peers[h].want_count; i++)
            want_now(mover, mover->peers[h].wants[i]);
}

void cse_mover_forget_inputs(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    peer->want_count = 0;
    peer->want_sent = 0;
    for (int i = 0; peer->asked > 0 && i < mover->cluster->head->ring_count; i++) {
        cse_mover_input *input = &mover->inputs[i];
        if (input->position == 0 || input->host != host)
            continue;
        input->host = NOBODY;
        input->received = 0;
        peer->asked--;
        mover->unasked++;
    }
}
