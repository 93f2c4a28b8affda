/* A scalar as one line of JSON: {"step":1,"time_s":1700000000.250000,"name":"loss","value":0.5}. */
#ifndef CSE_RUN_LOGGERS_JSON_LINE_H
#define CSE_RUN_LOGGERS_JSON_LINE_H

#include <stddef.h>

#include "run/loggers/logger.h"

enum { CSE_JSON_LINE_BYTES = 4096 };

/* Writes the line, its end included, and returns its length. A value that is not finite, which JSON
 * lacks, becomes null; of a name only as much as fits is written. */
size_t cse_json_line(const cse_logged_scalar *scalar, char line[CSE_JSON_LINE_BYTES]);

#endif
