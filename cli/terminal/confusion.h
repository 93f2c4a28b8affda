/* A confusion matrix as lines of a terminal, and as a file of separated values. */
#ifndef CSE_CLI_TERMINAL_CONFUSION_H
#define CSE_CLI_TERMINAL_CONFUSION_H

#include <stdio.h>

#include "run/job/job.h"

/* Rows are labels, with their recall at the end, columns predictions, with their precision
 * below. Of many classes the most frequent confusions alone. */
void cse_confusion_show(FILE *out, const cse_job_confusion *confusion);
/* matrix,label,prediction,count of every cell; CSE_IO, and CSE_USAGE where there is no matrix. */
cse_status cse_confusion_write_csv(const char *path, const cse_job_result *result);

#endif
