/* The filters, which two files define: filters_text.c and filters_list.c. The table of their names
 * stands in filters.c. */
#ifndef CSE_DATALOADER_CHAT_FILTERS_H
#define CSE_DATALOADER_CHAT_FILTERS_H

#include "dataloader/chat/functions.h"

#define CSE_JINJA_FILTER(name)                                                         \
    cse_status cse_jinja_filter_##name(cse_jinja_run *run, const cse_jinja_call *call, \
                                       cse_jinja_value *result)

/* texts and numbers */
CSE_JINJA_FILTER(abs);
CSE_JINJA_FILTER(capitalize);
CSE_JINJA_FILTER(center);
CSE_JINJA_FILTER(default);
CSE_JINJA_FILTER(escape);
CSE_JINJA_FILTER(float);
CSE_JINJA_FILTER(format);
CSE_JINJA_FILTER(indent);
CSE_JINJA_FILTER(int);
CSE_JINJA_FILTER(length);
CSE_JINJA_FILTER(lower);
CSE_JINJA_FILTER(replace);
CSE_JINJA_FILTER(round);
CSE_JINJA_FILTER(safe);
CSE_JINJA_FILTER(string);
CSE_JINJA_FILTER(title);
CSE_JINJA_FILTER(tojson);
CSE_JINJA_FILTER(trim);
CSE_JINJA_FILTER(upper);
CSE_JINJA_FILTER(urlencode);
CSE_JINJA_FILTER(wordcount);
/* lists and dicts */
CSE_JINJA_FILTER(attr);
CSE_JINJA_FILTER(batch);
CSE_JINJA_FILTER(dictsort);
CSE_JINJA_FILTER(first);
CSE_JINJA_FILTER(groupby);
CSE_JINJA_FILTER(items);
CSE_JINJA_FILTER(join);
CSE_JINJA_FILTER(last);
CSE_JINJA_FILTER(list);
CSE_JINJA_FILTER(map);
CSE_JINJA_FILTER(max);
CSE_JINJA_FILTER(min);
CSE_JINJA_FILTER(reject);
CSE_JINJA_FILTER(rejectattr);
CSE_JINJA_FILTER(reverse);
CSE_JINJA_FILTER(select);
CSE_JINJA_FILTER(selectattr);
CSE_JINJA_FILTER(slice);
CSE_JINJA_FILTER(sort);
CSE_JINJA_FILTER(sum);
CSE_JINJA_FILTER(unique);

#endif
