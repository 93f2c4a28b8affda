/* Measures a language model on a task of run/infer/tasks, whose rows stand in a file of JSON lines
 * as the data set has them: prompts, tokens and measures are those of the lm-evaluation-harness. */
#ifndef CSE_RUN_INFER_TASK_RUN_H
#define CSE_RUN_INFER_TASK_RUN_H

#include "csengine/train.h"
#include "run/infer/tasks/language_task.h"
#include "run/infer/text_codec.h"

typedef struct cse_task_order {
    const cse_language_task *task;
    const char *path;
    const char *examples; /* a file of rows, the first of which stand before each question; NULL */
    int num_fewshot;      /* so many of them, of the question's own group */
    bool (*stop_requested)(void); /* asked before each row; NULL: never */
} cse_task_order;

enum { CSE_TASK_GROUPS = 1024, CSE_TASK_GROUP_BYTES = 128 };

typedef struct cse_task_score {
    char group[CSE_TASK_GROUP_BYTES]; /* "": all rows */
    int64_t questions;
    int64_t right;         /* by the log likelihood; of one text: it is the most likely one */
    int64_t right_by_text; /* by that divided by the characters of the choice */
    int64_t right_by_bytes;
    double log_likelihood; /* of the right answers */
} cse_task_score;

typedef struct cse_task_scores {
    cse_task_score whole;
    cse_task_score *groups; /* in the order of the file; free() */
    int group_count;
} cse_task_scores;

/* CSE_NO_INPUT; CSE_DATA with the line that is wrong; CSE_IO; CSE_INTERRUPTED. */
cse_status cse_task_run(cse_model *model, cse_text_codec *codec, const cse_task_order *order,
                        cse_task_scores *scores);

#endif
