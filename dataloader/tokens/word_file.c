/* Reading, and lower case. */
#include "dataloader/tokens/word_file.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "dataloader/files/whole_file.h"

enum { MOST_BYTES = 1 << 27, MOST_WORDS = 1 << 24 };

/* ---- lower case ---- */

static locale_t unicode;
static pthread_once_t unicode_once = PTHREAD_ONCE_INIT;

static void make_unicode(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* A character and its bytes; 1 byte that is no character is itself. */
static int decode(const unsigned char *s, wint_t *c)
{
    const int bytes = s[0] < 0xC0 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    *c = bytes == 1 ? s[0] : s[0] & (0xFF >> (bytes + 1));
    for (int i = 1; i < bytes; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        *c = *c << 6 | (s[i] & 0x3F);
    }
    return s[0] >= 0x80 && bytes == 1 ? 0 : bytes;
}

static int encode(wint_t c, unsigned char *s)
{
    const int bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (int i = bytes - 1; i > 0; i--, c >>= 6)
        s[i] = 0x80 | (c & 0x3F);
    s[0] = (unsigned char)(heads[bytes] | c);
    return bytes;
}

void cse_lower_text(char *text)
{
    unsigned char *s = (unsigned char *)text, lowered[4];
    pthread_once(&unicode_once, make_unicode);
    while (*s != '\0') {
        wint_t c;
        const int bytes = decode(s, &c);
        const wint_t lower = bytes == 0               ? c
                             : c < 0x80               ? (c >= 'A' && c <= 'Z' ? c + 32 : c)
                             : unicode != (locale_t)0 ? towlower_l(c, unicode)
                                                      : c;
        if (bytes > 0 && lower != c && encode(lower, lowered) == bytes)
            memcpy(s, lowered, (size_t)bytes);
        s += bytes > 0 ? bytes : 1;
    }
}

/* ---- the list ---- */

static cse_status add_word(cse_word_file *list, const char *text, const char *path, bool lowers)
{
    if (list->count == MOST_WORDS)
        return cse_fail(CSE_DATA, "%s: it has more than %d words", path, MOST_WORDS);
    CSE_GROW(list->words, list->count, list->capacity);
    char *word = cse_arena_string(list->arena, text);
    if (lowers)
        cse_lower_text(word);
    list->words[list->count++] = word;
    return CSE_OK;
}

/* Of equal words the last one counts. */
static void make_index(cse_word_file *list)
{
    for (int i = list->count - 1; i >= 0; i--)
        if (cse_name_index_find(&list->index, list->words[i]) < 0)
            cse_name_index_add(&list->index, list->words[i], i);
}

static cse_status split(cse_word_file *list, char *text, const char *path, bool lowers)
{
    while (*text != '\0') {
        char *end = text + strcspn(text, "\n");
        char *next = *end != '\0' ? end + 1 : end;
        *end = '\0';
        text += strspn(text, " \t");
        while (end > text && strchr(" \t\r", end[-1]) != NULL)
            *--end = '\0';
        CSE_TRY(add_word(list, text, path, lowers));
        text = next;
    }
    return list->count > 0 ? CSE_OK : cse_fail(CSE_DATA, "%s: it has no words", path);
}

cse_status cse_word_file_read(cse_word_file *list, const char *path, bool lowers)
{
    cse_whole_file file = { 0 };
    list->arena = cse_arena_new();
    cse_status status = cse_whole_file_read(&file, path, MOST_BYTES);
    if (status == CSE_OK && memchr(file.bytes, '\0', file.size) != NULL)
        status = cse_fail(CSE_DATA, "%s: it is no text: a byte of it is 0", path);
    if (status == CSE_OK) {
        char *text = cse_calloc(file.size + 1, 1);
        memcpy(text, file.bytes, file.size);
        status = split(list, text, path, lowers);
        free(text);
    }
    if (status == CSE_OK)
        make_index(list);
    cse_whole_file_clear(&file);
    return status;
}

cse_status cse_word_file_take(cse_word_file *list, const char *path, const char *const *words,
                              int count)
{
    list->arena = cse_arena_new();
    for (int i = 0; i < count; i++)
        CSE_TRY(add_word(list, words[i], path, false));
    make_index(list);
    return CSE_OK;
}

void cse_word_file_clear(cse_word_file *list)
{
    cse_name_index_clear(&list->index);
    free(list->words);
    if (list->arena != NULL)
        cse_arena_destroy(&list->arena);
}

int cse_word_file_find(const cse_word_file *list, const char *word)
{
    return cse_name_index_find(&list->index, word);
}

cse_status cse_word_file_require(const cse_word_file *list, const char *path, const char *word,
                                 int *number)
{
    *number = cse_word_file_find(list, word);
    return *number >= 0 ? CSE_OK : cse_fail(CSE_DATA, "%s: the word %s is not in it", path, word);
}
