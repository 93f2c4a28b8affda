/* Each change of state with its reason: the run's own and the server's. */
#include "dashboard/routes/route_support.h"

static void list_transitions(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return;
    cse_answer_json(
        answer, 200,
        json_pack("{s:o}", "transitions", cse_job_transitions_json(request->server->jobs, &job)));
    cse_job_release(&job);
}

static const char schemas[] =
    "Transition\n"
    "  seq integer 0..\n"
    "  time_ms time\n"
    "  step integer|null 0..  # the last one that was done until then; null: none, or not known\n"
    "  from string|null  # state before; null for the first\n"
    "  to State\n"
    "  reason string|null  # one of the failure reasons, or a word of the command that caused it\n"
    "  message string\n"
    "  attempt integer 0..\n"
    "  origin 'run'|'server'  # who changed the state: the run itself or the server\n"
    "TransitionList\n"
    "  transitions [Transition]\n";

const cse_route cse_route_transitions = {
    .path = "/api/v1/jobs/{id}/transitions",
    .tag = "jobs",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listTransitions", list_transitions,
                        "Each change of state, with its reason"),
          .replies = "200 TransitionList" },
    },
};
