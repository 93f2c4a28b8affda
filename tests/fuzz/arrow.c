/* A table of Arrow from a stranger, as a stream or as a file: it is refused with a message, or each
 * row of each column is read, or refused with one. */
#include <stdlib.h>

#include "dataloader/formats/arrow_file.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ROWS = 64, MOST_COLUMNS = 64, MOST_NUMBERS = 4096 };

static void must_say_why(cse_status status)
{
    if (status != CSE_OK && *cse_error_message() == '\0')
        abort();
}

static void read_cell(const cse_arrow_file *table, cse_arrow_cell cell, int32_t *numbers)
{
    int64_t length = 0;
    const cse_status status = cse_arrow_length(table, cell, &length);
    must_say_why(status);
    if (status != CSE_OK)
        return;
    if (length < 0)
        abort();
    const int64_t some = length < MOST_NUMBERS ? length : MOST_NUMBERS;
    if (table->columns[cell.column].kind == CSE_ARROW_TEXT) {
        must_say_why(cse_arrow_read_text(table, cell, some, (char *)numbers));
        return;
    }
    must_say_why(cse_arrow_read(table, cell, some, CSE_FLOAT32, numbers));
    must_say_why(cse_arrow_read(table, cell, some, CSE_INT32, numbers));
}

static void read_all(const cse_arrow_file *table)
{
    int32_t *numbers = malloc(MOST_NUMBERS * sizeof *numbers);
    for (int c = 0; c < table->column_count && c < MOST_COLUMNS; c++) {
        if (table->columns[c].kind == CSE_ARROW_OTHER)
            continue;
        for (int64_t r = 0; r < table->rows && r < MOST_ROWS; r++)
            read_cell(table, (cse_arrow_cell){ c, r }, numbers);
        if (table->rows > 0)
            read_cell(table, (cse_arrow_cell){ c, table->rows - 1 }, numbers);
    }
    free(numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES];
    int file;
    cse_arrow_file table = { .arena = NULL };
    cse_file_pool *pool = cse_file_pool_new(NULL, NULL);
    const int memory = memory_file(data, size, path);
    if (cse_file_pool_add(pool, path, &file) == CSE_OK) {
        const cse_status status = cse_arrow_open(pool, file, &table);
        must_say_why(status);
        if (status == CSE_OK)
            read_all(&table);
    }
    cse_arrow_clear(&table);
    cse_file_pool_destroy(&pool);
    close(memory);
    return 0;
}
