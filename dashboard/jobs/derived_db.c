/* A table of two rows a job. The file is not synchronized: what a machine that fails leaves half
 * written is found by its digest or by SQLite. */
#include "dashboard/jobs/derived_db.h"

#include <pthread.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

enum { DIGEST_BYTES = 32, BUSY_MS = 2000, APPLICATION_ID = 0x43534431 /* "CSD1" */ };

struct cse_derived_db {
    char *path;
    sqlite3 *handle; /* NULL: the file could not be made anew */
    pthread_mutex_t lock;
    bool is_told; /* that it cannot be written */
};

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
    "CREATE TABLE IF NOT EXISTS derived(job TEXT, kind INTEGER, source TEXT, content TEXT,"
    " digest BLOB, PRIMARY KEY(job, kind)) WITHOUT ROWID";

/* ---- the file ---- */

static bool is_ours(sqlite3 *handle)
{
    sqlite3_stmt *s = NULL;
    bool ours = false;
    if (sqlite3_prepare_v2(handle,
                           "SELECT (SELECT count(*) FROM sqlite_master) = 0 OR "
                           "(SELECT application_id FROM pragma_application_id) = ?1",
                           -1, &s, NULL) == SQLITE_OK) {
        sqlite3_bind_int(s, 1, APPLICATION_ID);
        ours = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0) != 0;
    }
    sqlite3_finalize(s);
    return ours;
}

static bool open_file(cse_derived_db *db)
{
    char mark[64];
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d", APPLICATION_ID);
    const bool is_open = sqlite3_open_v2(db->path, &db->handle, flags, NULL) == SQLITE_OK;
    if (is_open)
        sqlite3_busy_timeout(db->handle, BUSY_MS);
    if (is_open && is_ours(db->handle) &&
        sqlite3_exec(db->handle, schema, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db->handle, mark, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    sqlite3_close(db->handle);
    db->handle = NULL;
    return false;
}

static void remove_file(const cse_derived_db *db)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    cse_text path = { 0 };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        path.size = 0;
        cse_text_add(&path, "%s%s", db->path, ends[i]);
        unlink(path.data);
    }
    cse_text_clear(&path);
}

/* What cannot be read is made anew: nothing is lost but time. */
static void make_anew(cse_derived_db *db)
{
    cse_log_line(CSE_LOG_WARNING,
                 "%s: cannot be read; it is made anew, from the run stores of the jobs", db->path);
    sqlite3_close(db->handle);
    db->handle = NULL;
    remove_file(db);
    (void)open_file(db);
}

cse_derived_db *cse_derived_db_open(const char *path)
{
    cse_derived_db *db = cse_calloc(1, sizeof *db);
    db->path = cse_strdup(path);
    pthread_mutex_init(&db->lock, NULL);
    if (!open_file(db) && access(path, F_OK) == 0)
        make_anew(db);
    if (db->handle != NULL)
        return db;
    cse_log_line(CSE_LOG_WARNING,
                 "%s: cannot be written; the next server reads all run stores again", path);
    cse_derived_db_close(&db);
    return NULL;
}

void cse_derived_db_close(cse_derived_db **db)
{
    if (*db == NULL)
        return;
    sqlite3_close((*db)->handle);
    pthread_mutex_destroy(&(*db)->lock);
    free((*db)->path);
    free(*db);
    *db = NULL;
}

/* ---- entries ---- */

static void add_part(crypto_generichash_state *state, const char *text)
{
    /* With its end, so that parts cannot be taken for each other. */
    crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

static void digest_of(const cse_derived_key *key, const char *content,
                      unsigned char digest[DIGEST_BYTES])
{
    crypto_generichash_state state;
    const char kind[2] = { (char)('0' + key->kind), '\0' };
    crypto_generichash_init(&state, NULL, 0, DIGEST_BYTES);
    add_part(&state, key->job);
    add_part(&state, kind);
    add_part(&state, key->source);
    add_part(&state, content);
    crypto_generichash_final(&state, digest, DIGEST_BYTES);
}

static sqlite3_stmt *prepare(cse_derived_db *db, const char *sql, const cse_derived_key *key)
{
    sqlite3_stmt *s = NULL;
    if (db->handle == NULL || sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return NULL;
    sqlite3_bind_text(s, 1, key->job, -1, SQLITE_STATIC);
    if (sqlite3_bind_parameter_count(s) > 1)
        sqlite3_bind_int(s, 2, (int)key->kind);
    return s;
}

/* Removes a file that the last call found damaged. */
static void end(cse_derived_db *db, sqlite3_stmt *s)
{
    sqlite3_finalize(s);
    const int code = db->handle != NULL ? sqlite3_errcode(db->handle) & 0xff : SQLITE_OK;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        make_anew(db);
}

static bool is_intact(sqlite3_stmt *s, const cse_derived_key *key, const char *content)
{
    unsigned char digest[DIGEST_BYTES];
    const char *source = (const char *)sqlite3_column_text(s, 0);
    const cse_derived_key found = { key->job, key->kind, source != NULL ? source : "" };
    digest_of(&found, content, digest);
    return sqlite3_column_bytes(s, 2) == DIGEST_BYTES &&
           memcmp(sqlite3_column_blob(s, 2), digest, DIGEST_BYTES) == 0;
}

static void drop(cse_derived_db *db, const cse_derived_key *key)
{
    sqlite3_stmt *s = prepare(db, "DELETE FROM derived WHERE job = ?1 AND kind = ?2", key);
    if (s != NULL)
        sqlite3_step(s);
    end(db, s);
}

char *cse_derived_db_read_any(cse_derived_db *db, const cse_derived_key *key, char **source)
{
    char *content = NULL;
    *source = NULL;
    bool is_damaged = false;
    if (db == NULL)
        return NULL;
    pthread_mutex_lock(&db->lock);
    sqlite3_stmt *s = prepare(
        db, "SELECT source, content, digest FROM derived WHERE job = ?1 AND kind = ?2", key);
    if (s != NULL && sqlite3_step(s) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(s, 1);
        is_damaged = text == NULL || !is_intact(s, key, text);
        if (!is_damaged) {
            content = cse_strdup(text);
            *source = cse_strdup((const char *)sqlite3_column_text(s, 0));
        }
    }
    end(db, s);
    if (is_damaged) {
        cse_log_line(CSE_LOG_WARNING, "%s: the entry of job %s is damaged: its run store is read",
                     db->path, key->job);
        drop(db, key);
    }
    pthread_mutex_unlock(&db->lock);
    return content;
}

char *cse_derived_db_read(cse_derived_db *db, const cse_derived_key *key)
{
    char *source, *content = cse_derived_db_read_any(db, key, &source);
    if (content != NULL && strcmp(source, key->source) != 0) {
        free(content);
        content = NULL;
    }
    free(source);
    return content;
}

void cse_derived_db_keep(cse_derived_db *db, const cse_derived_key *key, const char *content)
{
    unsigned char digest[DIGEST_BYTES];
    if (db == NULL)
        return;
    digest_of(key, content, digest);
    pthread_mutex_lock(&db->lock);
    sqlite3_stmt *s = prepare(db, "INSERT OR REPLACE INTO derived VALUES(?1, ?2, ?3, ?4, ?5)", key);
    if (s != NULL) {
        sqlite3_bind_text(s, 3, key->source, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 4, content, -1, SQLITE_STATIC);
        sqlite3_bind_blob(s, 5, digest, DIGEST_BYTES, SQLITE_STATIC);
    }
    if ((s == NULL || sqlite3_step(s) != SQLITE_DONE) && !db->is_told) {
        db->is_told = true;
        cse_log_line(CSE_LOG_WARNING, "%s: %s; the next server reads such run stores again",
                     db->path, db->handle != NULL ? sqlite3_errmsg(db->handle) : "not open");
    }
    end(db, s);
    pthread_mutex_unlock(&db->lock);
}

void cse_derived_db_remove(cse_derived_db *db, const char *job)
{
    const cse_derived_key key = { .job = job };
    if (db == NULL)
        return;
    pthread_mutex_lock(&db->lock);
    sqlite3_stmt *s = prepare(db, "DELETE FROM derived WHERE job = ?1", &key);
    if (s != NULL)
        sqlite3_step(s);
    end(db, s);
    pthread_mutex_unlock(&db->lock);
}
