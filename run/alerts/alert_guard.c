/* The thread reads the store by a reader of its own, as any other process would. */
#include "run/alerts/alert_guard.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/config/settings.h"
#include "engine/base/log.h"
#include "run/alerts/alert_delivery.h"
#include "run/alerts/alert_list.h"

/* Rows are written a few times a second: a silence ends so much later. */
enum { LOOK_MS = 1000, WRITTEN_MS = 2000 };
/* Of each condition: changes in the store, and the time between two that are announced. */
enum { MOST_STORED = 1000, QUIET_MS = 60000 };

typedef struct told {
    int stored;
    int64_t announced_ms; /* 0: never */
    bool begun;           /* its beginning was announced, and its end not yet */
} told;

struct cse_alert_guard {
    cse_alert_guard_options options;
    cse_alert_watch *watch;
    cse_alert_delivery *delivery;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ends; /* under the lock */
    told told[CSE_ALERTS_MOST];
};

/* Whether a change goes to the log and the receivers: the end of what was announced does. */
static bool is_announced(told *t, const cse_alert_change *change)
{
    if (!change->begins) {
        const bool begun = t->begun;
        t->begun = false;
        return begun;
    }
    if (t->announced_ms != 0 && change->time_ms - t->announced_ms < QUIET_MS)
        return false;
    t->announced_ms = change->time_ms;
    t->begun = true;
    return true;
}

static void announce(cse_alert_guard *guard, const cse_alert_change *change, json_t *json)
{
    cse_log_line(change->begins ? CSE_LOG_WARNING : CSE_LOG_INFO, "alert%s: %s (step %lld: %s)",
                 change->begins ? "" : " over", change->condition, (long long)change->step,
                 change->values);
    json_object_set_new(json, "model_dir", json_string(guard->options.model_dir));
    char *text = json_dumps(json, JSON_COMPACT);
    cse_alert_deliver(guard->delivery, text);
    free(text);
}

static void tell(void *self, const cse_alert_change *change)
{
    cse_alert_guard *guard = self;
    json_t *json = cse_alert_json(change);
    told *t = &guard->told[change->alert];
    char *text = json_dumps(json, JSON_COMPACT);
    if (t->stored++ < MOST_STORED)
        cse_store_event(guard->options.store, "alert", text);
    free(text);
    if (is_announced(t, change))
        announce(guard, change, json);
    json_decref(json);
}

/* What cannot be read now is read at the next look. */
static void look(cse_alert_guard *guard, int64_t until_ms)
{
    cse_store_reader *reader = NULL;
    if (cse_store_reader_open(guard->options.model_dir, &reader) != CSE_OK)
        return;
    cse_alert_watch_read(guard->watch, reader, until_ms, tell, guard);
    cse_store_reader_close(&reader);
}

/* Until the next look is due; false at the end. */
static bool wait_for_look(cse_alert_guard *guard)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOOK_MS / 1000;
    pthread_mutex_lock(&guard->lock);
    int code = 0;
    while (!guard->ends && code == 0)
        code = pthread_cond_timedwait(&guard->wake, &guard->lock, &until);
    const bool goes_on = !guard->ends;
    pthread_mutex_unlock(&guard->lock);
    return goes_on;
}

static void *run(void *self)
{
    cse_alert_guard *guard = self;
    while (wait_for_look(guard))
        look(guard, cse_unix_ms() - WRITTEN_MS);
    return NULL;
}

/* Signals are for the thread that trains. */
static int start_thread(cse_alert_guard *guard)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&guard->thread, NULL, run, guard);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static void release(cse_alert_guard **guard)
{
    cse_alert_watch_destroy(&(*guard)->watch);
    cse_alert_delivery_destroy(&(*guard)->delivery);
    free(*guard);
    *guard = NULL;
}

cse_status cse_alert_guard_start(const cse_alert_guard_options *options, cse_alert_guard **result)
{
    const int count = options->settings != NULL ? cse_settings_count(options->settings, "when") : 0;
    *result = NULL;
    if (count == 0)
        return CSE_OK;
    cse_alert_guard *guard = cse_calloc(1, sizeof *guard);
    guard->options = *options;
    guard->watch = cse_alert_watch_new();
    pthread_mutex_init(&guard->lock, NULL);
    pthread_cond_init(&guard->wake, NULL);
    cse_status status = CSE_OK;
    for (int i = 0; status == CSE_OK && i < count; i++)
        status =
            cse_alert_watch_add(guard->watch, cse_settings_text_at(options->settings, "when", i));
    if (status == CSE_OK)
        status = cse_alert_delivery_new(options->settings, &guard->delivery);
    cse_alert_watch_told(guard->watch, cse_unix_ms());
    if (status == CSE_OK && start_thread(guard) != 0)
        status = cse_fail(CSE_UNAVAILABLE, "alerts: no thread can be started");
    if (status != CSE_OK)
        release(&guard);
    *result = guard;
    return status;
}

void cse_alert_guard_stop(cse_alert_guard **result)
{
    cse_alert_guard *guard = *result;
    if (guard == NULL)
        return;
    pthread_mutex_lock(&guard->lock);
    guard->ends = true;
    pthread_cond_signal(&guard->wake);
    pthread_mutex_unlock(&guard->lock);
    pthread_join(guard->thread, NULL);
    if (cse_store_flush(guard->options.store) == CSE_OK)
        look(guard, 0);
    for (int i = 0; i < cse_settings_count(guard->options.settings, "when"); i++) {
        const char *name = cse_alert_watch_unknown(guard->watch, i);
        if (name != NULL)
            cse_log_line(CSE_LOG_WARNING,
                         "alert \"%s\" had no value of %s; `csengine alerts` lists the names",
                         cse_settings_text_at(guard->options.settings, "when", i), name);
    }
    release(result);
}
