/* Filters, tests, methods and functions: one signature, one table a kind, found by name. */
#ifndef CSE_DATALOADER_CHAT_FUNCTIONS_H
#define CSE_DATALOADER_CHAT_FUNCTIONS_H

#include "dataloader/chat/run.h"

/* Arguments of a call: the value that it is upon (before "|", "is" or "."), then the others. */
typedef struct cse_jinja_call {
    cse_jinja_value self;
    const char *name;
    const cse_jinja_value *values;
    size_t count;
    const char *const *names; /* [named_count] */
    const cse_jinja_value *named;
    size_t named_count;
} cse_jinja_call;

struct cse_jinja_function {
    const char *name;
    cse_status (*apply)(cse_jinja_run *run, const cse_jinja_call *call, cse_jinja_value *result);
    const char *parameters; /* "a,b,c": may be given by place or name; "*": any number by place */
    size_t needed;          /* of them must be given */
};

/* What a name stands for when it is called: a function with the value that it belongs to, a macro,
 * or a loop. */
struct cse_jinja_callable {
    const cse_jinja_function *function;
    cse_jinja_value self;
    const cse_jinja_node *macro;
    cse_jinja_frame *frame; /* where the macro was defined */
};

/* NULL: there is none. */
const cse_jinja_function *cse_jinja_filter_find(const char *name);
const cse_jinja_function *cse_jinja_test_find(const char *name);
const cse_jinja_function *cse_jinja_global_find(const char *name);
const cse_jinja_function *cse_jinja_text_method_find(const char *name);
const cse_jinja_function *cse_jinja_dict_method_find(const char *name);
const cse_jinja_function *cse_jinja_list_method_find(const char *name);
const cse_jinja_function *cse_jinja_loop_method_find(const char *name);
/* "a, b, c" of a table, for messages. */
void cse_jinja_filter_names(cse_text *text);
void cse_jinja_test_names(cse_text *text);

/* Refuses the filter or test of the node, which is not known. */
cse_status cse_jinja_refuse_function(const char *source, const cse_jinja_node *node);
/* Calls the function after a look at its arguments. */
cse_status cse_jinja_apply(cse_jinja_run *run, const cse_jinja_function *function,
                           const cse_jinja_call *call, cse_jinja_value *result);
/* The argument of that place or name; ABSENT: it is not given. */
cse_jinja_value cse_jinja_argument(const cse_jinja_call *call, size_t place, const char *name);
/* The same of a kind, or refused; `value` stays as it is where it is not given, or is none. */
cse_status cse_jinja_whole_argument(cse_jinja_run *run, const cse_jinja_call *call, size_t place,
                                    const char *name, int64_t *value);
bool cse_jinja_flag_argument(const cse_jinja_call *call, size_t place, const char *name);

#define CSE_JINJA_FIND(table, wanted)                             \
    for (size_t i = 0; i < sizeof(table) / sizeof(table)[0]; i++) \
        if (strcmp((table)[i].name, wanted) == 0)                 \
            return &(table)[i];                                   \
    return NULL

#endif
