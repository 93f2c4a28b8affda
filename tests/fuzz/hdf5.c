/* Tokens in an HDF5 file from a stranger: the dataset is refused with a message, or its first and
 * its last row can be read, or refused. */
#include <stdlib.h>
#include <string.h>

#include "dataloader/formats/hdf5_table.h"
#include "engine/base/error.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ELEMENTS = 1 << 16 };

static void check(cse_status status)
{
    if (status != CSE_OK && *cse_error_message() == '\0')
        abort();
}

static void read_row(const cse_hdf5_table *table, int64_t row)
{
    const cse_shape shape = cse_hdf5_table_shape(table);
    int64_t starts[CSE_MAX_RANK] = { row }, counts[CSE_MAX_RANK], elements = 1;
    for (int d = 0; d < shape.rank; d++) {
        counts[d] = d == 0 || shape.dims[d] < 64 ? (d == 0 ? 1 : shape.dims[d]) : 64;
        elements *= counts[d];
        if (shape.dims[d] == 0 || elements > MOST_ELEMENTS)
            return;
    }
    void *values = malloc((size_t)elements * 4);
    check(cse_hdf5_table_read(table, starts, counts, CSE_INT32, values));
    check(cse_hdf5_table_read(table, starts, counts, CSE_FLOAT32, values));
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES];
    cse_hdf5_table *table = NULL;
    const int file = memory_file(data, size, path);
    cse_status status = cse_hdf5_table_open(file, path, "data", &table);
    check(status);
    if (status == CSE_OK) {
        const cse_shape shape = cse_hdf5_table_shape(table);
        read_row(table, 0);
        if (shape.rank > 0)
            read_row(table, shape.dims[0] - 1);
    }
    cse_hdf5_table_close(&table);
    close(file);
    return 0;
}
