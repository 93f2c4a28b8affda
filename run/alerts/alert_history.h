/* The newest points of a series, and what is known of all of them. A point costs about the same
 * however many points the functions look at: a condition may be tried on a million steps. */
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

/* Of the finite ones of some points. */
typedef struct cse_alert_summary {
    int64_t count;
    double minimum, maximum, mean, squares; /* squares: the sum of squared deviations */
} cse_alert_summary;

/* The last `size` points. The series is cut into blocks of that many: the last points of the block
 * before and those of this one are the window. */
typedef struct cse_alert_window {
    int size;
    cse_alert_summary *before; /* [size]: of the block before, from a point to its end */
    cse_alert_summary block;   /* of the points of this block so far */
    double *sorted;            /* [size]: the finite ones of the window, by value */
    int sorted_count;
} cse_alert_window;

typedef struct cse_alert_point {
    int64_t step;
    double value;
} cse_alert_point;

typedef struct cse_alert_history {
    cse_alert_point *points; /* a ring of `size` */
    int size;
    int64_t count, time_ms; /* of all points; of the newest */
    double first;
    cse_alert_summary all;
    cse_alert_window *windows;
    int window_count;
} cse_alert_history;

/* What a function looks at: the last `window` points, or all with 0; of a change, the last `window`
 * steps before `step`. */
typedef struct cse_alert_view {
    cse_alert_function function;
    int window;
    int64_t step;
} cse_alert_view;

/* Room for a view. Called before the first point. */
void cse_alert_history_reserve(cse_alert_history *history, const cse_alert_view *view);
void cse_alert_history_clear(cse_alert_history *history);
void cse_alert_history_add(cse_alert_history *history, int64_t step, double value, int64_t time_ms);

/* Of a view that was reserved. False while there are too few points. */
bool cse_alert_history_value(const cse_alert_history *history, const cse_alert_view *view,
                             double *value);

#endif
