/* A tokenizer.json is either refused with a message or encodes any text, to numbers that it has, or
 * refuses the text with a message. The input is the file, a line "%%", and the
 * text; without a second "%%" behind it the file is GPT-2's vocab.json, and the rest merges. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/tokenizer_json.h"
#include "tests/fuzz/tokenized_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(cse_status status, cse_tokenizer *tokenizer, const char *text, size_t size)
{
    if (status == CSE_OK)
        fuzz_tokenizer(tokenizer, text, size);
    else if (*cse_error_message() == '\0')
        abort();
    cse_tokenizer_close(&tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n%%\n";
    const size_t length = sizeof mark - 1;
    const char *text = (const char *)data, *first = memmem(data, size, mark, length);
    if (first == NULL)
        return 0;
    const char *rest = first + length;
    const size_t left = size - (size_t)(rest - text);
    const char *second = memmem(rest, left, mark, length);
    cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (second == NULL) {
        use(cse_tokenizer_pair_read(text, (size_t)(first - text), rest, left, tokenizer), tokenizer,
            rest, left);
        return 0;
    }
    const char *end = second + length;
    use(cse_tokenizer_json_read(text, (size_t)(first - text), tokenizer), tokenizer, end,
        left - (size_t)(end - rest));
    return 0;
}
