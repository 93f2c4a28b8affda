/* The file of a logger that appends text: its setting `path`, opening, flushing and closing. */
#ifndef CSE_RUN_LOGGERS_LOG_FILE_H
#define CSE_RUN_LOGGERS_LOG_FILE_H

#include <limits.h>
#include <stdio.h>

#include "run/loggers/logger.h"

/* What such a logger keeps between calls: `flush` and `close` of its descriptor take it. */
typedef struct cse_log_file {
    FILE *file;
    char path[PATH_MAX];
} cse_log_file;

/* Opens settings.path, or MODEL_DIR/`name` where that is null, for appending. CSE_CANNOT_CREATE, or
 * as the confinement of the run says. */
cse_status cse_log_file_open(const cse_settings *settings, const char *model_dir, const char *name,
                             cse_log_file **log);
/* CSE_IO with the reason in errno. */
cse_status cse_log_file_failure(const cse_log_file *log);
cse_status cse_log_file_flush(void *log);
void cse_log_file_close(void *log);

#endif
