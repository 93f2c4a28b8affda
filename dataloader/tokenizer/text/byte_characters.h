/* The 256 characters that stand for the bytes in files of byte-level vocabularies: printable bytes
 * for themselves, the others from U+0100 on, in order (GPT-2's table). */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_BYTE_CHARACTERS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_BYTE_CHARACTERS_H

#include <stddef.h>

#include "engine/base/text.h"

/* The code point of a byte. */
int cse_byte_character(unsigned char byte);
/* Adds the characters of the bytes, in UTF-8. */
void cse_byte_characters_add(cse_text *text, const char *bytes, size_t size);
/* The bytes that UTF-8 text of such characters stands for, written to `bytes` (of `size`); returns
 * how many, or -1 where another character is among them. */
long cse_byte_characters_read(const char *text, size_t size, char *bytes);

#endif
