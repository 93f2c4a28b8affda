/* The text of a conversation, and where its answers stand. */
#ifndef CSE_DATALOADER_CHAT_CHAT_TEXT_H
#define CSE_DATALOADER_CHAT_CHAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes [begin, end) of the text. */
typedef struct cse_chat_span {
    size_t begin, end;
} cse_chat_span;

/* Start from a zeroed struct, which may be used again; release with cse_chat_text_clear. */
typedef struct cse_chat_text {
    char *text; /* UTF-8, with a zero byte behind it */
    size_t length, capacity;
    cse_chat_span *spans; /* between {% generation %} and {% endgeneration %}, in order */
    int span_count, span_capacity;
    bool spans_lost; /* a {% generation %} stands in a macro or in {% set %}, where it has no place
                      * in the text */
} cse_chat_text;
void cse_chat_text_add_span(cse_chat_text *text, size_t begin, size_t end);
void cse_chat_text_clear(cse_chat_text *text);

#endif
