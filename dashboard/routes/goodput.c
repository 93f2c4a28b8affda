/* Where the time of a run went. */
#include <string.h>

#include "dashboard/routes/route_support.h"

/* The columns of the table before and after those of the bins. */
enum { FIRST_BIN = 3 };

typedef struct account {
    json_t *attempts;
    int64_t elapsed_ms, compute_ms; /* of all attempts */
} account;

static double share(int64_t part_ms, int64_t whole_ms)
{
    return whole_ms > 0 ? (double)part_ms / (double)whole_ms : 0;
}

/* "compute_ms" is the bin "compute". */
static json_t *bin_json(const char *column, int64_t milliseconds, int64_t elapsed_ms)
{
    return json_pack("{s:o, s:I, s:f}", "name",
                     json_stringn(column, strlen(column) - (sizeof "_ms" - 1)), "milliseconds",
                     (json_int_t)milliseconds, "share", share(milliseconds, elapsed_ms));
}

static void take_attempt(void *self, const cse_row *row)
{
    account *a = self;
    const char *columns = cse_row_describe(CSE_ROW_GOODPUT)->columns;
    char column[64];
    const int64_t start_ms = row->fields[1].integer, time_ms = row->fields[2].integer;
    int64_t compute_ms = 0;
    json_t *bins = json_array();
    for (int i = 0; cse_next_column(&columns, column, sizeof column); i++) {
        if (i < FIRST_BIN)
            continue;
        const int64_t milliseconds = row->fields[i].integer;
        if (strcmp(column, "compute_ms") == 0)
            compute_ms = milliseconds;
        json_array_append_new(bins, bin_json(column, milliseconds, time_ms - start_ms));
    }
    json_array_append_new(a->attempts,
                          json_pack("{s:I, s:I, s:I, s:I, s:f, s:o}", "attempt",
                                    (json_int_t)row->fields[0].integer, "start_ms",
                                    (json_int_t)start_ms, "time_ms", (json_int_t)time_ms,
                                    "elapsed_ms", (json_int_t)(time_ms - start_ms), "goodput",
                                    share(compute_ms, time_ms - start_ms), "bins", bins));
    a->elapsed_ms += time_ms - start_ms;
    a->compute_ms += compute_ms;
}

static void get_goodput(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    if (!cse_server_open_run(request, answer, &run))
        return;
    account a = { .attempts = json_array() };
    json_t *failure = cse_store_reader_failure_journal(run.reader);
    const cse_store_query query = { .limit = 0 };
    cse_status status =
        cse_store_reader_rows(run.reader, CSE_ROW_GOODPUT, &query, take_attempt, &a);
    cse_server_close_run(request, &run);
    const char *missing =
        json_array_size(a.attempts) == 0
            ? "no account was taken: the run is about to start, or was made by an "
              "earlier version"
            : NULL;
    if (failure != NULL)
        missing = "the run store cannot be written; the account is an earlier one";
    cse_answer_result(answer, status,
                      json_pack("{s:O, s:I, s:f, s:s?}", "attempts", a.attempts, "elapsed_ms",
                                (json_int_t)a.elapsed_ms, "goodput",
                                share(a.compute_ms, a.elapsed_ms), "missing", missing));
    json_decref(a.attempts);
    json_decref(failure);
}

static const char schemas[] =
    "GoodputBin\n"
    "  name 'starting'|'compute'|'input'|'update'|'communication'|'save'|'validation'|'recovery'|"
    "'paused'|'idle'\n"
    "  milliseconds integer 0..\n"
    "  share number 0..1  # of elapsed_ms\n"
    "GoodputAttempt\n"
    "  attempt integer 1..\n"
    "  start_ms,time_ms time  # the account is of the time between them\n"
    "  elapsed_ms integer 0..\n"
    "  goodput number 0..1  # share of compute\n"
    "  bins [GoodputBin]  # each millisecond is in one: they add up to elapsed_ms\n"
    "Goodput\n"
    "  attempts [GoodputAttempt]  # oldest first\n"
    "  elapsed_ms integer 0..  # of all attempts\n"
    "  goodput number 0..1  # of all attempts\n"
    "  missing string|null  # what is not there and why\n";

const cse_route cse_route_goodput = {
    .path = "/api/v1/jobs/{id}/goodput",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getGoodput", get_goodput,
                        "Where the time went: each millisecond in one bin, about once a second"),
          .replies = "200 Goodput",
          .problems = "503" },
    },
};
