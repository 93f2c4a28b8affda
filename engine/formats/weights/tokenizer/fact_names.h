/* Names of GGUF's facts of a tokenizer, and the numbers that they hold. */
#ifndef CSE_WEIGHTS_FACT_NAMES_H
#define CSE_WEIGHTS_FACT_NAMES_H

#define CSE_TOKENIZER_FACT(name) "tokenizer.ggml." name

/* tokenizer.ggml.token_type */
enum {
    CSE_TOKEN_NORMAL = 1,
    CSE_TOKEN_UNKNOWN,
    CSE_TOKEN_CONTROL,
    CSE_TOKEN_USER_DEFINED,
    CSE_TOKEN_UNUSED,
    CSE_TOKEN_BYTE
};

/* A blank in vocabularies of SentencePiece, U+2581. */
#define CSE_TOKEN_BLANK "\xe2\x96\x81"

#endif
