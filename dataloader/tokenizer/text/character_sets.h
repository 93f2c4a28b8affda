/* Sets of characters that the parts of a tokenizer go by, as Hugging Face's tokenizers has them,
 * whose libraries follow several versions of Unicode. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_CHARACTER_SETS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_CHARACTER_SETS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cse_character_set {
    CSE_PUNCTUATION,
    CSE_NUMERIC,
    CSE_WORD_PART, /* letters, marks, digits and what joins them */
    CSE_MARK,
    CSE_CONTROL, /* what BERT's normalizer takes out */
    CSE_ACCENT,  /* likewise, with the accents */
    CSE_IDEOGRAPH,
    CSE_NOT_NORMALIZED /* normalisation leaves it as it is, and puts nothing together with it */
} cse_character_set;

bool cse_is_in_set(cse_character_set set, uint32_t character);
/* One character; that of U+0130 has two, which the caller knows. */
uint32_t cse_lower_case(uint32_t character);

#endif
