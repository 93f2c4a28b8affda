/* The events of a job as one stream; see dashboard/feed.h. */
#include "dashboard/server.h"

static void stream_events(const cse_request *request, cse_answer *answer)
{
    const json_t *types = json_object_get(request->values, "types");
    cse_feed_request feed = { .job = cse_request_text(request, "id", ""),
                              .types = types != NULL ? 0 : CSE_FEED_ALL,
                              .after = CSE_FEED_NEW,
                              .rank = -1 };
    size_t i;
    json_t *one;
    json_array_foreach(types, i, one) feed.types |= cse_feed_type(json_string_value(one));
    feed.after = cse_request_integer(request, "after", feed.after);
    feed.after = cse_request_integer(request, "Last-Event-ID", feed.after);
    cse_feed_answer(request->server->feed, &feed, answer);
}

static const char parameters[] =
    "types? [,<event>] ..7  # comma-separated; absent: all\n"
    "  = \"state,metric\"\n"
    "after? integer 0..  # as Last-Event-ID, for those who cannot set headers\n"
    "Last-Event-ID? integer 0..  # id of the last event that was seen\n";

static const char schemas[] =
    "StateEvent open  # payload of event: state\n"
    "  seq? integer\n"
    "  time_ms time\n"
    "  from_state? string|null\n"
    "  to_state State\n"
    "  reason?,message? string|null\n"
    "  attempt? integer\n"
    "MetricEvent open  # payload of event: metric\n"
    "  attempt integer\n"
    "  series {[[number|null|string]]}  # all points since the last such event, by series; [step, "
    "time_ms, value] each; a value that is no finite number is \"NaN\", \"Infinity\" or "
    "\"-Infinity\"\n"
    "  = {\"attempt\": 1, \"series\": {\"loss\": [[1, 1700000000000, 2.3]]}}\n"
    "ClosureEvent open  # payload of event: closure\n"
    "  id,attempt,step integer\n"
    "  issued_ms,delivered_ms time\n"
    "  name string\n"
    "  payload any\n"
    "CheckpointEvent open  # payload of event: checkpoint\n"
    "  id?,attempt?,step integer\n"
    "  time_ms? time\n"
    "  path? string\n"
    "  bytes? integer\n"
    "  digest? string|null\n"
    "  write_ms? integer|null\n"
    "  verified?,deleted? integer\n"
    "NumericsEvent open  # payload of event: numerics: these records are there now\n"
    "  attempt,step integer\n"
    "  tensors any\n"
    "GapEvent open  # payload of event: gap. Ids that were not kept, or what the run dropped "
    "(points, logs, closures, samples). Read what was missed over REST, then go on.\n"
    "  from? integer  # first event id that is lost\n"
    "  to? integer  # last one\n"
    "  reason? string\n"
    "  points?,logs?,closures?,samples?,events? integer 0..\n"
    "EndEvent  # event: end. The stream is over; reconnecting gives 204.\n"
    "  state State\n"
    "  reason string|null\n"
    "  message string\n"
    "Event  # data: of every event of the stream; id: is the same number.\n"
    "  id integer\n"
    "  time_ms time\n"
    "  type <event>|'gap'|'end'\n"
    "  payload any\n"
    "  = {\"id\": 12, \"time_ms\": 1700000000000, \"type\": \"metric\", \"payload\": "
    "{\"attempt\": 1, \"series\": {\"loss\": [[1, 1700000000000, 2.3]]}}}\n";

const cse_route cse_route_events = {
    .path = "/api/v1/jobs/{id}/events",
    .tag = "live",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "streamEvents", stream_events,
                        "Everything that happens, as one stream of server-sent events"),
          .parameters = parameters,
          .replies = "200 text/event-stream string  # id:, event: and data: (an Event); "
                     "heartbeat comments each 15 s; event: gap and event: end\n"
                     "204  # The run has ended and all was sent: do not come back",
          .problems = "503" },
    },
};
