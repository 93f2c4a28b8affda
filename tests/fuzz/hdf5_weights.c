/* Weights in an HDF5 file from a stranger: they are refused with a message, or each tensor's begin
 * and end can be read, or refused, also under our names.
 *
 * libhdf5 runs in a process of its own (engine/formats/weights/apart.h): the fuzzer does not see
 * which code of the reader an input reaches, only whether this process survives it. */
#include <string.h>

#include "engine/formats/weights/open.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/read_weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef cse_status opener(const char *path, const cse_weights_options *options,
                          cse_weights **weights);

static void open_by(opener *open_weights, const char *path)
{
    cse_weights *weights = NULL;
    if (open_weights(path, NULL, &weights) == CSE_OK)
        read_weights(weights, false);
    else if (*cse_error_message() == '\0')
        abort();
    cse_weights_close(&weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES];
    const int file = memory_file(data, size, path);
    open_by(cse_weights_open, path);
    open_by(cse_weights_open_ours, path);
    close(file);
    return 0;
}
