/* What conversations are written with, by settings: a tokenizer, a template and a day. */
#ifndef CSE_DATALOADER_CONVERSATIONS_CONVERSATION_WRITER_H
#define CSE_DATALOADER_CONVERSATIONS_CONVERSATION_WRITER_H

#include "csengine/extend.h"
#include "dataloader/conversations/conversation_tokens.h"

typedef struct cse_conversation_choices {
    const char *tokenizer;     /* a file, or a folder, whose template is taken, too */
    const char *chat_template; /* a file; NULL: that of the tokenizer's folder */
    const char *template_name; /* of several templates of a folder; NULL: the default one */
    const char *end_of_text;   /* behind a completion that is a text; "none": nothing; NULL: the
                                * eos_token of the tokenizer's folder */
    const char *date; /* "2026-01-31", for templates that ask for the day; NULL: not given */
    cse_loss_on loss_on;
} cse_conversation_choices;

/* Settings of the names above, for tables of input functions. */
/* clang-format off */
#define CSE_CONVERSATION_SETTINGS                                                                  \
    { .name = "tokenizer",                                                                         \
      .type = CSE_SETTING_PATH,                                                                    \
      .doc = "the folder of the model that is trained on, with its tokenizer and chat template; "  \
             "or a file tokenizer.json or tokenizer.model" },                                      \
    { .name = "chat_template",                                                                     \
      .type = CSE_SETTING_PATH,                                                                    \
      .default_value = "null",                                                                     \
      .doc = "a file with a template of Jinja; null: that of the tokenizer's folder" },            \
    { .name = "chat_template_name",                                                                \
      .type = CSE_SETTING_TEXT,                                                                    \
      .default_value = "null",                                                                     \
      .doc = "which of several templates of a folder, such as tool_use; null: the default one" },  \
    { .name = "date",                                                                              \
      .type = CSE_SETTING_TEXT,                                                                    \
      .default_value = "null",                                                                     \
      .doc = "the day that a template may ask for, as 2026-01-31; null: it is told none, so that " \
             "texts do not depend on the day of the run" },                                        \
    { .name = "end_of_text",                                                                       \
      .type = CSE_SETTING_TEXT,                                                                    \
      .default_value = "null",                                                                     \
      .doc = "text of the token behind a completion that is a text; none: nothing; null: the "     \
             "eos_token of the tokenizer's folder" }
/* clang-format on */
void cse_conversation_choices_read(const cse_settings *settings, cse_conversation_choices *choices);

typedef struct cse_conversation_tools cse_conversation_tools;

/* CSE_NO_INPUT, CSE_DATA: the tokenizer, the template with line and column. A folder without a
 * template is no failure: conversations with messages are refused then. */
cse_status cse_conversation_tools_open(const cse_conversation_choices *choices,
                                       cse_conversation_tools **tools);
void cse_conversation_tools_close(cse_conversation_tools **tools);
/* What conversations are written with; borrowed. */
const cse_conversation_writer *cse_conversation_writer_view(const cse_conversation_tools *tools);

#endif
