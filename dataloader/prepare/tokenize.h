/* Texts in files become tokens in files: what `csengine data tokenize` does. The output is the same
 * for any number of jobs. */
#ifndef CSE_DATALOADER_PREPARE_TOKENIZE_H
#define CSE_DATALOADER_PREPARE_TOKENIZE_H

#include "dataloader/prepare/token_writer.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/train.h"

typedef struct cse_tokenize_progress {
    int64_t bytes, text_bytes, documents, tokens; /* bytes: of whole files, as they are stored */
} cse_tokenize_progress;

typedef struct cse_tokenize_options {
    const char *const *paths;
    int path_count;
    const char *field; /* of JSON lines */
    bool skips_bad;    /* a document that cannot be read is counted, not an error */
    int jobs;
    int32_t end_of_document; /* behind each document; -1: nothing */
    /* Whether to go on: CSE_INTERRUPTED where not. May be NULL. */
    bool (*progress)(void *self, const cse_tokenize_progress *so_far);
    void *self;
} cse_tokenize_options;

typedef struct cse_tokenize_result {
    int64_t documents, bad_documents, text_bytes;
    char first_bad[512]; /* where the first one is, and why */
    int64_t not_utf8;    /* documents with bytes that are no UTF-8, which became U+FFFD */
    char first_not_utf8[512];
} cse_tokenize_result;

/* Adds the tokens of all texts to the writer, without finishing it. */
cse_status cse_tokenize(const cse_tokenizer *tokenizer, const cse_tokenize_options *options,
                        cse_token_writer *writer, cse_tokenize_result *result);

/* Trains a vocabulary on the texts; `*json` is a tokenizer.json. */
cse_status cse_train_tokenizer(const cse_tokenize_options *options, cse_trainer_kind kind,
                               int64_t vocab_size, cse_text *json);

#endif
