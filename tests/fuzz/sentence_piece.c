/* A tokenizer.model is either refused with a message or encodes any text. The input is the file, a
 * line "%%", and the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/sentence_piece.h"
#include "tests/fuzz/tokenized_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n%%\n";
    const char *text = (const char *)data, *end = memmem(data, size, mark, sizeof mark - 1);
    if (end == NULL)
        return 0;
    const char *rest = end + sizeof mark - 1;
    cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (cse_sentence_piece_read(text, (size_t)(end - text), tokenizer) == CSE_OK)
        fuzz_tokenizer(tokenizer, rest, size - (size_t)(rest - text));
    else if (*cse_error_message() == '\0')
        abort();
    cse_tokenizer_close(&tokenizer);
    return 0;
}
