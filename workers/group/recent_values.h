/* The newest few measurements of a quantity, and their median: one that a stall has spoilt counts
 * for nothing as long as most of the others are sound. */
#ifndef CSE_WORKERS_GROUP_RECENT_VALUES_H
#define CSE_WORKERS_GROUP_RECENT_VALUES_H

enum { CSE_RECENT_VALUES = 5 };

typedef struct cse_recent_values {
    int count; /* at most CSE_RECENT_VALUES */
    int next;  /* the oldest, once there are so many */
    double values[CSE_RECENT_VALUES];
} cse_recent_values;

void cse_recent_add(cse_recent_values *recent, double value);
/* Of an even number, the lower one of the two; 0: there are none. */
double cse_recent_median(const cse_recent_values *recent);

#endif
