/* The value of a metric after the last step, for the program and for the record of the run. */
#include "run/session/session.h"

cse_status cse_metric_value(cse_metric *metric, double *value)
{
    float last = 0;
    int32_t updates = 0;
    *value = 0;
    if (metric == NULL)
        return cse_fail(CSE_USAGE, "cse_metric_value: there is no metric");
    CSE_TRY(cse_state_get(metric->updates, &updates, sizeof updates));
    if (updates == 0)
        return cse_fail(CSE_USAGE,
                        "metric %s has no value: it was not updated since it was made or reset; "
                        "call cse_metric_update in the step and run it",
                        metric->label);
    CSE_TRY(cse_state_get(metric->value, &last, sizeof last));
    *value = (double)last;
    cse_session_report_scalar(cse_session_open_view("cse_metric_value"), metric->label, *value);
    return CSE_OK;
}
