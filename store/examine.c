/* SQLite's own check of structure; beyond that the tables and columns of the list in rows.h, and
 * that the log beside the file is the file's own. */
#include "store/examine.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "store/database.h"
#include "store/options.h"
#include "store/result_code.h"

#define CHECKED_BYTES (INT64_C(64) << 20)
enum { BUSY_MS = 5000 };

bool cse_store_is_empty(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0;
}

bool cse_is_sqlite_file(const char *path)
{
    static const char mark[16] = "SQLite format 3";
    char begin[sizeof mark];
    FILE *file = fopen(path, "rbe");
    const bool is_one = file != NULL && fread(begin, sizeof begin, 1, file) == 1 &&
                        memcmp(begin, mark, sizeof mark) == 0;
    if (file != NULL)
        fclose(file);
    return is_one;
}

/* The first column of the first row as text. */
static int first_text(sqlite3 *handle, const char *sql, char *text, size_t size)
{
    sqlite3_stmt *statement = NULL;
    text[0] = '\0';
    int code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static int64_t pragma(sqlite3 *handle, const char *sql)
{
    char text[32];
    long long value = 0;
    first_text(handle, sql, text, sizeof text);
    return sscanf(text, "%lld", &value) == 1 ? value : 0;
}

static bool has_columns(sqlite3 *handle, cse_row_kind kind)
{
    const char *columns = cse_row_describe(kind)->columns;
    char name[32];
    while (cse_next_column(&columns, name, sizeof name))
        if (sqlite3_table_column_metadata(handle, NULL, cse_row_describe(kind)->table, name, NULL,
                                          NULL, NULL, NULL, NULL) != SQLITE_OK)
            return false;
    return true;
}

/* Marks that are not ours, in a file that this very version has written. */
static bool has_damaged_marks(sqlite3 *handle)
{
    char version[64];
    first_text(handle, "SELECT value FROM run WHERE key = 'csengine_version'", version,
               sizeof version);
    return strcmp(version, PACKAGE_VERSION) == 0 && has_columns(handle, CSE_ROW_TRANSITION) &&
           has_columns(handle, CSE_ROW_POINT);
}

static bool has_wrong_tables(sqlite3 *handle, cse_text *why)
{
    for (int kind = 0; kind < CSE_ROW_COUNT; kind++)
        if (!has_columns(handle, (cse_row_kind)kind)) {
            if (why != NULL)
                cse_text_add(why, "its table %s is not as expected",
                             cse_row_describe((cse_row_kind)kind)->table);
            return true;
        }
    return false;
}

static bool has_wrong_pages(sqlite3 *handle, cse_text *why)
{
    char said[256];
    const int code = first_text(handle, "PRAGMA integrity_check(1)", said, sizeof said);
    if (code == SQLITE_OK && strcmp(said, "ok") == 0)
        return false;
    if (code != SQLITE_OK && !cse_is_damage(code))
        return false;
    const char *fault = strchr(said, '\n'); /* the first line is a title */
    if (why != NULL)
        cse_text_add(why, "the file is damaged: %s",
                     code != SQLITE_OK ? sqlite3_errstr(code)
                     : fault != NULL   ? fault + 1
                                       : said);
    return true;
}

static void id_in(const char *path, const char *how, char id[64])
{
    sqlite3 *handle = NULL;
    id[0] = '\0';
    if (cse_database_open_view(path, how, &handle) == SQLITE_OK)
        first_text(handle, "SELECT value FROM run WHERE key = 'id'", id, 64);
    sqlite3_close(handle);
}

/* It changes which run the file says that it is of. */
bool cse_store_has_log_of_another(const char *path)
{
    char log[PATH_MAX + 8], with[64], without[64];
    struct stat about;
    snprintf(log, sizeof log, "%s-wal", path);
    if (stat(log, &about) != 0 || about.st_size == 0 || cse_store_is_empty(path))
        return false;
    id_in(path, "immutable=1", without);
    id_in(path, "mode=ro", with);
    return without[0] != '\0' && with[0] != '\0' && strcmp(with, without) != 0;
}

static bool examine(const char *path, int64_t bytes, sqlite3 *handle, cse_text *why)
{
    char count[32];
    const int code = first_text(handle, "SELECT count(*) FROM sqlite_master", count, sizeof count);
    if (cse_is_damage(code) && why != NULL)
        cse_text_add(why, "the file is damaged: %s", sqlite3_errstr(code & 0xff));
    if (code != SQLITE_OK)
        return cse_is_damage(code);
    const int64_t application = pragma(handle, "PRAGMA application_id");
    const int64_t version = pragma(handle, "PRAGMA user_version");
    if (application == 0 && strcmp(count, "0") == 0)
        return false; /* it is being made */
    const bool is_ours = application == CSE_STORE_APPLICATION_ID;
    const bool is_known = version >= CSE_STORE_OLDEST_VERSION && version <= CSE_STORE_VERSION;
    const bool is_later = version > CSE_STORE_VERSION && version < CSE_STORE_VERSION + 1000;
    if (is_ours != is_known && !is_later && has_damaged_marks(handle)) {
        if (why != NULL)
            cse_text_add(why, "the file is damaged: its marks are not a run store's");
        return true;
    }
    if (!is_ours || !is_known)
        return false;
    if (version == CSE_STORE_VERSION && has_wrong_tables(handle, why))
        return true;
    if (cse_store_has_log_of_another(path)) {
        if (why != NULL)
            cse_text_add(why, "the log run.db-wal beside it is that of another run");
        return true;
    }
    return bytes <= CHECKED_BYTES && has_wrong_pages(handle, why);
}

bool cse_database_has_damage(const char *path, cse_text *why)
{
    struct stat about;
    sqlite3 *handle = NULL;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
        return false;
    bool has_damage = false;
    if (cse_database_open_view(path, "mode=ro", &handle) == SQLITE_OK) {
        sqlite3_busy_timeout(handle, BUSY_MS);
        has_damage = has_wrong_pages(handle, why);
    }
    sqlite3_close(handle);
    return has_damage;
}

bool cse_store_is_damaged(const char *path, cse_text *why)
{
    struct stat about;
    sqlite3 *handle = NULL;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
        return false; /* SQLite would remove the log beside an empty file */
    bool is_damaged = false;
    const int code = cse_database_open_view(path, "mode=ro", &handle);
    if (code == SQLITE_OK) {
        sqlite3_busy_timeout(handle, BUSY_MS);
        is_damaged = examine(path, about.st_size, handle, why);
    }
    sqlite3_close(handle);
    return is_damaged;
}
