/* Words are counted once; a merge changes only the words that hold its pair. A heap has the pairs
 * by the count they had when they came in: one whose count has changed goes back with the new one.
 */
#include "dataloader/tokenizer/train.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/pair_table.h"
#include "dataloader/tokenizer/text/byte_characters.h"
#include "dataloader/tokenizer/tokenizer_parts.h"
#include "dataloader/tokenizer/train_unigram.h"
#include "dataloader/tokenizer/word_hash.h"
#include "engine/base/json.h"

enum { BYTES = 256, FIRST_BYTE_TOKEN = 1 };

static const char end_of_text[] = "<|endoftext|>";

/* A pair in the heap. */
typedef struct waiting {
    int64_t count;
    size_t entry;
    uint64_t pair;
} waiting;

struct cse_tokenizer_trainer {
    cse_tokenizer splitter; /* a pre-tokenizer alone */
    cse_encoder *encoder;
    cse_word_counts counts;
    cse_trainer_kind kind;
    cse_pair_table pairs;
    waiting *heap;
    size_t heap_count, heap_capacity;
    cse_text *tokens; /* [token_count] their bytes */
    size_t token_count, token_capacity;
    uint32_t *token_index; /* [token_slots]: 1 + the token; 0: free */
    size_t token_slots;
    uint64_t *merges; /* the pairs, in order */
    size_t merge_count, merge_capacity;
};

static cse_status cut_at_spaces(cse_pre_tokenizers *pre)
{
    json_t *entry = json_loads(cse_unigram_words, 0, NULL);
    cse_status status = cse_pre_tokenizers_read(pre, entry, false);
    json_decref(entry);
    return status;
}

cse_tokenizer_trainer *cse_tokenizer_trainer_new(cse_trainer_kind kind)
{
    cse_tokenizer_trainer *trainer = cse_calloc(1, sizeof *trainer);
    cse_pre_tokenizers *pre = &trainer->splitter.pre_tokenizers;
    trainer->kind = kind;
    if ((kind == CSE_TRAIN_BPE ? cse_pre_tokenizers_of_gpt2(pre) : cut_at_spaces(pre)) != CSE_OK)
        cse_tokenizer_trainer_destroy(&trainer);
    else
        trainer->encoder = cse_encoder_new(&trainer->splitter);
    return trainer;
}

void cse_tokenizer_trainer_destroy(cse_tokenizer_trainer **trainer)
{
    cse_tokenizer_trainer *t = *trainer;
    if (t == NULL)
        return;
    cse_encoder_close(&t->encoder);
    cse_pre_tokenizers_clear(&t->splitter.pre_tokenizers);
    cse_word_counts_clear(&t->counts);
    cse_pair_table_clear(&t->pairs);
    for (size_t i = 0; i < t->token_count; i++)
        cse_text_clear(&t->tokens[i]);
    free(t->heap);
    free(t->tokens);
    free(t->token_index);
    free(t->merges);
    free(t);
    *trainer = NULL;
}

cse_status cse_tokenizer_trainer_add(cse_tokenizer_trainer *trainer, const char *text, size_t size)
{
    const cse_word_sink sink = { cse_word_counts_add, &trainer->counts };
    return cse_encoder_words(trainer->encoder, text, size, &sink);
}

/* ---- pairs ---- */

static bool is_first(const waiting *a, const waiting *b)
{
    return a->count != b->count ? a->count > b->count : a->pair < b->pair;
}

static void push(cse_tokenizer_trainer *t, size_t entry)
{
    const waiting added = { .count = t->pairs.entries[entry].count,
                            .entry = entry,
                            .pair = t->pairs.entries[entry].pair };
    if (added.count < 1)
        return;
    CSE_GROW(t->heap, t->heap_count, t->heap_capacity);
    size_t i = t->heap_count++;
    for (; i > 0 && is_first(&added, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = added;
}

static waiting pop(cse_tokenizer_trainer *t)
{
    const waiting first = t->heap[0], last = t->heap[--t->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < t->heap_count; i = child) {
        if (child + 1 < t->heap_count && is_first(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!is_first(&t->heap[child], &last))
            break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = last;
    return first;
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static size_t change(cse_tokenizer_trainer *t, uint64_t pair, int64_t by, int32_t word)
{
    const size_t place = cse_pair_table_at(&t->pairs, pair);
    cse_pair_entry *entry = &t->pairs.entries[place];
    entry->count += by;
    if (by > 0)
        cse_pair_entry_note_word(entry, word);
    return place;
}

static void index_token(cse_tokenizer_trainer *t, size_t token)
{
    const cse_text *bytes = &t->tokens[token];
    size_t slot = (size_t)cse_word_hash(bytes->data, bytes->size) & (t->token_slots - 1);
    while (t->token_index[slot] != 0)
        slot = (slot + 1) & (t->token_slots - 1);
    t->token_index[slot] = (uint32_t)token + 1;
}

/* Tokens of the bytes are in the order of the characters that stand for them. */
static void begin_tokens(cse_tokenizer_trainer *t, int32_t token_of_byte[BYTES], int64_t most)
{
    for (int byte = 0; byte < BYTES; byte++) {
        int before = 0;
        for (int other = 0; other < BYTES; other++)
            before +=
                cse_byte_character((unsigned char)other) < cse_byte_character((unsigned char)byte);
        token_of_byte[byte] = FIRST_BYTE_TOKEN + before;
    }
    t->token_count = t->token_capacity = BYTES + FIRST_BYTE_TOKEN;
    t->tokens = cse_calloc(t->token_count, sizeof *t->tokens);
    cse_text_add(&t->tokens[0], end_of_text);
    for (int byte = 0; byte < BYTES; byte++) {
        const char one = (char)byte;
        cse_text_add_bytes(&t->tokens[token_of_byte[byte]], &one, 1);
    }
    for (t->token_slots = 1024; t->token_slots < (size_t)most * 2;)
        t->token_slots *= 2;
    t->token_index = cse_calloc(t->token_slots, sizeof *t->token_index);
    for (size_t token = 1; token < t->token_count; token++)
        index_token(t, token);
}

static void count_pairs(cse_tokenizer_trainer *t, const int32_t token_of_byte[BYTES])
{
    for (size_t w = 0; w < t->counts.count; w++) {
        cse_counted_word *word = &t->counts.words[w];
        word->tokens = cse_arena_alloc(t->counts.arena, (size_t)word->size * sizeof(int32_t));
        for (int32_t i = 0; i < word->size; i++)
            word->tokens[i] = token_of_byte[(unsigned char)word->bytes[i]];
        for (int32_t i = 0; i + 1 < word->size; i++)
            change(t, pair_of(word->tokens[i], word->tokens[i + 1]), word->count, (int32_t)w);
    }
    for (size_t i = 0; i < t->pairs.count; i++)
        push(t, i);
}

/* The places of pairs that grew, for the heap. */
typedef struct grown {
    size_t *places;
    size_t count, capacity;
} grown;

static void note_grown(cse_tokenizer_trainer *t, uint64_t pair, int32_t w, grown *list)
{
    CSE_GROW(list->places, list->count, list->capacity);
    list->places[list->count++] = change(t, pair, t->counts.words[w].count, w);
}

static void merge_in_word(cse_tokenizer_trainer *t, int32_t w, uint64_t pair, int32_t token,
                          grown *list)
{
    cse_counted_word *word = &t->counts.words[w];
    const int32_t left = (int32_t)(pair >> 32), right = (int32_t)(uint32_t)pair;
    int32_t out = 0;
    for (int32_t i = 0; i < word->length; i++) {
        if (word->tokens[i] != left || i + 1 == word->length || word->tokens[i + 1] != right) {
            word->tokens[out++] = word->tokens[i];
            continue;
        }
        if (out > 0) {
            change(t, pair_of(word->tokens[out - 1], left), -word->count, w);
            note_grown(t, pair_of(word->tokens[out - 1], token), w, list);
        }
        if (i + 2 < word->length) {
            change(t, pair_of(right, word->tokens[i + 2]), -word->count, w);
            note_grown(t, pair_of(token, word->tokens[i + 2]), w, list);
        }
        word->tokens[out++] = token;
        i++;
    }
    word->length = out;
}

static int by_number(const void *a, const void *b)
{
    const size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return (left > right) - (left < right);
}

/* The number of the token with these bytes, -1 where there is none. */
static int32_t find_token(const cse_tokenizer_trainer *t, const cse_text *bytes)
{
    size_t slot = (size_t)cse_word_hash(bytes->data, bytes->size) & (t->token_slots - 1);
    for (uint32_t token; (token = t->token_index[slot]) != 0;
         slot = (slot + 1) & (t->token_slots - 1)) {
        const cse_text *known = &t->tokens[token - 1];
        if (known->size == bytes->size && memcmp(known->data, bytes->data, known->size) == 0)
            return (int32_t)token - 1;
    }
    return -1;
}

/* What the pair becomes: other pairs may have made the same token before. */
static int32_t token_for(cse_tokenizer_trainer *t, uint64_t pair)
{
    const cse_text *left = &t->tokens[pair >> 32], *right = &t->tokens[(uint32_t)pair];
    cse_text both = { 0 };
    cse_text_add_bytes(&both, left->data, left->size);
    cse_text_add_bytes(&both, right->data, right->size);
    const int32_t found = find_token(t, &both);
    if (found >= 0) {
        cse_text_clear(&both);
        return found;
    }
    CSE_GROW(t->tokens, t->token_count, t->token_capacity);
    t->tokens[t->token_count] = both;
    index_token(t, t->token_count);
    return (int32_t)t->token_count++;
}

static void merge(cse_tokenizer_trainer *t, const waiting *top, int32_t token)
{
    grown list = { 0 };
    CSE_GROW(t->merges, t->merge_count, t->merge_capacity);
    t->merges[t->merge_count++] = top->pair;
    cse_pair_entry *entry = &t->pairs.entries[top->entry];
    int32_t *words = entry->words;
    const int32_t count = entry->word_count;
    entry->words = NULL;
    entry->word_count = entry->word_capacity = 0;
    entry->last_word = -1;
    for (int32_t i = 0; i < count; i++)
        merge_in_word(t, words[i], top->pair, token, &list);
    free(words);
    if (list.count > 0)
        qsort(list.places, list.count, sizeof *list.places, by_number);
    for (size_t i = 0; i < list.count; i++)
        if (i == 0 || list.places[i] != list.places[i - 1])
            push(t, list.places[i]);
    free(list.places);
}

/* ---- the file ---- */

static void add_token_text(const cse_text *bytes, cse_text *json)
{
    cse_text characters = { 0 };
    cse_byte_characters_add(&characters, bytes->data, bytes->size);
    cse_json_add_string(json, characters.data);
    cse_text_clear(&characters);
}

static void write_json(const cse_tokenizer_trainer *t, cse_text *json)
{
    static const char byte_level[] =
        "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
        "\"use_regex\":true}";
    cse_text_add(json,
                 "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{"
                 "\"id\":0,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,"
                 "\"rstrip\":false,\"normalized\":false,\"special\":true}],\"normalizer\":null,"
                 "\"pre_tokenizer\":%s,\"post_processor\":null,\"decoder\":%s,\"model\":{"
                 "\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
                 "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
                 "\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{"
                 "\"%s\":0",
                 end_of_text, byte_level, byte_level, end_of_text);
    for (size_t token = 1; token < t->token_count; token++) {
        cse_text_add(json, ",\n");
        add_token_text(&t->tokens[token], json);
        cse_text_add(json, ":%zu", token);
    }
    cse_text_add(json, "},\n\"merges\":[");
    for (size_t i = 0; i < t->merge_count; i++) {
        cse_text_add(json, i == 0 ? "[" : ",\n[");
        add_token_text(&t->tokens[t->merges[i] >> 32], json);
        cse_text_add(json, ",");
        add_token_text(&t->tokens[(uint32_t)t->merges[i]], json);
        cse_text_add(json, "]");
    }
    cse_text_add(json, "]}}\n");
}

cse_status cse_tokenizer_trainer_finish(cse_tokenizer_trainer *t, const cse_trainer_wish *wish,
                                        cse_text *json)
{
    int32_t token_of_byte[BYTES];
    if (t->kind == CSE_TRAIN_UNIGRAM)
        return cse_train_unigram(&t->counts, wish->vocab_size, json);
    if (wish->vocab_size < BYTES + FIRST_BYTE_TOKEN || wish->vocab_size > CSE_VOCABULARY_MOST)
        return cse_fail(CSE_USAGE, "a vocabulary of %lld tokens: accepted are %d to %d",
                        (long long)wish->vocab_size, BYTES + FIRST_BYTE_TOKEN, CSE_VOCABULARY_MOST);
    begin_tokens(t, token_of_byte, wish->vocab_size);
    count_pairs(t, token_of_byte);
    while ((int64_t)t->token_count < wish->vocab_size && t->heap_count > 0) {
        const waiting top = pop(t);
        if (top.count != t->pairs.entries[top.entry].count) {
            push(t, top.entry);
            continue;
        }
        if (top.count < wish->min_frequency)
            break;
        merge(t, &top, token_for(t, top.pair));
        if (wish->tokens != NULL)
            wish->tokens(wish->self, (int64_t)t->token_count);
    }
    write_json(t, json);
    return CSE_OK;
}
