/* Log lines: a page of them as lines of JSON, or live as a stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"

static const char *const levels[] = { "debug", "info", "warning", "error", NULL };

/* The requested level and those above it. */
static const char *const *levels_from(const char *level)
{
    for (int i = 0; level != NULL && levels[i] != NULL; i++)
        if (strcmp(levels[i], level) == 0)
            return levels + i;
    return NULL;
}

static void stream_logs(const cse_request *request, cse_answer *answer)
{
    cse_feed_request feed = { .job = cse_request_text(request, "id", ""),
                              .types = CSE_FEED_LOG,
                              .role = cse_request_text(request, "role", NULL),
                              .level = cse_request_text(request, "level", NULL),
                              .host = cse_request_text(request, "host", NULL),
                              .rank = cse_request_integer(request, "rank", -1) };
    const char *last = cse_request_header(request, "Last-Event-ID");
    char *end = NULL;
    feed.after = last != NULL ? strtoll(last, &end, 10) : CSE_FEED_NEW;
    if (last != NULL && (end == last || *end != '\0' || feed.after < 0))
        feed.after = CSE_FEED_NEW;
    cse_feed_answer(request->server->feed, &feed, answer);
}

typedef struct lines {
    cse_text *texts;
    int count, capacity;
} lines;

static void take_line(void *self, const cse_row *row)
{
    lines *all = self;
    CSE_GROW(all->texts, all->count, all->capacity);
    all->texts[all->count] = (cse_text){ 0 };
    cse_row_add_json(&all->texts[all->count++], row);
}

static void list_logs(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    char rank[24];
    lines all = { .count = 0 };
    cse_text text = { 0 };
    if (cse_request_accepts(request, "text/event-stream")) {
        stream_logs(request, answer);
        return;
    }
    if (!cse_server_open_run(request, answer, &run))
        return;
    snprintf(rank, sizeof rank, "%lld", (long long)cse_request_integer(request, "rank", 0));
    const char *const roles[] = { cse_request_text(request, "role", NULL), NULL };
    const char *const hosts[] = { cse_request_text(request, "host", NULL), NULL };
    const char *const ranks[] = { rank, NULL };
    bool tail = cse_request_has(request, "tail");
    cse_store_query query = { .after = cse_request_integer(request, "after", 0),
                              .limit = cse_request_integer(request, tail ? "tail" : "limit", 100),
                              .newest_first = tail };
    int filters = 0;
    if (roles[0] != NULL)
        query.filters[filters++] = (cse_store_filter){ "role", roles };
    if (hosts[0] != NULL)
        query.filters[filters++] = (cse_store_filter){ "host", hosts };
    if (cse_request_has(request, "rank"))
        query.filters[filters++] = (cse_store_filter){ "rank", ranks };
    if (cse_request_has(request, "level"))
        query.filters[filters++] =
            (cse_store_filter){ "level", levels_from(cse_request_text(request, "level", NULL)) };
    cse_status status = cse_store_reader_rows(run.reader, CSE_ROW_LOG, &query, take_line, &all);
    cse_server_close_run(request, &run);
    for (int i = 0; i < all.count; i++) {
        cse_text *line = &all.texts[tail ? all.count - 1 - i : i];
        cse_text_add_bytes(&text, line->data, line->size);
        cse_text_add_bytes(&text, "\n", 1);
        cse_text_clear(line);
    }
    free(all.texts);
    if (status == CSE_OK)
        cse_answer_text(answer, 200, "application/x-ndjson", &text);
    else
        cse_answer_failure(answer, status);
    cse_text_clear(&text);
}

static const char parameters[] = "role? string ..64  # as in coordinator\n"
                                 "rank? integer 0..  # with role\n"
                                 "host? string ..255  # of a run of several hosts: one of them\n"
                                 "level? <log_level>  # this level and above\n"
                                 "after? integer 0..  # lines with a greater id\n"
                                 "tail? integer 1..10000  # the newest so many\n"
                                 "limit\n";

static const char schemas[] =
    "LogLine\n"
    "  id integer\n"
    "  time_ms time\n"
    "  role string\n"
    "  rank integer|null\n"
    "  level <log_level>\n"
    "  message string\n"
    "  host string|null  # in a run of several hosts; null in one of a single host, and before the "
    "hosts were known\n"
    "  = {\"id\": 7, \"time_ms\": 1700000000000, \"role\": \"replica\", \"rank\": 0, \"level\": "
    "\"info\", \"message\": \"ready\", \"host\": null}\n";

const cse_route cse_route_logs = {
    .path = "/api/v1/jobs/{id}/logs",
    .tag = "live",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listLogs", list_logs,
                        "Log lines, as lines of JSON; as server-sent events when Accept is "
                        "text/event-stream"),
          .parameters = parameters,
          .replies = "200 application/x-ndjson LogLine  # Lines, oldest first\n"
          "200 text/event-stream string\n"
          "204  # As a stream: the run has ended and all was sent\n",
          .problems = "503" },
    },
};
