/* The server's and the jobs' figures in the text format of Prometheus. */
#include "dashboard/server.h"
#include "engine/base/escape.h"

typedef struct figure {
    const char *name, *type, *help;
    double value;
} figure;

static void add_head(cse_text *text, const char *name, const char *type, const char *help)
{
    cse_text_add(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_figure(cse_text *text, const figure *f)
{
    add_head(text, f->name, f->type, f->help);
    cse_text_add(text, "%s %.17g\n", f->name, f->value);
}

/* What each running job has one value of. The format wants the values of a family together, so that
 * each family is a text of its own until all jobs were seen. */
static const struct {
    const char *name, *help;
    const char *member; /* of the job's progress; NULL: not from there */
} families[] = {
    { "csengine_job_step", "Last committed step.", "step" },
    { "csengine_job_last_step", "Step at which the run ends.", "last_step" },
    { "csengine_job_samples_per_second", "Samples trained in a second.", "samples_per_second" },
    { "csengine_job_steps_per_second", "Steps trained in a second.", "steps_per_second" },
    { "csengine_job_loss", "Loss of the last step.", "loss" },
    { "csengine_job_store_failing", "1 while the run store cannot be written.", NULL },
};
enum { FAMILIES = sizeof families / sizeof families[0], MOST_JOBS = 1000 };

typedef struct gauges {
    const cse_request *request;
    cse_text values[FAMILIES];
    int count;
} gauges;

static void add_value(cse_text *text, const char *name, const cse_job *job, double value)
{
    cse_text_add(text, "%s{job=\"", name);
    cse_escape_label(text, job->record.id);
    cse_text_add(text, "\",name=\"");
    cse_escape_label(text, job->record.name);
    cse_text_add(text, "\"} %.17g\n", value);
}

/* The newest figures of a running job. */
static bool add_job(void *self, const cse_job *job)
{
    gauges *g = self;
    if (!job->alive)
        return true;
    json_t *shown = cse_job_json(g->request->server->jobs, job);
    const json_t *progress = json_object_get(shown, "progress");
    for (int i = 0; i < FAMILIES; i++) {
        const char *member = families[i].member;
        const json_t *value = member != NULL ? json_object_get(progress, member) : NULL;
        if (member == NULL)
            add_value(&g->values[i], families[i].name, job,
                      json_is_object(json_object_get(shown, "store_failure")));
        else if (json_is_number(value))
            add_value(&g->values[i], families[i].name, job, json_number_value(value));
    }
    json_decref(shown);
    return ++g->count < MOST_JOBS;
}

static void add_jobs(cse_text *text, const cse_request *request)
{
    gauges g = { .request = request };
    cse_jobs_each(request->server->jobs, add_job, &g);
    for (int i = 0; i < FAMILIES; i++) {
        add_head(text, families[i].name, "gauge", families[i].help);
        if (g.values[i].size > 0)
            cse_text_add_bytes(text, g.values[i].data, g.values[i].size);
        cse_text_clear(&g.values[i]);
    }
}

static void add_states(cse_text *text, const cse_job_budget *budget)
{
    add_head(text, "csengine_jobs", "gauge", "Jobs by state.");
    for (int i = 0; i < CSE_RUN_STATE_COUNT; i++)
        cse_text_add(text, "csengine_jobs{state=\"%s\"} %lld\n",
                     cse_run_state_name((cse_run_state)i), (long long)budget->states[i]);
}

static void answer_figures(const cse_request *request, cse_answer *answer)
{
    cse_server *server = request->server;
    cse_text text = { 0 };
    cse_http_figures http = cse_http_figures_now(server->http);
    cse_feed_figures feed = cse_feed_figures_now(server->feed);
    cse_job_budget budget = cse_jobs_budget(server->jobs);
    const figure figures[] = {
        { "csengine_http_connections", "gauge", "Open connections.", http.connections },
        { "csengine_http_requests_total", "counter", "Answers so far.", (double)http.requests },
        { "csengine_http_errors_total", "counter", "Answers of 5xx.", (double)http.errors },
        { "csengine_http_refused_total", "counter", "Answers of 401, 403, 429.",
          (double)http.refused },
        { "csengine_http_late_total", "counter", "Connections ended for being late.",
          (double)http.dropped },
        { "csengine_http_sent_bytes_total", "counter", "Bytes of answers.",
          (double)http.bytes_sent },
        { "csengine_event_streams", "gauge", "Open event streams.", feed.streams },
        { "csengine_events_total", "counter", "Events taken from runs.", (double)feed.events },
        { "csengine_event_gaps_total", "counter", "Gap events sent to streams.",
          (double)feed.gaps },
        { "csengine_budget_cores", "gauge", "Cores for jobs.", (double)budget.cores },
        { "csengine_used_cores", "gauge", "Cores of jobs that run.", (double)budget.used_cores },
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        add_figure(&text, &figures[i]);
    add_states(&text, &budget);
    add_jobs(&text, request);
    cse_answer_text(answer, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
}

const cse_route cse_route_prometheus = {
    .path = "/metrics",
    .tag = "server",
    .operations = {
        { CSE_OPERATION("GET", "getPrometheus", answer_figures,
                        "The server's and the jobs' figures for Prometheus"),
          .replies = "200 text/plain string  # text format 0.0.4" },
    },
};
