/* The digest of seal_rest.h: the gaps between the elements, in the order of the file. */
#include "engine/formats/checkpoint/seal_rest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/seal_line.h"

enum { BLOCK_BYTES = 1 << 18 };

bool cse_hash_file_range(crypto_generichash_state *state, int descriptor, uint64_t offset,
                         uint64_t bytes)
{
    unsigned char *block = cse_malloc(BLOCK_BYTES);
    bool whole = true;
    while (bytes > 0 && whole) {
        size_t size = bytes < BLOCK_BYTES ? (size_t)bytes : BLOCK_BYTES;
        whole = cse_read_at(descriptor, block, size, offset) == (int64_t)size;
        if (whole)
            crypto_generichash_update(state, block, size);
        offset += size;
        bytes -= size;
    }
    free(block);
    return whole;
}

typedef struct range {
    uint64_t begin, end;
} range;

static int compare_ranges(const void *left, const void *right)
{
    uint64_t a = ((const range *)left)->begin, b = ((const range *)right)->begin;
    return (a > b) - (a < b);
}

/* The elements' places, sorted; false when a line is malformed or two overlap. free(*ranges). */
static bool ranges_of(const cse_sealed_part *part, range **ranges, int *count)
{
    int capacity = 0;
    *ranges = NULL;
    *count = 0;
    for (char *line, *rest = part->lines; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
        cse_seal_line parsed;
        if (!cse_seal_line_read(line, part->begin, &parsed))
            return false;
        if (parsed.bytes == 0)
            continue;
        CSE_GROW(*ranges, *count, capacity);
        (*ranges)[(*count)++] = (range){ parsed.offset, parsed.offset + parsed.bytes };
    }
    if (*count > 1)
        qsort(*ranges, (size_t)*count, sizeof **ranges, compare_ranges);
    for (int i = 1; i < *count; i++)
        if ((*ranges)[i].begin < (*ranges)[i - 1].end)
            return false;
    return true;
}

cse_status cse_seal_rest_digest(int descriptor, const char *path, cse_sealed_part part,
                                char digits[CSE_DIGEST_DIGITS + 1])
{
    range *ranges;
    int count;
    if (!ranges_of(&part, &ranges, &count)) {
        free(ranges);
        return cse_fail(CSE_DATA, "%s: damaged in the list of its tensors; use another checkpoint",
                        path);
    }
    crypto_generichash_state state;
    uint64_t at = 0;
    bool whole = true;
    cse_digest_begin(&state);
    for (int i = 0; i < count && whole; i++) {
        whole = cse_hash_file_range(&state, descriptor, at, ranges[i].begin - at);
        at = ranges[i].end;
    }
    whole = whole && cse_hash_file_range(&state, descriptor, at, part.end - at);
    cse_digest_end(&state, digits);
    free(ranges);
    return whole ? CSE_OK : cse_fail(CSE_IO, "%s: cannot be read: %s", path, strerror(errno));
}
