/* Conditions on jobs, as people write them: words, comparisons, and, or, not, parentheses.
 *
 *   mlp state=FAILED                    words are looked for in name, id, model, state, labels
 *   val_accuracy>0.8 and lr<=0.01       the last value of a series; a setting
 *   min(val_loss)<2 (team=vision or fold>3) not health=diverged
 *
 * Parts that stand beside each other must all hold. A name is a field of the job, a label, a
 * series, or a setting by the end of its path, in this order; the value of a job without it is
 * unlike any. */
#ifndef CSE_DASHBOARD_QUERY_EXPRESSION_H
#define CSE_DASHBOARD_QUERY_EXPRESSION_H

#include <jansson.h>
#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_expression cse_expression;

enum { CSE_EXPRESSION_BYTES = 1000 };

/* CSE_USAGE with what is wrong and where. */
cse_status cse_expression_parse(const char *text, cse_expression **expression);
void cse_expression_destroy(cse_expression **expression);

/* `job` as the API shows it, `values` as cse_job_values gives them. */
bool cse_expression_holds(cse_expression *expression, const json_t *job, const json_t *values);

/* A name that no job had of those that it was asked about; NULL: every name is known. */
const char *cse_expression_unknown(const cse_expression *expression);

#endif
