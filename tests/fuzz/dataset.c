/* A data file is either refused with a message, or read as what its format says: a table of finite
 * numbers, or as many bytes as its dimensions say. The input's first byte chooses how it is read:
 * csv with or without a header, or idx of one to four dimensions; the others are the file, plain or
 * gzip. */
#include <math.h>
#include <string.h>

#include "dataloader/formats/idx_file.h"
#include "dataloader/tables/csv_table.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void refused(void)
{
    if (*cse_error_message() == '\0')
        abort();
}

static void read_csv(const char *path, bool header)
{
    cse_csv_table table;
    if (cse_csv_table_load(path, ',', header, &table) != CSE_OK) {
        refused();
        return;
    }
    for (int64_t i = 0; i < table.rows * table.columns; i++)
        if (!isfinite((float)table.values[i]))
            abort();
    for (int64_t c = 0; header && c < table.columns; c++)
        if (strchr(table.names[c], '\n') != NULL)
            abort();
    cse_csv_table_clear(&table);
}

static void read_idx(const char *path, int rank)
{
    cse_idx_file file;
    int64_t product = 1, sum = 0;
    if (cse_idx_file_load(path, rank, &file) != CSE_OK) {
        refused();
        return;
    }
    for (int d = 0; d < rank; d++)
        product *= file.dims[d];
    if (file.rank != rank || product != file.size_bytes)
        abort();
    for (int64_t i = 0; i < product; i++)
        sum += file.values[i]; /* each is there */
    if (sum > product * 255)
        abort();
    cse_idx_file_clear(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES];
    if (size == 0)
        return 0;
    int file = memory_file(data + 1, size - 1, path), way = data[0] % 6;
    if (way < 2)
        read_csv(path, way == 1);
    else
        read_idx(path, way - 1);
    close(file);
    return 0;
}
