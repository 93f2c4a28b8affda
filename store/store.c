/* The callers' side of the run store: rows are copied into the queue under a lock that is held only
 * for the copy. Ids, states and numbers of series are assigned here, so that callers have them
 * before anything is written.
 *
 * Points do not wake the writer, which checks the queue every few milliseconds anyway: a wake-up
 * would cost the training thread a system call. */
#include "store/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/process_number.h"
#include "store/damage.h"
#include "store/guard.h"
#include "store/run_lock.h"
#include "store/shared.h"
#include "store/writer.h"

enum {
    PUBLISH_MS = 25,
    COMMIT_MS = 250,
    LOOK_MS = 1000,
    QUEUE_BYTES = 8 << 20,
    RESERVE_BYTES = 512 << 10
};

int64_t cse_store_attempt(const cse_store *store)
{
    return store != NULL ? store->attempt : 0;
}

/* ---- the queue ---- */

static bool has_room(const cse_store *store, cse_row_priority priority)
{
    size_t most = store->options.queue_bytes;
    return priority == CSE_PRIORITY_KEPT ||
           store->queue.size < (priority == CSE_PRIORITY_SAMPLE ? most / 2 : most);
}

/* Appends a row, or counts it as dropped. The lock is held. */
static void enqueue_locked(cse_store *store, cse_row_kind kind, ...)
{
    va_list arguments;
    if (!has_room(store, cse_row_describe(kind)->priority)) {
        cse_dropped_count(&store->dropped, &(cse_row){ .kind = kind });
        return;
    }
    va_start(arguments, kind);
    cse_row_add_list(&store->queue, kind, arguments);
    va_end(arguments);
}

static void wake_locked(cse_store *store)
{
    store->urgent = true;
    pthread_cond_signal(&store->wake);
}

#define ENQUEUE(store, ...)                    \
    do {                                       \
        pthread_mutex_lock(&(store)->mutex);   \
        enqueue_locked((store), __VA_ARGS__);  \
        pthread_mutex_unlock(&(store)->mutex); \
    } while (0)

/* ---- opening ---- */

static void take_series(void *self, int64_t id, const char *name)
{
    cse_store *store = self;
    if (id < 0 || id > 1000000 || name == NULL)
        return;
    while (store->series_count <= id) {
        CSE_GROW(store->series, store->series_count, store->series_capacity);
        store->series[store->series_count++] = NULL;
    }
    free(store->series[id]);
    store->series[id] = cse_strdup(name);
}

/* Ids continue after those of the earlier attempts. */
static void read_numbers(cse_store *store)
{
    static const struct {
        cse_row_kind kind;
        const char *sql;
    } rows[] = {
        { CSE_ROW_TRANSITION, "SELECT max(seq) FROM transitions" },
        { CSE_ROW_CLOSURE, "SELECT max(id) FROM closures" },
        { CSE_ROW_CHECKPOINT, "SELECT max(id) FROM checkpoints" },
        { CSE_ROW_LOG, "SELECT max(id) FROM logs" },
        { CSE_ROW_TENSOR, "SELECT max(id) FROM tensors" },
        { CSE_ROW_EVENT, "SELECT seq FROM sqlite_sequence WHERE name = 'events'" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        store->next_id[rows[i].kind] = cse_database_integer(store->database, rows[i].sql) + 1;
    take_series(store, 0, ""); /* numbers begin at 1: 0 is not used */
    cse_database_series(store->database, take_series, store);
    store->attempt =
        cse_database_integer(store->database,
                             "SELECT CAST(value AS INTEGER) FROM run WHERE key = 'attempt'") +
        1;
}

/* An attempt may have ended before it was where the one before had been: the key has only its own
 * last step. */
static void read_past(cse_store *store)
{
    static const char highest[] =
        "SELECT max((SELECT max(step) FROM points WHERE series = id AND points.attempt = "
        "goodput.attempt)) FROM goodput JOIN series WHERE name = 'loss'";
    const int64_t of_any = cse_database_integer(store->database, highest);
    store->past = (cse_store_past){
        .last_step = cse_database_integer(
            store->database, "SELECT CAST(value AS INTEGER) FROM run WHERE key = 'last_step'"),
        .time_ms = cse_database_integer(
            store->database, "SELECT time_ms FROM goodput ORDER BY attempt DESC LIMIT 1"),
    };
    if (of_any > store->past.last_step)
        store->past.last_step = of_any;
}

/* Recoveries are counted over all attempts. */
static void read_recoveries(cse_store *store)
{
    char json[1024];
    cse_database_text(store->database, "SELECT value FROM run WHERE key = 'phase'", json,
                      sizeof json);
    store->phase =
        (cse_phase_report){ .activity = CSE_RUN_PHASE_TRAIN, .phase = CSE_RUN_PHASE_NONE };
    cse_phase_report_take_recoveries(&store->phase, json);
}

static void read_earlier(cse_store *store)
{
    read_numbers(store);
    read_past(store);
    read_recoveries(store);
}

/* Takes the last attempt's final state from the journal, if it could not be written to run.db. */
static bool take_end_from_journal(cse_store *store, cse_run_state from)
{
    cse_failure_journal_transition end;
    json_t *entry = cse_failure_journal_read(store->model_dir);
    bool known = cse_failure_journal_last_transition(entry, &end) &&
                 cse_run_state_is_terminal(end.to) &&
                 json_integer_value(json_object_get(entry, "attempt")) == store->attempt - 1;
    if (known)
        ENQUEUE(store, CSE_ROW_TRANSITION, store->next_id[CSE_ROW_TRANSITION]++, end.time_ms,
                cse_run_state_name(from), cse_run_state_name(end.to), end.reason, end.message,
                store->attempt - 1);
    json_decref(entry);
    return known;
}

/* Records the end of the last attempt if its process could not. */
static void close_attempt_before(cse_store *store)
{
    char last[32];
    cse_database_text(store->database, "SELECT to_state FROM transitions ORDER BY seq DESC LIMIT 1",
                      last, sizeof last);
    cse_run_state state = cse_run_state_of(last);
    if (state == CSE_RUN_NONE || cse_run_state_is_terminal(state) ||
        take_end_from_journal(store, state))
        return;
    if (store->options.succession.takes_over) {
        if (cse_run_state_may_follow(state, CSE_RUN_RECOVERING))
            ENQUEUE(store, CSE_ROW_TRANSITION, store->next_id[CSE_ROW_TRANSITION]++, cse_unix_ms(),
                    cse_run_state_name(state), cse_run_state_name(CSE_RUN_RECOVERING), "",
                    "the coordinator was killed; another one takes the run over",
                    store->attempt - 1);
        return;
    }
    ENQUEUE(store, CSE_ROW_TRANSITION, store->next_id[CSE_ROW_TRANSITION]++, cse_unix_ms(),
            cse_run_state_name(state), cse_run_state_name(CSE_RUN_FAILED),
            cse_run_reason_name(CSE_REASON_INTERRUPTED),
            "the process of this attempt ended without a report (killed, or the host went down)",
            store->attempt - 1);
}

static void set_identity(cse_store *store)
{
    char text[72];
    uint64_t number = 0;
    if (cse_database_integer(store->database, "SELECT count(*) FROM run WHERE key = 'id'") == 0) {
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
            number = (uint64_t)cse_clock_ns();
        snprintf(text, sizeof text, "%016" PRIx64, number);
        cse_store_set(store, "id", text);
        cse_store_set_integer(store, "created_ms", cse_unix_ms());
    }
    if (gethostname(text, sizeof text) != 0)
        text[0] = '\0';
    text[sizeof text - 1] = '\0';
    cse_store_set(store, "host", text);
    cse_store_set_integer(store, "pid", cse_process_number());
    cse_store_set_integer(store, "first_pid", store->options.succession.first_process);
    cse_store_set_integer(store, "attempt", store->attempt);
    cse_store_set(store, "csengine_version", PACKAGE_VERSION);
    cse_store_set(store, "events_endpoint", store->options.events_endpoint);
    cse_store_set(store, "control_endpoint", NULL);
}

static void make_locks(cse_store *store)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&store->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&store->wake, &monotonic);
    pthread_cond_init(&store->answered_now, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* The thread blocks all signals: the main loop handles them, and a write beyond the file size limit
 * must fail instead of killing the process (SIGXFSZ). */
static cse_status start_thread(cse_store *store)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&store->thread, NULL, cse_writer_main, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? CSE_OK
                      : cse_fail(CSE_TEMPORARY, "run store: no thread: %s", strerror(error));
}

static void release(cse_store **store)
{
    cse_store *s = *store;
    cse_publisher_close(&s->publisher);
    cse_reserve_close(&s->reserve);
    cse_failure_journal_close(&s->journal);
    free(s->model_dir);
    free(s->latest);
    cse_database_close(&s->database);
    if (s->log != NULL)
        fclose(s->log);
    cse_buckets_destroy(&s->buckets);
    cse_run_lock_release(&s->lock);
    for (int i = 0; i < s->series_count; i++)
        free(s->series[i]);
    free(s->series);
    free(s->points);
    cse_text_clear(&s->queue);
    cse_text_clear(&s->taken);
    cse_text_clear(&s->pending);
    cse_text_clear(&s->json);
    cse_text_clear(&s->payload);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->answered_now);
    free(s);
    *store = NULL;
}

static void fill_options(cse_store *store, const cse_store_options *options)
{
    cse_store_options *o = &store->options;
    if (options != NULL)
        *o = *options;
    o->publish_interval_ms = o->publish_interval_ms > 0 ? o->publish_interval_ms : PUBLISH_MS;
    o->commit_interval_ms = o->commit_interval_ms > 0 ? o->commit_interval_ms : COMMIT_MS;
    o->look_interval_ms = o->look_interval_ms > 0 ? o->look_interval_ms : LOOK_MS;
    o->queue_bytes = o->queue_bytes > 0 ? o->queue_bytes : QUEUE_BYTES;
    /* Allocated at once, so that no caller waits for a reallocation. */
    cse_text_reserve(&store->queue, o->queue_bytes);
    cse_text_reserve(&store->taken, o->queue_bytes);
}

/* A damaged file shows when it is opened, or when what earlier attempts left is read. */
static cse_status open_database(cse_store *store)
{
    CSE_TRY(cse_damage_mend(store->model_dir));
    cse_status status = cse_database_open(store->model_dir, &store->database);
    if (status == CSE_OK)
        read_earlier(store);
    if (status != CSE_OK || !cse_database_is_damaged(store->database))
        return status;
    cse_database_abandon(&store->database);
    CSE_TRY(cse_store_renew(store, "the file is damaged"));
    read_earlier(store);
    return CSE_OK;
}

cse_status cse_store_open(const char *model_dir, const cse_store_options *options,
                          cse_store **result)
{
    cse_store *store = cse_calloc(1, sizeof *store);
    *result = NULL;
    store->state = CSE_RUN_NONE;
    store->last_step = store->written_step = -1;
    store->model_dir = cse_strdup(model_dir);
    store->lock = CSE_NO_RUN_LOCK;
    fill_options(store, options);
    make_locks(store);
    cse_status status = cse_run_lock_take(model_dir, &store->lock);
    if (status == CSE_OK)
        status = open_database(store);
    if (status == CSE_OK && store->options.events_endpoint != NULL)
        status = cse_publisher_open(store->options.events_endpoint, &store->publisher);
    if (status == CSE_OK) {
        cse_database_begin(store->database, store->attempt, store->options.succession.takes_over);
        store->buckets = cse_buckets_new(store->attempt);
        close_attempt_before(store);
        set_identity(store);
        cse_store_open_log(store); /* lines are in the store as well: no failure */
        store->sweep = true;
        cse_reserve_open(&store->reserve, model_dir, "run.reserve", RESERVE_BYTES);
        cse_failure_journal_open(&store->journal, model_dir);
        status = start_thread(store);
    }
    if (status != CSE_OK) {
        release(&store);
        return status;
    }
    *result = store;
    return CSE_OK;
}

void cse_store_close(cse_store **store)
{
    if (*store == NULL)
        return;
    pthread_mutex_lock(&(*store)->mutex);
    (*store)->closing = true;
    wake_locked(*store);
    pthread_mutex_unlock(&(*store)->mutex);
    pthread_join((*store)->thread, NULL);
    release(store);
}

cse_status cse_store_flush(cse_store *store)
{
    if (store == NULL)
        return CSE_OK;
    pthread_mutex_lock(&store->mutex);
    uint64_t mine = ++store->asked;
    wake_locked(store);
    while (store->answered < mine)
        pthread_cond_wait(&store->answered_now, &store->mutex);
    cse_status status = store->answer;
    if (status != CSE_OK)
        cse_fail(status, "run store: %s", store->answer_text);
    pthread_mutex_unlock(&store->mutex);
    return status;
}

int64_t cse_store_kept(cse_store *store, int64_t mark, bool hurry)
{
    if (store == NULL)
        return mark;
    pthread_mutex_lock(&store->mutex);
    store->mark = mark;
    const int64_t kept = store->kept_mark;
    if (hurry && kept < mark)
        wake_locked(store);
    pthread_mutex_unlock(&store->mutex);
    return kept < mark ? kept : mark;
}

/* ---- keys and states ---- */

void cse_store_set(cse_store *store, const char *key, const char *value)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_RUN, key, value);
}

void cse_store_set_integer(cse_store *store, const char *key, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    cse_store_set(store, key, digits);
}

/* Later than any change before, so that a reader can order what it read and what it was sent. */
static int64_t change_time_locked(const cse_store *store)
{
    int64_t now_ms = cse_unix_ms();
    return now_ms > store->changed_ms ? now_ms : store->changed_ms + 1;
}

/* The phase that follows from state and activity; true when it is another than before. */
static bool settle_phase_locked(cse_store *store, int64_t time_ms)
{
    cse_phase_report *report = &store->phase;
    cse_run_phase phase = cse_run_phase_in(store->state, report->activity);
    if (phase == CSE_RUN_PHASE_NONE)
        report->step = report->steps = 0;
    if (phase == report->phase)
        return false;
    report->phase = phase;
    report->since_ms = time_ms;
    return true;
}

static void report_phase_locked(cse_store *store)
{
    cse_text json = { 0 };
    cse_phase_report_json(&store->phase, store->attempt, &json);
    enqueue_locked(store, CSE_ROW_RUN, "phase", json.data);
    enqueue_locked(store, CSE_ROW_EVENT, INT64_C(0), cse_unix_ms(), "phase", json.data);
    cse_text_clear(&json);
}

void cse_store_activity(cse_store *store, const cse_activity *activity)
{
    if (store == NULL)
        return;
    pthread_mutex_lock(&store->mutex);
    cse_phase_report *report = &store->phase;
    bool moved = report->step != activity->step || report->steps != activity->steps;
    int64_t time_ms = change_time_locked(store);
    report->activity = activity->phase;
    report->step = activity->step;
    report->steps = activity->steps;
    bool changed = settle_phase_locked(store, time_ms);
    if (changed)
        store->changed_ms = time_ms;
    if (changed || moved)
        report_phase_locked(store);
    pthread_mutex_unlock(&store->mutex);
}

void cse_store_recovery(cse_store *store, const cse_recovery *recovery)
{
    if (store == NULL)
        return;
    pthread_mutex_lock(&store->mutex);
    cse_phase_report *report = &store->phase;
    int64_t end_ms = recovery->lost_ms + recovery->milliseconds;
    int64_t from_ms =
        recovery->lost_ms > store->recovered_ms ? recovery->lost_ms : store->recovered_ms;
    report->recovery_count++;
    report->recovery_ms += end_ms > from_ms ? end_ms - from_ms : 0;
    store->recovered_ms = end_ms > store->recovered_ms ? end_ms : store->recovered_ms;
    report->last_recovery_ms = recovery->lost_ms;
    report->last_cost_ms = recovery->milliseconds;
    snprintf(report->last_process, sizeof report->last_process, "%s", recovery->process);
    snprintf(report->last_reason, sizeof report->last_reason, "%s", recovery->reason);
    report_phase_locked(store);
    wake_locked(store);
    pthread_mutex_unlock(&store->mutex);
}

cse_status cse_store_transition(cse_store *store, cse_run_state to, const char *reason,
                                const char *message)
{
    if (store == NULL)
        return CSE_OK;
    pthread_mutex_lock(&store->mutex);
    cse_run_state from = store->state;
    bool allowed = cse_run_state_may_follow(from, to);
    if (allowed) {
        store->state = to;
        store->changed_ms = change_time_locked(store);
        enqueue_locked(store, CSE_ROW_TRANSITION, store->next_id[CSE_ROW_TRANSITION]++,
                       store->changed_ms, from == CSE_RUN_NONE ? NULL : cse_run_state_name(from),
                       cse_run_state_name(to), reason != NULL ? reason : "",
                       message != NULL ? message : "", store->attempt);
        enqueue_locked(store, CSE_ROW_RUN, "state", cse_run_state_name(to));
        if (settle_phase_locked(store, store->changed_ms))
            report_phase_locked(store);
        wake_locked(store);
    }
    pthread_mutex_unlock(&store->mutex);
    if (allowed || from == to)
        return CSE_OK;
    return cse_fail(CSE_INTERNAL, "run store: %s may not follow %s", cse_run_state_name(to),
                    from == CSE_RUN_NONE ? "the beginning" : cse_run_state_name(from));
}

cse_run_state cse_store_state(cse_store *store)
{
    if (store == NULL)
        return CSE_RUN_NONE;
    pthread_mutex_lock(&store->mutex);
    cse_run_state state = store->state;
    pthread_mutex_unlock(&store->mutex);
    return state;
}

/* ---- points ---- */

int cse_store_series(cse_store *store, const char *name)
{
    if (store == NULL)
        return 0;
    pthread_mutex_lock(&store->mutex);
    int series = 1;
    while (series < store->series_count &&
           (store->series[series] == NULL || strcmp(store->series[series], name) != 0))
        series++;
    if (series == store->series_count) {
        CSE_GROW(store->series, store->series_count, store->series_capacity);
        store->series[store->series_count++] = cse_strdup(name);
        enqueue_locked(store, CSE_ROW_SERIES, (int64_t)series, name);
    }
    pthread_mutex_unlock(&store->mutex);
    return series;
}

void cse_store_points(cse_store *store, const cse_step_points *points)
{
    if (store == NULL || points->count <= 0)
        return;
    const cse_row_points row = { .step = points->step,
                                 .time_ms = points->time_ms != 0 ? points->time_ms : cse_unix_ms(),
                                 .count = points->count,
                                 .series = points->series,
                                 .values = points->values };
    size_t bytes = cse_row_points_bytes(points->count);
    pthread_mutex_lock(&store->mutex);
    if (has_room(store, CSE_PRIORITY_METRIC)) {
        cse_text *queue = &store->queue;
        cse_text_reserve(queue, bytes);
        cse_row_put_points((unsigned char *)queue->data + queue->size, &row);
        queue->size += bytes;
        if (queue->size - bytes < store->options.queue_bytes / 4 &&
            queue->size >= store->options.queue_bytes / 4)
            wake_locked(store);
    } else {
        store->dropped.points += points->count;
    }
    pthread_mutex_unlock(&store->mutex);
}

void cse_store_point(cse_store *store, int series, int64_t step, double value)
{
    cse_store_points(
        store, &(cse_step_points){ .step = step, .count = 1, .series = &series, .values = &value });
}

void cse_store_steps_from(cse_store *store, int64_t step)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_STEPS_FROM, step);
}

/* ---- other rows ---- */

void cse_store_closure(cse_store *store, const cse_closure_row *row)
{
    if (store == NULL)
        return;
    pthread_mutex_lock(&store->mutex);
    enqueue_locked(store, CSE_ROW_CLOSURE, store->next_id[CSE_ROW_CLOSURE]++, store->attempt,
                   row->step, row->issued_ms, row->delivered_ms, row->name, row->payload);
    pthread_mutex_unlock(&store->mutex);
}

void cse_store_checkpoint(cse_store *store, const cse_checkpoint_row *row)
{
    if (store == NULL)
        return;
    pthread_mutex_lock(&store->mutex);
    enqueue_locked(store, CSE_ROW_CHECKPOINT, store->next_id[CSE_ROW_CHECKPOINT]++, store->attempt,
                   row->step, cse_unix_ms(), row->path, row->bytes, row->digest, row->write_ms,
                   (int64_t)row->verified, INT64_C(0));
    wake_locked(store);
    pthread_mutex_unlock(&store->mutex);
}

void cse_store_log(cse_store *store, const cse_log_record *record)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_LOG, store->next_id[CSE_ROW_LOG]++, record->time_ms,
                cse_role_name(record->process.role), (int64_t)record->process.rank,
                cse_log_level_name(record->level), record->text,
                record->host != NULL ? record->host : cse_log_own_host_view());
}

void cse_store_event(cse_store *store, const char *type, const char *payload)
{
    /* The writer assigns the id. */
    if (store != NULL && payload != NULL)
        ENQUEUE(store, CSE_ROW_EVENT, INT64_C(0), cse_unix_ms(), type, payload);
}

int64_t cse_store_tensor(cse_store *store, const cse_tensor_row *row)
{
    if (store == NULL)
        return 0;
    pthread_mutex_lock(&store->mutex);
    int64_t id = store->next_id[CSE_ROW_TENSOR]++;
    enqueue_locked(store, CSE_ROW_TENSOR, id, store->attempt, row->name, row->scope, row->op,
                   row->kind, row->source_dtype, row->dtype, (int64_t)row->backward, row->file,
                   (int64_t)row->line);
    pthread_mutex_unlock(&store->mutex);
    return id;
}

void cse_store_numerics(cse_store *store, const cse_numerics_row *row)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_NUMERICS, row->tensor, store->attempt, row->step, row->count,
                row->nan, row->inf, row->saturated, row->flushed, row->zeros, row->absorbed,
                row->max_exponent, row->first_microbatch, row->digest, (size_t)8, row->histogram,
                row->histogram_bytes);
}

void cse_store_timeline(cse_store *store, const cse_span *spans, int count)
{
    if (store == NULL)
        return;
    pthread_mutex_lock(&store->mutex);
    for (int i = 0; i < count; i++)
        enqueue_locked(store, CSE_ROW_SPAN, store->attempt, spans[i].step, spans[i].process,
                       spans[i].kind, spans[i].start_ns, spans[i].end_ns);
    pthread_mutex_unlock(&store->mutex);
}

void cse_store_kernel(cse_store *store, const cse_kernel_row *row)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_KERNEL, store->attempt, row->step, row->process, row->kernel,
                row->calls, row->total_ns, row->min_ns, row->median_ns);
}

void cse_store_topology(cse_store *store, const char *payload)
{
    if (store == NULL || payload == NULL)
        return;
    pthread_mutex_lock(&store->mutex);
    /* The time is the key, and a loss and the start of the next process are told at once. */
    const int64_t now_ms = cse_unix_ms();
    store->sampled_ms = now_ms > store->sampled_ms ? now_ms : store->sampled_ms + 1;
    enqueue_locked(store, CSE_ROW_TOPOLOGY, store->sampled_ms, payload);
    pthread_mutex_unlock(&store->mutex);
}

void cse_store_artefact(cse_store *store, const char *name, const char *media_type,
                        const void *content, size_t size)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_ARTEFACT, name, cse_unix_ms(), media_type, content, size);
}

void cse_store_goodput(cse_store *store, const cse_goodput_row *row)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_GOODPUT, store->attempt, row->start_ms, row->time_ms,
                row->starting_ms, row->compute_ms, row->input_ms, row->update_ms,
                row->communication_ms, row->save_ms, row->validation_ms, row->recovery_ms,
                row->paused_ms, row->idle_ms);
}

void cse_store_chain(cse_store *store, const cse_chain_row *row)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_CHAIN, row->step, store->attempt, row->states, (size_t)16,
                row->samples, (size_t)16, row->chain, (size_t)32);
}

void cse_store_chain_links(cse_store *store, int64_t step, const unsigned char before[32],
                           const char *links)
{
    if (store != NULL)
        ENQUEUE(store, CSE_ROW_CHAIN_LINKS, step, store->attempt, before, (size_t)32, links);
}

cse_store_past cse_store_past_of(const cse_store *store)
{
    return store != NULL ? store->past : (cse_store_past){ .last_step = 0 };
}
