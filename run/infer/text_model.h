/* A language model that is ready to write: weights, tokens, what ends a text, the template of
 * chats, and a decoder that is compiled for the lengths at hand. What `csengine chat` and the
 * process that answers OpenAI's requests (run/infer/completions.h) have in common. */
#ifndef CSE_RUN_INFER_TEXT_MODEL_H
#define CSE_RUN_INFER_TEXT_MODEL_H

#include "dataloader/chat/chat_template.h"
#include "run/infer/end_tokens.h"
#include "run/infer/generation.h"
#include "run/infer/loaded_model.h"

typedef struct cse_text_model_options {
    const char *tokenizer;     /* a file or folder; NULL: that of the weights */
    const char *chat_template; /* a file; NULL: that of the weights, where they have one */
    int64_t context;           /* tokens of a prompt and its text; 0: as many as the model takes */
} cse_text_model_options;

typedef struct cse_text_model {
    cse_loaded_model loaded;
    cse_text_codec *codec;
    cse_end_tokens ends, turn_ends; /* of texts, and of texts and turns */
    cse_chat_template *template;    /* NULL: there is none */
    json_t *variables;              /* of the template */
    int64_t context;                /* tokens */
    cse_generation *generation;     /* for the sizes below; NULL: none yet */
    int64_t prompt_tokens, all_tokens;
} cse_text_model;

/* Opens the session of the settings. CSE_USAGE: the context is longer than the model takes. Close
 * it also after a failure; cse_finish is the caller's. */
cse_status cse_text_model_open(const cse_job_settings *settings,
                               const cse_text_model_options *options, cse_text_model *model);
void cse_text_model_close(cse_text_model *model);

/* The tokens of a conversation up to where an answer begins; free(). CSE_NO_INPUT: there is no
 * template; CSE_DATA: it refuses the messages. */
cse_status cse_text_model_render(cse_text_model *model, const json_t *messages, int32_t **tokens,
                                 int64_t *count);

/* A decoder for a prompt and up to `max_new_tokens` behind it, as far as the context has room: the
 * one at hand where it is large enough, else another, which knows nothing of texts before. */
typedef struct cse_text_model_need {
    const int32_t *prompt;
    int64_t count, max_new_tokens;
    bool goes_on; /* as that of cse_generation_request */
} cse_text_model_need;
/* CSE_DATA: the prompt fills the context. */
cse_status cse_text_model_fit(cse_text_model *model, const cse_text_model_need *need);

/* A decoder in place of the one at hand, for `texts` at a time that come and go, each as long as
 * the context, or for one where the model cannot. All of them together take the memory of a whole
 * context, or of 1024 tokens each where that is more. */
cse_status cse_text_model_open_together(cse_text_model *model, int64_t texts);

#endif
