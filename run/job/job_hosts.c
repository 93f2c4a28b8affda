/* The digest of a record is taken of its step and the bytes of all its values. */
#include "run/job/job_hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/nn/configured.h"
#include "run/job/host_reports.h"
#include "run/record/record_tail.h"

typedef cse_job job;

static int stops(void *self)
{
    const job *j = self;
    return j->environment->stop_requested != NULL
               ? j->environment->stop_requested(j->environment->self)
               : 0;
}

/* Of a follower. */
static void on_topology(void *self, const char *json)
{
    const struct cse_job_hosts *h = self;
    cse_host_group_report(h->group, json);
}

/* A follower's report stays one of its own host, as the leader wants it. */
static void describe(void *describer, json_t *report)
{
    const job *j = describer;
    if (!cse_job_follows(j))
        cse_host_reports_add(j->environment->hosts->group, j->environment->host_change, report);
}

static cse_status meet(void *self, const cse_execution *execution,
                       const cse_execution_hosts **hosts)
{
    const job *j = self;
    struct cse_job_hosts *h = j->environment->hosts;
    const cse_members_execution begun = { .number = ++h->executions,
                                          .microbatches = execution->graph->microbatch_count,
                                          .first_step = execution->first_step,
                                          .last_step =
                                              execution->first_step + execution->num_steps };
    *hosts = &h->execution;
    CSE_TRY(cse_host_group_begin(h->group, &begun, stops, self, &h->execution));
    h->execution.describe = describe;
    h->execution.describer = self;
    return CSE_OK;
}

/* All hosts count the job's data loaders alike: that of training first. */
static int loader_number(const job *j, const cse_settings *input)
{
    const cse_job_settings *s = j->settings;
    for (int v = 0; s->val_dataloader != NULL && v < s->val_count; v++)
        if (s->val_dataloader[v].settings == input)
            return 1 + v;
    return 0;
}

static cse_status ask_data(void *self, const cse_settings *input, char **description)
{
    const job *j = self;
    return cse_host_group_ask_data(j->environment->hosts->group, loader_number(j, input), stops,
                                   self, description);
}

static void tell_data(void *self, const cse_settings *input, const char *description)
{
    const job *j = self;
    cse_host_group_tell_data(j->environment->hosts->group, loader_number(j, input), description);
}

static void on_start(void *self, const cse_step *step, const cse_session_report *report)
{
    struct cse_job_hosts *h = self;
    (void)report;
    h->record_bytes = (size_t)step->graph->space_bytes[CSE_SPACE_FETCH];
    h->training = step->training;
}

/* FNV-1a over words of 8 bytes: a difference is what it is to show, not an attack. */
static uint64_t digest_of(const cse_record *record, size_t bytes)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)record->step, word;
    digest = (digest ^ record->states_digest) * UINT64_C(0x100000001b3);
    for (size_t at = 0; at < bytes; at += sizeof word) {
        word = 0;
        memcpy(&word, record->fetched + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        digest = (digest ^ word) * UINT64_C(0x100000001b3);
        digest ^= digest >> 32;
    }
    return digest;
}

static void on_step(void *self, const cse_record *record)
{
    const struct cse_job_hosts *h = self;
    cse_host_group_note_record(h->group, record->step, digest_of(record, h->record_bytes));
    if (h->tail != NULL && h->training)
        cse_record_tail_add(h->tail, record, h->record_bytes);
}

void cse_job_hosts_attach(cse_job *j)
{
    struct cse_job_hosts *h = j->environment->hosts;
    if (h == NULL)
        return;
    cse_session_observer *last = &j->watch.observer;
    h->observer = (cse_session_observer){ .self = h, .on_start = on_start, .on_step = on_step };
    h->observer.next = last->next;
    if (cse_job_follows(j)) {
        h->observer.events.self = h;
        h->observer.events.on_topology = on_topology;
    }
    h->observer.events.next = last->events.next;
    last->next = &h->observer;
    last->events.next = &h->observer.events;
    j->session->hooks.meet_hosts = meet;
    j->session->hooks.follows = cse_job_follows(j);
    if (cse_host_group_has_data(h->group))
        j->session->hooks.tell_data = tell_data;
    else
        j->session->hooks.ask_data = ask_data;
    if (!cse_job_follows(j) && !cse_host_group_has_data(h->group))
        cse_log_line(CSE_LOG_INFO, "this host has no data: the pages show no samples of them");
}

const char *cse_job_checkpoint_directory(const cse_job *j)
{
    const struct cse_job_hosts *h = j->environment->hosts;
    if (!cse_job_follows(j))
        return j->session->configuration.model_dir;
    if (j->session->opened.cluster.state_copies > 0)
        return NULL; /* it has a part of the states alone */
    return h->takes_lead != NULL && h->takes_lead(h->self) ? h->given->message.job.model_dir : NULL;
}

bool cse_job_follows(const cse_job *j)
{
    return j->environment->hosts != NULL && j->environment->hosts->given != NULL;
}

void cse_job_stop(const cse_job *j)
{
    if (j->environment->hosts == NULL)
        cse_stop();
    else if (!cse_job_follows(j))
        cse_host_group_end_execution(j->environment->hosts->group);
}

bool cse_job_lost_part(const cse_job *j)
{
    return j->environment->hosts != NULL && cse_host_group_lost_part(j->environment->hosts->group);
}

bool cse_job_doubts_states(const cse_job *j)
{
    return j->environment->hosts != NULL && cse_host_group_differs(j->environment->hosts->group);
}

bool cse_job_stops_here(const cse_job *j)
{
    return j->environment->hosts != NULL && cse_host_group_ends_here(j->environment->hosts->group);
}

void cse_job_follow(cse_job_settings *s, struct cse_job_hosts *hosts, const char *directory)
{
    static const char *const no_labels[] = { NULL };
    s->session.model_dir = directory;
    s->session.job_labels = no_labels;
    s->session.job_time_sec = 0;
    s->no_checkpoints = false; /* its last step stays saveable */
    s->checkpoint_steps = 0;
    s->checkpoint_minutes = 0;
    s->save_initial_checkpoint = false;
    s->autoload_last_checkpoint = false;
    s->checkpoint_path =
        hosts->given->message.job.loading == CSE_LOADS_NAMED ? hosts->given->file : NULL;
    s->loggers = NULL;
    s->logger_count = 0;
    s->keep = 0;
    s->keep_best = NULL;
}

cse_status cse_job_hosts_give(cse_job *j, bool owes_validation)
{
    struct cse_job_hosts *h = j->environment->hosts;
    const cse_job_settings *s = j->settings;
    cse_host_message given = { .kind = CSE_HOST_JOB };
    cse_text past = { 0 };
    char directory[4096] = "";
    if (h == NULL || h->given != NULL)
        return CSE_OK;
    if (getcwd(directory, sizeof directory) == NULL)
        return cse_fail(CSE_IO, "the working directory has no path");
    cse_past_validations_print(j->past, &past);
    given.job.configuration = s->given_configuration;
    given.job.directory = cse_arena_string(j->session->arena, directory);
    given.job.model_dir = j->session->configuration.model_dir;
    given.job.loading = j->loaded_path == NULL       ? CSE_LOADS_NOTHING
                        : s->checkpoint_path != NULL ? CSE_LOADS_NAMED
                                                     : CSE_LOADS_NEWEST;
    given.job.run_start = j->session->plan.run_start;
    given.job.run_end = j->session->plan.run_end;
    given.job.owes_validation = owes_validation;
    given.job.validations = past.data != NULL ? cse_arena_string(j->session->arena, past.data) : "";
    cse_text_clear(&past);
    return cse_host_group_give_job(h->group, &given, j->loaded_path);
}
