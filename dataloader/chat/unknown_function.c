/* A filter or a test that is not known, with those that are. */
#include <stdio.h>

#include "dataloader/chat/functions.h"

cse_status cse_jinja_refuse_function(const char *source, const cse_jinja_node *node)
{
    char accepted[1024];
    cse_text names = { 0 };
    const bool is_filter = node->kind == CSE_JINJA_FILTER;
    cse_jinja_function_names(is_filter ? &cse_jinja_filters : &cse_jinja_tests, &names);
    snprintf(accepted, sizeof accepted, "accepted: %s", names.data);
    cse_text_clear(&names);
    return cse_fail_at(&(cse_error){ .status = CSE_DATA,
                                     .place = { source, node->line, node->column },
                                     .accepted = accepted },
                       "the %s \"%s\" is not known", is_filter ? "filter" : "test", node->name);
}
