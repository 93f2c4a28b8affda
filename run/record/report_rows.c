/* Values of the run store, one a key. */
#include "run/record/report_rows.h"

void cse_report_rows_links(cse_store *store, const char *links)
{
    if (links != NULL)
        cse_store_set(store, "links", links);
}

void cse_report_rows_origin(cse_store *store, const cse_session_report *report)
{
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
