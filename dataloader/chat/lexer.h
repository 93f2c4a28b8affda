/* The words of a template: plain text, the marks of tags, and the words inside of them.
 *
 * White space is decided here: trim_blocks takes the line end behind {% %} and {# #}, lstrip_blocks
 * the blanks before them on their line, "-" takes all white space of its side, "+" keeps it. */
#ifndef CSE_DATALOADER_CHAT_LEXER_H
#define CSE_DATALOADER_CHAT_LEXER_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"

typedef enum cse_jinja_token_kind {
    CSE_JINJA_TOKEN_END, /* of the template */
    CSE_JINJA_TOKEN_DATA,
    CSE_JINJA_TOKEN_TAG_BEGIN, /* {% */
    CSE_JINJA_TOKEN_TAG_END,
    CSE_JINJA_TOKEN_PRINT_BEGIN, /* {{ */
    CSE_JINJA_TOKEN_PRINT_END,
    CSE_JINJA_TOKEN_NAME,
    CSE_JINJA_TOKEN_TEXT,
    CSE_JINJA_TOKEN_INTEGER,
    CSE_JINJA_TOKEN_FLOAT,
    CSE_JINJA_TOKEN_OPERATOR,
} cse_jinja_token_kind;

typedef struct cse_jinja_token {
    cse_jinja_token_kind kind;
    int line, column;  /* from 1; columns in characters */
    const char *bytes; /* DATA, NAME, OPERATOR; of TEXT what it stands for; zero-terminated */
    size_t length;
    int64_t integer;
    double number;
} cse_jinja_token;

typedef struct cse_jinja_tokens {
    cse_jinja_token *tokens; /* [count], the last one is END */
    size_t count;
} cse_jinja_tokens;

/* All words of `text`, in the arena. CSE_DATA with the place. */
cse_status cse_jinja_lex(cse_arena *arena, const char *source, const char *text, size_t length,
                         cse_jinja_tokens *tokens);

#endif
