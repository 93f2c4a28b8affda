/* `csengine report`: writes a run as one HTML file that a browser opens without a server, or prints
 * where its time went. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/client/client_command.h"
#include "cli/runs/report_page.h"
#include "cli/runs/run_report.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/table.h"
#include "run/control/run_command.h"

/* Writes a file completely or not at all. */
static cse_status write_file(const char *path, const cse_text *text)
{
    char part[PATH_MAX + 8];
    if (strcmp(path, "-") == 0)
        return fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0
                   ? CSE_OK
                   : cse_fail(CSE_IO, "stdout: %s", strerror(errno));
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "we");
    if (file == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "%s cannot be created: %s", part, strerror(errno));
    bool written = fwrite(text->data, 1, text->size, file) == text->size;
    if (fclose(file) != 0 || !written || rename(part, path) != 0) {
        cse_status status = cse_fail(CSE_IO, "%s cannot be written: %s", path, strerror(errno));
        remove(part);
        return status;
    }
    return CSE_OK;
}

/* "model_dir/mnist/" gives "mnist.html". */
static void default_path(const char *run, char *path, size_t size)
{
    size_t end = strlen(run);
    while (end > 1 && run[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && run[begin - 1] != '/')
        begin--;
    bool named = end > begin && run[begin] != '.' && run[begin] != '/';
    snprintf(path, size, "%.*s.html", named ? (int)(end - begin) : 6,
             named ? run + begin : "report");
}

static cse_status open_source(const cse_command_line *line, cse_run_source *source)
{
    const char *run = line->arguments[0];
    *source = (cse_run_source){ .id = run };
    if (!cse_names_run(run) && strchr(run, '/') != NULL)
        return cse_fail(CSE_NO_INPUT, "%s: there is no run store (run.db)", run);
    return cse_run_source_open(line, run, source);
}

/* ---- where the time went ---- */

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* A row for each bin of each attempt. */
static void print_attempts(const json_t *attempts)
{
    static const char *const heads[] = { "ATTEMPT", "BIN", "SECONDS", "SHARE", NULL };
    cse_table *table = cse_table_new(heads);
    size_t a, b;
    json_t *attempt, *bin;
    json_array_foreach(attempts, a, attempt)
    {
        const int number = (int)number_of(attempt, "attempt");
        json_array_foreach(json_object_get(attempt, "bins"), b, bin)
        {
            cse_table_add(table, "%d", number);
            cse_table_add(table, "%s", cse_json_text(bin, "name", ""));
            cse_table_add(table, "%.3f", number_of(bin, "milliseconds") / 1e3);
            cse_table_add(table, "%.1f%%", number_of(bin, "share") * 100);
        }
        cse_table_add(table, "%d", number);
        cse_table_add(table, "elapsed");
        cse_table_add(table, "%.3f", number_of(attempt, "elapsed_ms") / 1e3);
        cse_table_add(table, "100.0%%");
    }
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
}

static cse_status print_goodput(const cse_command_line *line)
{
    const cse_run_question question = { "/goodput", "getGoodput", NULL };
    cse_run_source source;
    json_t *answer = NULL;
    cse_status status = open_source(line, &source);
    if (status == CSE_OK)
        status = cse_run_source_ask_json(&source, &question, &answer);
    if (status == CSE_OK && answer == NULL)
        status = cse_fail(CSE_DATA, "job %s: the answer is not JSON", source.id);
    if (status == CSE_OK && cse_option_is_on(line, "json")) {
        json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        printf("\n");
    } else if (status == CSE_OK) {
        const char *missing = cse_json_text(answer, "missing", NULL);
        print_attempts(json_object_get(answer, "attempts"));
        printf("goodput %.1f%% of %.3f s\n", number_of(answer, "goodput") * 100,
               number_of(answer, "elapsed_ms") / 1e3);
        if (missing != NULL)
            cse_print("%s\n", missing);
    }
    json_decref(answer);
    cse_run_source_close(&source);
    return status;
}

/* ---- the page ---- */

static cse_status read_data(const cse_command_line *line, cse_text *data)
{
    cse_run_source source;
    cse_status status = open_source(line, &source);
    if (status == CSE_OK)
        status = cse_report_read(&source, data);
    cse_run_source_close(&source);
    return status;
}

static int run(const cse_command_line *line)
{
    char path[PATH_MAX];
    cse_text data = { 0 }, page = { 0 };
    const char *output = cse_option_value(line, "output");
    bool json = cse_option_is_on(line, "json");
    if (cse_option_is_on(line, "goodput"))
        return cse_report(print_goodput(line));
    if (output == NULL)
        default_path(line->arguments[0], path, sizeof path);
    else
        snprintf(path, sizeof path, "%s", output);
    cse_status status = read_data(line, &data);
    if (status == CSE_OK && !json)
        status = cse_report_fill(cse_web_files, &data, &page);
    if (status == CSE_OK)
        status = write_file(json && output == NULL ? "-" : path, json ? &data : &page);
    if (status == CSE_OK && !json && strcmp(path, "-") != 0)
        cse_print("%s\n", path);
    cse_text_clear(&data);
    cse_text_clear(&page);
    return cse_report(status);
}

static const cse_option options[] = {
    { "output", "FILE", NULL, "file to write, - for stdout; default NAME_OF_RUN.html" },
    { "server", "URL", NULL, "with a job's id: the server, as for `csengine get`" },
    { "token_file", "FILE", NULL, "with a job's id: file with the server's token" },
    { "json", NULL, NULL, "writes only the data, as one JSON object" },
    { "goodput", NULL, NULL, "prints only where the time went: each millisecond in one bin" },
    { 0 },
};

static const cse_command_note files[] = {
    { "NAME_OF_RUN.html", "the report" },
    { 0 },
};

const cse_command cse_command_report = {
    .name = "report",
    .group = CSE_GROUP_LOOK,
    .summary = "writes a run as one HTML file that needs no server",
    .arguments = "MODEL_DIR|JOB",
    .doc = "The file holds the dashboard's pages and the data of the run; tensor statistics of a\n"
           "long run are downsampled evenly. The run may still be in progress.",
    .options = options,
    .letters = "o=output",
    .min_arguments = 1,
    .max_arguments = 1,
    .files = files,
    .run = run,
};
