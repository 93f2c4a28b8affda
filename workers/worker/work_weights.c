/* REDUCE, NORM and UPDATE: what weight servers do (or the replicas, when there are none).
 *
 * REDUCE adds the step's partial sums in the tree's order, chunk by chunk, into a separate buffer,
 * so a chunk can be repeated. NORM runs the serial program once and writes the record; it writes
 * nothing that it reads, so it can be repeated, too. UPDATE changes the states in place, with an
 * undo log: after a recovery the next claimer continues at the line where the first one stopped. */
#include "engine/base/clock.h"
#include "workers/arena/shards.h"
#include "workers/arena/state_digests.h"
#include "workers/arena/state_ranges.h"
#include "workers/arena/states_digest.h"
#include "workers/worker/work_residency.h"

bool cse_work_reduce(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    int chunk = cse_work_take(work, cluster->reduce, head->reduce_chunks, &work->reduce_cursor);
    if (chunk < 0)
        return false;
    CSE_FAILPOINT(REDUCE_CLAIMED);
    const int64_t sequence = cse_step_number(step) + 1;
    cse_work_plan_join(work, sequence);
    int64_t first = chunk * head->reduce_chunk_elements;
    int64_t end = first + head->reduce_chunk_elements;
    end = end < head->joined_bytes / 4 ? end : head->joined_bytes / 4;
    cse_segments segments = cluster->segments;
    segments.step = cse_step_number(step);
    segments.count = work->counts_only ? 0 : segments.count;
    const int64_t last = head->joined_bytes / 4;
    cse_work_residency_join(work, (const int64_t[]){ first, end < last ? end : last },
                            cluster->base + head->reduced_offset);
    cse_join_run(&work->join, &segments, cluster->base + head->reduced_offset, first, end);
    CSE_FAILPOINT(REDUCE_UNPUBLISHED);
    cse_word_publish(&cluster->reduce[chunk], sequence, CSE_WORD_DONE);
    cse_work_advance(work, step);
    return true;
}

/* Whether the step may change the states. If not, tells the coordinator that a worker waits. */
static bool released(cse_work *work, int64_t step)
{
    cse_control *control = work->cluster->control;
    if (step < atomic_load(&control->released) &&
        step < atomic_load(&control->closed) + work->cluster->head->record_count)
        return true;
    work->blocked = true;
    if (!atomic_exchange(&control->urgent, 1))
        cse_doorbell_ring(work->cluster, CSE_DOORBELL_URGENT);
    return false;
}

/* Whether this step's NORM has to wait for the coordinator, which then gets to know since when. */
static bool is_held(cse_work *work, uint64_t norm, int64_t step)
{
    cse_control *control = work->cluster->control;
    const bool by_hold = cse_word_is(norm, CSE_WORD_CLAIMED, step + 1) &&
                         cse_word_owner(norm) == CSE_OWNER_COORDINATOR;
    if (!by_hold && (!cse_word_takeable(norm, step + 1) || released(work, step)))
        return false;
    if (atomic_load_explicit(&control->held_sequence, memory_order_relaxed) != step + 1) {
        atomic_store(&control->held_from_ns, cse_clock_ns());
        atomic_store(&control->held_sequence, step + 1);
    }
    return true;
}

/* The times of the step so far; the record's place is free. */
static void note_times(const cse_work *work, cse_record_slot *record, int64_t sequence)
{
    const cse_control *control = work->cluster->control;
    const bool held =
        atomic_load_explicit(&control->held_sequence, memory_order_relaxed) == sequence;
    atomic_store_explicit(&record->computed_ns, atomic_load(&control->computed_ns),
                          memory_order_relaxed);
    atomic_store_explicit(&record->held_from_ns, held ? atomic_load(&control->held_from_ns) : 0,
                          memory_order_relaxed);
    atomic_store_explicit(&record->held_until_ns, held ? cse_clock_ns() : 0, memory_order_relaxed);
}

/* Of states that are cut over hosts: of every n-th chunk, what all hosts have. */
static uint64_t digest_chunks(const cse_cluster *cluster, int64_t step)
{
    const int chunks = cluster->head->update_chunks;
    const int parts = chunks < CSE_STATES_PARTS ? chunks : CSE_STATES_PARTS;
    uint64_t digest = 0;
    for (int c = (int)(step % parts); c < chunks; c += parts)
        digest = (digest ^ cse_shared_digest(cluster, c)) * UINT64_C(0x9e3779b97f4a7c15);
    return digest;
}

/* After the program, which may change states that it does not read: all hosts have the same ones
 * then, however often it was repeated. */
static uint64_t digest_states(const cse_cluster *cluster, int64_t step)
{
    int64_t range[2];
    if (cluster->head->host_count < 2)
        return 0;
    if (cse_states_are_cut(cluster))
        return digest_chunks(cluster, step);
    cse_states_part(cluster->head->state_bytes, step, range);
    return cse_states_digest(cse_arena_states(cluster) + range[0], (size_t)(range[1] - range[0]));
}

bool cse_work_norm(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const int64_t sequence = cse_step_number(step) + 1;
    const uint64_t norm = cse_word_load(cluster->norm);
    if (is_held(work, norm, cse_step_number(step)) || !cse_word_takeable(norm, sequence) ||
        !cse_word_claim(cluster->norm, sequence, work->slot, work->incarnation))
        return false;
    CSE_FAILPOINT(NORM_CLAIMED);
    note_times(work, cse_arena_record(cluster, cse_step_number(step)), sequence);
    cse_work_frame_for(work, step);
    cse_work_statistics_open(work, step);
    cse_work_run_program(work, CSE_PART_WEIGHTS);
    cse_work_statistics_close(work, step);
    cse_record_slot *record = cse_arena_record(cluster, cse_step_number(step));
    atomic_store(&record->states_digest, digest_states(cluster, cse_step_number(step)));
    atomic_store(&record->norm_done_ns, cse_clock_ns());
    atomic_store(&record->sequence, sequence);
    CSE_FAILPOINT(NORM_UNPUBLISHED);
    cse_word_publish(cluster->norm, sequence, CSE_WORD_DONE);
    cse_work_advance(work, step);
    return true;
}

/* Progress of the chunk's lines is stored by the update program itself, as an offset from
 * `dirty_base`; the program counts lines from the start of their group. */
static void update_part(cse_work *work, int chunk, int64_t sequence, cse_update_part part)
{
    cse_cluster *cluster = work->cluster;
    cse_word *progress = &cluster->progress[chunk];
    const uint64_t dirty = cse_progress_make(sequence, true, 0);
    cse_undo_log undo = {
        .lines = { cse_arena_undo(cluster, work->slot, 0), cse_arena_undo(cluster, work->slot, 1) },
        .progress = (volatile uint64_t *)(uintptr_t)&progress->value,
        .dirty_base = dirty + (uint64_t)(part.chunk_line - part.first),
    };
    const int64_t lines[2] = { part.first, part.end };
    cse_work_run_update(work, part.group, lines, &undo);
    /* Clean before the next group begins: its undo log may overwrite that of the last line. */
    CSE_COMPILER_BARRIER();
    atomic_store(&progress->value,
                 cse_progress_make(sequence, false, part.chunk_line + part.end - part.first));
    CSE_COMPILER_BARRIER();
    CSE_FAILPOINT(UPDATE_PART);
}

/* Claims a chunk that this host updates; -1: there is none. */
static int take_chunk(cse_work *work)
{
    cse_cluster *cluster = work->cluster;
    const int count = cluster->head->update_chunks;
    cse_work_cursor *cursor = &work->update_cursor;
    if (!cse_states_are_cut(cluster))
        return cse_work_take(work, cluster->update, count, cursor);
    for (int looked = 0; looked < count; looked++) {
        const int chunk = cursor->next;
        cursor->next = chunk + 1 < count ? chunk + 1 : 0;
        if (cse_chunk_is_kept(cluster, chunk) &&
            cse_word_claim(&cluster->update[chunk], cursor->sequence, work->slot,
                           work->incarnation))
            return chunk;
    }
    return -1;
}

bool cse_work_update(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    if (!cse_states_may_change(cluster, cse_step_number(step)))
        return false;
    int chunk = take_chunk(work);
    if (chunk < 0)
        return false;
    CSE_FAILPOINT(UPDATE_CLAIMED);
    const int64_t sequence = cse_step_number(step) + 1;
    uint64_t progress = cse_word_load(&cluster->progress[chunk]);
    int64_t line = cse_word_sequence(progress) == sequence ? cse_progress_line(progress) : 0;
    cse_work_frame_for(work, step);
    for (;;) {
        cse_update_part part = cse_arena_update_part(cluster, work->graph, chunk, line);
        if (part.group < 0)
            break;
        cse_work_residency_update(work, step, chunk, part);
        work->frame.base[CSE_SPACE_REDUCED] = cse_work_sums_of(work, step, part);
        update_part(work, chunk, sequence, part);
        line += part.end - part.first;
    }
    if (head->digest_count > 0 && !work->counts_only)
        cse_arena_state_digests(cluster, cse_step_number(step))[chunk] =
            cse_chunk_digest(cluster, work->graph, chunk);
    CSE_FAILPOINT(UPDATE_UNPUBLISHED);
    cse_word_publish(&cluster->update[chunk], sequence, CSE_WORD_DONE);
    cse_work_advance(work, step);
    return true;
}
