/* Ends a text where one of several stop words appears in it. What may be the beginning of one is
 * held back, so that no part of a stop word is shown where a text is shown piece by piece. Only
 * whole characters of UTF-8 are handed on, since a token may be a part of one. */
#ifndef CSE_RUN_INFER_STOP_WORDS_H
#define CSE_RUN_INFER_STOP_WORDS_H

#include <stdbool.h>

#include "engine/base/text.h"

typedef struct cse_stop_words {
    const char *const *words; /* borrowed; none is empty */
    int count;
    cse_text held; /* came, and was not handed on */
    int found;     /* the word that ended the text; -1: none */
} cse_stop_words;

/* Begins a text. */
void cse_stop_words_begin(cse_stop_words *stop, const char *const *words, int count);
void cse_stop_words_clear(cse_stop_words *stop);

/* Takes bytes in and adds to `shown` what can be handed on. False: a stop word ends the text; what
 * stands before it was handed on, and later bytes are not taken. */
bool cse_stop_words_add(cse_stop_words *stop, const char *bytes, size_t size, cse_text *shown);
/* The text is over: adds what was held back, unless a stop word ended it. */
void cse_stop_words_end(cse_stop_words *stop, cse_text *shown);

#endif
