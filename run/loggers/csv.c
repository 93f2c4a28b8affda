/* CSVLogger: one line for each scalar, for spreadsheets and data frames.
 *
 * The columns are step, time_s, name, value: a name that comes later (a validation) needs no new
 * column, and a run that is continued appends to the same file. Values have 17 digits, so that
 * reading gives the same number back. */
#include <string.h>

#include "run/loggers/log_file.h"

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
    const cse_log_file *log = logger;
    fprintf(log->file, "%lld,%.6f,", (long long)scalar->step, scalar->time_s);
    write_field(log->file, scalar->name);
    fprintf(log->file, ",%.17g\n", scalar->value);
    return ferror(log->file) ? cse_log_file_failure(log) : CSE_OK;
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    cse_log_file *log = NULL;
    CSE_TRY(cse_log_file_open(settings, model_dir, "metrics.csv", &log));
    if (ftell(log->file) == 0)
        fputs("step,time_s,name,value\n", log->file);
    *logger = log;
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
    .flush = cse_log_file_flush,
    .close = cse_log_file_close,
    .samples = samples,
};
