/* Sampled steps in the format of Chrome's tracing, which Perfetto opens. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"

enum { MOST_SPANS = 20000, MOST_PROCESSES = 512 };

typedef struct tracing {
    json_t *events, *steps;
    char *processes[MOST_PROCESSES];
    int process_count;
    int64_t base_ns, last_step;
} tracing;

/* What names the whole, and a lane. */
static json_t *metadata(const char *what, int lane, const char *name)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", what, "ph", "M", "pid", 1, "tid",
                     lane, "args", "name", name);
}

/* Each process has its own lane (thread) in the trace. */
static int lane_of(tracing *t, const char *process)
{
    for (int i = 0; i < t->process_count; i++)
        if (strcmp(t->processes[i], process) == 0)
            return i + 1;
    if (t->process_count == MOST_PROCESSES)
        return MOST_PROCESSES;
    t->processes[t->process_count++] = cse_strdup(process);
    json_array_append_new(t->events, metadata("thread_name", t->process_count, process));
    return t->process_count;
}

static void note_step(tracing *t, int64_t step)
{
    if (step == t->last_step)
        return;
    t->last_step = step;
    json_array_append_new(t->steps, json_integer(step));
}

static void take_span(void *self, const cse_row *row)
{
    tracing *t = self;
    const cse_field *f = row->fields;
    if (f[2].text == NULL || f[3].text == NULL)
        return;
    if (t->base_ns == 0)
        t->base_ns = f[4].integer;
    int lane = lane_of(t, f[2].text);
    note_step(t, f[1].integer);
    json_array_append_new(
        t->events,
        json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:{s:I, s:I}}", "name", f[3].text, "cat",
                  "step", "ph", "X", "ts", (double)(f[4].integer - t->base_ns) / 1e3, "dur",
                  (double)(f[5].integer - f[4].integer) / 1e3, "pid", 1, "tid", lane, "args",
                  "step", (json_int_t)f[1].integer, "attempt", (json_int_t)f[0].integer));
}

static void get_trace(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    tracing t = { .last_step = -1 };
    if (!cse_server_open_run(request, answer, &run))
        return;
    t.events = json_array();
    json_array_append_new(t.events, metadata("process_name", 0, run.job.record.id));
    t.steps = json_array();
    const cse_store_query query = { .limit = MOST_SPANS,
                                    .attempt = cse_request_integer(request, "attempt", 0),
                                    .first_step = cse_request_integer(request, "from", 0),
                                    .last_step = cse_request_integer(request, "to", 0) };
    cse_status status = cse_store_reader_rows(run.reader, CSE_ROW_SPAN, &query, take_span, &t);
    cse_server_close_run(request, &run);
    bool none = t.process_count == 0;
    cse_answer_result(answer, status,
                      json_pack("{s:O, s:s, s:O, s:s?}", "traceEvents", t.events, "displayTimeUnit",
                                "ms", "steps", t.steps, "missing",
                                none ? "no step of this range was sampled" : NULL));
    json_decref(t.events);
    json_decref(t.steps);
    for (int i = 0; i < t.process_count; i++)
        free(t.processes[i]);
}

static const char parameters[] = "from? integer 0..  # first step\n"
                                 "to? integer 0..  # last step\n"
                                 "attempt\n";

static const char schemas[] =
    "Trace open  # Chrome's trace event format; opens in Perfetto as it is.\n"
    "  traceEvents [open]\n"
    "    name,ph string\n"
    "    ts? number  # microseconds\n"
    "    dur? number  # microseconds\n"
    "    pid,tid integer\n"
    "    cat? string\n"
    "    args? object\n"
    "  displayTimeUnit string\n"
    "  steps [integer]  # sampled steps that are there\n"
    "  missing string|null\n";

const cse_route cse_route_trace = {
    .path = "/api/v1/jobs/{id}/trace",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getTrace", get_trace,
                        "Sampled steps as a trace of Chrome's format"),
          .parameters = parameters,
          .replies = "200 Trace",
          .problems = "503" },
    },
};
