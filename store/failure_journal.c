/* The write-failure journal: one block that is overwritten in place. It begins and ends with the
 * same number, so that a reader detects a torn write. */
#include "store/failure_journal.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/json.h"

enum { BLOCK_BYTES = 4096, TAIL_BYTES = 64, MESSAGE_BYTES = 1000, READ_TRIES = 20 };

static bool path_of(const char *model_dir, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s/run.behind", model_dir) < PATH_MAX;
}

static bool write_block(int file, const char *text, size_t size)
{
    char block[BLOCK_BYTES];
    memset(block, ' ', sizeof block);
    memcpy(block, text, size);
    block[BLOCK_BYTES - 1] = '\n';
    return pwrite(file, block, sizeof block, 0) == (ssize_t)sizeof block;
}

/* Allocates the blank block; returns its descriptor, -1 when there is no room. */
static int make_block(const char *model_dir)
{
    char path[PATH_MAX];
    int file =
        path_of(model_dir, path) ? open(path, O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
    if (file < 0 || write_block(file, "", 0))
        return file;
    close(file);
    unlink(path);
    return -1;
}

void cse_failure_journal_open(cse_failure_journal *journal, const char *model_dir)
{
    *journal =
        (cse_failure_journal){ .model_dir = cse_strdup(model_dir), .file = make_block(model_dir) };
}

/* ---- writing ---- */

/* Adds at most MESSAGE_BYTES: the block is small. */
static void add_text(cse_text *out, const char *text)
{
    char cut[MESSAGE_BYTES];
    snprintf(cut, sizeof cut, "%s", text != NULL ? text : "");
    cse_json_add_string(out, cut);
}

static void add_transition(cse_text *out, const cse_row *row)
{
    cse_text_add(out, ",\"transition\":[%lld,", (long long)row->fields[1].integer);
    for (int column = 3; column <= 5; column++) {
        add_text(out, row->fields[column].text);
        cse_text_add(out, column < 5 ? "," : "]");
    }
}

/* Adds the number of waiting rows and the last transition among them. */
static void add_waiting(cse_text *out, const cse_text *pending)
{
    cse_row row, last = { .count = 0 };
    size_t at = 0;
    int64_t rows = 0;
    while (cse_row_next(pending, &at, &row)) {
        rows += row.kind == CSE_ROW_POINTS ? cse_row_point_count(&row) : 1;
        if (row.kind == CSE_ROW_TRANSITION)
            last = row;
    }
    cse_text_add(out, ",\"waiting_rows\":%lld", (long long)rows);
    if (last.count > 0)
        add_transition(out, &last);
}

/* Adds as many series as there is room for. */
static void add_latest(cse_text *out, const cse_write_failure *failure)
{
    cse_text one = { 0 };
    const char *separator = "";
    cse_text_add(out, ",\"latest\":{");
    for (int series = 1; series < failure->latest_count; series++) {
        const cse_latest *latest = &failure->latest[series];
        if (latest->name == NULL)
            continue;
        one.size = 0;
        cse_text_add(&one, "%s", separator);
        cse_json_add_string(&one, latest->name);
        cse_text_add(&one, ":[%lld,", (long long)latest->step);
        cse_json_add_number(&one, latest->value);
        cse_text_add(&one, ",");
        cse_json_add_number(&one, latest->least);
        cse_text_add(&one, "]");
        if (out->size + one.size + TAIL_BYTES > BLOCK_BYTES)
            break;
        cse_text_add_bytes(out, one.data, one.size);
        separator = ",";
    }
    cse_text_add(out, "}");
    cse_text_clear(&one);
}

void cse_failure_journal_write(cse_failure_journal *journal, const cse_write_failure *failure)
{
    cse_text text = { 0 };
    unsigned long long mark = ++journal->writes;
    if (journal->file < 0)
        journal->file = make_block(journal->model_dir);
    if (journal->file < 0)
        return;
    cse_text_add(&text,
                 "{\"begin\":%llu,\"attempt\":%lld,\"since_ms\":%lld,\"last_step\":%lld,"
                 "\"message\":",
                 mark, (long long)failure->attempt, (long long)failure->since_ms,
                 (long long)failure->last_step);
    add_text(&text, failure->message);
    cse_text_add(&text, ",\"lost\":");
    cse_dropped_json(&text, failure->lost);
    add_waiting(&text, failure->waiting);
    add_latest(&text, failure);
    cse_text_add(&text, ",\"end\":%llu}", mark);
    if (text.size < BLOCK_BYTES)
        journal->is_set = write_block(journal->file, text.data, text.size);
    cse_text_clear(&text);
}

void cse_failure_journal_clear(cse_failure_journal *journal)
{
    if (journal->is_set && write_block(journal->file, "", 0))
        journal->is_set = false;
}

void cse_failure_journal_close(cse_failure_journal *journal)
{
    char path[PATH_MAX];
    if (journal->model_dir != NULL && journal->file >= 0) {
        close(journal->file);
        if (!journal->is_set && path_of(journal->model_dir, path))
            unlink(path);
    }
    free(journal->model_dir);
    *journal = (cse_failure_journal){ .file = -1 };
}

/* ---- reading ---- */

static json_t *read_block(int file)
{
    char block[BLOCK_BYTES];
    ssize_t size = pread(file, block, sizeof block, 0);
    size_t used = size > 0 ? (size_t)size : 0;
    while (used > 0 && (block[used - 1] == ' ' || block[used - 1] == '\n'))
        used--;
    if (used == 0)
        return json_null();
    json_t *entry = json_loadb(block, used, 0, NULL);
    const json_t *begin = json_object_get(entry, "begin");
    if (json_is_integer(begin) && json_equal(begin, json_object_get(entry, "end")))
        return entry;
    json_decref(entry);
    return NULL;
}

json_t *cse_failure_journal_read(const char *model_dir)
{
    char path[PATH_MAX];
    json_t *entry = NULL;
    int file = path_of(model_dir, path) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (file < 0)
        return NULL;
    for (int i = 0; i < READ_TRIES && entry == NULL; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
        entry = read_block(file);
    }
    close(file);
    return json_is_object(entry) ? entry : NULL;
}

bool cse_failure_journal_last_transition(const json_t *entry, cse_failure_journal_transition *last)
{
    const json_t *row = json_object_get(entry, "transition");
    const char *to = json_string_value(json_array_get(row, 1));
    const char *reason = json_string_value(json_array_get(row, 2));
    const char *message = json_string_value(json_array_get(row, 3));
    *last =
        (cse_failure_journal_transition){ .time_ms = json_integer_value(json_array_get(row, 0)),
                                          .to = to != NULL ? cse_run_state_of(to) : CSE_RUN_NONE,
                                          .reason = reason != NULL ? reason : "",
                                          .message = message != NULL ? message : "" };
    return last->to != CSE_RUN_NONE;
}
