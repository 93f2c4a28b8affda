/* split, rsplit, partition and rpartition of texts. */
#ifndef CSE_DATALOADER_CHAT_TEXT_SPLITTING_H
#define CSE_DATALOADER_CHAT_TEXT_SPLITTING_H

#include "dataloader/chat/functions.h"

/* call: sep, maxsplit; `from_end`: the last ones are split off first. */
cse_status cse_jinja_text_split(cse_jinja_run *run, const cse_jinja_call *call, bool from_end,
                                cse_jinja_value *result);
cse_status cse_jinja_text_partition(cse_jinja_run *run, const cse_jinja_call *call, bool from_end,
                                    cse_jinja_value *result);

#endif
