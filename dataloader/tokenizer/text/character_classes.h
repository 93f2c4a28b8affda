/* The characters of a Unicode category or script, the same for every version of PCRE2: numbers of a
 * text must not change with the library. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_CHARACTER_CLASSES_H
#define CSE_DATALOADER_TOKENIZER_TEXT_CHARACTER_CLASSES_H

#include <stddef.h>

/* Members of a class for use in brackets of a PCRE2 pattern: "L", "Nd"; NULL for an unknown one. */
const char *cse_character_class(const char *name, size_t size);

#endif
