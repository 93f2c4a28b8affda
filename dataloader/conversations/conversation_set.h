/* All conversations of the data as tokens, in memory: each is written once, when the data are
 * opened, so that all that is wrong with one is known before a run starts, and so is how many
 * tokens there are. */
#ifndef CSE_DATALOADER_CONVERSATIONS_CONVERSATION_SET_H
#define CSE_DATALOADER_CONVERSATIONS_CONVERSATION_SET_H

#include "dataloader/conversations/conversation_files.h"
#include "dataloader/conversations/conversation_writer.h"

typedef enum cse_too_long {
    CSE_TOO_LONG_CUT,
    CSE_TOO_LONG_LEFT_OUT,
    CSE_TOO_LONG_REFUSED
} cse_too_long;

typedef struct cse_conversation_rules {
    cse_conversation_format format;
    int64_t most_tokens; /* of a conversation */
    cse_too_long too_long;
    bool leaves_out; /* conversations in which no token counts; else they are refused */
} cse_conversation_rules;

typedef struct cse_conversation_item {
    int64_t begin; /* in `ids` */
    int64_t row;   /* in the files */
} cse_conversation_item;

/* Start from a zeroed struct; release with cse_conversation_set_clear. */
typedef struct cse_conversation_set {
    cse_conversation_files files;
    int32_t *ids;
    bool *counts; /* whether the loss of predicting the token counts */
    int64_t token_count, token_capacity;
    cse_conversation_item *items;
    int32_t *lengths; /* [count] */
    int64_t count, capacity;
    /* what was done with others */
    int64_t cut, cut_tokens;          /* conversations, and tokens of them */
    int64_t left_out_long;            /* longer ones */
    int64_t without_answer, cut_away; /* no answer; all answers beyond the cut */
} cse_conversation_set;

/* Reads and writes all rows of the files that were added to `set->files`. CSE_DATA with the place
 * of a row: no conversation, what the template refuses, and by the rules. */
cse_status cse_conversation_set_fill(cse_conversation_set *set,
                                     const cse_conversation_writer *writer,
                                     const cse_conversation_rules *rules);
void cse_conversation_set_clear(cse_conversation_set *set);

#endif
