/* The data of a report: the API's answers about one run. */
#ifndef CSE_CLI_RUN_REPORT_H
#define CSE_CLI_RUN_REPORT_H

#include "cli/run_source.h"

/* Appends the object whose names are the API's paths and whose values are the answers to them; what
 * the run does not have is left out. Fails as reading the job itself does. */
cse_status cse_report_read(const cse_run_source *source, cse_text *data);

#endif
