/* A name that no job has is a slip of the pen: an empty list would hide it. */
#include "dashboard/routes/where.h"

#include <stdio.h>

#include "dashboard/routes/route_support.h"

static void refuse(cse_answer *answer, const char *message)
{
    cse_answer_diagnostics(answer, CSE_PROBLEM_BAD_REQUEST,
                           json_pack("[{s:s, s:s}]", "parameter", "where", "message", message),
                           "%s", message);
}

bool cse_where_read(const cse_request *request, cse_answer *answer, cse_where *where)
{
    *where = (cse_where){ .expression = NULL };
    if (!cse_request_has(request, "where") ||
        cse_expression_parse(cse_request_text(request, "where", ""), &where->expression) == CSE_OK)
        return true;
    refuse(answer, cse_error_message());
    return false;
}

bool cse_where_holds(cse_where *where, const json_t *job, const json_t *values)
{
    where->asked++;
    return where->expression == NULL || cse_expression_holds(where->expression, job, values);
}

bool cse_where_end(cse_where *where, cse_answer *answer)
{
    char message[400];
    const char *unknown = where->expression != NULL && where->asked > 0
                              ? cse_expression_unknown(where->expression)
                              : NULL;
    if (unknown != NULL) {
        snprintf(message, sizeof message,
                 "where: no job has \"%.100s\"; a name is a field of jobs (state, health, model, "
                 "step, loss, ...), a label, a series (val_loss, min(val_loss)), or a setting by "
                 "its path or the end of it (optimizer.SGD.lr, lr)",
                 unknown);
        refuse(answer, message);
    }
    cse_expression_destroy(&where->expression);
    return unknown == NULL;
}
