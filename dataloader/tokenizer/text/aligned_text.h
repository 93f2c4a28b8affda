/* Text that remembers from which part of another text each of its bytes was made, so that tokens
 * of a changed text have places in the one that was given. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_ALIGNED_TEXT_H
#define CSE_DATALOADER_TOKENIZER_TEXT_ALIGNED_TEXT_H

#include "engine/base/text.h"

/* Bytes [begin, end) of the text that was given. */
typedef struct cse_origin {
    size_t begin, end;
} cse_origin;

/* Borrowed text. */
typedef struct cse_text_view {
    const char *text;
    size_t size;
    const cse_origin *origins; /* [size]; NULL where they are not wanted */
} cse_text_view;

/* Start from a zeroed struct. */
typedef struct cse_aligned_text {
    cse_text text;
    cse_origin *origins; /* of each byte, where the text that it is made from has them */
    size_t capacity;
} cse_aligned_text;

void cse_aligned_text_clear(cse_aligned_text *text);
/* Bytes `begin` to `end` of the view, as they are. */
void cse_aligned_text_keep(cse_aligned_text *to, const cse_text_view *from, size_t begin,
                           size_t end);
/* Bytes that were made from the view's byte `at`; from none where `at` is its size or more. */
void cse_aligned_text_put(cse_aligned_text *to, const cse_text_view *from, size_t at,
                          const char *bytes, size_t size);
/* With origins where the text that it was made from has them. */
cse_text_view cse_aligned_text_view(cse_aligned_text *made, const cse_text_view *from);
/* Fills it with the origins of a text that was given: its characters. */
void cse_aligned_text_begin(cse_aligned_text *to, const char *text, size_t size);

/* A change of a text as characters and what each does to those that it was made from: 0 takes the
 * place of the next one, 1 is put behind the last one, -n takes the place of one and of n more. */
typedef struct cse_character_change {
    uint32_t character;
    int change;
} cse_character_change;

/* Origins of characters that were put in are those of what stands before. */
void cse_aligned_text_transform(cse_aligned_text *to, const cse_text_view *from,
                                const cse_character_change *changes, size_t count);

#endif
