/* `csengine logs`: the log lines of a job, so far or as they come. */
#include <stdio.h>
#include <string.h>

#include "cli/client_command.h"
#include "cli/follow.h"

enum { PAGE = 1000 };

static void add_query(cse_text *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    cse_text_add(path, "&%s=", name);
    cse_url_encode(path, value);
}

/* Prints lines of JSON; returns their number, and the last one's id in *last. */
static int print_lines(const cse_client_answer *answer, bool json, int64_t *last)
{
    int count = 0;
    char *rest = answer->body.data;
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

/* The address of the lines after *after; of the newest ones when `tail` is given. */
static cse_status lines_path(const cse_command_line *line, int64_t after, const char *tail,
                             cse_text *path)
{
    static const char *const filters[] = { "role", "rank", "level" };
    CSE_TRY(cse_client_job_path(path, line->arguments[0], "/logs?"));
    if (tail != NULL)
        cse_text_add(path, "limit=%d", PAGE);
    else
        cse_text_add(path, "after=%lld&limit=%d", (long long)after, PAGE);
    add_query(path, "tail", tail);
    for (int i = 0; i < 3; i++)
        add_query(path, filters[i], cse_option_value(line, filters[i]));
    return CSE_OK;
}

/* What is there now, page by page. */
static cse_status show_lines(cse_client *api, const cse_command_line *line, int64_t *last)
{
    const char *tail = cse_option_value(line, "tail");
    cse_status status = CSE_OK;
    int count = PAGE;
    while (status == CSE_OK && count == PAGE) {
        cse_text path = { 0 };
        cse_client_answer answer = { 0 };
        status = lines_path(line, *last, tail, &path);
        if (status == CSE_OK)
            status = cse_client_ask(api, line, &(cse_client_request){ .path = path.data }, false,
                                    &answer);
        count = status == CSE_OK ? print_lines(&answer, cse_option_is_on(line, "json"), last) : 0;
        cse_client_answer_clear(&answer);
        cse_text_clear(&path);
        if (tail != NULL)
            break;
    }
    fflush(stdout);
    return status;
}

static cse_status body(cse_client *api, const cse_command_line *line)
{
    int64_t last = 0;
    cse_text path = { 0 };
    CSE_TRY(show_lines(api, line, &last));
    if (!cse_option_is_on(line, "follow"))
        return CSE_OK;
    cse_status status = lines_path(line, last, NULL, &path);
    if (status == CSE_OK)
        status = cse_follow_job(api, &(cse_follow_options){ .id = line->arguments[0],
                                                            .json = cse_option_is_on(line, "json"),
                                                            .logs_path = path.data,
                                                            .last_line = last });
    cse_text_clear(&path);
    return status;
}

static int run(const cse_command_line *line)
{
    return cse_client_command(line, body);
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
    .arguments = "JOB",
    .doc = "With --follow the exit code is that of the job: 0 when it succeeded, 1 otherwise.",
    .options = options,
    .letters = "f=follow",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
