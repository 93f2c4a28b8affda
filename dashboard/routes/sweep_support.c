/* Jobs of a sweep are requested by the server's own command, so that limits of a token with a name
 * would not hold for them. */
#include "dashboard/routes/sweep_support.h"

#include "dashboard/sweeps/sweep_folder.h"
#include "dashboard/sweeps/sweep_json.h"

void cse_sweep_answer(const cse_request *request, int status, const char *name, cse_answer *answer)
{
    cse_sweep_log log;
    const char *root = request->server->options.root;
    cse_arena *arena = cse_arena_new();
    const cse_status found =
        root != NULL ? cse_sweep_folder_read(root, name, arena, &log) : CSE_NO_INPUT;
    if (found == CSE_OK) {
        cse_answer_json(answer, status, cse_sweep_json(&log, name, request->server->jobs));
        if (status == 201)
            cse_answer_header(answer, "Location", "/api/v1/sweeps/%s", name);
    } else if (found == CSE_NO_INPUT) {
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "there is no sweep \"%s\"", name);
    } else {
        cse_answer_problem(answer, CSE_PROBLEM_CONFLICT, "the sweep cannot be read: %s",
                           cse_error_message());
    }
    cse_arena_destroy(&arena);
}

bool cse_sweep_admits(const cse_request *request, cse_answer *answer)
{
    if (request->server->sweeps == NULL)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_IMPLEMENTED,
                           "this server shows one run and has no queue; start one with csengine "
                           "serve --root DIR");
    else if (request->grant != NULL)
        cse_answer_problem(answer, CSE_PROBLEM_FORBIDDEN,
                           "the jobs of a sweep that the server trains are not those of the token "
                           "\"%s\", whose limits would not hold: train it with `csengine sweep "
                           "FILE --server URL --token_file FILE`",
                           request->grant->name);
    else
        return true;
    return false;
}
