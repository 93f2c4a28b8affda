/* The table of status codes. */
#include "csengine/status.h"

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
