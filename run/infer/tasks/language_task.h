/* The contract of a task for language models: a data set's row becomes a question as the
 * lm-evaluation-harness asks it. A file of this folder is a task, and ends with its descriptor. */
#ifndef CSE_INFER_TASKS_LANGUAGE_TASK_H
#define CSE_INFER_TASKS_LANGUAGE_TASK_H

#include <jansson.h>

#include "csengine/status.h"
#include "engine/base/text.h"

enum { CSE_TASK_CHOICES = 64 };

/* Start from a zeroed struct; cse_task_item_clear. */
typedef struct cse_task_item {
    cse_text query; /* what stands before an answer, without the delimiter between them */
    cse_text choices[CSE_TASK_CHOICES]; /* one: what is to follow */
    int choice_count, answer;
    cse_text group; /* which part of the data set it is of; empty: there are none */
} cse_task_item;
void cse_task_item_clear(cse_task_item *item);

typedef struct cse_language_task {
    const char *name, *summary;
    const char *members; /* of a row, for messages */
    /* The item of a row. CSE_DATA: a member is missing or is none that the data set has; the
     * message says which, without the place. */
    cse_status (*read)(const json_t *row, cse_task_item *item);
    /* Stands before the first example; NULL: nothing does. */
    void (*describe)(const cse_task_item *item, cse_text *text);
    bool by_bytes; /* acc_norm is measured as well */
    bool one_text; /* one choice, which is to be the most likely text, and has a perplexity */
} cse_language_task;

/* In name order, ended by NULL; written by autogen.sh. */
extern const cse_language_task *const cse_language_tasks[];
/* NULL: there is none. */
const cse_language_task *cse_language_task_named(const char *name);
/* "arc_challenge, arc_easy, ...", in a static text. */
const char *cse_language_task_names(void);

/* ---- for the tasks ---- */

/* A member that is a text, or an integer of [0, count) as a number or in digits. CSE_DATA. */
cse_status cse_task_text(const json_t *row, const char *name, const char **text);
cse_status cse_task_integer(const json_t *row, const char *name, int count, int *value);
/* A text without white space at both ends, as Python's strip. */
void cse_task_add_stripped(cse_text *text, const char *from);

#endif
