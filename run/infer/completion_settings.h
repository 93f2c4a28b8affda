/* The settings of a request in OpenAI's words: each key is used, is known to change nothing here,
 * or is refused by its name. */
#ifndef CSE_RUN_INFER_COMPLETION_SETTINGS_H
#define CSE_RUN_INFER_COMPLETION_SETTINGS_H

#include <jansson.h>

#include "run/infer/generation.h"

enum { CSE_COMPLETION_STOPS = 16, CSE_COMPLETION_CHOICES = 128, CSE_COMPLETION_BIASES = 1024 };

typedef enum cse_completion_kind {
    CSE_COMPLETION_OF_CHAT, /* POST /v1/chat/completions */
    CSE_COMPLETION_OF_TEXT, /* POST /v1/completions */
    CSE_COMPLETION_VECTORS, /* POST /v1/embeddings */
} cse_completion_kind;

typedef struct cse_completion_settings {
    cse_generation_settings generation; /* but for what ends a text by a token */
    const char *stop_words[CSE_COMPLETION_STOPS];
    cse_token_bias biases[CSE_COMPLETION_BIASES];
    int choices; /* n */
    bool stream, include_usage, echo, base64;
    bool max_tokens_given;
    bool log_probabilities;
    int top_log_probabilities;
} cse_completion_settings;

/* What is wrong with a request, for OpenAI's error object. */
typedef struct cse_completion_fault {
    char message[512], parameter[64];
} cse_completion_fault;

/* False: *fault says what is wrong. Texts are borrowed from the body; the settings stay where they
 * are while they are used. */
bool cse_completion_settings_read(cse_completion_kind kind, const json_t *body,
                                  cse_completion_settings *settings, cse_completion_fault *fault);
/* For other faults of a request; returns false. */
bool cse_completion_refuse(cse_completion_fault *fault, const char *parameter, const char *format,
                           ...) CSE_PRINTF(3, 4);

#endif
