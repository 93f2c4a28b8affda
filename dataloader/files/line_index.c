/* One pass in pieces. */
#include "dataloader/files/line_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { PIECE_BYTES = 1 << 20 };

void cse_line_index_clear(cse_line_index *index)
{
    free(index->lines);
    *index = (cse_line_index){ 0 };
}

/* The line number `number` from range[0] to range[1], if it is not blank. */
static cse_status add_line(cse_line_index *index, const char *path, const int64_t range[2],
                           int64_t number)
{
    if (number < 0)
        return CSE_OK;
    if (range[1] - range[0] > CSE_LINE_BYTES)
        return cse_fail(CSE_DATA, "%s: line %" PRId64 " has more than %d bytes", path, number,
                        CSE_LINE_BYTES);
    CSE_GROW(index->lines, index->count, index->capacity);
    index->lines[index->count++] = (cse_line){ range[0], range[1] - range[0], number };
    return CSE_OK;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static cse_status scan(cse_line_index *index, cse_file_pool *pool, int file, char *piece)
{
    const char *path = cse_file_pool_path_view(pool, file);
    const int64_t bytes = cse_file_pool_bytes(pool, file);
    int64_t range[2] = { 0, 0 }, number = 1;
    bool blank = true;
    for (int64_t offset = 0; offset < bytes; offset += PIECE_BYTES) {
        const int64_t size = bytes - offset < PIECE_BYTES ? bytes - offset : PIECE_BYTES;
        CSE_TRY(cse_file_pool_read(pool, file, offset, piece, (size_t)size));
        if (offset == 0 && size >= 4 &&
            (memcmp(piece, "\037\213", 2) == 0 || memcmp(piece, "\050\265\057\375", 4) == 0))
            return cse_fail(CSE_DATA,
                            "%s: it is compressed, so that no line can be found by its place: "
                            "write it plain, or make tokens of it with csengine data tokenize",
                            path);
        for (int64_t i = 0; i < size; i++) {
            if (piece[i] != '\n') {
                blank = blank && is_blank(piece[i]);
                continue;
            }
            range[1] = offset + i;
            CSE_TRY(add_line(index, path, range, blank ? -1 : number));
            number++;
            range[0] = range[1] + 1;
            blank = true;
        }
    }
    range[1] = bytes;
    return add_line(index, path, range, blank ? -1 : number);
}

cse_status cse_line_index_make(cse_line_index *index, cse_file_pool *pool, int file)
{
    char *piece = cse_malloc(PIECE_BYTES);
    cse_status status = scan(index, pool, file, piece);
    free(piece);
    return status;
}
