/* Log lines of an agent, on their way to the leader through its standard error: with a number each,
 * so that the leader can tell how many are missing.
 *
 * The run's log has the lines of all hosts in the order in which they reach the leader. Lines of
 * one host keep their order; between hosts the order says no more than that. The clocks of hosts
 * are not used: the time of a line is that of its arrival. */
#ifndef CSE_RUN_HOSTS_HOST_LOG_H
#define CSE_RUN_HOSTS_HOST_LOG_H

#include "engine/base/log.h"

/* Of an agent: from here on its log lines are numbered. */
void cse_host_log_begin(void);

/* What the leader knows of a host's lines. */
typedef struct cse_host_log {
    int64_t read; /* the highest number so far */
    int64_t lost; /* numbers that were left out */
} cse_host_log;

/* Reads one line of another host's output, and logs it as a record of that host, with the process
 * that it is of; before that how many were lost, where there are.
 * What is no log line is logged as it stands. */
void cse_host_log_pass(cse_host_log *log, const char *host, const char *line);
/* The line without its number, for messages; borrowed. */
const char *cse_host_log_text(const char *line);

#endif
