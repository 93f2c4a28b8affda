/* Samples of the plugins that are built in, with independent values. A plugin of a user's library
 * brings its samples in its descriptor; those of the shipped ones are known to the tests alone.
 *
 * A file has the samples of one plugin, or of several that share them, and ends with a row for
 * each. */
#ifndef CSE_TESTS_SAMPLES_SAMPLES_H
#define CSE_TESTS_SAMPLES_SAMPLES_H

#include "csengine/callback.h"
#include "csengine/input.h"
#include "csengine/logger.h"
#include "csengine/metric.h"
#include "csengine/op.h"
#include "csengine/optimizer.h"
#include "csengine/schedule.h"

typedef struct cse_samples {
    const void *descriptor, *samples;
} cse_samples;

typedef cse_callback_descriptor cse_sampled_callback;
typedef cse_input_descriptor cse_sampled_input;
typedef cse_logger_descriptor cse_sampled_logger;
typedef cse_metric_descriptor cse_sampled_metric;
typedef cse_op cse_sampled_op;
typedef cse_optimizer_descriptor cse_sampled_optimizer;
typedef cse_schedule_descriptor cse_sampled_schedule;

/* A row: the kind, the name of the plugin's file, and its samples. autogen.sh collects them. */
#define CSE_SAMPLES(kind, file, table)                                                       \
    extern const cse_sampled_##kind cse_##kind##_##file;                                     \
    extern const cse_samples cse_samples_of_##kind##_##file;                                 \
    const cse_samples cse_samples_of_##kind##_##file = { .descriptor = &cse_##kind##_##file, \
                                                         .samples = (table) }

/* Every row, ended by NULL; written by autogen.sh. */
extern const cse_samples *const cse_samples_of_all[];

/* The samples of a descriptor; NULL: the tests have none. */
const void *cse_samples_find(const void *descriptor);
/* Those of an op, or those that its descriptor brings. */
const cse_op_sample *cse_samples_of(const cse_op *op);

#endif
