/* One text under way: from the logits of a decoder to tokens and what is shown of them. For who
 * goes from token to token, alone (generation.h) or with others (texts_together.h). */
#ifndef CSE_RUN_INFER_WRITING_H
#define CSE_RUN_INFER_WRITING_H

#include "run/infer/generated_text.h"
#include "run/infer/stop_words.h"

struct cse_generation {
    cse_generation_options options;
    cse_text_decoder *decoder;
    float *logits;   /* [vocabulary], changed by rules */
    int32_t *tokens; /* that the decoder has kept, and room for one more */
    int64_t count, capacity;
    cse_generation_times times;
};

typedef struct cse_writing {
    const cse_generation_request *request; /* NULL: there is no text */
    cse_sampler *sampler;
    cse_stop_words stop;
    int64_t sequence; /* of the decoder */
    int32_t start;    /* that begins a text of its own; -1 */
    int32_t *text;    /* [max_new_tokens] */
    int64_t count, most;
    cse_text bytes, shown;
} cse_writing;

/* `result` is zeroed. */
void cse_writing_open(cse_generation *generation, const cse_generation_request *request,
                      cse_generation_result *result, cse_writing *w);
void cse_writing_close(cse_writing *w, cse_generation_result *result);
/* The next token, from logits that are there. *goes_on: the text is not over. */
cse_status cse_writing_go_on(cse_generation *generation, cse_writing *w, bool *goes_on,
                             cse_generation_result *result);

typedef struct cse_two_clocks {
    int64_t ns, processor_ns; /* of all threads of the process */
} cse_two_clocks;
cse_two_clocks cse_two_clocks_now(void);
/* Counts a pass over so many tokens that began then and has ended. */
void cse_generation_passed(cse_generation *generation, int64_t tokens, cse_two_clocks begun);

/* As those of the decoder; what they take is counted. */
cse_status cse_generation_read(cse_generation *generation, int64_t sequence, const int32_t *prompt,
                               int64_t count);
cse_status cse_generation_append_each(cse_generation *generation, const int32_t tokens[]);

bool cse_is_end_token(const cse_generation_settings *settings, int32_t token);
/* Models have more tokens than their tokenizers, where the sizes of their weights are rounded up:
 * such a token has no text. */
cse_status cse_generation_decode(const cse_generation *generation, int32_t token, cse_text *bytes);

#endif
