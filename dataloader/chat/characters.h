/* Characters of UTF-8 as Python sees them: white space, letters, and places counted in characters.
 */
#ifndef CSE_DATALOADER_CHAT_CHARACTERS_H
#define CSE_DATALOADER_CHAT_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/text.h"

/* What str.isspace() is true of. */
bool cse_character_is_space(uint32_t point);

/* Bytes of white space at the begin; bytes that stay without white space at the end. */
size_t cse_characters_strip_begin(const char *text, size_t size);
size_t cse_characters_strip_end(const char *text, size_t size);

/* Bytes of a name at the begin: letters, digits and "_". */
size_t cse_characters_name(const char *text, size_t size);

/* The next character of valid UTF-8 and its bytes. `size` > 0. */
uint32_t cse_character_next(const char *text, size_t size, size_t *length);
/* Bytes of the last character; `size` > 0. */
size_t cse_character_last(const char *text, size_t size);

size_t cse_characters_count(const char *text, size_t size);
/* The byte where character `index` begins; `size` where there are fewer. */
size_t cse_characters_offset(const char *text, size_t size, size_t index);

typedef enum cse_character_case {
    CSE_LOWER_CASE,
    CSE_UPPER_CASE,
    CSE_TITLE_CASE
} cse_character_case;
void cse_characters_add_case(cse_text *out, const char *text, size_t size, cse_character_case to);

#endif
