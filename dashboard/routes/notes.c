/* What users have written about a run: listed, and one more. */
#include "store/notes.h"
#include "dashboard/routes/note_support.h"

static void list_notes(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    json_t *notes = NULL;
    if (!cse_server_find_job(request, answer, &job))
        return;
    const cse_status status = cse_notes_read(job.record.model_dir, &notes);
    cse_answer_result(answer, status, status == CSE_OK ? json_pack("{s:o}", "notes", notes) : NULL);
    cse_job_release(&job);
}

static void add_note(const cse_request *request, cse_answer *answer)
{
    const json_t *step = json_object_get(request->body, "step");
    const char *text = json_string_value(json_object_get(request->body, "text"));
    cse_job job;
    json_t *added = NULL;
    if (!cse_note_may_change(request, answer, &job))
        return;
    const cse_status status =
        cse_notes_add(job.record.model_dir, json_is_integer(step) ? json_integer_value(step) : -1,
                      text, request->grant != NULL ? request->grant->name : NULL, &added);
    if (status == CSE_OK)
        cse_answer_json(answer, 201, added);
    else
        cse_note_refuse(answer, status, job.record.id);
    cse_job_release(&job);
}

static const char schemas[] =
    "NewNote\n"
    "  text string 1..2000  # plain text; line ends and tabs are kept\n"
    "  step? integer|null 0..  # the step that it is about; absent: the run as a whole\n"
    "  = {\"text\": \"the data were mended here\", \"step\": 1200}\n"
    "Note\n"
    "  id integer 1..\n"
    "  time_ms time  # when it was written\n"
    "  step integer|null\n"
    "  text string\n"
    "  author string|null  # name of the token that it came with; null: it has none\n"
    "NoteList\n"
    "  notes [Note]  # oldest first\n";

const cse_route cse_route_notes = {
    .path = "/api/v1/jobs/{id}/notes",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listNotes", list_notes, "What users have written about the run"),
          .replies = "200 NoteList" },
        { CSE_OPERATION("POST", "addNote", add_note, "One more note, at a step or of the run"),
          .parameters = "Idempotency-Key",
          .body = "NewNote",
          .replies = "201 Note  # Added",
          .problems = "409 501 503" },
    },
};
