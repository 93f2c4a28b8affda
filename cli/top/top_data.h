/* What `csengine top` shows: the jobs of a server or one run, and what is known of the chosen one.
 */
#ifndef CSE_CLI_TOP_TOP_DATA_H
#define CSE_CLI_TOP_TOP_DATA_H

#include "cli/client/run_source.h"

enum { CSE_TOP_POINTS = 400, CSE_TOP_LOGS = 40, CSE_TOP_ID_BYTES = 65, CSE_TOP_ERROR_BYTES = 300 };

typedef struct cse_top_data {
    cse_run_source from;          /* of a server its id is that of the chosen job, or NULL */
    char server[256];             /* as it is shown */
    char where[1001];             /* condition on the jobs of a server; "": all */
    json_t *jobs;                 /* array, in the order of the server: newest first */
    char asked[CSE_TOP_ID_BYTES]; /* a job that is in the list in any case; "": none */
    int64_t total;                /* jobs for which the condition holds */
    char job[CSE_TOP_ID_BYTES];   /* of which the following is */
    json_t *topology;             /* its newest sample, or NULL */
    json_t *lines;                /* array: its newest log lines, the newest last */
    json_t *names;                /* array: its series */
    char series[256];             /* whose points are read */
    double steps[2 * CSE_TOP_POINTS * 8], values[2 * CSE_TOP_POINTS * 8];
    int count;
    char error[CSE_TOP_ERROR_BYTES]; /* of the last question; "": none */
} cse_top_data;

/* A line without an argument means the jobs of a server. */
cse_status cse_top_data_open(const cse_command_line *line, cse_top_data *data);
void cse_top_data_close(cse_top_data *data);

/* Asks for the jobs; the last answer stays after a failure. */
cse_status cse_top_data_read_jobs(cse_top_data *data);
/* Asks for what is shown of one job, in place of the one before. */
void cse_top_data_read_job(cse_top_data *data, const char *job);

#endif
