/* From the events of a job to rows of the run store.
 *
 * A step's values are copied into the store's queue in one call. A value that stays what it was (a
 * constant learning rate, a loss scale) is left out between its ends: the line through the points
 * is the same. */
#include "run/record/recorder.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/checkpoint/digest.h"
#include "engine/precision/graphamp.h"
#include "store/store.h"
#include "workers/messages/run_directory.h"

enum {
    MOST_SERIES = CSE_RECORDER_MOST_SERIES,
    MOST_CLOSURES = 64, /* listed each at its own pace; those beyond share one */
    MOST_PAYLOAD_VALUES = 16,
    HELD_STEPS = 64, /* at most so many points of a value that stands still are left out */
};
#define CLOSURE_INTERVAL_NS INT64_C(50000000) /* between two rows of one closure */
#define RATE_INTERVAL_NS INT64_C(250000000)
#define LINE_INTERVAL_NS INT64_C(1000000000)

/* A fetched scalar that is recorded, or a constant (fetch -1). */
typedef struct recorded {
    int fetch, series;
    double last;
    int64_t last_step, written_step;
} recorded;

struct cse_recorder {
    cse_session *session;
    cse_store *store;
    cse_run_directory directory;
    char events_endpoint[CSE_RUN_DIRECTORY_BYTES + 32];
    int64_t unix_ns; /* Unix time minus the clock of committed_ns */
    const cse_step *step;
    recorded values[MOST_SERIES]; /* constants come first */
    int count, constants;
    int rate_series;
    int64_t rate_ns, rate_step; /* 0: no step yet */
    int64_t closure_ns[MOST_CLOSURES], closures_skipped[MOST_CLOSURES];
    bool compiling;
};

/* ---- beginning and end ---- */

/* Shows a log record and keeps it; `self` is the recorder. */
static void keep_record(void *self, const cse_log_record *record)
{
    cse_log_print(record);
    cse_store_log(((cse_recorder *)self)->store, record);
}

/* Keeps a line of the coordinator that is shown elsewhere. */
static void keep_line(cse_recorder *recorder, cse_log_level level, const char *line)
{
    cse_store_log(recorder->store,
                  &(cse_log_record){ .level = level, .time_ms = cse_unix_ms(), .text = line });
}

static void set_labels(cse_recorder *recorder)
{
    const char *const *labels = recorder->session->configuration.job_labels;
    cse_text json = { 0 };
    cse_text_add(&json, "[");
    for (int i = 0; labels[i] != NULL; i++) {
        cse_text_add(&json, i > 0 ? "," : "");
        cse_json_add_string(&json, labels[i]);
    }
    cse_text_add(&json, "]");
    cse_store_set(recorder->store, "labels", json.data);
    cse_text_clear(&json);
}

static void set_digest(cse_store *store, const char *configuration)
{
    unsigned char digest[32];
    char digits[2 * sizeof digest + 1];
    if (configuration == NULL)
        return;
    crypto_generichash(digest, sizeof digest, (const unsigned char *)configuration,
                       strlen(configuration), NULL, 0);
    sodium_bin2hex(digits, sizeof digits, digest, sizeof digest);
    cse_store_set(store, "config_digest", digits);
}

static void set_facts(cse_recorder *recorder, const cse_job_settings *settings)
{
    cse_store *store = recorder->store;
    const cse_configuration *c = &recorder->session->configuration;
    const char *name = getenv("CSENGINE_RUN_NAME");
    cse_store_set(store, "name", name != NULL && name[0] != '\0' ? name : settings->model->name);
    cse_store_set(store, "model", settings->model->name);
    cse_store_set(store, "optimizer",
                  settings->optimizer != NULL ? settings->optimizer->name : NULL);
    cse_store_set_integer(store, "num_csx", c->num_csx);
    cse_store_set_integer(store, "num_workers_per_csx", c->num_workers_per_csx);
    cse_store_set_integer(store, "max_wgt_servers", c->max_wgt_servers);
    cse_store_set_integer(store, "seed", (int64_t)c->seed);
    set_labels(recorder);
    set_digest(store, settings->canonical_configuration);
    if (settings->resolved_configuration != NULL)
        cse_store_artefact(store, "config.yaml", "application/yaml",
                           settings->resolved_configuration,
                           strlen(settings->resolved_configuration));
    if (settings->configuration_origins != NULL)
        cse_store_artefact(store, "config.origins.json", "application/json",
                           settings->configuration_origins,
                           strlen(settings->configuration_origins));
}

static void release(cse_recorder **recorder)
{
    /* The store's thread may log until it has ended. */
    cse_store_close(&(*recorder)->store);
    cse_log_set_sink(NULL, NULL);
    cse_run_directory_remove(&(*recorder)->directory);
    free(*recorder);
    *recorder = NULL;
}

static cse_status open_store(cse_recorder *recorder)
{
    cse_run_directory_sweep();
    CSE_TRY(cse_run_directory_make(&recorder->directory));
    snprintf(recorder->events_endpoint, sizeof recorder->events_endpoint, "ipc://%s/events",
             recorder->directory.path);
    return cse_store_open(recorder->session->configuration.model_dir,
                          &(cse_store_options){ .events_endpoint = recorder->events_endpoint },
                          &recorder->store);
}

cse_status cse_recorder_open(cse_session *session, const cse_job_settings *settings,
                             cse_recorder **result)
{
    cse_recorder *recorder = cse_calloc(1, sizeof *recorder);
    *result = NULL;
    recorder->session = session;
    recorder->directory.lock = -1;
    recorder->unix_ns = cse_unix_ns() - cse_clock_ns();
    cse_status status = open_store(recorder);
    if (status == CSE_IO) {
        cse_log_line(CSE_LOG_WARNING, "%s; training goes on without a run store",
                     cse_error_message());
        release(&recorder);
        return CSE_OK;
    }
    if (status != CSE_OK) {
        release(&recorder);
        return status;
    }
    set_facts(recorder, settings);
    recorder->compiling = true;
    cse_store_transition(recorder->store, CSE_RUN_COMPILING, NULL, NULL);
    cse_log_set_sink(keep_record, recorder);
    *result = recorder;
    return CSE_OK;
}

void cse_recorder_close(cse_recorder **recorder, cse_status status, const cse_job_result *result)
{
    if (*recorder == NULL)
        return;
    cse_store *store = (*recorder)->store;
    char message[1024];
    snprintf(message, sizeof message, "%s", status != CSE_OK ? cse_error_message() : "");
    if (result->weights_digest[0] != '\0')
        cse_store_set(store, "weights_digest", result->weights_digest);
    cse_store_set(store, "control_endpoint", NULL);
    cse_store_set(store, "events_endpoint", NULL);
    if (status == CSE_INTERRUPTED || (status == CSE_OK && result->stopped))
        cse_store_transition(store, CSE_RUN_CANCELLED, NULL, message);
    else if (status == CSE_OK)
        cse_store_transition(store, CSE_RUN_SUCCEEDED, NULL, NULL);
    else
        cse_store_transition(
            store, CSE_RUN_FAILED,
            cse_run_reason_name(cse_run_reason_of_status(status, (*recorder)->compiling)), message);
    if (status != CSE_OK)
        keep_line(*recorder, CSE_LOG_ERROR, message);
    release(recorder);
    /* The caller shows the message; closing may have stored another. */
    if (status != CSE_OK)
        cse_fail(status, "%s", message);
}

const char *cse_recorder_directory(const cse_recorder *recorder)
{
    return recorder != NULL ? recorder->directory.path : NULL;
}

cse_store *cse_recorder_store(cse_recorder *recorder)
{
    return recorder != NULL ? recorder->store : NULL;
}

/* ---- steps ---- */

static int64_t unix_ms(const cse_recorder *recorder, int64_t clock_ns)
{
    return (clock_ns + recorder->unix_ns) / 1000000;
}

/* The first name that is left out stands in the log, the number in the store. */
static void say_dropped(const cse_recorder *recorder, int dropped, const char *first)
{
    if (dropped > 0)
        cse_log_line(CSE_LOG_WARNING,
                     "run store: a step has %d named values more than the %d that are recorded; "
                     "the first that is left out is \"%s\"",
                     dropped, MOST_SERIES, first);
    cse_store_set_integer(recorder->store, "dropped_series", dropped);
}

/* A training step's scalars that have a name of their own. */
static void find_values(cse_recorder *recorder, const cse_step *step)
{
    const cse_graph *graph = step->graph;
    recorder->count = step->training ? recorder->constants : 0;
    for (int i = 0; i < recorder->count; i++)
        recorder->values[i].written_step = -1;
    int dropped = 0;
    const char *first_dropped = NULL;
    for (int i = 0; step->training && i < graph->fetch_count; i++) {
        const cse_fetch_entry *fetch = &graph->fetches[i];
        if (!cse_fetch_is_metric(fetch))
            continue;
        if (recorder->count == MOST_SERIES) {
            first_dropped = dropped++ == 0 ? fetch->name : first_dropped;
            continue;
        }
        recorder->values[recorder->count++] =
            (recorded){ .fetch = i,
                        .series = cse_store_series(recorder->store, fetch->name),
                        .last = (double)NAN,
                        .last_step = -1,
                        .written_step = -1 };
    }
    if (step->training)
        say_dropped(recorder, dropped, first_dropped);
}

void cse_recorder_constant(cse_recorder *recorder, const char *name, double value)
{
    if (recorder == NULL || recorder->constants == MOST_SERIES)
        return;
    recorder->values[recorder->constants++] =
        (recorded){ .fetch = -1, .series = cse_store_series(recorder->store, name), .last = value };
}

void cse_recorder_begin(cse_recorder *recorder, const cse_step *step)
{
    if (recorder == NULL)
        return;
    cse_store *store = recorder->store;
    const cse_session_report *report = &recorder->session->report;
    recorder->step = step;
    recorder->rate_ns = 0;
    find_values(recorder, step);
    recorder->rate_series = step->training ? cse_store_series(store, "samples_per_second") : 0;
    if (!step->training)
        return;
    cse_store_set_integer(store, "batch_size", report->batch_size);
    cse_store_set_integer(store, "micro_batch_size", step->graph->micro_batch_size);
    cse_store_set_integer(store, "first_step", report->first_step);
    cse_store_set_integer(store, "run_last_step", report->run_last_step);
}

static double fetched_number(const cse_fetch_entry *fetch, const unsigned char *fetched)
{
    const unsigned char *at = fetched + fetch->offset_bytes;
    int32_t integer;
    float number;
    memcpy(&integer, at, sizeof integer);
    memcpy(&number, at, sizeof number);
    return fetch->value->dtype == CSE_INT32 ? (double)integer : (double)number;
}

/* The point before a change ends the level part of the line. */
static void end_level(cse_recorder *recorder, const recorded *r, int64_t time_ms)
{
    if (r->last_step > r->written_step)
        cse_store_points(recorder->store, &(cse_step_points){ .step = r->last_step,
                                                              .time_ms = time_ms,
                                                              .count = 1,
                                                              .series = &r->series,
                                                              .values = &r->last });
}

void cse_recorder_step(cse_recorder *recorder, const cse_record *record)
{
    int series[MOST_SERIES + 1], count = 0;
    double values[MOST_SERIES + 1];
    if (recorder == NULL || !recorder->step->training)
        return;
    const cse_session_report *report = &recorder->session->report;
    int64_t step = record->step + 1, time_ms = unix_ms(recorder, record->committed_ns);
    for (int i = 0; i < recorder->count; i++) {
        recorded *r = &recorder->values[i];
        double value = r->fetch < 0 ? r->last
                                    : fetched_number(&recorder->step->graph->fetches[r->fetch],
                                                     record->fetched);
        bool same = memcmp(&value, &r->last, sizeof value) == 0;
        bool is_due = step % HELD_STEPS == 0 || step == report->last_step || r->written_step < 0;
        if (!same)
            end_level(recorder, r, time_ms);
        r->last = value;
        r->last_step = step;
        if (same && !is_due)
            continue;
        r->written_step = step;
        series[count] = r->series;
        values[count++] = value;
    }
    int64_t since_ns = record->committed_ns - recorder->rate_ns;
    bool is_last = step == report->last_step && since_ns > 0;
    if (recorder->rate_ns == 0 || since_ns >= RATE_INTERVAL_NS || is_last) {
        if (recorder->rate_ns != 0) {
            series[count] = recorder->rate_series;
            values[count++] = (double)(step - recorder->rate_step) * (double)report->batch_size *
                              1e9 / (double)since_ns;
        }
        recorder->rate_ns = record->committed_ns;
        recorder->rate_step = step;
    }
    cse_store_points(
        recorder->store,
        &(cse_step_points){
            .step = step, .time_ms = time_ms, .count = count, .series = series, .values = values });
}

void cse_recorder_metric(cse_recorder *recorder, const char *name, int64_t step, double value)
{
    if (recorder != NULL)
        cse_store_point(recorder->store, cse_store_series(recorder->store, name), step, value);
}

/* ---- closures ---- */

static void add_values(cse_text *json, const cse_graph *graph, const cse_step_closure_entry *entry,
                       const unsigned char *fetched)
{
    cse_text_add(json, "[");
    for (int i = 0; i < entry->count && i < MOST_PAYLOAD_VALUES; i++) {
        const cse_fetch_entry *fetch = &graph->fetches[entry->fetches[i]];
        char shape[128];
        cse_text_add(json, i > 0 ? "," : "");
        if (cse_shape_elements(fetch->value->shape) == 1)
            cse_json_add_number(json, fetched_number(fetch, fetched));
        else
            cse_json_add_string(json, cse_shape_text(fetch->value->shape, shape, sizeof shape));
    }
    cse_text_add(json, "]");
}

void cse_recorder_closure(cse_recorder *recorder, const cse_step_closure_entry *entry,
                          const cse_record *record, int64_t called_ns)
{
    if (recorder == NULL)
        return;
    int index = (int)(entry - recorder->step->closures);
    int place = index < MOST_CLOSURES ? index : MOST_CLOSURES - 1;
    if (!entry->on_checkpoint && called_ns - recorder->closure_ns[place] < CLOSURE_INTERVAL_NS) {
        recorder->closures_skipped[place]++;
        return;
    }
    recorder->closure_ns[place] = called_ns;
    cse_text json = { 0 };
    char name[64];
    snprintf(name, sizeof name, "closure %d", index);
    cse_text_add(&json,
                 "{\"steps_done\":%lld,\"call_us\":%lld,\"unlisted\":%lld,\"training\":%s,"
                 "\"values\":",
                 (long long)record->steps_done, (long long)((cse_clock_ns() - called_ns) / 1000),
                 (long long)recorder->closures_skipped[place],
                 recorder->step->training ? "true" : "false");
    recorder->closures_skipped[place] = 0;
    add_values(&json, recorder->step->graph, entry, record->fetched);
    cse_text_add(&json, "}");
    cse_store_closure(recorder->store,
                      &(cse_closure_row){ .step = record->step + 1,
                                          .issued_ms = unix_ms(recorder, record->committed_ns),
                                          .delivered_ms = unix_ms(recorder, called_ns),
                                          .name = entry->name != NULL ? entry->name : name,
                                          .payload = json.data });
    cse_text_clear(&json);
}

/* ---- what the execution says ---- */

void cse_recorder_phase(cse_recorder *recorder, cse_phase phase, const char *message)
{
    static const cse_run_state states[] = {
        [CSE_PHASE_STARTING] = CSE_RUN_STARTING,     [CSE_PHASE_RUNNING] = CSE_RUN_RUNNING,
        [CSE_PHASE_PAUSING] = CSE_RUN_PAUSING,       [CSE_PHASE_PAUSED] = CSE_RUN_PAUSED,
        [CSE_PHASE_RECOVERING] = CSE_RUN_RECOVERING, [CSE_PHASE_CANCELLING] = CSE_RUN_CANCELLING,
    };
    if (recorder == NULL)
        return;
    /* Validations and further stretches of training are parts of a run that is under way. */
    if (phase == CSE_PHASE_STARTING && cse_store_state(recorder->store) != CSE_RUN_COMPILING)
        return;
    recorder->compiling = false;
    if (cse_store_transition(recorder->store, states[phase], NULL, message) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
}

void cse_recorder_endpoint(cse_recorder *recorder, const char *endpoint)
{
    if (recorder != NULL)
        cse_store_set(recorder->store, "control_endpoint", endpoint);
}

void cse_recorder_scale(cse_recorder *recorder, int num_csx)
{
    if (recorder != NULL)
        cse_store_set_integer(recorder->store, "num_csx", num_csx);
}

void cse_recorder_topology(cse_recorder *recorder, const char *json)
{
    if (recorder != NULL)
        cse_store_topology(recorder->store, json);
}

void cse_recorder_spans(cse_recorder *recorder, const cse_process_span *spans, int count)
{
    static const char *const kinds[] = {
        [CSE_SPAN_WAIT] = "wait",     [CSE_SPAN_COMPUTE] = "compute",
        [CSE_SPAN_REDUCE] = "reduce", [CSE_SPAN_WEIGHTS] = "weights",
        [CSE_SPAN_UPDATE] = "update", [CSE_SPAN_FILL] = "fill",
    };
    /* Steps of validations have numbers of their own. */
    if (recorder == NULL || !recorder->step->training)
        return;
    for (int i = 0; i < count; i++)
        cse_store_timeline(recorder->store,
                           &(cse_span){ .step = spans[i].step,
                                        .process = spans[i].process,
                                        .kind = kinds[spans[i].kind],
                                        .start_ns = spans[i].start_ns,
                                        .end_ns = spans[i].end_ns },
                           1);
}

void cse_recorder_kernels(cse_recorder *recorder, const cse_kernel_time *times, int count)
{
    if (recorder == NULL || !recorder->step->training)
        return;
    for (int i = 0; i < count; i++)
        cse_store_kernel(recorder->store, &(cse_kernel_row){ .step = times[i].step,
                                                             .process = times[i].process,
                                                             .kernel = times[i].kernel,
                                                             .calls = times[i].calls,
                                                             .total_ns = times[i].total_ns,
                                                             .min_ns = times[i].min_ns,
                                                             .median_ns = times[i].median_ns });
}

/* ---- what the job says ---- */

void cse_recorder_graph(cse_recorder *recorder, const char *step_name, const cse_graph *graph)
{
    if (recorder == NULL)
        return;
    char name[64];
    cse_text json = { 0 };
    bool training = strcmp(step_name, "training") == 0;
    cse_graph_to_json(graph, &json);
    snprintf(name, sizeof name, "graph.%s.json", step_name);
    cse_store_artefact(recorder->store, name, "application/json", json.data, json.size);
    json.size = 0;
    cse_precision_report_json(graph, step_name, &json);
    snprintf(name, sizeof name, training ? "precision.json" : "precision.%s.json", step_name);
    cse_store_artefact(recorder->store, name, "application/json", json.data, json.size);
    cse_text_clear(&json);
}

void cse_recorder_compiled(cse_recorder *recorder)
{
    if (recorder == NULL)
        return;
    const cse_session_report *report = &recorder->session->report;
    cse_text json = { 0 };
    cse_text_add(&json, "{\"seconds\":%.6f,\"cached\":%s,\"directory\":", report->compile_seconds,
                 report->compile_cached ? "true" : "false");
    cse_json_add_string(&json, report->artefact_directory);
    cse_text_add(&json, "}");
    cse_store_set(recorder->store, "compiled", json.data);
    cse_text_clear(&json);
}

void cse_recorder_checkpoint(cse_recorder *recorder, int64_t step, const char *path,
                             int64_t write_ns)
{
    if (recorder == NULL)
        return;
    struct stat facts = { .st_size = 0 };
    char digits[65];
    cse_checkpoint own;
    int64_t now_ns = cse_clock_ns();
    stat(path, &facts);
    cse_session_checkpoint(recorder->session, &own);
    cse_checkpoint_digest(&own, NULL, digits);
    free(own.tensors);
    cse_store_timeline(recorder->store,
                       &(cse_span){ .step = step,
                                    .process = "coordinator",
                                    .kind = "save",
                                    .start_ns = now_ns - write_ns,
                                    .end_ns = now_ns },
                       1);
    /* It has its name only after it was read back whole. */
    cse_store_checkpoint(recorder->store, &(cse_checkpoint_row){ .step = step,
                                                                 .path = path,
                                                                 .bytes = facts.st_size,
                                                                 .digest = digits,
                                                                 .write_ms = write_ns / 1000000,
                                                                 .verified = true });
}

void cse_recorder_line(cse_recorder *recorder, const char *line)
{
    if (recorder != NULL)
        keep_line(recorder, CSE_LOG_INFO, line);
}
