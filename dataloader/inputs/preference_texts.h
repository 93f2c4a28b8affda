/* A line of preferences as texts: the prompt, and the whole texts of the prompt with each of its
 * completions, for the input function preferences.
 *
 * A completion of text gets what ends it. Conversations, lists of messages, become text by the chat
 * template: the prompt with what begins an answer. Without a prompt it is what both texts of a pair
 * begin with. Those are TRL's ways. */
#ifndef CSE_DATALOADER_INPUTS_PREFERENCE_TEXTS_H
#define CSE_DATALOADER_INPUTS_PREFERENCE_TEXTS_H

#include "csengine/extend.h"
#include "dataloader/chat/chat_template.h"
#include "dataloader/inputs/preference_rows.h"

enum { CSE_PREFERENCE_PROMPT, CSE_PREFERENCE_FIRST, CSE_PREFERENCE_SECOND, CSE_PREFERENCE_MEMBERS };

/* Start from a zeroed struct; release with cse_preference_texts_clear. */
typedef struct cse_preference_texts {
    bool paired;
    const char *const *names; /* of the members: prompt, chosen, rejected; or completion, label */
    const char *end;          /* of a completion; borrowed; NULL: nothing is added */
    char *tokenizer;          /* whose folder has the template, unless this file has it */
    char *template_file;
    cse_chat_template *template; /* NULL: no conversation was met */
    json_t *variables;
    cse_chat_text text;
    cse_preference_fault fault; /* of the last failure with CSE_DATA */
    /* of the sample at hand */
    bool is_chat, desirable;
    char *prompt, *whole[2];
} cse_preference_texts;

void cse_preference_texts_clear(cse_preference_texts *texts);

/* The members of a JSON line, or the fields of a table's. CSE_DATA, with `fault`. */
cse_status cse_preference_texts_take(cse_preference_texts *texts, const json_t *line);
cse_status cse_preference_texts_take_fields(cse_preference_texts *texts, char *const fields[]);

#endif
