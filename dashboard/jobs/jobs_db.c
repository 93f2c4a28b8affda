/* The SQL of the server's database. A statement is prepared for each call: these calls are rare
 * compared with reads of run stores. */
#include "dashboard/jobs/jobs_db.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "store/damage.h"
#include "store/damaged_source.h"
#include "store/examine.h"
#include "store/salvage.h"
#include "store/store.h"
#include "store/whole.h"

enum {
    VERSION = 2,
    APPLICATION_ID = 0x43534a31, /* "CSJ1" */
    BUSY_MS = 5000,
    KEPT_AUDITS = 100000,
};

static const char schema[] =
    "CREATE TABLE jobs(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, name TEXT,"
    " model_dir TEXT, labels TEXT, spec TEXT, digest TEXT, priority INTEGER, state TEXT,"
    " reason TEXT, message TEXT, created_ms INTEGER, started_ms INTEGER, ended_ms INTEGER,"
    " attempt INTEGER, base_attempt INTEGER, restarts INTEGER, max_num_restarts INTEGER,"
    " pid INTEGER, pid_start INTEGER, exit_code INTEGER, cores INTEGER, memory_bytes INTEGER,"
    " not_before_ms INTEGER, kill_at_ms INTEGER, cancelled INTEGER, revision INTEGER,"
    " owner TEXT);"
    "CREATE TABLE transitions(seq INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT, time_ms INTEGER,"
    " from_state TEXT, to_state TEXT, reason TEXT, message TEXT, attempt INTEGER);"
    "CREATE INDEX transitions_by_job ON transitions(job);"
    "CREATE TABLE audit(seq INTEGER PRIMARY KEY AUTOINCREMENT, time_ms INTEGER, peer TEXT,"
    " method TEXT, path TEXT, status INTEGER, job TEXT, token TEXT);"
    "CREATE TABLE answers(key TEXT PRIMARY KEY, time_ms INTEGER, digest TEXT, status INTEGER,"
    " location TEXT, etag TEXT, body TEXT);";

/* A transition and the state that follows are one change: a server that is killed leaves both or
 * none. Of this connection alone, so that the file's schema stays as it is. */
static const char one_change[] =
    "CREATE TEMP TRIGGER state_of_transition AFTER INSERT ON main.transitions BEGIN"
    " UPDATE jobs SET state = NEW.to_state, reason = NEW.reason, message = NEW.message"
    " WHERE id = NEW.job; END";

struct cse_jobs_db {
    char *path;
    sqlite3 *handle;
    pthread_mutex_t lock;
};

static cse_status fail(cse_jobs_db *db)
{
    int code = sqlite3_errcode(db->handle);
    return cse_fail(code == SQLITE_FULL ? CSE_TEMPORARY : CSE_IO, "%s: %s", db->path,
                    sqlite3_errmsg(db->handle));
}

static int64_t read_integer(cse_jobs_db *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Files of version 1 know no tokens by name. */
static cse_status add_names(cse_jobs_db *db)
{
    static const char change[] =
        "BEGIN IMMEDIATE; ALTER TABLE jobs ADD COLUMN owner TEXT;"
        "ALTER TABLE audit ADD COLUMN token TEXT; PRAGMA user_version = 2; COMMIT";
    return sqlite3_exec(db->handle, change, NULL, NULL, NULL) == SQLITE_OK ? CSE_OK : fail(db);
}

static cse_status prepare_file(cse_jobs_db *db)
{
    char sql[160];
    if (sqlite3_exec(db->handle, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL,
                     NULL, NULL) != SQLITE_OK)
        return fail(db);
    int64_t application = read_integer(db, "PRAGMA application_id");
    int64_t version = read_integer(db, "PRAGMA user_version");
    if (application == APPLICATION_ID && version == VERSION)
        return CSE_OK;
    if (application == APPLICATION_ID && version == 1)
        return add_names(db);
    if (application != 0 || version != 0 || read_integer(db, "SELECT count(*) FROM sqlite_master"))
        return cse_fail(CSE_DATA, "%s is not a table of jobs of this version of csengine",
                        db->path);
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             APPLICATION_ID, VERSION);
    if (sqlite3_exec(db->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db->handle, schema, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail(db);
    return CSE_OK;
}

static cse_status open_file(const char *path, cse_jobs_db **result)
{
    cse_jobs_db *db = cse_calloc(1, sizeof *db);
    db->path = cse_strdup(path);
    pthread_mutex_init(&db->lock, NULL);
    cse_status status = CSE_OK;
    if (sqlite3_open_v2(path, &db->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        status = fail(db);
    if (status == CSE_OK) {
        sqlite3_busy_timeout(db->handle, BUSY_MS);
        status = prepare_file(db);
    }
    if (status == CSE_OK && sqlite3_exec(db->handle, one_change, NULL, NULL, NULL) != SQLITE_OK)
        status = fail(db);
    if (status != CSE_OK)
        cse_jobs_db_close(&db);
    *result = db;
    return status;
}

/* ---- a damaged file ---- */

static bool make_file(const char *path)
{
    cse_jobs_db *db = NULL;
    const bool is_made = open_file(path, &db) == CSE_OK;
    cse_jobs_db_close(&db);
    return is_made;
}

static int64_t copy_rows(sqlite3 *from, sqlite3 *to, bool *incomplete)
{
    static const cse_salvaged_table tables[] = {
        { "jobs",
          "seq id name model_dir labels spec digest priority state reason message created_ms "
          "started_ms ended_ms attempt base_attempt restarts max_num_restarts pid pid_start "
          "exit_code cores memory_bytes not_before_ms kill_at_ms cancelled revision owner",
          "isssjjsisssiiiiiiiiiiiiiiiis", 1 },
        { "transitions", "seq job time_ms from_state to_state reason message attempt", "isissssi",
          1 },
        { "audit", "seq time_ms peer method path status job token", "iisssiss", 1 },
        { "answers", "key time_ms digest status location etag body", "sisisss", 0 },
    };
    int64_t rows = 0;
    /* Each job comes with its state: its transitions are no news. */
    sqlite3_exec(to, "DROP TRIGGER temp.state_of_transition", NULL, NULL, NULL);
    sqlite3_exec(to, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        rows += cse_salvage_table(from, to, &tables[i], incomplete);
    sqlite3_exec(to, "COMMIT", NULL, NULL, NULL);
    return rows;
}

/* The new one is made beside, and renamed when the old one has its other name. */
static cse_status mend(const char *path, const char *why, cse_text *told)
{
    static const cse_damaged_kind kind = { .make = make_file, .copy = copy_rows };
    char beside[CSE_ASIDE_BYTES + 8], aside[CSE_ASIDE_BYTES] = "";
    cse_jobs_db *db = NULL;
    snprintf(beside, sizeof beside, "%s.mended", path);
    unlink(beside);
    CSE_TRY(open_file(beside, &db));
    const bool is_whole = cse_damaged_source_read(path, &kind, db->handle);
    const int64_t jobs = read_integer(db, "SELECT count(*) FROM jobs");
    cse_jobs_db_close(&db);
    CSE_TRY(cse_damage_set_aside(path, aside));
    if (rename(beside, path) != 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    if (told != NULL)
        cse_text_add(told, "%s: %s; it is set aside as %s, and a new one has %lld jobs of it%s",
                     path, why, aside, (long long)jobs,
                     is_whole ? "" : "; what stood on damaged pages is lost");
    return CSE_OK;
}

cse_status cse_jobs_db_open(const char *path, cse_jobs_db **result, cse_text *mended)
{
    cse_text why = { 0 };
    cse_status status = CSE_OK;
    *result = NULL;
    if (cse_database_has_damage(path, &why))
        status = mend(path, why.data, mended);
    cse_text_clear(&why);
    return status == CSE_OK ? open_file(path, result) : status;
}
void cse_jobs_db_close(cse_jobs_db **db)
{
    if (*db == NULL)
        return;
    if ((*db)->handle != NULL)
        (void)cse_database_make_whole((*db)->handle, (*db)->path, BUSY_MS);
    sqlite3_close((*db)->handle);
    pthread_mutex_destroy(&(*db)->lock);
    free((*db)->path);
    free(*db);
    *db = NULL;
}

/* ---- statements ---- */

/* Parameters by letter: i int64_t, s const char *. Rows go to `take`; the lock is held. */
static cse_status run_locked(cse_jobs_db *db, const char *sql, sqlite3_stmt **statement,
                             const char *types, va_list arguments)
{
    pthread_mutex_lock(&db->lock);
    if (sqlite3_prepare_v2(db->handle, sql, -1, statement, NULL) != SQLITE_OK) {
        cse_status status = fail(db);
        pthread_mutex_unlock(&db->lock);
        return status;
    }
    assert((size_t)sqlite3_bind_parameter_count(*statement) == strlen(types));
    for (int i = 0; types[i] != '\0'; i++) {
        if (types[i] == 'i')
            sqlite3_bind_int64(*statement, i + 1, va_arg(arguments, int64_t));
        else
            sqlite3_bind_text(*statement, i + 1, va_arg(arguments, const char *), -1,
                              SQLITE_TRANSIENT);
    }
    return CSE_OK;
}

static cse_status begin(cse_jobs_db *db, const char *sql, sqlite3_stmt **statement,
                        const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    cse_status status = run_locked(db, sql, statement, types, arguments);
    va_end(arguments);
    return status;
}

/* Ends what begin began: `code` is the last step's. */
static cse_status end(cse_jobs_db *db, sqlite3_stmt *statement, int code)
{
    cse_status status = code == SQLITE_DONE || code == SQLITE_ROW ? CSE_OK : fail(db);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&db->lock);
    return status;
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

/* ---- jobs ---- */

void cse_job_record_clear(cse_job_record *record)
{
    free(record->labels);
    free(record->spec);
    record->labels = record->spec = NULL;
}

cse_status cse_jobs_db_insert(cse_jobs_db *db, cse_job_record *r)
{
    sqlite3_stmt *statement = NULL;
    CSE_TRY(begin(
        db,
        "INSERT INTO jobs(id,name,model_dir,labels,spec,digest,priority,state,reason,"
        "message,created_ms,started_ms,ended_ms,attempt,base_attempt,restarts,"
        "max_num_restarts,pid,pid_start,exit_code,cores,memory_bytes,not_before_ms,"
        "kill_at_ms,cancelled,revision,owner) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
        "?,?,?,?,?,?,?,?)",
        &statement, "ssssssisssiiiiiiiiiiiiiiiis", r->id, r->name, r->model_dir, r->labels, r->spec,
        r->digest, (int64_t)r->priority, cse_run_state_name(r->state), r->reason, r->message,
        r->created_ms, r->started_ms, r->ended_ms, r->attempt, r->base_attempt, r->restarts,
        r->max_num_restarts, r->pid, r->pid_start, r->exit_code, r->cores, r->memory_bytes,
        r->not_before_ms, r->kill_at_ms, r->cancelled, r->revision, r->owner));
    int code = sqlite3_step(statement);
    r->seq = sqlite3_last_insert_rowid(db->handle);
    if (code == SQLITE_CONSTRAINT) {
        sqlite3_finalize(statement);
        pthread_mutex_unlock(&db->lock);
        return cse_fail(CSE_USAGE, "there is a job \"%s\" already", r->id);
    }
    return end(db, statement, code);
}

cse_status cse_jobs_db_update(cse_jobs_db *db, const cse_job_record *r)
{
    sqlite3_stmt *statement = NULL;
    CSE_TRY(begin(
        db,
        "UPDATE jobs SET name=?,labels=?,spec=?,priority=?,state=?,reason=?,message=?,"
        "started_ms=?,ended_ms=?,attempt=?,base_attempt=?,restarts=?,pid=?,pid_start=?,"
        "exit_code=?,cores=?,memory_bytes=?,not_before_ms=?,kill_at_ms=?,cancelled=?,revision=? "
        "WHERE id=?",
        &statement, "sssisssiiiiiiiiiiiiiis", r->name, r->labels, r->spec, (int64_t)r->priority,
        cse_run_state_name(r->state), r->reason, r->message, r->started_ms, r->ended_ms, r->attempt,
        r->base_attempt, r->restarts, r->pid, r->pid_start, r->exit_code, r->cores, r->memory_bytes,
        r->not_before_ms, r->kill_at_ms, r->cancelled, r->revision, r->id));
    return end(db, statement, sqlite3_step(statement));
}

cse_status cse_jobs_db_remove(cse_jobs_db *db, const char *id)
{
    sqlite3_stmt *statement = NULL;
    CSE_TRY(begin(db, "DELETE FROM transitions WHERE job=?", &statement, "s", id));
    CSE_TRY(end(db, statement, sqlite3_step(statement)));
    CSE_TRY(begin(db, "DELETE FROM jobs WHERE id=?", &statement, "s", id));
    return end(db, statement, sqlite3_step(statement));
}

static void read_record(sqlite3_stmt *s, cse_job_record *r)
{
    snprintf(r->id, sizeof r->id, "%s", column_text(s, 1));
    snprintf(r->name, sizeof r->name, "%s", column_text(s, 2));
    snprintf(r->model_dir, sizeof r->model_dir, "%s", column_text(s, 3));
    r->labels = cse_strdup(column_text(s, 4));
    r->spec = cse_strdup(column_text(s, 5));
    snprintf(r->digest, sizeof r->digest, "%s", column_text(s, 6));
    r->priority = sqlite3_column_int(s, 7);
    r->state = cse_run_state_of(column_text(s, 8));
    snprintf(r->reason, sizeof r->reason, "%s", column_text(s, 9));
    snprintf(r->message, sizeof r->message, "%s", column_text(s, 10));
    int64_t *const numbers[] = { &r->created_ms,       &r->started_ms,    &r->ended_ms,
                                 &r->attempt,          &r->base_attempt,  &r->restarts,
                                 &r->max_num_restarts, &r->pid,           &r->pid_start,
                                 &r->exit_code,        &r->cores,         &r->memory_bytes,
                                 &r->not_before_ms,    &r->kill_at_ms,    &r->cancelled,
                                 &r->revision,         &r->state_since_ms };
    r->seq = sqlite3_column_int64(s, 0);
    for (int i = 0; i < (int)(sizeof numbers / sizeof numbers[0]); i++)
        *numbers[i] = sqlite3_column_int64(s, 11 + i);
    snprintf(r->owner, sizeof r->owner, "%s", column_text(s, 28));
}

cse_status cse_jobs_db_each(cse_jobs_db *db, void (*take)(void *self, const cse_job_record *record),
                            void *self)
{
    sqlite3_stmt *statement = NULL;
    int code;
    CSE_TRY(begin(db,
                  "SELECT seq,id,name,model_dir,labels,spec,digest,priority,state,reason,message,"
                  "created_ms,started_ms,ended_ms,attempt,base_attempt,restarts,max_num_restarts,"
                  "pid,pid_start,exit_code,cores,memory_bytes,not_before_ms,kill_at_ms,cancelled,"
                  "revision,max(ended_ms,(SELECT max(time_ms) FROM transitions WHERE job=jobs.id)),"
                  "owner "
                  "FROM jobs ORDER BY seq",
                  &statement, ""));
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        cse_job_record *record = cse_calloc(1, sizeof *record);
        read_record(statement, record);
        take(self, record);
        cse_job_record_clear(record);
        free(record);
    }
    return end(db, statement, code);
}

/* ---- transitions ---- */

cse_status cse_jobs_db_add_transition(cse_jobs_db *db, const cse_job_transition *t)
{
    sqlite3_stmt *statement = NULL;
    CSE_TRY(begin(db,
                  "INSERT INTO transitions(job,time_ms,from_state,to_state,reason,message,attempt)"
                  " VALUES(?,?,?,?,?,?,?)",
                  &statement, "sissssi", t->job, t->time_ms,
                  t->from == CSE_RUN_NONE ? NULL : cse_run_state_name(t->from),
                  cse_run_state_name(t->to), t->reason, t->message, t->attempt));
    return end(db, statement, sqlite3_step(statement));
}

cse_status cse_jobs_db_transitions(cse_jobs_db *db, const char *job,
                                   void (*take)(void *self, int64_t seq,
                                                const cse_job_transition *transition),
                                   void *self)
{
    sqlite3_stmt *s = NULL;
    int code;
    CSE_TRY(begin(db,
                  "SELECT seq,time_ms,from_state,to_state,reason,message,attempt FROM transitions"
                  " WHERE job=? ORDER BY seq",
                  &s, "s", job));
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        const char *from = (const char *)sqlite3_column_text(s, 2);
        const cse_job_transition t = { .job = job,
                                       .time_ms = sqlite3_column_int64(s, 1),
                                       .from = cse_run_state_of(from),
                                       .to = cse_run_state_of(column_text(s, 3)),
                                       .reason = column_text(s, 4),
                                       .message = column_text(s, 5),
                                       .attempt = sqlite3_column_int64(s, 6) };
        take(self, sqlite3_column_int64(s, 0), &t);
    }
    return end(db, s, code);
}

/* ---- audit ---- */

cse_status cse_jobs_db_audit(cse_jobs_db *db, const cse_audit_entry *e)
{
    sqlite3_stmt *statement = NULL;
    CSE_TRY(begin(db,
                  "INSERT INTO audit(time_ms,peer,method,path,status,job,token)"
                  " VALUES(?,?,?,?,?,?,?)",
                  &statement, "isssiss", e->time_ms, e->peer, e->method, e->path, e->status, e->job,
                  e->token));
    int code = sqlite3_step(statement);
    int64_t seq = sqlite3_last_insert_rowid(db->handle);
    CSE_TRY(end(db, statement, code));
    if (seq % 1000 != 0)
        return CSE_OK;
    CSE_TRY(begin(db, "DELETE FROM audit WHERE seq <= ?", &statement, "i", seq - KEPT_AUDITS));
    return end(db, statement, sqlite3_step(statement));
}

cse_status cse_jobs_db_audits(cse_jobs_db *db, int64_t before, int64_t limit,
                              void (*take)(void *self, const cse_audit_entry *entry), void *self)
{
    sqlite3_stmt *s = NULL;
    int code;
    CSE_TRY(begin(db,
                  "SELECT seq,time_ms,peer,method,path,status,job,token FROM audit WHERE seq < ? "
                  "ORDER BY seq DESC LIMIT ?",
                  &s, "ii", before > 0 ? before : INT64_MAX, limit));
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        const cse_audit_entry entry = { .seq = sqlite3_column_int64(s, 0),
                                        .time_ms = sqlite3_column_int64(s, 1),
                                        .peer = column_text(s, 2),
                                        .method = column_text(s, 3),
                                        .path = column_text(s, 4),
                                        .status = sqlite3_column_int64(s, 5),
                                        .job = (const char *)sqlite3_column_text(s, 6),
                                        .token = column_text(s, 7) };
        take(self, &entry);
    }
    return end(db, s, code);
}

/* ---- kept answers ---- */

bool cse_jobs_db_find_answer(cse_jobs_db *db, const char *key, cse_kept_answer *answer)
{
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    sqlite3_stmt *s = NULL;
    if (begin(db,
              "SELECT digest,status,location,etag,body FROM answers WHERE key=? AND time_ms > ?",
              &s, "si", key, cse_unix_ms() - day_ms) != CSE_OK)
        return false;
    int code = sqlite3_step(s);
    if (code == SQLITE_ROW) {
        snprintf(answer->digest, sizeof answer->digest, "%s", column_text(s, 0));
        answer->status = sqlite3_column_int(s, 1);
        snprintf(answer->location, sizeof answer->location, "%s", column_text(s, 2));
        snprintf(answer->etag, sizeof answer->etag, "%s", column_text(s, 3));
        cse_text_add(&answer->body, "%s", column_text(s, 4));
    }
    return end(db, s, code) == CSE_OK && code == SQLITE_ROW;
}

cse_status cse_jobs_db_keep_answer(cse_jobs_db *db, const char *key, const cse_kept_answer *a)
{
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    int64_t now_ms = cse_unix_ms();
    sqlite3_stmt *s = NULL;
    CSE_TRY(begin(db, "DELETE FROM answers WHERE time_ms <= ?", &s, "i", now_ms - day_ms));
    CSE_TRY(end(db, s, sqlite3_step(s)));
    CSE_TRY(begin(db,
                  "INSERT OR IGNORE INTO answers(key,time_ms,digest,status,location,etag,body)"
                  " VALUES(?,?,?,?,?,?,?)",
                  &s, "sisisss", key, now_ms, a->digest, (int64_t)a->status, a->location, a->etag,
                  a->body.data != NULL ? a->body.data : ""));
    return end(db, s, sqlite3_step(s));
}

cse_status cse_jobs_db_check(cse_jobs_db *db)
{
    sqlite3_stmt *s = NULL;
    /* A transaction that changes nothing would succeed on a full disk. */
    CSE_TRY(begin(db, "INSERT OR REPLACE INTO answers(key,time_ms) VALUES('',0)", &s, ""));
    return end(db, s, sqlite3_step(s));
}
