/* A chat template is either refused with a message or renders messages, or refuses them with one.
 * The input is the template, a line "%%", and the messages as JSON; without one there are none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/chat_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void render(const cse_chat_template *template, const char *rest, size_t size)
{
    const struct tm day = { .tm_year = 126, .tm_mday = 2 };
    json_t *whole = json_loadb(rest, size, 0, NULL);
    json_t *messages =
        json_is_array(whole) ? json_incref(whole) : json_incref(json_object_get(whole, "messages"));
    if (!json_is_array(messages)) {
        json_decref(messages);
        messages = json_array();
    }
    cse_chat_request request = { messages, json_is_object(whole) ? whole : NULL, true, &day };
    cse_chat_text text = { 0 };
    for (int i = 0; i < 2; i++) {
        if (cse_chat_template_render(template, &request, &text) != CSE_OK &&
            *cse_error_message() == '\0')
            abort();
        for (int j = 0; j < text.span_count; j++)
            if (text.spans[j].begin > text.spans[j].end ||
                (text.length > 0 && text.spans[j].end > text.length))
                abort();
        request.add_generation_prompt = false;
        request.now = NULL;
    }
    cse_chat_text_clear(&text);
    json_decref(messages);
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n%%\n";
    const char *text = (const char *)data, *end = memmem(data, size, mark, sizeof mark - 1);
    const char *rest = end != NULL ? end + sizeof mark - 1 : text + size;
    cse_chat_template *template;
    if (cse_chat_template_parse(text, end != NULL ? (size_t)(end - text) : size, "t", &template) ==
        CSE_OK)
        render(template, rest, size - (size_t)(rest - text));
    else if (*cse_error_message() == '\0')
        abort();
    cse_chat_template_destroy(&template);
    return 0;
}
