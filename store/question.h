/* A question in SQL to a database of a run (run.db) or of a server (jobs.db): one statement, which
 * changes nothing and reaches no other file. A program may be writing the database meanwhile. */
#ifndef CSE_STORE_QUESTION_H
#define CSE_STORE_QUESTION_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

typedef enum cse_answer_kind {
    CSE_ANSWER_NULL,
    CSE_ANSWER_INTEGER,
    CSE_ANSWER_REAL,
    CSE_ANSWER_TEXT,
    CSE_ANSWER_BLOB
} cse_answer_kind;

/* A value of a row; `bytes` is borrowed until the next row, and ends in a 0 where it is a text. */
typedef struct cse_answer_value {
    cse_answer_kind kind;
    int64_t integer;
    double real;
    const char *bytes;
    size_t size;
} cse_answer_value;

typedef struct cse_question {
    const char *folder; /* the model_dir of a run, or the --root of a server */
    const char *sql;
    /* Before the first row; `names` are borrowed. */
    void (*columns)(void *self, int count, const char *const *names);
    /* False ends the answer. */
    bool (*row)(void *self, int count, const cse_answer_value *values);
    void *self;
} cse_question;

/* CSE_NO_INPUT: the folder has neither file; CSE_USAGE: the text is not one statement, is wrong, or
 * would change something or reach outside; CSE_DATA: the file is damaged; CSE_TEMPORARY. */
cse_status cse_store_ask(const cse_question *question);

#endif
