/* `csengine notes`: what users have written about a run, and one more. A model_dir is written to
 * itself; a job is its server's. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/arguments/option_values.h"
#include "cli/client/client_command.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "store/notes.h"

/* What the command line asks for. */
typedef struct note_request {
    const char *text;      /* NULL: none is added */
    int64_t step, removed; /* -1: the whole run; 0: none */
} note_request;

static cse_status read_request(const cse_command_line *line, note_request *r)
{
    static const int64_t steps[] = { 0, INT32_MAX }, ids[] = { 1, INT32_MAX };
    *r = (note_request){ .text = line->argument_count > 1 ? line->arguments[1] : NULL, .step = -1 };
    CSE_TRY(cse_option_integer(line, "step", steps, &r->step));
    CSE_TRY(cse_option_integer(line, "remove", ids, &r->removed));
    if (r->step >= 0 && r->text == NULL)
        return cse_fail(CSE_USAGE, "notes: --step is the step of a new note: give its TEXT");
    if (r->removed > 0 && r->text != NULL)
        return cse_fail(CSE_USAGE, "notes: give TEXT, which adds a note, or --remove, not both");
    return CSE_OK;
}

static void print_note(const json_t *note)
{
    const time_t time = (time_t)(json_integer_value(json_object_get(note, "time_ms")) / 1000);
    const json_t *step = json_object_get(note, "step");
    const char *author = json_string_value(json_object_get(note, "author"));
    char clock[32] = "", where[32] = "run";
    struct tm local;
    if (localtime_r(&time, &local) != NULL)
        strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &local);
    if (json_is_integer(step))
        snprintf(where, sizeof where, "step %lld", (long long)json_integer_value(step));
    cse_print("%lld  %s  %s  %s%s%s\n", (long long)json_integer_value(json_object_get(note, "id")),
              clock, where, author != NULL ? author : "", author != NULL ? ": " : "",
              json_string_value(json_object_get(note, "text")));
}

/* A list of notes, or one. */
static void show(const cse_command_line *line, const json_t *found)
{
    const json_t *notes = json_object_get(found, "notes");
    size_t i;
    json_t *note;
    if (cse_option_is_on(line, "json")) {
        cse_json_print(found);
        return;
    }
    if (notes == NULL && found != NULL)
        print_note(found);
    if (json_is_array(notes) && json_array_size(notes) == 0)
        cse_print("no notes\n");
    json_array_foreach(notes, i, note) print_note(note);
}

/* ---- a folder ---- */

static bool has_run(const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/run.db", name);
    return access(path, F_OK) == 0;
}

static int change_folder(const cse_command_line *line, const note_request *r)
{
    const char *folder = line->arguments[0];
    json_t *found = NULL, *notes = NULL;
    cse_status status;
    if (r->removed > 0) {
        status = cse_notes_remove(folder, r->removed);
    } else if (r->text != NULL) {
        status = cse_notes_add(folder, r->step, r->text, NULL, &found);
    } else {
        status = cse_notes_read(folder, &notes);
        found = status == CSE_OK ? json_pack("{s:o}", "notes", notes) : NULL;
    }
    if (status == CSE_OK && found != NULL)
        show(line, found);
    json_decref(found);
    return cse_report(status);
}

/* ---- a job ---- */

static cse_status body(cse_client *api, const cse_command_line *line)
{
    note_request r;
    cse_text path = { 0 };
    cse_client_answer answer = { 0 };
    char key[CSE_IDEMPOTENCY_KEY_BYTES], rest[40] = "/notes";
    CSE_TRY(read_request(line, &r));
    if (r.removed > 0)
        snprintf(rest, sizeof rest, "/notes/%lld", (long long)r.removed);
    cse_status status = cse_client_job_path(&path, line->arguments[0], rest);
    cse_client_request request = { .path = path.data };
    json_t *note = r.text != NULL ? json_pack("{s:s, s:o}", "text", r.text, "step",
                                              r.step >= 0 ? json_integer(r.step) : json_null())
                                  : NULL;
    if (r.removed > 0)
        request.method = "DELETE";
    if (r.text != NULL) {
        cse_new_idempotency_key(key);
        request.method = "POST";
        request.body = note;
        request.idempotency_key = key;
    }
    if (status == CSE_OK && r.text != NULL && note == NULL)
        status = cse_fail(CSE_USAGE, "notes: the text is no UTF-8");
    if (status == CSE_OK)
        status = cse_client_call(api, &request, &answer);
    if (status == CSE_OK && answer.json != NULL)
        show(line, answer.json);
    else if (status != CSE_OK && cse_option_is_on(line, "json") && answer.status != 0)
        cse_client_show_body(&answer);
    json_decref(note);
    cse_client_answer_clear(&answer);
    cse_text_clear(&path);
    return status;
}

static int run(const cse_command_line *line)
{
    note_request r;
    const cse_status status = read_request(line, &r);
    if (status != CSE_OK)
        return cse_report(status);
    return has_run(line->arguments[0]) ? change_folder(line, &r) : cse_client_command(line, body);
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "step", "STEP", NULL, "the step that the new note is about; without it: the whole run" },
    { "remove", "NUMBER", NULL, "removes the note of that number" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "notes mnist-1 'the data were mended here' --step 1200", "a mark on the curves of the job" },
    { "notes model_dir/a", "the notes of a run, with their numbers" },
    { 0 },
};

const cse_command cse_command_notes = {
    .name = "notes",
    .group = CSE_GROUP_STEER,
    .summary = "writes a note about a run, at a step or of the whole, or lists them",
    .arguments = "JOB|MODEL_DIR [TEXT]",
    .doc =
        "Notes lie in notes.jsonl beside the run store, and stand as marks on curves and in the\n"
        "table of experiments. A text has 2000 bytes at most, a run 1000 notes.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 2,
    .examples = examples,
    .run = run,
};
