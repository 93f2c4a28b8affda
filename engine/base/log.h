/* Log records: one per event, to stderr or to a sink that the process sets (workers send theirs to
 * the coordinator, a run keeps all in its store). Never called from inside a step. */
#ifndef CSE_BASE_LOG_H
#define CSE_BASE_LOG_H

#include <stdint.h>

#include "csengine/status.h"
#include "engine/base/choices.h"
#include "engine/base/role.h"

/* LIST(FIRST, NEXT) of (name in settings, enumerator, name in lines), by increasing severity. */
#define CSE_LOG_LEVELS(FIRST, NEXT)           \
    FIRST(DEBUG, CSE_LOG_DEBUG, "debug")      \
    NEXT(INFO, CSE_LOG_INFO, "info")          \
    NEXT(WARNING, CSE_LOG_WARNING, "warning") \
    NEXT(ERROR, CSE_LOG_ERROR, "error")

#define CSE_LOG_ENUMERATOR(name, enumerator, word) enumerator,
typedef enum cse_log_level { CSE_LOG_LEVELS(CSE_LOG_ENUMERATOR, CSE_LOG_ENUMERATOR) } cse_log_level;
#undef CSE_LOG_ENUMERATOR

typedef struct cse_log_record {
    cse_log_level level;
    cse_process process; /* its origin; outside a run: a coordinator */
    const char *host;    /* where it is; NULL: here, see cse_log_own_host_view */
    int64_t time_ms;     /* Unix time */
    const char *text;    /* one line without newline; made printable before a sink gets it */
} cse_log_record;

typedef void cse_log_sink(void *self, const cse_log_record *record);

/* Logs a line of this process, with the present time. */
void cse_log_line(cse_log_level level, const char *format, ...) CSE_PRINTF(2, 3);

/* Logs a record that came from another process. */
void cse_log_pass(const cse_log_record *record);

/* The name that this host has in a run of several; NULL: the run has one host, or its hosts are not
 * known yet. A host that leads gives it to itself, before others log. */
void cse_log_name_own_host(const char *name);
const char *cse_log_own_host_view(void);

/* `sink` NULL restores stderr. The sink is called with no lock held, from the logging thread. */
void cse_log_set_sink(cse_log_sink *sink, void *self);

/* Prints "csengine: info: replica 0: TEXT", of another host "csengine: info: replica 0: host NAME:
 * TEXT", to stderr, as is done when no sink is set: for sinks
 * that print as well. */
void cse_log_print(const cse_log_record *record);

/* What cse_log_print calls with the line, its end included, instead of writing it to stderr: for a
 * program that draws on the terminal. NULL restores stderr. */
void cse_log_set_printer(void (*print)(void *self, const char *line), void *self);

/* Records below `level` are dropped; the start value is CSE_LOG_INFO (CSE_DEBUG lowers it). */
void cse_log_set_level(cse_log_level level);

/* "warning", or "unknown". */
const char *cse_log_level_name(cse_log_level level);
/* By its name in settings ("WARNING"); CSE_LOG_INFO for any other. */
cse_log_level cse_log_level_from_name(const char *name);

#endif
