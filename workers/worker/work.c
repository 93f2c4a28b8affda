/* The loop of a worker: look at the step word, do one unit of what the roles allow, move the step
 * word on when a stage is complete.
 *
 * Nothing blocks inside a unit, so control messages and liveness questions are answered between two
 * of them. A unit that completes a stage is followed by a look at all its words: whoever publishes
 * the last one sees the stage complete, and if it dies before moving the step word, the next one
 * that finds nothing to do looks, too. Only the moves ring the doorbell (and filled microbatches when
 * somebody waits for them): between two moves there is nothing new to take. */
#include "workers/worker/work.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "workers/arena/sums.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Spans that are nearer than this are one; shorter ones are left out. */
enum { JOINED_SPANS_NS = 2000, SHORTEST_SPAN_NS = 200 };

void cse_set_float_mode(void)
{
#if defined(__x86_64__)
    _mm_setcsr(0x1f80 | 0x8000 | 0x0040); /* exceptions masked, nearest even, FTZ, DAZ */
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)1 << 24)); /* nearest even, FZ */
#endif
}

static void relax(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Zeroed, at page starts, and costing nothing until touched. */
static unsigned char *private_memory(size_t bytes)
{
    if (bytes == 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static cse_status check_graph(const cse_cluster *cluster, const cse_graph *graph)
{
    const cse_arena_head *head = cluster->head;
    int64_t lines = 0;
    for (int i = 0; i < graph->group_count; i++)
        if (graph->groups[i].part == CSE_PART_UPDATE)
            lines = graph->groups[i].first_line + cse_group_lines(&graph->groups[i]);
    if (graph->microbatch_count != head->microbatches ||
        graph->micro_batch_size != head->micro_batch_size ||
        graph->group_count != head->group_count || lines != head->update_lines ||
        graph->space_bytes[CSE_SPACE_PARTIAL] != head->partial_bytes ||
        graph->space_bytes[CSE_SPACE_STATE] != head->state_bytes ||
        graph->space_bytes[CSE_SPACE_INPUT] != head->input_bytes ||
        graph->space_bytes[CSE_SPACE_FETCH] != head->fetch_bytes ||
        graph->space_bytes[CSE_SPACE_WEIGHTS] != head->weights_bytes)
        return cse_fail(CSE_UNAVAILABLE, "the compiled step is not the one the cluster was made "
                                         "for: recompile, or empty the compile directory");
    return CSE_OK;
}

static cse_status prepare_compute(cse_work *work)
{
    const cse_arena_head *head = work->cluster->head;
    const int depth = cse_tree_depth(head->microbatches);
    work->graph = work->executable->graph;
    CSE_TRY(check_graph(work->cluster, work->graph));
    work->workspace_bytes = (size_t)work->graph->space_bytes[CSE_SPACE_REPLICA];
    work->workspace = private_memory(work->workspace_bytes);
    /* Partial sums but the first, which grows in the arena, and the leaf where it is rounded. */
    work->sums_bytes = (size_t)(depth * head->partial_stride);
    work->sums = private_memory(work->sums_bytes);
    if ((work->workspace_bytes && !work->workspace) || (work->sums_bytes && !work->sums))
        return cse_fail(CSE_TEMPORARY,
                        "no memory for a workspace of %zu bytes and partial sums of "
                        "%zu bytes",
                        work->workspace_bytes, work->sums_bytes);
    work->leaf = work->sums + (depth - 1) * head->partial_stride;
    work->pieces = cse_calloc((size_t)head->microbatches, sizeof *work->pieces);
    work->join.steps = cse_calloc(2 * (size_t)head->microbatches, sizeof *work->join.steps);
    work->join.blocks = cse_aligned_calloc(((size_t)depth + 1) * CSE_JOIN_BLOCK * sizeof(float));
    work->joined = cse_aligned_calloc((size_t)head->update_chunk_lines * CSE_LINE_ELEMENTS * 4);
    work->direct_offsets =
        cse_calloc((size_t)work->graph->group_count + 1, sizeof *work->direct_offsets);
    work->group_ns = cse_calloc((size_t)work->graph->group_count + 1, sizeof *work->group_ns);
    for (int g = 0; g < work->graph->group_count; g++)
        work->direct_offsets[g] = cse_sums_direct_offset(work->graph, g, head->joined_bytes);
    CSE_TRY(cse_work_statistics_prepare(work));
    work->frame.seed = head->seed;
    work->frame.base[CSE_SPACE_STATE] = cse_arena_states(work->cluster);
    work->frame.base[CSE_SPACE_REPLICA] = work->workspace;
    work->frame.base[CSE_SPACE_WEIGHTS] = work->cluster->base + head->at_weights;
    return CSE_OK;
}

cse_status cse_work_new(const cse_work_options *options, cse_work **result)
{
    cse_cluster *cluster = options->cluster;
    *result = NULL;
    if (options->slot < 0 || options->slot >= cse_arena_slot_count(cluster))
        return cse_fail(CSE_UNAVAILABLE, "slot %d: the cluster has %d", options->slot,
                        cse_arena_slot_count(cluster));
    cse_set_float_mode();
    cse_work *work = cse_calloc(1, sizeof *work);
    work->cluster = cluster;
    work->slot = options->slot;
    work->executable = options->executable;
    work->source = options->source;
    cse_status status = work->executable ? prepare_compute(work) : CSE_OK;
    if (status != CSE_OK)
        cse_work_destroy(&work);
    *result = work;
    return status;
}

void cse_work_destroy(cse_work **work)
{
    if (!*work)
        return;
    if ((*work)->workspace)
        munmap((*work)->workspace, (*work)->workspace_bytes);
    if ((*work)->sums)
        munmap((*work)->sums, (*work)->sums_bytes);
    free((*work)->pieces);
    free((*work)->join.steps);
    free((*work)->join.blocks);
    free((*work)->joined);
    free((*work)->direct_offsets);
    free((*work)->group_ns);
    cse_work_statistics_release(*work);
    free(*work);
    *work = NULL;
}

bool cse_work_words_complete(const cse_word *words, int count, cse_work_cursor *cursor)
{
    while (cursor->complete < count &&
           cse_word_is(cse_word_load(&words[cursor->complete]), CSE_WORD_DONE, cursor->number))
        cursor->complete++;
    return cursor->complete == count;
}

int cse_work_take(cse_work *work, cse_word *words, int count, cse_work_cursor *cursor)
{
    for (int looked = 0; looked < count; looked++) {
        int i = cursor->next;
        cursor->next = i + 1 < count ? i + 1 : 0;
        if (cse_word_claim(&words[i], cursor->number, work->slot, work->incarnation))
            return i;
    }
    return -1;
}

/* A server begins where no other does, so that they meet late. */
static void place_cursor(cse_work *work, cse_work_cursor *cursor, int64_t number, int count)
{
    const cse_arena_head *head = work->cluster->head;
    if (cursor->number == number)
        return;
    int servers = head->weight_servers > 0 ? head->weight_servers : head->replicas;
    int index = cse_cluster_slot_index(work->cluster, work->slot) % servers;
    *cursor =
        (cse_work_cursor){ .number = number, .next = (int)((int64_t)index * count / servers) };
}

static void place_cursors(cse_work *work, uint64_t step)
{
    const int64_t number = cse_step_number(step) + 1;
    if (work->piece_cursor.number != number)
        work->piece_cursor = (cse_work_cursor){ .number = number };
    place_cursor(work, &work->reduce_cursor, number, work->cluster->head->reduce_chunks);
    place_cursor(work, &work->update_cursor, number, work->cluster->head->update_chunks);
}

static bool stage_complete(cse_work *work, uint64_t step)
{
    const cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    switch (cse_step_stage(step)) {
    case CSE_STAGE_COMPUTE:
        return cse_work_pieces_complete(work, step);
    case CSE_STAGE_REDUCE:
        return cse_work_words_complete(cluster->reduce, head->reduce_chunks, &work->reduce_cursor);
    case CSE_STAGE_NORM:
        return cse_word_is(cse_word_load(cluster->norm), CSE_WORD_DONE, cse_step_number(step) + 1);
    case CSE_STAGE_UPDATE:
        return cse_work_words_complete(cluster->update, head->update_chunks, &work->update_cursor);
    }
    return false;
}

/* The step word after a complete stage. Stages without items are passed over. */
static uint64_t next_of(const cse_cluster *cluster, uint64_t step)
{
    const cse_arena_head *head = cluster->head;
    const int64_t number = cse_step_number(step);
    const int replicas = cse_step_replicas(step);
    switch (cse_step_stage(step)) {
    case CSE_STAGE_COMPUTE:
        /* One exact piece over all microbatches is the reduced value already. */
        if (head->exact &&
            cse_word_is(cse_word_load(&cluster->nodes[1]), CSE_WORD_DONE, number + 1))
            return cse_step_make(number, CSE_STAGE_NORM, replicas, CSE_STEP_IN_PIECE);
        if (head->reduce_chunks > 0)
            return cse_step_make(number, CSE_STAGE_REDUCE, replicas, 0);
        return cse_step_make(number, CSE_STAGE_NORM, replicas, 0);
    case CSE_STAGE_REDUCE:
        return cse_step_make(number, CSE_STAGE_NORM, replicas, 0);
    case CSE_STAGE_NORM:
        if (head->update_chunks > 0)
            return cse_step_make(number, CSE_STAGE_UPDATE, replicas, cse_step_flags(step));
        break;
    case CSE_STAGE_UPDATE:
        break;
    }
    return cse_step_make(number + 1, CSE_STAGE_COMPUTE, atomic_load(&cluster->control->plan), 0);
}

bool cse_work_advance(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    if (!stage_complete(work, step))
        return false;
    CSE_FAILPOINT(CSE_KILL_ADVANCE);
    const uint64_t next = next_of(cluster, step);
    const int64_t done = cse_step_number(step);
    if (!atomic_compare_exchange_strong(&cluster->step->value, &step, next))
        return true;
    if (cse_step_number(next) == done) {
        cse_arena_wake(cluster, CSE_DOORBELL_STAGE);
        return true;
    }
    CSE_FAILPOINT(CSE_KILL_COMMITTED);
    atomic_store(&cse_arena_record(cluster, done)->committed_ns, cse_clock_ns());
    uint32_t events = CSE_DOORBELL_STAGE | CSE_DOORBELL_COMMIT | CSE_DOORBELL_RECORD;
    /* Input workers sleep until half the ring is free: a wake-up costs a replica its core. */
    const int64_t laps = cluster->head->ring_count / cluster->head->microbatches;
    if (laps < 4 || (done + 1) % (laps / 2) == 0)
        events |= CSE_DOORBELL_FREED;
    if (cse_step_number(next) >= atomic_load(&cluster->control->end)) {
        /* The end concerns everybody, whatever they wait for. */
        atomic_store(&cluster->control->urgent, 1);
        events |= CSE_DOORBELL_URGENT | CSE_DOORBELL_CONTROL;
    }
    cse_arena_wake(cluster, events);
    return true;
}

static bool work_on_stage(cse_work *work, uint64_t step, int roles)
{
    const bool replica = roles & CSE_ROLE_REPLICA, server = roles & CSE_ROLE_WEIGHT_SERVER;
    if (!work->executable || !(replica || server))
        return false;
    if (work->holding)
        return cse_work_compute(work, step);
    place_cursors(work, step);
    switch (cse_step_stage(step)) {
    case CSE_STAGE_COMPUTE:
        if (replica && cse_work_compute(work, step))
            return true;
        break;
    case CSE_STAGE_REDUCE:
        if (server && cse_work_reduce(work, step))
            return true;
        break;
    case CSE_STAGE_NORM:
        if (server && cse_work_norm(work, step))
            return true;
        break;
    case CSE_STAGE_UPDATE:
        if (server && cse_work_update(work, step))
            return true;
        break;
    }
    return !work->holding && cse_work_advance(work, step);
}

static uint32_t events_of(const cse_work *work, int roles)
{
    uint32_t events = CSE_DOORBELL_CONTROL;
    if (roles & CSE_ROLE_WEIGHT_SERVER)
        events |= CSE_DOORBELL_STAGE;
    if (roles & CSE_ROLE_REPLICA)
        events |= CSE_DOORBELL_COMMIT;
    if (roles & CSE_ROLE_INPUT)
        events |= CSE_DOORBELL_FREED;
    if (work->holding)
        events |= CSE_DOORBELL_FILLED;
    return events;
}

/* What a unit of work at this step word is; CSE_SPAN_KIND_COUNT for who can only move the step word
 * on. */
static cse_span_kind kind_of(const cse_work *work, uint64_t step, int roles)
{
    static const cse_span_kind kinds[] = {
        [CSE_STAGE_COMPUTE] = CSE_SPAN_COMPUTE,
        [CSE_STAGE_REDUCE] = CSE_SPAN_REDUCE,
        [CSE_STAGE_NORM] = CSE_SPAN_WEIGHTS,
        [CSE_STAGE_UPDATE] = CSE_SPAN_UPDATE,
    };
    const int role =
        cse_step_stage(step) == CSE_STAGE_COMPUTE ? CSE_ROLE_REPLICA : CSE_ROLE_WEIGHT_SERVER;
    if (work->holding)
        return CSE_SPAN_COMPUTE;
    return roles & role ? kinds[cse_step_stage(step)] : CSE_SPAN_KIND_COUNT;
}

static bool do_unit(cse_work *work, uint64_t step, int roles, cse_status *status)
{
    const int64_t number = cse_step_number(step) + 1;
    work->blocked = false;
    work->sampled =
        atomic_load_explicit(&work->cluster->control->sampled, memory_order_relaxed) == number;
    const int64_t start_ns = work->sampled ? cse_clock_ns() : 0;
    const cse_span_kind kind = work->sampled ? kind_of(work, step, roles) : CSE_SPAN_WAIT;
    if (work_on_stage(work, step, roles)) {
        if (work->sampled && kind != CSE_SPAN_KIND_COUNT)
            cse_work_note(work, number, kind, start_ns, cse_clock_ns());
        return true;
    }
    if (!(roles & CSE_ROLE_INPUT) || !work->source)
        return false;
    if (cse_work_fill(work, step, status)) {
        if (work->sampled)
            cse_work_note(work, number, CSE_SPAN_FILL, start_ns, cse_clock_ns());
        return true;
    }
    work->blocked = work->blocked || !work->executable; /* the ring is full */
    return false;
}

cse_work_result cse_work_once(cse_work *work)
{
    cse_cluster *cluster = work->cluster;
    cse_slot *own = &cluster->slots[work->slot];
    work->doorbell_seen = atomic_load(cluster->doorbell);
    uint32_t question = atomic_load_explicit(&cluster->control->survey, memory_order_relaxed);
    if (atomic_load_explicit(&own->answered, memory_order_relaxed) != question)
        atomic_store(&own->answered, question);
    if (work->failed)
        return CSE_WORK_FAILED;
    uint64_t step = cse_word_load(cluster->step);
    if (atomic_load(&cluster->control->stopping) ||
        cse_step_number(step) >= atomic_load(&cluster->control->end))
        return CSE_WORK_ENDED;
    const int roles = atomic_load(&own->roles);
    work->incarnation = (int)(atomic_load(&own->who) & 0xff);
    cse_status status = CSE_OK;
    if (do_unit(work, step, roles, &status))
        return CSE_WORK_DONE;
    if (status != CSE_OK) {
        work->failed = true;
        cse_cluster_report_failure(cluster, work->slot, status, cse_error_message());
        return CSE_WORK_FAILED;
    }
    work->wait_events = events_of(work, roles);
    return CSE_WORK_IDLE;
}

/* Waits without sleeping; false: nothing came. *now_ns becomes the last clock that was read: it
 * costs nothing to tell how long it took, to within a burst. */
static bool spin(const cse_work *work, int64_t spin_ns, int64_t *now_ns)
{
    const int64_t until = *now_ns + spin_ns;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(work->cluster->doorbell, memory_order_relaxed) !=
                work->doorbell_seen)
                return true;
            relax();
        }
        *now_ns = cse_clock_ns();
    } while (*now_ns < until);
    return false;
}

void cse_work_wait(cse_work *work, int64_t timeout_ns)
{
    cse_cluster *cluster = work->cluster;
    cse_slot *own = &cluster->slots[work->slot];
    const int64_t spin_ns = cluster->head->spin_ns;
    const int64_t start_ns = cse_clock_ns();
    int64_t now_ns = start_ns;
    /* Only those who compute: the others would take their cores. */
    if (spin_ns <= 0 || !work->executable || !spin(work, spin_ns, &now_ns)) {
        cse_arena_sleep(cluster, &own->sleeping, work->wait_events, work->doorbell_seen,
                        timeout_ns);
        now_ns = cse_clock_ns();
    }
    atomic_fetch_add_explicit(work->blocked ? &own->blocked_ns : &own->idle_ns, now_ns - start_ns,
                              memory_order_relaxed);
    if (work->sampled)
        cse_work_note(work, atomic_load_explicit(&own->span_number, memory_order_relaxed),
                      CSE_SPAN_WAIT, start_ns, cse_clock_ns());
}

void cse_work_note(cse_work *work, int64_t number, cse_span_kind kind, int64_t start_ns,
                   int64_t end_ns)
{
    cse_slot *own = &work->cluster->slots[work->slot];
    if (atomic_load_explicit(&own->span_number, memory_order_relaxed) != number) {
        atomic_store(&own->span_count, 0);
        atomic_store(&own->span_number, number);
    }
    int32_t count = atomic_load_explicit(&own->span_count, memory_order_relaxed);
    cse_work_span *last = count > 0 && count <= CSE_MOST_SPANS ? &own->spans[count - 1] : NULL;
    if (last != NULL && last->kind == (int32_t)kind && start_ns - last->end_ns < JOINED_SPANS_NS) {
        last->end_ns = end_ns;
        return;
    }
    if (count < 0 || count >= CSE_MOST_SPANS || end_ns - start_ns < SHORTEST_SPAN_NS)
        return;
    own->spans[count] =
        (cse_work_span){ .start_ns = start_ns, .end_ns = end_ns, .kind = (int32_t)kind };
    atomic_store(&own->span_count, count + 1);
}
