/* Calls who looks at the model between two executions (cse_job_look). */
#include "engine/base/clock.h"
#include "run/job/job_parts.h"

void cse_job_look_at(const cse_job *j, bool validated, double seconds)
{
    if (j->environment->on_look == NULL || j->session->hooks.ask_data != NULL ||
        j->recorder == NULL || j->result->stopped || !cse_job_executes(j))
        return;
    j->environment->on_look(j->environment->look_self, &(cse_job_look){ .model = j->model,
                                                                        .recorder = j->recorder,
                                                                        .step = cse_global_step(),
                                                                        .validated = validated,
                                                                        .samples = &j->validated,
                                                                        .seconds = seconds });
}

cse_status cse_job_validate_and_look(cse_job *j)
{
    const int64_t begun_ns = cse_clock_ns();
    CSE_TRY(cse_job_validate(j));
    cse_job_look_at(j, true, (double)(cse_clock_ns() - begun_ns) * 1e-9);
    return CSE_OK;
}
