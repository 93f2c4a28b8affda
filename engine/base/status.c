/* The table of status codes and the calling thread's last message. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "csengine/status.h"

enum { MESSAGE_BYTES = 4096 };

static _Thread_local char last_message[MESSAGE_BYTES];

static const struct {
    const char *text;
    int exit_code;
    bool retryable;
} status_rows[] = {
#define CSE_STATUS_ROW(code, exit_code_, retryable_, text_) \
    [code] = { .text = text_, .exit_code = exit_code_, .retryable = retryable_ },
    CSE_STATUS_TABLE(CSE_STATUS_ROW)
#undef CSE_STATUS_ROW
};

static bool is_known(cse_status status)
{
    return (unsigned)status < sizeof status_rows / sizeof status_rows[0];
}

const char *cse_status_text(cse_status status)
{
    return is_known(status) ? status_rows[status].text : "unknown status";
}

int cse_status_exit_code(cse_status status)
{
    return is_known(status) ? status_rows[status].exit_code : 70;
}

bool cse_status_retryable(cse_status status)
{
    return is_known(status) && status_rows[status].retryable;
}

const char *cse_error_message(void)
{
    return last_message;
}

cse_status cse_fail(cse_status status, const char *format, ...)
{
    /* Formatted aside first: an argument may be the stored message itself. */
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(last_message, text, sizeof text);
    return status;
}

cse_status cse_fail_within(cse_status status, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (used < 0 || used >= MESSAGE_BYTES)
        return status;
    snprintf(text + used, sizeof text - (size_t)used, "%s", last_message);
    memcpy(last_message, text, sizeof text);
    return status;
}
