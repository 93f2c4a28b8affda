/* Generates text: what a language model says after a prompt. */
#ifndef CSE_RUN_INFER_GENERATION_H
#define CSE_RUN_INFER_GENERATION_H

#include "run/infer/beam_search.h"
#include "run/infer/generated_text.h"

/* Compiles what the lengths need. Fails where the model takes no sequence of that length. The codec
 * and the model stay the caller's. */
cse_status cse_generation_new(const cse_generation_options *options, cse_generation **generation);
void cse_generation_destroy(cse_generation **generation);
/* Texts that it writes at a time: as many as were asked for, or fewer where the model cannot. */
int64_t cse_generation_sequences(const cse_generation *generation);

cse_generation_times cse_generation_times_of(const cse_generation *generation);

/* Texts of the same prompt, number and seed are the same, whatever was generated before, but of one
 * that goes on. `result` starts zeroed. */
cse_status cse_generate(cse_generation *generation, const cse_generation_request *request,
                        cse_generation_result *result);

/* Several texts, of which a pass over a token of each reads the weights once: as many at a time as
 * the options asked for, where the model can, and the next one when one has ended. Each is the text
 * that cse_generate writes of its request; `goes_on` counts for nothing. `results` [count] start
 * zeroed. */
cse_status cse_generate_together(cse_generation *generation,
                                 const cse_generation_request requests[], int64_t count,
                                 cse_generation_result results[]);

/* How many tokens at the beginning of a prompt a text that goes on would not compute again: those
 * whose keys and values are there, where they are at least half of the prompt or leave few others;
 * else 0, and the prompt is read by one pass. */
int64_t cse_generation_reusable(const cse_generation *generation, const int32_t *prompt,
                                int64_t count);

/* By beam search; `texts` [num_beams]. Stop words end a text, and stay in its tokens. */
cse_status cse_generate_by_beams(cse_generation *generation,
                                 const cse_generation_settings *settings,
                                 const cse_beam_request *request, cse_beam_text *texts,
                                 int64_t *count);

/* The text of tokens up to the first stop word. */
cse_status cse_generation_text(const cse_generation *generation,
                               const cse_generation_settings *settings, const int32_t *tokens,
                               int64_t count, cse_text *text);

#endif
