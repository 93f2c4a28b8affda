/* Prints a stream of events as lines. A stream may end before the job does, so the job's state is
 * requested afterwards. */
#include "cli/client/follow.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/client/client_command.h"
#include "cli/terminal/printing.h"
#include "engine/base/clock.h"

enum { PROGRESS_INTERVAL_NS = 1000000000 };

typedef struct follower {
    const cse_follow_options *options;
    int64_t shown_ns;  /* last line of progress */
    int64_t last_line; /* greatest id of a log line that was shown */
} follower;

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static void print_time(int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm local;
    char text[16];
    localtime_r(&seconds, &local);
    strftime(text, sizeof text, "%H:%M:%S", &local);
    cse_print("%s ", text);
}

void cse_print_log_line(const json_t *line)
{
    int64_t rank = cse_json_whole(line, "rank", -1);
    print_time(cse_json_whole(line, "time_ms", 0));
    cse_print("%-7s %s", cse_json_text(line, "level", ""), cse_json_text(line, "role", ""));
    if (rank >= 0 && strcmp(cse_json_text(line, "role", ""), "coordinator") != 0)
        printf(" %lld", (long long)rank);
    if (cse_json_text(line, "host", NULL) != NULL)
        cse_print(" on %s", cse_json_text(line, "host", ""));
    cse_print(": %s\n", cse_json_text(line, "message", ""));
}

static void print_state(const json_t *payload)
{
    const char *reason = cse_json_text(payload, "reason", "");
    const char *message = cse_json_text(payload, "message", "");
    print_time(cse_json_whole(payload, "time_ms", 0));
    cse_print("state   %s%s%s%s%s\n", cse_json_text(payload, "to_state", "?"),
              *reason != '\0' ? " " : "", reason, *message != '\0' ? ": " : "", message);
}

/* The newest of each series. */
static void print_progress(follower *f, const json_t *payload)
{
    json_t *series = json_object_get(payload, "series"), *points;
    json_t *loss = json_object_get(series, "loss");
    const char *name;
    if (json_array_size(loss) == 0 || cse_clock_ns() - f->shown_ns < PROGRESS_INTERVAL_NS)
        return;
    f->shown_ns = cse_clock_ns();
    json_t *newest = json_array_get(loss, json_array_size(loss) - 1);
    print_time(json_integer_value(json_array_get(newest, 1)));
    printf("step    %lld", (long long)json_integer_value(json_array_get(newest, 0)));
    json_object_foreach(series, name, points)
    {
        newest = json_array_get(points, json_array_size(points) - 1);
        json_t *value = json_array_get(newest, 2);
        if (json_is_number(value))
            cse_print(", %s=%.6g", name, json_number_value(value));
        else if (newest != NULL)
            cse_print(", %s=not finite", name);
    }
    putchar('\n');
}

static void show(follower *f, const char *type, const json_t *payload)
{
    if (strcmp(type, "log") == 0) {
        cse_print_log_line(payload);
    } else if (strcmp(type, "state") == 0) {
        print_state(payload);
    } else if (strcmp(type, "metric") == 0) {
        print_progress(f, payload);
    } else if (strcmp(type, "checkpoint") == 0) {
        print_time(cse_json_whole(payload, "time_ms", 0));
        cse_print("saved   %s at step %lld\n", cse_json_text(payload, "path", "?"),
                  (long long)cse_json_whole(payload, "step", 0));
    } else if (strcmp(type, "gap") == 0) {
        printf("(some events were lost)\n");
    }
}

/* Skips log lines that were already shown, which a resumed stream may repeat. */
static bool is_new(follower *f, const cse_client_event *event, const json_t *payload)
{
    if (f->options->logs_path == NULL || strcmp(event->type, "log") != 0)
        return true;
    int64_t id = cse_json_whole(payload, "id", 0);
    bool new = id == 0 || id > f->last_line;
    f->last_line = id > f->last_line ? id : f->last_line;
    return new;
}

static bool take_event(void *self, const cse_client_event *event)
{
    follower *f = self;
    const json_t *payload = json_object_get(event->data, "payload");
    if (payload == NULL)
        payload = event->data;
    if (!is_new(f, event, payload))
        return true;
    if (f->options->json && event->data != NULL) {
        cse_json_print(event->data);
    } else if (!f->options->json) {
        show(f, event->type, payload);
    }
    fflush(stdout);
    return strcmp(event->type, "end") != 0;
}

static bool is_interrupted(void *self)
{
    (void)self;
    return interrupted != 0;
}

bool cse_state_is_final(const char *state)
{
    return strcmp(state, "SUCCEEDED") == 0 || strcmp(state, "FAILED") == 0 ||
           strcmp(state, "CANCELLED") == 0;
}

cse_status cse_job_end_status(const json_t *job)
{
    const char *state = cse_json_text(job, "state", "?");
    const char *reason = cse_json_text(job, "reason", "");
    if (strcmp(state, "SUCCEEDED") == 0)
        return CSE_OK;
    return cse_fail(CSE_FAILED, "job %s: %s%s%s: %s", cse_json_text(job, "id", "?"), state,
                    *reason != '\0' ? " " : "", reason, cse_json_text(job, "message", ""));
}

static cse_status ask_for_end(cse_client *api, const char *id)
{
    cse_client_answer answer;
    cse_status status = cse_client_get_job(api, id, "", &answer);
    if (status == CSE_OK)
        status = cse_job_end_status(answer.json);
    cse_client_answer_clear(&answer);
    return status;
}

cse_status cse_follow_job(cse_client *api, const cse_follow_options *options)
{
    follower f = { .options = options, .last_line = options->last_line };
    struct sigaction action = { .sa_handler = interrupt }, before;
    cse_text path = { 0 };
    interrupted = 0;
    CSE_TRY(cse_client_job_path(&path, options->id, "/events?types=state,metric,checkpoint,log"));
    const char *stream_path = options->logs_path != NULL ? options->logs_path : path.data;
    sigaction(SIGINT, &action, &before);
    cse_status status = cse_client_follow(api, &(cse_client_stream){ .path = stream_path,
                                                                     .self = &f,
                                                                     .on_event = take_event,
                                                                     .is_over = is_interrupted });
    sigaction(SIGINT, &before, NULL);
    cse_text_clear(&path);
    CSE_TRY(status);
    if (interrupted)
        return cse_fail(CSE_INTERRUPTED,
                        "no longer following; the job goes on: csengine logs %s --follow, or "
                        "csengine cancel %s",
                        options->id, options->id);
    return ask_for_end(api, options->id);
}
