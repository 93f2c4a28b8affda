/* The condition of an alert, over the curves of a run.
 *
 *   loss > 3 * median(loss, 100)            the last value, and the median of the last 100
 *   not finite(loss) or grad_norm > 50
 *   skipped_steps > 5 in 100                grew by more than 5 within 100 steps
 *   val_accuracy < max(val_accuracy) - 0.02 the best so far
 *   no step for 60 s                        likewise `no val_loss for 10 min`
 *
 * Functions of a series and, where a number N follows, of its last N points: last, mean, median,
 * min, max, std, sum. Without N: of all points so far, which median has not. With fewer points than
 * N the condition does not hold. change(SERIES, N) is the one within N steps, at the beginning
 * since the first point. A series that keeps its value has a point at every 64th step. Values that
 * are not finite are left out of all functions but last and change; a comparison with NaN is false.
 * A condition with a name that has had no value does not hold. */
#ifndef CSE_RUN_ALERTS_ALERT_EXPRESSION_H
#define CSE_RUN_ALERTS_ALERT_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"
#include "engine/base/text.h"

typedef struct cse_alert_expression cse_alert_expression;

/* CSE_USAGE with what is wrong and where. */
cse_status cse_alert_expression_parse(const char *text, cse_alert_expression **expression);
void cse_alert_expression_destroy(cse_alert_expression **expression);

/* As it was given. Borrowed. */
const char *cse_alert_expression_text(const cse_alert_expression *expression);
/* The series that it names, each once; a silence of steps names none. Borrowed. */
int cse_alert_expression_series_count(const cse_alert_expression *expression);
const char *cse_alert_expression_series(const cse_alert_expression *expression, int index);
/* Whether that series has had a point. */
bool cse_alert_expression_knows(const cse_alert_expression *expression, int index);

/* As before the first point. */
void cse_alert_expression_forget(cse_alert_expression *expression);
/* A point of a curve; times are Unix times. */
typedef struct cse_alert_value {
    int64_t step, time_ms;
    double value;
} cse_alert_value;
/* The next point of its series of that index. */
void cse_alert_expression_add(cse_alert_expression *expression, int index,
                              const cse_alert_value *value);
/* Training has come to this step. */
void cse_alert_expression_step(cse_alert_expression *expression, int64_t step, int64_t time_ms);
/* Training began or goes on: silences begin anew. */
void cse_alert_expression_begin(cse_alert_expression *expression, int64_t time_ms);

bool cse_alert_expression_holds(const cse_alert_expression *expression, int64_t now_ms);
/* The first moment after `now_ms` at which a silence will have lasted long enough; INT64_MAX: there
 * is none. */
int64_t cse_alert_expression_due(const cse_alert_expression *expression, int64_t now_ms);
/* Appends what the names and functions are: "loss 7.31, median(loss, 100) 2.1". */
void cse_alert_expression_describe(const cse_alert_expression *expression, int64_t now_ms,
                                   cse_text *text);

#endif
