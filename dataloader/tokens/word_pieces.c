/* Characters first, then words, then pieces. */
#include "dataloader/tokens/word_pieces.h"

#include <stdio.h>
#include <string.h>

enum { MOST_CHARACTERS = 200, MOST_BYTES = 4 * MOST_CHARACTERS };

/* The letters from U+00C0 to U+017F without their accents; a point: it has none. */
static const char bare[] = "AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y"
                           "AaAaAaCcCcCcCcDd..EeEeEeEeEeGgGgGgGgHh..IiIiIiIiI...JjKk.LlLlLl."
                           "...NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz.";

/* The character at `s`, and its bytes; a byte that begins none is one. */
static int character(const unsigned char *s, uint32_t *c)
{
    const int bytes = s[0] < 0xC0 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    *c = bytes == 1 ? s[0] : (uint32_t)s[0] & (0xFFu >> (bytes + 1));
    for (int i = 1; i < bytes; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            *c = s[0];
            return 1;
        }
        *c = *c << 6 | (s[i] & 0x3Fu);
    }
    return bytes;
}

typedef struct range {
    uint32_t first, last;
} range;

static bool is_in(const range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

#define IS_IN(ranges, c) is_in(ranges, sizeof(ranges) / sizeof(ranges)[0], c)

static bool is_punctuation(uint32_t c)
{
    static const range ranges[] = {
        { 33, 47 },         { 58, 64 },         { 91, 96 },         { 123, 126 },
        { 0xA1, 0xA1 },     { 0xA7, 0xA7 },     { 0xAB, 0xAB },     { 0xB6, 0xB7 },
        { 0xBB, 0xBB },     { 0xBF, 0xBF },     { 0x2010, 0x2027 }, { 0x2030, 0x2043 },
        { 0x2045, 0x2051 }, { 0x2053, 0x205E }, { 0x3001, 0x3003 }, { 0x3008, 0x3011 },
    };
    return IS_IN(ranges, c);
}

/* Chinese characters, each a word. */
static bool is_ideograph(uint32_t c)
{
    static const range ranges[] = {
        { 0x3400, 0x4DBF },   { 0x4E00, 0x9FFF },   { 0xF900, 0xFAFF },
        { 0x20000, 0x2A6DF }, { 0x2A700, 0x2CEAF }, { 0x2F800, 0x2FA1F },
    };
    return IS_IN(ranges, c);
}

static bool is_blank(uint32_t c)
{
    static const range ranges[] = { { '\t', '\n' },     { '\r', '\r' },     { ' ', ' ' },
                                    { 0xA0, 0xA0 },     { 0x1680, 0x1680 }, { 0x2000, 0x200A },
                                    { 0x202F, 0x202F }, { 0x205F, 0x205F }, { 0x3000, 0x3000 } };
    return IS_IN(ranges, c);
}

static bool is_control(uint32_t c)
{
    static const range ranges[] = { { 0, 31 },          { 127, 159 },       { 0xAD, 0xAD },
                                    { 0x200B, 0x200F }, { 0x202A, 0x202E }, { 0x2060, 0x2064 },
                                    { 0xFEFF, 0xFEFF }, { 0xFFFD, 0xFFFD } };
    return IS_IN(ranges, c);
}

/* The next word's bytes, without accents and control characters; 0 at the end of the text. */
static size_t take_word(const cse_word_pieces *p, const unsigned char **at,
                        char word[MOST_BYTES + 8], int *characters)
{
    size_t size = 0;
    *characters = 0;
    while (**at != '\0') {
        uint32_t c;
        const int bytes = character(*at, &c);
        const bool alone = is_punctuation(c) || is_ideograph(c);
        if ((is_blank(c) || alone) && *characters > 0)
            return size;
        *at += bytes;
        if (is_blank(c) || is_control(c))
            continue;
        ++*characters;
        if (!p->keeps_accents && c >= 0xC0 && c < 0x180 && bare[c - 0xC0] != '.') {
            if (size < MOST_BYTES)
                word[size++] = bare[c - 0xC0];
        } else if (size + (size_t)bytes <= MOST_BYTES) {
            memcpy(word + size, *at - bytes, (size_t)bytes);
            size += (size_t)bytes;
        }
        if (alone)
            break;
    }
    return size;
}

/* Where numbers are written. */
typedef struct numbers {
    int32_t *to;
    int count, most;
} numbers;

static void put(numbers *n, int32_t number)
{
    if (n->count < n->most)
        n->to[n->count++] = number;
}

/* The longest piece at `start`; its end is written. -1: there is none. */
static int longest_piece(const cse_word_pieces *p, const char *word, size_t start, size_t *end)
{
    char piece[MOST_BYTES + 8];
    for (; *end > start; --*end) {
        if (((unsigned char)word[*end] & 0xC0) == 0x80)
            continue; /* within a character */
        snprintf(piece, sizeof piece, "%s%.*s", start > 0 ? "##" : "", (int)(*end - start),
                 word + start);
        const int number = cse_word_file_find(p->words, piece);
        if (number >= 0)
            return number;
    }
    return -1;
}

static void split_word(const cse_word_pieces *p, const char *word, size_t size, numbers *n)
{
    const int before = n->count;
    for (size_t start = 0, end; start < size; start = end) {
        end = size;
        const int number = longest_piece(p, word, start, &end);
        if (number < 0) {
            n->count = before;
            put(n, p->unknown);
            return;
        }
        put(n, number);
    }
}

int cse_word_pieces_split(const cse_word_pieces *p, char *text, int32_t *to, int most)
{
    char word[MOST_BYTES + 8];
    int characters;
    size_t size;
    numbers n = { .to = to, .most = most };
    if (p->lowers)
        cse_lower_text(text);
    const unsigned char *at = (const unsigned char *)text;
    while (n.count < most && (size = take_word(p, &at, word, &characters)) > 0) {
        word[size] = '\0';
        if (characters > MOST_CHARACTERS)
            put(&n, p->unknown);
        else
            split_word(p, word, size, &n);
    }
    return n.count;
}
