/* `csengine logs`: the log lines of a job, so far or as they come. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/client_command.h"
#include "cli/follow.h"
#include "cli/local_run.h"
#include "cli/report.h"
#include "cli/run_command.h"

enum { PAGE = 1000, FOLLOW_INTERVAL_US = 300000 };

static void add_query(cse_text *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    cse_text_add(path, "&%s=", name);
    cse_url_encode(path, value);
}

/* Levels are capitals in the API. */
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
        json_t *line = *text != '\0' ? json_loads(text, 0, NULL) : NULL;
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
    static const char *const filters[] = { "role", "rank" };
    if (tail != NULL)
        cse_text_add(query, "limit=%d", PAGE);
    else
        cse_text_add(query, "after=%lld&limit=%d", (long long)after, PAGE);
    add_query(query, "tail", tail);
    for (int i = 0; i < 2; i++)
        add_query(query, filters[i], cse_option_value(line, filters[i]));
    add_level(query, cse_option_value(line, "level"));
}

/* One page of lines, from wherever they are kept. */
typedef struct line_source {
    cse_client *client; /* or */
    cse_local_run *run;
} line_source;

static cse_status read_page(const line_source *from, const cse_command_line *line,
                            const char *query, cse_text *lines)
{
    if (from->run != NULL)
        return cse_local_run_ask(from->run, "listLogs", query, lines);
    cse_text path = { 0 };
    cse_client_answer answer = { 0 };
    cse_status status = cse_client_job_path(&path, line->arguments[0], "/logs?");
    if (status == CSE_OK) {
        cse_text_add(&path, "%s", query);
        status = cse_client_ask(from->client, line, &(cse_client_request){ .path = path.data },
                                false, &answer);
    }
    if (status == CSE_OK && answer.body.size > 0)
        cse_text_add_bytes(lines, answer.body.data, answer.body.size);
    cse_client_answer_clear(&answer);
    cse_text_clear(&path);
    return status;
}

/* What is there now after *last, page by page; with `tail` the newest lines alone. */
static cse_status show_lines(const line_source *from, const cse_command_line *line,
                             const char *tail, int64_t *last)
{
    cse_status status = CSE_OK;
    int count = PAGE;
    while (status == CSE_OK && count == PAGE) {
        cse_text query = { 0 }, lines = { 0 };
        add_lines_query(line, *last, tail, &query);
        status = read_page(from, line, query.data, &lines);
        count = status == CSE_OK ? print_lines(&lines, cse_option_is_on(line, "json"), last) : 0;
        cse_text_clear(&query);
        cse_text_clear(&lines);
        if (tail != NULL)
            break;
    }
    fflush(stdout);
    return status;
}

static cse_status show_job_lines(cse_client *client, const cse_command_line *line)
{
    int64_t last = 0;
    cse_text path = { 0 };
    const line_source from = { .client = client };
    CSE_TRY(show_lines(&from, line, cse_option_value(line, "tail"), &last));
    if (!cse_option_is_on(line, "follow"))
        return CSE_OK;
    cse_status status = cse_client_job_path(&path, line->arguments[0], "/logs?");
    if (status == CSE_OK) {
        add_lines_query(line, last, NULL, &path);
        const cse_follow_options options = { .id = line->arguments[0],
                                             .json = cse_option_is_on(line, "json"),
                                             .logs_path = path.data,
                                             .last_line = last };
        status = cse_follow_job(client, &options);
    }
    cse_text_clear(&path);
    return status;
}

/* ---- a run without a server ---- */

/* How the run is: "alive" and how it ended. */
static cse_status read_end(cse_local_run *run, bool *alive)
{
    cse_text body = { 0 };
    cse_status status = cse_local_run_ask(run, "getJob", "", &body);
    json_t *job = status == CSE_OK ? json_loads(body.data, 0, NULL) : NULL;
    *alive = json_is_true(json_object_get(job, "alive"));
    if (status == CSE_OK && !*alive)
        status = cse_job_end_status(job);
    json_decref(job);
    cse_text_clear(&body);
    return status;
}

static cse_status show_run_lines(const cse_command_line *line)
{
    int64_t last = 0;
    cse_local_run *run = NULL;
    const char *tail = cse_option_value(line, "tail");
    CSE_TRY(cse_local_run_open(line->arguments[0], &run));
    const line_source from = { .run = run };
    cse_status status = show_lines(&from, line, tail, &last);
    bool alive = cse_option_is_on(line, "follow");
    /* The state first: what came before the end is shown then, too. */
    while (status == CSE_OK && alive) {
        cse_status end = read_end(run, &alive);
        status = show_lines(&from, line, NULL, &last);
        if (status == CSE_OK && !alive)
            status = end;
        if (alive)
            usleep(FOLLOW_INTERVAL_US);
    }
    cse_local_run_close(&run);
    return status;
}

static int run(const cse_command_line *line)
{
    if (cse_names_run(line->arguments[0]))
        return cse_report(show_run_lines(line));
    return cse_client_command(line, show_job_lines);
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "follow", NULL, NULL, "also shows what comes, to the end of the job" },
    { "tail", "N", NULL, "the newest N lines" },
    { "role", "ROLE", NULL, "of these processes alone: coordinator, replica, ..." },
    { "rank", "N", NULL, "of this one of them" },
    { "level", "LEVEL", NULL, "this level and above: DEBUG, INFO, WARNING, ERROR" },
    { 0 },
};

const cse_command cse_command_logs = {
    .name = "logs",
    .summary = "shows the log lines of a job",
    .arguments = "JOB|MODEL_DIR",
    .doc = "With --follow the exit code is that of the job: 0 when it succeeded, 1 otherwise.",
    .options = options,
    .letters = "f=follow",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
