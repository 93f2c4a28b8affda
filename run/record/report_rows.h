/* What an execution is, as values of the run store. */
#ifndef CSE_RUN_RECORD_REPORT_ROWS_H
#define CSE_RUN_RECORD_REPORT_ROWS_H

#include "run/session/observer.h"
#include "store/store.h"

/* The links of identity; NULL: nothing was trained. */
void cse_report_rows_links(cse_store *store, const char *links);
/* What it follows from: the data files and the links. */
void cse_report_rows_origin(cse_store *store, const cse_session_report *report);
/* Of one that trains: its batches and its steps. */
void cse_report_rows_steps(cse_store *store, const cse_step *step,
                           const cse_session_report *report);

#endif
