/* Writes go through a stream; see log_file.h. */
#include "run/loggers/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"

cse_status cse_log_file_failure(const cse_log_file *log)
{
    return cse_fail(CSE_IO, "%s cannot be written: %s", log->path, strerror(errno));
}

cse_status cse_log_file_flush(void *self)
{
    const cse_log_file *log = self;
    return fflush(log->file) == 0 ? CSE_OK : cse_log_file_failure(log);
}

void cse_log_file_close(void *self)
{
    cse_log_file *log = self;
    if (log->file != NULL)
        fclose(log->file);
    free(log);
}

cse_status cse_log_file_open(const cse_settings *settings, const char *model_dir, const char *name,
                             cse_log_file **result)
{
    const char *given = cse_settings_text(settings, "path");
    cse_log_file *log = cse_calloc(1, sizeof *log);
    snprintf(log->path, sizeof log->path, "%s%s%s", given != NULL ? given : model_dir,
             given != NULL ? "" : "/", given != NULL ? "" : name);
    log->file = cse_confined_stream(log->path, O_APPEND);
    if (log->file != NULL) {
        *result = log;
        return CSE_OK;
    }
    cse_status status = errno == EXDEV ? cse_confinement_refuse(CSE_PATH_OUTPUT, log->path)
                                       : cse_fail(CSE_CANNOT_CREATE, "%s cannot be opened: %s",
                                                  log->path, strerror(errno));
    free(log);
    return status;
}
