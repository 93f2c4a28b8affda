/* The scripts of characters as Hugging Face's pre-tokenizer UnicodeScripts has them. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_CHARACTER_SCRIPTS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_CHARACTER_SCRIPTS_H

#include <stdint.h>

/* A number of the script, the same for Hiragana, Katakana and Han; 0: it belongs to none. */
int cse_script_of(uint32_t character);

#endif
