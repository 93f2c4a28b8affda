/* The newest points of a series, and what is known of all of them. */
#ifndef CSE_RUN_ALERTS_ALERT_HISTORY_H
#define CSE_RUN_ALERTS_ALERT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cse_alert_function {
    CSE_ALERT_LAST,
    CSE_ALERT_MEAN,
    CSE_ALERT_MEDIAN,
    CSE_ALERT_MIN,
    CSE_ALERT_MAX,
    CSE_ALERT_STD,
    CSE_ALERT_SUM,
    CSE_ALERT_CHANGE,
    CSE_ALERT_FUNCTIONS
} cse_alert_function;

typedef struct cse_alert_history {
    struct cse_alert_point {
        int64_t step;
        double value;
    } * points; /* a ring of `size` */
    int size;
    int64_t count, time_ms; /* of all points; of the newest */
    /* Of all finite points; mean and sum of squared deviations by Welford's recurrence. */
    int64_t finite;
    double first, minimum, maximum, mean, squares;
} cse_alert_history;

/* Room for a function that looks at `points` of them. Called before the first point. */
void cse_alert_history_reserve(cse_alert_history *history, int points);
void cse_alert_history_clear(cse_alert_history *history);
void cse_alert_history_add(cse_alert_history *history, int64_t step, double value, int64_t time_ms);

/* What a function looks at: the last `window` points, or all with 0; of a change, the last `window`
 * steps before `step`. */
typedef struct cse_alert_view {
    cse_alert_function function;
    int window;
    int64_t step;
} cse_alert_view;
/* False while there are too few points. */
bool cse_alert_history_value(const cse_alert_history *history, const cse_alert_view *view,
                             double *value);

#endif
