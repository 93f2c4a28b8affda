/* Log probabilities of tokens as members of OpenAI's answers. */
#ifndef CSE_RUN_INFER_LOG_PROBABILITIES_H
#define CSE_RUN_INFER_LOG_PROBABILITIES_H

#include <jansson.h>

#include "run/infer/generation.h"

/* {"token", "logprob", "bytes", "top_logprobs": the `top` most likely
 * ones}, of the model's own logits, before rules and sampling change them. */
json_t *cse_log_probability_json(const cse_text_codec *codec, const cse_generated_token *token,
                                 int top);
/* A list of these as the member logprobs of a completion of text, whose places count characters. */
json_t *cse_log_probabilities_of_text(const json_t *list, int top);

/* Bytes as a JSON text: those that are no UTF-8 become U+FFFD. */
json_t *cse_text_of_bytes(const char *bytes, size_t size);

#endif
