/* The data of a report: the API's answers about one run. */
#ifndef CSE_CLI_RUNS_RUN_REPORT_H
#define CSE_CLI_RUNS_RUN_REPORT_H

#include "cli/client/run_source.h"

/* Appends an object that maps API paths to their responses; what the run does not have is left out.
 * Fails when the job itself cannot be read. */
cse_status cse_report_read(const cse_run_source *source, cse_text *data);

#endif
