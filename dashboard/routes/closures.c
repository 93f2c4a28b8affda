/* Deliveries of step closures: their step, when it was committed, when the closure returned. */
#include "dashboard/routes/route_support.h"

static void list_closures(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_text rows = { 0 };
    bool tail = cse_request_has(request, "tail");
    int64_t limit = cse_request_integer(request, tail ? "tail" : "limit", 100);
    if (!cse_server_open_run(request, answer, &run))
        return;
    const cse_store_query query = { .after = cse_request_integer(request, "after", 0),
                                    .limit = limit,
                                    .newest_first = tail };
    cse_status status = cse_store_reader_json(run.reader, CSE_ROW_CLOSURE, &query, &rows);
    cse_server_close_run(request, &run);
    json_t *list = status == CSE_OK ? json_loads(rows.data, 0, NULL) : NULL;
    cse_text_clear(&rows);
    if (list == NULL) {
        cse_answer_failure(answer, status == CSE_OK ? CSE_IO : status);
        return;
    }
    size_t count = json_array_size(list);
    json_t *ordered = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append(ordered, json_array_get(list, tail ? count - 1 - i : i));
    json_decref(list);
    const json_t *last = json_object_get(json_array_get(ordered, count - 1), "id");
    bool more = !tail && count > 0 && (int64_t)count == limit;
    cse_answer_json(answer, 200,
                    json_pack("{s:o, s:o}", "closures", ordered, "next_after",
                              more ? json_integer(json_integer_value(last)) : json_null()));
}

static const char parameters[] = "after? integer 0..  # later than this id\n"
                                 "tail? integer 1..1000  # the newest so many\n"
                                 "limit\n";

static const char schemas[] = "Closure\n"
                              "  id integer\n"
                              "  attempt integer\n"
                              "  step integer  # step whose values were delivered\n"
                              "  issued_ms time  # when the step was committed\n"
                              "  delivered_ms time  # when the closure returned\n"
                              "  name string\n"
                              "  payload any\n"
                              "ClosureList\n"
                              "  closures [Closure]\n"
                              "  next_after integer|null  # ask with after= for later ones\n";

const cse_route cse_route_closures = {
    .path = "/api/v1/jobs/{id}/closures",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listClosures", list_closures, "Deliveries of step closures"),
          .parameters = parameters,
          .replies = "200 ClosureList",
          .problems = "503" },
    },
};
