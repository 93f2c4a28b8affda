/* What SentencePiece does to a text before it is cut into pieces: characters are mapped, white
 * space is joined, and a space is put before the text. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_SENTENCE_TEXT_H
#define CSE_DATALOADER_TOKENIZER_TEXT_SENTENCE_TEXT_H

#include "dataloader/tokenizer/piece_trie.h"
#include "dataloader/tokenizer/text/aligned_text.h"
#include "dataloader/tokenizer/text/characters_map.h"

typedef struct cse_sentence_rules {
    bool adds_space;                 /* before the text, or behind it */
    bool removes_spaces;             /* at the ends, and all but one of others */
    bool escapes_spaces;             /* U+2581 stands for them */
    bool space_is_suffix;            /* of words */
    cse_characters_map *map;         /* NULL: characters stay */
    const cse_piece_trie *user_trie; /* pieces that are left as they are */
} cse_sentence_rules;

#define CSE_SENTENCE_SPACE "\342\226\201"

/* Bytes of the longest piece of the tree at the begin of the text; 0: there is none. */
size_t cse_piece_trie_longest(const cse_piece_trie *trie, const char *text, size_t size,
                              int32_t *id);
void cse_sentence_text_add(const cse_sentence_rules *rules, const cse_text_view *from,
                           cse_aligned_text *to);

#endif
