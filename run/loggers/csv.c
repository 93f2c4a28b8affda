/* CSVLogger: one line for each scalar, for spreadsheets and data frames.
 *
 * The columns are step, time_s, name, value: a name that comes later (a validation) needs no new
 * column, and a run that is continued appends to the same file, where the lines of steps that it
 * does again replace those of before. Values have 17 digits, so that reading gives the same number
 * back. */
#include "engine/base/escape.h"
#include "run/loggers/log_file.h"

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    cse_text line = { 0 };
    cse_text_add(&line, "%lld,%.6f,", (long long)scalar->step, scalar->time_s);
    cse_escape_csv(&line, scalar->name);
    cse_text_add(&line, ",%.17g\n", scalar->value);
    cse_status status = cse_log_file_write(logger, scalar->step, line.data, line.size);
    cse_text_clear(&line);
    return status;
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

const cse_logger_descriptor cse_logger_csv = {
    .name = "CSVLogger",
    .summary = "a line step,time_s,name,value for each scalar",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = cse_log_file_flush,
    .close = cse_log_file_close,
    .go_on = cse_log_file_go_on,
};
