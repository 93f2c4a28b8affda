/* `csengine report`: writes a run as one HTML file that a browser opens without a server. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/client_command.h"
#include "cli/report.h"
#include "cli/report_page.h"
#include "cli/run_command.h"
#include "cli/run_report.h"

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

static cse_status read_data(const cse_command_line *line, cse_text *data)
{
    const char *run = line->arguments[0];
    cse_run_source source;
    if (!cse_names_run(run) && strchr(run, '/') != NULL)
        return cse_fail(CSE_NO_INPUT, "%s: there is no run store (run.db)", run);
    cse_status status = cse_run_source_open(line, run, &source);
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
        printf("%s\n", path);
    cse_text_clear(&data);
    cse_text_clear(&page);
    return cse_report(status);
}

static const cse_option options[] = {
    { "output", "FILE", NULL, "file to write, - for stdout; default NAME_OF_RUN.html" },
    { "server", "URL", NULL, "with a job's id: the server, as for `csengine get`" },
    { "token_file", "FILE", NULL, "with a job's id: file with the server's token" },
    { "json", NULL, NULL, "writes only the data, as one JSON object" },
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
