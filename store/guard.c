/* A run writes where it was told to: a folder that was renamed is made anew under its old name, and
 * what was written before stays in the renamed one. */
#include "store/guard.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/log.h"
#include "store/damage.h"

#define MILLISECONDS INT64_C(1000000)
#define WARN_AGAIN_NS INT64_C(60000000000)

/* ---- the log of text ---- */

void cse_store_open_log(cse_store *store)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/logs", store->model_dir) >= sizeof path)
        return;
    mkdir(path, 0777);
    if ((size_t)snprintf(path, sizeof path, "%s/logs/attempt_%lld.log", store->model_dir,
                         (long long)store->attempt) < sizeof path)
        store->log = fopen(path, "ae");
}

static void guard_log(cse_store *store)
{
    char path[PATH_MAX];
    struct stat open, named;
    snprintf(path, sizeof path, "%s/logs/attempt_%lld.log", store->model_dir,
             (long long)store->attempt);
    if (store->log != NULL && fstat(fileno(store->log), &open) == 0 &&
        (stat(path, &named) == 0 ? open.st_ino == named.st_ino : errno != ENOENT))
        return;
    if (store->log != NULL) {
        fclose(store->log);
        store->log = NULL;
        cse_log_line(CSE_LOG_WARNING, "%s was removed: its further lines go to a new one", path);
    }
    cse_store_open_log(store);
}

/* ---- run.db ---- */

cse_status cse_store_renew(cse_store *store, const char *why)
{
    cse_text event = { 0 };
    cse_status status = cse_damage_replace(store->model_dir, why, &store->database, &event);
    if (status == CSE_OK)
        cse_row_add(&store->taken, CSE_ROW_EVENT, INT64_C(0), cse_unix_ms(), "damaged", event.data);
    cse_text_clear(&event);
    if (store->database == NULL)
        return status;
    cse_database_begin(store->database, store->attempt, store->options.succession.takes_over);
    store->written_step = -1;
    return CSE_OK;
}

/* Told once a minute. */
static void warn(cse_store *store, const char *what)
{
    const int64_t now_ns = cse_clock_ns();
    if (store->guard_warned_ns != 0 && now_ns - store->guard_warned_ns < WARN_AGAIN_NS)
        return;
    store->guard_warned_ns = now_ns;
    cse_log_line(CSE_LOG_WARNING,
                 "%s: %s; training goes on, and what is to be written waits until it is there",
                 what, cse_error_message());
}

static void guard_database(cse_store *store)
{
    const char *why = "";
    if (store->database != NULL && cse_database_is_in_place(store->database, &why))
        return;
    if (cse_store_renew(store, why) != CSE_OK)
        warn(store, "run.db cannot be made anew");
}

/* ---- run.lock and the folder ---- */

static void guard_lock(cse_store *store)
{
    if (cse_run_lock_is_in_place(&store->lock, store->model_dir))
        return;
    if (cse_run_lock_renew(&store->lock, store->model_dir) == CSE_OK)
        cse_log_line(CSE_LOG_WARNING,
                     "%s/run.lock was removed or replaced while the run held it; it is made anew",
                     store->model_dir);
    else
        warn(store, "run.lock was removed or replaced, and cannot be held again");
}

static void tell_folder(const cse_store *store, const char *now)
{
    if (now[0] != '\0')
        cse_log_line(CSE_LOG_WARNING,
                     "model_dir %s was renamed to %s while the run is under way: it is made anew, "
                     "and the run goes on there; what was saved before stays in %s",
                     store->model_dir, now, now);
    else
        cse_log_line(CSE_LOG_WARNING,
                     "model_dir %s was removed while the run is under way: it is made anew, and "
                     "the run goes on there; its checkpoints are gone until the next one is saved",
                     store->model_dir);
}

/* The lock of the old folder is kept until the new one is held. */
static void guard_folder(cse_store *store)
{
    char now[PATH_MAX];
    cse_run_lock lock = CSE_NO_RUN_LOCK;
    cse_run_lock_directory(&store->lock, now);
    cse_status status = cse_make_directories("model_dir", store->model_dir);
    if (status == CSE_OK)
        status = cse_run_lock_take(store->model_dir, &lock);
    if (status != CSE_OK) {
        warn(store, "model_dir was removed or renamed while the run is under way, and cannot be "
                    "made anew");
        return;
    }
    tell_folder(store, now);
    cse_run_lock_release(&store->lock);
    store->lock = lock;
    cse_failure_journal_close(&store->journal);
    cse_failure_journal_open(&store->journal, store->model_dir);
}

void cse_store_guard(cse_store *store)
{
    const int64_t now_ns = cse_clock_ns();
    if (now_ns - store->guarded_ns < store->options.look_interval_ms * MILLISECONDS)
        return;
    store->guarded_ns = now_ns;
    const cse_run_place place = cse_run_lock_place(&store->lock, store->model_dir);
    if (place == CSE_PLACE_GONE || place == CSE_PLACE_OTHER)
        guard_folder(store);
    if (cse_run_lock_place(&store->lock, store->model_dir) != CSE_PLACE_SAME)
        return; /* nothing can be made there */
    guard_lock(store);
    guard_database(store);
    guard_log(store);
}
