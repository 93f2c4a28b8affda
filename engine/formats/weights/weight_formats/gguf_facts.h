/* Reading the head of a GGUF file: numbers, texts and facts. */
#ifndef CSE_WEIGHTS_GGUF_FACTS_H
#define CSE_WEIGHTS_GGUF_FACTS_H

#include "engine/formats/weights/weights.h"

/* Types of facts. */
enum {
    CSE_GGUF_U8,
    CSE_GGUF_I8,
    CSE_GGUF_U16,
    CSE_GGUF_I16,
    CSE_GGUF_U32,
    CSE_GGUF_I32,
    CSE_GGUF_FLOAT32,
    CSE_GGUF_BOOLEAN,
    CSE_GGUF_TEXT,
    CSE_GGUF_LIST,
    CSE_GGUF_U64,
    CSE_GGUF_I64,
    CSE_GGUF_FLOAT64,
    CSE_GGUF_FACT_TYPES
};

typedef struct cse_gguf_reading {
    cse_weights *weights;
    const cse_weights_file *at;
    int file;
    json_t *facts;       /* gets all facts, a list as ["list"] */
    json_t *tokenizer;   /* gets those of the tokenizer, whole */
    unsigned char *head; /* the beginning of the file, as much as was needed so far; free() */
    uint64_t size, next, alignment;
} cse_gguf_reading;

cse_status cse_gguf_refuse(const cse_gguf_reading *r, const char *what);
/* Takes bytes of the head, which is read in growing parts. */
cse_status cse_gguf_take(cse_gguf_reading *r, uint64_t bytes, const unsigned char **at);
cse_status cse_gguf_take_number(cse_gguf_reading *r, int bytes, uint64_t *number);
/* A copy of it in the arena. */
cse_status cse_gguf_take_text(cse_gguf_reading *r, const char **text, uint64_t most);
cse_status cse_gguf_read_fact(cse_gguf_reading *r);

#endif
