/* A request has prompts, each with as many choices as are asked for; they are written one after
 * another. */
#include "run/infer/completions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "run/infer/log_probabilities.h"

enum { MOST_PROMPTS = 128 };

typedef struct prompt {
    int32_t *tokens;
    int64_t count;
    json_t *text; /* for echo; NULL */
} prompt;

typedef struct answering {
    cse_text_model *model;
    const cse_completion_call *call;
    const cse_completion_sink *sink;
    cse_completion_settings *settings;
    prompt prompts[MOST_PROMPTS];
    int prompt_count;
    char id[64];
    json_int_t created;
    json_t *choices;
    int64_t prompt_tokens, tokens;
    bool began; /* an event was sent */
    /* Of the choice under way. */
    int index;
    cse_text text;
    json_t *log_probabilities;
} answering;

static bool is_chat(const answering *a)
{
    return a->call->kind == CSE_COMPLETION_OF_CHAT;
}

/* ---- what goes out ---- */

static void send_json(const answering *a, int status, json_t *json, bool is_event)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (is_event)
        a->sink->event(a->sink->self, text);
    else
        a->sink->answer(a->sink->self, status, text);
    free(text);
}

/* Message and parameter may end within a character, where they were too long. */
static json_t *error_of(int status, const char *code, const cse_completion_fault *fault)
{
    const size_t size = strlen(fault->parameter);
    return json_pack("{s:{s:o, s:s, s:o, s:s?}}", "error", "message",
                     cse_text_of_bytes(fault->message, strlen(fault->message)), "type",
                     status >= 500 ? "server_error" : "invalid_request_error", "param",
                     size > 0 ? cse_text_of_bytes(fault->parameter, size) : json_null(), "code",
                     code);
}

void cse_completion_fail(const cse_completion_sink *sink, int status, const char *code,
                         const cse_completion_fault *fault)
{
    const answering a = { .sink = sink };
    send_json(&a, status, error_of(status, code, fault), false);
}

static json_t *envelope(const answering *a, const char *of_chat, json_t *choices)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "id", a->id, "object",
                     is_chat(a) ? of_chat : "text_completion", "created", a->created, "model",
                     a->call->model_name, "choices", choices);
}

static json_t *usage_of(const answering *a)
{
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)a->prompt_tokens,
                     "completion_tokens", (json_int_t)a->tokens, "total_tokens",
                     (json_int_t)(a->prompt_tokens + a->tokens));
}

/* The log probabilities that were gathered, which are given away; null: none are asked for. */
static json_t *take_log_probabilities(answering *a)
{
    json_t *list = a->log_probabilities, *made;
    if (!a->settings->log_probabilities)
        return json_null();
    a->log_probabilities = json_array();
    if (is_chat(a))
        return json_pack("{s:o}", "content", list);
    made = cse_log_probabilities_of_text(list, a->settings->top_log_probabilities);
    json_decref(list);
    return made;
}

/* `finish`: NULL: more comes. */
static void send_piece(answering *a, const char *bytes, size_t size, const char *finish)
{
    json_t *text = cse_text_of_bytes(bytes, size);
    json_t *log_probabilities =
        finish != NULL && size == 0 ? json_null() : take_log_probabilities(a);
    json_t *piece = is_chat(a) ? finish != NULL && size == 0 ? json_object()
                                                             : json_pack("{s:O}", "content", text)
                               : json_incref(text);
    json_t *choice =
        json_pack("{s:i, s:o, s:o, s:s?}", "index", a->index, is_chat(a) ? "delta" : "text", piece,
                  "logprobs", log_probabilities, "finish_reason", finish);
    json_decref(text);
    a->began = true;
    send_json(a, 200, envelope(a, "chat.completion.chunk", json_pack("[o]", choice)), true);
}

static void send_role(answering *a)
{
    json_t *choice = json_pack("{s:i, s:{s:s, s:s}, s:n, s:n}", "index", a->index, "delta", "role",
                               "assistant", "content", "", "logprobs", "finish_reason");
    a->began = true;
    send_json(a, 200, envelope(a, "chat.completion.chunk", json_pack("[o]", choice)), true);
}

static void add_choice(answering *a, const char *finish)
{
    json_t *text = cse_text_of_bytes(a->text.data, a->text.size);
    json_t *piece =
        is_chat(a) ? json_pack("{s:s, s:O, s:n}", "role", "assistant", "content", text, "refusal")
                   : json_incref(text);
    json_array_append_new(a->choices,
                          json_pack("{s:i, s:o, s:o, s:s}", "index", a->index,
                                    is_chat(a) ? "message" : "text", piece, "logprobs",
                                    take_log_probabilities(a), "finish_reason", finish));
    json_decref(text);
}

/* ---- prompts ---- */

static bool add_tokens(answering *a, int32_t *tokens, int64_t count, json_t *text)
{
    prompt *p = &a->prompts[a->prompt_count++];
    *p = (prompt){ tokens, count, text };
    a->prompt_tokens += count;
    return count > 0;
}

static bool failed(cse_completion_fault *fault, const char *parameter)
{
    return cse_completion_refuse(fault, parameter, "%s", cse_error_message());
}

/* Parts of a message's content that are texts, one after another. */
static bool content_of(const json_t *message, json_t **content, cse_completion_fault *fault)
{
    const json_t *given = json_object_get(message, "content");
    cse_text text = { 0 };
    size_t i;
    json_t *part;
    cse_text_add(&text, "%s", "");
    json_array_foreach((json_t *)(uintptr_t)given, i, part)
    {
        const char *type = json_string_value(json_object_get(part, "type"));
        const json_t *words = json_object_get(part, "text");
        if (type == NULL || strcmp(type, "text") != 0 || !json_is_string(words)) {
            cse_text_clear(&text);
            return cse_completion_refuse(fault, "messages",
                                         "messages: a part of the type %.40s is not read here; "
                                         "accepted: text",
                                         type != NULL ? type : "?");
        }
        cse_text_add_bytes(&text, json_string_value(words), json_string_length(words));
    }
    *content = json_is_array(given) ? json_stringn_nocheck(text.data, text.size)
                                    : json_incref((json_t *)(uintptr_t)given);
    cse_text_clear(&text);
    return true;
}

static bool read_messages(answering *a, cse_completion_fault *fault)
{
    const json_t *given = json_object_get(a->call->body, "messages");
    json_t *messages = json_array(), *message, *content = NULL;
    int32_t *tokens = NULL;
    int64_t count = 0;
    size_t i;
    bool good = json_is_array(given) && json_array_size(given) > 0;
    if (!good)
        cse_completion_refuse(fault, "messages",
                              "messages: accepted is a list of at least one "
                              "{\"role\": \"user\", \"content\": \"...\"}");
    json_array_foreach((json_t *)(uintptr_t)given, i, message)
    {
        if (good && (!json_is_string(json_object_get(message, "role")) ||
                     (!json_is_string(json_object_get(message, "content")) &&
                      !json_is_array(json_object_get(message, "content")))))
            good = cse_completion_refuse(fault, "messages",
                                         "messages[%zu]: role and content are to be texts", i);
        good = good && content_of(message, &content, fault);
        if (!good)
            break;
        json_t *copy = json_copy(message);
        json_object_set_new(copy, "content", content);
        json_array_append_new(messages, copy);
    }
    if (good && cse_text_model_render(a->model, messages, &tokens, &count) != CSE_OK)
        good = failed(fault, "messages");
    json_decref(messages);
    return good && add_tokens(a, tokens, count, NULL);
}

static bool read_numbers(answering *a, const json_t *list, cse_completion_fault *fault)
{
    const size_t count = json_array_size(list);
    int32_t *tokens = cse_calloc(count + 1, sizeof *tokens);
    cse_text text = { 0 };
    bool good = true;
    cse_text_add(&text, "%s", "");
    for (size_t i = 0; i < count && good; i++) {
        const json_t *token = json_array_get(list, i);
        good = json_is_integer(token) && json_integer_value(token) >= 0 &&
               json_integer_value(token) <= INT32_MAX;
        tokens[i] = (int32_t)json_integer_value(token);
        good = good && cse_text_codec_decode(a->model->codec, tokens[i], &text) == CSE_OK;
    }
    json_t *whole = cse_text_of_bytes(text.data, text.size);
    cse_text_clear(&text);
    if (good)
        return add_tokens(a, tokens, (int64_t)count, whole);
    free(tokens);
    json_decref(whole);
    return cse_completion_refuse(fault, "prompt", "prompt: a number in it is not that of a token");
}

static bool read_prompt(answering *a, json_t *given, cse_completion_fault *fault)
{
    int32_t *tokens = NULL;
    int64_t count = 0;
    if (json_is_array(given) && json_is_integer(json_array_get(given, 0)))
        return read_numbers(a, given, fault);
    if (!json_is_string(given) || json_string_length(given) == 0)
        return cse_completion_refuse(fault, "prompt",
                                     "prompt: accepted is a text, a list of tokens, or a list of "
                                     "up to %d of these; none of them empty",
                                     MOST_PROMPTS);
    if (cse_text_codec_encode_whole(a->model->codec, json_string_value(given),
                                    json_string_length(given), &tokens, &count) != CSE_OK)
        return failed(fault, "prompt");
    return add_tokens(a, tokens, count, json_incref(given));
}

static bool read_prompts(answering *a, cse_completion_fault *fault)
{
    json_t *given = json_object_get(a->call->body, "prompt");
    const size_t count = json_array_size(given);
    if (!json_is_array(given) || json_is_integer(json_array_get(given, 0)))
        return read_prompt(a, given, fault);
    bool good = count > 0 && count <= MOST_PROMPTS;
    if (!good)
        return read_prompt(a, NULL, fault);
    for (size_t i = 0; i < count && good; i++)
        good = read_prompt(a, json_array_get(given, i), fault);
    return good;
}

/* Each prompt has place for what is asked for. */
static bool check_lengths(const answering *a, cse_completion_fault *fault)
{
    const int64_t context = a->model->context;
    for (int i = 0; i < a->prompt_count; i++) {
        const int64_t more =
            a->settings->max_tokens_given ? a->settings->generation.max_new_tokens : 1;
        if (a->prompts[i].count + more > context)
            return cse_completion_refuse(
                fault, is_chat(a) ? "messages" : "prompt",
                "This model's maximum context length is %lld tokens. However, %lld tokens were "
                "asked for (%lld of the prompt, %lld of the completion): shorten one of them",
                (long long)context, (long long)(a->prompts[i].count + more),
                (long long)a->prompts[i].count, (long long)more);
    }
    return true;
}

/* ---- texts ---- */

static bool on_token(void *self, const cse_generated_token *token)
{
    answering *a = self;
    a->tokens++;
    if (a->settings->log_probabilities)
        json_array_append_new(
            a->log_probabilities,
            cse_log_probability_json(a->model->codec, token, a->settings->top_log_probabilities));
    if (a->settings->stream && token->shown_count > 0)
        send_piece(a, token->shown, token->shown_count, NULL);
    else if (token->shown_count > 0)
        cse_text_add_bytes(&a->text, token->shown, token->shown_count);
    return a->sink->goes_on(a->sink->self);
}

static void begin_choice(answering *a, const prompt *p)
{
    a->text.size = 0;
    cse_text_add(&a->text, "%s", "");
    json_decref(a->log_probabilities);
    a->log_probabilities = json_array();
    if (a->settings->stream && is_chat(a))
        send_role(a);
    if (!a->settings->echo || p->text == NULL)
        return;
    if (a->settings->stream)
        send_piece(a, json_string_value(p->text), json_string_length(p->text), NULL);
    else
        cse_text_add_bytes(&a->text, json_string_value(p->text), json_string_length(p->text));
}

static cse_status write_choice(answering *a, const prompt *p, int number)
{
    const int64_t room = a->model->context - p->count;
    cse_generation_settings settings = a->settings->generation;
    settings.max_new_tokens = settings.max_new_tokens < room ? settings.max_new_tokens : room;
    cse_generation_result result = { .tokens = 0 };
    const cse_text_model_need need = { p->tokens, p->count, settings.max_new_tokens, false };
    CSE_TRY(cse_text_model_fit(a->model, &need));
    const cse_generation_request request = { .settings = &settings,
                                             .prompt = p->tokens,
                                             .count = p->count,
                                             .number = (uint32_t)number,
                                             .listener = on_token,
                                             .self = a };
    begin_choice(a, p);
    cse_status status = cse_generate(a->model->generation, &request, &result);
    const char *finish = result.end == CSE_GENERATION_FULL ? "length" : "stop";
    if (status == CSE_OK && a->settings->stream) {
        if (result.rest.size > 0)
            send_piece(a, result.rest.data, result.rest.size, NULL);
        send_piece(a, "", 0, finish);
    } else if (status == CSE_OK) {
        cse_text_add_bytes(&a->text, result.rest.data, result.rest.size);
        add_choice(a, finish);
    }
    cse_text_clear(&result.rest);
    return status;
}

static cse_status write_choices(answering *a)
{
    cse_status status = CSE_OK;
    const int64_t count = (int64_t)a->prompt_count * a->settings->choices;
    for (int64_t i = 0; i < count && status == CSE_OK; i++) {
        if (!a->sink->goes_on(a->sink->self))
            return CSE_OK;
        a->index = (int)i;
        status =
            write_choice(a, &a->prompts[i / a->settings->choices], (int)(i % a->settings->choices));
    }
    return status;
}

/* ---- a request ---- */

static void finish(answering *a)
{
    if (!a->settings->stream) {
        json_t *whole = envelope(a, "chat.completion", json_incref(a->choices));
        json_object_set_new(whole, "usage", usage_of(a));
        send_json(a, 200, whole, false);
    } else if (a->settings->include_usage) {
        json_t *last = envelope(a, "chat.completion.chunk", json_array());
        json_object_set_new(last, "usage", usage_of(a));
        send_json(a, 200, last, true);
    }
}

static void answer(answering *a)
{
    cse_completion_fault fault = { .message = "" };
    const bool read = is_chat(a) ? read_messages(a, &fault) : read_prompts(a, &fault);
    if (!read || !check_lengths(a, &fault)) {
        if (fault.message[0] == '\0')
            cse_completion_refuse(&fault, is_chat(a) ? "messages" : "prompt", "there is no token");
        cse_completion_fail(a->sink, 400, read ? "context_length_exceeded" : NULL, &fault);
        return;
    }
    if (write_choices(a) == CSE_OK) {
        finish(a);
        return;
    }
    cse_completion_refuse(&fault, "", "%s", cse_error_message());
    if (!a->began)
        cse_completion_fail(a->sink, 500, NULL, &fault);
    else
        send_json(a, 500, error_of(500, NULL, &fault), true);
}

void cse_completion_run(cse_text_model *model, const cse_completion_call *call,
                        const cse_completion_sink *sink)
{
    cse_completion_fault fault = { .message = "" };
    answering *a = cse_calloc(1, sizeof *a);
    cse_completion_settings *settings = cse_calloc(1, sizeof *settings);
    *a = (answering){ .model = model, .call = call, .sink = sink, .settings = settings };
    a->created = (json_int_t)time(NULL);
    snprintf(a->id, sizeof a->id, "%s-%llx%08llx", is_chat(a) ? "chatcmpl" : "cmpl",
             (unsigned long long)cse_unix_ms(), (unsigned long long)call->number);
    if (!cse_completion_settings_read(call->kind, call->body, settings, &fault)) {
        cse_completion_fail(sink, 400, NULL, &fault);
    } else {
        const cse_end_tokens *ends = is_chat(a) ? &model->turn_ends : &model->ends;
        settings->generation.ends = ends->tokens;
        settings->generation.end_count = ends->count;
        if (json_object_get(call->body, "seed") == NULL)
            settings->generation.sampling.seed =
                (uint64_t)cse_clock_ns() ^ call->number << 48; /* another one each time */
        a->choices = json_array();
        answer(a);
    }
    for (int i = 0; i < a->prompt_count; i++) {
        free(a->prompts[i].tokens);
        json_decref(a->prompts[i].text);
    }
    cse_text_clear(&a->text);
    json_decref(a->choices);
    json_decref(a->log_probabilities);
    free(settings);
    free(a);
}
