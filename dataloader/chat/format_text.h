/* Values put into a text: "%s" % value and "{}".format(value) of Python. */
#ifndef CSE_DATALOADER_CHAT_FORMAT_TEXT_H
#define CSE_DATALOADER_CHAT_FORMAT_TEXT_H

#include "dataloader/chat/functions.h"

/* `values`: a tuple, a dict for %(name)s, or one value. */
cse_status cse_jinja_percent_format(cse_jinja_run *run, const cse_jinja_value *format,
                                    const cse_jinja_value *values, cse_jinja_value *result);
/* call->self is the format. */
cse_status cse_jinja_brace_format(cse_jinja_run *run, const cse_jinja_call *call,
                                  cse_jinja_value *result);

#endif
