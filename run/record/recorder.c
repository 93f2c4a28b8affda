/* Writes the events of a job as rows of the run store. */
#include "run/record/recorder.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/graph/precision/graphamp.h"
#include "run/alerts/alert_guard.h"
#include "run/record/chain_rows.h"
#include "run/record/goodput.h"
#include "run/record/membership_events.h"
#include "run/record/printed.h"
#include "run/record/report_rows.h"
#include "run/record/run_facts.h"
#include "run/record/series.h"
#include "run/record/settings_change.h"
#include "run/record/statistics_rows.h"
#include "run/record/topology_rows.h"
#include "store/reader.h"

enum {
    MOST_CLOSURES = 64, /* each with its own rate limit; further ones share the last */
    MOST_PAYLOAD_VALUES = 16,
};
#define PROGRESS_INTERVAL_NS INT64_C(500000000) /* between two reports of a validation */
#define CLOSURE_INTERVAL_NS INT64_C(50000000)   /* between two rows of one closure */
#define GOODPUT_INTERVAL_NS INT64_C(1000000000) /* between two accounts of the time */

struct cse_recorder {
    bool ends_early; /* training ends as at its last step: nobody cancels it */
    cse_store *store;
    char run_directory[128], events_endpoint[160];
    char *model_dir;
    int64_t unix_ns; /* Unix time minus the clock of committed_ns */
    bool compiling;
    cse_series *series;
    cse_statistics_rows *statistics; /* of the execution; NULL: it collects none */
    const cse_step *step;            /* of the execution */
    cse_activity activity;           /* TRAIN or VALIDATE */
    int64_t told_ns;                 /* when the progress of a validation was last reported */
    int64_t closure_ns[MOST_CLOSURES], closures_skipped[MOST_CLOSURES];
    bool is_program;
    cse_goodput goodput;
    cse_store_past past;     /* of earlier attempts */
    int64_t goodput_told_ns; /* when the account was last stored */
    int64_t end_step;        /* of the execution */
    bool steps_ended;        /* it has reached it */
    bool trains;             /* a step of training has been recorded */
    cse_chain_rows chain;
    const cse_record_tail *tail;
    cse_alert_guard *alerts; /* NULL: none */
    cse_host_membership *hosts;
    cse_printed *printed; /* what the closure that is called prints; NULL: not kept */
};

/* ---- beginning and end ---- */

/* Prints a log record and stores it; `self` is the recorder. */
static void keep_record(void *self, const cse_log_record *record)
{
    cse_log_print(record);
    cse_store_log(((cse_recorder *)self)->store, record);
}

/* Stores a line of the coordinator, without printing it. */
static void keep_line(cse_recorder *recorder, cse_log_level level, const char *line)
{
    cse_store_log(recorder->store,
                  &(cse_log_record){ .level = level, .time_ms = cse_unix_ms(), .text = line });
}

/* ---- where the time went ---- */

static int64_t unix_ms(const cse_recorder *recorder, int64_t clock_ns)
{
    return (clock_ns + recorder->unix_ns) / 1000000;
}

/* A coordinator that takes the run over has been missing since the one before told of its time. */
static void begin_account(cse_recorder *recorder, bool takes_over)
{
    const int64_t now_ns = cse_clock_ns();
    recorder->past = cse_store_past_of(recorder->store);
    const int64_t missing_ns = recorder->past.time_ms * 1000000 - recorder->unix_ns;
    if (takes_over)
        cse_goodput_begin(&recorder->goodput, CSE_GOODPUT_RECOVERY,
                          recorder->past.time_ms > 0 && missing_ns < now_ns ? missing_ns : now_ns);
    else
        cse_goodput_begin(&recorder->goodput, CSE_GOODPUT_STARTING, now_ns);
}

static void tell_goodput(cse_recorder *recorder)
{
    const int64_t now_ns = cse_clock_ns();
    const cse_goodput until = cse_goodput_until(&recorder->goodput, now_ns);
    int64_t ms[CSE_GOODPUT_BINS], sum_ms = 0;
    cse_goodput_milliseconds(&until, ms);
    for (int b = 0; b < CSE_GOODPUT_BINS; b++)
        sum_ms += ms[b];
    const int64_t start_ms = unix_ms(recorder, until.start_ns);
    cse_store_goodput(recorder->store,
                      &(cse_goodput_row){ .start_ms = start_ms,
                                          .time_ms = start_ms + sum_ms,
                                          .starting_ms = ms[CSE_GOODPUT_STARTING],
                                          .compute_ms = ms[CSE_GOODPUT_COMPUTE],
                                          .input_ms = ms[CSE_GOODPUT_INPUT],
                                          .update_ms = ms[CSE_GOODPUT_UPDATE],
                                          .communication_ms = ms[CSE_GOODPUT_COMMUNICATION],
                                          .save_ms = ms[CSE_GOODPUT_SAVE],
                                          .validation_ms = ms[CSE_GOODPUT_VALIDATION],
                                          .recovery_ms = ms[CSE_GOODPUT_RECOVERY],
                                          .paused_ms = ms[CSE_GOODPUT_PAUSED],
                                          .idle_ms = ms[CSE_GOODPUT_IDLE] });
    recorder->goodput_told_ns = now_ns;
}

static void enter(cse_recorder *recorder, cse_goodput_bin doing)
{
    cse_goodput_enter(&recorder->goodput, doing, cse_clock_ns());
}

/* What is prepared for is part of it: the start of a validation is validation. */
static void enter_preparation(cse_recorder *recorder, bool training)
{
    const bool takes_over =
        recorder->goodput.doing == CSE_GOODPUT_RECOVERY && recorder->goodput_told_ns == 0;
    if (training && !takes_over)
        enter(recorder, CSE_GOODPUT_STARTING);
    else if (!training)
        enter(recorder, CSE_GOODPUT_VALIDATION);
}

static void account_phase(cse_recorder *recorder, cse_phase phase)
{
    const bool training = recorder->step->training;
    const cse_goodput_bin steps = recorder->steps_ended ? CSE_GOODPUT_IDLE : CSE_GOODPUT_COMPUTE;
    switch (phase) {
    case CSE_PHASE_STARTING:
        enter_preparation(recorder, training);
        return;
    case CSE_PHASE_RUNNING:
        enter(recorder, training ? steps : CSE_GOODPUT_VALIDATION);
        break;
    case CSE_PHASE_PAUSED:
        enter(recorder, CSE_GOODPUT_PAUSED);
        break;
    case CSE_PHASE_RECOVERING:
        enter(recorder, CSE_GOODPUT_RECOVERY);
        break;
    case CSE_PHASE_CANCELLING:
        enter(recorder, CSE_GOODPUT_IDLE);
        break;
    case CSE_PHASE_PAUSING:
        return; /* it takes steps until it is paused */
    }
    tell_goodput(recorder);
}

static void account_step(cse_recorder *recorder, const cse_record *record)
{
    if (!recorder->step->training)
        return;
    const cse_step_times *times = &record->times;
    cse_goodput_step(&recorder->goodput,
                     &(cse_goodput_step_times){ .committed_ns = record->committed_ns,
                                                .computed_ns = times->computed_ns,
                                                .held_from_ns = times->held_from_ns,
                                                .held_until_ns = times->held_until_ns,
                                                .input_wait_ns = times->input_wait_ns,
                                                .exposed_ns = times->exposed_ns,
                                                .replicas = times->replicas,
                                                .again = record->step < recorder->past.last_step });
    recorder->steps_ended = record->step + 1 == recorder->end_step;
    if (recorder->steps_ended)
        enter(recorder, CSE_GOODPUT_IDLE);
}

static void release(cse_recorder **recorder)
{
    cse_alert_guard_stop(&(*recorder)->alerts);
    /* Closed before the log sink is removed, since the store's thread may log until it ends. */
    cse_store_close(&(*recorder)->store);
    cse_log_set_sink(NULL, NULL);
    cse_series_destroy(&(*recorder)->series);
    cse_statistics_rows_destroy(&(*recorder)->statistics);
    cse_printed_destroy(&(*recorder)->printed);
    cse_host_membership_destroy(&(*recorder)->hosts);
    free((*recorder)->model_dir);
    cse_chain_rows_clear(&(*recorder)->chain);
    free(*recorder);
    *recorder = NULL;
}

cse_status cse_recorder_open(const cse_recorder_options *options, cse_recorder **result)
{
    cse_recorder *recorder = cse_calloc(1, sizeof *recorder);
    *result = NULL;
    recorder->unix_ns = cse_unix_ns() - cse_clock_ns();
    recorder->model_dir = cse_strdup(options->configuration->model_dir);
    snprintf(recorder->run_directory, sizeof recorder->run_directory, "%s", options->run_directory);
    snprintf(recorder->events_endpoint, sizeof recorder->events_endpoint, "ipc://%s/events",
             options->run_directory);
    cse_status status =
        cse_store_open(options->configuration->model_dir,
                       &(cse_store_options){ .events_endpoint = recorder->events_endpoint,
                                             .succession = options->succession },
                       &recorder->store);
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
    cse_text changed = { 0 };
    cse_settings_change(recorder->model_dir, options->texts.resolved, &changed);
    cse_record_facts(recorder->store, options);
    recorder->hosts = cse_host_membership_new(recorder->store, recorder->model_dir);
    recorder->series = cse_series_new(recorder->store);
    recorder->compiling = true;
    recorder->is_program = options->is_program;
    recorder->tail = options->tail;
    if (options->is_program)
        recorder->printed = cse_printed_new();
    recorder->activity.phase = CSE_RUN_PHASE_TRAIN;
    begin_account(recorder, options->succession.takes_over);
    cse_store_transition(recorder->store, CSE_RUN_COMPILING, NULL, changed.data);
    cse_text_clear(&changed);
    cse_log_set_sink(keep_record, recorder);
    status = cse_alert_guard_start(
        &(cse_alert_guard_options){ .settings = options->alerts,
                                    .model_dir = options->configuration->model_dir,
                                    .store = recorder->store },
        &recorder->alerts);
    if (status != CSE_OK)
        cse_recorder_close(&recorder,
                           &(cse_recorder_end){ .status = status, .weights_digest = "" });
    *result = recorder;
    return status;
}

bool cse_recorder_goes_on(const cse_recorder *recorder)
{
    return recorder != NULL && cse_store_attempt(recorder->store) > 1;
}

void cse_recorder_close(cse_recorder **recorder, const cse_recorder_end *end)
{
    if (*recorder == NULL)
        return;
    cse_store *store = (*recorder)->store;
    const cse_status status = end->status;
    char message[1024];
    snprintf(message, sizeof message, "%s", status != CSE_OK ? cse_error_message() : "");
    cse_alert_guard_stop(&(*recorder)->alerts);
    if (end->weights_digest[0] != '\0')
        cse_store_set(store, "weights_digest", end->weights_digest);
    tell_goodput(*recorder);
    cse_store_set(store, "control_endpoint", NULL);
    cse_store_set(store, "events_endpoint", NULL);
    if (end->hands_on != NULL && status == CSE_OK)
        cse_store_transition(store, CSE_RUN_RECOVERING, NULL, end->hands_on);
    else if (end->left_alone && (status == CSE_INTERRUPTED || (status == CSE_OK && end->stopped)))
        cse_store_transition(store, CSE_RUN_FAILED, cse_run_reason_name(CSE_REASON_INTERRUPTED),
                             "the first process of the run was killed");
    else if (status == CSE_INTERRUPTED || (status == CSE_OK && end->stopped))
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
    /* Restores the message for the caller; closing may have replaced it. */
    if (status != CSE_OK)
        cse_fail(status, "%s", message);
}

/* ---- steps ---- */

static void tell_activity(cse_recorder *recorder)
{
    cse_store_activity(recorder->store, &recorder->activity);
    recorder->told_ns = cse_clock_ns();
}

static void on_links(void *self, const char *links)
{
    cse_report_rows_links(((const cse_recorder *)self)->store, links);
}

static void on_start(void *self, const cse_step *step, const cse_session_report *report)
{
    cse_recorder *recorder = self;
    cse_store *store = recorder->store;
    recorder->step = step;
    recorder->end_step = report->last_step;
    recorder->steps_ended = false;
    memset(recorder->closure_ns, 0, sizeof recorder->closure_ns); /* other closures */
    cse_statistics_rows_destroy(&recorder->statistics);
    recorder->statistics = cse_statistics_rows_new(step->graph, store);
    cse_series_start(recorder->series, step, report);
    cse_report_rows_origin(store, report);
    if (!step->training) {
        recorder->activity =
            (cse_activity){ .phase = CSE_RUN_PHASE_VALIDATE, .steps = report->last_step };
        tell_activity(recorder);
        return;
    }
    /* What was reported before is not reported again by another coordinator. */
    (void)cse_store_flush(store);
    cse_report_rows_steps(store, step, report);
}

static void on_statistics(void *self, const cse_record *record)
{
    cse_statistics_rows_add(((cse_recorder *)self)->statistics, record);
}

/* The first step that this host has the record of, and the store has not: the leader before it was
 * killed before it had written all. */
static int64_t first_unwritten(const cse_recorder *recorder, int64_t step)
{
    cse_run_status status;
    cse_store_reader *reader = NULL;
    if (recorder->tail == NULL || cse_store_reader_open(recorder->model_dir, &reader) != CSE_OK)
        return step;
    const bool known = cse_store_reader_status(reader, &status) == CSE_OK && status.last_step >= 0;
    cse_store_reader_close(&reader);
    return known ? cse_record_tail_first(recorder->tail, status.last_step, step - 1) + 1 : step;
}

/* The leader before may have done steps that this host has not. */
static void write_tail(cse_recorder *recorder, int64_t first, int64_t end)
{
    for (int64_t step = first; step < end && step <= cse_record_tail_end(recorder->tail); step++) {
        const cse_record record = cse_record_tail_of(recorder->tail, step - 1);
        cse_series_add(recorder->series, &record, unix_ms(recorder, record.committed_ns));
    }
}

/* An attempt goes on from a checkpoint, or from the records of a coordinator that was killed: its
 * first step may be one that the store has. */
static void note_first_step(cse_recorder *recorder, int64_t step)
{
    if (recorder->trains || !recorder->step->training)
        return;
    recorder->trains = true;
    if (cse_store_attempt(recorder->store) == 1)
        return;
    const int64_t first = first_unwritten(recorder, step);
    cse_store_steps_from(recorder->store, first);
    cse_series_go_on(recorder->series, recorder->model_dir, first);
    write_tail(recorder, first, step);
}

static void on_step(void *self, const cse_record *record)
{
    cse_recorder *recorder = self;
    note_first_step(recorder, record->step + 1);
    account_step(recorder, record);
    if (!recorder->step->training) {
        bool is_last = record->step + 1 == recorder->activity.steps;
        recorder->activity.step = record->step + 1;
        if (is_last || cse_clock_ns() - recorder->told_ns >= PROGRESS_INTERVAL_NS)
            tell_activity(recorder);
    }
    cse_series_add(recorder->series, record, unix_ms(recorder, record->committed_ns));
}

static void on_chain(void *self, const cse_chain_step *step)
{
    cse_recorder *recorder = self;
    cse_chain_rows_add(&recorder->chain, recorder->store, step);
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
            cse_json_add_number(json, cse_fetched_number(fetch, fetched));
        else
            cse_json_add_string(json, cse_shape_text(fetch->value->shape, shape, sizeof shape));
    }
    cse_text_add(json, "]");
}

static void add_value_names(cse_text *json, const cse_step_closure_entry *entry)
{
    cse_text_add(json, "[");
    for (int i = 0; i < entry->count && i < MOST_PAYLOAD_VALUES; i++) {
        cse_text_add(json, i > 0 ? "," : "");
        cse_json_add_string(json, entry->value_names[i]);
    }
    cse_text_add(json, "]");
}

static void on_calling(void *self, int index)
{
    (void)index;
    cse_printed_begin(((cse_recorder *)self)->printed);
}

/* What a closure prints is in the log as well, where no call is left out. */
static void keep_printed(cse_recorder *recorder, const char *printed)
{
    char *text = cse_strdup(printed), *rest = text, *line;
    while (printed[0] != '\0' && (line = strsep(&rest, "\n")) != NULL)
        keep_line(recorder, CSE_LOG_INFO, line);
    free(text);
}

static void on_closure(void *self, const cse_closure_call *call)
{
    cse_recorder *recorder = self;
    const char *printed = cse_printed_end(recorder->printed);
    keep_printed(recorder, printed);
    if (call->status != CSE_OK)
        return;
    const cse_record *record = call->record;
    const cse_step_closure_entry *entry = &recorder->step->closures[call->index];
    const int64_t called_ns = call->called_ns;
    int place = call->index < MOST_CLOSURES ? call->index : MOST_CLOSURES - 1;
    if (!entry->on_checkpoint && called_ns - recorder->closure_ns[place] < CLOSURE_INTERVAL_NS) {
        recorder->closures_skipped[place]++;
        return;
    }
    recorder->closure_ns[place] = called_ns;
    cse_text json = { 0 };
    char name[64];
    snprintf(name, sizeof name, "closure %d", call->index);
    cse_text_add(&json,
                 "{\"steps_done\":%lld,\"call_us\":%lld,\"unlisted\":%lld,\"training\":%s,"
                 "\"names\":",
                 (long long)record->steps_done, (long long)((cse_clock_ns() - called_ns) / 1000),
                 (long long)recorder->closures_skipped[place],
                 recorder->step->training ? "true" : "false");
    recorder->closures_skipped[place] = 0;
    add_value_names(&json, entry);
    cse_text_add(&json, ",\"values\":");
    add_values(&json, recorder->step->graph, entry, record->fetched);
    if (printed[0] != '\0') {
        cse_text_add(&json, ",\"printed\":");
        cse_json_add_string(&json, printed);
    }
    cse_text_add(&json, "}");
    cse_store_closure(recorder->store,
                      &(cse_closure_row){ .step = record->step + 1,
                                          .issued_ms = unix_ms(recorder, record->committed_ns),
                                          .delivered_ms = unix_ms(recorder, called_ns),
                                          .name = entry->name != NULL ? entry->name : name,
                                          .payload = json.data });
    cse_text_clear(&json);
}

static int64_t kept_steps(void *self, int64_t handed, bool hurry)
{
    const cse_recorder *recorder = self;
    return cse_store_kept(recorder->store, handed, hurry);
}

/* A store that cannot be written keeps no checkpoint from being written: it has told of it. */
static void on_save(void *self)
{
    cse_recorder *recorder = self;
    cse_goodput_save(&recorder->goodput, true, cse_clock_ns());
    (void)cse_store_flush(recorder->store);
}

/* ---- the execution ---- */

void cse_recorder_end_early(cse_recorder *recorder)
{
    if (recorder != NULL)
        recorder->ends_early = true;
}

static void on_phase(void *self, cse_phase phase, const char *message)
{
    static const cse_run_state states[] = {
        [CSE_PHASE_STARTING] = CSE_RUN_STARTING,     [CSE_PHASE_RUNNING] = CSE_RUN_RUNNING,
        [CSE_PHASE_PAUSING] = CSE_RUN_PAUSING,       [CSE_PHASE_PAUSED] = CSE_RUN_PAUSED,
        [CSE_PHASE_RECOVERING] = CSE_RUN_RECOVERING, [CSE_PHASE_CANCELLING] = CSE_RUN_CANCELLING,
    };
    cse_recorder *recorder = self;
    account_phase(recorder, phase);
    if (phase == CSE_PHASE_CANCELLING && recorder->ends_early)
        return;
    /* Validations and later training segments belong to the run that already started. */
    if (phase == CSE_PHASE_STARTING && cse_store_state(recorder->store) != CSE_RUN_COMPILING)
        return;
    recorder->compiling = false;
    if (phase == CSE_PHASE_RUNNING && recorder->step->training &&
        recorder->activity.phase != CSE_RUN_PHASE_TRAIN) {
        recorder->activity = (cse_activity){ .phase = CSE_RUN_PHASE_TRAIN };
        tell_activity(recorder);
    }
    if (phase == CSE_PHASE_PAUSED) {
        cse_series_pause(recorder->series);
        if (!recorder->step->training)
            tell_activity(recorder); /* where it stands */
    }
    if (cse_store_transition(recorder->store, states[phase], NULL, message) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
}

static void on_recovery(void *self, const cse_process_recovery *recovery)
{
    const cse_recorder *recorder = self;
    const int64_t cost_ms = (recovery->ready_ns - recovery->lost_ns) / 1000000;
    const cse_recovery lost = { .process = recovery->process,
                                .reason = recovery->reason,
                                .lost_ms = unix_ms(recorder, recovery->lost_ns),
                                .milliseconds = cost_ms };
    cse_store_recovery(recorder->store, &lost);
    cse_membership_replaced(recorder->store, &lost);
}

static void on_audit(void *self, const cse_audit_report *report)
{
    json_t *payload =
        json_pack("{s:s, s:s, s:i, s:i, s:I, s:i, s:I, s:b, s:s}", "host", report->host, "process",
                  report->process, "process_id", report->process_id, "core", report->core, "step",
                  (json_int_t)report->step, "microbatch", report->microbatch, "confirmed_step",
                  (json_int_t)report->confirmed_step, "undecided", report->undecided, "message",
                  report->text);
    char *json = json_dumps(payload, JSON_COMPACT);
    cse_store_event(((const cse_recorder *)self)->store, "audit", json);
    free(json);
    json_decref(payload);
}

/* Every execution of the job listens at the same address: between two of them it stays known, and a
 * command waits there for the next. cse_recorder_close forgets it. */
static void on_endpoint(void *self, const char *endpoint)
{
    if (endpoint != NULL)
        cse_store_set(((cse_recorder *)self)->store, "control_endpoint", endpoint);
}

static void on_scale(void *self, int num_csx)
{
    cse_store_set_integer(((cse_recorder *)self)->store, "num_csx", num_csx);
}

/* Samples that were replaced, as a series where there are any. */
static void record_bad_records(cse_recorder *recorder, const char *json)
{
    if (strstr(json, "\"bad_records\":") == NULL || strstr(json, "\"bad_records\":0") != NULL)
        return;
    json_t *report = json_loads(json, 0, NULL);
    const json_t *count = json_object_get(json_object_get(report, "data"), "bad_records");
    if (json_integer_value(count) > 0 && recorder->step != NULL && recorder->step->training)
        cse_recorder_metric(recorder, "bad_records",
                            json_integer_value(json_object_get(report, "step")),
                            (double)json_integer_value(count));
    json_decref(report);
}

static void on_topology(void *self, const char *json)
{
    cse_recorder *recorder = self;
    if (recorder->step != NULL)
        cse_topology_rows_add(recorder->store, recorder->step->training, json);
    record_bad_records(recorder, json);
    cse_host_membership_take(recorder->hosts, json);
    if (cse_clock_ns() - recorder->goodput_told_ns >= GOODPUT_INTERVAL_NS)
        tell_goodput(recorder);
}

static void on_spans(void *self, const cse_process_span *spans, int count)
{
    static const char *const kinds[] = {
        [CSE_SPAN_WAIT] = "wait",     [CSE_SPAN_COMPUTE] = "compute",
        [CSE_SPAN_REDUCE] = "reduce", [CSE_SPAN_WEIGHTS] = "weights",
        [CSE_SPAN_UPDATE] = "update", [CSE_SPAN_FILL] = "fill",
    };
    const cse_recorder *recorder = self;
    /* Only for training: validation steps count from 0 and would be mistaken for training steps. */
    for (int i = 0; recorder->step->training && i < count; i++)
        cse_store_timeline(recorder->store,
                           &(cse_span){ .step = spans[i].step,
                                        .process = spans[i].process,
                                        .kind = kinds[spans[i].kind],
                                        .start_ns = spans[i].start_ns,
                                        .end_ns = spans[i].end_ns },
                           1);
}

static void on_kernels(void *self, const cse_kernel_time *times, int count)
{
    const cse_recorder *recorder = self;
    for (int i = 0; recorder->step->training && i < count; i++)
        cse_store_kernel(recorder->store, &(cse_kernel_row){ .step = times[i].step,
                                                             .process = times[i].process,
                                                             .kernel = times[i].kernel,
                                                             .calls = times[i].calls,
                                                             .total_ns = times[i].total_ns,
                                                             .min_ns = times[i].min_ns,
                                                             .median_ns = times[i].median_ns });
}

/* ---- the compiled step ---- */

static void on_planned(void *self, const cse_step *step)
{
    enter_preparation(self, step->training);
}

static void on_graph(void *self, const cse_step *step)
{
    cse_recorder *recorder = self;
    const char *step_name = step->training ? "training" : "evaluation";
    char name[64];
    cse_text json = { 0 };
    cse_graph_to_json(step->graph, &json);
    snprintf(name, sizeof name, "graph.%s.json", step_name);
    cse_store_artefact(recorder->store, name, "application/json", json.data, json.size);
    json.size = 0;
    cse_precision_report_json(step->graph, step_name, &json);
    snprintf(name, sizeof name, step->training ? "precision.json" : "precision.%s.json", step_name);
    cse_store_artefact(recorder->store, name, "application/json", json.data, json.size);
    cse_text_clear(&json);
}

static void on_compiled(void *self, const cse_session_report *report)
{
    cse_text json = { 0 };
    cse_text_add(&json, "{\"seconds\":%.6f,\"cached\":%s,\"directory\":", report->compile_seconds,
                 report->compile_cached ? "true" : "false");
    cse_json_add_string(&json, report->artefact_directory);
    cse_text_add(&json, "}");
    cse_store_set(((cse_recorder *)self)->store, "compiled", json.data);
    cse_text_clear(&json);
}

static void on_scalar(void *self, const cse_named_scalar *scalar)
{
    cse_recorder_metric(self, scalar->name, scalar->step, scalar->value);
}

/* Its path holds wherever the store is read. */
static void on_saved(void *self, const cse_saved_checkpoint *saved)
{
    cse_recorder *recorder = self;
    cse_goodput_save(&recorder->goodput, false, cse_clock_ns());
    if (!recorder->is_program)
        return; /* the job reports it */
    char *path = realpath(saved->path, NULL);
    cse_recorder_checkpoint(recorder,
                            &(cse_written_checkpoint){ .step = saved->step,
                                                       .start_ns = saved->start_ns,
                                                       .end_ns = saved->end_ns,
                                                       .path = path != NULL ? path : saved->path,
                                                       .digest = saved->digest,
                                                       .identity = saved->identity });
    free(path);
}

cse_session_observer cse_recorder_observer(cse_recorder *recorder)
{
    if (recorder == NULL)
        return (cse_session_observer){ .self = NULL };
    return (cse_session_observer){ .self = recorder,
                                   .run_directory = recorder->run_directory,
                                   .on_planned = on_planned,
                                   .on_graph = on_graph,
                                   .on_compiled = on_compiled,
                                   .on_start = on_start,
                                   .on_links = on_links,
                                   .on_statistics = on_statistics,
                                   .on_chain = on_chain,
                                   .on_step = on_step,
                                   .on_calling = on_calling,
                                   .on_closure = on_closure,
                                   .on_scalar = recorder->is_program ? on_scalar : NULL,
                                   .on_save = on_save,
                                   .on_saved = on_saved,
                                   .kept_steps = kept_steps,
                                   .events = { .self = recorder,
                                               .on_phase = on_phase,
                                               .on_recovery = on_recovery,
                                               .on_audit = on_audit,
                                               .on_scale = on_scale,
                                               .on_endpoint = on_endpoint,
                                               .on_topology = on_topology,
                                               .on_spans = on_spans,
                                               .on_kernels = on_kernels } };
}

/* ---- what the job adds ---- */

void cse_recorder_artefact(cse_recorder *recorder, const char *name, const char *json)
{
    if (recorder != NULL)
        cse_store_artefact(recorder->store, name, "application/json", json, strlen(json));
}

void cse_recorder_constant(cse_recorder *recorder, const char *name, double value)
{
    if (recorder != NULL)
        cse_series_add_constant(recorder->series, name, value);
}

void cse_recorder_metric(cse_recorder *recorder, const char *name, int64_t step, double value)
{
    if (recorder != NULL)
        cse_store_point(recorder->store, cse_store_series(recorder->store, name), step, value);
}

void cse_recorder_checkpoint(cse_recorder *recorder, const cse_written_checkpoint *written)
{
    if (recorder == NULL)
        return;
    struct stat facts = { .st_size = 0 };
    char identity[128];
    stat(written->path, &facts);
    snprintf(identity, sizeof identity, "%s step %lld", written->identity,
             (long long)written->step);
    cse_store_set(recorder->store, "identity", identity);
    cse_store_timeline(recorder->store,
                       &(cse_span){ .step = written->step,
                                    .process = "coordinator",
                                    .kind = "save",
                                    .start_ns = written->start_ns,
                                    .end_ns = written->end_ns },
                       1);
    /* Verified: a checkpoint is read back before it gets its final name. */
    cse_store_checkpoint(
        recorder->store,
        &(cse_checkpoint_row){ .step = written->step,
                               .path = written->path,
                               .bytes = facts.st_size,
                               .digest = written->digest,
                               .write_ms = (written->end_ns - written->start_ns) / 1000000,
                               .verified = true });
}

void cse_recorder_validating(cse_recorder *recorder)
{
    if (recorder == NULL)
        return;
    enter(recorder, CSE_GOODPUT_VALIDATION);
    recorder->activity = (cse_activity){ .phase = CSE_RUN_PHASE_VALIDATE };
    tell_activity(recorder);
}

/* The activity of the run, or another one for as long as it `lasts`. */
static void tell_meanwhile(cse_recorder *recorder, cse_run_phase phase, bool lasts)
{
    if (recorder == NULL)
        return;
    cse_activity activity = recorder->activity;
    if (lasts)
        activity.phase = phase;
    cse_store_activity(recorder->store, &activity);
}

void cse_recorder_saving(cse_recorder *recorder, bool saving)
{
    /* It is not written yet, or by another process while the steps go on, or it failed. */
    if (recorder != NULL)
        cse_goodput_save(&recorder->goodput, false, cse_clock_ns());
    tell_meanwhile(recorder, CSE_RUN_PHASE_SAVE, saving);
}

void cse_recorder_storage(cse_recorder *recorder, bool waits)
{
    if (recorder != NULL)
        cse_goodput_save(&recorder->goodput, waits, cse_clock_ns());
    tell_meanwhile(recorder, CSE_RUN_PHASE_STORAGE, waits);
}

void cse_recorder_line(cse_recorder *recorder, const char *line)
{
    if (recorder != NULL)
        keep_line(recorder, CSE_LOG_INFO, line);
}
