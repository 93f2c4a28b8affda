/* The writer's thread: takes what is queued, publishes it as events, and writes it in one
 * transaction a few times a second.
 *
 * Publishing comes first and more often: a live view shows a step a few milliseconds after its end,
 * while disk writes are rare. When writing fails, rows wait in memory and are tried again each
 * second; only what exceeds the queue's size is dropped, samples first. */
#include "store/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "store/guard.h"
#include "store/sweep.h"

#define MILLISECONDS INT64_C(1000000)
enum {
    RETRY_MS = 1000,
    WARN_AGAIN_MS = 60000,
    MOST_EVENT_POINTS = 64, /* of one series in one event; more are downsampled */
    PRUNE_EVERY = 500,
};

/* ---- events ---- */

/* Gives `payload` an id, publishes it and queues its row for writing. */
static void emit(cse_store *store, const char *type, const char *payload)
{
    int64_t id = store->next_id[CSE_ROW_EVENT]++, now_ms = cse_unix_ms();
    cse_row_add(&store->pending, CSE_ROW_EVENT, id, now_ms, type, payload);
    if (store->publisher == NULL)
        return;
    store->json.size = 0;
    cse_text_add(&store->json, "{\"id\":%lld,\"time_ms\":%lld,\"type\":", (long long)id,
                 (long long)now_ms);
    cse_json_add_string(&store->json, type);
    cse_text_add(&store->json, ",\"payload\":");
    cse_text_add_bytes(&store->json, payload, strlen(payload));
    cse_text_add(&store->json, "}");
    cse_publisher_send(store->publisher, type, store->json.data, store->json.size);
}

static void add_point_json(cse_text *out, const cse_point *point, bool *first)
{
    cse_text_add(out, "%s[%lld,%lld,", *first ? "" : ",", (long long)point->step,
                 (long long)point->time_ms);
    cse_json_add_number(out, point->value);
    cse_text_add_bytes(out, "]", 1);
    *first = false;
}

static int first_of(const cse_point *a, const cse_point *b)
{
    return a->step <= b->step;
}

/* The points of one series; downsampled when there are many: the least and the largest of each
 * group and the last, so that no peak is hidden. */
static void add_series_json(cse_text *out, const cse_point *points, int count)
{
    bool first = true;
    int group = count <= MOST_EVENT_POINTS ? 1 : (2 * count - 1) / MOST_EVENT_POINTS + 1;
    for (int start = 0; start < count; start += group) {
        int end = start + group < count ? start + group : count;
        const cse_point *least = &points[start], *most = least;
        for (int i = start; i < end; i++) {
            if (points[i].value < least->value || isnan(points[i].value))
                least = &points[i];
            if (points[i].value > most->value || isnan(most->value))
                most = &points[i];
        }
        add_point_json(out, first_of(least, most) ? least : most, &first);
        if (least != most)
            add_point_json(out, first_of(least, most) ? most : least, &first);
        if (end == count && least != &points[count - 1] && most != &points[count - 1])
            add_point_json(out, &points[count - 1], &first);
    }
}

static int compare_points(const void *a, const void *b)
{
    const cse_point *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* Series are only added, so a name's address is stable; the list itself may move. */
static const char *series_name(cse_store *store, int series)
{
    pthread_mutex_lock(&store->mutex);
    const char *name = series < store->series_count ? store->series[series] : NULL;
    pthread_mutex_unlock(&store->mutex);
    return name != NULL ? name : "";
}

static void emit_metrics(cse_store *store)
{
    cse_text *out = &store->payload;
    int count = store->point_count;
    if (count == 0)
        return;
    qsort(store->points, (size_t)count, sizeof *store->points, compare_points);
    out->size = 0;
    cse_text_add(out, "{\"attempt\":%lld,\"series\":{", (long long)store->attempt);
    for (int start = 0, end; start < count; start = end) {
        for (end = start; end < count && store->points[end].series == store->points[start].series;)
            end++;
        cse_text_add(out, start > 0 ? "," : "");
        cse_json_add_string(out, series_name(store, store->points[start].series));
        cse_text_add(out, ":[");
        add_series_json(out, store->points + start, end - start);
        cse_text_add(out, "]");
    }
    cse_text_add(out, "}}");
    store->point_count = 0;
    emit(store, "metric", out->data);
}

static void emit_gap(cse_store *store)
{
    cse_text *out = &store->payload;
    out->size = 0;
    cse_dropped_json(out, &store->lost);
    store->lost = (cse_dropped){ 0 };
    emit(store, "gap", out->data);
}

/* ---- from the queue to rows and events ---- */

static void note_latest(cse_store *store, const cse_point *point)
{
    if (point->series < 0)
        return;
    while (store->latest_count <= point->series) {
        CSE_GROW(store->latest, store->latest_count, store->latest_capacity);
        store->latest[store->latest_count++] = (cse_latest){ .name = NULL };
    }
    cse_latest *latest = &store->latest[point->series];
    if (latest->name == NULL)
        *latest = (cse_latest){ .name = series_name(store, point->series), .least = point->value };
    latest->step = point->step;
    latest->value = point->value;
    if (!(latest->least <= point->value))
        latest->least = point->value;
}

static void take_points(cse_store *store, const cse_row *row)
{
    for (int i = 0; i < cse_row_point_count(row); i++) {
        cse_point point = cse_row_point(row, i);
        CSE_GROW(store->points, store->point_count, store->point_capacity);
        store->points[store->point_count++] = point;
        note_latest(store, &point);
        cse_buckets_add(store->buckets, &point, &store->pending);
        if (point.step > store->last_step)
            store->last_step = point.step;
    }
}

static void emit_row(cse_store *store, const cse_row *row)
{
    const char *type = cse_row_describe(row->kind)->event;
    if (type == NULL)
        return;
    if (row->kind == CSE_ROW_TOPOLOGY) {
        emit(store, type, row->fields[1].text);
        return;
    }
    if (row->kind == CSE_ROW_TRANSITION)
        emit_metrics(store); /* the metrics from before the change of state */
    store->payload.size = 0;
    cse_row_add_json(&store->payload, row);
    emit(store, type, store->payload.data);
}

/* The same line in a plain text file, readable without the store. */
static void write_log_line(cse_store *store, const cse_row *row)
{
    struct tm parts;
    char when[32];
    time_t seconds = (time_t)(row->fields[1].integer / 1000);
    if (store->log == NULL)
        return;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &parts));
    const char *host = row->fields[6].text;
    fprintf(store->log, "%s.%03dZ %s %s %lld: %s%s%s%s\n", when,
            (int)(row->fields[1].integer % 1000), row->fields[4].text, row->fields[2].text,
            (long long)row->fields[3].integer, host != NULL ? "host " : "",
            host != NULL ? host : "", host != NULL ? ": " : "", row->fields[5].text);
}

static void emit_numerics(cse_store *store, int64_t step, int64_t tensors)
{
    char payload[128];
    if (tensors == 0)
        return;
    snprintf(payload, sizeof payload, "{\"attempt\":%lld,\"step\":%lld,\"tensors\":%lld}",
             (long long)store->attempt, (long long)step, (long long)tensors);
    emit(store, "numerics", payload);
}

/* Moves rows to `pending`, and publishes their events to live readers. */
static void prepare(cse_store *store)
{
    cse_row row;
    size_t at = 0;
    int64_t numerics_step = -1, numerics = 0;
    while (cse_row_next(&store->taken, &at, &row)) {
        if (row.kind == CSE_ROW_EVENT) { /* of cse_store_event: its id is assigned here */
            emit(store, row.fields[2].text, row.fields[3].text);
            continue;
        }
        cse_text_add_bytes(&store->pending, (const char *)row.body, row.bytes);
        if (row.kind == CSE_ROW_POINTS) {
            take_points(store, &row);
        } else if (row.kind == CSE_ROW_NUMERICS) {
            if (row.fields[2].integer != numerics_step)
                emit_numerics(store, numerics_step, numerics);
            numerics = row.fields[2].integer != numerics_step ? 1 : numerics + 1;
            numerics_step = row.fields[2].integer;
        } else {
            if (row.kind == CSE_ROW_LOG)
                write_log_line(store, &row);
            if (row.kind == CSE_ROW_CHECKPOINT && row.fields[9].integer == 0)
                store->sweep = true;
            emit_row(store, &row);
        }
    }
    emit_numerics(store, numerics_step, numerics);
    emit_metrics(store);
    store->taken.size = 0;
}

/* ---- writing ---- */

static bool is_frequent_event(const cse_row *row)
{
    static const char *const types[] = {
        "metric", "topology", "log", "closure", "numerics", "phase"
    };
    for (size_t i = 0; row->kind == CSE_ROW_EVENT && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(row->fields[2].text, types[i]) == 0)
            return true;
    return false;
}

/* Rows that are written again with every commit have the lowest priority: on a full disk they would
 * use up the last room. */
static cse_row_priority priority_of(const cse_row *row)
{
    if (row->kind == CSE_ROW_RUN && strcmp(row->fields[0].text, "last_step") == 0)
        return CSE_PRIORITY_METRIC;
    return is_frequent_event(row) ? CSE_PRIORITY_SAMPLE : cse_row_describe(row->kind)->priority;
}

/* Keeps the rows above `priority` and counts the others. */
static void drop_pending(cse_store *store, cse_row_priority priority)
{
    cse_text kept = { 0 };
    cse_row row;
    size_t at = 0;
    while (cse_row_next(&store->pending, &at, &row)) {
        if (priority_of(&row) > priority)
            cse_text_add_bytes(&kept, (const char *)row.body, row.bytes);
        else if (row.kind != CSE_ROW_EVENT)
            cse_dropped_count(&store->lost, &row);
    }
    cse_text_clear(&store->pending);
    store->pending = kept;
}

static void note_failure(cse_store *store, int64_t now_ns)
{
    size_t most = store->options.queue_bytes;
    bool is_new = !store->failing && (store->warned_ns == 0 ||
                                      now_ns - store->warned_ns > WARN_AGAIN_MS * MILLISECONDS);
    if (is_new) {
        store->warned_ns = now_ns;
        cse_log_line(CSE_LOG_WARNING,
                     "run store: cannot be written: %s; training goes on, what matters is kept in "
                     "memory and written when there is room",
                     cse_error_message());
    }
    if (!store->failing)
        store->failing_since_ms = cse_unix_ms();
    store->failing = true;
    store->written_step = -1; /* its row may have been dropped */
    store->retry_ns = now_ns + RETRY_MS * MILLISECONDS;
    if (store->pending.size > most)
        drop_pending(store, CSE_PRIORITY_SAMPLE);
    if (store->pending.size > most)
        drop_pending(store, CSE_PRIORITY_METRIC);
}

/* A file that is found damaged is replaced, and the rows go to the new one. */
static cse_status write_rows(cse_store *store, const cse_text *rows)
{
    if (store->database == NULL)
        return cse_fail(CSE_IO, "%s/run.db was removed", store->model_dir);
    cse_status status = cse_database_write(store->database, rows);
    if (status != CSE_DATA)
        return status;
    char why[256];
    snprintf(why, sizeof why, "it was damaged while it was written: %s", cse_error_message());
    cse_database_abandon(&store->database);
    CSE_TRY(cse_store_renew(store, why));
    return cse_database_write(store->database, rows);
}

/* Writes the rows that must be kept first and alone: a short transaction often finds room where a
 * long one does not, more so since the reserve was released. */
static cse_status write_what_matters(cse_store *store)
{
    cse_text parts[2] = { { 0 }, { 0 } };
    cse_row row;
    size_t at = 0;
    while (cse_row_next(&store->pending, &at, &row))
        cse_text_add_bytes(&parts[priority_of(&row) == CSE_PRIORITY_KEPT], (const char *)row.body,
                           row.bytes);
    cse_status status = parts[1].size > 0 ? write_rows(store, &parts[1]) : CSE_OK;
    cse_text_clear(&parts[1]);
    if (status == CSE_OK) {
        cse_text_clear(&store->pending);
        store->pending = parts[0];
    } else {
        cse_text_clear(&parts[0]);
    }
    return status;
}

static void write_journal(cse_store *store, const char *error)
{
    cse_failure_journal_write(&store->journal,
                              &(cse_write_failure){ .attempt = store->attempt,
                                                    .since_ms = store->failing_since_ms,
                                                    .last_step = store->last_step,
                                                    .message = error,
                                                    .lost = &store->lost,
                                                    .waiting = &store->pending,
                                                    .latest = store->latest,
                                                    .latest_count = store->latest_count });
}

static void prune(cse_store *store)
{
    int64_t newest = store->next_id[CSE_ROW_EVENT];
    if (newest - store->pruned_event < PRUNE_EVERY)
        return;
    store->pruned_event = newest;
    if (store->database == NULL)
        return;
    cse_database_prune(store->database, newest - CSE_STORE_KEPT_EVENTS,
                       cse_unix_ms() - CSE_STORE_KEPT_TOPOLOGY_MS);
}

static cse_status write_pending(cse_store *store)
{
    char digits[24];
    if (cse_dropped_any(&store->lost) && !store->failing)
        emit_gap(store);
    cse_buckets_write_open(store->buckets, &store->pending);
    if (store->last_step != store->written_step) {
        snprintf(digits, sizeof digits, "%lld", (long long)store->last_step);
        cse_row_add(&store->pending, CSE_ROW_RUN, "last_step", digits);
        store->written_step = store->last_step;
    }
    if (store->pending.size == 0)
        return CSE_OK;
    if (store->log != NULL)
        fflush(store->log);
    cse_status status = write_rows(store, &store->pending);
    int64_t now_ns = cse_clock_ns();
    store->commit_ns = now_ns + store->options.commit_interval_ms * MILLISECONDS;
    if (status != CSE_OK) {
        char error[256];
        snprintf(error, sizeof error, "%s", cse_error_message());
        note_failure(store, now_ns);
        cse_reserve_release(&store->reserve);
        store->matters_lost = write_what_matters(store) != CSE_OK;
        write_journal(store, error);
        return cse_fail(status, "%s", error);
    }
    store->matters_lost = false;
    if (store->failing) {
        cse_log_line(CSE_LOG_INFO, "run store: can be written again");
        cse_failure_journal_clear(&store->journal);
        cse_reserve_take(&store->reserve);
    }
    store->failing = false;
    store->pending.size = 0;
    prune(store);
    return CSE_OK;
}

/* ---- the loop ---- */

static bool time_is_up(int64_t until_ns)
{
    return cse_clock_ns() >= until_ns;
}

/* Sleeps until the queue has rows, a flush or the end is requested, or a write is due; takes the
 * queue's rows. */
static void take_queue(cse_store *store, bool *urgent, bool *closing, uint64_t *asked)
{
    int64_t until_ns = cse_clock_ns() + store->options.publish_interval_ms * MILLISECONDS;
    struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
    pthread_mutex_lock(&store->mutex);
    while (!store->urgent && !store->closing && !time_is_up(until_ns))
        pthread_cond_timedwait(&store->wake, &store->mutex, &until);
    *urgent = store->urgent;
    *closing = store->closing;
    *asked = store->asked;
    store->urgent = false;
    cse_dropped_add(&store->lost, &store->dropped);
    store->dropped = (cse_dropped){ 0 };
    store->pending_mark = store->mark;
    cse_text taken = store->queue;
    store->queue = store->taken;
    store->taken = taken;
    pthread_mutex_unlock(&store->mutex);
}

/* While nothing can be written, rows wait in memory, and training does not. */
static void note_kept(cse_store *store)
{
    if (store->pending.size > 0 && !store->failing)
        return;
    pthread_mutex_lock(&store->mutex);
    store->kept_mark = store->pending_mark;
    pthread_mutex_unlock(&store->mutex);
}

static void answer(cse_store *store, uint64_t asked, cse_status status)
{
    pthread_mutex_lock(&store->mutex);
    store->answered = asked;
    store->answer = status;
    if (status != CSE_OK)
        snprintf(store->answer_text, sizeof store->answer_text, "%s", cse_error_message());
    pthread_cond_broadcast(&store->answered_now);
    pthread_mutex_unlock(&store->mutex);
}

/* The file takes room that the log has already: what was set aside is given to it. */
static void make_whole(cse_store *store)
{
    cse_reserve_release(&store->reserve);
    if (store->database == NULL || cse_database_end(store->database) == CSE_OK || store->failing)
        return;
    cse_log_line(CSE_LOG_WARNING,
                 "run store: run.db and run.db-wal together hold the run, and have to be copied "
                 "together until csengine has opened them again: %s",
                 cse_error_message());
}

void *cse_writer_main(void *self)
{
    cse_store *store = self;
    bool urgent, closing;
    uint64_t asked, answered = 0;
    do {
        take_queue(store, &urgent, &closing, &asked);
        cse_store_guard(store);
        if ((store->sweep || closing) && !store->failing && store->database != NULL)
            cse_store_sweep(store);
        prepare(store);
        bool due = time_is_up(store->failing ? store->retry_ns : store->commit_ns);
        cse_status status = CSE_OK;
        if (due || closing || asked != answered || (urgent && !store->failing))
            status = write_pending(store);
        note_kept(store);
        if (asked != answered)
            answer(store, asked, status);
        answered = asked;
        if (closing && status != CSE_OK && store->matters_lost)
            cse_log_line(CSE_LOG_WARNING, "run store: the end of the run could not be written: %s",
                         cse_error_message());
    } while (!closing);
    /* Closed in this thread: closing writes, too, and a write beyond the file size limit raises
     * SIGXFSZ, which this thread blocks. */
    make_whole(store);
    cse_database_close(&store->database);
    return NULL;
}
