/* A checkpoint that truncates the log; the last connection that closes removes the empty file. The
 * database stays in the mode of write-ahead logs: to change it back would take room on the disk
 * when the run is started again, which may be full. */
#include "store/whole.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "store/run_lock.h"

enum { WAIT_MS = 2000 };

cse_status cse_database_make_whole(sqlite3 *handle, const char *path, int wait_ms)
{
    sqlite3_busy_timeout(handle, wait_ms);
    /* A connection that has read nothing does not know of a log. */
    sqlite3_exec(handle, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    const int code =
        sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (code != SQLITE_OK)
        return cse_fail((code & 0xff) == SQLITE_BUSY ? CSE_TEMPORARY : CSE_IO, "%s: %s", path,
                        sqlite3_errmsg(handle));
    return CSE_OK;
}

/* A link is not followed: it may lead to a database of something else. */
bool cse_store_was_left(const char *model_dir)
{
    char path[PATH_MAX], log[PATH_MAX + 8];
    struct stat about;
    if ((size_t)snprintf(path, sizeof path, "%s/run.db", model_dir) >= sizeof path)
        return false;
    snprintf(log, sizeof log, "%s-wal", path);
    return lstat(log, &about) == 0 && about.st_size > 0 && lstat(path, &about) == 0 &&
           S_ISREG(about.st_mode) && !cse_run_is_alive(model_dir);
}

cse_status cse_store_make_whole(const char *model_dir)
{
    char path[PATH_MAX];
    sqlite3 *handle = NULL;
    if (!cse_store_was_left(model_dir))
        return CSE_OK;
    snprintf(path, sizeof path, "%s/run.db", model_dir);
    cse_status status = CSE_PERMISSION;
    if (sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
            SQLITE_OK &&
        sqlite3_db_readonly(handle, "main") == 0)
        status = cse_database_make_whole(handle, path, WAIT_MS);
    sqlite3_close(handle);
    return status;
}
