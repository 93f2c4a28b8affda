/* The same training with different settings: each variant of a configuration is trained in a child
 * process, and its loss curve is read from the child's JSON lines.
 *
 * A variant that fails in its child (loss not finite, loss scale exhausted, out of memory) is a
 * result and does not end the search. The variants share a directory of compiled steps; all files
 * are removed at the end. */
#ifndef CSE_RUN_MEASURE_VARIANTS_H
#define CSE_RUN_MEASURE_VARIANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_variants cse_variants;

typedef struct cse_variants_options {
    const char *config;          /* path of CONFIG.yaml */
    const char *const *settings; /* PATH=VALUE for all variants, ended by NULL; may be NULL */
    int64_t steps;               /* training steps of each */
    void *self;
    void (*on_step)(void *self, int64_t step); /* steps done by the variant that runs; or NULL */
    /* Whether the variant goes on after so many losses; else it is ended. NULL: always. */
    bool (*goes_on)(void *self, const float *losses, int64_t count);
} cse_variants_options;

/* The result of a variant. Release with cse_variant_result_clear. */
typedef struct cse_variant_result {
    int exit_code;  /* of the child; 0: it trained to the end */
    bool was_ended; /* by `goes_on` */
    char message[512];
    float *losses; /* one a step, [count] */
    int64_t count;
    double seconds; /* of wall-clock, compilation included */
} cse_variant_result;

/* Makes the working directory and handles SIGINT: Ctrl-C ends the variant that runs, and its call
 * returns CSE_INTERRUPTED. The options are borrowed. */
cse_status cse_variants_new(const cse_variants_options *options, cse_variants **variants);
/* Removes the working directory. */
void cse_variants_destroy(cse_variants **variants);

/* Runs one variant with further PATH=VALUE settings (ended by NULL), which take precedence. Fails
 * only when the child could not be run or was interrupted; `result` says how training ended. */
cse_status cse_variants_run(cse_variants *variants, const char *const *settings,
                            cse_variant_result *result);
void cse_variant_result_clear(cse_variant_result *result);

/* The mean loss of the last tenth of the steps that were asked for (at least one), in double: a
 * single step's loss varies with its batch. NaN when the variant did not train to the end or a loss
 * there is no number. */
double cse_variant_final_loss(const cse_variant_result *result);

#endif
