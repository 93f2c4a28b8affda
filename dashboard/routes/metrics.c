/* Series of a run at the resolution that was asked for. */
#include <stdlib.h>

#include "dashboard/curves.h"
#include "dashboard/server.h"
#include "engine/base/json.h"

enum { MOST_NAMES = 101 };

static void take_name(void *self, const cse_row *row)
{
    cse_text *names = self;
    cse_text_add(names, "%s", names->size > 1 ? "," : "");
    cse_json_add_string(names, row->fields[1].text);
}

static void take_number(void *self, const cse_row *row)
{
    *(int64_t *)self = row->fields[0].integer;
}

static cse_status read_curves(const cse_request *request, cse_store_reader *reader,
                              cse_curves_head *head, cse_text *rows)
{
    const char *names[MOST_NAMES] = { NULL };
    const json_t *wanted = json_object_get(request->values, "names");
    cse_run_status status;
    for (size_t i = 0; i < json_array_size(wanted) && i + 1 < MOST_NAMES; i++)
        names[i] = json_string_value(json_array_get(wanted, i));
    const cse_metrics_query query = { .names = wanted != NULL ? names : NULL,
                                      .attempt = cse_request_integer(request, "attempt", 0),
                                      .first_step = cse_request_integer(request, "from", 0),
                                      .last_step = cse_request_integer(request, "to", 0),
                                      .max_points =
                                          cse_request_integer(request, "max_points", 1000) };
    /* The number first: what comes meanwhile is in the answer and told again, not lost. */
    CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_EVENT,
                                  &(cse_store_query){ .limit = 1, .newest_first = true },
                                  take_number, &head->last_event_id));
    CSE_TRY(cse_store_reader_status(reader, &status));
    head->attempts = status.attempt;
    cse_text dropped = { 0 };
    if (cse_store_reader_key(reader, "dropped_series", &dropped))
        head->dropped_series = strtoll(dropped.data, NULL, 10);
    cse_text_clear(&dropped);
    return cse_store_reader_metrics(reader, &query, rows);
}

static void get_metrics(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_text rows = { 0 }, names = { 0 }, out = { 0 };
    cse_curves_head head = { .attempts = 0 };
    bool binary = cse_request_accepts(request, "application/vnd.csengine.columns");
    if (!cse_server_open_run(request, answer, &run))
        return;
    cse_text_add(&names, "[");
    cse_status status = cse_store_reader_rows(
        run.reader, CSE_ROW_SERIES, &(cse_store_query){ .limit = 10000 }, take_name, &names);
    cse_text_add(&names, "]");
    head.names = names.data;
    if (status == CSE_OK)
        status = read_curves(request, run.reader, &head, &rows);
    if (status == CSE_OK)
        status = cse_curves_turn(rows.data, &head, binary, &out);
    if (status == CSE_OK)
        cse_answer_text(answer, 200,
                        binary ? "application/vnd.csengine.columns" : "application/json", &out);
    else
        cse_answer_failure(answer, status);
    cse_server_close_run(request, &run);
    cse_text_clear(&rows);
    cse_text_clear(&names);
    cse_text_clear(&out);
}

const cse_route cse_route_metrics = {
    .path = "/api/v1/jobs/{id}/metrics",
    .operations = {
        { .id = "getMetrics", .handle = get_metrics },
        { 0 },
    },
};
