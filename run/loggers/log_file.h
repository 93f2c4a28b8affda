/* The file of a logger that appends text: its setting `path`, opening, flushing and closing. */
#ifndef CSE_RUN_LOGGERS_LOG_FILE_H
#define CSE_RUN_LOGGERS_LOG_FILE_H

#include <limits.h>
#include <stdio.h>

#include "run/loggers/logger.h"

#include "engine/base/text.h"

/* What such a logger keeps between calls: `flush`, `close` and `go_on` of its descriptor take it.
 */
typedef struct cse_log_file {
    FILE *file;
    char path[PATH_MAX];
    bool goes_on;          /* lines of earlier starts may be for the same steps */
    int64_t replaced_step; /* the first step of this start; -1: none yet */
    long replaced_at;      /* where its lines begin */
    cse_text replaced;     /* its lines, of this start and of those before */
} cse_log_file;

/* Opens settings.path, or MODEL_DIR/`name` where that is null, for appending. CSE_CANNOT_CREATE, or
 * as the confinement of the run says. */
cse_status cse_log_file_open(const cse_settings *settings, const char *model_dir, const char *name,
                             cse_log_file **log);
/* Appends a line of a step, its end included: STEP,TIME,NAME,VALUE in any notation in which NAME
 * stands between the second and the last comma. */
cse_status cse_log_file_write(void *log, int64_t step, const char *line, size_t size);
/* The lines of the steps that follow replace those that are there, as csengine/logger.h has it. */
cse_status cse_log_file_go_on(void *log, int64_t step);
/* CSE_IO with the reason in errno. */
cse_status cse_log_file_failure(const cse_log_file *log);
cse_status cse_log_file_flush(void *log);
void cse_log_file_close(void *log);

#endif
