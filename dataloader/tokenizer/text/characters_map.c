/* A unit has a label (its low byte), a flag that a value hangs on it, and where its children are;
 * a unit with the highest bit is a value. Each step is compared with the end of the table, so that
 * a damaged one finds less, and never reads outside. */
#include "dataloader/tokenizer/text/characters_map.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

enum { UNIT_BYTES = 4, HAS_VALUE = 1 << 8 };

static uint32_t offset_of(uint32_t unit)
{
    return unit >> 10 << ((unit & UINT32_C(1) << 9) >> 6);
}

static uint32_t number_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Each value is a place among the texts, and that of each unit leads to a value. */
static cse_status check(const cse_characters_map *map)
{
    for (size_t i = 0; i < map->unit_count; i++) {
        const uint32_t unit = map->units[i];
        if (unit >> 31 != 0 || (unit & HAS_VALUE) == 0)
            continue;
        const size_t value = i ^ offset_of(unit);
        if (value >= map->unit_count || map->units[value] >> 31 == 0 ||
            (map->units[value] & INT32_MAX) >= map->text_bytes)
            return cse_fail(CSE_DATA,
                            "precompiled_charsmap is damaged: unit %zu of %zu leads outside of it",
                            i, map->unit_count);
    }
    return CSE_OK;
}

cse_status cse_characters_map_read(const void *bytes, size_t size, cse_characters_map **map)
{
    const unsigned char *from = bytes;
    const size_t trie = size >= UNIT_BYTES ? number_at(from) : 0;
    *map = NULL;
    if (size < UNIT_BYTES || trie % UNIT_BYTES != 0 || trie == 0 || trie >= size - UNIT_BYTES ||
        size > CSE_CHARACTERS_MAP_MOST_BYTES || from[size - 1] != 0)
        return cse_fail(CSE_DATA,
                        "precompiled_charsmap is damaged: %zu bytes, of which %zu are said to be "
                        "its trie",
                        size, trie);
    cse_characters_map *read = cse_calloc(1, sizeof *read);
    read->unit_count = trie / UNIT_BYTES;
    read->units = cse_malloc(trie);
    for (size_t i = 0; i < read->unit_count; i++)
        read->units[i] = number_at(from + UNIT_BYTES + i * UNIT_BYTES);
    read->text_bytes = size - UNIT_BYTES - trie;
    read->texts = cse_malloc(read->text_bytes);
    memcpy(read->texts, from + UNIT_BYTES + trie, read->text_bytes);
    cse_status status = check(read);
    if (status != CSE_OK)
        cse_characters_map_destroy(&read);
    *map = read;
    return status;
}

static int digit_of(char letter)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = letter != '\0' ? strchr(digits, letter) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

cse_status cse_characters_map_read_base64(const char *text, cse_characters_map **map)
{
    size_t size = strlen(text), filled = 0, made = 0;
    uint32_t bits = 0;
    int count = 0;
    *map = NULL;
    while (filled < 2 && size > 0 && text[size - 1] == '=') {
        size--;
        filled++;
    }
    unsigned char *bytes = cse_malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        const int digit = digit_of(text[i]);
        if (digit < 0) {
            free(bytes);
            return cse_fail(CSE_DATA, "precompiled_charsmap is no base64 at its byte %zu", i);
        }
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes[made++] = (unsigned char)(bits >> count);
        }
    }
    cse_status status = (size + filled) % 4 == 0
                            ? cse_characters_map_read(bytes, made, map)
                            : cse_fail(CSE_DATA, "precompiled_charsmap is cut-off base64");
    free(bytes);
    return status;
}

void cse_characters_map_destroy(cse_characters_map **map)
{
    if (*map == NULL)
        return;
    free((*map)->units);
    free((*map)->texts);
    free(*map);
    *map = NULL;
}

static const char *find(const cse_characters_map *map, const char *text, size_t size,
                        bool is_shortest, size_t *length)
{
    const char *found = NULL;
    size_t at = offset_of(map->units[0]);
    for (size_t i = 0; i < size && text[i] != '\0'; i++) {
        at ^= (unsigned char)text[i];
        if (at >= map->unit_count)
            break;
        const uint32_t unit = map->units[at];
        if ((unit & (UINT32_C(1) << 31 | 0xff)) != (unsigned char)text[i])
            break;
        at ^= offset_of(unit);
        if ((unit & HAS_VALUE) == 0)
            continue;
        found = map->texts + (map->units[at] & INT32_MAX);
        *length = i + 1;
        if (is_shortest)
            break;
    }
    return found;
}

const char *cse_characters_map_shortest(const cse_characters_map *map, const char *text,
                                        size_t size, size_t *length)
{
    return find(map, text, size, true, length);
}

const char *cse_characters_map_longest(const cse_characters_map *map, const char *text, size_t size,
                                       size_t *length)
{
    return find(map, text, size, false, length);
}
