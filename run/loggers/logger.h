/* The contract of a logger: where the scalars of a run are written to besides the run's own store,
 * for programs of others. Each logger is one file whose descriptor ends it.
 *
 * A logger is called by one thread, between steps: it may write to a file, and must not wait for
 * anything else. When a call fails, the training goes on without this logger. */
#ifndef CSE_RUN_LOGGERS_LOGGER_H
#define CSE_RUN_LOGGERS_LOGGER_H

#include "csengine/extend.h"

typedef struct cse_logged_scalar {
    const char *name; /* "loss", "val_accuracy" */
    int64_t step;     /* global */
    double time_s;    /* Unix time, seconds */
    double value;     /* may be infinite or not a number */
} cse_logged_scalar;

typedef struct cse_logger_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
    /* `settings` live until close; `*logger` is the plugin's own. */
    cse_status (*open)(const cse_settings *settings, const char *model_dir, void **logger);
    cse_status (*scalar)(void *logger, const cse_logged_scalar *scalar);
    /* What was written so far can be read by others. After each logged step. */
    cse_status (*flush)(void *logger);
    void (*close)(void *logger);
} cse_logger_descriptor;

extern const cse_logger_descriptor *const cse_loggers[];

#endif
