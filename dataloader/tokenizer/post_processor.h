/* The member "post_processor": which special tokens stand around a text or a pair of texts, and
 * whether the places of tokens leave out the white space at their ends. */
#ifndef CSE_DATALOADER_TOKENIZER_POST_PROCESSOR_H
#define CSE_DATALOADER_TOKENIZER_POST_PROCESSOR_H

#include <jansson.h>

#include "dataloader/tokenizer/template.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/vocabulary.h"

typedef struct cse_post_processor {
    cse_template one, pair; /* around one text and two */
    bool has_template;
    int trims;                 /* how many times */
    bool keeps_a_prefix_space; /* that was put before the text is part of its first token */
} cse_post_processor;

/* Null is none. CSE_DATA names what is not accepted. */
cse_status cse_post_processor_read(cse_post_processor *processor, const json_t *entry);
void cse_post_processor_clear(cse_post_processor *processor);
/* Spaces at the begin and at the end of a token's text, all of them at both where there is nothing
 * else. */
void cse_post_processor_count(const char *text, size_t size, bool is_bytes, uint32_t counts[2]);
/* The places of tokens from number `first` on. */
void cse_post_processor_trim(const cse_post_processor *processor, const cse_vocabulary *vocabulary,
                             cse_token_ids *ids, size_t first);

#endif
