/* Values of the run store, one a key. */
#include "run/record/report_rows.h"

#include "engine/base/json.h"
#include "engine/base/library.h"
#include "engine/base/registry.h"

void cse_report_rows_links(cse_store *store, const char *links)
{
    if (links != NULL)
        cse_store_set(store, "links", links);
}

static void add_plugins(const cse_library *library, cse_text *json)
{
    for (const cse_plugin *p = library->plugins; p->kind != NULL; p++) {
        const cse_descriptor *own = p->descriptor;
        cse_text_add(json, "%s{\"kind\":", json->size > 1 ? "," : "");
        cse_json_add_string(json, p->kind);
        cse_text_add(json, ",\"name\":");
        cse_json_add_string(json, own->name);
        cse_text_add(json, ",\"library\":");
        cse_json_add_string(json, library->path);
        cse_text_add(json, ",\"digest\":\"%s\"}", library->digest);
    }
}

/* Libraries stay loaded until the process ends: of a program with several runs, those of the
 * earlier ones are among them. */
static void set_plugins(cse_store *store)
{
    const cse_library *library;
    cse_text json = { 0 };
    cse_text_add(&json, "[");
    for (int i = 0; (library = cse_library_at(i)) != NULL; i++)
        add_plugins(library, &json);
    cse_text_add(&json, "]");
    cse_store_set(store, "plugins", json.data);
    cse_text_clear(&json);
}

void cse_report_rows_origin(cse_store *store, const cse_session_report *report)
{
    set_plugins(store);
    cse_store_set(store, "data", report->data);
    cse_report_rows_links(store, report->links);
}

void cse_report_rows_steps(cse_store *store, const cse_step *step, const cse_session_report *report)
{
    cse_store_set_integer(store, "numerics_every", report->numerics_every);
    cse_store_set_integer(store, "batch_size", report->batch_size);
    cse_store_set_integer(store, "micro_batch_size", step->graph->micro_batch_size);
    cse_store_set_integer(store, "first_step", report->first_step);
    cse_store_set_integer(store, "run_first_step", report->run_first_step);
    cse_store_set_integer(store, "run_last_step", report->run_last_step);
}
