/* The contract of a metric, written as traced tensor operations: states that accumulate over
 * batches, and the value computed from them. It declares its states beforehand and is called once,
 * while the step is traced. */
#ifndef CSENGINE_METRIC_H
#define CSENGINE_METRIC_H

#include "csengine/plugin.h"
#include "csengine/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
enum { CSE_METRIC_ABI = 1 };

enum { CSE_MAX_METRIC_ARGUMENTS = 4 };

/* One update; everything but the arguments is of step level. */
typedef struct cse_metric_step {
    const cse_settings *settings;
    cse_tensor *arguments[CSE_MAX_METRIC_ARGUMENTS]; /* optional ones that are not given are NULL */
    cse_tensor *states[CSE_MAX_DECLARED_STATES];
    /* Results: every state's next value and the metric's value, a float32 scalar. */
    cse_tensor *next_states[CSE_MAX_DECLARED_STATES];
    cse_tensor *value;
} cse_metric_step;

/* A test case of a metric: arguments of three batches of four samples, and the value after each
 * batch, which must not depend on the size of a microbatch. */
enum {
    CSE_METRIC_SAMPLE_BATCHES = 3,
    CSE_METRIC_SAMPLE_ROWS = 4,    /* of each batch */
    CSE_METRIC_SAMPLE_COLUMNS = 4, /* at most */
};
typedef struct cse_metric_sample {
    const char *name;     /* NULL ends the list */
    const char *settings; /* may be NULL */
    /* Not NULL: the settings are rejected with a message that contains this, and there are no
     * values. */
    const char *refusal;
    const char *source; /* what computed the values, independently of this code */
    int argument_count;
    struct {
        cse_dtype dtype; /* CSE_FLOAT32 or CSE_INT32 */
        int columns;     /* [batch, columns]; 0: [batch] */
        double
            values[CSE_METRIC_SAMPLE_BATCHES * CSE_METRIC_SAMPLE_ROWS * CSE_METRIC_SAMPLE_COLUMNS];
    } arguments[CSE_MAX_METRIC_ARGUMENTS];
    double values[CSE_METRIC_SAMPLE_BATCHES];
    double tolerance; /* absolute; 0: 1e-5, above 24 x 2^-24 x 4 of float32 sums */
} cse_metric_sample;

typedef struct cse_metric_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;                       /* an empty table where there are none */
    cse_status (*check)(const cse_settings *settings); /* may be NULL */
    const char *arguments; /* "labels, predictions[, weights]", for messages and lists */
    int min_arguments, max_arguments;
    int state_count;
    cse_declared_state states[CSE_MAX_DECLARED_STATES];
    /* States that are not scalar have as many elements as this integer setting says; NULL: all are
     * scalar. */
    const char *length_setting;
    void (*update)(cse_metric_step *step);
    const cse_metric_sample *samples; /* at least one */
} cse_metric_descriptor;

/* The sum of all elements of `x` over the global batch, and their number; `x` may also be of step
 * level. */
CSE_API cse_tensor *cse_metric_sum(cse_tensor *x);
/* The sum over all axes but the last and over the global batch: a vector. */
CSE_API cse_tensor *cse_metric_sum_rows(cse_tensor *x);
CSE_API cse_tensor *cse_metric_count(const cse_tensor *x);

/* A total over all updates takes two states, one beside the other: the sum, and what is left when
 * it is rounded to float32. So counts are exact far beyond 2^24, up to 2^46, as long as those of
 * one batch are; and the rounding errors of other sums do not add up over the updates. */
#define CSE_METRIC_TOTAL(total)               \
    { .name = (total), .scalar = true },      \
    {                                         \
        .name = total "_rest", .scalar = true \
    }
#define CSE_METRIC_TOTALS(total) /* of `length_setting` numbers */ \
    { .name = (total) },                                           \
    {                                                              \
        .name = total "_rest"                                      \
    }
/* Adds a batch's `fresh` to the total that begins at state `index`, and returns the sum. */
CSE_API cse_tensor *cse_metric_add(cse_metric_step *step, int index, cse_tensor *fresh);

/* sum / total, and 0 where the total is 0: a mean over nothing, as where all weights are 0, is 0,
 * and not NaN. */
CSE_API cse_tensor *cse_metric_quotient(cse_tensor *sum, cse_tensor *total);

/* A row of CSE_PLUGINS. */
#define CSE_METRIC_PLUGIN(descriptor) \
    CSE_PLUGIN_ROW("metric", CSE_METRIC_ABI, const cse_metric_descriptor, descriptor)

#ifdef __cplusplus
}
#endif

#endif
