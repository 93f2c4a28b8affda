/* Characters of UTF-8 that was checked. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_CHARACTERS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_CHARACTERS_H

#include <stdbool.h>

#include "engine/base/text.h"

/* The character at `text`, and its bytes. */
uint32_t cse_character_at(const char *text, size_t *length);
/* The one that ends before text + at, where at > 0; `*length`: its bytes. */
uint32_t cse_character_before(const char *text, size_t at, size_t *length);
/* Writes the character in UTF-8; returns its bytes. */
size_t cse_character_bytes(uint32_t character, char bytes[4]);
/* Adds bytes; the begin of a character that does not go on, and a byte that begins none, are U+FFFD
 * each. */
void cse_text_add_mended(cse_text *text, const char *bytes, size_t size);
bool cse_is_utf8(const char *bytes, size_t size);
void cse_text_add_character(cse_text *text, uint32_t character);
size_t cse_count_characters(const char *text, size_t size);
/* Unicode's White_Space. */
bool cse_is_white_space(uint32_t character);

#endif
