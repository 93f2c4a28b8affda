/* CSVLogger: one line for each scalar, for spreadsheets and data frames.
 *
 * The columns are step, time_s, name, value: a name that comes later (a validation) needs no new
 * column, and a run that is continued appends to the same file. Values have 17 digits, so that
 * reading gives the same number back. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "run/loggers/logger.h"

typedef struct csv {
    FILE *file;
    char path[PATH_MAX];
} csv;

static cse_status write_failure(const csv *c)
{
    return cse_fail(CSE_IO, "%s cannot be written: %s", c->path, strerror(errno));
}

/* Quoted where a comma, a quote or the end of a line stands in it (RFC 4180). */
static void write_field(FILE *file, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    csv *c = logger;
    fprintf(c->file, "%lld,%.6f,", (long long)scalar->step, scalar->time_s);
    write_field(c->file, scalar->name);
    fprintf(c->file, ",%.17g\n", scalar->value);
    return ferror(c->file) ? write_failure(c) : CSE_OK;
}

static cse_status flush(void *logger)
{
    csv *c = logger;
    return fflush(c->file) == 0 ? CSE_OK : write_failure(c);
}

static void close_file(void *logger)
{
    csv *c = logger;
    if (c->file != NULL)
        fclose(c->file);
    free(c);
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    const char *given = cse_settings_text(settings, "path");
    csv *c = cse_calloc(1, sizeof *c);
    snprintf(c->path, sizeof c->path, "%s%s", given != NULL ? given : model_dir,
             given != NULL ? "" : "/metrics.csv");
    c->file = cse_confined_stream(c->path, O_APPEND);
    if (c->file == NULL) {
        cse_status status = errno == EXDEV ? cse_confinement_refuse(CSE_PATH_OUTPUT, c->path)
                                           : cse_fail(CSE_CANNOT_CREATE, "%s cannot be opened: %s",
                                                      c->path, strerror(errno));
        free(c);
        return status;
    }
    if (ftell(c->file) == 0)
        fputs("step,time_s,name,value\n", c->file);
    *logger = c;
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "the file; null: MODEL_DIR/metrics.csv" },
    { .name = NULL },
};

/* Written by tests/reference/loggers.py. */
static const cse_logger_sample samples[] = {
    { .settings = "{}",
      .source = "Python's csv module",
      .file = "metrics.csv",
      .bytes = "step,time_s,name,value\n"
               "1,1700000000.250000,loss,0.5\n"
               "300,1700000001.500000,\"val \"\"accuracy\"\", %\",0.10000000000000001\n"
               "70000,1700000002.750000,lr/0,inf\n" },
    { .settings = "{path: $folder/none/x.csv}", .refusal = "cannot be opened" },
    { .settings = NULL },
};

const cse_logger_descriptor cse_logger_csv = {
    .name = "CSVLogger",
    .summary = "a line step,time_s,name,value for each scalar",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = flush,
    .close = close_file,
    .samples = samples,
};
