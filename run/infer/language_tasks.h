/* Tasks for language models in files of JSON lines or Parquet, measured as the
 * lm-evaluation-harness does:
 *
 *   {"text": "..."}                                        perplexity of a text
 *   {"context": "...", "choices": ["...", ...], "answer": 0}  the choice that is most likely
 *
 * A text that is longer than the model's sequences is cut into parts; the first token of a part has
 * no token before it, and is not counted but where the part before ends with it. Of a choice the
 * tokens are those that follow the tokens of the context alone. */
#ifndef CSE_RUN_INFER_LANGUAGE_TASKS_H
#define CSE_RUN_INFER_LANGUAGE_TASKS_H

#include "csengine/train.h"
#include "run/infer/text_codec.h"

typedef struct cse_task_result {
    int64_t texts, tokens, bytes; /* tokens and bytes that were scored */
    double log_likelihood;        /* of all of them, natural */
    int64_t questions;
    int64_t right;           /* by the log likelihood of the choice */
    int64_t right_by_length; /* by that divided by the bytes of the choice */
} cse_task_result;

/* e^(-log likelihood / tokens), and the bits of a byte. */
double cse_task_perplexity(const cse_task_result *result);
double cse_task_bits_per_byte(const cse_task_result *result);

/* Measures a file. Fails with CSE_NO_INPUT, and CSE_DATA with the line that is wrong and what is
 * accepted. `stop_requested`, unless NULL, is asked before each row; then CSE_INTERRUPTED. */
cse_status cse_language_task_run(cse_model *model, cse_text_codec *codec, const char *path,
                                 bool (*stop_requested)(void), cse_task_result *result);

#endif
