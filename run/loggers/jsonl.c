/* JSONLLogger: one line of JSON for each scalar, for programs that read a file as it grows. A run
 * that is continued appends to the same file. */
#include "run/loggers/json_line.h"
#include "run/loggers/log_file.h"

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    char line[CSE_JSON_LINE_BYTES];
    const size_t size = cse_json_line(scalar, line);
    return cse_log_file_write(logger, scalar->step, line, size);
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    cse_log_file *log = NULL;
    CSE_TRY(cse_log_file_open(settings, model_dir, "metrics.jsonl", &log));
    *logger = log;
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "the file; null: MODEL_DIR/metrics.jsonl" },
    { .name = NULL },
};

const cse_logger_descriptor cse_logger_jsonl = {
    .name = "JSONLLogger",
    .summary = "a line of JSON for each scalar",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = cse_log_file_flush,
    .close = cse_log_file_close,
    .go_on = cse_log_file_go_on,
};
