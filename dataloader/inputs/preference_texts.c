/* A line is brought to one form first: a prompt and completions that are all texts, or all lists of
 * messages. */
#include "dataloader/inputs/preference_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/formats/json_line.h"
#include "engine/base/arena.h"

enum { PROMPT = CSE_PREFERENCE_PROMPT, FIRST = CSE_PREFERENCE_FIRST };
enum { SECOND = CSE_PREFERENCE_SECOND, MEMBERS = CSE_PREFERENCE_MEMBERS };

static cse_status refuse(cse_preference_texts *texts, cse_preference_fault fault, const char *what,
                         const char *name)
{
    texts->fault = fault;
    return cse_fail(CSE_DATA, what, name);
}

static void forget(cse_preference_texts *texts)
{
    free(texts->prompt);
    texts->prompt = NULL;
    for (int c = 0; c < 2; c++) {
        free(texts->whole[c]);
        texts->whole[c] = NULL;
    }
}

void cse_preference_texts_clear(cse_preference_texts *texts)
{
    forget(texts);
    cse_chat_template_destroy(&texts->template);
    json_decref(texts->variables);
    cse_chat_text_clear(&texts->text);
    free(texts->tokenizer);
    free(texts->template_file);
    texts->variables = NULL;
}

static int completions_of(const cse_preference_texts *texts)
{
    return texts->paired ? 2 : 1;
}

static cse_status refuse_equal(cse_preference_texts *texts)
{
    return refuse(texts, CSE_PREFERENCE_EQUAL, "%s are the same text", "chosen and rejected");
}

static cse_status check_pair(cse_preference_texts *texts)
{
    return texts->paired && strcmp(texts->whole[0], texts->whole[1]) == 0 ? refuse_equal(texts)
                                                                          : CSE_OK;
}

/* ---- labels ---- */

static cse_status take_label(cse_preference_texts *texts, const char *text)
{
    static const char *const words[2][3] = { { "false", "False", "0" }, { "true", "True", "1" } };
    for (int w = 0; text != NULL && w < 6; w++)
        if (strcmp(text, words[w / 3][w % 3]) == 0) {
            texts->desirable = w / 3;
            return CSE_OK;
        }
    return refuse(texts, CSE_PREFERENCE_LABEL,
                  "\"%s\" is missing, or is neither true nor false (1 or 0)", texts->names[SECOND]);
}

static cse_status take_json_label(cse_preference_texts *texts, const json_t *value)
{
    int32_t number;
    if (json_is_boolean(value))
        return take_label(texts, json_is_true(value) ? "true" : "false");
    if (value != NULL && cse_json_int32(value, &number))
        return take_label(texts, number == 1 ? "1" : number == 0 ? "0" : NULL);
    return take_label(texts, json_string_value(value));
}

/* ---- texts ---- */

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), length = strlen(end);
    return size >= length && strcmp(text + size - length, end) == 0;
}

static cse_status take_texts(cse_preference_texts *texts, const char *prompt,
                             const char *const completions[])
{
    texts->is_chat = false;
    texts->prompt = cse_strdup(prompt);
    for (int c = 0; c < completions_of(texts); c++) {
        cse_text whole = { 0 };
        if (completions[c][0] == '\0')
            return refuse(texts, CSE_PREFERENCE_EMPTY, "\"%s\" is empty", texts->names[FIRST + c]);
        const bool ends = texts->end == NULL || ends_with(completions[c], texts->end);
        cse_text_add(&whole, "%s%s%s", prompt, completions[c], ends ? "" : texts->end);
        texts->whole[c] = whole.data;
    }
    return check_pair(texts);
}

/* What two texts begin with, without the blank before the first difference and within no
 * character. */
static size_t shared_bytes(const char *one, const char *other)
{
    size_t shared = 0;
    while (one[shared] != '\0' && one[shared] == other[shared])
        shared++;
    while (shared > 0 && ((unsigned char)one[shared] & 0xc0) == 0x80)
        shared--;
    return shared > 0 && one[shared - 1] == ' ' ? shared - 1 : shared;
}

static cse_status take_text_values(cse_preference_texts *texts, const json_t *const values[])
{
    const char *completions[2] = { json_string_value(values[FIRST]),
                                   texts->paired ? json_string_value(values[SECOND]) : "" };
    if (values[PROMPT] != NULL)
        return take_texts(texts, json_string_value(values[PROMPT]), completions);
    if (strcmp(completions[0], completions[1]) == 0)
        return refuse_equal(texts);
    const size_t shared = shared_bytes(completions[0], completions[1]);
    char *prompt = strndup(completions[0], shared);
    completions[0] += shared;
    completions[1] += shared;
    cse_status status = take_texts(texts, prompt, completions);
    free(prompt);
    return status;
}

/* ---- conversations ---- */

static cse_status open_template(cse_preference_texts *texts)
{
    cse_status status = texts->template_file != NULL
                            ? cse_chat_template_of_file(texts->template_file, texts->tokenizer,
                                                        &texts->template, &texts->variables)
                            : cse_chat_template_of_model(texts->tokenizer, NULL, &texts->template,
                                                         &texts->variables);
    return status == CSE_NO_INPUT
               ? cse_fail(CSE_CONFIG,
                          "data loader: the samples are conversations, which become text by a chat "
                          "template: %s; give chat_template, a file",
                          cse_error_message())
               : status;
}

/* The text of messages and more messages; free(). */
static cse_status render(cse_preference_texts *texts, const json_t *messages, const json_t *more,
                         char **text)
{
    json_t *all = json_copy((json_t *)(uintptr_t)messages);
    json_array_extend(all, (json_t *)(uintptr_t)more);
    const cse_chat_request request = { .messages = all,
                                       .variables = texts->variables,
                                       .add_generation_prompt = more == NULL };
    cse_status status = cse_chat_template_render(texts->template, &request, &texts->text);
    json_decref(all);
    if (status == CSE_OK)
        *text = cse_strdup(texts->text.text);
    return status;
}

static cse_status take_messages(cse_preference_texts *texts, const json_t *prompt,
                                const json_t *const completions[])
{
    texts->is_chat = true;
    texts->fault = CSE_PREFERENCE_TEMPLATE;
    if (texts->template == NULL)
        CSE_TRY(open_template(texts));
    CSE_TRY(render(texts, prompt, NULL, &texts->prompt));
    for (int c = 0; c < completions_of(texts); c++) {
        if (json_array_size(completions[c]) == 0)
            return refuse(texts, CSE_PREFERENCE_EMPTY, "\"%s\" is empty", texts->names[FIRST + c]);
        CSE_TRY(render(texts, prompt, completions[c], &texts->whole[c]));
    }
    return check_pair(texts);
}

/* The messages from place `first` on; json_decref. */
static json_t *messages_from(const json_t *list, size_t first, size_t end)
{
    json_t *part = json_array();
    for (size_t i = first; i < end; i++)
        json_array_append(part, json_array_get(list, i));
    return part;
}

static cse_status take_message_values(cse_preference_texts *texts, const json_t *const values[])
{
    if (values[PROMPT] != NULL)
        return take_messages(texts, values[PROMPT], &values[FIRST]);
    const json_t *one = values[FIRST], *other = values[SECOND];
    if (json_equal(one, other))
        return refuse_equal(texts);
    size_t shared = 0;
    while (shared < json_array_size(one) &&
           json_equal(json_array_get(one, shared), json_array_get(other, shared)))
        shared++;
    json_t *parts[MEMBERS] = { messages_from(one, 0, shared),
                               messages_from(one, shared, json_array_size(one)),
                               messages_from(other, shared, json_array_size(other)) };
    cse_status status =
        take_messages(texts, parts[PROMPT], (const json_t *const *)(void *)&parts[FIRST]);
    for (int m = 0; m < MEMBERS; m++)
        json_decref(parts[m]);
    return status;
}

/* ---- a line ---- */

static cse_status check_value(cse_preference_texts *texts, const json_t *value, const char *name)
{
    if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
        return refuse(texts, CSE_PREFERENCE_MEMBER, "member \"%s\" has a character zero", name);
    return json_is_string(value) || json_is_array(value)
               ? CSE_OK
               : refuse(texts, CSE_PREFERENCE_MEMBER,
                        "it has neither a text nor a list of messages in member \"%s\"", name);
}

cse_status cse_preference_texts_take(cse_preference_texts *texts, const json_t *line)
{
    const json_t *values[MEMBERS] = { NULL };
    const int last = texts->paired ? SECOND : FIRST;
    forget(texts);
    for (int m = 0; m <= last; m++) {
        values[m] = json_object_get(line, texts->names[m]);
        if (m == PROMPT && values[m] == NULL && texts->paired)
            continue;
        CSE_TRY(check_value(texts, values[m], texts->names[m]));
        if (m > FIRST - (values[PROMPT] != NULL) &&
            json_is_array(values[m]) != json_is_array(values[m - 1]))
            return refuse(texts, CSE_PREFERENCE_MEMBER,
                          "member \"%s\" is of another kind than the one before it: accepted are "
                          "texts, or lists of messages in all",
                          texts->names[m]);
    }
    if (!texts->paired)
        CSE_TRY(take_json_label(texts, json_object_get(line, texts->names[SECOND])));
    return json_is_array(values[FIRST]) ? take_message_values(texts, values)
                                        : take_text_values(texts, values);
}

cse_status cse_preference_texts_take_fields(cse_preference_texts *texts, char *const fields[])
{
    forget(texts);
    if (!texts->paired)
        CSE_TRY(take_label(texts, fields[SECOND]));
    return take_texts(texts, fields[PROMPT], (const char *const *)&fields[FIRST]);
}
