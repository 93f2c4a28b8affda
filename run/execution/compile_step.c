/* From a traced step to its artefact, and what a session keeps of that. */
#include "run/execution/compile_step.h"

#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/code/codegen/codegen.h"

#define ARTEFACT_LOOK_NS INT64_C(1000000000)

/* Keeps the record of a training step's kernels, and tells where they are not those that the
 * checkpoint was trained with: the run goes on as well, with other bits than where it began. */
static void keep_kernels(cse_session *session, const char *kernels)
{
    static const char portable[] = "portable on ";
    const char *before = session->saving.kernels;
    bool both_portable = before != NULL && strncmp(before, portable, sizeof portable - 1) == 0 &&
                         strncmp(kernels, portable, sizeof portable - 1) == 0;
    if (session->saving.loaded_path != NULL && before != NULL && !both_portable &&
        strcmp(before, kernels) != 0)
        cse_log_line(CSE_LOG_WARNING,
                     "checkpoint %s was trained with other kernels, which sum in another order: "
                     "from here on the bits differ from those of a run that had stayed with them. "
                     "There: %s. Here: %s",
                     session->saving.loaded_path, before, kernels);
    if (before == NULL || strcmp(before, kernels) != 0)
        session->saving.kernels = cse_arena_string(session->arena, kernels);
    session->saving.loaded_path = NULL;
}

static cse_status finish_compilation(cse_session *session, cse_compilation *compilation,
                                     const cse_step *step)
{
    cse_compile_result compiled = { .cached = false };
    CSE_TRY(cse_compilation_finish(compilation, step->graph, &compiled));
    session->report.compile_seconds = compiled.seconds;
    session->report.compile_cached = compiled.cached;
    session->report.memory = cse_memory_plan_figures(step->graph);
    memcpy(session->report.artefact_directory, compiled.directory, sizeof compiled.directory);
    memcpy(session->report.artefact_digest, compiled.digest, sizeof compiled.digest);
    memcpy(session->report.kernels, compiled.kernels, sizeof compiled.kernels);
    if (step->training) {
        keep_kernels(session, compiled.kernels);
        cse_session_take_artefact(session, compiled.digest);
    }
    CSE_SESSION_REPORT(session, on_compiled, &session->report);
    return CSE_OK;
}

/* Observers write it down, which takes longer than all else before the first step. */
void cse_step_tell_graph(cse_session *session)
{
    const cse_step *step = session->execution.untold;
    session->execution.untold = NULL;
    if (step != NULL)
        CSE_SESSION_REPORT(session, on_graph, step);
}

cse_status cse_step_compile(cse_session *session, const cse_step *step)
{
    const cse_configuration *c = &session->configuration;
    cse_compilation *compilation = NULL;
    cse_status status;
    if (c->validate_only) {
        status = cse_passes_run(step->graph, session->hooks.passes);
    } else {
        CSE_TRY(
            cse_compilation_new(step->graph, session->hooks.passes, c->compile_dir, &compilation));
        status = cse_compilation_plan(compilation, step->graph, session->hooks.passes);
    }
    if (status == CSE_OK && compilation != NULL && step->training)
        cse_session_take_code(session, cse_compilation_fingerprint_view(compilation));
    if (status == CSE_OK) {
        if (session->hooks.on_planned != NULL)
            session->hooks.on_planned(session->hooks.self, step);
        CSE_SESSION_REPORT(session, on_planned, step);
        session->execution.untold = step;
        session->execution.untold_ns = cse_clock_ns();
        if (compilation == NULL || !cse_compilation_is_found(compilation))
            cse_step_tell_graph(session);
    }
    if (status == CSE_OK && !c->validate_only)
        status = finish_compilation(session, compilation, step);
    cse_compilation_destroy(&compilation);
    return status;
}

void cse_step_keep_artefact(cse_session *session)
{
    const int64_t now_ns = cse_clock_ns();
    if (now_ns - session->execution.artefact_ns < ARTEFACT_LOOK_NS)
        return;
    session->execution.artefact_ns = now_ns;
    if (session->execution.artefact == NULL)
        session->execution.artefact = cse_calloc(1, sizeof *session->execution.artefact);
    cse_kept_artefact_look(session->execution.artefact, session->report.artefact_directory,
                           session->report.artefact_digest);
}
