/* One buffer per file, from which whole lines or pieces are taken. */
#include "dataloader/prepare/text_pieces.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "csengine/input.h"
#include "dataloader/files/file_list.h"
#include "dataloader/formats/json_line.h"
#include "engine/base/arena.h"

enum { READ_BYTES = 1 << 20 };

struct cse_text_pieces {
    const char *const *paths;
    int count, next;
    bool cuts;
    /* of the file that is open */
    cse_byte_source *source;
    const char *path;
    bool is_json, at_end;
    int64_t line, file_bytes, done_bytes;
    char *buffer;
    size_t begin, end, capacity;
};

bool cse_is_json_lines(const char *path)
{
    return cse_name_ends(path, ".jsonl|.ndjson|.json|.jsonl.gz|.ndjson.gz|.json.gz|.jsonl.zst|"
                               ".ndjson.zst|.json.zst");
}

cse_text_pieces *cse_text_pieces_new(const char *const *paths, int count, bool cuts)
{
    cse_text_pieces *pieces = cse_calloc(1, sizeof *pieces);
    pieces->paths = paths;
    pieces->count = count;
    pieces->cuts = cuts;
    return pieces;
}

void cse_text_pieces_close(cse_text_pieces **pieces)
{
    if (*pieces == NULL)
        return;
    cse_byte_source_close(&(*pieces)->source);
    free((*pieces)->buffer);
    free(*pieces);
    *pieces = NULL;
}

int64_t cse_text_pieces_bytes(const cse_text_pieces *pieces)
{
    return pieces->done_bytes;
}

static cse_status open_next(cse_text_pieces *p)
{
    struct stat info;
    p->path = p->paths[p->next++];
    p->is_json = cse_is_json_lines(p->path);
    p->line = 0;
    p->begin = p->end = 0;
    p->at_end = false;
    p->file_bytes = stat(p->path, &info) == 0 ? info.st_size : 0;
    return cse_byte_source_open(p->path, &p->source);
}

/* More content behind what is there. */
static cse_status fill(cse_text_pieces *p)
{
    size_t got = 0;
    if (p->begin > 0) {
        memmove(p->buffer, p->buffer + p->begin, p->end - p->begin);
        p->end -= p->begin;
        p->begin = 0;
    }
    if (p->end >= CSE_LINE_MOST_BYTES)
        return cse_fail(CSE_DATA, "%s: a %s has more than %d bytes: write it as several documents",
                        p->path, p->is_json ? "line" : "text that cannot be cut",
                        CSE_LINE_MOST_BYTES);
    if (p->capacity < p->end + READ_BYTES) {
        p->capacity = 2 * (p->end + READ_BYTES);
        p->buffer = cse_realloc(p->buffer, p->capacity);
    }
    CSE_TRY(cse_byte_source_read(p->source, p->buffer + p->end, READ_BYTES, &got));
    p->end += got;
    p->at_end = got < READ_BYTES;
    return CSE_OK;
}

static void take(cse_text_pieces *p, size_t size, cse_text_piece *piece)
{
    piece->bytes = cse_malloc(size + 1);
    memcpy(piece->bytes, p->buffer + p->begin, size);
    piece->bytes[size] = '\0';
    piece->size = size;
    piece->is_json = p->is_json;
    piece->path = p->path;
    piece->line = p->line;
    p->begin += size;
}

static bool is_blank(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (strchr(" \t\r\n", bytes[i]) == NULL || bytes[i] == '\0')
            return false;
    return true;
}

/* The next line that is not blank; none is left when the piece has no bytes. */
static cse_status next_line(cse_text_pieces *p, cse_text_piece *piece)
{
    size_t seen = 0;
    for (;;) {
        const char *from = p->buffer + p->begin + seen;
        const size_t left = p->end - p->begin;
        const char *stop = left > seen ? memchr(from, '\n', left - seen) : NULL;
        if (stop == NULL && !p->at_end) {
            seen = left;
            CSE_TRY(fill(p));
            continue;
        }
        const size_t size = stop != NULL ? (size_t)(stop + 1 - (p->buffer + p->begin)) : left;
        if (size == 0)
            return CSE_OK;
        p->line++;
        seen = 0;
        if (is_blank(p->buffer + p->begin, size)) {
            p->begin += size;
            continue;
        }
        take(p, size, piece);
        piece->ends_document = true;
        return CSE_OK;
    }
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where the text may be cut behind its first CSE_PIECE_BYTES, as cse_tokenizer_cuts_at_lines says;
 * 0: nowhere in what is there. */
static size_t find_cut(const cse_text_pieces *p, size_t from)
{
    const char *bytes = p->buffer + p->begin;
    for (size_t i = from; i + 1 < p->end - p->begin; i++)
        if (bytes[i] == '\n' && is_word(bytes[i - 1]) && is_word(bytes[i + 1]))
            return i + 1;
    return 0;
}

static cse_status next_of_text(cse_text_pieces *p, cse_text_piece *piece)
{
    size_t from = CSE_PIECE_BYTES, cut = 0;
    for (;;) {
        const size_t left = p->end - p->begin;
        if (p->cuts && left > from)
            cut = find_cut(p, from);
        if (cut != 0 || p->at_end)
            break;
        if (left > CSE_PIECE_BYTES + 2)
            from = left - 2;
        CSE_TRY(fill(p));
    }
    const size_t size = cut != 0 ? cut : p->end - p->begin;
    if (size == 0)
        return CSE_OK;
    take(p, size, piece);
    piece->ends_document = cut == 0;
    return CSE_OK;
}

cse_status cse_text_pieces_next(cse_text_pieces *p, cse_text_piece *piece)
{
    *piece = (cse_text_piece){ 0 };
    for (;;) {
        if (p->source == NULL && p->next == p->count)
            return CSE_OK;
        if (p->source == NULL)
            CSE_TRY(open_next(p));
        CSE_TRY(p->is_json ? next_line(p, piece) : next_of_text(p, piece));
        if (piece->bytes != NULL)
            return CSE_OK;
        cse_byte_source_close(&p->source);
        p->done_bytes += p->file_bytes;
    }
}

/* A line that is a text by itself. */
static json_t *lone_text(const char *line, size_t size)
{
    json_t *json = json_loadb(line, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (json_is_string(json))
        return json;
    json_decref(json);
    return NULL;
}

cse_status cse_json_line_text(const char *line, size_t size, const char *field, char **text,
                              size_t *length)
{
    const char *const names[] = { field, NULL };
    json_t *json = line[strspn(line, " \t")] == '"' ? lone_text(line, size) : NULL;
    *text = NULL;
    if (json == NULL)
        CSE_TRY(cse_json_line_read(line, size, names, &json));
    const json_t *value = json_is_object(json) ? json_object_get(json, field) : json;
    cse_status status = CSE_OK;
    if (json_is_string(value)) {
        *length = json_string_length(value);
        *text = cse_malloc(*length + 1);
        memcpy(*text, json_string_value(value), *length + 1);
    } else {
        status = cse_fail(CSE_DATA, "no text in member \"%s\": name it by --field", field);
    }
    json_decref(json);
    return status;
}
