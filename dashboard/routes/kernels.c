/* How long each kernel of the plan took in a sampled step, over all processes that ran it. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"

enum { MOST_KERNELS = CSE_STORE_KEPT_KERNELS };

typedef struct kernel_sum {
    int64_t kernel, calls, total_ns, min_ns;
    double weighted_medians_ns; /* each weighted by its calls */
    json_t *processes;          /* that ran it, as indices of the sample's; NULL: none did */
} kernel_sum;

typedef struct sample {
    int64_t attempt, step; /* step 0: none */
    kernel_sum *kernels;
    int64_t count, room;
    json_t *processes;
} sample;

static void take_step(void *self, const cse_row *row)
{
    sample *s = self;
    s->attempt = row->fields[0].integer;
    s->step = row->fields[1].integer;
}

/* The rows of one process are consecutive. Gives its index. */
static size_t note_process(sample *s, const char *process)
{
    for (size_t i = json_array_size(s->processes); i > 0; i--)
        if (strcmp(json_string_value(json_array_get(s->processes, i - 1)), process) == 0)
            return i - 1;
    json_array_append_new(s->processes, json_string(process));
    return json_array_size(s->processes) - 1;
}

static void take_kernel(void *self, const cse_row *row)
{
    sample *s = self;
    const cse_field *f = row->fields;
    const int64_t kernel = f[3].integer, calls = f[4].integer;
    if (f[2].text == NULL || kernel < 0 || kernel >= MOST_KERNELS || calls <= 0)
        return;
    const size_t process = note_process(s, f[2].text);
    for (; s->count <= kernel; s->count++) {
        CSE_GROW(s->kernels, s->count, s->room);
        s->kernels[s->count] = (kernel_sum){ .kernel = s->count, .min_ns = INT64_MAX };
    }
    kernel_sum *sum = &s->kernels[kernel];
    sum->calls += calls;
    sum->total_ns += f[5].integer;
    if (f[6].integer < sum->min_ns)
        sum->min_ns = f[6].integer;
    sum->weighted_medians_ns += (double)f[7].integer * (double)calls;
    if (sum->processes == NULL)
        sum->processes = json_array();
    json_array_append_new(sum->processes, json_integer((json_int_t)process));
}

static int slowest_first(const void *a, const void *b)
{
    const kernel_sum *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static json_t *kernels_json(sample *s)
{
    json_t *list = json_array();
    if (s->count > 0)
        qsort(s->kernels, (size_t)s->count, sizeof *s->kernels, slowest_first);
    for (int64_t i = 0; i < s->count; i++) {
        const kernel_sum *k = &s->kernels[i];
        if (k->calls > 0)
            json_array_append_new(
                list, json_pack("{s:I, s:I, s:I, s:I, s:I, s:O}", "kernel", (json_int_t)k->kernel,
                                "calls", (json_int_t)k->calls, "total_ns", (json_int_t)k->total_ns,
                                "min_ns", (json_int_t)k->min_ns, "median_ns",
                                (json_int_t)(k->weighted_medians_ns / (double)k->calls),
                                "processes", k->processes));
        json_decref(s->kernels[i].processes);
    }
    return list;
}

/* The requested step, or the newest, of the requested attempt, or of the newest that has one: an
 * attempt that has just begun, or that found nothing left to do, has none. */
static cse_status read_sample(const cse_request *request, cse_store_reader *reader, sample *s)
{
    cse_run_status run;
    cse_store_query query = { .attempt = cse_request_integer(request, "attempt", 0),
                              .limit = 1,
                              .newest_first = true };
    CSE_TRY(cse_store_reader_status(reader, &run));
    s->attempt = query.attempt > 0 ? query.attempt : run.attempt;
    query.first_step = query.last_step = cse_request_integer(request, "step", 0);
    CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_KERNEL, &query, take_step, s));
    query = (cse_store_query){
        .attempt = s->attempt, .limit = MOST_KERNELS, .first_step = s->step, .last_step = s->step
    };
    return s->step > 0 ? cse_store_reader_rows(reader, CSE_ROW_KERNEL, &query, take_kernel, s)
                       : CSE_OK;
}

static void get_kernels(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    sample s = { .step = 0 };
    if (!cse_server_open_run(request, answer, &run))
        return;
    s.processes = json_array();
    cse_status status = read_sample(request, run.reader, &s);
    cse_server_close_run(request, &run);
    const bool none = s.step == 0, asked = cse_request_has(request, "step");
    cse_answer_result(
        answer, status,
        json_pack("{s:I, s:o, s:O, s:o, s:s?}", "attempt", (json_int_t)s.attempt, "step",
                  none ? json_null() : json_integer(s.step), "processes", s.processes, "kernels",
                  kernels_json(&s), "missing",
                  !none   ? NULL
                  : asked ? "this step's kernels were not timed; the trace names sampled steps"
                          : "no step's kernels were timed yet: one of the first steps is "
                            "sampled, then about one a second; steps on which numerics are "
                            "counted are not, with numerics: {every: 1} none"));
    json_decref(s.processes);
    free(s.kernels);
}

static const char parameters[] = "step? integer 1..  # a sampled step; without it, the newest\n"
                                 "attempt? integer 1..  # absent: the newest that has samples\n";

static const char schemas[] =
    "Kernels  # Kernels (groups of the graph) of one sampled step, over all processes, "
    "slowest first.\n"
    "  attempt integer\n"
    "  step integer|null  # steps done when it was over\n"
    "  processes [string]  # those that ran kernels: replica 0, ...\n"
    "  kernels [KernelTime]\n"
    "  missing string|null  # what is not there and why\n"
    "KernelTime\n"
    "  kernel integer  # index in the graph's groups\n"
    "  calls integer  # in the step: once a microbatch, once, or once for each range of an "
    "update\n"
    "  total_ns integer\n"
    "  min_ns integer  # of a call\n"
    "  median_ns integer  # of a call; of several processes, the mean of their medians by "
    "calls\n"
    "  processes [integer]  # that ran it, as indices of the sample's processes\n";

const cse_route cse_route_kernels = {
    .path = "/api/v1/jobs/{id}/kernels",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getKernels", get_kernels,
                        "How long each kernel of the step took, in a sampled step"),
          .parameters = parameters,
          .replies = "200 Kernels",
          .problems = "503" },
    },
};
