/* MLflowLogger: sends scalars to an MLflow tracking server by its REST API.
 *
 * Training never waits for the server. A scalar goes into a queue of limited length; a thread sends
 * what is there in batches, and where the server does not answer tries again, after longer and
 * longer pauses. What finds the queue full is dropped, counted, and told at the end. A fault of the
 * server is told once, and its end as well. At the end of the run the thread has some seconds; what
 * it did not send by then is kept in MODEL_DIR/mlflow_unsent.jsonl.
 *
 * The run of MLflow is made with the first values. Its id is in MODEL_DIR/mlflow_run_id, so that a
 * run that goes on adds to it; values of steps that are done again are there twice. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/file_status.h"
#include "engine/base/log.h"
#include "run/loggers/json_line.h"
#include "run/loggers/plain_http.h"

enum { MOST_QUEUED = 1 << 16, MOST_BATCH = 500, NAME_BYTES = 200, END_S = 5 };
enum { FIRST_PAUSE_MS = 500, MOST_PAUSE_MS = 30000, LAST_TRIES = 4, LAST_PAUSE_US = 250000 };

typedef struct queued {
    char name[NAME_BYTES];
    int64_t step;
    double time_s, value;
} queued;

typedef struct mlflow {
    /* Settings, which do not change. */
    cse_http_place place;
    cse_http_link link;
    const char *experiment, *run_name, *token;
    const cse_settings *settings;
    char id_path[PATH_MAX], unsent_path[PATH_MAX];
    /* Of the thread. */
    pthread_t thread;
    char run_id[64];
    bool has_run, is_told;
    /* Shared, behind the lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    queued *ring;
    int first, count;
    int64_t dropped;
    bool ends, has_ended, keeps_run;
} mlflow;

/* ---- requests ---- */

/* The JSON of an answer that is 2xx, else NULL, with why as the last error. */
static json_t *ask(mlflow *m, const char *method, const char *path, json_t *body, int *code)
{
    cse_text answer = { 0 }, sent = { 0 };
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    json_t *json = NULL;
    if (text != NULL)
        cse_text_add(&sent, "%s", text);
    const cse_http_request request = {
        .method = method, .path = path, .token = m->token, .body = body != NULL ? &sent : NULL
    };
    const cse_status status = cse_http_ask(&m->place, &m->link, &request, code, &answer);
    if (status == CSE_OK && *code / 100 == 2) {
        json = json_loadb(answer.data != NULL ? answer.data : "", answer.size, 0, NULL);
        json = json != NULL ? json : json_object();
    } else if (status == CSE_OK) {
        cse_fail(CSE_UNAVAILABLE, "http://%s:%s%s answers %d: %.200s", m->place.host, m->place.port,
                 path, *code, answer.data != NULL ? answer.data : "");
    }
    free(text);
    json_decref(body);
    cse_text_clear(&sent);
    cse_text_clear(&answer);
    return json;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Of the experiment, which is made where it is not there; false: try again. */
static bool find_experiment(mlflow *m, char id[64])
{
    int code;
    cse_text path = { 0 };
    cse_text_add(&path, "/api/2.0/mlflow/experiments/get-by-name?experiment_name=");
    for (const char *c = m->experiment; *c != '\0'; c++)
        cse_text_add(&path, "%%%02X", (unsigned char)*c);
    json_t *answer = ask(m, "GET", path.data, NULL, &code);
    cse_text_clear(&path);
    const char *found =
        json_string_value(json_object_get(json_object_get(answer, "experiment"), "experiment_id"));
    snprintf(id, 64, "%s", found != NULL ? found : "");
    json_decref(answer);
    if (found != NULL || code != 404)
        return found != NULL;
    answer = ask(m, "POST", "/api/2.0/mlflow/experiments/create",
                 json_pack("{s:s}", "name", m->experiment), &code);
    found = json_string_value(json_object_get(answer, "experiment_id"));
    snprintf(id, 64, "%s", found != NULL ? found : "");
    json_decref(answer);
    return found != NULL;
}

/* [{key, value}] of a setting [KEY=VALUE]. */
static json_t *pairs(const cse_settings *settings, const char *name)
{
    json_t *list = json_array();
    for (int i = 0; i < cse_settings_count(settings, name); i++) {
        const char *entry = cse_settings_text_at(settings, name, i), *equals = strchr(entry, '=');
        json_array_append_new(list, json_pack("{s:s%, s:s}", "key", entry, (size_t)(equals - entry),
                                              "value", equals + 1));
    }
    return list;
}

static void keep_id(const mlflow *m)
{
    FILE *file = cse_confined_stream(m->id_path, O_TRUNC);
    if (file == NULL)
        return; /* a run that goes on is another one there */
    fprintf(file, "%s\n", m->run_id);
    fclose(file);
}

static bool go_on_with_run(mlflow *m)
{
    int code;
    FILE *file = fopen(m->id_path, "re");
    char id[sizeof m->run_id] = "";
    if (file != NULL && fgets(id, sizeof id, file) != NULL)
        id[strcspn(id, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
    if (id[0] == '\0')
        return false;
    json_t *answer = ask(m, "POST", "/api/2.0/mlflow/runs/update",
                         json_pack("{s:s, s:s}", "run_id", id, "status", "RUNNING"), &code);
    json_decref(answer);
    if (answer != NULL)
        snprintf(m->run_id, sizeof m->run_id, "%s", id);
    return answer != NULL;
}

/* Makes the run; false: try again. */
static bool make_run(mlflow *m, bool goes_on)
{
    int code;
    char experiment[64];
    if (m->has_run || (goes_on && go_on_with_run(m)))
        return m->has_run = true;
    if (!find_experiment(m, experiment))
        return false;
    json_t *body = json_pack("{s:s, s:I, s:o}", "experiment_id", experiment, "start_time",
                             (json_int_t)now_ms(), "tags", pairs(m->settings, "tags"));
    if (m->run_name != NULL)
        json_object_set_new(body, "run_name", json_string(m->run_name));
    json_t *answer = ask(m, "POST", "/api/2.0/mlflow/runs/create", body, &code);
    const char *id = json_string_value(
        json_object_get(json_object_get(json_object_get(answer, "run"), "info"), "run_id"));
    snprintf(m->run_id, sizeof m->run_id, "%s", id != NULL ? id : "");
    json_decref(answer);
    if (id == NULL)
        return false;
    keep_id(m);
    json_t *parameters = pairs(m->settings, "params");
    m->has_run = true;
    if (json_array_size(parameters) == 0) {
        json_decref(parameters);
        return true;
    }
    json_decref(ask(m, "POST", "/api/2.0/mlflow/runs/log-batch",
                    json_pack("{s:s, s:o}", "run_id", m->run_id, "params", parameters), &code));
    return true;
}

/* ---- the queue ---- */

/* Keys have letters, digits, and _ - . / and spaces. */
static void key_of(const char *name, char key[NAME_BYTES])
{
    snprintf(key, NAME_BYTES, "%s", name);
    for (char *c = key; *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./ ", *c) ==
            NULL)
            *c = '_';
}

static json_t *value_json(double value)
{
    if (isfinite(value))
        return json_real(value);
    return json_string(isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

/* The first values of the queue, which stay there until they were sent. */
static json_t *batch_of(mlflow *m, int *count)
{
    json_t *list = json_array();
    pthread_mutex_lock(&m->lock);
    *count = m->count < MOST_BATCH ? m->count : MOST_BATCH;
    for (int i = 0; i < *count; i++) {
        char key[NAME_BYTES];
        const queued *one = &m->ring[(m->first + i) % MOST_QUEUED];
        key_of(one->name, key);
        json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:I}", "key", key, "value",
                                              value_json(one->value), "timestamp",
                                              (json_int_t)(one->time_s * 1000), "step",
                                              (json_int_t)one->step));
    }
    pthread_mutex_unlock(&m->lock);
    return list;
}

static void take_away(mlflow *m, int count)
{
    pthread_mutex_lock(&m->lock);
    m->first = (m->first + count) % MOST_QUEUED;
    m->count -= count;
    pthread_mutex_unlock(&m->lock);
}

/* A batch that the server refuses as wrong is left out; false: try again. */
static bool send_batch(mlflow *m)
{
    int count, code = 0;
    json_t *metrics = batch_of(m, &count);
    if (count == 0) {
        json_decref(metrics);
        return true;
    }
    json_t *answer = ask(m, "POST", "/api/2.0/mlflow/runs/log-batch",
                         json_pack("{s:s, s:o}", "run_id", m->run_id, "metrics", metrics), &code);
    const bool sent = answer != NULL, is_wrong = code == 400;
    json_decref(answer);
    if (is_wrong)
        cse_log_line(CSE_LOG_WARNING, "MLflowLogger: %d values are left out: %s", count,
                     cse_error_message());
    if (sent || is_wrong)
        take_away(m, count);
    return sent || is_wrong;
}

/* ---- the thread ---- */

/* Waits for values or the end, or with a pause for the end alone. Whether it has to end. */
static bool wait_for_work(mlflow *m, int pause_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += pause_ms / 1000;
    until.tv_nsec += (long)(pause_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&m->lock);
    while (!m->ends && (pause_ms > 0 || m->count == 0)) {
        if (pause_ms == 0)
            pthread_cond_wait(&m->changed, &m->lock);
        else if (pthread_cond_timedwait(&m->changed, &m->lock, &until) == ETIMEDOUT)
            break;
    }
    const bool ends = m->ends;
    pthread_mutex_unlock(&m->lock);
    return ends;
}

static bool is_empty(mlflow *m, bool *goes_on)
{
    pthread_mutex_lock(&m->lock);
    const bool empty = m->count == 0;
    *goes_on = m->keeps_run;
    pthread_mutex_unlock(&m->lock);
    return empty;
}

static void tell(mlflow *m, bool good)
{
    if (!good && !m->is_told)
        cse_log_line(CSE_LOG_WARNING, "MLflowLogger: %s; it is tried again, and the run goes on",
                     cse_error_message());
    if (good && m->is_told)
        cse_log_line(CSE_LOG_INFO, "MLflowLogger: the server answers again");
    m->is_told = !good;
}

static void finish_run(mlflow *m)
{
    int code;
    if (m->has_run)
        json_decref(ask(m, "POST", "/api/2.0/mlflow/runs/update",
                        json_pack("{s:s, s:s, s:I}", "run_id", m->run_id, "status", "FINISHED",
                                  "end_time", (json_int_t)now_ms()),
                        &code));
}

static void *send_all(void *self)
{
    mlflow *m = self;
    int pause_ms = 0, tries = 0; /* after the end was asked for */
    for (bool ends = false, goes_on = false;;) {
        ends = wait_for_work(m, pause_ms);
        const bool empty = is_empty(m, &goes_on);
        const bool good = empty || (make_run(m, goes_on) && send_batch(m));
        tell(m, good);
        pause_ms = good ? 0 : pause_ms == 0 ? FIRST_PAUSE_MS : 2 * pause_ms;
        pause_ms = pause_ms < MOST_PAUSE_MS ? pause_ms : MOST_PAUSE_MS;
        if (ends && (empty || (!good && ++tries == LAST_TRIES)))
            break;
        if (ends && !good)
            usleep(LAST_PAUSE_US);
    }
    finish_run(m);
    pthread_mutex_lock(&m->lock);
    m->has_ended = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- the logger ---- */

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    mlflow *m = logger;
    pthread_mutex_lock(&m->lock);
    if (m->count < MOST_QUEUED) {
        queued *one = &m->ring[(m->first + m->count++) % MOST_QUEUED];
        *one = (queued){ .step = scalar->step, .time_s = scalar->time_s, .value = scalar->value };
        snprintf(one->name, sizeof one->name, "%s", scalar->name);
    } else {
        m->dropped++;
    }
    pthread_mutex_unlock(&m->lock);
    return CSE_OK;
}

static cse_status flush(void *logger)
{
    mlflow *m = logger;
    pthread_mutex_lock(&m->lock);
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return CSE_OK;
}

static cse_status go_on(void *logger, int64_t step)
{
    mlflow *m = logger;
    (void)step;
    pthread_mutex_lock(&m->lock);
    m->keeps_run = true;
    pthread_mutex_unlock(&m->lock);
    return CSE_OK;
}

static void keep_unsent(const mlflow *m)
{
    if (m->dropped > 0)
        cse_log_line(CSE_LOG_WARNING,
                     "MLflowLogger: the server did not keep up: %lld values were "
                     "dropped",
                     (long long)m->dropped);
    if (m->count == 0)
        return;
    FILE *file = cse_confined_stream(m->unsent_path, O_APPEND);
    for (int i = 0; file != NULL && i < m->count; i++) {
        char line[CSE_JSON_LINE_BYTES];
        const queued *one = &m->ring[(m->first + i) % MOST_QUEUED];
        const cse_logged_scalar scalar = { one->name, one->step, one->time_s, one->value };
        fwrite(line, 1, cse_json_line(&scalar, line), file);
    }
    const bool kept = file != NULL && fclose(file) == 0;
    cse_log_line(CSE_LOG_WARNING, "MLflowLogger: %d values were not sent%s%s", m->count,
                 kept ? "; they are in " : "", kept ? m->unsent_path : "");
}

static void close_logger(void *logger)
{
    mlflow *m = logger;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    pthread_mutex_lock(&m->lock);
    m->ends = true;
    pthread_cond_broadcast(&m->changed);
    while (!m->has_ended && pthread_cond_timedwait(&m->changed, &m->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&m->lock);
    cse_http_link_cut(&m->link);
    pthread_join(m->thread, NULL);
    keep_unsent(m);
    free(m->ring);
    free(m);
}

/* Signals are for the thread that trains. */
static int start(mlflow *m)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(&m->thread, NULL, send_all, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

static cse_status check_pairs(const cse_settings *settings, const char *name)
{
    for (int i = 0; i < cse_settings_count(settings, name); i++) {
        const char *entry = cse_settings_text_at(settings, name, i), *equals = strchr(entry, '=');
        if (equals == NULL || equals == entry)
            return cse_fail(CSE_CONFIG, "%s: \"%.60s\": accepted is KEY=VALUE", name, entry);
    }
    return CSE_OK;
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    cse_http_place place;
    CSE_TRY(cse_http_place_read(cse_settings_text(settings, "tracking_uri"), &place));
    CSE_TRY(check_pairs(settings, "params"));
    CSE_TRY(check_pairs(settings, "tags"));
    if (cse_confinement_view() != NULL)
        return cse_fail(CSE_CONFIG, "a confined job opens no connections; run it by `csengine "
                                    "start`, or read its run store");
    mlflow *m = cse_calloc(1, sizeof *m);
    m->place = place;
    m->link = (cse_http_link){ .lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };
    m->settings = settings;
    m->experiment = cse_settings_text(settings, "experiment_name");
    m->run_name = cse_settings_text(settings, "run_name");
    m->token = getenv("MLFLOW_TRACKING_TOKEN");
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    m->ring = cse_calloc(MOST_QUEUED, sizeof *m->ring);
    snprintf(m->id_path, sizeof m->id_path, "%s/mlflow_run_id", model_dir);
    snprintf(m->unsent_path, sizeof m->unsent_path, "%s/mlflow_unsent.jsonl", model_dir);
    const int failure = start(m);
    if (failure == 0) {
        *logger = m;
        return CSE_OK;
    }
    free(m->ring);
    free(m);
    return cse_fail(CSE_TEMPORARY, "no thread: %s", strerror(failure));
}

static const cse_setting settings_table[] = {
    { .name = "tracking_uri",
      .type = CSE_SETTING_TEXT,
      .doc = "http://HOST:PORT of the server; its token is $MLFLOW_TRACKING_TOKEN" },
    { .name = "experiment_name",
      .type = CSE_SETTING_TEXT,
      .default_value = "csengine",
      .doc = "is made where it is not there" },
    { .name = "run_name",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "of the run; null: the server chooses one" },
    { .name = "params",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "[KEY=VALUE]: parameters of the run" },
    { .name = "tags",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "[KEY=VALUE]: its tags" },
    { .name = NULL },
};

const cse_logger_descriptor cse_logger_mlflow = {
    .name = "MLflowLogger",
    .summary = "sends scalars to an MLflow tracking server",
    .settings = settings_table,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = flush,
    .close = close_logger,
    .later = true,
    .go_on = go_on,
};
