/* A sorted list, narrowed byte by byte: what is left of it after the last byte that fits is the
 * longest token. */
#include "dataloader/tokenizer/added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/character_sets.h"
#include "dataloader/tokenizer/text/characters.h"
#include "engine/base/arena.h"

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

cse_status cse_added_tokens_sort(cse_added_tokens *added)
{
    if (added->count > 0)
        qsort(added->tokens, (size_t)added->count, sizeof *added->tokens, by_content);
    for (int byte = 0, i = 0; byte <= 256; byte++) {
        while (i < added->count && (unsigned char)added->tokens[i].content[0] < byte)
            i++;
        added->first[byte] = i;
    }
    for (int i = 0; i < added->count; i++) {
        const cse_added_token *token = &added->tokens[i];
        if (token->size == 0)
            return cse_fail(CSE_DATA,
                            "nothing is left of the added token \"%.60s\" when it is "
                            "normalized",
                            token->name);
        if (i > 0 && by_content(token - 1, token) == 0)
            return cse_fail(CSE_DATA,
                            "the added tokens \"%.60s\" and \"%.60s\" are the same text: which one "
                            "is found would be chance; accepted is one of them",
                            token[-1].name, token->name);
    }
    return CSE_OK;
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

static bool is_part_of_word(uint32_t character)
{
    return cse_is_in_set(CSE_WORD_PART, character);
}

/* No letter or digit stands at either side. */
static bool stands_alone(const cse_added_search *search, const size_t range[2])
{
    size_t length;
    return (range[0] == 0 ||
            !is_part_of_word(cse_character_before(search->text, range[0], &length))) &&
           (range[1] == search->size ||
            !is_part_of_word(cse_character_at(search->text + range[1], &length)));
}

static void take_white_space(const cse_added_token *token, const cse_added_search *search,
                             size_t range[2])
{
    size_t length;
    while (token->takes_left && range[0] > search->covered &&
           cse_is_white_space(cse_character_before(search->text, range[0], &length)))
        range[0] -= length;
    if (token->takes_left && range[0] < search->covered)
        range[0] = search->covered;
    while (token->takes_right && range[1] < search->size &&
           cse_is_white_space(cse_character_at(search->text + range[1], &length)))
        range[1] += length;
}

const cse_added_token *cse_added_tokens_next(const cse_added_tokens *added,
                                             cse_added_search *search, size_t range[2])
{
    for (size_t i = search->from; added->count > 0 && i < search->size; i++) {
        const cse_added_token *token = longest_at(added, search->text + i, search->size - i);
        if (token == NULL)
            continue;
        range[0] = i;
        range[1] = search->from = i + token->size;
        if (token->is_word && !stands_alone(search, range)) {
            i = search->from - 1;
            continue;
        }
        take_white_space(token, search, range);
        if (range[0] < range[1])
            return token;
        i = search->from - 1; /* all of it is white space that another one took */
    }
    return NULL;
}
