/* The contract of a logger: it writes the scalars of a run for other programs, in addition to the
 * run store.
 *
 * A logger is called by one thread, between steps: it may write to a file, and must not wait for
 * anything else. When a call fails, training continues without this logger. */
#ifndef CSENGINE_LOGGER_H
#define CSENGINE_LOGGER_H

#include <stddef.h>

#include "csengine/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
enum { CSE_LOGGER_ABI = 2 };

typedef struct cse_logged_scalar {
    const char *name; /* "loss", "val_accuracy" */
    int64_t step;     /* global */
    double time_s;    /* Unix time, seconds */
    double value;     /* may be infinite or not a number */
} cse_logged_scalar;

/* A sample for the contract test: the file that a logger writes for these scalars, in this order:
 *
 *   name               step   time_s         value
 *   loss               1      1700000000.25  0.5
 *   val "accuracy", %  300    1700000001.5   0.1
 *   lr/0               70000  1700000002.75  infinity
 */
typedef struct cse_logger_sample {
    const char
        *settings; /* "{path: $folder/x.csv}", $folder being the model_dir; NULL ends the list */
    /* Not NULL: opening fails with a message that contains this. No values then. */
    const char *refusal;
    const char *source;   /* what wrote the bytes, independently of this code */
    const char *file;     /* pattern (of a shell) below $folder, which one file matches */
    size_t skipped_bytes; /* at the start of the file, such as the time of opening */
    const char *bytes;    /* the rest of the file */
    size_t size;          /* 0: to the end of the text */
} cse_logger_sample;

typedef struct cse_logger_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
    /* `settings` live until close; `*logger` is the plugin's own. */
    cse_status (*open)(const cse_settings *settings, const char *model_dir, void **logger);
    cse_status (*scalar)(void *logger, const cse_logged_scalar *scalar);
    /* Makes what was written so far visible to other programs. Called after each logged step. */
    cse_status (*flush)(void *logger);
    void (*close)(void *logger);
    bool later; /* what was written is there for certain after close, not after flush */
    const cse_logger_sample *samples; /* at least one with bytes */
    /* NULL, or called once after `open` where the run goes on after `step`: what follows may be for
     * steps that an earlier start has logged, too, whose values are to be replaced, so that a name
     * has one value a step. The first value's step is the first that is done again. */
    cse_status (*go_on)(void *logger, int64_t step);
} cse_logger_descriptor;

/* A row of CSE_PLUGINS. */
#define CSE_LOGGER_PLUGIN(descriptor) \
    CSE_PLUGIN_ROW("logger", CSE_LOGGER_ABI, const cse_logger_descriptor, descriptor)

#ifdef __cplusplus
}
#endif

#endif
