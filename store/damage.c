/* The new file is made beside, as run.db.mended, and renamed when the old one has its other name:
 * a process that is killed in between leaves one of them for the next. */
#include "store/damage.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "store/damaged_source.h"
#include "store/examine.h"
#include "store/options.h"
#include "store/run_lock.h"
#include "store/salvage.h"

static const char *const parts[] = { "", "-wal", "-shm" };
enum { PART_COUNT = sizeof parts / sizeof parts[0], PATH_BYTES = CSE_ASIDE_BYTES };

/* ---- names ---- */

static bool store_path(const char *model_dir, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s/run.db", model_dir) < PATH_MAX;
}

static void remove_parts(const char *path)
{
    char name[PATH_BYTES];
    for (int i = 0; i < PART_COUNT; i++) {
        snprintf(name, sizeof name, "%s%s", path, parts[i]);
        unlink(name);
    }
}

/* The first of run.db.damaged-1, -2, ... that is free, with its log beside it. */
static void free_name(const char *path, char name[PATH_BYTES])
{
    struct stat about;
    for (int number = 1;; number++) {
        char log[PATH_BYTES + 8];
        snprintf(name, PATH_BYTES, "%s.damaged-%d", path, number);
        snprintf(log, sizeof log, "%s-wal", name);
        if (lstat(name, &about) != 0 && lstat(log, &about) != 0)
            return;
    }
}

/* Reading makes one. */
static void remove_empty_log(const char *path)
{
    char log[PATH_BYTES];
    struct stat about;
    snprintf(log, sizeof log, "%s-wal", path);
    if (stat(log, &about) != 0 || about.st_size > 0)
        return;
    unlink(log);
    snprintf(log, sizeof log, "%s-shm", path);
    unlink(log);
}

cse_status cse_damage_set_aside(const char *path, char name[CSE_ASIDE_BYTES])
{
    char from[PATH_BYTES], to[PATH_BYTES + 8];
    free_name(path, name);
    remove_empty_log(path);
    for (int i = 0; i < PART_COUNT; i++) {
        snprintf(from, sizeof from, "%s%s", path, parts[i]);
        snprintf(to, sizeof to, "%s%s", name, parts[i]);
        if (rename(from, to) != 0 && errno != ENOENT)
            return cse_fail(CSE_PERMISSION, "%s is damaged and cannot be renamed: %s", path,
                            strerror(errno));
    }
    return CSE_OK;
}

/* ---- what the new one says ---- */

static int64_t logged_attempts(const char *model_dir)
{
    char path[PATH_BYTES];
    int64_t attempt = 0;
    do
        snprintf(path, sizeof path, "%s/logs/attempt_%lld.log", model_dir, (long long)++attempt);
    while (access(path, F_OK) == 0);
    return attempt - 1;
}

/* Attempts go on counting. */
static void keep_attempt(cse_database *database, const char *model_dir)
{
    static const char highest[] =
        "SELECT max(ifnull((SELECT max(attempt) FROM transitions), 0), "
        "ifnull((SELECT max(attempt) FROM checkpoints), 0), "
        "ifnull((SELECT max(attempt) FROM goodput), 0), "
        "ifnull((SELECT CAST(value AS INTEGER) FROM run WHERE key = 'attempt'), 0))";
    char sql[128];
    int64_t attempt = cse_database_integer(database, highest);
    const int64_t logged = logged_attempts(model_dir);
    snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO run(key, value) VALUES('attempt', %lld)",
             (long long)(attempt > logged ? attempt : logged));
    sqlite3_exec(cse_database_handle(database), sql, NULL, NULL, NULL);
}

static void run_with_text(sqlite3 *handle, const char *sql, const char *text)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, cse_unix_ms());
        sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
}

static void describe(cse_text *json, const char *why, const char *aside, const char *kept,
                     bool incomplete)
{
    cse_text_add(json, "{\"why\":");
    cse_json_add_string(json, why);
    cse_text_add(json, ",\"set_aside\":");
    cse_json_add_string(json, aside);
    cse_text_add(json, ",\"kept\":");
    cse_json_add_string(json, kept != NULL ? kept : "");
    cse_text_add(json, ",\"incomplete\":%s}", incomplete ? "true" : "false");
}

/* ---- the new one ---- */

typedef struct mending {
    char path[PATH_MAX], beside[PATH_BYTES], aside[PATH_BYTES];
    const char *model_dir, *why;
    cse_database *mended;
    bool incomplete;
    cse_text *event; /* of a store that is open, which writes what is told; NULL: of none */
} mending;

static cse_status begin(mending *m)
{
    if (!store_path(m->model_dir, m->path))
        return cse_fail(CSE_CONFIG, "model_dir %s: the path is too long", m->model_dir);
    snprintf(m->beside, sizeof m->beside, "%s.mended", m->path);
    remove_parts(m->beside);
    return cse_database_open_file(m->beside, &m->mended);
}

/* Nobody has the store open: its next line and event are these. */
static void keep_told(sqlite3 *handle, const char *line, const char *event)
{
    run_with_text(handle, "INSERT INTO events(time_ms, type, payload) VALUES(?1, 'damaged', ?2)",
                  event);
    run_with_text(handle,
                  "INSERT INTO logs(id, time_ms, role, rank, level, message) SELECT "
                  "ifnull(max(id), 0) + 1, ?1, 'coordinator', 0, 'warning', ?2 FROM logs",
                  line);
}

/* Tells what was done, in the new store as well, and gives it its name. */
static cse_status publish(mending *m)
{
    cse_text kept = { 0 }, text = { 0 }, json = { 0 };
    sqlite3 *handle = cse_database_handle(m->mended);
    const bool stands = access(m->path, F_OK) == 0;
    cse_salvage_count(handle, &kept);
    keep_attempt(m->mended, m->model_dir);
    cse_status status = stands ? cse_damage_set_aside(m->path, m->aside) : CSE_OK;
    const char *name = strrchr(m->aside, '/');
    cse_text_add(&text, "run store %s: %s; ", m->path, m->why);
    if (stands)
        cse_text_add(&text, "it is set aside as %s, and ", name != NULL ? name + 1 : m->aside);
    cse_text_add(&text, "a new one has what could be read of it: %s%s",
                 kept.size > 0 ? kept.data : "no row",
                 m->incomplete ? "; rows of damaged pages are lost" : "");
    describe(m->event != NULL ? m->event : &json, m->why, stands ? m->aside : "", kept.data,
             m->incomplete);
    if (m->event == NULL)
        keep_told(handle, text.data, json.data);
    if (status == CSE_OK)
        status = cse_database_end(m->mended);
    cse_database_close(&m->mended);
    if (status == CSE_OK && rename(m->beside, m->path) != 0)
        status = cse_fail(CSE_IO, "%s: cannot be created: %s", m->path, strerror(errno));
    if (status == CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s", text.data);
    cse_text_clear(&kept);
    cse_text_clear(&text);
    cse_text_clear(&json);
    return status;
}

static cse_status abandon(mending *m, cse_status status)
{
    cse_database_close(&m->mended);
    remove_parts(m->beside);
    return status;
}

static cse_status mend(const char *model_dir, const char *why)
{
    mending m = { .model_dir = model_dir, .why = why };
    cse_status status = begin(&m);
    if (status != CSE_OK)
        return abandon(&m, status);
    m.incomplete =
        !cse_damaged_source_read(m.path, &cse_damaged_run_store, cse_database_handle(m.mended));
    status = publish(&m);
    return status == CSE_OK ? CSE_OK : abandon(&m, status);
}

/* Who mended before was killed between the two renamings. */
static void finish_before(const char *path)
{
    char beside[PATH_BYTES];
    struct stat about;
    snprintf(beside, sizeof beside, "%s.mended", path);
    if (lstat(path, &about) != 0 && errno == ENOENT && lstat(beside, &about) == 0 &&
        S_ISREG(about.st_mode) && !cse_store_is_damaged(beside, NULL))
        (void)rename(beside, path);
}

cse_status cse_damage_mend(const char *model_dir)
{
    char path[PATH_MAX];
    cse_text why = { 0 };
    cse_status status = CSE_OK;
    if (!store_path(model_dir, path))
        return CSE_OK;
    finish_before(path);
    /* Without a log of a run it is somebody else's file. */
    const bool had_run = logged_attempts(model_dir) > 0 || cse_is_sqlite_file(path);
    if (had_run && (cse_store_is_empty(path) || cse_store_is_damaged(path, &why)))
        status = mend(model_dir, why.data != NULL ? why.data : "the file is empty");
    cse_text_clear(&why);
    return status;
}

cse_status cse_damage_mend_unless_held(const char *model_dir)
{
    cse_run_lock lock = CSE_NO_RUN_LOCK;
    if (access(model_dir, W_OK | X_OK) != 0 || cse_run_lock_take(model_dir, &lock) != CSE_OK)
        return CSE_OK;
    cse_status status = cse_damage_mend(model_dir);
    cse_run_lock_release(&lock);
    return status;
}

/* ---- of a store that is open ---- */

/* All pages as they are, or else the rows that can be read. */
static bool copy_from(cse_database *before, sqlite3 *to)
{
    sqlite3 *from = cse_database_handle(before);
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    const int code = backup != NULL ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
    sqlite3_backup_finish(backup);
    bool incomplete = code != SQLITE_DONE;
    if (incomplete)
        (void)cse_salvage_rows(from, to, &incomplete);
    return !incomplete;
}

cse_status cse_damage_replace(const char *model_dir, const char *why, cse_database **database,
                              cse_text *event)
{
    mending m = { .model_dir = model_dir, .why = why, .event = event };
    cse_status status = begin(&m);
    if (status == CSE_OK && *database != NULL)
        m.incomplete = !copy_from(*database, cse_database_handle(m.mended));
    else if (status == CSE_OK)
        m.incomplete =
            !cse_damaged_source_read(m.path, &cse_damaged_run_store, cse_database_handle(m.mended));
    if (status == CSE_OK) {
        cse_database_abandon(database);
        status = publish(&m);
    }
    if (status != CSE_OK)
        return abandon(&m, status);
    return cse_database_open(model_dir, database);
}
