/* Prompts with completions as rows of tokens, for the input function preferences.
 *
 * The prompt and the whole text are turned into tokens apart, as TRL does: the completion begins
 * where they differ, so that a token that joins both belongs to the completion. */
#ifndef CSE_DATALOADER_INPUTS_PREFERENCE_ROWS_H
#define CSE_DATALOADER_INPUTS_PREFERENCE_ROWS_H

#include "csengine/extend.h"
#include "dataloader/tokenizer/tokenizer.h"

/* Why a sample is of no use. */
typedef enum cse_preference_fault {
    CSE_PREFERENCE_LINE,   /* no line of its file's kind */
    CSE_PREFERENCE_MEMBER, /* a text that is missing or is no text */
    CSE_PREFERENCE_LABEL,
    CSE_PREFERENCE_EMPTY,
    CSE_PREFERENCE_EQUAL,
    CSE_PREFERENCE_TEMPLATE, /* a conversation that the chat template refuses */
    CSE_PREFERENCE_LONG,     /* nothing to be learned is left within the longest row */
    CSE_PREFERENCE_FAULTS
} cse_preference_fault;

/* A text and its tokens. */
typedef struct cse_completion {
    cse_token_ids whole; /* of the prompt with the completion behind it */
    size_t prompt;       /* tokens of it that are the prompt's */
} cse_completion;

/* Start from a zeroed struct; release with cse_preference_rows_clear. */
typedef struct cse_preference_rows {
    cse_tokenizer *tokenizer;
    cse_encoder *encoder;
    char *end; /* of a completion; NULL: nothing is added */
    int32_t end_token, filling;
    int64_t time;
    bool keeps_end;             /* rows that are too long lose their begin */
    cse_token_ids prompt;       /* of the sample at hand */
    cse_preference_fault fault; /* of the last failure with CSE_DATA */
} cse_preference_rows;

/* By the settings tokenizer, end_of_text, max_sequence_length and truncation_mode. */
cse_status cse_preference_rows_open(cse_preference_rows *rows, const cse_settings *settings);
void cse_preference_rows_clear(cse_preference_rows *rows);

/* The tokens of the prompt of a sample, and of a whole text that begins with it. `is_chat`: special
 * tokens are in the text already, and none are put around it. */
cse_status cse_preference_prompt(cse_preference_rows *rows, const char *prompt, bool is_chat);
cse_status cse_preference_completion(cse_preference_rows *rows, const char *whole, bool is_chat,
                                     cse_completion *completion);

/* Writes a row [time] of input_ids, labels and attention_mask: the tokens of `prompt` that are its
 * prompt's, and those of `completion` that are not. CSE_DATA: no token of the completion is left to
 * be learned. */
cse_status cse_preference_put(cse_preference_rows *rows, const cse_completion *prompt,
                              const cse_completion *completion, int32_t *const outputs[3]);

#endif
