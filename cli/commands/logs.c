/* `csengine logs`: the log lines of a job, optionally followed until its end. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/client/client_command.h"
#include "cli/client/follow.h"
#include "cli/client/run_source.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"

enum { PAGE = 1000, FOLLOW_INTERVAL_US = 300000 };

static void add_query(cse_text *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    cse_text_add(path, "&%s=", name);
    cse_url_encode(path, value);
}

/* The API writes levels in capitals. */
static void add_level(cse_text *query, const char *level)
{
    char capitals[16] = "";
    for (int i = 0; level != NULL && level[i] != '\0' && i < 15; i++)
        capitals[i] = (char)toupper((unsigned char)level[i]);
    add_query(query, "level", level != NULL ? capitals : NULL);
}

/* Prints lines of JSON; returns their number, and the last one's id in *last. */
static int print_lines(const cse_text *lines, bool json, int64_t *last)
{
    int count = 0;
    char *rest = lines->data;
    while (rest != NULL && *rest != '\0') {
        char *text = strsep(&rest, "\n");
        json_t *line = *text != '\0' ? cse_json_from_others(text, strlen(text)) : NULL;
        if (line == NULL)
            continue;
        count++;
        *last = cse_json_whole(line, "id", *last);
        if (json)
            puts(text);
        else
            cse_print_log_line(line);
        json_decref(line);
    }
    return count;
}

/* The query for the lines after `after`; for the newest ones when `tail` is given. */
static void add_lines_query(const cse_command_line *line, int64_t after, const char *tail,
                            cse_text *query)
{
    static const char *const filters[] = { "role", "rank", "host" };
    if (tail != NULL)
        cse_text_add(query, "limit=%d", PAGE);
    else
        cse_text_add(query, "after=%lld&limit=%d", (long long)after, PAGE);
    add_query(query, "tail", tail);
    for (int i = 0; i < 3; i++)
        add_query(query, filters[i], cse_option_value(line, filters[i]));
    add_level(query, cse_option_value(line, "level"));
}

/* Prints the lines after *last, page by page; with `tail` only the newest ones. */
static cse_status show_lines(const cse_run_source *from, const cse_command_line *line,
                             const char *tail, int64_t *last)
{
    cse_status status = CSE_OK;
    int count = PAGE;
    while (status == CSE_OK && count == PAGE) {
        cse_text query = { 0 }, lines = { 0 };
        add_lines_query(line, *last, tail, &query);
        status = cse_run_source_ask(
            from,
            &(cse_run_question){ .path = "/logs", .operation = "listLogs", .query = query.data },
            &lines);
        count = status == CSE_OK ? print_lines(&lines, cse_option_is_on(line, "json"), last) : 0;
        cse_text_clear(&query);
        cse_text_clear(&lines);
        if (tail != NULL)
            break;
    }
    fflush(stdout);
    return status;
}

static cse_status follow_job(const cse_run_source *from, const cse_command_line *line, int64_t last)
{
    cse_text path = { 0 };
    cse_status status = cse_client_job_path(&path, from->id, "/logs?");
    if (status == CSE_OK) {
        add_lines_query(line, last, NULL, &path);
        const cse_follow_options options = { .id = from->id,
                                             .json = cse_option_is_on(line, "json"),
                                             .logs_path = path.data,
                                             .last_line = last };
        status = cse_follow_job(from->client, &options);
    }
    cse_text_clear(&path);
    return status;
}

/* Polls the run store until the run has ended. */
static cse_status follow_run(const cse_run_source *from, const cse_command_line *line, int64_t last)
{
    for (;;) {
        json_t *job = NULL;
        /* Reads the state before the lines, so that lines written just before the end are not
         * missed. */
        CSE_TRY(cse_run_source_ask_json(from, &(cse_run_question){ "", "getJob", NULL }, &job));
        const bool alive = json_is_true(json_object_get(job, "alive"));
        cse_status status = show_lines(from, line, NULL, &last);
        if (status == CSE_OK && !alive)
            status = cse_job_end_status(job);
        json_decref(job);
        if (status != CSE_OK || !alive)
            return status;
        usleep(FOLLOW_INTERVAL_US);
    }
}

/* Whether the job has written nothing, since its first process is still to come; says why. */
static cse_status find_waiting(const cse_run_source *from, bool json, bool *waits)
{
    json_t *job = NULL;
    CSE_TRY(cse_run_source_ask_json(from, &(cse_run_question){ "", "getJob", NULL }, &job));
    *waits = strcmp(cse_json_text(job, "state", ""), "QUEUED") == 0 &&
             !json_is_string(json_object_get(job, "model"));
    const char *why = cse_json_text(job, "waiting_for", NULL);
    if (*waits && !json)
        fprintf(stderr, "job %s is QUEUED%s%s\n", from->id, why != NULL ? ", waits for " : "",
                why != NULL ? why : "");
    json_decref(job);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    int64_t last = 0;
    bool waits = false;
    const bool follows = cse_option_is_on(line, "follow");
    cse_run_source from;
    cse_status status = cse_run_source_open(line, line->arguments[0], &from);
    from.shows_problems = cse_option_is_on(line, "json");
    if (status == CSE_OK && follows && from.run == NULL)
        status = find_waiting(&from, cse_option_is_on(line, "json"), &waits);
    if (status == CSE_OK && !waits)
        status = show_lines(&from, line, cse_option_value(line, "tail"), &last);
    if (status == CSE_OK && follows)
        status = (from.run != NULL ? follow_run : follow_job)(&from, line, last);
    cse_run_source_close(&from);
    return cse_report(status);
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "follow", NULL, NULL, "also shows new lines until the job ends" },
    { "tail", "N", NULL, "the newest N lines" },
    { "role", "ROLE", NULL, "only lines of processes with this role: coordinator, replica, ..." },
    { "rank", "N", NULL, "only lines of the process with this number in its role" },
    { "host", "NAME", NULL, "of a run of several hosts only the lines of this one" },
    { "level", "LEVEL", NULL, "only lines of this level or above: DEBUG, INFO, WARNING, ERROR" },
    { 0 },
};

const cse_command cse_command_logs = {
    .name = "logs",
    .group = CSE_GROUP_LOOK,
    .summary = "shows the log lines of a job",
    .arguments = "JOB|MODEL_DIR",
    .doc = "With --follow the exit code is that of the job: 0 when it succeeded, 1 otherwise.",
    .options = options,
    .letters = "f=follow",
    .min_arguments = 1,
    .max_arguments = 1,
    .values = "level=DEBUG|INFO|WARNING|ERROR "
              "role=coordinator|replica|weight_server|input_worker|mover",
    .run = run,
};
