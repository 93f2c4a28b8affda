/* One note of a run: removed. */
#include "dashboard/routes/note_support.h"
#include "store/notes.h"

static void remove_note(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    if (!cse_note_may_change(request, answer, &job))
        return;
    const cse_status status =
        cse_notes_remove(job.record.model_dir, cse_request_integer(request, "note", 0));
    if (status == CSE_OK)
        cse_answer_empty(answer, 204);
    else
        cse_note_refuse(answer, status, job.record.id);
    cse_job_release(&job);
}

const cse_route cse_route_note = {
    .path = "/api/v1/jobs/{id}/notes/{note}",
    .tag = "data",
    .operations = {
        { CSE_OPERATION("DELETE", "removeNote", remove_note, "Removes a note"),
          .replies = "204  # Removed",
          .problems = "501 503" },
    },
};
