/* Rows of all forms become messages; see conversation.h. */
#include "dataloader/conversations/conversation.h"

#include <string.h>

static const char *const format_names[] = { "auto", "messages", "sharegpt", "alpaca",
                                            "prompt_completion" };

cse_conversation_format cse_conversation_format_of(const char *name)
{
    int format = 0;
    for (int i = 0; i < 5; i++)
        if (strcmp(format_names[i], name) == 0)
            format = i;
    return (cse_conversation_format)format;
}

void cse_conversation_clear(cse_conversation *conversation)
{
    json_decref(conversation->messages);
    json_decref(conversation->variables);
    json_decref(conversation->prompt);
    json_decref(conversation->completion);
    *conversation = (cse_conversation){ 0 };
}

bool cse_conversation_is_answer(const json_t *message)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    return role != NULL && (strcmp(role, "assistant") == 0 || strcmp(role, "model") == 0);
}

/* ---- messages ---- */

/* Names of roles in data, and what they are called by templates. */
static const char *role_of(const char *from)
{
    static const struct {
        const char *from, *role;
    } roles[] = {
        { "human", "user" },
        { "user", "user" },
        { "gpt", "assistant" },
        { "chatgpt", "assistant" },
        { "assistant", "assistant" },
        { "model", "assistant" },
        { "bot", "assistant" },
        { "system", "system" },
        { "tool", "tool" },
        { "observation", "tool" },
        { "function_response", "tool" },
        { "function_call", "function_call" },
    };
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(roles[i].from, from) == 0)
            return roles[i].role;
    return NULL;
}

static json_t *message_of(const char *role, json_t *content)
{
    return json_pack("{s:s, s:O}", "role", role, "content", content);
}

/* {"name": ..., "arguments": ...}, or a list of such, in a text. */
static cse_status calls_of(const json_t *value, json_t **message)
{
    size_t i;
    json_t *call, *all, *calls = json_array();
    json_t *said = json_loads(json_string_value(value), 0, NULL);
    all = json_is_object(said) ? json_pack("[O]", said) : json_incref(said);
    bool is_right = json_array_size(all) > 0;
    json_array_foreach(all, i, call)
    {
        is_right = is_right && json_is_string(json_object_get(call, "name"));
        json_array_append_new(calls, json_pack("{s:s, s:O}", "type", "function", "function", call));
    }
    *message =
        json_pack("{s:s, s:s, s:o}", "role", "assistant", "content", "", "tool_calls", calls);
    json_decref(said);
    json_decref(all);
    return is_right ? CSE_OK
                    : cse_fail(CSE_DATA, "a function_call is no JSON of the form {\"name\": ..., "
                                         "\"arguments\": ...}");
}

/* {"from": ..., "value": ...} */
static cse_status of_sharegpt(const json_t *entry, json_t **message)
{
    json_t *value = json_object_get(entry, "value");
    const char *from = json_string_value(json_object_get(entry, "from"));
    const char *role = from != NULL ? role_of(from) : NULL;
    if (!json_is_string(value))
        return cse_fail(CSE_DATA, "it has no text in member \"value\"");
    if (role == NULL)
        return cse_fail(CSE_DATA,
                        "its member \"from\" is \"%.60s\": accepted are human, user, gpt, chatgpt, "
                        "assistant, model, bot, system, tool, observation, function_response and "
                        "function_call",
                        from != NULL ? from : "(no text)");
    if (strcmp(role, "function_call") == 0)
        return calls_of(value, message);
    *message = message_of(role, value);
    return CSE_OK;
}

static cse_status of_message(const json_t *entry, json_t **message)
{
    const json_t *content = json_object_get(entry, "content");
    if (json_object_get(entry, "role") == NULL && json_object_get(entry, "from") != NULL)
        return of_sharegpt(entry, message);
    if (!json_is_string(json_object_get(entry, "role")))
        return cse_fail(CSE_DATA, "it is no object with a text in member \"role\"");
    if (!json_is_string(content) && !json_is_array(content) &&
        json_array_size(json_object_get(entry, "tool_calls")) == 0)
        return cse_fail(CSE_DATA, "its member \"content\" is no text and no list of parts");
    *message = json_deep_copy(entry);
    return CSE_OK;
}

cse_status cse_conversation_messages(const json_t *list, const char *member, json_t **messages)
{
    size_t i;
    json_t *entry;
    *messages = json_array();
    if (!json_is_array(list))
        return cse_fail(CSE_DATA, "member \"%s\" is no list of messages", member);
    json_array_foreach(list, i, entry)
    {
        json_t *message = NULL;
        const cse_status status = of_message(entry, &message);
        if (message != NULL)
            json_array_append_new(*messages, message);
        if (status != CSE_OK)
            return cse_fail_within(status, "member \"%s\", message %zu: ", member, i + 1);
    }
    return CSE_OK;
}

/* ---- what a row has besides ---- */

static void add_system(const json_t *row, json_t *messages)
{
    json_t *system = json_object_get(row, "system");
    const char *first = json_string_value(json_object_get(json_array_get(messages, 0), "role"));
    if (json_string_length(system) > 0 && (first == NULL || strcmp(first, "system") != 0))
        json_array_insert_new(messages, 0, message_of("system", system));
}

/* tools and documents: lists, or lists as texts. */
static cse_status take_variables(const json_t *row, json_t **variables)
{
    static const char *const names[] = { "tools", "documents" };
    *variables = json_object();
    for (int i = 0; i < 2; i++) {
        json_t *given = json_object_get(row, names[i]);
        const bool is_empty = given == NULL || json_is_null(given) ||
                              (json_is_string(given) && json_string_length(given) == 0);
        if (is_empty)
            continue;
        json_t *list = json_is_string(given) ? json_loads(json_string_value(given), 0, NULL)
                                             : json_incref(given);
        const bool is_list = json_is_array(list);
        if (is_list && json_array_size(list) > 0)
            json_object_set(*variables, names[i], list);
        json_decref(list);
        if (!is_list)
            return cse_fail(CSE_DATA, "member \"%s\" is no list", names[i]);
    }
    return CSE_OK;
}

/* ---- forms ---- */

static cse_status take_messages(const json_t *row, const char *member, cse_conversation *c)
{
    CSE_TRY(cse_conversation_messages(json_object_get(row, member), member, &c->messages));
    add_system(row, c->messages);
    return take_variables(row, &c->variables);
}

static cse_status append_text(json_t *messages, const char *role, json_t *text, const char *member)
{
    if (!json_is_string(text))
        return cse_fail(CSE_DATA, "it has no text in member \"%s\"", member);
    json_array_append_new(messages, message_of(role, text));
    return CSE_OK;
}

static cse_status take_history(const json_t *history, json_t *messages)
{
    size_t i;
    json_t *turn;
    if (history == NULL || json_is_null(history))
        return CSE_OK;
    if (!json_is_array(history))
        return cse_fail(CSE_DATA, "member \"history\" is no list of [question, answer]");
    json_array_foreach(history, i, turn)
    {
        CSE_TRY(append_text(messages, "user", json_array_get(turn, 0), "history"));
        CSE_TRY(append_text(messages, "assistant", json_array_get(turn, 1), "history"));
    }
    return CSE_OK;
}

/* The question is the instruction, and the input behind it on a line of its own. */
static cse_status take_alpaca(const json_t *row, cse_conversation *c)
{
    json_t *instruction = json_object_get(row, "instruction"),
           *input = json_object_get(row, "input");
    c->messages = json_array();
    add_system(row, c->messages);
    CSE_TRY(take_history(json_object_get(row, "history"), c->messages));
    if (input != NULL && !json_is_null(input) && !json_is_string(input))
        return cse_fail(CSE_DATA, "member \"input\" is no text");
    if (!json_is_string(instruction))
        return cse_fail(CSE_DATA, "it has no text in member \"instruction\"");
    json_t *question =
        json_string_length(input) > 0
            ? json_sprintf("%s\n%s", json_string_value(instruction), json_string_value(input))
            : json_incref(instruction);
    json_array_append_new(c->messages, message_of("user", question));
    json_decref(question);
    CSE_TRY(append_text(c->messages, "assistant", json_object_get(row, "output"), "output"));
    return take_variables(row, &c->variables);
}

static cse_status take_prompt(const json_t *row, cse_conversation *c)
{
    json_t *prompt = json_object_get(row, "prompt"), *answers = NULL;
    json_t *completion = json_object_get(row, "completion");
    if (json_is_string(prompt) && json_is_string(completion)) {
        c->prompt = json_incref(prompt);
        c->completion = json_incref(completion);
        return CSE_OK;
    }
    if (!json_is_array(prompt) || !json_is_array(completion))
        return cse_fail(CSE_DATA, "members \"prompt\" and \"completion\" are neither two texts nor "
                                  "two lists of messages");
    CSE_TRY(cse_conversation_messages(prompt, "prompt", &c->messages));
    c->first_answer = json_array_size(c->messages);
    const cse_status status = cse_conversation_messages(completion, "completion", &answers);
    json_array_extend(c->messages, answers);
    json_decref(answers);
    CSE_TRY(status);
    return take_variables(row, &c->variables);
}

static cse_conversation_format format_of_row(const json_t *row)
{
    static const struct {
        const char *member;
        cse_conversation_format format;
    } marks[] = { { "messages", CSE_CONVERSATION_MESSAGES },
                  { "conversations", CSE_CONVERSATION_SHAREGPT },
                  { "instruction", CSE_CONVERSATION_ALPACA },
                  { "completion", CSE_CONVERSATION_PROMPT_COMPLETION } };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const json_t *member = json_object_get(row, marks[i].member);
        if (member != NULL && !json_is_null(member))
            return marks[i].format;
    }
    return CSE_CONVERSATION_AUTO;
}

cse_status cse_conversation_of_row(const json_t *row, cse_conversation_format format,
                                   cse_conversation *conversation)
{
    *conversation = (cse_conversation){ 0 };
    if (format == CSE_CONVERSATION_AUTO)
        format = format_of_row(row);
    switch (format) {
    case CSE_CONVERSATION_MESSAGES:
        return take_messages(row, "messages", conversation);
    case CSE_CONVERSATION_SHAREGPT:
        return take_messages(row, "conversations", conversation);
    case CSE_CONVERSATION_ALPACA:
        return take_alpaca(row, conversation);
    case CSE_CONVERSATION_PROMPT_COMPLETION:
        return take_prompt(row, conversation);
    default:
        return cse_fail(CSE_DATA,
                        "it is no conversation: accepted are rows with \"messages\", with "
                        "\"conversations\", with \"instruction\" and \"output\", and with "
                        "\"prompt\" and \"completion\"");
    }
}
