/* A cut follows from what a training step reads; an evaluation may read more. */
#include "run/execution/cut_states.h"

cse_status cse_check_cut_states(const cse_step *step, const cse_execution *execution)
{
    if (execution->hosts == NULL || execution->cluster.state_copies == 0)
        return CSE_OK;
    for (int i = 0; i < step->graph->state_count; i++)
        if (step->bound[i]->of_averages)
            return cse_fail(CSE_CONFIG, "states.shard: averages of the weights (ema) "
                                        "are not cut over hosts: leave one of the two out");
    return CSE_OK;
}
