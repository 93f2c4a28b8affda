/* A ring, sorted anew for each question: it holds five values. */
#include "workers/group/recent_values.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cse_recent_add(cse_recent_values *recent, double value)
{
    recent->values[recent->next] = value;
    recent->next = (recent->next + 1) % CSE_RECENT_VALUES;
    if (recent->count < CSE_RECENT_VALUES)
        recent->count++;
}

double cse_recent_median(const cse_recent_values *recent)
{
    double sorted[CSE_RECENT_VALUES];
    if (recent->count == 0)
        return 0;
    memcpy(sorted, recent->values, (size_t)recent->count * sizeof *sorted);
    qsort(sorted, (size_t)recent->count, sizeof *sorted, compare);
    return sorted[(recent->count - 1) / 2];
}
