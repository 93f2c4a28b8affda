/* The texts of files in pieces that can be encoded beside each other, in order: a line of JSON
 * lines is a document, and so is a text file, which is cut at ends of lines where that changes
 * nothing. */
#ifndef CSE_DATALOADER_PREPARE_TEXT_PIECES_H
#define CSE_DATALOADER_PREPARE_TEXT_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum {
    CSE_PIECE_BYTES = 1 << 20,     /* of a text that is cut */
    CSE_LINE_MOST_BYTES = 1 << 28, /* of a line, and of a text that is not cut */
};

typedef struct cse_text_piece {
    char *bytes; /* the caller's: free */
    size_t size;
    bool is_json; /* a line of JSON lines, in which the text stands */
    bool ends_document;
    const char *path; /* borrowed */
    int64_t line;     /* of JSON lines, from 1; else 0 */
} cse_text_piece;

typedef struct cse_text_pieces cse_text_pieces;

/* The paths are borrowed. Files whose names end in .jsonl, .ndjson or .json, before .gz or .zst,
 * are JSON lines. `cuts`: long texts may be cut. */
cse_text_pieces *cse_text_pieces_new(const char *const *paths, int count, bool cuts);
void cse_text_pieces_close(cse_text_pieces **pieces);
/* `*piece` with bytes NULL: there are no more. */
cse_status cse_text_pieces_next(cse_text_pieces *pieces, cse_text_piece *piece);
/* Bytes of the files so far, as they are stored. */
int64_t cse_text_pieces_bytes(const cse_text_pieces *pieces);

/* The text of a line of JSON lines: member `field` of its object, or the line itself where it is a
 * JSON string. `*text` is the caller's. */
cse_status cse_json_line_text(const char *line, size_t size, const char *field, char **text,
                              size_t *length);
bool cse_is_json_lines(const char *path);

#endif
