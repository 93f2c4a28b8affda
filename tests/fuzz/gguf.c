/* A GGUF file from a stranger: it is refused with a message, or all weights that it says are there
 * can be read, packed ones as well, and its tokenizer becomes files or is refused. Our names for
 * them are left to weights.c. */
#include <string.h>

#include "engine/formats/weights/open.h"
#include "engine/formats/weights/tokenizer/tokenizer_files.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/read_weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES];
    cse_weights *weights = NULL;
    cse_tokenizer_files files;
    if (size < 4 || memcmp(data, "GGUF", 4) != 0)
        return -1; /* kept out of the corpus */
    const int file = memory_file(data, size, path);
    const cse_weights_options options = { .format = "gguf" };
    if (cse_weights_open(path, &options, &weights) == CSE_OK) {
        read_weights(weights, true);
        if (cse_tokenizer_files_make(path, weights->tokenizer, &files) != CSE_OK &&
            *cse_error_message() == '\0')
            abort();
        cse_tokenizer_files_clear(&files);
    } else if (*cse_error_message() == '\0') {
        abort();
    }
    cse_weights_close(&weights);
    close(file);
    return 0;
}
