/* Answers requests in OpenAI's words with a language model: POST /v1/chat/completions and
 * /v1/completions, one at a time, as a whole or as events of a stream. */
#ifndef CSE_RUN_INFER_COMPLETIONS_H
#define CSE_RUN_INFER_COMPLETIONS_H

#include "run/infer/completion_settings.h"
#include "run/infer/text_model.h"

/* Where an answer goes. Texts are JSON without line ends. */
typedef struct cse_completion_sink {
    void (*event)(void *self, const char *json); /* of a stream */
    /* The whole answer with its HTTP status; after events there is none. */
    void (*answer)(void *self, int status, const char *json);
    bool (*goes_on)(void *self); /* false: nobody waits for the answer any more */
    void *self;
} cse_completion_sink;

typedef struct cse_completion_call {
    cse_completion_kind kind;
    const json_t *body;
    const char *model_name; /* that it is served by */
    uint64_t number;        /* of the call, for its id */
} cse_completion_call;

/* Answers: also with an error object, where the request or the model is at fault. */
void cse_completion_run(cse_text_model *model, const cse_completion_call *call,
                        const cse_completion_sink *sink);

/* An error object as the answer. */
void cse_completion_fail(const cse_completion_sink *sink, int status, const char *code,
                         const cse_completion_fault *fault);

#endif
