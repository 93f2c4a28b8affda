/* A sorted list, narrowed byte by byte: what is left of it after the last byte that fits is the
 * longest token. */
#include "dataloader/tokenizer/added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

void cse_added_tokens_clear(cse_added_tokens *added)
{
    free(added->tokens);
    *added = (cse_added_tokens){ 0 };
}

void cse_added_tokens_put(cse_added_tokens *added, const cse_added_token *token)
{
    CSE_GROW(added->tokens, added->count, added->capacity);
    added->tokens[added->count++] = *token;
}

static int by_content(const void *a, const void *b)
{
    const cse_added_token *left = a, *right = b;
    const uint32_t common = left->size < right->size ? left->size : right->size;
    const int order = memcmp(left->content, right->content, common);
    return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

void cse_added_tokens_sort(cse_added_tokens *added)
{
    if (added->count > 0)
        qsort(added->tokens, (size_t)added->count, sizeof *added->tokens, by_content);
    for (int byte = 0, i = 0; byte <= 256; byte++) {
        while (i < added->count && (unsigned char)added->tokens[i].content[0] < byte)
            i++;
        added->first[byte] = i;
    }
}

/* The first token of [low, high) whose byte `depth` is at least `byte`. */
static int bound(const cse_added_tokens *added, int low, int high, const int depth_and_byte[2])
{
    const uint32_t depth = (uint32_t)depth_and_byte[0];
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const cse_added_token *token = &added->tokens[middle];
        if (token->size <= depth || (unsigned char)token->content[depth] < depth_and_byte[1])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const cse_added_token *longest_at(const cse_added_tokens *added, const char *text,
                                         size_t size)
{
    const cse_added_token *found = NULL;
    const unsigned char first = (unsigned char)text[0];
    int low = added->first[first], high = added->first[first + 1];
    for (uint32_t depth = 1; low < high; depth++) {
        if (added->tokens[low].size == depth)
            found = &added->tokens[low];
        if (depth >= size)
            break;
        const int byte = (unsigned char)text[depth];
        const int begin = bound(added, low, high, (const int[]){ (int)depth, byte });
        high = bound(added, begin, high, (const int[]){ (int)depth, byte + 1 });
        low = begin;
    }
    return found;
}

/* Bytes of the white space character at `text`, 0 for another one. */
static size_t white_space(const char *text, size_t left)
{
    static const char *const wide[] = { "\302\205",     "\302\240",     "\341\232\200",
                                        "\342\200\250", "\342\200\251", "\342\200\257",
                                        "\342\201\237", "\343\200\200" };
    if (left > 0 && (text[0] == ' ' || (text[0] >= '\t' && text[0] <= '\r')))
        return 1;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        const size_t length = strlen(wide[i]);
        if (left >= length && memcmp(text, wide[i], length) == 0)
            return length;
    }
    const bool is_quad = left >= 3 && memcmp(text, "\342\200", 2) == 0 &&
                         (unsigned char)text[2] >= 0x80 && (unsigned char)text[2] <= 0x8a;
    return is_quad ? 3 : 0;
}

static void take_white_space(const cse_added_token *token, const char *text, size_t size,
                             size_t from, size_t range[2])
{
    while (token->takes_left && range[0] > from) {
        size_t before = range[0] - 1;
        while (before > from && ((unsigned char)text[before] & 0xc0) == 0x80)
            before--;
        if (white_space(text + before, range[0] - before) != range[0] - before)
            break;
        range[0] = before;
    }
    for (size_t length;
         token->takes_right && (length = white_space(text + range[1], size - range[1])) > 0;)
        range[1] += length;
}

const cse_added_token *cse_added_tokens_next(const cse_added_tokens *added, const char *text,
                                             size_t size, size_t range[2])
{
    const size_t from = range[0];
    if (added->count == 0)
        return NULL;
    for (size_t i = from; i < size; i++) {
        const cse_added_token *token = longest_at(added, text + i, size - i);
        if (token == NULL)
            continue;
        range[0] = i;
        range[1] = i + token->size;
        take_white_space(token, text, size, from, range);
        return token;
    }
    return NULL;
}
