/* A file of weights from a stranger, in any format but HDF5 (hdf5_weights.c): it is refused with a
 * message, or all that it says is there can be read, also under our names. An input that begins as
 * a pickle is put into an archive with the right checksum first; one that begins with L is a block
 * of LZ4. */
#include <string.h>

#include "engine/formats/weights/format.h"
#include "engine/formats/weights/open.h"
#include "engine/formats/weights/weight_formats/lz4_filter.h"
#include "engine/formats/weights/weight_formats/zip.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/read_weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int archive_of(const uint8_t *pickle, size_t size, char path[MEMORY_PATH_BYTES])
{
    static const unsigned char elements[256] = { 1, 2, 3 };
    const int file = memory_file("", 0, path);
    const cse_weights_target to = { .descriptor = file, .path = path };
    cse_zip_writer zip = { .to = &to };
    if (cse_zip_add_bytes(&zip, "a/data.pkl", pickle, size) != CSE_OK ||
        cse_zip_add_bytes(&zip, "a/data/0", elements, sizeof elements) != CSE_OK ||
        cse_zip_finish(&zip) != CSE_OK)
        abort();
    cse_zip_writer_clear(&zip);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES];
    cse_weights *weights = NULL;
    if (size > 0 && data[0] == 'L') {
        unsigned char out[4096];
        (void)cse_lz4_decode(data + 1, size - 1, out, sizeof out);
        return 0;
    }
    if (size > 0 && data[0] == 0x89)
        return 0; /* HDF5 */
    const int file =
        size > 0 && data[0] == 0x80 ? archive_of(data, size, path) : memory_file(data, size, path);
    if (cse_weights_open(path, NULL, &weights) == CSE_OK)
        read_weights(weights, true);
    else if (*cse_error_message() == '\0')
        abort();
    cse_weights_close(&weights);
    if (cse_weights_open_ours(path, NULL, &weights) == CSE_OK)
        read_weights(weights, true);
    cse_weights_close(&weights);
    close(file);
    return 0;
}
