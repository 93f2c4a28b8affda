/* A row of conversations is either refused with a message or becomes tokens of which those count
 * that stand in answers. The input is a row of JSON, a line "%%", and the template; without one
 * there is a plain template. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/conversations/conversation_tokens.h"
#include "dataloader/tokenizer/tokenizer_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char chatml[] =
    "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}<e>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}";

/* Bytes are tokens, and so are <s> and <e>. */
static cse_tokenizer *tokenizer_of_bytes(void)
{
    static const char text[] =
        "{\"model\": {\"type\": \"BPE\", \"merges\": [], \"unk_token\": \"a\", \"vocab\": {\"a\": "
        "0, \"b\": 1, \"\\u0120\": 2, \"\\u010a\": 3, \"s\": 4}}, \"added_tokens\": [{\"id\": 5, "
        "\"content\": \"<s>\"}, {\"id\": 6, \"content\": \"<e>\"}], \"pre_tokenizer\": {\"type\": "
        "\"ByteLevel\", \"add_prefix_space\": false}}";
    cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (cse_tokenizer_json_read(text, sizeof text - 1, tokenizer) != CSE_OK)
        abort();
    return tokenizer;
}

static void write_row(cse_conversation_writer *writer, const json_t *row)
{
    cse_conversation_tokens tokens = { 0 };
    for (int i = 0; i < 3; i++) {
        cse_conversation conversation;
        size_t counted = 0;
        writer->loss_on = (cse_loss_on)i;
        cse_status status = cse_conversation_of_row(row, CSE_CONVERSATION_AUTO, &conversation);
        if (status == CSE_OK)
            status = cse_conversation_write(writer, &conversation, &tokens);
        if (status != CSE_OK && *cse_error_message() == '\0')
            abort();
        for (size_t t = 0; status == CSE_OK && t < tokens.ids.count; t++)
            counted += tokens.counts[t];
        if (status == CSE_OK && counted != tokens.counted)
            abort();
        cse_conversation_clear(&conversation);
    }
    cse_conversation_tokens_clear(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n%%\n";
    static cse_conversation_writer writer = { .folder = "f", .end_of_text = "<e>" };
    if (writer.tokenizer == NULL) {
        writer.tokenizer = tokenizer_of_bytes();
        writer.encoder = cse_encoder_new(writer.tokenizer);
    }
    const char *text = (const char *)data, *end = memmem(data, size, mark, sizeof mark - 1);
    const char *template = end != NULL ? end + sizeof mark - 1 : chatml;
    const size_t length = end != NULL ? size - (size_t)(template - text) : sizeof chatml - 1;
    json_t *row = json_loadb(text, end != NULL ? (size_t)(end - text) : size, JSON_ALLOW_NUL, NULL);
    if (row == NULL)
        return 0;
    if (cse_chat_template_parse(template, length, "t", &writer.chat_template) == CSE_OK)
        write_row(&writer, row);
    else if (*cse_error_message() == '\0')
        abort();
    cse_chat_template_destroy(&writer.chat_template);
    json_decref(row);
    return 0;
}
