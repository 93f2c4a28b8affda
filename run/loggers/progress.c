/* ProgressLogger: the lines of progress that a run prints by itself, in a file as well; and the
 * name by which they are switched off, as in the ModelZoo: `loggers: [{ProgressLogger: null}]`.
 *
 * A line holds the scalars of one step: "| Step=300, loss=0.5, lr/0=0.1". */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "run/loggers/logger.h"

typedef struct progress {
    FILE *file; /* NULL: the program's own lines are enough */
    char path[PATH_MAX];
    int64_t step; /* of the line that is written; -1: none is begun */
} progress;

static cse_status write_failure(const progress *p)
{
    return cse_fail(CSE_IO, "%s cannot be written: %s", p->path, strerror(errno));
}

static void end_line(progress *p)
{
    if (p->step >= 0)
        fputc('\n', p->file);
    p->step = -1;
}

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    progress *p = logger;
    if (p->file == NULL)
        return CSE_OK;
    if (p->step != scalar->step) {
        end_line(p);
        fprintf(p->file, "| Step=%lld", (long long)scalar->step);
        p->step = scalar->step;
    }
    fprintf(p->file, ", %s=%.5g", scalar->name, scalar->value);
    return ferror(p->file) ? write_failure(p) : CSE_OK;
}

static cse_status flush(void *logger)
{
    progress *p = logger;
    if (p->file == NULL)
        return CSE_OK;
    end_line(p);
    return fflush(p->file) == 0 ? CSE_OK : write_failure(p);
}

static void close_file(void *logger)
{
    progress *p = logger;
    if (p->file != NULL) {
        end_line(p);
        fclose(p->file);
    }
    free(p);
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    const char *given = cse_settings_text(settings, "path");
    progress *p = cse_calloc(1, sizeof *p);
    (void)model_dir;
    p->step = -1;
    if (given != NULL) {
        snprintf(p->path, sizeof p->path, "%s", given);
        p->file = cse_confined_stream(p->path, O_APPEND);
    }
    if (given == NULL || p->file != NULL) {
        *logger = p;
        return CSE_OK;
    }
    cse_status status = errno == EXDEV ? cse_confinement_refuse(CSE_PATH_OUTPUT, p->path)
                                       : cse_fail(CSE_CANNOT_CREATE, "%s cannot be opened: %s",
                                                  p->path, strerror(errno));
    free(p);
    return status;
}

static const cse_setting settings[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "a file that gets a line for each step, too; null: none" },
    { .name = NULL },
};

const cse_logger_descriptor cse_logger_progress = {
    .name = "ProgressLogger",
    .summary = "lines of progress in a file; null instead of settings: none are printed",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = flush,
    .close = close_file,
};
