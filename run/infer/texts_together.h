/* Texts that are written together, as they come: one pass over a token of each reads the weights
 * once, a text begins when there is place for it, and leaves when it is over. Each is the text that
 * it is alone. */
#ifndef CSE_RUN_INFER_TEXTS_TOGETHER_H
#define CSE_RUN_INFER_TEXTS_TOGETHER_H

#include "run/infer/generated_text.h"

typedef struct cse_texts_together cse_texts_together;

/* What stands in it is there until the text is over; `result` starts zeroed. */
typedef struct cse_text_together {
    const cse_generation_request *request;
    cse_generation_result *result;
    void (*over)(void *self);  /* the text is, `result` is there; NULL: nobody asks */
    bool (*rests)(void *self); /* the text waits for who reads it; NULL: it never does */
    void *self;
} cse_text_together;

/* As many at a time as `generation` was made for. */
cse_texts_together *cse_texts_together_new(cse_generation *generation);
/* Texts under way are left where they are, and nobody is told. */
void cse_texts_together_destroy(cse_texts_together **together);

int64_t cse_texts_together_count(const cse_texts_together *together);

/* Reads the prompt and writes the first token. *begun false: there is no place for the text now. A
 * failure is of this text alone. */
cse_status cse_texts_together_begin(cse_texts_together *together, const cse_text_together *text,
                                    bool *begun);
/* One more token of each text. *waits: all of them rest, and nothing was done. */
cse_status cse_texts_together_step(cse_texts_together *together, bool *waits);

#endif
