/* Filters by what they are upon; the table stands in filters.c. */
#ifndef CSE_DATALOADER_CHAT_FILTERS_H
#define CSE_DATALOADER_CHAT_FILTERS_H

#include "dataloader/chat/functions.h"

#define CSE_JINJA_DECLARE(name)                                                        \
    cse_status cse_jinja_filter_##name(cse_jinja_run *run, const cse_jinja_call *call, \
                                       cse_jinja_value *result)

/* texts and numbers */
CSE_JINJA_DECLARE(abs);
CSE_JINJA_DECLARE(capitalize);
CSE_JINJA_DECLARE(center);
CSE_JINJA_DECLARE(default);
CSE_JINJA_DECLARE(escape);
CSE_JINJA_DECLARE(float);
CSE_JINJA_DECLARE(format);
CSE_JINJA_DECLARE(indent);
CSE_JINJA_DECLARE(int);
CSE_JINJA_DECLARE(length);
CSE_JINJA_DECLARE(lower);
CSE_JINJA_DECLARE(replace);
CSE_JINJA_DECLARE(round);
CSE_JINJA_DECLARE(safe);
CSE_JINJA_DECLARE(string);
CSE_JINJA_DECLARE(title);
CSE_JINJA_DECLARE(tojson);
CSE_JINJA_DECLARE(trim);
CSE_JINJA_DECLARE(upper);
CSE_JINJA_DECLARE(urlencode);
CSE_JINJA_DECLARE(wordcount);
/* lists and dicts */
CSE_JINJA_DECLARE(attr);
CSE_JINJA_DECLARE(batch);
CSE_JINJA_DECLARE(dictsort);
CSE_JINJA_DECLARE(first);
CSE_JINJA_DECLARE(groupby);
CSE_JINJA_DECLARE(items);
CSE_JINJA_DECLARE(join);
CSE_JINJA_DECLARE(last);
CSE_JINJA_DECLARE(list);
CSE_JINJA_DECLARE(map);
CSE_JINJA_DECLARE(max);
CSE_JINJA_DECLARE(min);
CSE_JINJA_DECLARE(reject);
CSE_JINJA_DECLARE(rejectattr);
CSE_JINJA_DECLARE(reverse);
CSE_JINJA_DECLARE(select);
CSE_JINJA_DECLARE(selectattr);
CSE_JINJA_DECLARE(slice);
CSE_JINJA_DECLARE(sort);
CSE_JINJA_DECLARE(sum);
CSE_JINJA_DECLARE(unique);

#undef CSE_JINJA_DECLARE

#endif
