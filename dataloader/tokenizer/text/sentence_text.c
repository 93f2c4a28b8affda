/* The steps of SentencePiece's own normalizer, in its order. A byte of the result was made from
 * what stands between what was read before it and before the next one. */
#include "dataloader/tokenizer/text/sentence_text.h"

#include <string.h>

#include "dataloader/tokenizer/text/characters.h"

/* The text so far. */
typedef struct sentence {
    const cse_sentence_rules *rules;
    const cse_text_view *from;
    cse_aligned_text *to;
    size_t read; /* bytes of the text */
} sentence;

size_t cse_piece_trie_longest(const cse_piece_trie *trie, const char *text, size_t size,
                              int32_t *id)
{
    size_t longest = 0;
    uint32_t node = 0;
    for (size_t i = 0; i < size; i++) {
        node = cse_piece_trie_next(trie, node, (unsigned char)text[i]);
        if (node == 0)
            break;
        if (trie->nodes[node].id < 0)
            continue;
        longest = i + 1;
        *id = trie->nodes[node].id;
    }
    return longest;
}

/* What the next characters become; `*taken`: their bytes. */
static const char *next_text(const sentence *s, size_t *taken, size_t *size)
{
    int32_t id;
    const char *text = s->from->text + s->read;
    const size_t left = s->from->size - s->read;
    *taken = *size = s->rules->user_trie->count > 1
                         ? cse_piece_trie_longest(s->rules->user_trie, text, left, &id)
                         : 0;
    if (*taken > 0)
        return text;
    const char *mapped =
        s->rules->map != NULL ? cse_characters_map_longest(s->rules->map, text, left, taken) : NULL;
    if (mapped != NULL) {
        *size = strlen(mapped);
        return mapped;
    }
    cse_character_at(text, taken);
    *size = *taken;
    return text;
}

/* Where a byte that is made now begins in the text that was given. */
static size_t place_here(const sentence *s)
{
    const cse_text_view *from = s->from;
    return s->read < from->size ? from->origins[s->read].begin : from->origins[from->size - 1].end;
}

static void put(sentence *s, const char *bytes, size_t size)
{
    const size_t before = s->to->text.size;
    cse_aligned_text_put(s->to, s->from, 0, bytes, size);
    for (size_t i = before; s->from->origins != NULL && i < before + size; i++) {
        s->to->origins[i].begin = s->to->origins[i].end = place_here(s);
        if (i > 0)
            s->to->origins[i - 1].end = s->to->origins[i].begin;
    }
}

static void put_space(sentence *s)
{
    if (s->rules->escapes_spaces)
        put(s, CSE_SENTENCE_SPACE, sizeof CSE_SENTENCE_SPACE - 1);
    else
        put(s, " ", 1);
}

static void skip_leading(sentence *s)
{
    size_t taken, size;
    while (s->rules->removes_spaces && s->read < s->from->size) {
        const char *text = next_text(s, &taken, &size);
        if (size != 1 || *text != ' ')
            break;
        s->read += taken;
    }
}

static void put_all(sentence *s)
{
    bool after_space = s->rules->removes_spaces;
    while (s->read < s->from->size) {
        size_t taken, size;
        const char *text = next_text(s, &taken, &size);
        for (; after_space && size > 0 && *text == ' '; size--)
            text++;
        for (size_t i = 0; i < size; i++) {
            if (text[i] == ' ')
                put_space(s);
            else
                put(s, text + i, 1);
        }
        if (size > 0)
            after_space = s->rules->removes_spaces && text[size - 1] == ' ';
        s->read += taken;
    }
}

/* Where the text ends, in the text that was given. */
static size_t drop_trailing(sentence *s, size_t end)
{
    const char *space = s->rules->escapes_spaces ? CSE_SENTENCE_SPACE : " ";
    const size_t length = strlen(space);
    cse_text *made = &s->to->text;
    while (s->rules->removes_spaces && made->size >= length &&
           memcmp(made->data + made->size - length, space, length) == 0) {
        made->size -= length;
        if (s->from->origins != NULL)
            end = s->to->origins[made->size].begin;
    }
    return end;
}

void cse_sentence_text_add(const cse_sentence_rules *rules, const cse_text_view *from,
                           cse_aligned_text *to)
{
    sentence s = { .rules = rules, .from = from, .to = to };
    skip_leading(&s);
    if (s.read == from->size)
        return;
    if (rules->adds_space && !rules->space_is_suffix)
        put_space(&s);
    put_all(&s);
    const size_t end = drop_trailing(&s, from->origins != NULL ? place_here(&s) : 0);
    const size_t size = to->text.size;
    if (rules->adds_space && rules->space_is_suffix)
        put_space(&s);
    for (size_t i = size > 0 ? size - 1 : 0; from->origins != NULL && i < to->text.size; i++) {
        to->origins[i].end = end;
        if (i >= size)
            to->origins[i].begin = end;
    }
}
