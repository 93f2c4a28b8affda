/* The list of jobs, and new ones. */
#include <stdio.h>
#include <string.h>

#include "dashboard/queue/job_values.h"
#include "dashboard/routes/create.h"
#include "dashboard/routes/route_support.h"
#include "dashboard/routes/where.h"

typedef struct listing {
    const cse_request *request;
    const json_t *states, *labels, *health;
    const char *name;
    cse_where where;
    int64_t before, limit, total, last;
    json_t *jobs;
} listing;

static bool has_state(const listing *list, const cse_job *job)
{
    size_t i;
    json_t *one;
    json_array_foreach(list->states, i,
                       one) if (strcmp(json_string_value(one),
                                       cse_run_state_name(job->record.state)) == 0) return true;
    return list->states == NULL;
}

/* Whether the job has every requested "key" or "key=value". */
static bool has_labels(const listing *list, const cse_job *job)
{
    size_t i;
    json_t *one;
    bool all = true;
    json_t *labels = list->labels != NULL ? json_loads(job->record.labels, 0, NULL) : NULL;
    json_array_foreach(list->labels, i, one)
    {
        char key[80];
        const char *wanted = json_string_value(one), *equals = strchr(wanted, '=');
        size_t length = equals != NULL ? (size_t)(equals - wanted) : strlen(wanted);
        snprintf(key, sizeof key, "%.*s", (int)length, wanted);
        const char *value = json_string_value(json_object_get(labels, key));
        all = all && value != NULL && (equals == NULL || strcmp(value, equals + 1) == 0);
    }
    json_decref(labels);
    return all;
}

/* Whether it has a finding of the kinds that are asked for. */
static bool has_health(const listing *list, const json_t *job)
{
    size_t i, j;
    json_t *wanted, *one;
    json_array_foreach(json_object_get(job, "health"), i, one) json_array_foreach(
        list->health, j, wanted) if (json_equal(json_object_get(one, "kind"), wanted)) return true;
    return false;
}

/* What needs more of the job than its record. */
static bool is_wanted(listing *list, const cse_job *job, const json_t *shown)
{
    bool holds = true;
    if (list->where.expression != NULL) {
        json_t *values = cse_job_values(list->request->server->jobs, job);
        holds = cse_where_holds(&list->where, shown, values);
        json_decref(values);
    }
    return holds && (list->health == NULL || has_health(list, shown));
}

static bool take_job(void *self, const cse_job *job)
{
    listing *list = self;
    json_t *shown = NULL;
    bool named = list->name == NULL || strcasestr(job->record.name, list->name) != NULL ||
                 strcasestr(job->record.id, list->name) != NULL;
    if (!named || !has_state(list, job) || !has_labels(list, job))
        return true;
    if (list->health != NULL || list->where.expression != NULL) {
        shown = cse_job_json(list->request->server->jobs, job);
        if (!is_wanted(list, job, shown)) {
            json_decref(shown);
            return true;
        }
    }
    list->total++;
    if ((list->before > 0 && job->record.seq >= list->before) ||
        (int64_t)json_array_size(list->jobs) == list->limit) {
        json_decref(shown);
        return true;
    }
    list->last = job->record.seq;
    if (shown == NULL)
        shown = cse_job_json(list->request->server->jobs, job);
    json_array_append_new(list->jobs, shown);
    return true;
}

static void list_jobs(const cse_request *request, cse_answer *answer)
{
    listing list = { .request = request,
                     .states = json_object_get(request->values, "state"),
                     .labels = json_object_get(request->values, "label"),
                     .health = json_object_get(request->values, "health"),
                     .name = cse_request_text(request, "name", NULL),
                     .limit = cse_request_integer(request, "limit", 100) };
    if (!cse_page_token_read(request, answer, &list.before))
        return;
    if (!cse_where_read(request, answer, &list.where))
        return;
    list.jobs = json_array();
    cse_jobs_each(request->server->jobs, take_job, &list);
    if (!cse_where_end(&list.where, answer)) {
        json_decref(list.jobs);
        return;
    }
    bool more = (int64_t)json_array_size(list.jobs) == list.limit && list.last > 1;
    cse_answer_json(answer, 200,
                    json_pack("{s:o, s:o, s:I}", "jobs", list.jobs, "next_page_token",
                              more ? cse_page_token_new(list.last) : json_null(), "total",
                              (json_int_t)list.total));
}

static void create_job(const cse_request *request, cse_answer *answer)
{
    cse_route_create_job(request, answer, NULL);
}

static const char parameters[] = "limit\n"
                                 "page_token\n"
                                 "state? [,State] ..11  # comma-separated: any of these\n"
                                 "  = [\"RUNNING\", \"PAUSED\"]\n"
                                 "label? [,LabelFilter] ..16  # comma-separated: key or key=value; "
                                 "all must match\n"
                                 "  = [\"team=vision\"]\n" CSE_WHERE_PARAMETER
                                 "health? [,HealthKind] ..5  # comma-separated: with a finding "
                                 "of any of these\n"
                                 "  = [\"diverged\"]\n"
                                 "name? string ..200  # part of the name or id\n";

static const char schemas[] =
    "JobList\n"
    "  jobs [Job]\n"
    "  next_page_token string|null  # ask for the next page with it; null: this is the last\n"
    "  total integer 0..  # jobs that match the filters\n";

const cse_route cse_route_jobs = {
    .path = "/api/v1/jobs",
    .tag = "jobs",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listJobs", list_jobs, "Jobs, newest first"),
          .parameters = parameters,
          .replies = "200 JobList" },
        { CSE_OPERATION("POST", "createJob", create_job, "Puts a job into the queue"),
          CSE_CREATE_OPERATION,
          .parameters = "Idempotency-Key\n" CSE_CREATE_PARAMETERS },
    },
};
