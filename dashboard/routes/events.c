/* Everything that happens to a job, as one stream; see dashboard/feed.h. */
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

const cse_route cse_route_events = {
    .path = "/api/v1/jobs/{id}/events",
    .operations = {
        { .id = "streamEvents", .handle = stream_events },
        { 0 },
    },
};
