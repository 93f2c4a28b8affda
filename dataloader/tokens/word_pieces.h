/* Text as pieces of words of BERT's vocabulary (Devlin et al. 2019): words stand apart by blanks,
 * punctuation is a word of its own, and of each word the longest piece that is in the vocabulary
 * is taken from the left, the later ones with ## at their front.
 *
 * Accents are taken from Latin letters up to U+017F alone. */
#ifndef CSE_DATALOADER_TOKENS_WORD_PIECES_H
#define CSE_DATALOADER_TOKENS_WORD_PIECES_H

#include "dataloader/tokens/word_file.h"

typedef struct cse_word_pieces {
    const cse_word_file *words;
    bool lowers; /* texts */
    bool keeps_accents;
    int unknown; /* the number of a word that has no pieces */
} cse_word_pieces;

/* Writes up to `most` numbers of the pieces of `text`, which is changed; returns how many. */
int cse_word_pieces_split(const cse_word_pieces *pieces, char *text, int32_t *to, int most);

#endif
