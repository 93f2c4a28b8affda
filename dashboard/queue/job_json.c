/* A job as the API shows it: its record joined with what the run store says. */
#include "dashboard/queue/job_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/queue/job_derived.h"
#include "dashboard/queue/job_fork.h"
#include "dashboard/queue/job_health.h"
#include "dashboard/queue/jobs_commands.h"
#include "dashboard/queue/run_account.h"
#include "engine/base/arena.h"
#include "store/notes.h"
#include "store/step_at.h"

/* ---- what the run knows ---- */

static json_t *read_text(cse_store_reader *reader, const char *key)
{
    cse_text text = { 0 };
    json_t *value = NULL;
    if (cse_store_reader_key(reader, key, &text))
        value = json_string(text.data != NULL ? text.data : "");
    cse_text_clear(&text);
    return value != NULL ? value : json_null();
}

static json_t *read_integer(cse_store_reader *reader, const char *key)
{
    cse_text text = { 0 };
    json_t *value = json_null();
    char *end = NULL;
    if (cse_store_reader_key(reader, key, &text) && text.size > 0) {
        long long number = strtoll(text.data, &end, 10);
        if (*end == '\0')
            value = json_integer(number);
    }
    cse_text_clear(&text);
    return value;
}

static json_t *number_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* The newest value of a series. */
static double last_value(cse_store_reader *reader, const char *series)
{
    cse_point point;
    return cse_store_reader_last_point(reader, series, &point) ? point.value : (double)NAN;
}

static void take_least(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    double *least = self;
    (void)curve;
    if (row != NULL && isfinite(row->minimum) && !(*least <= row->minimum))
        *least = row->minimum;
}

/* The least value of a series, from its coarsest buckets. */
static double least_value(cse_store_reader *reader, const char *series)
{
    const char *const names[] = { series, NULL };
    const cse_metrics_query query = { .names = names, .max_points = 16 };
    double least = (double)NAN;
    return cse_store_reader_metrics(reader, &query, take_least, &least) == CSE_OK ? least
                                                                                  : (double)NAN;
}

/* The newest (`place` 1) or least (2) value of a series: from the write-failure journal, where the
 * run keeps what it could not write, else from the store. */
static double newest_value(cse_store_reader *reader, const json_t *failure, const char *series,
                           int place)
{
    const json_t *latest = json_object_get(json_object_get(failure, "latest"), series);
    const json_t *value = json_array_get(latest, (size_t)place);
    double written = (double)NAN;
    if (reader != NULL && (value == NULL || place == 2))
        written = place == 2 ? least_value(reader, series) : last_value(reader, series);
    double held = json_is_number(value) ? json_number_value(value) : (double)NAN;
    if (place == 2)
        return fmin(written, held);
    return value != NULL ? held : written;
}

/* ---- what it does ---- */

static json_t *time_or_null(int64_t time_ms)
{
    return time_ms > 0 ? json_integer(time_ms) : json_null();
}

static json_t *read_report(cse_store_reader *reader)
{
    cse_text text = { 0 };
    json_t *report = NULL;
    if (reader != NULL && cse_store_reader_key(reader, "phase", &text) && text.data != NULL)
        report = json_loads(text.data, 0, NULL);
    cse_text_clear(&text);
    return report;
}

/* The run's own report (store/phase_report.h) is newer than the record's state, or older, where the
 * server changed that: the phase is one that the state allows. */
static void add_phase(json_t *facts, const cse_job_record *record, cse_store_reader *reader)
{
    json_t *report = read_report(reader);
    const char *reported = json_string_value(json_object_get(report, "phase"));
    cse_run_phase last = cse_run_phase_of(reported), activity = last;
    bool validates = json_is_integer(json_object_get(report, "steps"));
    if (validates && (last == CSE_RUN_PHASE_PAUSED || last == CSE_RUN_PHASE_RECOVER))
        activity = CSE_RUN_PHASE_VALIDATE;
    cse_run_phase phase = cse_run_phase_in(record->state, activity);
    json_t *since = json_object_get(report, "since_ms");
    if (phase == CSE_RUN_PHASE_NONE)
        since = NULL;
    else if (phase == last && since != NULL)
        json_incref(since);
    else
        since = time_or_null(record->state_since_ms);
    json_object_set_new(facts, "phase",
                        phase != CSE_RUN_PHASE_NONE ? json_string(cse_run_phase_name(phase))
                                                    : json_null());
    json_object_set_new(facts, "phase_since_ms", since != NULL ? since : json_null());
    validates = validates && phase != CSE_RUN_PHASE_NONE && phase != CSE_RUN_PHASE_TRAIN;
    json_t *step = validates ? json_object_get(report, "step") : NULL;
    json_t *steps = validates ? json_object_get(report, "steps") : NULL;
    json_object_set_new(facts, "phase_step", step != NULL ? json_incref(step) : json_null());
    json_object_set_new(facts, "phase_steps", steps != NULL ? json_incref(steps) : json_null());
    json_t *recovery = json_object_get(report, "recovery");
    json_object_set_new(facts, "recovery",
                        json_is_object(recovery)
                            ? json_incref(recovery)
                            : json_pack("{s:i,s:i,s:n}", "count", 0, "milliseconds", 0, "last"));
    json_decref(report);
}

static bool takes_steps(const json_t *facts)
{
    const char *phase = json_string_value(json_object_get(facts, "phase"));
    return phase != NULL && (strcmp(phase, "train") == 0 || strcmp(phase, "save") == 0);
}

/* ---- how far it is ---- */

/* `takes_steps`: whether the run goes on at its rate. */
static json_t *progress_json(cse_store_reader *reader, const json_t *failure, bool takes_steps,
                             const cse_run_account *account)
{
    json_t *progress = json_object();
    json_t *step = reader != NULL ? read_integer(reader, "last_step") : json_null();
    json_int_t held = json_integer_value(json_object_get(failure, "last_step"));
    if (failure != NULL && held >= 0 && held > json_integer_value(step)) {
        json_decref(step);
        step = json_integer(held);
    }
    json_t *last = reader != NULL ? read_integer(reader, "run_last_step") : json_null();
    json_t *batch = reader != NULL ? read_integer(reader, "batch_size") : json_null();
    double rate = newest_value(reader, failure, "samples_per_second", 1);
    double steps_rate = json_is_integer(batch) && json_integer_value(batch) > 0
                            ? rate / (double)json_integer_value(batch)
                            : (double)NAN;
    double rest = (double)(json_integer_value(last) - json_integer_value(step));
    const double mean = cse_run_account_mean_rate(account, reader, json_integer_value(step),
                                                  json_integer_value(batch));
    bool known = takes_steps && json_is_integer(last) && json_is_integer(step) && rest >= 0;
    json_object_set_new(progress, "step", step);
    json_object_set_new(progress, "last_step", last);
    json_object_set_new(progress, "samples_per_second", number_or_null(rate));
    json_object_set_new(progress, "steps_per_second", number_or_null(steps_rate));
    json_object_set_new(progress, "mean_samples_per_second", number_or_null(mean));
    json_object_set_new(progress, "loss", number_or_null(newest_value(reader, failure, "loss", 1)));
    json_object_set_new(progress, "minimum_loss",
                        number_or_null(newest_value(reader, failure, "loss", 2)));
    json_object_set_new(progress, "eta_seconds",
                        number_or_null(known && steps_rate > 0 ? rest / steps_rate : (double)NAN));
    json_decref(batch);
    return progress;
}

/* Since when and why the run store cannot be written, and what was lost; null when it can. */
static json_t *store_failure_json(const json_t *failure)
{
    static const char *const lost[] = { "points", "logs", "closures", "samples" };
    if (failure == NULL)
        return json_null();
    json_t *shown = json_object(), *counts = json_object();
    json_object_set(shown, "since_ms", json_object_get(failure, "since_ms"));
    json_object_set(shown, "message", json_object_get(failure, "message"));
    json_object_set(shown, "waiting_rows", json_object_get(failure, "waiting_rows"));
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        json_object_set(counts, lost[i],
                        json_object_get(json_object_get(failure, "lost"), lost[i]));
    json_object_set_new(shown, "lost", counts);
    return shown;
}

static void add_run_facts(json_t *object, cse_store_reader *reader)
{
    static const char *const texts[] = { "model", "optimizer", "host" };
    static const char *const numbers[] = { "batch_size", "micro_batch_size", "num_csx", "seed",
                                           "numerics_every" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        json_object_set_new(object, texts[i],
                            reader != NULL ? read_text(reader, texts[i]) : json_null());
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        json_object_set_new(object, numbers[i],
                            reader != NULL ? read_integer(reader, numbers[i]) : json_null());
    static const char *const identities[][2] = { { "identity", "identity" },
                                                 { "identity_links", "links" },
                                                 { "data", "data" } };
    for (size_t i = 0; i < sizeof identities / sizeof identities[0]; i++)
        json_object_set_new(object, identities[i][0],
                            reader != NULL ? read_text(reader, identities[i][1]) : json_null());
}

/* ---- what the server keeps ---- */

static json_t *links_json(const char *id)
{
    static const char *const names[] = { "events",      "transitions", "logs",      "metrics",
                                         "closures",    "graph",       "precision", "topology",
                                         "numerics",    "tensors",     "trace",     "config",
                                         "checkpoints", "goodput" };
    json_t *links = json_object();
    json_object_set_new(links, "self", json_sprintf("/api/v1/jobs/%s", id));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_object_set_new(links, names[i], json_sprintf("/api/v1/jobs/%s/%s", id, names[i]));
    return links;
}

static void add_state(json_t *object, cse_jobs *jobs, const cse_job *job)
{
    const cse_job_record *r = &job->record;
    bool failed = r->state == CSE_RUN_FAILED;
    json_object_set_new(object, "state", json_string(cse_run_state_name(r->state)));
    json_object_set_new(object, "reason",
                        failed && r->reason[0] != '\0' ? json_string(r->reason) : json_null());
    json_t *message = json_string(r->message);
    json_object_set_new(object, "message", message != NULL ? message : json_string(""));
    json_object_set_new(
        object, "retryable",
        json_boolean(failed && cse_run_reason_retryable(cse_run_reason_of(r->reason))));
    json_object_set_new(object, "alive", json_boolean(job->alive));
    bool waits = job->waiting_for[0] != '\0' &&
                 (r->state == CSE_RUN_QUEUED || r->state == CSE_RUN_RECOVERING);
    json_object_set_new(object, "waiting_for", waits ? json_string(job->waiting_for) : json_null());
    json_object_set_new(object, "state_since_ms", time_or_null(r->state_since_ms));
    json_t *commands = json_array();
    for (int i = 0; cse_job_commands[i] != NULL; i++)
        if (cse_job_can(jobs, job, cse_job_commands[i]))
            json_array_append_new(commands, json_string(cse_job_commands[i]));
    json_object_set_new(object, "capabilities", commands);
}

static void add_record(json_t *object, const cse_job_record *r)
{
    char priority[3] = { 'p', (char)('0' + r->priority), '\0' };
    json_t *labels = json_loads(r->labels, 0, NULL);
    json_object_set_new(object, "id", json_string(r->id));
    json_object_set_new(object, "name", json_string(r->name));
    json_object_set_new(object, "priority", json_string(priority));
    json_object_set_new(object, "labels", json_is_object(labels) ? labels : json_object());
    if (labels != NULL && !json_is_object(labels))
        json_decref(labels);
    json_object_set_new(object, "token", r->owner[0] != '\0' ? json_string(r->owner) : json_null());
    json_object_set_new(object, "attempt", json_integer(r->attempt));
    json_object_set_new(object, "restarts", json_integer(r->restarts));
    json_object_set_new(object, "max_num_restarts", json_integer(r->max_num_restarts));
    json_object_set_new(object, "created_ms", json_integer(r->created_ms));
    json_object_set_new(object, "resources",
                        json_pack("{s:I, s:I}", "cores", (json_int_t)r->cores, "memory_bytes",
                                  (json_int_t)r->memory_bytes));
    json_object_set_new(object, "model_dir", json_string(r->model_dir));
    json_object_set_new(object, "folder_gone", json_boolean(cse_job_folder_is_gone(r)));
    json_object_set_new(object, "exit_code",
                        r->exit_code >= 0 ? json_integer(r->exit_code) : json_null());
    json_object_set_new(object, "revision", json_integer(r->revision));
    json_object_set_new(object, "links", links_json(r->id));
}

/* When the run began, and when the attempt that took its last step ended. */
typedef struct run_times {
    int64_t first_ms, last_ms;
    int64_t attempt; /* that took the last step; 0: none did */
} run_times;

static void take_attempt(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    run_times *times = self;
    if (row != NULL && curve->attempt > times->attempt)
        times->attempt = curve->attempt;
}

static void take_time(void *self, const cse_row *row)
{
    run_times *times = self;
    if (times->first_ms == 0)
        times->first_ms = row->fields[1].integer;
    if (times->attempt == 0 || row->fields[6].integer <= times->attempt)
        times->last_ms = row->fields[1].integer;
}

/* The times by the run's own transitions. A run that was finished and is started again takes no
 * step, and has its old times. */
static void read_times(cse_store_reader *reader, run_times *times)
{
    static const char *const loss[] = { "loss", NULL };
    const cse_metrics_query query = { .names = loss, .max_points = 1 };
    cse_store_reader_metrics(reader, &query, take_attempt, times);
    cse_store_reader_rows(reader, CSE_ROW_TRANSITION, &(cse_store_query){ .limit = 10000 },
                          take_time, times);
}

static void add_times(json_t *object, const cse_job *job, cse_store_reader *reader)
{
    const cse_job_record *record = &job->record;
    const bool submitted = record->pid != 0 || record->digest[0] != '\0';
    run_times run = { .first_ms = 0 };
    int64_t began_ms = record->started_ms, ended_ms = record->ended_ms;
    if (reader != NULL && (!submitted || record->state == CSE_RUN_SUCCEEDED)) {
        read_times(reader, &run);
        ended_ms = run.last_ms > 0 ? run.last_ms : ended_ms;
        began_ms = began_ms == 0 && !submitted ? run.first_ms : began_ms;
    }
    json_object_set_new(object, "started_ms", time_or_null(began_ms));
    json_object_set_new(object, "ended_ms", time_or_null(job->settled ? ended_ms : 0));
}

/* The part that comes from the run store. */
static json_t *read_facts(cse_jobs *jobs, const cse_job *job, const void *unused)
{
    (void)unused;
    cse_store_reader *reader = NULL;
    json_t *facts = json_object();
    const char *model_dir = job->record.model_dir;
    if (cse_readers_borrow(jobs->options.readers, model_dir, &reader) != CSE_OK)
        reader = NULL;
    json_t *failure = reader != NULL ? cse_store_reader_failure_journal(reader) : NULL;
    add_times(facts, job, reader);
    add_run_facts(facts, reader);
    json_object_set_new(facts, "pid",
                        job->alive && job->record.pid > 0 ? json_integer(job->record.pid)
                        : job->alive && reader != NULL    ? read_integer(reader, "pid")
                                                          : json_null());
    add_phase(facts, &job->record, reader);
    const cse_run_account account = cse_run_account_read(reader);
    json_object_set_new(facts, "ran_ms",
                        account.ran_ms >= 0 ? json_integer(account.ran_ms) : json_null());
    json_object_set_new(facts, "progress",
                        progress_json(reader, failure, takes_steps(facts), &account));
    json_object_set_new(facts, "store_failure", store_failure_json(failure));
    json_object_set_new(facts, "health", cse_job_health(reader));
    json_object_set_new(facts, "fork", cse_job_fork_json(&job->record, reader));
    json_decref(failure);
    cse_readers_give_back(jobs->options.readers, model_dir, &reader);
    return facts;
}

/* Their file changes without the run store: nothing of it is kept. */
static void add_notes(json_t *object, const char *model_dir)
{
    json_t *notes = NULL;
    (void)cse_notes_read(model_dir, &notes);
    const size_t count = json_array_size(notes);
    const json_t *newest = count > 0 ? json_array_get(notes, count - 1) : NULL;
    json_t *text = json_object_get(newest, "text");
    json_object_set_new(object, "notes", json_integer((json_int_t)count));
    json_object_set_new(object, "note", text != NULL ? json_incref(text) : json_null());
    json_decref(notes);
}

json_t *cse_job_json(cse_jobs *jobs, const cse_job *job)
{
    json_t *object = json_object();
    add_record(object, &job->record);
    add_state(object, jobs, job);
    json_t *facts = cse_job_derived(jobs, job, CSE_DERIVED_FACTS, read_facts, NULL);
    json_object_update(object, facts);
    add_notes(object, job->record.model_dir);
    if (job->warnings != NULL)
        json_object_set(object, "warnings", job->warnings);
    json_decref(facts);
    return object;
}

/* ---- transitions ---- */

static json_t *cse_text_json(const char *text)
{
    json_t *value = text != NULL && *text != '\0' ? json_string(text) : NULL;
    return value != NULL ? value : json_null();
}

static void add_transition(json_t *list, const cse_job_transition *t, const char *origin)
{
    json_t *object = json_object(), *message = json_string(t->message != NULL ? t->message : "");
    json_object_set_new(object, "seq", json_integer(0));
    json_object_set_new(object, "step", json_null());
    json_object_set_new(object, "time_ms", json_integer(t->time_ms));
    json_object_set_new(object, "from",
                        t->from == CSE_RUN_NONE ? json_null()
                                                : json_string(cse_run_state_name(t->from)));
    json_object_set_new(object, "to", json_string(cse_run_state_name(t->to)));
    json_object_set_new(object, "reason", cse_text_json(t->reason));
    json_object_set_new(object, "message", message != NULL ? message : json_string(""));
    json_object_set_new(object, "attempt", json_integer(t->attempt));
    json_object_set_new(object, "origin", json_string(origin));
    /* Sorted by time; equal times keep their order. */
    size_t at = json_array_size(list);
    while (at > 0 && json_integer_value(json_object_get(json_array_get(list, at - 1), "time_ms")) >
                         t->time_ms)
        at--;
    json_array_insert_new(list, at, object);
}

static void take_server(void *self, int64_t seq, const cse_job_transition *t)
{
    (void)seq;
    add_transition(self, t, "server");
}

static void take_run(void *self, const cse_row *row)
{
    const cse_job_transition t = { .time_ms = row->fields[1].integer,
                                   .from = cse_run_state_of(row->fields[2].text),
                                   .to = cse_run_state_of(row->fields[3].text),
                                   .reason = row->fields[4].text,
                                   .message = row->fields[5].text,
                                   .attempt = row->fields[6].integer };
    if (t.to != CSE_RUN_NONE)
        add_transition(self, &t, "run");
}

/* The end of a run whose folder is gone, and its own transitions with it. */
static void add_end(json_t *list, const cse_job *job)
{
    const cse_job_record *r = &job->record;
    const json_t *last = json_array_get(list, json_array_size(list) - 1);
    const char *state = json_string_value(json_object_get(last, "to"));
    const cse_run_state from = cse_run_state_of(state);
    if (!job->settled || !cse_run_state_is_terminal(r->state) || from == r->state)
        return;
    const cse_job_transition t = { .time_ms = r->ended_ms > 0 ? r->ended_ms : r->state_since_ms,
                                   .from = from,
                                   .to = r->state,
                                   .reason = r->reason,
                                   .message = r->message,
                                   .attempt = r->attempt };
    add_transition(list, &t, "run");
}

/* What had been done by then; null: nothing, or it is not known. */
static void add_steps(json_t *list, cse_store_reader *reader)
{
    cse_step_finder *finder = cse_step_finder_new(reader);
    json_t *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        const json_t *time = json_object_get(one, "time_ms");
        const int64_t step = cse_step_finder_at(finder, json_integer_value(time));
        if (step >= 0)
            json_object_set_new(one, "step", json_integer(step));
    }
    cse_step_finder_destroy(&finder);
}

json_t *cse_job_transitions_json(cse_jobs *jobs, const cse_job *job)
{
    cse_store_reader *reader = NULL;
    json_t *list = json_array(), *one;
    const cse_store_query query = { .limit = 10000 };
    size_t i;
    if (jobs->db != NULL)
        cse_jobs_db_transitions(jobs->db, job->record.id, take_server, list);
    if (cse_readers_borrow(jobs->options.readers, job->record.model_dir, &reader) == CSE_OK)
        cse_store_reader_rows(reader, CSE_ROW_TRANSITION, &query, take_run, list);
    else
        add_end(list, job);
    if (reader != NULL)
        add_steps(list, reader);
    cse_readers_give_back(jobs->options.readers, job->record.model_dir, &reader);
    json_array_foreach(list, i, one)
        json_object_set_new(one, "seq", json_integer((json_int_t)i + 1));
    return list;
}
