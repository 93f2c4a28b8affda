/* Answers found in the text of a conversation, and in its tokens; see conversation_tokens.h. */
#include "dataloader/conversations/conversation_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/characters.h"
#include "engine/base/arena.h"

void cse_conversation_tokens_clear(cse_conversation_tokens *tokens)
{
    cse_chat_text_clear(&tokens->text);
    free(tokens->ids.ids);
    free(tokens->ids.places);
    free(tokens->counts);
    *tokens = (cse_conversation_tokens){ 0 };
}

typedef struct writing {
    const cse_conversation_writer *writer;
    const cse_conversation *conversation;
    json_t *variables;
    cse_conversation_tokens *tokens;
} writing;

/* ---- texts ---- */

/* The text of the first `count` messages. */
static cse_status render(const writing *w, size_t count, bool prompts, cse_chat_text *text)
{
    json_t *messages = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append(messages, json_array_get(w->conversation->messages, i));
    const cse_chat_request request = { messages, w->variables, prompts, w->writer->now };
    const cse_status status = cse_chat_template_render(w->writer->chat_template, &request, text);
    json_decref(messages);
    return status;
}

static cse_status encode(const writing *w, const cse_chat_text *text, cse_token_ids *ids)
{
    ids->count = 0;
    ids->with_places = true;
    return cse_encode(w->writer->encoder, text->text, text->length, ids);
}

/* ---- answers of a template without {% generation %} ---- */

static bool begins_with(const cse_chat_text *whole, const cse_chat_text *begin)
{
    return begin->length <= whole->length && memcmp(whole->text, begin->text, begin->length) == 0;
}

static cse_status refuse_unstable(const writing *w, size_t message, const char *what)
{
    return cse_fail_at(
        &(cse_error){ .status = CSE_DATA,
                      .hint = "put {% generation %} and {% endgeneration %} around answers in a "
                              "copy of the template, and name it by chat_template; or choose "
                              "loss_on: last_answer or all" },
        "where answer %zu stands cannot be told: %s %s", message + 1,
        cse_chat_template_source_view(w->writer->chat_template), what);
}

/* The bytes of the first tokens that both texts have. */
static size_t common_bytes(const writing *w, const cse_token_ids *other)
{
    const cse_token_ids *ids = &w->tokens->ids;
    size_t same = 0;
    while (same < ids->count && same < other->count && ids->ids[same] == other->ids[same])
        same++;
    return same == 0 ? 0
                     : cse_characters_offset(w->tokens->text.text, w->tokens->text.length,
                                             ids->places[same - 1].end);
}

/* A template that ends a text in another way than a turn: as far as tokens are the same. What the
 * answer says must be in that. */
static cse_status end_by_tokens(const writing *w, size_t message, const cse_chat_text *text,
                                size_t begin, size_t *end)
{
    const json_t *content =
        json_object_get(json_array_get(w->conversation->messages, message), "content");
    const char *said = json_string_value(content);
    size_t size = said != NULL ? json_string_length(content) : 0;
    const size_t blank = said != NULL ? cse_characters_strip_begin(said, size) : 0;
    size = said != NULL ? cse_characters_strip_end(said + blank, size - blank) : 0;
    cse_token_ids ids = { 0 };
    const cse_status status = encode(w, text, &ids);
    *end = status == CSE_OK ? common_bytes(w, &ids) : 0;
    free(ids.ids);
    free(ids.places);
    CSE_TRY(status);
    const bool is_whole =
        size > 0 && *end > begin &&
        memmem(w->tokens->text.text + begin, *end - begin, said + blank, size) != NULL;
    return is_whole ? CSE_OK
                    : refuse_unstable(w, message, "writes it in another way when messages follow");
}

static cse_status find_answer(const writing *w, size_t message, cse_chat_text *text)
{
    cse_chat_text *whole = &w->tokens->text;
    const bool is_last = message + 1 == json_array_size(w->conversation->messages);
    CSE_TRY(render(w, message, true, text));
    if (!begins_with(whole, text))
        return refuse_unstable(w, message,
                               "writes the messages before it, or the begin of an answer, in "
                               "another way when the answer follows");
    const size_t begin = text->length;
    size_t end = whole->length;
    if (!is_last) {
        CSE_TRY(render(w, message + 1, false, text));
        end = text->length;
        if (!begins_with(whole, text))
            CSE_TRY(end_by_tokens(w, message, text, begin, &end));
    }
    if (end < begin)
        return refuse_unstable(w, message, "leaves it out");
    cse_chat_text_add_span(whole, begin, end);
    return CSE_OK;
}

static cse_status find_answers(const writing *w)
{
    const json_t *messages = w->conversation->messages;
    const bool last_alone = w->writer->loss_on == CSE_LOSS_ON_LAST_ANSWER;
    cse_chat_text text = { 0 };
    cse_status status = CSE_OK;
    size_t first = w->conversation->first_answer, count = json_array_size(messages);
    w->tokens->text.span_count = 0;
    for (size_t i = first; last_alone && i < count; i++)
        if (cse_conversation_is_answer(json_array_get(messages, i)))
            first = i;
    for (size_t i = first; i < count && status == CSE_OK; i++)
        if (cse_conversation_is_answer(json_array_get(messages, i)))
            status = find_answer(w, i, &text);
    cse_chat_text_clear(&text);
    return status;
}

/* ---- answers that the template marks ---- */

static cse_status take_marked(const writing *w)
{
    cse_chat_text *text = &w->tokens->text, begin = { 0 };
    size_t from = 0;
    int kept = 0;
    if (text->spans_lost)
        return refuse_unstable(w, 0, "has a {% generation %} in a macro or in {% set %}");
    if (w->conversation->first_answer > 0) {
        const cse_status status = render(w, w->conversation->first_answer, false, &begin);
        const bool is_same = begins_with(text, &begin);
        from = begin.length;
        cse_chat_text_clear(&begin);
        CSE_TRY(status);
        if (!is_same)
            return refuse_unstable(w, w->conversation->first_answer,
                                   "writes the prompt in another way when the completion follows");
    }
    for (int i = 0; i < text->span_count; i++)
        if (text->spans[i].begin >= from)
            text->spans[kept++] = text->spans[i];
    text->span_count = kept;
    if (w->writer->loss_on == CSE_LOSS_ON_LAST_ANSWER && kept > 1) {
        text->spans[0] = text->spans[kept - 1];
        text->span_count = 1;
    }
    return CSE_OK;
}

/* ---- tokens ---- */

/* From bytes to characters, which tokens are placed by. */
static void count_span(cse_conversation_tokens *tokens, const cse_chat_span *span)
{
    const size_t begin = cse_characters_count(tokens->text.text, span->begin);
    const size_t end =
        begin + cse_characters_count(tokens->text.text + span->begin, span->end - span->begin);
    for (size_t i = 0; i < tokens->ids.count; i++) {
        const cse_token_place *place = &tokens->ids.places[i];
        const bool is_empty = place->begin == place->end;
        if (place->begin < end && (place->end > begin || (is_empty && place->begin >= begin)))
            tokens->counts[i] = true;
    }
}

static bool is_blank(const cse_conversation_tokens *tokens, size_t token)
{
    const cse_token_place *place = &tokens->ids.places[token];
    const char *text = tokens->text.text;
    const size_t begin = cse_characters_offset(text, tokens->text.length, place->begin);
    const size_t size =
        cse_characters_offset(text + begin, tokens->text.length - begin, place->end - place->begin);
    return cse_characters_strip_begin(text + begin, size) == size;
}

/* White space between the token that ends a turn and the end of the span is the template's. */
static void leave_blanks_out(cse_conversation_tokens *tokens)
{
    for (size_t i = 0; i < tokens->ids.count; i++) {
        if (!tokens->counts[i] || (i + 1 < tokens->ids.count && tokens->counts[i + 1]))
            continue;
        size_t last = i;
        while (last > 0 && tokens->counts[last - 1] && !tokens->ids.places[last].is_added &&
               is_blank(tokens, last))
            last--;
        if (tokens->ids.places[last].is_added)
            for (size_t k = last + 1; k <= i; k++)
                tokens->counts[k] = false;
    }
}

static void count_tokens(const writing *w, bool leaves_blanks_out)
{
    cse_conversation_tokens *tokens = w->tokens;
    if (tokens->counts_capacity < tokens->ids.count) {
        tokens->counts_capacity = tokens->ids.count;
        tokens->counts = cse_realloc(tokens->counts, tokens->counts_capacity);
    }
    if (tokens->ids.count > 0)
        memset(tokens->counts, w->writer->loss_on == CSE_LOSS_ON_ALL, tokens->ids.count);
    if (w->writer->loss_on != CSE_LOSS_ON_ALL)
        for (int i = 0; i < tokens->text.span_count; i++)
            count_span(tokens, &tokens->text.spans[i]);
    if (leaves_blanks_out)
        leave_blanks_out(tokens);
    tokens->counted = 0;
    for (size_t i = 0; i < tokens->ids.count; i++)
        tokens->counted += tokens->counts[i];
}

/* ---- both kinds ---- */

static cse_status write_messages(writing *w)
{
    const cse_conversation_writer *writer = w->writer;
    if (writer->chat_template == NULL)
        return cse_fail_at(
            &(cse_error){ .status = CSE_DATA,
                          .hint = "name a file with one by chat_template, or the folder of a model "
                                  "that is made for conversations by tokenizer" },
            "it has messages, and %s has no chat template", writer->folder);
    const bool is_marked = cse_chat_template_marks_answers(writer->chat_template);
    CSE_TRY(render(w, json_array_size(w->conversation->messages), false, &w->tokens->text));
    CSE_TRY(encode(w, &w->tokens->text, &w->tokens->ids));
    if (writer->loss_on == CSE_LOSS_ON_ALL)
        w->tokens->text.span_count = 0;
    else
        CSE_TRY(is_marked ? take_marked(w) : find_answers(w));
    count_tokens(w, !is_marked && writer->loss_on != CSE_LOSS_ON_ALL);
    return CSE_OK;
}

static void add_text(cse_chat_text *text, const char *bytes, size_t size)
{
    if (text->capacity < text->length + size + 1) {
        text->capacity = 2 * (text->length + size + 1);
        text->text = cse_realloc(text->text, text->capacity);
    }
    if (size > 0)
        memcpy(text->text + text->length, bytes, size);
    text->length += size;
    text->text[text->length] = '\0';
}

/* The prompt, the completion behind it, and the end. */
static cse_status write_texts(const writing *w)
{
    const cse_conversation *c = w->conversation;
    const char *end = w->writer->end_of_text != NULL ? w->writer->end_of_text : "";
    cse_chat_text *text = &w->tokens->text;
    text->length = 0;
    text->span_count = 0;
    add_text(text, json_string_value(c->prompt), json_string_length(c->prompt));
    add_text(text, json_string_value(c->completion), json_string_length(c->completion));
    add_text(text, end, strlen(end));
    if (json_string_length(c->completion) > 0)
        cse_chat_text_add_span(text, json_string_length(c->prompt), text->length);
    CSE_TRY(encode(w, text, &w->tokens->ids));
    count_tokens(w, false);
    return CSE_OK;
}

cse_status cse_conversation_write(const cse_conversation_writer *writer,
                                  const cse_conversation *conversation,
                                  cse_conversation_tokens *tokens)
{
    writing w = { .writer = writer, .conversation = conversation, .tokens = tokens };
    if (conversation->messages == NULL)
        return write_texts(&w);
    w.variables = writer->variables != NULL ? json_copy(writer->variables) : json_object();
    if (conversation->variables != NULL)
        json_object_update(w.variables, conversation->variables);
    const cse_status status = write_messages(&w);
    json_decref(w.variables);
    return status;
}
