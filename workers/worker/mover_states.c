/* States that are cut over hosts (state_ranges.h): after each update the owners of a chunk send all
 * others what they need of it, and before a checkpoint the leading host gets what it lacks.
 *
 * New states are written in place, so a host takes them only once its own programs of the step have
 * read the old ones: it says so (READY), and is sent none before. On hosts that do not lead, the
 * same word of the leading one lets the update begin: as long as that stands before a step, the
 * parts of all hosts are those that belong to its own states, and can be gathered. What is sent is
 * read where it lies: it changes only when all others have it. */
#include <string.h>

#include "engine/base/arena.h"
#include "workers/arena/state_digests.h"
#include "workers/arena/state_ranges.h"
#include "workers/worker/mover_state.h"

enum { DIGEST_BYTES = sizeof(uint64_t), FRAME_BYTES = CSE_PIECE_ELEMENTS * 4 };

/* Smaller frames in tests. */
static int64_t frame_bytes(const cse_mover *mover)
{
    const int64_t bytes = mover->frame_elements * 4;
    return bytes < FRAME_BYTES ? bytes : FRAME_BYTES;
}

/* What all others get of a chunk: its states, and the digest that its owner made of all of it. */
static int64_t sent_bytes(const cse_cluster *cluster, int chunk)
{
    return cse_chunk_bytes(cluster, chunk, CSE_STATES_SHARED) + DIGEST_BYTES;
}

/* Whether the arena is in the update of the mover's step. */
static bool updates(const cse_mover *mover)
{
    const uint64_t step = cse_word_load(mover->cluster->step);
    return cse_step_number(step) == mover->step && cse_step_stage(step) == CSE_STAGE_UPDATE;
}

void cse_mover_rewind_states(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    peer->sends_states = peer->receives_states = (cse_state_cursor){ 0, 0 };
}

/* ---- telling ---- */

static bool tell(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    cse_piece_encode(frame, head);
    return mover->link->send(mover->state, host, head, sizeof head, NULL, 0) == CSE_OK;
}

/* Steps whose new states this host takes, or, at the end of its steps, whose old ones it no longer
 * wants. */
static int64_t ready_steps(const cse_mover *mover)
{
    const int64_t passed = atomic_load(&mover->cluster->hosts->passed);
    const int64_t ready = mover->step + updates(mover);
    return ready > passed ? ready : passed;
}

static void tell_ready(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    const cse_piece_frame frame = { .kind = CSE_PIECE_READY, .step = ready_steps(mover) };
    if (frame.step > peer->told_ready && tell(mover, host, &frame))
        peer->told_ready = frame.step;
}

/* ---- new states ---- */

static void take_sent(const cse_mover *mover, int chunk, const int64_t range[2],
                      unsigned char *bytes)
{
    const cse_cluster *cluster = mover->cluster;
    const int64_t states = cse_chunk_bytes(cluster, chunk, CSE_STATES_SHARED);
    const int64_t of_states[2] = { range[0] < states ? range[0] : states,
                                   range[1] < states ? range[1] : states };
    uint64_t digest = 0;
    if (cluster->head->digest_count > 0)
        digest = cse_arena_state_digests(cluster, mover->step)[chunk];
    cse_chunk_take(cluster, chunk, CSE_STATES_SHARED, of_states, bytes);
    if (range[1] > states) /* no frame ends within it */
        memcpy(bytes + (of_states[1] - of_states[0]), &digest, sizeof digest);
}

/* The digest comes whole, in the last frame. */
static int64_t frame_end(const cse_mover *mover, int64_t at, int64_t total)
{
    const int64_t states = total - DIGEST_BYTES;
    const int64_t end = at + frame_bytes(mover) - DIGEST_BYTES;
    return end < states ? end : total;
}

/* False: the link takes no more. */
static bool send_chunk(cse_mover *mover, int host, cse_state_cursor *cursor)
{
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    const int64_t total = sent_bytes(mover->cluster, cursor->chunk);
    while (cursor->at < total) {
        const int64_t range[2] = { cursor->at, frame_end(mover, cursor->at, total) };
        const cse_piece_frame frame = { .kind = CSE_PIECE_STATES,
                                        .node = cursor->chunk,
                                        .step = mover->step,
                                        .first = range[0],
                                        .count = range[1] - range[0] };
        cse_piece_encode(&frame, head);
        take_sent(mover, cursor->chunk, range, mover->states);
        if (mover->link->send(mover->state, host, head, sizeof head, mover->states,
                              (size_t)frame.count) != CSE_OK)
            return false;
        CSE_FAILPOINT(STATES_SENT);
        cursor->at = range[1];
    }
    return true;
}

static void send_states(cse_mover *mover, int host)
{
    const cse_cluster *cluster = mover->cluster;
    cse_mover_peer *peer = &mover->peers[host];
    cse_state_cursor *cursor = &peer->sends_states;
    if (!peer->connected || peer->ready <= mover->step || peer->have > mover->step)
        return;
    for (; cursor->chunk < cluster->head->update_chunks;
         *cursor = (cse_state_cursor){ cursor->chunk + 1, 0 }) {
        if (cse_chunk_sender(cluster, cursor->chunk) != cluster->head->host ||
            cse_chunk_has_owner(cluster, cursor->chunk, host))
            continue;
        if (!cse_update_is_done(cluster, cursor->chunk, mover->step + 1) ||
            !send_chunk(mover, host, cursor))
            return;
    }
}

static bool holds_chunk(const cse_mover *mover, int chunk)
{
    const uint64_t word = cse_word_load(&mover->cluster->update[chunk]);
    return cse_word_is(word, CSE_WORD_CLAIMED, mover->step + 1) &&
           cse_word_owner(word) == mover->work->slot;
}

static void put_sent(cse_mover *mover, const cse_piece_frame *frame, int64_t states)
{
    cse_cluster *cluster = mover->cluster;
    const int64_t end = frame->first + frame->count;
    const int64_t range[2] = { frame->first, end < states ? end : states };
    cse_chunk_put(cluster, frame->node, CSE_STATES_SHARED, range, frame->payload);
    if (end > states && cluster->head->digest_count > 0)
        memcpy(&cse_arena_state_digests(cluster, mover->step)[frame->node],
               frame->payload + (frame->count - DIGEST_BYTES), DIGEST_BYTES);
}

/* Frames of a chunk come in their order, or from its beginning again. Two owners of a chunk send
 * the same bytes. */
static bool take_new_states(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    cse_cluster *cluster = mover->cluster;
    cse_state_cursor *cursor = &mover->peers[host].receives_states;
    const int chunk = frame->node;
    const int64_t total = sent_bytes(cluster, chunk);
    if (frame->step > mover->step || !cse_chunk_has_owner(cluster, chunk, host) ||
        cse_chunk_is_kept(cluster, chunk))
        return false;
    if (frame->step < mover->step || !updates(mover))
        return true; /* it does not know that this host has them */
    if (frame->first == 0) {
        if (cse_word_claim(&cluster->update[chunk], mover->step + 1, mover->work->slot,
                           mover->work->incarnation))
            CSE_FAILPOINT(STATES_CLAIMED);
        *cursor = (cse_state_cursor){ chunk, 0 };
    }
    if (!holds_chunk(mover, chunk) || cursor->chunk != chunk || cursor->at != frame->first)
        return true;
    if (frame->count != frame_end(mover, frame->first, total) - frame->first ||
        frame->payload_bytes != (size_t)frame->count)
        return false;
    put_sent(mover, frame, total - DIGEST_BYTES);
    cursor->at += frame->count;
    if (cursor->at < total)
        return true;
    CSE_FAILPOINT(STATES_UNPUBLISHED);
    cse_word_publish(&cluster->update[chunk], mover->step + 1, CSE_WORD_DONE);
    if (cse_mover_has_states(mover)) {
        for (int h = 0; h < cluster->head->host_count; h++)
            if (h != cluster->head->host)
                cse_mover_confirm(mover, h);
        cse_mover_advance(mover);
    }
    return true;
}

/* ---- parts for a checkpoint ---- */

static void wake_coordinator(cse_cluster *cluster)
{
    atomic_store(&cluster->control->urgent, 1);
    cse_doorbell_ring(cluster, CSE_DOORBELL_URGENT);
}

static void note_gathered(cse_mover *mover, int chunk, int64_t wanted)
{
    atomic_store(&mover->cluster->gathered[chunk], wanted);
    mover->part = (cse_part_wanted){ .chunk = -1 };
    wake_coordinator(mover->cluster);
}

/* Of the leading host: asks for one chunk after the other, so that each is answered while the
 * memory for it is there. */
static void ask_for_parts(cse_mover *mover)
{
    const cse_cluster *cluster = mover->cluster;
    const int64_t wanted = atomic_load(&cluster->hosts->gather);
    const uint64_t chunks = atomic_load(&cluster->hosts->gather_chunks);
    for (int c = (int)(chunks >> 32); wanted > 0 && c < (int)(uint32_t)chunks; c++) {
        if (cse_chunk_is_kept(cluster, c) || atomic_load(&cluster->gathered[c]) == wanted)
            continue;
        if (cse_chunk_bytes(cluster, c, CSE_STATES_OWN) == 0) {
            note_gathered(mover, c, wanted);
            continue;
        }
        const int host = cse_chunk_sender(cluster, c);
        const bool asked = mover->part.chunk == c && mover->part.wanted == wanted;
        const cse_piece_frame ask = { .kind = CSE_PIECE_GATHER, .node = c, .step = wanted - 1 };
        if (host >= 0 && !asked && mover->peers[host].connected && tell(mover, host, &ask))
            mover->part = (cse_part_wanted){ c, host, wanted, 0 };
        return;
    }
}

static bool take_part(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    cse_part_wanted *part = &mover->part;
    if (part->chunk != frame->node || part->host != host || frame->step != part->wanted - 1 ||
        frame->first != part->at || part->wanted != atomic_load(&mover->cluster->hosts->gather))
        return true; /* of an earlier question */
    const int64_t total = cse_chunk_bytes(mover->cluster, part->chunk, CSE_STATES_OWN);
    if (frame->count < 1 || frame->count > total - part->at || frame->count > FRAME_BYTES ||
        frame->payload_bytes != (size_t)frame->count)
        return false;
    const int64_t range[2] = { part->at, part->at + frame->count };
    cse_chunk_put(mover->cluster, part->chunk, CSE_STATES_OWN, range, frame->payload);
    part->at = range[1];
    if (part->at == total) {
        CSE_FAILPOINT(STATES_GATHERED);
        note_gathered(mover, part->chunk, part->wanted);
    }
    return true;
}

static bool take_question(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    if (host != mover->cluster->head->leader || !cse_chunk_is_kept(mover->cluster, frame->node))
        return false;
    mover->peers[host].part = (cse_part_wanted){ frame->node, host, frame->step + 1, 0 };
    return true;
}

/* As long as the chunk is as it is before the step: the leading host keeps it so. */
static void send_part(cse_mover *mover, int host)
{
    unsigned char head[CSE_PIECE_HEAD_BYTES];
    const cse_cluster *cluster = mover->cluster;
    cse_part_wanted *part = &mover->peers[host].part;
    if (part->chunk < 0 || !mover->peers[host].connected ||
        !cse_update_is_done(cluster, part->chunk, part->wanted - 1))
        return;
    const int64_t total = cse_chunk_bytes(cluster, part->chunk, CSE_STATES_OWN);
    while (part->at < total) {
        const int64_t left = total - part->at, most = frame_bytes(mover);
        const int64_t range[2] = { part->at, part->at + (left < most ? left : most) };
        const cse_piece_frame frame = { .kind = CSE_PIECE_PART,
                                        .node = part->chunk,
                                        .step = part->wanted - 1,
                                        .first = range[0],
                                        .count = range[1] - range[0] };
        cse_piece_encode(&frame, head);
        cse_chunk_take(cluster, part->chunk, CSE_STATES_OWN, range, mover->states);
        if (mover->link->send(mover->state, host, head, sizeof head, mover->states,
                              (size_t)frame.count) != CSE_OK)
            return;
        part->at = range[1];
    }
    part->chunk = -1;
}

/* ---- of the mover's loop ---- */

void cse_mover_prepare_states(cse_mover *mover)
{
    if (cse_states_are_cut(mover->cluster))
        mover->states = cse_malloc(FRAME_BYTES);
    mover->part.chunk = -1;
}

void cse_mover_enter_states(cse_mover *mover)
{
    mover->states_complete = 0;
}

void cse_mover_forget_states(cse_mover *mover, int host)
{
    cse_mover_peer *peer = &mover->peers[host];
    cse_mover_rewind_states(mover, host);
    peer->told_ready = -1;
    peer->part.chunk = -1;
    if (mover->part.host == host)
        mover->part.chunk = -1;
}

void cse_mover_turn_states(cse_mover *mover)
{
    const cse_host_set lost = cse_arena_lost(mover->cluster);
    if (!cse_states_are_cut(mover->cluster))
        return;
    /* What a lost host was to send, another one sends. */
    for (int h = 0; !cse_hosts_equal(&lost, &mover->states_lost) && h < CSE_MAX_HOSTS; h++)
        mover->peers[h].sends_states = (cse_state_cursor){ 0, 0 };
    mover->states_lost = lost;
    if (mover->part.chunk >= 0 && cse_hosts_have(&lost, mover->part.host))
        mover->part.chunk = -1;
    ask_for_parts(mover);
}

void cse_mover_send_states(cse_mover *mover, int host)
{
    if (!cse_states_are_cut(mover->cluster) || !mover->peers[host].connected)
        return;
    tell_ready(mover, host);
    send_part(mover, host);
    if (mover->step < mover->cluster->head->end_step)
        send_states(mover, host);
}

static bool take_ready(cse_mover *mover, int host, int64_t steps)
{
    cse_arena_hosts *hosts = mover->cluster->hosts;
    cse_mover_peer *peer = &mover->peers[host];
    if (steps > mover->step + 2)
        return false;
    peer->ready = steps > peer->ready ? steps : peer->ready;
    if (host == mover->cluster->head->leader && steps > atomic_load(&hosts->leader_ready)) {
        atomic_store(&hosts->leader_ready, steps);
        cse_doorbell_ring(mover->cluster, CSE_DOORBELL_STAGE);
        wake_coordinator(mover->cluster);
    }
    return true;
}

bool cse_mover_take_states(cse_mover *mover, int host, const cse_piece_frame *frame)
{
    const cse_cluster *cluster = mover->cluster;
    if (!cse_states_are_cut(cluster) || cse_arena_is_lost(cluster, host))
        return false;
    if (frame->kind == CSE_PIECE_READY)
        return take_ready(mover, host, frame->step);
    if (frame->node >= cluster->head->update_chunks)
        return false;
    return frame->kind == CSE_PIECE_STATES   ? take_new_states(mover, host, frame)
           : frame->kind == CSE_PIECE_GATHER ? take_question(mover, host, frame)
                                             : take_part(mover, host, frame);
}
