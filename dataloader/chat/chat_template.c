/* A template from its text to the text of a conversation; see chat_template.h. */
#include "dataloader/chat/chat_template.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/parser.h"
#include "dataloader/chat/run.h"

struct cse_chat_template {
    cse_arena *arena;
    const char *source;
    cse_jinja_nodes body;
    bool marks_answers;
};

cse_status cse_chat_template_parse(const char *text, size_t length, const char *source,
                                   cse_chat_template **template)
{
    cse_jinja_tokens tokens;
    cse_arena *arena = cse_arena_new();
    cse_jinja_parser parser = { .arena = arena, .source = cse_arena_string(arena, source) };
    cse_jinja_nodes body = { 0 };
    *template = NULL;
    cse_status status = length <= CSE_CHAT_TEMPLATE_MOST_BYTES
                            ? cse_jinja_lex(arena, parser.source, text, length, &tokens)
                            : cse_fail(CSE_DATA, "%s: a chat template of more than %d bytes",
                                       source, CSE_CHAT_TEMPLATE_MOST_BYTES);
    if (status == CSE_OK) {
        parser.at = tokens.tokens;
        status = cse_jinja_parse(&parser, &body);
    }
    if (status != CSE_OK) {
        cse_arena_destroy(&arena);
        return status;
    }
    *template = cse_arena_alloc(arena, sizeof **template);
    **template = (cse_chat_template){ arena, parser.source, body, parser.marks_answers };
    return CSE_OK;
}

void cse_chat_template_destroy(cse_chat_template **template)
{
    if (*template != NULL) {
        cse_arena *arena = (*template)->arena;
        cse_arena_destroy(&arena);
    }
    *template = NULL;
}

bool cse_chat_template_marks_answers(const cse_chat_template *template)
{
    return template->marks_answers;
}

const char *cse_chat_template_source_view(const cse_chat_template *template)
{
    return template->source;
}

/* ---- what a template sees ---- */

/* Without members that are null, and with the reasoning under each of its names. */
static cse_jinja_value message_value(cse_arena *arena, const json_t *message)
{
    static const char *const names[] = { "reasoning_content", "thinking", "reasoning" };
    const char *key;
    json_t *member, *reasoning = NULL;
    if (!json_is_object(message))
        return cse_jinja_of_json(arena, message);
    for (int i = 0; i < 3 && (reasoning == NULL || json_is_null(reasoning)); i++)
        reasoning = json_object_get(message, names[i]);
    cse_jinja_value value = cse_jinja_dict_new(arena, CSE_JINJA_DICT);
    const bool has_reasoning = reasoning != NULL && !json_is_null(reasoning);
    if (has_reasoning)
        cse_jinja_dict_set(arena, value.dict, cse_jinja_word("thinking"),
                           cse_jinja_of_json(arena, reasoning));
    json_object_foreach((json_t *)(uintptr_t)message, key, member) if (!json_is_null(member))
        cse_jinja_dict_set(arena, value.dict, cse_jinja_word(key),
                           cse_jinja_of_json(arena, member));
    if (has_reasoning)
        cse_jinja_dict_set(arena, value.dict, cse_jinja_word("reasoning_content"),
                           cse_jinja_of_json(arena, reasoning));
    return value;
}

static void set_variables(cse_jinja_run *run, const cse_chat_request *request)
{
    size_t i;
    const char *key;
    json_t *member;
    cse_jinja_dict *names = run->frame->names.dict;
    cse_jinja_value messages = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0);
    json_array_foreach(request->messages, i, member)
        cse_jinja_list_add(run->arena, messages.list, message_value(run->arena, member));
    cse_jinja_dict_set(run->arena, names, cse_jinja_word("messages"), messages);
    cse_jinja_dict_set(run->arena, names, cse_jinja_word("tools"), cse_jinja_none());
    cse_jinja_dict_set(run->arena, names, cse_jinja_word("documents"), cse_jinja_none());
    cse_jinja_dict_set(run->arena, names, cse_jinja_word("add_generation_prompt"),
                       cse_jinja_boolean(request->add_generation_prompt));
    json_object_foreach((json_t *)(uintptr_t)request->variables, key, member) cse_jinja_dict_set(
        run->arena, names, cse_jinja_word(key), cse_jinja_of_json(run->arena, member));
}

static cse_status render(cse_jinja_run *run, const cse_chat_template *template,
                         const cse_chat_request *request)
{
    cse_jinja_frame frame = { .names = cse_jinja_dict_new(run->arena, CSE_JINJA_DICT) };
    if (!json_is_array(request->messages))
        return cse_fail(CSE_DATA, "messages are no list");
    run->frame = &frame;
    set_variables(run, request);
    return cse_jinja_render(run, &template->body);
}

cse_status cse_chat_template_render(const cse_chat_template *template,
                                    const cse_chat_request *request, cse_chat_text *text)
{
    cse_text out = { text->text, 0, text->capacity };
    cse_jinja_run run = { .arena = cse_arena_new(),
                          .source = template->source,
                          .out = &out,
                          .whole = &out,
                          .text = text,
                          .now = request->now };
    text->span_count = 0;
    text->spans_lost = false;
    cse_text_add(&out, "%s", "");
    const cse_status status = render(&run, template, request);
    text->text = out.data;
    text->length = status == CSE_OK ? out.size : 0;
    text->capacity = out.capacity;
    text->text[text->length] = '\0';
    cse_arena_destroy(&run.arena);
    return status;
}
