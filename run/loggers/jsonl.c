/* JSONLLogger: one line of JSON for each scalar, for programs that read a file as it grows. A run
 * that is continued appends to the same file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "run/loggers/json_line.h"

typedef struct jsonl {
    FILE *file;
    char path[PATH_MAX];
} jsonl;

static cse_status write_failure(const jsonl *j)
{
    return cse_fail(CSE_IO, "%s cannot be written: %s", j->path, strerror(errno));
}

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    jsonl *j = logger;
    char line[CSE_JSON_LINE_BYTES];
    const size_t size = cse_json_line(scalar, line);
    return fwrite(line, size, 1, j->file) == 1 ? CSE_OK : write_failure(j);
}

static cse_status flush(void *logger)
{
    jsonl *j = logger;
    return fflush(j->file) == 0 ? CSE_OK : write_failure(j);
}

static void close_file(void *logger)
{
    jsonl *j = logger;
    if (j->file != NULL)
        fclose(j->file);
    free(j);
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    const char *given = cse_settings_text(settings, "path");
    jsonl *j = cse_calloc(1, sizeof *j);
    snprintf(j->path, sizeof j->path, "%s%s", given != NULL ? given : model_dir,
             given != NULL ? "" : "/metrics.jsonl");
    j->file = cse_confined_stream(j->path, O_APPEND);
    if (j->file != NULL) {
        *logger = j;
        return CSE_OK;
    }
    cse_status status = errno == EXDEV ? cse_confinement_refuse(CSE_PATH_OUTPUT, j->path)
                                       : cse_fail(CSE_CANNOT_CREATE, "%s cannot be opened: %s",
                                                  j->path, strerror(errno));
    free(j);
    return status;
}

static const cse_setting settings[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "the file; null: MODEL_DIR/metrics.jsonl" },
    { .name = NULL },
};

/* Written by tests/reference/loggers.py. */
static const cse_logger_sample samples[] = {
    { .settings = "{}",
      .source = "Python's json module",
      .file = "metrics.jsonl",
      .bytes = CSE_JSON_SAMPLE },
    { .settings = "{path: $folder/none/x.jsonl}", .refusal = "cannot be opened" },
    { .settings = NULL },
};

const cse_logger_descriptor cse_logger_jsonl = {
    .name = "JSONLLogger",
    .summary = "a line of JSON for each scalar",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = flush,
    .close = close_file,
    .samples = samples,
};
