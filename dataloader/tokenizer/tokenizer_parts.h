/* What a tokenizer is made of, for its readers and its encoder. */
#ifndef CSE_DATALOADER_TOKENIZER_TOKENIZER_PARTS_H
#define CSE_DATALOADER_TOKENIZER_TOKENIZER_PARTS_H

#include "dataloader/tokenizer/added_tokens.h"
#include "dataloader/tokenizer/merges.h"
#include "dataloader/tokenizer/piece_trie.h"
#include "dataloader/tokenizer/post_processor.h"
#include "dataloader/tokenizer/text/decoders.h"
#include "dataloader/tokenizer/text/normalizers.h"
#include "dataloader/tokenizer/text/pre_tokenizers.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/vocabulary.h"

/* How words become tokens: a row of the table in word_models.c. */
typedef struct cse_word_model {
    const char *name;
    /* Of the member "model", after the vocabulary. */
    cse_status (*read)(cse_tokenizer *tokenizer, const json_t *model);
    /* Writes the tokens of a word, at most as many as it has bytes and one; places are bytes of the
     * word. */
    cse_status (*encode)(const cse_tokenizer *tokenizer, const char *bytes, size_t size,
                         cse_token_ids *ids);
} cse_word_model;

struct cse_tokenizer {
    cse_vocabulary vocabulary;
    cse_added_tokens before;  /* found first */
    cse_added_tokens between; /* found in what is left of it, normalized */
    cse_normalizers normalizers;
    cse_pre_tokenizers pre_tokenizers;
    cse_decoders decoders;
    cse_post_processor post_processor;
    const cse_word_model *model;
    int32_t unknown;     /* -1: none */
    cse_piece_trie trie; /* of Unigram and WordPiece */
    /* of Unigram */
    double *scores;           /* [vocabulary.size] */
    double unknown_score;     /* of a character that is in no piece */
    bool adds_floats;         /* scores are added as SentencePiece does */
    cse_piece_trie user_trie; /* pieces of SentencePiece that are found before all others */
    /* of BPE */
    cse_merges merges;
    int32_t token_of_byte[256];    /* of byte-level vocabularies; -1: none */
    int32_t fallback_of_byte[256]; /* <0x00> to <0xFF>; -1: none */
    bool falls_back;
    bool fuses_unknown;
    bool whole_words;     /* a word that is a token is not merged from its characters */
    const char *prefix;   /* of characters that do not begin a word; NULL: none; WordPiece's too */
    const char *suffix;   /* of the character that ends a word; NULL: none */
    int64_t longest_word; /* of WordPiece, in characters */
};

#endif
