/* A conversation as tokens, and which of them the loss counts.
 *
 * Where an answer stands is what the template says by {% generation %}. Of a template without it,
 * an answer begins where the text of the messages before it ends, with the begin of an answer
 * (add_generation_prompt), and ends where the text up to it ends. That holds only where the
 * template writes those messages the same way when others follow; where it does not, the
 * conversation is refused. A token counts when it stands wholly or partly in an answer; the token
 * that ends a turn is part of it, white space behind that token is not. */
#ifndef CSE_DATALOADER_CONVERSATIONS_CONVERSATION_TOKENS_H
#define CSE_DATALOADER_CONVERSATIONS_CONVERSATION_TOKENS_H

#include "dataloader/chat/chat_template.h"
#include "dataloader/conversations/conversation.h"
#include "dataloader/tokenizer/tokenizer.h"

typedef enum cse_loss_on {
    CSE_LOSS_ON_ANSWERS,
    CSE_LOSS_ON_LAST_ANSWER,
    CSE_LOSS_ON_ALL
} cse_loss_on;

#define CSE_LOSS_ON_WORDS "answers|last_answer|all"

/* What conversations are written with. */
typedef struct cse_conversation_writer {
    cse_tokenizer *tokenizer;
    cse_encoder *encoder;
    cse_chat_template *chat_template; /* NULL: there is none, and messages are refused */
    json_t *variables;
    const char *end_of_text; /* behind a completion that is a text; NULL: nothing */
    const char *folder;      /* of the tokenizer, for messages */
    const struct tm *now;    /* for templates that ask for the day; NULL: it is not given */
    cse_loss_on loss_on;
} cse_conversation_writer;

/* Start from a zeroed struct, which may be used again; release with cse_conversation_tokens_clear.
 */
typedef struct cse_conversation_tokens {
    cse_chat_text text; /* what was encoded; its spans are the answers that count */
    cse_token_ids ids;
    bool *counts; /* [ids.count]: whether the loss of predicting this token counts */
    size_t counts_capacity, counted;
} cse_conversation_tokens;
void cse_conversation_tokens_clear(cse_conversation_tokens *tokens);

/* CSE_DATA: what the template refuses, spans that cannot be told. No answer is no failure: nothing
 * counts then. */
cse_status cse_conversation_write(const cse_conversation_writer *writer,
                                  const cse_conversation *conversation,
                                  cse_conversation_tokens *tokens);

#endif
