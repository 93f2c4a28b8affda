/* Log lines: one line an event, to stderr or to a sink that the process sets (workers forward
 * theirs to the coordinator). Never called from inside a step. */
#ifndef CSE_BASE_LOG_H
#define CSE_BASE_LOG_H

#include "csengine/status.h"

typedef enum cse_log_level {
    CSE_LOG_DEBUG,
    CSE_LOG_INFO,
    CSE_LOG_WARNING,
    CSE_LOG_ERROR
} cse_log_level;

typedef void cse_log_sink(void *self, cse_log_level level, const char *line);

void cse_log_line(cse_log_level level, const char *format, ...) CSE_PRINTF(2, 3);

/* `sink` NULL restores stderr. The sink is called with no lock held, from the logging thread. */
void cse_log_set_sink(cse_log_sink *sink, void *self);

/* What happens to a line without a sink: for sinks that add to it. */
void cse_log_print(cse_log_level level, const char *line);

/* Lines below `level` are dropped; the start value is CSE_LOG_INFO (CSE_DEBUG lowers it). */
void cse_log_set_level(cse_log_level level);

const char *cse_log_level_name(cse_log_level level);

#endif
