/* A run as one file: the dashboard's pages with the API's answers in them. */
#ifndef CSE_CLI_RUN_REPORT_H
#define CSE_CLI_RUN_REPORT_H

#include "cli/client.h"

/* Appends the object whose names are the API's paths and whose values are the answers to them; what
 * the run does not have is left out. From the run store in `model_dir`, which is not changed: fails
 * as opening it does. */
cse_status cse_report_read_run(const char *model_dir, cse_text *data);
/* The same of a server's job. */
cse_status cse_report_read_job(cse_client *client, const char *id, cse_text *data);

/* Appends the pages with the data in them. CSE_UNAVAILABLE when this program was built without
 * pages. */
cse_status cse_report_fill(const cse_text *data, cse_text *page);

#endif
