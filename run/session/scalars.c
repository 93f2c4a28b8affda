/* Numbers of the program's own for the record of its run. */
#include <string.h>

#include "engine/base/name.h"
#include "run/session/session.h"

enum { MOST_NAME = 63, MOST_NAMES = 256 };

void cse_session_report_scalar(cse_session *session, const char *name, double value)
{
    if (session == NULL)
        return;
    cse_session_begin_record(session);
    const cse_named_scalar scalar = { .name = name,
                                      .step = session->execution.delivered != NULL
                                                  ? session->execution.delivered_step
                                                  : session->training.global_step,
                                      .value = value };
    CSE_SESSION_REPORT(session, on_scalar, &scalar);
}

/* Shorter than other names of series, since it is told in lines and tables. */
static bool is_name(const char *name)
{
    return cse_name_is_series(name) && strlen(name) <= MOST_NAME;
}

cse_status cse_log_scalar(const char *name, double value)
{
    cse_session *session = cse_session_open_view("cse_log_scalar");
    if (session == NULL)
        return CSE_USAGE;
    if (!is_name(name))
        return cse_fail(CSE_CONFIG,
                        "cse_log_scalar: '%.80s' is no name of a series; accepted are 1 to %d "
                        "letters, digits, '_', '-', '.' and '/'",
                        name != NULL ? name : "", MOST_NAME);
    if (cse_name_index_find(&session->scalars.names, name) < 0) {
        if (session->scalars.count == MOST_NAMES)
            return cse_fail(CSE_CONFIG,
                            "cse_log_scalar: '%s' would be series %d of this run; at most %d are "
                            "recorded",
                            name, MOST_NAMES + 1, MOST_NAMES);
        cse_name_index_add(&session->scalars.names, cse_arena_string(session->arena, name),
                           session->scalars.count++);
    }
    cse_session_report_scalar(session, name, value);
    return CSE_OK;
}
