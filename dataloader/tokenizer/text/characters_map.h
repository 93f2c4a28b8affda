/* A table of what is put for pieces of text, as SentencePiece compiles it (precompiled_charsmap): a
 * double-array trie of the pieces, and behind it the texts for them.
 *
 * The layout: the trie's bytes (32 bits), its units (32 bits each, from the lowest byte), and texts
 * that a zero byte ends each; the value of a piece is where its text begins. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_CHARACTERS_MAP_H
#define CSE_DATALOADER_TOKENIZER_TEXT_CHARACTERS_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_CHARACTERS_MAP_MOST_BYTES = 1 << 26 };

typedef struct cse_characters_map {
    uint32_t *units;
    size_t unit_count;
    char *texts; /* the last byte is zero */
    size_t text_bytes;
} cse_characters_map;

/* Copies the table. CSE_DATA for one that leads outside of itself. */
cse_status cse_characters_map_read(const void *bytes, size_t size, cse_characters_map **map);
/* The same from base64. */
cse_status cse_characters_map_read_base64(const char *text, cse_characters_map **map);
void cse_characters_map_destroy(cse_characters_map **map);

/* What is put for the shortest or the longest piece at the begin of the text; NULL: none begins it.
 * `*length`: bytes of the piece. */
const char *cse_characters_map_shortest(const cse_characters_map *map, const char *text,
                                        size_t size, size_t *length);
const char *cse_characters_map_longest(const cse_characters_map *map, const char *text, size_t size,
                                       size_t *length);

#endif
