/* What the store of a fork says comes first: the job that it is may itself have begun elsewhere. */
#include "dashboard/queue/job_fork.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -1: the store has no such number. */
static int64_t read_number(cse_store_reader *reader, const char *key)
{
    cse_text text = { 0 };
    int64_t number = -1;
    if (cse_store_reader_key(reader, key, &text) && text.size > 0)
        number = strtoll(text.data, NULL, 10);
    cse_text_clear(&text);
    return number;
}

static json_t *fork_of_store(cse_store_reader *reader)
{
    cse_text from = { 0 };
    json_t *fork = NULL;
    const int64_t step = read_number(reader, "forked_at");
    if (step > 0 && cse_store_reader_key(reader, "forked_from", &from) && from.size > 0)
        fork = json_pack("{s:n, s:s, s:I, s:b}", "job", "model_dir", from.data, "step",
                         (json_int_t)step, "copied", 1);
    cse_text_clear(&from);
    return fork;
}

/* The step is that of the checkpoint; where the newest was asked for, it is known once the run
 * began. */
static json_t *fork_of_spec(const char *text, cse_store_reader *reader)
{
    json_t *spec = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const json_t *forked = json_object_get(spec, "fork_from");
    const json_t *from = forked != NULL ? forked : json_object_get(spec, "resume_from");
    const json_t *asked = json_object_get(from, "step");
    const char *job = json_string_value(json_object_get(from, "job"));
    const int64_t step = asked != NULL                      ? json_integer_value(asked)
                         : reader != NULL && forked == NULL ? read_number(reader, "run_first_step")
                                                            : -1;
    json_t *fork = job != NULL && step > 0
                       ? json_pack("{s:s, s:n, s:I, s:b}", "job", job, "model_dir", "step",
                                   (json_int_t)step, "copied", 0)
                       : NULL;
    json_decref(spec);
    return fork;
}

json_t *cse_job_fork_json(const cse_job_record *record, cse_store_reader *reader)
{
    json_t *fork = reader != NULL ? fork_of_store(reader) : NULL;
    if (fork == NULL)
        fork = fork_of_spec(record->spec, reader);
    return fork != NULL ? fork : json_null();
}

/* ---- the job ---- */

typedef struct search {
    const char *model_dir;
    char *id;
    bool found;
} search;

static bool take_job(void *self, const cse_job *job)
{
    search *s = self;
    s->found = strcmp(job->record.model_dir, s->model_dir) == 0;
    if (s->found)
        snprintf(s->id, CSE_JOB_ID_BYTES, "%s", job->record.id);
    return !s->found;
}

bool cse_job_fork_origin(cse_jobs *jobs, const json_t *fork, char id[CSE_JOB_ID_BYTES])
{
    const char *job = json_string_value(json_object_get(fork, "job"));
    search s = { .model_dir = json_string_value(json_object_get(fork, "model_dir")), .id = id };
    snprintf(id, CSE_JOB_ID_BYTES, "%s", job != NULL ? job : "");
    if (job == NULL && s.model_dir != NULL)
        cse_jobs_each(jobs, take_job, &s);
    return job != NULL || s.found;
}
