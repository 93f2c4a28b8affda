/* SQLite copies the file page by page, with what its log holds; then later steps are removed as
 * those of an attempt that was left. That is done in a folder of its own: a run.db in the new run's
 * folder is whole. */
#include "store/fork.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/directory.h"
#include "engine/base/text.h"
#include "store/database.h"
#include "store/reader.h"
#include "store/supersede.h"

static cse_status fail(sqlite3 *handle, const char *path)
{
    return cse_fail(CSE_IO, "%s: %s", path, sqlite3_errmsg(handle));
}

static cse_status copy_pages(const char *from, sqlite3 *to, const char *path)
{
    cse_store_reader *reader = NULL;
    CSE_TRY(cse_store_reader_open(from, &reader));
    sqlite3_backup *backup =
        sqlite3_backup_init(to, "main", cse_store_reader_handle(reader), "main");
    if (backup != NULL)
        (void)sqlite3_backup_step(backup, -1);
    const int code = backup != NULL ? sqlite3_backup_finish(backup) : SQLITE_ERROR;
    cse_store_reader_close(&reader);
    return code == SQLITE_OK ? CSE_OK : fail(to, path);
}

/* Logs, events, changes of state and samples of the time are those of the other run, folders[0];
 * the new run is in folders[1]. */
static cse_status cut(sqlite3 *handle, const char *path, const char *const folders[2], int64_t step)
{
    const char *from = folders[0], *to = folders[1];
    const int64_t attempt =
        cse_sql_integer(handle, "SELECT CAST(value AS INTEGER) FROM run WHERE key = 'attempt'");
    char *sql = sqlite3_mprintf(
        "DELETE FROM superseded; DELETE FROM logs; DELETE FROM events; DELETE FROM transitions; "
        "DELETE FROM topology;"
        "DELETE FROM timeline; DELETE FROM kernels; DELETE FROM goodput;"
        "DELETE FROM checkpoints WHERE step > %lld OR deleted;"
        "UPDATE checkpoints SET path = %Q || '/checkpoint_' || step || '.mdl';"
        "DELETE FROM run WHERE key IN ('id', 'created_ms', 'phase', 'identity', 'weights_digest',"
        " 'control_endpoint', 'events_endpoint', 'waiting_for');"
        "UPDATE run SET value = '%lld' WHERE key = 'last_step';"
        "INSERT OR REPLACE INTO run VALUES('forked_from', %Q), ('forked_at', '%lld')",
        (long long)step, to, (long long)step, from, (long long)step);
    int code = sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code =
            cse_supersede(handle, &(cse_supersession){ .attempt = attempt + 1, .step = step + 1 });
    if (code == SQLITE_OK)
        code = sqlite3_exec(handle, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
    cse_status status = code == SQLITE_OK ? CSE_OK : fail(handle, path);
    sqlite3_free(sql);
    return status;
}

cse_status cse_store_fork(const char *from, const char *to, int64_t step)
{
    cse_database *database = NULL;
    char path[PATH_MAX], whole[PATH_MAX], folder[PATH_MAX], made[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/run.db", to);
    snprintf(folder, sizeof folder, "%s/forking", to);
    snprintf(made, sizeof made, "%s/run.db", folder);
    if (realpath(from, whole) == NULL)
        snprintf(whole, sizeof whole, "%s", from);
    if (access(path, F_OK) == 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: there is a run already", path);
    cse_remove_tree(folder); /* of one that was killed */
    CSE_TRY(cse_make_directories("fork", folder));
    CSE_TRY(cse_database_open(folder, &database));
    sqlite3 *handle = cse_database_handle(database);
    cse_status status = copy_pages(from, handle, made);
    if (status == CSE_OK)
        status = cut(handle, made, (const char *const[]){ whole, to }, step);
    if (status == CSE_OK)
        status = cse_database_end(database);
    cse_database_close(&database);
    if (status == CSE_OK && rename(made, path) != 0)
        status = cse_fail(CSE_IO, "%s: %s", path, strerror(errno));
    cse_remove_tree(folder);
    return status;
}
