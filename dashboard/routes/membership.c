/* Processes of a run that ended and were replaced, and hosts that left it or joined it. */
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "store/step_at.h"

enum { MOST_CHANGES = 1000 }; /* as in the description below */

typedef struct reading {
    json_t *changes;
    int64_t last_id, total;
    cse_step_finder *finder;
} reading;

/* The payload is an object, to which the step is added. */
static void take_event(void *self, const cse_row *row)
{
    reading *r = self;
    const cse_field *payload = &row->fields[3];
    r->last_id = row->fields[0].integer;
    json_t *change =
        payload->text != NULL ? json_loadb(payload->text, payload->size, 0, NULL) : NULL;
    if (!json_is_object(change) || r->total++ >= MOST_CHANGES) {
        json_decref(change);
        return;
    }
    const json_t *time = json_object_get(change, "time_ms");
    const int64_t step = cse_step_finder_at(r->finder, json_integer_value(time));
    json_object_set_new(change, "step", step >= 0 ? json_integer(step) : json_null());
    json_array_append_new(r->changes, change);
}

static void list_changes(const cse_request *request, cse_answer *answer)
{
    static const char *const types[] = { "membership", NULL };
    cse_server_run run;
    if (!cse_server_open_run(request, answer, &run))
        return;
    reading r = { .changes = json_array(), .finder = cse_step_finder_new(run.reader) };
    int64_t after = -1;
    cse_status status = CSE_OK;
    while (status == CSE_OK && after != r.last_id) {
        after = r.last_id;
        status = cse_store_reader_rows(
            run.reader, CSE_ROW_EVENT,
            &(cse_store_query){ .after = after, .filters = { { "type", types } } }, take_event, &r);
    }
    cse_step_finder_destroy(&r.finder);
    cse_server_close_run(request, &run);
    cse_answer_result(
        answer, status,
        json_pack("{s:O, s:I}", "membership", r.changes, "total", (json_int_t)r.total));
    json_decref(r.changes);
}

static const char schemas[] =
    "MembershipChange\n"
    "  what 'process'|'host'\n"
    "  name string  # as the topology names it\n"
    "  change 'replaced'|'left'|'joined'  # a process is replaced; a host leaves the run, or joins "
    "it\n"
    "  step integer|null 0..  # the last one that was done until then; null: none, or not known\n"
    "  time_ms time  # when its end was noticed, or it was there\n"
    "  milliseconds integer|null 0..  # until the process in its place was ready\n"
    "  reason string  # how it ended; empty: not known\n"
    "MembershipList\n"
    "  membership [MembershipChange]  # by time; the first 1000\n"
    "  total integer 0..  # how many there are\n";

const cse_route cse_route_membership = {
    .path = "/api/v1/jobs/{id}/membership",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listMembershipChanges", list_changes,
                        "Processes that ended and were replaced, hosts that left or joined"),
          .doc = "Earlier versions recorded none of them; Job.recovery has the sums.",
          .replies = "200 MembershipList",
          .problems = "503" },
    },
};
