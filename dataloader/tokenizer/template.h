/* Which special tokens stand around a text, or around two, and the types of all tokens (BERT's
 * segments). Processors follow one another: each sees what those before it made as a list of
 * encodings, of which a template makes one for each of its parts. */
#ifndef CSE_DATALOADER_TOKENIZER_TEMPLATE_H
#define CSE_DATALOADER_TOKENIZER_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

/* In place of the number of a token. */
enum { CSE_FIRST_TEXT = -1, CSE_SECOND_TEXT = -2 };

typedef struct cse_template_part {
    int32_t id;
    int32_t type;
    int encoding; /* in which it stands, from 0 on */
} cse_template_part;

/* Start from a zeroed struct. */
typedef struct cse_template {
    cse_template_part *parts;
    int count, capacity;
    int encodings;
} cse_template;

/* One text of type 0; or two, of types 0 and 1. */
void cse_template_begin(cse_template *made, bool is_pair);
void cse_template_clear(cse_template *made);
/* Adds a part to a new encoding, or to the last one. */
void cse_template_put(cse_template *made, int32_t id, int32_t type, bool is_new);
/* Adds all parts of encoding `number` of another one as a new encoding, with this type. */
void cse_template_put_encoding(cse_template *made, const cse_template *from, int number,
                               int32_t type);
/* `edges` [2]: a token before and behind the first encoding; with `joins` the second of them stands
 * before all others, too, and all types are 0, else what ends another has type 1. */
void cse_template_wrap(cse_template *made, const int32_t edges[2], bool joins);
/* Tokens of it that are no text's. */
int cse_template_specials(const cse_template *made);
/* Whether it has each of its texts once. */
bool cse_template_is_whole(const cse_template *made, bool is_pair);

#endif
