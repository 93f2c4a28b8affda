/* Work on texts that methods and filters share. */
#ifndef CSE_DATALOADER_CHAT_TEXT_OPERATIONS_H
#define CSE_DATALOADER_CHAT_TEXT_OPERATIONS_H

#include "dataloader/chat/run.h"

/* The last place in the bytes where the part stands; NULL: there is none. */
cse_status cse_jinja_text_last(cse_jinja_run *run, const char *bytes, size_t size,
                               const cse_jinja_value *part, const char **place);
/* texts[0] with texts[2] for texts[1]; `count` < 0: everywhere. */
cse_status cse_jinja_text_replace(cse_jinja_run *run, const cse_jinja_value texts[3], int64_t count,
                                  cse_jinja_value *result);
/* A list of its lines, without their ends. */
cse_status cse_jinja_text_lines(cse_jinja_run *run, const cse_jinja_value *text,
                                cse_jinja_value *lines);

#endif
