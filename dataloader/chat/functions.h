/* Filters, tests, methods and global functions: all have one signature, and each kind has a table
 * of them. */
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
    /* "a,b,c": given by place or by name, and found at their places either way, ABSENT where they
     * are not given; "*": any number by place; "*,**": any number by place and any by name. */
    const char *parameters;
    size_t needed; /* of them must be given */
};

/* The functions of one kind. */
struct cse_jinja_functions {
    const cse_jinja_function *functions;
    size_t count;
};
#define CSE_JINJA_FUNCTIONS(table)                \
    {                                             \
        (table), sizeof(table) / sizeof(table)[0] \
    }

extern const cse_jinja_functions cse_jinja_filters, cse_jinja_tests, cse_jinja_globals,
    cse_jinja_text_methods, cse_jinja_dict_methods, cse_jinja_list_methods, cse_jinja_loop_methods;

/* NULL: there is none. */
const cse_jinja_function *cse_jinja_function_find(const cse_jinja_functions *table,
                                                  const char *name);
/* Adds the names of a table, "a, b, c", for messages. */
void cse_jinja_function_names(const cse_jinja_functions *table, cse_text *text);

/* What a name stands for when it is called: a function with the value that it belongs to, a macro,
 * or a loop. */
struct cse_jinja_callable {
    const cse_jinja_function *function;
    cse_jinja_value self;
    const cse_jinja_node *macro;
    cse_jinja_frame *frame; /* where the macro was defined */
};

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

#endif
