/* The server's and the jobs' figures in the text format of Prometheus. */
#include "dashboard/server.h"

typedef struct figure {
    const char *name, *type, *help;
    double value;
} figure;

static void add_figure(cse_text *text, const figure *f)
{
    cse_text_add(text, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", f->name, f->help, f->name, f->type,
                 f->name, f->value);
}

static void add_label(cse_text *text, const char *value)
{
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"')
            cse_text_add(text, "\\%c", *c);
        else if (*c == '\n')
            cse_text_add(text, "\\n");
        else
            cse_text_add(text, "%c", *c);
    }
}

typedef struct gauges {
    const cse_request *request;
    cse_text *text;
    int count;
} gauges;

/* The newest figures of a running job. */
static bool add_job(void *self, const cse_job *job)
{
    static const char *const names[] = { "step", "last_step", "samples_per_second",
                                         "steps_per_second", "loss" };
    gauges *g = self;
    if (!job->alive)
        return true;
    json_t *shown = cse_job_json(g->request->server->jobs, job);
    const json_t *progress = json_object_get(shown, "progress");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *value = json_object_get(progress, names[i]);
        if (!json_is_number(value))
            continue;
        cse_text_add(g->text, "csengine_job_%s{job=\"", names[i]);
        add_label(g->text, job->record.id);
        cse_text_add(g->text, "\",name=\"");
        add_label(g->text, job->record.name);
        cse_text_add(g->text, "\"} %.17g\n", json_number_value(value));
    }
    cse_text_add(g->text, "csengine_job_store_failing{job=\"");
    add_label(g->text, job->record.id);
    cse_text_add(g->text, "\",name=\"");
    add_label(g->text, job->record.name);
    cse_text_add(g->text, "\"} %d\n", json_is_object(json_object_get(shown, "store_failure")));
    json_decref(shown);
    return ++g->count < 1000;
}

static void add_states(cse_text *text, const cse_job_budget *budget)
{
    cse_text_add(text, "# HELP csengine_jobs Jobs by state.\n# TYPE csengine_jobs gauge\n");
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
    gauges g = { .request = request, .text = &text };
    cse_jobs_each(server->jobs, add_job, &g);
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
