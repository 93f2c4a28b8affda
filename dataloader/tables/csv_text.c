/* One pass, character by character. The end of the text is set before blank lines, so that a reader
 * of lines never meets them. */
#include "dataloader/tables/csv_text.h"

#include <inttypes.h>
#include <string.h>

enum { DOS_END = 0x1a };

cse_status cse_csv_text_wrong(const cse_csv_text *text, const char *what)
{
    return cse_fail(CSE_DATA, "%s:%" PRId64 ":%" PRId64 ": %s", text->path, text->field_line,
                    text->field_column, what);
}

/* ---- what is no text ---- */

typedef struct known_format {
    const char *begin;
    size_t size;
    const char *what;
} known_format;

static const known_format formats[] = {
    { "\xff\xfe", 2, "it is UTF-16: save it as UTF-8, as iconv -f UTF-16 -t UTF-8 does" },
    { "\xfe\xff", 2, "it is UTF-16: save it as UTF-8, as iconv -f UTF-16 -t UTF-8 does" },
    { "PK\3\4", 4, "it is a zip archive or a workbook of a spreadsheet: save the table as CSV" },
    { "\xd0\xcf\x11\xe0", 4, "it is a workbook of a spreadsheet: save the table as CSV" },
    { "PAR1", 4, "it is Parquet: set data_processor: parquet" },
    { "ARROW1", 6, "it is Arrow: set data_processor: arrow" },
    { "\x93NUMPY", 6, "it is an array of NumPy: set data_processor: npy" },
    { "\x89HDF", 4, "it is HDF5, which is no text" },
};

static cse_status refuse_other_formats(const char *path, const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (size >= formats[i].size && memcmp(bytes, formats[i].begin, formats[i].size) == 0)
            return cse_fail(CSE_DATA, "%s: %s", path, formats[i].what);
    const char *zero = size > 0 ? memchr(bytes, '\0', size) : NULL;
    if (zero != NULL)
        return cse_fail(
            CSE_DATA,
            "%s: its byte %td is zero, as in UTF-16 and in files that are no text: save "
            "the table as text in UTF-8",
            path, zero - bytes);
    return CSE_OK;
}

/* ---- lines ---- */

static bool is_line_break(char c)
{
    return c == '\n' || c == '\r';
}

cse_status cse_csv_text_begin(cse_csv_text *text, const char *bytes, size_t size)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    CSE_TRY(refuse_other_formats(text->path, bytes, size));
    text->cursor = bytes;
    text->end = bytes + size;
    if (size >= 3 && memcmp(bytes, byte_order_mark, 3) == 0)
        text->cursor += 3;
    if (text->end > text->cursor && text->end[-1] == DOS_END)
        text->end--;
    /* Blank lines, and the line break before them; a delimiter may be a blank. */
    const char *stop = text->end;
    while (stop > text->cursor &&
           (is_line_break(stop[-1]) ||
            ((stop[-1] == ' ' || stop[-1] == '\t') && stop[-1] != text->delimiter))) {
        stop--;
        if (is_line_break(*stop))
            text->end = stop;
    }
    if (stop == text->cursor)
        text->end = stop;
    text->line_start = text->cursor;
    text->line = text->field_line = text->field_column = 1;
    return CSE_OK;
}

bool cse_csv_text_ended(const cse_csv_text *text)
{
    return text->cursor >= text->end;
}

static bool at_line_end(const cse_csv_text *text)
{
    return text->cursor == text->end || is_line_break(*text->cursor);
}

/* Over one line break, of which CRLF is one. */
static void pass_line_break(cse_csv_text *text)
{
    if (text->cursor + 1 < text->end && text->cursor[0] == '\r' && text->cursor[1] == '\n')
        text->cursor++;
    if (text->cursor < text->end)
        text->cursor++;
    text->line_start = text->cursor;
    text->line++;
}

void cse_csv_text_next_line(cse_csv_text *text)
{
    pass_line_break(text);
}

/* ---- fields ---- */

static bool is_blank(const cse_csv_text *text, char c)
{
    return (c == ' ' || c == '\t') && c != text->delimiter;
}

static void put(cse_csv_text *text, size_t *length, char c)
{
    if (*length < CSE_CSV_FIELD_BYTES)
        text->field[*length] = (unsigned char)c < 0x20 || c == 0x7f ? '?' : c;
    ++*length;
}

static cse_status take_quoted(cse_csv_text *text, size_t *length)
{
    for (text->cursor++;;) {
        if (text->cursor == text->end)
            return cse_csv_text_wrong(text, "a quoted field has no closing quote");
        if (is_line_break(*text->cursor)) {
            put(text, length, '\n');
            pass_line_break(text);
            continue;
        }
        if (*text->cursor == '"') {
            if (text->cursor + 1 == text->end || text->cursor[1] != '"')
                break;
            text->cursor++;
        }
        put(text, length, *text->cursor++);
    }
    text->cursor++;
    return CSE_OK;
}

static void take_plain(cse_csv_text *text, size_t *length)
{
    const char *start = text->cursor;
    while (!at_line_end(text) && *text->cursor != text->delimiter)
        text->cursor++;
    const char *stop = text->cursor;
    while (stop > start && is_blank(text, stop[-1]))
        stop--;
    while (start < stop)
        put(text, length, *start++);
}

cse_status cse_csv_text_take(cse_csv_text *text)
{
    size_t length = 0;
    while (!at_line_end(text) && is_blank(text, *text->cursor))
        text->cursor++;
    text->field_line = text->line;
    text->field_column = text->cursor - text->line_start + 1;
    if (!at_line_end(text) && *text->cursor == '"')
        CSE_TRY(take_quoted(text, &length));
    else
        take_plain(text, &length);
    text->too_long = length >= CSE_CSV_FIELD_BYTES;
    text->field[text->too_long ? CSE_CSV_FIELD_BYTES - 1 : length] = '\0';
    while (!at_line_end(text) && is_blank(text, *text->cursor))
        text->cursor++;
    text->line_ends = at_line_end(text);
    if (!text->line_ends && *text->cursor != text->delimiter)
        return cse_csv_text_wrong(text, "text follows the closing quote of a field");
    if (!text->line_ends)
        text->cursor++;
    return CSE_OK;
}
