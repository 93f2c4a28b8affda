/* The page of a report: report.html of the dashboard's pages, with the data of a run in it. */
#ifndef CSE_CLI_RUNS_REPORT_PAGE_H
#define CSE_CLI_RUNS_REPORT_PAGE_H

#include "dashboard/pages/web_files.h"
#include "engine/base/text.h"

/* Appends the page among `files` with the data in it. CSE_UNAVAILABLE when there is none: the
 * program was built without pages. */
cse_status cse_report_fill(const cse_web_file *files, const cse_text *data, cse_text *page);

#endif
