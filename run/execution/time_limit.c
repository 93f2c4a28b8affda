/* Time is that of the monotonic clock since the start of the session, or of the run's first process
 * where another one goes on. */
#include "run/execution/time_limit.h"

#include "engine/base/clock.h"

void cse_session_start_time(cse_session *session, int64_t started_ns)
{
    if (started_ns != 0)
        session->execution.started_ns = started_ns;
}

bool cse_session_time_is_up(cse_session *session)
{
    const int64_t limit_sec = session->configuration.job_time_sec;
    if (limit_sec > 0 &&
        cse_clock_ns() - session->execution.started_ns >= limit_sec * INT64_C(1000000000))
        session->execution.time_is_up = true;
    return session->execution.time_is_up;
}

cse_status cse_session_check_time(const cse_session *session)
{
    const cse_run_result *result = &session->report.execution;
    if (!session->execution.time_is_up || !result->stopped)
        return CSE_OK;
    return cse_fail_at(&(cse_error){ .status = CSE_TIME_LIMIT,
                                     .hint = "started again, the run goes on from there" },
                       "job_time_sec: the %lld s of the run are over after step %lld of %lld",
                       (long long)session->configuration.job_time_sec,
                       (long long)result->steps_done, (long long)session->report.run_last_step);
}
