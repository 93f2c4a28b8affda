/* Text to numbers of a vocabulary, and back: byte pair encoding, over bytes or characters (R.
 * Sennrich et al., "Neural machine translation of rare words with subword units", 2016; A. Radford
 * et al., "Language models are unsupervised multitask learners", 2019), Unigram (T. Kudo, "Subword
 * regularization", 2018), WordPiece and whole words.
 *
 * A text is split at added tokens, normalized, cut into words (pre_tokenizers.h), and each word
 * becomes tokens (word_models.h); decoders.h is the way back. Numbers, places and texts are those
 * of Hugging Face's tokenizers and of SentencePiece without special tokens added. What a file asks
 * for beyond that is refused by its name. */
#ifndef CSE_DATALOADER_TOKENIZER_TOKENIZER_H
#define CSE_DATALOADER_TOKENIZER_TOKENIZER_H

#include <stdint.h>

#include "dataloader/tokenizer/template.h"
#include "engine/base/text.h"

typedef struct cse_tokenizer cse_tokenizer;

/* `path`: a tokenizer.json, a tokenizer.model of SentencePiece, a vocab.json with merges.txt or
 * vocab.bpe beside it, a folder that holds these, or a GGUF file with its own. CSE_DATA says what
 * of the file is not accepted. */
cse_status cse_tokenizer_load(const char *path, cse_tokenizer **tokenizer);
/* Whether the file is one of weights that may hold a tokenizer: GGUF. */
bool cse_tokenizer_is_in_weights(const char *path);
void cse_tokenizer_close(cse_tokenizer **tokenizer);

/* Whether the folder holds a tokenizer.json, or the files that are read without one. */
bool cse_tokenizer_is_in(const char *folder);
/* The folder with a tokenizer that lies beside tokens: `source`, or the folder of that file of
 * HDF5 or npy. False: there is none; a tokenizer beside a text says nothing about its use. */
bool cse_tokenizer_beside(const char *source, char *folder, size_t size);
/* Copies the files that `path` is loaded from into the folder: a tokenizer.json or
 * tokenizer.model, or the two. */
cse_status cse_tokenizer_copy(const char *path, const char *folder);

/* The largest number plus one. */
int64_t cse_tokenizer_vocab_size(const cse_tokenizer *tokenizer);
/* The number of the token with this content, -1 where there is none. */
int32_t cse_tokenizer_find(const cse_tokenizer *tokenizer, const char *content);
/* The bytes of a token, borrowed; NULL where no token has this number. */
const char *cse_tokenizer_token_view(const cse_tokenizer *tokenizer, int64_t id, size_t *size);
/* Whether a long text may be cut between a line that ends in an ASCII letter or digit and one that
 * begins with one, without a change of its numbers. */
bool cse_tokenizer_cuts_at_lines(const cse_tokenizer *tokenizer);

/* Where a token stands in a text: characters [begin, end). */
typedef struct cse_token_place {
    size_t begin, end;
    uint32_t spaces[2]; /* where they are counted: white space at its begin and end */
    int32_t type;       /* of the text, or of a special token: 1 for the second of a pair */
    bool is_added;      /* it is an added token */
    bool counts_spaces; /* it is, or a text that is no piece of Unigram */
} cse_token_place;

/* Start from a zeroed struct; the caller frees `ids` and `places`. */
typedef struct cse_token_ids {
    int32_t *ids;
    size_t count, capacity;
    bool with_places;        /* they are wanted */
    cse_token_place *places; /* [count] */
} cse_token_ids;

/* What one thread needs to encode: memory for matches, and the numbers of frequent words. */
typedef struct cse_encoder cse_encoder;
cse_encoder *cse_encoder_new(const cse_tokenizer *tokenizer);
void cse_encoder_close(cse_encoder **encoder);

/* Adds the numbers of the text, and places where they are wanted; bytes that are no UTF-8 count as
 * U+FFFD each. CSE_DATA for a word of more than CSE_WORD_MOST_BYTES, and for a text on which the
 * split pattern takes too long. */
enum { CSE_WORD_MOST_BYTES = 1 << 24 };
cse_status cse_encode(cse_encoder *encoder, const char *text, size_t size, cse_token_ids *ids);
/* A text; without bytes there is none. */
typedef struct cse_given_text {
    const char *bytes;
    size_t size;
} cse_given_text;

/* Likewise one text or two, with the special tokens that the tokenizer puts around them; places are
 * those in the text that a token is of. */
cse_status cse_encode_whole(cse_encoder *encoder, const cse_given_text texts[2],
                            cse_token_ids *ids);
/* Where special tokens stand around one text or two. That of two texts may lack one of them. */
const cse_template *cse_tokenizer_template_view(const cse_tokenizer *tokenizer, bool is_pair);
/* The same, borrowed, with each text exactly once; else CSE_DATA. */
cse_status cse_tokenizer_template(const cse_tokenizer *tokenizer, bool is_pair,
                                  const cse_template **template);
/* Calls `word` with each piece that the pre-tokenizer makes. */
typedef struct cse_word_sink {
    cse_status (*word)(void *self, const char *bytes, size_t size);
    void *self;
} cse_word_sink;
cse_status cse_encoder_words(cse_encoder *encoder, const char *text, size_t size,
                             const cse_word_sink *sink);

/* Adds the bytes of the tokens; CSE_DATA for a number without a token. */
cse_status cse_decode(const cse_tokenizer *tokenizer, const int32_t *ids, size_t count,
                      cse_text *text);
/* Adds what a token adds to a text that has others before it. */
cse_status cse_decode_within(const cse_tokenizer *tokenizer, int32_t id, cse_text *text);

#endif
