/* The text of a conversation; see chat_text.h. */
#include "dataloader/chat/chat_text.h"

#include <stdlib.h>

#include "engine/base/arena.h"

void cse_chat_text_add_span(cse_chat_text *text, size_t begin, size_t end)
{
    CSE_GROW(text->spans, text->span_count, text->span_capacity);
    text->spans[text->span_count++] = (cse_chat_span){ begin, end };
}

void cse_chat_text_clear(cse_chat_text *text)
{
    free(text->text);
    free(text->spans);
    *text = (cse_chat_text){ 0 };
}
