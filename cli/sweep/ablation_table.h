/* The series of an ablation's variants beside those of the unchanged run. */
#ifndef CSE_CLI_SWEEP_ABLATION_TABLE_H
#define CSE_CLI_SWEEP_ABLATION_TABLE_H

#include <jansson.h>

#include "cli/sweep/ablation.h"

/* A series of a variant, from the step after the shared ones on. */
typedef struct cse_ablation_value {
    bool known;
    int64_t step, best_step; /* of the last point, and of the first that no other is better than */
    double last, best;
} cse_ablation_value;

typedef struct cse_ablation_metric {
    const char *name;
    bool maximizes;
    cse_ablation_value *values; /* [ablation->count] */
} cse_ablation_metric;

typedef struct cse_ablation_table {
    const cse_ablation *ablation;
    cse_ablation_metric *metrics;
    int count;
} cse_ablation_table;

/* Of the series that are named, ended by NULL; NULL: the loss, and what validations measure.
 * CSE_NO_INPUT where no variant has one of them. In the arena of the ablation. */
cse_status cse_ablation_table_read(const cse_ablation *ablation, const char *const *names,
                                   cse_ablation_table *table);
void cse_ablation_table_show(const cse_ablation_table *table);
json_t *cse_ablation_table_json(const cse_ablation_table *table);

/* How far a variant's last or best value is from that of the unchanged run. NaN where one of both
 * is not known, and of last values where they are of different steps. */
double cse_ablation_last_difference(const cse_ablation_metric *metric, int variant);
double cse_ablation_best_difference(const cse_ablation_metric *metric, int variant);

#endif
