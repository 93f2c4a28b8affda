/* Ends a sweep that the server trains: its command, then its jobs. */
#include "dashboard/routes/sweep_support.h"

static void cancel_sweep(const cse_request *request, cse_answer *answer)
{
    const char *name = cse_request_text(request, "name", "");
    if (!cse_sweep_admits(request, answer))
        return;
    const cse_status status = cse_sweep_runs_cancel(request->server->sweeps, name);
    if (status == CSE_OK || status == CSE_NO_INPUT)
        cse_sweep_answer(request, 202, name, answer);
    else
        cse_answer_failure(answer, status);
}

const cse_route cse_route_sweep_cancel = {
    .path = "/api/v1/sweeps/{name}/cancel",
    .tag = "sweeps",
    .operations = {
        { CSE_OPERATION("POST", "cancelSweep", cancel_sweep, "Ends a sweep and its jobs"),
          .doc = "Of a sweep that was started through the API. Trials whose jobs it cancels have "
                 "failed; the same sweep, sent again, goes on with the others.",
          .parameters = "name SweepName  # of the sweep's folder\n"
                        "  = \"rates\"\n"
                        "Idempotency-Key",
          .replies = "202 Sweep  # Taken",
          .problems = "409 501 503",
          .slow = true },
    },
};
