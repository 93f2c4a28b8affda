/* SentencePiece joins the two neighbours whose union has the best score. So each way to cut a token
 * into two others is a merge, and the merges of tokens with better scores come first; of one score,
 * those with the longer left part, then with the longer right part, then in the order of the tokens
 * and of the numbers of their parts. */
#include "engine/formats/weights/tokenizer/merges_of_scores.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

typedef struct merge {
    double score;
    const char *token;
    size_t left_bytes, left, right; /* bytes and characters */
    size_t index;                   /* of the token */
    json_int_t numbers[2];          /* of the parts */
} merge;

typedef struct merges {
    merge *list;
    size_t count, capacity;
} merges;

static int compare(const void *one, const void *other)
{
    const merge *a = one, *b = other;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    if (a->left != b->left)
        return a->left > b->left ? -1 : 1;
    if (a->right != b->right)
        return a->right > b->right ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    for (int i = 0; i < 2; i++)
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    return 0;
}

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Each cut between two characters whose parts are both tokens. */
static void add_cuts(merges *all, const char *token, size_t index, double score,
                     const json_t *numbers)
{
    const size_t size = strlen(token);
    size_t characters = 0, at = 0;
    char *left_part = strdup(token);
    for (size_t i = 0; i < size; i++)
        characters += begins_character(token[i]);
    for (size_t i = 1; i < size; i++) {
        if (!begins_character(token[i]))
            continue;
        at++;
        const json_t *right = json_object_get(numbers, token + i);
        left_part[i] = '\0';
        const json_t *left = right != NULL ? json_object_get(numbers, left_part) : NULL;
        left_part[i] = token[i];
        if (left == NULL)
            continue;
        CSE_GROW(all->list, all->count, all->capacity);
        all->list[all->count++] =
            (merge){ .score = score,
                     .token = token,
                     .left_bytes = i,
                     .left = at,
                     .right = characters - at,
                     .index = index,
                     .numbers = { json_integer_value(left), json_integer_value(right) } };
    }
    free(left_part);
}

json_t *cse_merges_of_scores(const json_t *tokens, const json_t *numbers, const json_t *scores)
{
    merges all = { .list = NULL };
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(tokens); i++)
        add_cuts(&all, json_string_value(json_array_get(tokens, i)), i,
                 json_number_value(json_array_get(scores, i)), numbers);
    if (all.count > 1)
        qsort(all.list, all.count, sizeof *all.list, compare);
    for (size_t i = 0; i < all.count; i++) {
        const merge *m = &all.list[i];
        json_array_append_new(
            list, json_pack("[s#, s]", m->token, (int)m->left_bytes, m->token + m->left_bytes));
    }
    free(all.list);
    return list;
}
