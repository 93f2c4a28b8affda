/* The events of a job as one stream; see dashboard/data/feed.h. */
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
    "types? [,<event>] ..10  # comma-separated; absent: all\n"
    "  = [\"state\", \"metric\"]\n"
    "after? integer 0..  # as Last-Event-ID, for those who cannot set headers\n"
    "Last-Event-ID? integer 0..  # id of the last event that was seen\n";

static const char schemas[] =
    "StateEvent  # The state changed.\n"
    "  seq? integer 0..  # absent: the server changed it\n"
    "  time_ms time\n"
    "  from_state string|null\n"
    "  to_state State\n"
    "  reason string|null\n"
    "  message string|null\n"
    "  attempt integer 0..\n"
    "PhaseEvent  # What the run does from now on, and recoveries; the members are those of Job.\n"
    "  attempt integer 0..\n"
    "  phase Phase\n"
    "  since_ms time\n"
    "  step,steps integer|null\n"
    "  recovery Recovery\n"
    "MetricEvent  # Points since the last such event.\n"
    "  attempt integer 0..\n"
    "  series {[MetricPoint]}  # by series\n"
    "  = {\"attempt\": 1, \"series\": {\"loss\": [[1, 1700000000000, 2.3]]}}\n"
    "MetricPoint [number|string] 3..3  # step, time_ms, value; a value that is not finite "
    "is \"NaN\", \"Infinity\" or \"-Infinity\"\n"
    "ClosureEvent  # A step closure returned.\n"
    "  id,attempt,step integer 0..\n"
    "  issued_ms,delivered_ms time\n"
    "  name string\n"
    "  payload any\n"
    "CheckpointEvent  # A checkpoint was written or removed.\n"
    "  id,attempt,step integer 0..\n"
    "  time_ms time\n"
    "  path string\n"
    "  bytes integer 0..\n"
    "  digest string|null\n"
    "  write_ms integer|null\n"
    "  verified,deleted integer 0..1\n"
    "NumericsEvent  # These records are there now.\n"
    "  attempt,step integer 0..\n"
    "  tensors integer 0..  # how many\n"
    "AuditEvent  # A process whose gradients of a microbatch have other bits than those of "
    "others.\n"
    "  host,process,message string\n"
    "  process_id integer 0..\n"
    "  core integer  # of the process when it had computed; -1: not known\n"
    "  step integer 1..\n"
    "  microbatch integer 0..\n"
    "  confirmed_step integer 0..  # the last one in which bits of it were confirmed; 0: none\n"
    "  undecided boolean  # whether it or another process is wrong cannot be told\n"
    "GapEvent  # Events that were not kept, or records that the run dropped. Read what "
    "was missed over REST, then go on.\n"
    "  from? integer 0..  # first event id that is lost\n"
    "  to? integer 0..  # last one\n"
    "  reason? string\n"
    "  points?,logs?,closures?,samples?,events? integer 0..  # records that were dropped\n"
    "EndEvent  # The stream is over; reconnecting gives 204.\n"
    "  state State\n"
    "  reason string|null\n"
    "  message string\n"
    "StateMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'state'\n"
    "  payload StateEvent\n"
    "MetricMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'metric'\n"
    "  payload MetricEvent\n"
    "ClosureMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'closure'\n"
    "  payload ClosureEvent\n"
    "CheckpointMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'checkpoint'\n"
    "  payload CheckpointEvent\n"
    "LogMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'log'\n"
    "  payload LogLine\n"
    "TopologyMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'topology'\n"
    "  payload TopologyEvent\n"
    "NumericsMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'numerics'\n"
    "  payload NumericsEvent\n"
    "PhaseMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'phase'\n"
    "  payload PhaseEvent\n"
    "AuditMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'audit'\n"
    "  payload AuditEvent\n"
    "AlertMessage  # A condition of the section alerts begins or ceases to hold.\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'alert'\n"
    "  payload Alert\n"
    "GapMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'gap'\n"
    "  payload GapEvent\n"
    "EndMessage\n"
    "  id integer 0..\n"
    "  time_ms time\n"
    "  type 'end'\n"
    "  payload EndEvent\n"
    "Event StateMessage|MetricMessage|ClosureMessage|CheckpointMessage|LogMessage|"
    "TopologyMessage|NumericsMessage|PhaseMessage|AuditMessage|AlertMessage|GapMessage|EndMessage"
    "  # data: of every event of the stream; id: is the same number, event: the same type.\n"
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
