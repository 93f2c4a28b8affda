/* One sink and one level per process; a line is formatted on the caller's stack. */
#include "engine/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/text.h"

enum { LINE_BYTES = 4096 };

static cse_log_sink *log_sink;
static void *log_self;
static void (*log_printer)(void *self, const char *line);
static void *printer_self;
static cse_log_level log_level = CSE_LOG_INFO;
static char own_host[256];

void cse_log_set_sink(cse_log_sink *sink, void *self)
{
    log_sink = sink;
    log_self = self;
}

void cse_log_set_printer(void (*print)(void *self, const char *line), void *self)
{
    log_printer = print;
    printer_self = self;
}

void cse_log_name_own_host(const char *name)
{
    snprintf(own_host, sizeof own_host, "%s", name != NULL ? name : "");
}

const char *cse_log_own_host_view(void)
{
    return own_host[0] != '\0' ? own_host : NULL;
}

void cse_log_set_level(cse_log_level level)
{
    log_level = level;
}

static const struct {
    const char *name;
    cse_log_level level;
    const char *word;
} levels[] = { CSE_CHOICE_ROWS(CSE_LOG_LEVELS) };

enum { LEVEL_COUNT = sizeof levels / sizeof levels[0] };

const char *cse_log_level_name(cse_log_level level)
{
    return (unsigned)level < LEVEL_COUNT ? levels[level].word : "unknown";
}

cse_log_level cse_log_level_from_name(const char *name)
{
    for (int i = 0; i < LEVEL_COUNT; i++)
        if (strcmp(levels[i].name, name) == 0)
            return levels[i].level;
    return CSE_LOG_INFO;
}

void cse_log_print(const cse_log_record *record)
{
    char name[32] = "";
    cse_text line = { 0 };
    bool other = record->process.role != CSE_ROLE_COORDINATOR;
    if (other)
        cse_process_name(record->process, name, sizeof name);
    cse_text_add(&line, "csengine: %s: %s%s", cse_log_level_name(record->level), name,
                 other ? ": " : "");
    if (record->host != NULL)
        cse_text_add(&line, "host %s: ", record->host);
    cse_text_add_indented(&line, record->text);
    cse_text_add_bytes(&line, "\n", 1);
    if (log_printer != NULL)
        log_printer(printer_self, line.data);
    else
        fputs(line.data, stderr);
    cse_text_clear(&line);
}

void cse_log_pass(const cse_log_record *record)
{
    char printable[LINE_BYTES];
    cse_log_record clean = *record;
    if (record->level < log_level)
        return;
    cse_text_printable(record->text, printable, sizeof printable);
    clean.text = printable;
    if (log_sink != NULL)
        log_sink(log_self, &clean);
    else
        cse_log_print(&clean);
}

void cse_log_line(cse_log_level level, const char *format, ...)
{
    if (level < log_level)
        return;
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    cse_log_pass(&(cse_log_record){ .level = level, .time_ms = cse_unix_ms(), .text = line });
}
