/* A request has prompts, each with as many choices as are asked for. */
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

/* A text of the answer. */
typedef struct text_choice {
    cse_completion *of;
    int index;
    bool opened; /* what stands before its first token was sent */
    cse_text text;
    json_t *log_probabilities; /* of tokens that were not sent */
    cse_generation_settings settings;
    cse_generation_request request;
    cse_generation_result result;
} text_choice;

struct cse_completion {
    cse_text_model *model;
    cse_completion_call call;
    cse_completion_sink sink;
    cse_completion_settings *settings;
    prompt prompts[MOST_PROMPTS];
    int prompt_count;
    char id[64];
    json_int_t created;
    json_t *choices; /* that are whole, by index */
    int64_t prompt_tokens, tokens;
    bool began; /* an event was sent */
    bool answered;
    text_choice **texts; /* [count] */
    int count, next, under_way;
};

static bool is_chat(const cse_completion *a)
{
    return a->call.kind == CSE_COMPLETION_OF_CHAT;
}

/* ---- what goes out ---- */

static void send_json(const cse_completion *a, int status, json_t *json, bool is_event)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (is_event)
        a->sink.event(a->sink.self, text);
    else
        a->sink.answer(a->sink.self, status, text);
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
    const cse_completion a = { .sink = *sink };
    send_json(&a, status, error_of(status, code, fault), false);
}

static json_t *envelope(const cse_completion *a, const char *of_chat, json_t *choices)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "id", a->id, "object",
                     is_chat(a) ? of_chat : "text_completion", "created", a->created, "model",
                     a->call.model_name, "choices", choices);
}

static json_t *usage_of(const cse_completion *a)
{
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)a->prompt_tokens,
                     "completion_tokens", (json_int_t)a->tokens, "total_tokens",
                     (json_int_t)(a->prompt_tokens + a->tokens));
}

/* The log probabilities that were gathered, which are given away; null: none are asked for. */
static json_t *take_log_probabilities(text_choice *c)
{
    const cse_completion *a = c->of;
    json_t *list = c->log_probabilities, *made;
    if (!a->settings->log_probabilities)
        return json_null();
    c->log_probabilities = json_array();
    if (is_chat(a))
        return json_pack("{s:o}", "content", list);
    made = cse_log_probabilities_of_text(list, a->settings->top_log_probabilities);
    json_decref(list);
    return made;
}

/* `finish`: NULL: more comes. */
static void send_piece(text_choice *c, const char *bytes, size_t size, const char *finish)
{
    cse_completion *a = c->of;
    json_t *text = cse_text_of_bytes(bytes, size);
    json_t *log_probabilities =
        finish != NULL && size == 0 ? json_null() : take_log_probabilities(c);
    json_t *piece = is_chat(a) ? finish != NULL && size == 0 ? json_object()
                                                             : json_pack("{s:O}", "content", text)
                               : json_incref(text);
    json_t *choice =
        json_pack("{s:i, s:o, s:o, s:s?}", "index", c->index, is_chat(a) ? "delta" : "text", piece,
                  "logprobs", log_probabilities, "finish_reason", finish);
    json_decref(text);
    a->began = true;
    send_json(a, 200, envelope(a, "chat.completion.chunk", json_pack("[o]", choice)), true);
}

static void send_role(const text_choice *c)
{
    cse_completion *a = c->of;
    json_t *choice = json_pack("{s:i, s:{s:s, s:s}, s:n, s:n}", "index", c->index, "delta", "role",
                               "assistant", "content", "", "logprobs", "finish_reason");
    a->began = true;
    send_json(a, 200, envelope(a, "chat.completion.chunk", json_pack("[o]", choice)), true);
}

static void add_choice(text_choice *c, const char *finish)
{
    const cse_completion *a = c->of;
    json_t *text = cse_text_of_bytes(c->text.data, c->text.size);
    json_t *piece =
        is_chat(a) ? json_pack("{s:s, s:O, s:n}", "role", "assistant", "content", text, "refusal")
                   : json_incref(text);
    json_array_set_new(a->choices, (size_t)c->index,
                       json_pack("{s:i, s:o, s:o, s:s}", "index", c->index,
                                 is_chat(a) ? "message" : "text", piece, "logprobs",
                                 take_log_probabilities(c), "finish_reason", finish));
    json_decref(text);
}

/* ---- prompts ---- */

static bool add_tokens(cse_completion *a, int32_t *tokens, int64_t count, json_t *text)
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

static bool read_messages(cse_completion *a, cse_completion_fault *fault)
{
    const json_t *given = json_object_get(a->call.body, "messages");
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

static bool read_numbers(cse_completion *a, const json_t *list, cse_completion_fault *fault)
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

static bool read_prompt(cse_completion *a, json_t *given, cse_completion_fault *fault)
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

static bool read_prompts(cse_completion *a, cse_completion_fault *fault)
{
    json_t *given = json_object_get(a->call.body, "prompt");
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
static bool check_lengths(const cse_completion *a, cse_completion_fault *fault)
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

/* What stands before the first token: the role, and a prompt that is to be shown. */
static void open_choice(text_choice *c)
{
    const cse_completion *a = c->of;
    const prompt *p = &a->prompts[c->index / a->settings->choices];
    if (c->opened)
        return;
    c->opened = true;
    if (a->settings->stream && is_chat(a))
        send_role(c);
    if (!a->settings->echo || p->text == NULL)
        return;
    if (a->settings->stream)
        send_piece(c, json_string_value(p->text), json_string_length(p->text), NULL);
    else
        cse_text_add_bytes(&c->text, json_string_value(p->text), json_string_length(p->text));
}

static bool on_token(void *self, const cse_generated_token *token)
{
    text_choice *c = self;
    cse_completion *a = c->of;
    if (a->answered || !a->sink.goes_on(a->sink.self))
        return false;
    open_choice(c);
    a->tokens++;
    if (a->settings->log_probabilities)
        json_array_append_new(
            c->log_probabilities,
            cse_log_probability_json(a->model->codec, token, a->settings->top_log_probabilities));
    if (a->settings->stream && token->shown_count > 0)
        send_piece(c, token->shown, token->shown_count, NULL);
    else if (token->shown_count > 0)
        cse_text_add_bytes(&c->text, token->shown, token->shown_count);
    return true;
}

static void close_choice(cse_completion *a, int index)
{
    text_choice *c = a->texts[index];
    a->texts[index] = NULL;
    if (c == NULL)
        return;
    cse_text_clear(&c->text);
    cse_text_clear(&c->result.rest);
    json_decref(c->log_probabilities);
    free(c);
}

static void send_end(text_choice *c)
{
    const char *finish = c->result.end == CSE_GENERATION_FULL ? "length" : "stop";
    open_choice(c);
    if (!c->of->settings->stream) {
        cse_text_add_bytes(&c->text, c->result.rest.data, c->result.rest.size);
        add_choice(c, finish);
        return;
    }
    if (c->result.rest.size > 0)
        send_piece(c, c->result.rest.data, c->result.rest.size, NULL);
    send_piece(c, "", 0, finish);
}

static void on_over(void *self)
{
    text_choice *c = self;
    cse_completion *a = c->of;
    if (!a->answered && c->result.end != CSE_GENERATION_LEFT)
        send_end(c);
    a->under_way--;
    close_choice(a, c->index);
}

static bool rests(void *self)
{
    const cse_completion *a = ((const text_choice *)self)->of;
    return a->sink.rests != NULL && a->sink.rests(a->sink.self);
}

bool cse_completion_next(cse_completion *a, cse_text_model_need *need)
{
    if (a->next < a->count && !a->sink.goes_on(a->sink.self))
        a->next = a->count;
    if (a->next == a->count)
        return false;
    const prompt *p = &a->prompts[a->next / a->settings->choices];
    const int64_t room = a->model->context - p->count,
                  most = a->settings->generation.max_new_tokens;
    *need = (cse_text_model_need){ p->tokens, p->count, most < room ? most : room, false };
    return true;
}

static text_choice *new_choice(cse_completion *a, const cse_text_model_need *need)
{
    text_choice *c = cse_calloc(1, sizeof *c);
    c->of = a;
    c->index = a->next;
    cse_text_add(&c->text, "%s", "");
    c->log_probabilities = json_array();
    c->settings = a->settings->generation;
    c->settings.max_new_tokens = need->max_new_tokens;
    c->request = (cse_generation_request){ .settings = &c->settings,
                                           .prompt = need->prompt,
                                           .count = need->count,
                                           .number = (uint32_t)(a->next % a->settings->choices),
                                           .listener = on_token,
                                           .self = c };
    return c;
}

cse_status cse_completion_begin(cse_completion *a, cse_texts_together *together, bool *begun)
{
    cse_text_model_need need;
    const int index = a->next;
    *begun = false;
    if (!cse_completion_next(a, &need))
        return CSE_OK;
    text_choice *c = a->texts[index] = new_choice(a, &need);
    const cse_text_together text = {
        .request = &c->request, .result = &c->result, .over = on_over, .rests = rests, .self = c
    };
    a->under_way++; /* until it is over, which it may be at once */
    const cse_status status = cse_texts_together_begin(together, &text, begun);
    if (*begun && status == CSE_OK) {
        a->next++;
        return CSE_OK;
    }
    a->under_way--;
    close_choice(a, index);
    return status;
}

int cse_completion_under_way(const cse_completion *a)
{
    return a->under_way;
}

/* ---- a request ---- */

static void finish(cse_completion *a)
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

bool cse_completion_is_over(cse_completion *a)
{
    cse_text_model_need need;
    if (a->under_way > 0 || cse_completion_next(a, &need))
        return false;
    if (!a->answered && a->sink.goes_on(a->sink.self))
        finish(a);
    a->answered = true;
    return true;
}

void cse_completion_give_up(cse_completion *a, bool lost)
{
    cse_completion_fault fault = { .message = "" };
    cse_completion_refuse(&fault, "", "%s", cse_error_message());
    if (!a->answered && !a->began)
        cse_completion_fail(&a->sink, 500, NULL, &fault);
    else if (!a->answered)
        send_json(a, 500, error_of(500, NULL, &fault), true);
    a->answered = true;
    a->next = a->count;
    a->under_way = lost ? 0 : a->under_way;
}

static void refuse(cse_completion *a, const char *code, const cse_completion_fault *fault)
{
    cse_completion_fail(&a->sink, 400, code, fault);
    a->answered = true;
}

/* False: it is answered. */
static bool read_request(cse_completion *a)
{
    cse_completion_fault fault = { .message = "" };
    if (!cse_completion_settings_read(a->call.kind, a->call.body, a->settings, &fault)) {
        refuse(a, NULL, &fault);
        return false;
    }
    const bool read = is_chat(a) ? read_messages(a, &fault) : read_prompts(a, &fault);
    if (read && check_lengths(a, &fault))
        return true;
    if (fault.message[0] == '\0')
        cse_completion_refuse(&fault, is_chat(a) ? "messages" : "prompt", "there is no token");
    refuse(a, read ? "context_length_exceeded" : NULL, &fault);
    return false;
}

cse_completion *cse_completion_new(cse_text_model *model, const cse_completion_call *call,
                                   const cse_completion_sink *sink)
{
    cse_completion *a = cse_calloc(1, sizeof *a);
    cse_completion_settings *settings = cse_calloc(1, sizeof *settings);
    *a = (cse_completion){ .model = model, .call = *call, .sink = *sink, .settings = settings };
    a->created = (json_int_t)time(NULL);
    snprintf(a->id, sizeof a->id, "%s-%llx%08llx", is_chat(a) ? "chatcmpl" : "cmpl",
             (unsigned long long)cse_unix_ms(), (unsigned long long)call->number);
    a->choices = json_array();
    if (!read_request(a))
        return a;
    const cse_end_tokens *ends = is_chat(a) ? &model->turn_ends : &model->ends;
    settings->generation.ends = ends->tokens;
    settings->generation.end_count = ends->count;
    if (json_object_get(call->body, "seed") == NULL)
        settings->generation.sampling.seed =
            (uint64_t)cse_clock_ns() ^ call->number << 48; /* another one each time */
    a->count = a->prompt_count * settings->choices;
    a->texts = cse_calloc((size_t)a->count + 1, sizeof(text_choice *));
    for (int i = 0; i < a->count; i++)
        json_array_append_new(a->choices, json_null());
    return a;
}

void cse_completion_destroy(cse_completion **completion)
{
    cse_completion *a = *completion;
    *completion = NULL;
    if (a == NULL)
        return;
    for (int i = 0; i < a->count; i++)
        close_choice(a, i);
    for (int i = 0; i < a->prompt_count; i++) {
        free(a->prompts[i].tokens);
        json_decref(a->prompts[i].text);
    }
    json_decref(a->choices);
    free(a->texts);
    free(a->settings);
    free(a);
}
