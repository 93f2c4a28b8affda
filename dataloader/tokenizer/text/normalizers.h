/* What is done to a text before it is cut into words: Unicode's normal forms, lower case and other
 * replacements. Each kind is a row of a table. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_NORMALIZERS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_NORMALIZERS_H

#include <jansson.h>

#include "dataloader/tokenizer/text/aligned_text.h"
#include "dataloader/tokenizer/text/sentence_text.h"
#include "dataloader/tokenizer/text/split_pattern.h"

typedef struct cse_normalizer cse_normalizer;

/* Start from a zeroed struct. */
typedef struct cse_normalizers {
    cse_normalizer *list;
    int count, capacity;
} cse_normalizers;

/* Text that is changed step by step. Start from a zeroed struct. */
typedef struct cse_normalized {
    cse_aligned_text texts[2];
    int at;
} cse_normalized;

/* The member "normalizer" of a tokenizer.json; null is none. CSE_DATA says what is not
 * accepted. */
cse_status cse_normalizers_read(cse_normalizers *normalizers, const json_t *entry);
/* SentencePiece's, whose map is owned from then on. */
cse_status cse_normalizers_of_sentences(cse_normalizers *normalizers,
                                        const cse_sentence_rules *rules);
void cse_normalizers_clear(cse_normalizers *normalizers);

/* UTF-8 that was checked. The result, borrowed from `work`, takes the view's place. */
cse_status cse_normalize(const cse_normalizers *normalizers, cse_split_matcher *matcher,
                         cse_normalized *work, cse_text_view *view);
void cse_normalized_clear(cse_normalized *work);

#endif
