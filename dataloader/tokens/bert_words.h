/* The vocabulary of a BERT or the tokenizer of another encoder, from what Hugging Face's folder of
 * one holds. */
#ifndef CSE_DATALOADER_TOKENS_BERT_WORDS_H
#define CSE_DATALOADER_TOKENS_BERT_WORDS_H

#include "csengine/extend.h"
#include "dataloader/tokens/sentence_tokens.h"

#define CSE_BERT_VOCABULARY_SETTING                                                       \
    {                                                                                     \
        .name = "vocabulary", .type = CSE_SETTING_PATH,                                   \
        .doc = "vocab.txt, a word a line, a tokenizer.json, or a folder with one of them" \
    }
#define CSE_BERT_LOWER_SETTING                                                                   \
    {                                                                                            \
        .name = "lower", .type = CSE_SETTING_BOOL, .default_value = "null",                      \
        .doc = "texts are taken in lower case, and without accents; null: as the folder of the " \
               "vocabulary says, else true"                                                      \
    }

/* Fills words and lowers, or the tokenizer. `path`: a list with a word a line (vocab.txt); a
 * tokenizer.json; or a folder with one of them. `lowers`: whether texts are taken in lower case, 0
 * or 1, of a vocabulary of BERT alone; -1: as tokenizer.json, or do_lower_case of
 * tokenizer_config.json, says, else they are. A tokenizer.json that says which special tokens stand
 * around a text, or is no WordPiece, is followed as a whole. CSE_NO_INPUT, CSE_DATA. */
cse_status cse_bert_words_read(cse_sentence_tokens *tokens, const char *path, int lowers);

/* Reads the words that the two settings above name, and begins the tokens with them; their accents
 * stay where their capitals do. */
cse_status cse_bert_words_open(cse_sentence_tokens *tokens, const cse_settings *settings);

#endif
