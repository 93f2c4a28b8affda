/* A setting that names groups of states: one word, words between commas, or a list. */
#ifndef CSE_RUN_CALLBACKS_STATE_WORDS_H
#define CSE_RUN_CALLBACKS_STATE_WORDS_H

#include "run/job/callbacks.h"

enum { CSE_MOST_STATE_WORDS = 8 };

typedef struct cse_state_words {
    char text[256];
    const char *words[CSE_MOST_STATE_WORDS + 1]; /* in `text`; ended by NULL */
    bool all;                                    /* "all": `words` says nothing */
} cse_state_words;

/* Reads the setting `name`, of type ANY. CSE_CONFIG for a word that names no group. */
cse_status cse_state_words_read(const cse_settings *settings, const char *name,
                                cse_state_words *words);

#endif
