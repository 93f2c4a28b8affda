/* Conversations as the input function `conversations` writes them: a line for each token, marked
 * where the loss counts it. */
#include "cli/data/data_conversations.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "dataloader/conversations/conversation_files.h"
#include "dataloader/conversations/conversation_writer.h"

typedef struct showing {
    cse_conversation_files files;
    const cse_conversation_writer *writer;
    cse_conversation_tokens tokens;
    json_t *shown; /* NULL: they are printed */
    bool colour;
} showing;

static void printable_token(const showing *s, int32_t id, char *text, size_t size)
{
    size_t bytes = 0;
    cse_text token = { 0 };
    const char *view = cse_tokenizer_token_view(s->writer->tokenizer, id, &bytes);
    cse_text_add(&token, "%s", "");
    cse_text_add_bytes(&token, view, view != NULL ? bytes : 0);
    cse_text_one_line(token.data, text, size);
    cse_text_clear(&token);
}

static void print_tokens(const showing *s, const char *place)
{
    char token[1024];
    const cse_token_ids *ids = &s->tokens.ids;
    cse_print("%s: %zu tokens, the loss counts %zu\n", place, ids->count, s->tokens.counted);
    for (size_t i = 0; i < ids->count; i++) {
        const bool counts = s->tokens.counts[i];
        printable_token(s, ids->ids[i], token, sizeof token);
        printf("%s", s->colour ? (counts ? "\033[32m" : "\033[2m") : "");
        cse_print("%c %7d %7zu %7zu  %s", counts ? '*' : ' ', (int)ids->ids[i],
                  ids->places[i].begin, ids->places[i].end, token);
        printf("%s\n", s->colour ? "\033[0m" : "");
    }
}

static void add_json(const showing *s, const char *place)
{
    json_t *numbers = json_array(), *counts = json_array();
    for (size_t i = 0; i < s->tokens.ids.count; i++) {
        json_array_append_new(numbers, json_integer(s->tokens.ids.ids[i]));
        json_array_append_new(counts, json_integer(s->tokens.counts[i]));
    }
    json_array_append_new(s->shown,
                          json_pack("{s:s, s:o, s:o, s:o}", "place", place, "text",
                                    json_stringn(s->tokens.text.text, s->tokens.text.length), "ids",
                                    numbers, "counts", counts));
}

static cse_status show_row(showing *s, int64_t row)
{
    char place[PATH_MAX + 64];
    json_t *object = NULL;
    cse_conversation conversation = { 0 };
    cse_conversation_files_locate(&s->files, row, place, sizeof place);
    cse_status status = cse_conversation_files_read(&s->files, row, &object);
    if (status == CSE_OK)
        status = cse_conversation_of_row(object, CSE_CONVERSATION_AUTO, &conversation);
    if (status == CSE_OK)
        status = cse_conversation_write(s->writer, &conversation, &s->tokens);
    if (status == CSE_OK && s->shown != NULL)
        add_json(s, place);
    else if (status == CSE_OK)
        print_tokens(s, place);
    cse_conversation_clear(&conversation);
    json_decref(object);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", place);
}

static cse_status show_rows(showing *s, const cse_command_line *line)
{
    static const int64_t range[] = { 1, INT64_MAX };
    int64_t most = 3;
    cse_status status = cse_option_integer(line, "first", range, &most);
    for (int i = 1; i < line->argument_count && status == CSE_OK; i++)
        status = cse_conversation_files_add(&s->files, line->arguments[i]);
    for (int64_t row = 0; row < s->files.rows && row < most && status == CSE_OK; row++)
        status = show_row(s, row);
    if (status == CSE_OK && s->shown != NULL) {
        json_t *whole = json_pack("{s:I, s:O}", "conversation_count", (json_int_t)s->files.rows,
                                  "conversations", s->shown);
        cse_json_print(whole);
        json_decref(whole);
    }
    return status;
}

static cse_status choose(const cse_command_line *line, cse_conversation_choices *choices)
{
    static const char *const words[] = { "answers", "last_answer", "all", NULL };
    const char *word = words[0];
    *choices = (cse_conversation_choices){ .tokenizer = cse_option_value(line, "tokenizer"),
                                           .chat_template = cse_option_value(line, "chat_template"),
                                           .end_of_text = cse_option_value(line, "end_of_text") };
    CSE_TRY(cse_option_word(line, "loss_on", words, &word));
    choices->loss_on = strcmp(word, "all") == 0           ? CSE_LOSS_ON_ALL
                       : strcmp(word, "last_answer") == 0 ? CSE_LOSS_ON_LAST_ANSWER
                                                          : CSE_LOSS_ON_ANSWERS;
    return choices->tokenizer != NULL
               ? CSE_OK
               : cse_fail(CSE_USAGE, "data conversations: --tokenizer is missing: the folder of "
                                     "the model, with its tokenizer and chat template");
}

int cse_data_conversations(const cse_command_line *line)
{
    cse_conversation_choices choices;
    cse_conversation_tools *tools = NULL;
    showing s = { .shown = cse_option_is_on(line, "json") ? json_array() : NULL,
                  .colour = cse_may_colour(1) };
    cse_status status = choose(line, &choices);
    if (status == CSE_OK)
        status = cse_conversation_tools_open(&choices, &tools);
    if (status == CSE_OK) {
        s.writer = cse_conversation_writer_view(tools);
        status = show_rows(&s, line);
    }
    cse_conversation_tokens_clear(&s.tokens);
    cse_conversation_files_clear(&s.files);
    cse_conversation_tools_close(&tools);
    json_decref(s.shown);
    return status == CSE_OK ? 0 : cse_report(status);
}
