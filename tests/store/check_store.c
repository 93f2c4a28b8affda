/* The run store: records reach the database and the event stream in order with the same ids,
 * survive a crash, and are dropped and counted when the queue or the disk is full. */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "engine/base/clock.h"
#include "store/failure_journal.h"
#include "store/reader.h"
#include "store/run_lock.h"
#include "store/store.h"
#include "tests/support/temporary_folder.h"

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "check_store_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    ck_assert(temporary_folder_remove(folder));
}

static cse_store *open_store(const cse_store_options *options)
{
    cse_store *store = NULL;
    cse_status status = cse_store_open(folder, options, &store);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    return store;
}

/* One number or text out of the database, by SQLite alone. */
static void query(const char *sql, char *text, size_t size)
{
    char path[128];
    sqlite3 *handle;
    sqlite3_stmt *statement;
    snprintf(path, sizeof path, "%s/run.db", folder);
    ck_assert_int_eq(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(handle));
    text[0] = '\0';
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(handle);
}

static double number(const char *sql)
{
    char text[64];
    query(sql, text, sizeof text);
    return text[0] != '\0' ? strtod(text, NULL) : -1;
}

static void assert_text(const char *sql, const char *expected)
{
    char text[512];
    query(sql, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

START_TEST(every_table_has_the_columns_of_the_list)
{
    cse_store *store = open_store(NULL);
    cse_store_close(&store);
    for (int kind = 0; kind < CSE_ROW_COUNT; kind++) {
        const cse_row_description *row = cse_row_describe((cse_row_kind)kind);
        char sql[256], expected[256] = "";
        snprintf(sql, sizeof sql, "SELECT group_concat(name, ' ') FROM pragma_table_info('%s')",
                 row->table);
        snprintf(expected, sizeof expected, "%s", row->columns);
        assert_text(sql, expected);
        int words = 1;
        for (const char *c = row->columns; *c != '\0'; c++)
            words += *c == ' ';
        ck_assert_int_eq(words, (int)strlen(row->types));
    }
    ck_assert_int_eq((int)number("PRAGMA user_version"), CSE_STORE_VERSION);
    assert_text("PRAGMA journal_mode", "wal");
}
END_TEST

static void assert_rows(void)
{
    assert_text("SELECT value FROM run WHERE key = 'state'", "RUNNING");
    assert_text("SELECT value FROM run WHERE key = 'model'", "fc \"mnist\"");
    assert_text("SELECT value FROM run WHERE key = 'last_step'", "2");
    assert_text("SELECT group_concat(seq || ifnull(from_state, '-') || to_state) FROM transitions",
                "1-STARTING,2STARTINGRUNNING");
    assert_text("SELECT value FROM points JOIN series ON id = series WHERE name = 'loss' AND "
                "step = 1",
                "2.5");
    ck_assert_int_eq(
        (int)number("SELECT count(*) FROM points WHERE value IS NULL AND time_ms = 77"), 1);
    assert_text("SELECT name || payload || (delivered_ms - issued_ms) FROM closures",
                "print_loss[1.5]2");
    assert_text("SELECT path || bytes || verified || attempt FROM checkpoints",
                "checkpoint_2.h5409611");
    assert_text("SELECT role || rank || level FROM logs", "replica1warning");
    assert_text("SELECT name || kind || line FROM tensors", "wgradient7");
    assert_text("SELECT inf || hex(digest) FROM numerics", "33132333435363738");
    assert_text("SELECT process || kind || (end_ns - start_ns) FROM timeline", "replica 0compute4");
    assert_text("SELECT process || kernel || calls || total_ns || min_ns || median_ns FROM kernels",
                "replica 17489220");
    assert_text("SELECT content FROM artefacts WHERE name = 'config.yaml'", "a: 1\n");
    /* The points of one writing are one event, behind the others of it. */
    assert_text("SELECT group_concat(type) FROM (SELECT type FROM events WHERE type <> 'metric' "
                "ORDER BY type)",
                "checkpoint,closure,log,note,numerics,phase,phase,state,state,topology");
    ck_assert_int_eq((int)number("SELECT count(*) FROM events WHERE NOT json_valid(payload)"), 0);
    assert_text("SELECT json_extract(payload, '$.to_state') FROM events WHERE type = 'state' "
                "ORDER BY id DESC",
                "RUNNING");
    /* The writer may take the queue between two points: they are one event then, or two. */
    assert_text("SELECT group_concat(value) FROM (SELECT json_extract(loss.value, '$[2]') AS value "
                "FROM events, json_each(payload, '$.series.loss') AS loss WHERE "
                "events.type = 'metric' ORDER BY events.id, loss.key)",
                "2.5,NaN");
}

static void write_file(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(each_report_is_a_row)
{
    char path[128];
    write_file("checkpoint_2.h5", path);
    cse_store *store = open_store(NULL);
    ck_assert_int_eq(cse_store_attempt(store), 1);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL), CSE_OK);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_RUNNING, NULL, "all are ready"), CSE_OK);
    cse_store_set(store, "model", "fc \"mnist\"");
    int loss = cse_store_series(store, "loss"), rate = cse_store_series(store, "lr/0");
    ck_assert_int_ne(loss, rate);
    ck_assert_int_eq(cse_store_series(store, "loss"), loss);
    cse_store_point(store, loss, 1, 2.5);
    cse_store_points(store, &(cse_step_points){ .step = 2,
                                                .time_ms = 77,
                                                .count = 2,
                                                .series = (const int[]){ loss, rate },
                                                .values = (const double[]){ (double)NAN, 1e-3 } });
    cse_store_closure(store, &(cse_closure_row){ .step = 2,
                                                 .issued_ms = 10,
                                                 .delivered_ms = 12,
                                                 .name = "print_loss",
                                                 .payload = "[1.5]" });
    cse_store_checkpoint(store, &(cse_checkpoint_row){ .step = 2,
                                                       .path = "checkpoint_2.h5",
                                                       .bytes = 4096,
                                                       .digest = "abc",
                                                       .write_ms = 9,
                                                       .verified = true });
    cse_store_log(store, &(cse_log_record){ .level = CSE_LOG_WARNING,
                                            .process = { CSE_ROLE_REPLICA, 1 },
                                            .text = "late \x01\xff" });
    int64_t tensor = cse_store_tensor(
        store, &(cse_tensor_row){ .name = "w", .kind = "gradient", .dtype = "float16", .line = 7 });
    cse_store_numerics(
        store, &(cse_numerics_row){
                   .tensor = tensor, .step = 2, .count = 100, .inf = 3, .digest = "12345678" });
    cse_store_timeline(
        store,
        &(cse_span){
            .step = 2, .process = "replica 0", .kind = "compute", .start_ns = 5, .end_ns = 9 },
        1);
    cse_store_kernel(store, &(cse_kernel_row){ .step = 2,
                                               .process = "replica 1",
                                               .kernel = 7,
                                               .calls = 4,
                                               .total_ns = 89,
                                               .min_ns = 2,
                                               .median_ns = 20 });
    cse_store_topology(store, "{\"streams\":[]}");
    cse_store_artefact(store, "config.yaml", "application/yaml", "a: 1\n", 5);
    cse_store_event(store, "note", "{\"x\":1}");
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    assert_rows();
    cse_store_close(&store);
}
END_TEST

START_TEST(samples_of_one_millisecond_are_all_kept)
{
    enum { SAMPLES = 50 };
    char text[32];
    cse_store *store = open_store(NULL);
    for (int i = 0; i < SAMPLES; i++) {
        snprintf(text, sizeof text, "{\"sample\":%d}", i);
        cse_store_topology(store, text);
    }
    cse_store_close(&store);
    ck_assert_int_eq((int)number("SELECT count(*) FROM topology"), SAMPLES);
    assert_text("SELECT payload FROM topology ORDER BY time_ms DESC LIMIT 1", "{\"sample\":49}");
}
END_TEST

START_TEST(a_terminal_state_never_changes_in_its_attempt)
{
    cse_store *store = open_store(NULL);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_RUNNING, NULL, NULL), CSE_INTERNAL);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_COMPILING, NULL, NULL), CSE_OK);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_COMPILING, NULL, NULL), CSE_OK);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_FAILED, "DATA", "no file"), CSE_OK);
    for (int to = 0; to < CSE_RUN_STATE_COUNT; to++)
        if (to != CSE_RUN_FAILED)
            ck_assert_int_eq(cse_store_transition(store, (cse_run_state)to, NULL, NULL),
                             CSE_INTERNAL);
    cse_store_close(&store);
    ck_assert_int_eq((int)number("SELECT count(*) FROM transitions"), 2);
    store = open_store(NULL);
    ck_assert_int_eq(cse_store_attempt(store), 2);
    ck_assert_int_eq(cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL), CSE_OK);
    cse_store_close(&store);
    assert_text("SELECT group_concat(to_state || attempt) FROM transitions",
                "COMPILING1,FAILED1,STARTING2");
}
END_TEST

static double curve(int64_t step)
{
    return sin((double)step * 0.01) + ((step * 2654435761) % 97) * 0.01;
}

/* Reads "buckets":[[first,last,count,min,max,...],...] and compares each with the formula. */
/* The rows of one curve, as they come. */
typedef struct seen_curve {
    int level, rows, curves;
    int64_t first_step, next_step;
} seen_curve;

static void check_row(void *self, const cse_curve *about, const cse_curve_row *row)
{
    seen_curve *seen = self;
    double low = INFINITY, high = -INFINITY, total = 0;
    seen->level = about->level;
    if (row == NULL) {
        ck_assert_str_eq(about->name, "loss");
        seen->curves++;
        return;
    }
    for (int64_t step = row->first_step; step <= row->last_step; step++) {
        low = fmin(low, curve(step));
        high = fmax(high, curve(step));
        total += curve(step);
    }
    ck_assert_int_eq(row->count, row->last_step - row->first_step + 1);
    ck_assert_double_eq(row->minimum, low);
    ck_assert_double_eq(row->maximum, high);
    ck_assert_double_eq_tol(row->sum, total, 1e-9 * (double)row->count);
    ck_assert_double_eq(row->last, curve(row->last_step));
    ck_assert(seen->rows == 0 || row->first_step == seen->next_step);
    if (seen->rows++ == 0)
        seen->first_step = row->first_step;
    seen->next_step = row->last_step + 1;
}

START_TEST(any_range_is_read_in_few_rows_that_hide_no_peak)
{
    enum { STEPS = 20000 };
    cse_store *store = open_store(NULL);
    int loss = cse_store_series(store, "loss");
    for (int64_t step = 1; step <= STEPS; step++)
        cse_store_point(store, loss, step, curve(step));
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    ck_assert_int_eq((int)number("SELECT count(*) FROM points"), STEPS);
    cse_store_reader *reader = NULL;
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    static const int64_t ranges[][3] = { { 0, 0, 1000 },      { 1, STEPS, 100 },
                                         { 5000, 5999, 200 }, { 19000, STEPS, 10 },
                                         { 1, STEPS, 2 },     { 7777, 17777, 300 } };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        seen_curve seen = { .rows = 0 };
        const cse_metrics_query wanted = { .names = (const char *const[]){ "loss", NULL },
                                           .first_step = ranges[i][0],
                                           .last_step = ranges[i][1],
                                           .max_points = ranges[i][2] };
        ck_assert_int_eq(cse_store_reader_metrics(reader, &wanted, check_row, &seen), CSE_OK);
        ck_assert_int_eq(seen.curves, 1);
        ck_assert_int_gt(seen.level, 0);
        ck_assert_int_le(seen.first_step, ranges[i][0] > 0 ? ranges[i][0] : 1);
        ck_assert_int_gt(seen.next_step, ranges[i][1] > 0 ? ranges[i][1] : STEPS);
        ck_assert_int_le(seen.rows, (int)ranges[i][2]);
        ck_assert_int_gt(seen.rows * 2, (int)ranges[i][2]);
    }
    seen_curve seen = { .rows = 0 };
    const cse_metrics_query few = { .first_step = 100, .last_step = 103, .max_points = 4 };
    ck_assert_int_eq(cse_store_reader_metrics(reader, &few, check_row, &seen), CSE_OK);
    ck_assert_int_eq(seen.level, 0);
    ck_assert_int_eq(seen.first_step, 100);
    ck_assert_int_eq(seen.rows, 4);
    cse_point point;
    ck_assert(cse_store_reader_last_point(reader, "loss", &point));
    ck_assert_int_eq(point.step, STEPS);
    ck_assert_double_eq(point.value, curve(STEPS));
    cse_store_reader_close(&reader);
    cse_store_close(&store);
}
END_TEST

START_TEST(events_are_published_with_the_ids_that_are_stored)
{
    char endpoint[128], type[32], json[4096];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/events", folder);
    cse_store *store = open_store(&(cse_store_options){ .events_endpoint = endpoint });
    void *context = zmq_ctx_new(), *listener = zmq_socket(context, ZMQ_SUB);
    int timeout_ms = 5000;
    zmq_setsockopt(listener, ZMQ_SUBSCRIBE, "", 0);
    zmq_setsockopt(listener, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    ck_assert_int_eq(zmq_connect(listener, endpoint), 0);
    /* A listener that joins is served from some moment on: wait until it is. */
    int received = -1;
    for (int i = 0; i < 200 && received < 0; i++) {
        cse_store_event(store, "hello", "{}");
        cse_sleep_ns(20000000);
        received = zmq_recv(listener, type, sizeof type, ZMQ_DONTWAIT);
    }
    ck_assert_int_gt(received, 0);
    ck_assert_int_gt(zmq_recv(listener, json, sizeof json, 0), 0);
    int loss = cse_store_series(store, "loss");
    for (int step = 0; step < 1000; step++)
        cse_store_point(store, loss, step, step == 500 ? 1e9 : step);
    cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    cse_store_flush(store);
    long long last_id = 0;
    bool state_seen = false, peak_seen = false;
    while (!state_seen) {
        int size = zmq_recv(listener, type, sizeof type - 1, 0);
        ck_assert_int_gt(size, 0);
        type[size] = '\0';
        size = zmq_recv(listener, json, sizeof json - 1, 0);
        ck_assert_int_gt(size, 0);
        json[size] = '\0';
        long long id;
        char sql[4200];
        ck_assert_int_eq(sscanf(json, "{\"id\":%lld", &id), 1);
        ck_assert_int_gt(id, last_id);
        last_id = id;
        snprintf(sql, sizeof sql, "SELECT type FROM events WHERE id = %lld", id);
        assert_text(sql, type);
        peak_seen = peak_seen || strstr(json, "[500,") != NULL;
        state_seen = strcmp(type, "state") == 0;
    }
    ck_assert_msg(peak_seen, "thinning hid the peak");
    zmq_close(listener);
    cse_store_close(&store);
    zmq_ctx_term(context);
}
END_TEST

START_TEST(a_second_writer_is_refused)
{
    cse_store *store = open_store(NULL), *other = NULL;
    ck_assert(cse_run_is_alive(folder));
    ck_assert_int_eq(cse_store_open(folder, NULL, &other), CSE_TEMPORARY);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "under way"));
    cse_store_close(&store);
    ck_assert(!cse_run_is_alive(folder));
}
END_TEST

START_TEST(something_else_under_the_name_is_refused)
{
    char path[128];
    cse_store *store = NULL;
    snprintf(path, sizeof path, "%s/run.db", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 400; i++)
        fputs("this is no database\n", file);
    fclose(file);
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_DATA);
    ck_assert_int_eq(unlink(path), 0);
    store = open_store(NULL);
    cse_store_close(&store);
    char text[64];
    query("PRAGMA user_version = 9", text, sizeof text);
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "version 9"));
    query("PRAGMA application_id = 5", text, sizeof text);
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_DATA);
}
END_TEST

static void count_row(void *self, const cse_row *row)
{
    (void)row;
    ++*(int *)self;
}

static int count_kernels(void)
{
    const cse_store_query all = { .limit = 0 };
    cse_store_reader *reader = NULL;
    int count = 0;
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_rows(reader, CSE_ROW_KERNEL, &all, count_row, &count),
                     CSE_OK);
    cse_store_reader_close(&reader);
    return count;
}

static void take_finite(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    ck_assert_int_eq(curve->bucket_points, 16);
    if (row != NULL)
        *(int64_t *)self += row->finite;
}

/* Finite points of the buckets of all attempts. */
static int64_t count_finite(void)
{
    cse_store_reader *reader = NULL;
    int64_t finite = 0;
    const cse_metrics_query query = { .max_points = 2 };
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_metrics(reader, &query, take_finite, &finite), CSE_OK);
    cse_store_reader_close(&reader);
    return finite;
}

static void add_points(cse_store *store, int first, int last)
{
    int series = cse_store_series(store, "loss");
    for (int step = first; step <= last; step++)
        cse_store_point(store, series, step, step % 4 == 0 ? (double)INFINITY : 1);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
}

/* Version 2 did not count the finite points of a bucket: all of them are taken for finite. */
START_TEST(buckets_of_version_2_are_read_and_new_ones_added)
{
    char text[64];
    cse_store *store = open_store(NULL);
    add_points(store, 1, 32);
    cse_store_close(&store);
    ck_assert_int_eq(count_finite(), 24);
    query("ALTER TABLE buckets DROP COLUMN finite", text, sizeof text);
    query("PRAGMA user_version = 2", text, sizeof text);
    ck_assert_int_eq(count_finite(), 32);
    store = open_store(NULL);
    ck_assert_int_eq((int)number("PRAGMA user_version"), CSE_STORE_VERSION);
    add_points(store, 33, 64);
    cse_store_close(&store);
    ck_assert_int_eq(count_finite(), 32 + 24);
}
END_TEST

/* Version 1 had no table of kernels. */
START_TEST(a_store_of_the_version_before_is_read_and_goes_on)
{
    char text[64];
    cse_store *store = open_store(NULL);
    cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    cse_store_close(&store);
    query("DROP TABLE kernels", text, sizeof text);
    query("PRAGMA user_version = 1", text, sizeof text);
    ck_assert_int_eq(count_kernels(), 0);
    store = open_store(NULL);
    ck_assert_int_eq((int)number("PRAGMA user_version"), CSE_STORE_VERSION);
    ck_assert_int_eq(cse_store_attempt(store), 2);
    cse_store_kernel(store, &(cse_kernel_row){ .step = 3, .process = "replica 0", .calls = 1 });
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    assert_text("SELECT group_concat(to_state || attempt) FROM transitions", "STARTING1,FAILED1");
    cse_store_close(&store);
    ck_assert_int_eq(count_kernels(), 1);
}
END_TEST

START_TEST(a_killed_writer_leaves_a_store_that_can_be_read)
{
    pid_t child = fork();
    if (child == 0) {
        cse_store *store = NULL;
        if (cse_store_open(folder, NULL, &store) != CSE_OK)
            _exit(1);
        cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
        cse_store_transition(store, CSE_RUN_RUNNING, NULL, NULL);
        for (int step = 0; step < 100; step++)
            cse_store_point(store, cse_store_series(store, "loss"), step, step);
        cse_store_flush(store);
        raise(SIGKILL);
    }
    int how;
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFSIGNALED(how));
    cse_store_reader *reader = NULL;
    cse_run_status status;
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_status(reader, &status), CSE_OK);
    ck_assert(!status.alive && status.derived);
    ck_assert_int_eq(status.state, CSE_RUN_FAILED);
    ck_assert_str_eq(status.reason, "INTERRUPTED");
    ck_assert_int_eq(status.last_step, 99);
    cse_store_reader_close(&reader);
    cse_store *store = open_store(NULL);
    cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    assert_text("SELECT group_concat(to_state || attempt) FROM transitions",
                "STARTING1,RUNNING1,FAILED1,STARTING2");
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_status(reader, &status), CSE_OK);
    ck_assert(status.alive && !status.derived);
    ck_assert_int_eq(status.state, CSE_RUN_STARTING);
    ck_assert_int_eq(status.attempt, 2);
    cse_store_reader_close(&reader);
    cse_store_close(&store);
}
END_TEST

START_TEST(a_full_queue_drops_points_and_counts_them_but_no_state)
{
    enum { STEPS = 100000 };
    cse_store *store =
        open_store(&(cse_store_options){ .queue_bytes = 4096, .publish_interval_ms = 2000 });
    int loss = cse_store_series(store, "loss");
    for (int step = 0; step < STEPS; step++) {
        cse_store_point(store, loss, step, step);
        if (step == STEPS - 1)
            cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    }
    for (int i = 0; i < 100; i++)
        cse_store_checkpoint(store, &(cse_checkpoint_row){ .step = i, .path = "p", .digest = "d" });
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    double kept = number("SELECT count(*) FROM points");
    double gap = number("SELECT sum(json_extract(payload, '$.points')) FROM events WHERE type = "
                        "'gap'");
    ck_assert_double_lt(kept, STEPS);
    ck_assert_double_eq(kept + gap, STEPS);
    assert_text("SELECT to_state FROM transitions", "STARTING");
    ck_assert_int_eq((int)number("SELECT count(*) FROM checkpoints"), 100);
    cse_store_close(&store);
}
END_TEST

static int warnings;
static void count_warnings(void *self, const cse_log_record *record)
{
    (void)self;
    warnings += record->level == CSE_LOG_WARNING && strstr(record->text, "run store") != NULL;
}

/* What stands beside a store that cannot be written. */
static void assert_behind(cse_run_state state)
{
    cse_store_reader *reader = NULL;
    cse_run_status status;
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_status(reader, &status), CSE_OK);
    ck_assert_int_eq(status.state, state);
    int64_t last_step = status.last_step; /* the very last may have met a full queue */
    ck_assert_int_gt(last_step, 30000);
    json_t *behind = cse_store_reader_failure_journal(reader);
    ck_assert_ptr_nonnull(behind);
    ck_assert_int_gt(json_integer_value(json_object_get(behind, "since_ms")), 1600000000000);
    ck_assert(json_is_integer(json_object_get(behind, "waiting_rows")));
    ck_assert_int_gt(json_integer_value(json_object_get(json_object_get(behind, "lost"), "points")),
                     0);
    ck_assert_str_ne(json_string_value(json_object_get(behind, "message")), "");
    const json_t *loss = json_object_get(json_object_get(behind, "latest"), "loss");
    ck_assert_int_eq(json_integer_value(json_array_get(loss, 0)), last_step);
    ck_assert_double_eq(json_number_value(json_array_get(loss, 1)), (double)last_step);
    ck_assert_double_eq(json_number_value(json_array_get(loss, 2)), 0);
    json_decref(behind);
    cse_store_reader_close(&reader);
}

static void assert_nothing_behind(void)
{
    cse_store_reader *reader = NULL;
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_ptr_null(cse_store_reader_failure_journal(reader));
    cse_store_reader_close(&reader);
}

/* In a process of its own: a limit of the size of files stands for a full disk. */
static void fill_the_disk(void)
{
    cse_store *store = open_store(&(cse_store_options){ .queue_bytes = 64 << 10 });
    struct rlimit before, limit;
    char reserve[128];
    warnings = 0;
    cse_log_set_sink(count_warnings, NULL);
    assert_nothing_behind();
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 200 << 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    int loss = cse_store_series(store, "loss");
    int64_t started = cse_clock_ns();
    for (int step = 0; step < 60000; step++) {
        cse_store_point(store, loss, step, step);
        if (step % 5000 == 0)
            cse_store_flush(store); /* fails from some moment on */
    }
    ck_assert_int_eq(cse_store_flush(store), CSE_IO);
    assert_behind(CSE_RUN_STARTING);
    ck_assert_int_lt(cse_clock_ns() - started, INT64_C(20000000000));
    cse_store_transition(store, CSE_RUN_RUNNING, NULL, NULL);
    ck_assert_int_eq(cse_store_state(store), CSE_RUN_RUNNING);
    ck_assert_int_eq(warnings, 1);
    snprintf(reserve, sizeof reserve, "%s/run.reserve", folder);
    ck_assert_int_ne(access(reserve, F_OK), 0); /* given back */
    setrlimit(RLIMIT_FSIZE, &before);
    cse_store_point(store, loss, 60000, 1);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    cse_log_set_sink(NULL, NULL);
    assert_nothing_behind();
    ck_assert_int_eq(access(reserve, F_OK), 0); /* taken again */
    cse_store_close(&store);
    ck_assert_int_ne(access(reserve, F_OK), 0);
}

START_TEST(a_full_disk_stops_nobody_and_what_matters_is_written_later)
{
    fill_the_disk();
    assert_text("SELECT group_concat(to_state) FROM transitions", "STARTING,RUNNING");
    double kept = number("SELECT count(*) FROM points");
    double gap = number("SELECT sum(json_extract(payload, '$.points')) FROM events WHERE type = "
                        "'gap'");
    ck_assert_double_gt(gap, 0);
    ck_assert_double_eq(kept + gap, 60001);
    assert_text("SELECT value FROM run WHERE key = 'last_step'", "60000");
    assert_text("PRAGMA integrity_check", "ok");
}
END_TEST

/* The end is known although it never got into the database, to readers and to the next attempt. */
START_TEST(an_end_that_found_no_room_is_known)
{
    struct rlimit before, limit;
    cse_run_status status;
    cse_store_reader *reader = NULL;
    cse_store *store = open_store(NULL);
    cse_log_set_sink(count_warnings, NULL);
    cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    cse_store_transition(store, CSE_RUN_RUNNING, NULL, NULL);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4096; /* the block, and not one page more */
    setrlimit(RLIMIT_FSIZE, &limit);
    cse_store_point(store, cse_store_series(store, "loss"), 7, 1.5);
    cse_store_transition(store, CSE_RUN_SUCCEEDED, NULL, "the end");
    cse_store_close(&store);
    setrlimit(RLIMIT_FSIZE, &before);
    cse_log_set_sink(NULL, NULL);
    assert_text("SELECT group_concat(to_state) FROM transitions", "STARTING,RUNNING");
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_status(reader, &status), CSE_OK);
    ck_assert_int_eq(status.state, CSE_RUN_SUCCEEDED);
    ck_assert(!status.derived);
    ck_assert_str_eq(status.message, "the end");
    ck_assert_int_eq(status.last_step, 7);
    cse_store_reader_close(&reader);
    store = open_store(NULL);
    cse_store_transition(store, CSE_RUN_STARTING, NULL, NULL);
    cse_store_close(&store);
    assert_text("SELECT group_concat(to_state) FROM transitions",
                "STARTING,RUNNING,SUCCEEDED,STARTING");
    assert_nothing_behind();
}
END_TEST

START_TEST(rows_are_paged_and_filtered)
{
    cse_store *store = open_store(NULL);
    char line[16];
    for (int i = 0; i < 50; i++) {
        snprintf(line, sizeof line, "%d", i);
        cse_store_log(store, &(cse_log_record){ .level = i % 2 ? CSE_LOG_INFO : CSE_LOG_ERROR,
                                                .process = { CSE_ROLE_REPLICA, i % 5 },
                                                .text = line });
    }
    cse_store_flush(store);
    cse_store_reader *reader = NULL;
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    cse_text json = { 0 };
    const cse_store_query some = {
        .after = 10,
        .limit = 2,
        .filters[0] = { "level", (const char *const[]){ "error", "warning", NULL } },
        .filters[1] = { "role", (const char *const[]){ "replica", NULL } }
    };
    ck_assert_int_eq(cse_store_reader_json(reader, CSE_ROW_LOG, &some, &json), CSE_OK);
    ck_assert_ptr_nonnull(strstr(json.data, "[{\"id\":11,"));
    ck_assert_ptr_nonnull(strstr(json.data, ",{\"id\":13,"));
    ck_assert_ptr_null(strstr(json.data, "\"id\":12"));
    ck_assert_ptr_null(strstr(json.data, "\"id\":15"));
    json.size = 0;
    const cse_store_query newest = { .limit = 1, .newest_first = true, .before = 40 };
    ck_assert_int_eq(cse_store_reader_json(reader, CSE_ROW_LOG, &newest, &json), CSE_OK);
    ck_assert_ptr_nonnull(strstr(json.data, "[{\"id\":39,"));
    json.size = 0;
    const cse_store_query wrong = { .filters[0] = { "colour",
                                                    (const char *const[]){ "red", NULL } } };
    ck_assert_int_eq(cse_store_reader_json(reader, CSE_ROW_LOG, &wrong, &json), CSE_USAGE);
    json.size = 0;
    ck_assert_int_eq(cse_store_reader_run_json(reader, &json), CSE_OK);
    ck_assert_ptr_nonnull(strstr(json.data, "\"alive\":true"));
    cse_text_clear(&json);
    cse_store_reader_close(&reader);
    cse_store_close(&store);
    ck_assert_int_eq(cse_store_reader_open("/nonexistent", &reader), CSE_NO_INPUT);
}
END_TEST

static void report_checkpoint(cse_store *store, int64_t step, const char *path)
{
    cse_store_checkpoint(
        store, &(cse_checkpoint_row){
                   .step = step, .path = path, .bytes = 5, .digest = "d", .verified = true });
}

#define DELETED "SELECT group_concat(step || ':' || deleted) FROM checkpoints"

START_TEST(a_checkpoint_whose_file_is_gone_is_marked)
{
    char paths[4][128], name[32];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "checkpoint_%d.mdl", i);
        write_file(name, paths[i]);
    }
    cse_store *store = open_store(NULL);
    report_checkpoint(store, 0, paths[0]);
    report_checkpoint(store, 1, "/elsewhere/checkpoint_1.mdl"); /* the run was moved here */
    report_checkpoint(store, 2, paths[2]);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    assert_text(DELETED, "0:0,1:0,2:0");
    /* The next checkpoint shows what was pruned before it. */
    ck_assert_int_eq(unlink(paths[0]), 0);
    report_checkpoint(store, 3, paths[3]);
    for (int i = 0; i < 500 && number("SELECT sum(deleted) FROM checkpoints") < 1; i++)
        cse_sleep_ns(20000000);
    assert_text(DELETED, "0:1,1:0,2:0,3:0");
    /* The end does, and the next attempt. */
    ck_assert_int_eq(unlink(paths[2]), 0);
    cse_store_close(&store);
    assert_text(DELETED, "0:1,1:0,2:1,3:0");
    ck_assert_int_eq(unlink(paths[1]), 0);
    store = open_store(NULL);
    ck_assert_int_eq(cse_store_flush(store), CSE_OK);
    assert_text(DELETED, "0:1,1:1,2:1,3:0");
    cse_store_close(&store);
    assert_text("SELECT path || bytes || digest || verified || attempt FROM checkpoints WHERE "
                "step = 1",
                "/elsewhere/checkpoint_1.mdl5d11");
    assert_text("SELECT group_concat(json_extract(payload, '$.step')) FROM events WHERE type = "
                "'checkpoint' AND json_extract(payload, '$.deleted') = 1",
                "0,2,1");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("store");
    tcase_set_timeout(cases, 600);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, every_table_has_the_columns_of_the_list);
    tcase_add_test(cases, each_report_is_a_row);
    tcase_add_test(cases, samples_of_one_millisecond_are_all_kept);
    tcase_add_test(cases, a_terminal_state_never_changes_in_its_attempt);
    tcase_add_test(cases, any_range_is_read_in_few_rows_that_hide_no_peak);
    tcase_add_test(cases, events_are_published_with_the_ids_that_are_stored);
    tcase_add_test(cases, a_second_writer_is_refused);
    tcase_add_test(cases, something_else_under_the_name_is_refused);
    tcase_add_test(cases, a_store_of_the_version_before_is_read_and_goes_on);
    tcase_add_test(cases, buckets_of_version_2_are_read_and_new_ones_added);
    tcase_add_test(cases, a_killed_writer_leaves_a_store_that_can_be_read);
    tcase_add_test(cases, a_full_queue_drops_points_and_counts_them_but_no_state);
    tcase_add_test(cases, a_full_disk_stops_nobody_and_what_matters_is_written_later);
    tcase_add_test(cases, an_end_that_found_no_room_is_known);
    tcase_add_test(cases, rows_are_paged_and_filtered);
    tcase_add_test(cases, a_checkpoint_whose_file_is_gone_is_marked);
    Suite *suite = suite_create("run store");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
