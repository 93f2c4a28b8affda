/* One process-wide sink and level; a line is formatted on the caller's stack. */
#include "engine/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static cse_log_sink *log_sink;
static void *log_self;
static cse_log_level log_level = CSE_LOG_INFO;

void cse_log_set_sink(cse_log_sink *sink, void *self)
{
    log_sink = sink;
    log_self = self;
}

void cse_log_set_level(cse_log_level level)
{
    log_level = level;
}

const char *cse_log_level_name(cse_log_level level)
{
    static const char *const names[] = { "debug", "info", "warning", "error" };
    return (unsigned)level < 4 ? names[level] : "unknown";
}

void cse_log_print(cse_log_level level, const char *line)
{
    fprintf(stderr, "csengine: %s: %s\n", cse_log_level_name(level), line);
}

void cse_log_line(cse_log_level level, const char *format, ...)
{
    if (level < log_level)
        return;
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (log_sink != NULL)
        log_sink(log_self, level, line);
    else
        cse_log_print(level, line);
}
