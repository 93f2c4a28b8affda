/* One rendering: its memory, its limits, its output, and the names that are known where it is. */
#ifndef CSE_DATALOADER_CHAT_RUN_H
#define CSE_DATALOADER_CHAT_RUN_H

#include <time.h>

#include "dataloader/chat/chat_text.h"
#include "dataloader/chat/syntax.h"

/* Names of one scope, and the scope around it. */
typedef struct cse_jinja_frame {
    struct cse_jinja_frame *outer;
    cse_jinja_value names; /* a dict */
} cse_jinja_frame;

struct cse_jinja_call;

/* What calls and filters come back to: set where a rendering begins, so that files that are used by
 * these need not use them. */
typedef struct cse_jinja_run cse_jinja_run;
typedef cse_status cse_jinja_macro_caller(cse_jinja_run *run, const cse_jinja_callable *callable,
                                          const struct cse_jinja_call *call,
                                          cse_jinja_value *result);
typedef cse_status cse_jinja_loop_caller(cse_jinja_run *run, cse_jinja_loop *loop,
                                         const cse_jinja_value *values, cse_jinja_value *result);

struct cse_jinja_run {
    cse_arena *arena;
    const char *source;
    const cse_jinja_node *at; /* where it is, for messages */
    int64_t steps;
    int depth;
    cse_jinja_frame *frame;
    cse_text *out;       /* where text goes */
    cse_chat_text *text; /* what is made: its spans */
    cse_text *whole;     /* out, outside of macros and blocks that are captured */
    const struct tm *now;
    /* The body of a macro with its arguments, and that of a loop on other values, as texts. */
    cse_jinja_macro_caller *call_macro;
    cse_jinja_loop_caller *call_loop;
    /* Those that filters and tests find by name, such as map('upper'). */
    const cse_jinja_functions *filters, *tests;
};

/* Limits of a rendering: far above what a long conversation needs. */
enum {
    CSE_JINJA_MOST_STEPS = 20000000,
    CSE_JINJA_MOST_DEPTH = 400,
    CSE_JINJA_MOST_ARENA_BYTES = 1 << 29,
};

struct cse_jinja_loop {
    cse_jinja_list *list;
    size_t index;
    int depth;
    const cse_jinja_node *node; /* {% for ... recursive %}; NULL: it may not be called */
    cse_jinja_frame *frame;
    cse_jinja_value changed;
};

/* CSE_DATA with the place of what is evaluated. */
cse_status cse_jinja_refuse(const cse_jinja_run *run, const char *format, ...) CSE_PRINTF(2, 3);
/* Counts a step, or several; refused beyond the limits of steps and memory, also where `steps` is
 * 0. */
cse_status cse_jinja_step(cse_jinja_run *run, size_t steps);

/* The same as in value.h, counted as steps; refused where it would take too long. */
cse_status cse_jinja_are_equal(cse_jinja_run *run, const cse_jinja_value *a,
                               const cse_jinja_value *b, bool *equal);
/* Refused where values of these kinds have no order. */
cse_status cse_jinja_order_of(cse_jinja_run *run, const cse_jinja_value *a,
                              const cse_jinja_value *b, int *order);

/* Renders into the run's output, after it has set what calls come back to. */
cse_status cse_jinja_render(cse_jinja_run *run, const cse_jinja_nodes *body);
cse_status cse_jinja_evaluate(cse_jinja_run *run, const cse_jinja_node *node,
                              cse_jinja_value *value);

/* A chain of filters upon *value, which becomes what they make of it. */
cse_status cse_jinja_evaluate_upon(cse_jinja_run *run, const cse_jinja_node *filters,
                                   cse_jinja_value *value);
/* A call with one more argument by name. */
cse_status cse_jinja_evaluate_call_with(cse_jinja_run *run, const cse_jinja_node *node,
                                        const char *name, const cse_jinja_value *argument,
                                        cse_jinja_value *value);

/* ---- what expressions are made of ---- */

/* value.name, and value[key]. */
cse_status cse_jinja_attribute(cse_jinja_run *run, const cse_jinja_value *value, const char *name,
                               cse_jinja_value *result);
cse_status cse_jinja_item(cse_jinja_run *run, const cse_jinja_value *value,
                          const cse_jinja_value *key, cse_jinja_value *result);
/* value[from:to:step]; ABSENT or none: left out. */
cse_status cse_jinja_slice(cse_jinja_run *run, const cse_jinja_value *value,
                           const cse_jinja_value bounds[3], cse_jinja_value *result);
/* first OPERATOR second. */
cse_status cse_jinja_binary(cse_jinja_run *run, const char *operator, const cse_jinja_value * first,
                            const cse_jinja_value *second, cse_jinja_value *result);
cse_status cse_jinja_compare(cse_jinja_run *run, const char *operator,
                             const cse_jinja_value * first, const cse_jinja_value *second,
                             bool *result);
/* The values that a loop over it sees; a generator is read by that. */
cse_status cse_jinja_iterate(cse_jinja_run *run, const cse_jinja_value *value,
                             cse_jinja_list **list);
cse_status cse_jinja_length(cse_jinja_run *run, const cse_jinja_value *value, int64_t *length);

/* A text as str() writes it, in the arena. */
cse_status cse_jinja_str(cse_jinja_run *run, const cse_jinja_value *value, cse_jinja_value *text);
/* The text that was collected, in the arena, "" where nothing was; cleared. Refused where it is too
 * long. */
cse_status cse_jinja_collected(cse_jinja_run *run, cse_text *text, cse_jinja_value *value);

/* Calls a value with arguments. */
cse_status cse_jinja_call_value(cse_jinja_run *run, const cse_jinja_value *callee,
                                const struct cse_jinja_call *call, cse_jinja_value *result);
/* Adds JSON as json.dumps of Python writes it. */
typedef struct cse_jinja_json_style {
    bool ensure_ascii, sort_keys, is_indented;
    cse_jinja_value indent; /* a text */
    cse_jinja_value between, after_key;
} cse_jinja_json_style;
cse_status cse_jinja_add_json(cse_jinja_run *run, cse_text *out, const cse_jinja_value *value,
                              const cse_jinja_json_style *style);

#endif
