/* Answers requests in OpenAI's words with a language model: POST /v1/chat/completions and
 * /v1/completions, as a whole or as events of a stream. An answer has one text or several
 * (`choices`); who goes on with the texts of several answers is completion_group.h. */
#ifndef CSE_RUN_INFER_COMPLETIONS_H
#define CSE_RUN_INFER_COMPLETIONS_H

#include "run/infer/completion_settings.h"
#include "run/infer/text_model.h"
#include "run/infer/texts_together.h"

/* Where an answer goes. Texts are JSON without line ends. */
typedef struct cse_completion_sink {
    void (*event)(void *self, const char *json); /* of a stream */
    /* The whole answer with its HTTP status; after events there is none. */
    void (*answer)(void *self, int status, const char *json);
    bool (*goes_on)(void *self); /* false: nobody waits for the answer any more */
    bool (*rests)(void *self);   /* who reads it is behind: nothing more is written now */
    void *self;
} cse_completion_sink;

typedef struct cse_completion_call {
    cse_completion_kind kind;
    const json_t *body;     /* there as long as the completion */
    const char *model_name; /* that it is served by; likewise */
    uint64_t number;        /* of the call, for its id */
} cse_completion_call;

typedef struct cse_completion cse_completion;

/* Reads a request. One that is refused is answered at once, and has no texts. */
cse_completion *cse_completion_new(cse_text_model *model, const cse_completion_call *call,
                                   const cse_completion_sink *sink);
/* None of its texts may be under way. */
void cse_completion_destroy(cse_completion **completion);

/* The prompt of the next text, with the most tokens behind it; false: all texts have begun, or are
 * not wanted any more. */
bool cse_completion_next(cse_completion *completion, cse_text_model_need *need);
/* Begins that text. *begun false: there is no place for it now. */
cse_status cse_completion_begin(cse_completion *completion, cse_texts_together *together,
                                bool *begun);
int cse_completion_under_way(const cse_completion *completion);
/* The computation failed, as the error message says: that is the answer, and no further text
 * begins; those under way end with their next token, or are `lost` already. */
void cse_completion_give_up(cse_completion *completion, bool lost);
/* No text is under way and none is to come; what is left of the answer was sent. */
bool cse_completion_is_over(cse_completion *completion);

/* An error object as the answer. */
void cse_completion_fail(const cse_completion_sink *sink, int status, const char *code,
                         const cse_completion_fault *fault);

#endif
