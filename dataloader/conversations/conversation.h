/* A row of data as a conversation: messages with roles, whatever form the row has.
 *
 *     messages           {"messages": [{"role": "user", "content": "..."}, ...], "tools": [...]}
 *     sharegpt           {"conversations": [{"from": "human", "value": "..."}, ...], "system": ...}
 *     alpaca             {"instruction": "...", "input": "...", "output": "...", "history": [...]}
 *     prompt_completion  {"prompt": "...", "completion": "..."}, or lists of messages */
#ifndef CSE_DATALOADER_CONVERSATIONS_CONVERSATION_H
#define CSE_DATALOADER_CONVERSATIONS_CONVERSATION_H

#include <jansson.h>
#include <stdbool.h>

#include "csengine/status.h"

typedef enum cse_conversation_format {
    CSE_CONVERSATION_AUTO, /* by the members of each row */
    CSE_CONVERSATION_MESSAGES,
    CSE_CONVERSATION_SHAREGPT,
    CSE_CONVERSATION_ALPACA,
    CSE_CONVERSATION_PROMPT_COMPLETION,
} cse_conversation_format;

#define CSE_CONVERSATION_FORMATS "auto|messages|sharegpt|alpaca|prompt_completion"

/* The format of that name, which is one of CSE_CONVERSATION_FORMATS. */
cse_conversation_format cse_conversation_format_of(const char *name);

typedef struct cse_conversation {
    json_t *messages;    /* NULL: prompt and completion are texts */
    json_t *variables;   /* what the row gives the template besides: tools, documents; or NULL */
    size_t first_answer; /* messages before it are no answers, whoever wrote them */
    json_t *prompt, *completion;
} cse_conversation;
void cse_conversation_clear(cse_conversation *conversation);

/* CSE_DATA: which member is missing or of another kind, and what is accepted. Clear it also after a
 * failure. */
cse_status cse_conversation_of_row(const json_t *row, cse_conversation_format format,
                                   cse_conversation *conversation);
/* Messages of any form, as in one of the lists above: a new list. */
cse_status cse_conversation_messages(const json_t *list, const char *member, json_t **messages);

/* Whether a message is an answer: of the role "assistant" or "model". */
bool cse_conversation_is_answer(const json_t *message);

#endif
