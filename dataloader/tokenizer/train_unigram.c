/* Expected counts of pieces over all ways to cut each word (forwards and backwards) give their
 * probabilities; then the pieces are left out whose words are nearly as likely without them, a
 * quarter of all each time. Characters stay. */
#include "dataloader/tokenizer/train_unigram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/piece_trie.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/word_hash.h"
#include "engine/base/json.h"

enum {
    MOST_CHARACTERS = 16, /* of a piece */
    MOST_SEEDS = 1000000,
    ROUNDS = 2, /* of expectation and maximisation before pieces are left out */
    FIXED_TOKENS = 2 + 256
};

#define METASPACE                                                    \
    "{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_" \
    "scheme\":\"always\",\"split\":true}"

const char cse_unigram_words[] =
    "{\"type\":\"Sequence\",\"pretokenizers\":[" METASPACE ",{\"type\":\"Split\",\"pattern\":{"
    "\"Regex\":\"\\\\s+\"},\"behavior\":\"Isolated\",\"invert\":false}]}";

static const double kept_share = 0.75, covered_share = 0.9995, least_count = 0.5;
static const double unknown_penalty = 10.0;

typedef struct piece {
    const char *bytes; /* in a word, or of the arena */
    uint32_t size;
    bool is_character;
    double count, score, loss;
} piece;

typedef struct training {
    const cse_word_counts *counts;
    cse_arena *arena;
    piece *pieces;
    size_t count, capacity;
    uint32_t *index; /* [slots]: 1 + the piece, while they are counted */
    size_t slots;
    cse_vocabulary vocabulary; /* of the pieces now */
    cse_piece_trie trie;
    double unknown_score;
    double *forwards, *backwards; /* [longest word + 1] */
} training;

/* ---- pieces to begin with ---- */

static size_t slot_of(const training *t, const char *bytes, uint32_t size)
{
    size_t slot = (size_t)cse_word_hash(bytes, size) & (t->slots - 1);
    while (t->index[slot] != 0) {
        const piece *one = &t->pieces[t->index[slot] - 1];
        if (one->size == size && memcmp(one->bytes, bytes, size) == 0)
            break;
        slot = (slot + 1) & (t->slots - 1);
    }
    return slot;
}

static void grow(training *t)
{
    t->slots = t->slots == 0 ? 1 << 16 : t->slots * 2;
    free(t->index);
    t->index = cse_calloc(t->slots, sizeof *t->index);
    for (size_t i = 0; i < t->count; i++)
        t->index[slot_of(t, t->pieces[i].bytes, t->pieces[i].size)] = (uint32_t)i + 1;
}

static void count_piece(training *t, const char *bytes, size_t size, double count)
{
    if (t->count * 2 >= t->slots)
        grow(t);
    const size_t slot = slot_of(t, bytes, (uint32_t)size);
    if (t->index[slot] == 0) {
        CSE_GROW(t->pieces, t->count, t->capacity);
        t->pieces[t->count] = (piece){ .bytes = bytes, .size = (uint32_t)size };
        t->index[slot] = (uint32_t)++t->count;
    }
    t->pieces[t->index[slot] - 1].count += count;
}

static void count_pieces_of_word(training *t, const cse_counted_word *word)
{
    const size_t size = (size_t)word->size;
    for (size_t begin = 0, step; begin < size; begin += step) {
        size_t end = begin, length;
        cse_character_at(word->bytes + begin, &step);
        for (int characters = 1; end < size && characters <= MOST_CHARACTERS; characters++) {
            if (word->bytes[end] == '\0')
                break;
            cse_character_at(word->bytes + end, &length);
            end += length;
            count_piece(t, word->bytes + begin, end - begin, (double)word->count);
        }
    }
}

/* Characters by their counts, then pieces by the bytes that they cover. */
static int by_worth(const void *a, const void *b)
{
    const piece *left = a, *right = b;
    if (left->is_character != right->is_character)
        return right->is_character - left->is_character;
    const double worth[2] = { left->count * (left->is_character ? 1 : left->size),
                              right->count * (right->is_character ? 1 : right->size) };
    if (worth[0] != worth[1])
        return worth[0] < worth[1] ? 1 : -1;
    const uint32_t common = left->size < right->size ? left->size : right->size;
    const int order = memcmp(left->bytes, right->bytes, common);
    return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

/* How many characters are kept: rare ones are bytes. */
static size_t covering_characters(const training *t, size_t characters)
{
    double all = 0, covered = 0;
    size_t kept = 0;
    for (size_t i = 0; i < characters; i++)
        all += t->pieces[i].count;
    while (kept < characters && covered < all * covered_share)
        covered += t->pieces[kept++].count;
    return kept;
}

/* Pieces that occur once are no help. */
static void choose_seeds(training *t)
{
    size_t characters = 0;
    for (size_t i = 0; i < t->count; i++) {
        size_t length;
        cse_character_at(t->pieces[i].bytes, &length);
        t->pieces[i].is_character = length == t->pieces[i].size;
        characters += t->pieces[i].is_character;
    }
    qsort(t->pieces, t->count, sizeof *t->pieces, by_worth);
    size_t out = covering_characters(t, characters);
    for (size_t i = characters; i < t->count && out < MOST_SEEDS; i++)
        if (t->pieces[i].count >= 2)
            t->pieces[out++] = t->pieces[i];
    t->count = out;
    free(t->index);
    t->index = NULL;
    double all = 0;
    for (size_t i = 0; i < t->count; i++) {
        t->pieces[i].bytes =
            cse_arena_printf(t->arena, "%.*s", (int)t->pieces[i].size, t->pieces[i].bytes);
        all += t->pieces[i].count * (t->pieces[i].is_character ? 1 : t->pieces[i].size);
    }
    for (size_t i = 0; i < t->count; i++)
        t->pieces[i].score =
            log(t->pieces[i].count * (t->pieces[i].is_character ? 1 : t->pieces[i].size) / all);
}

/* ---- expectation and maximisation ---- */

static cse_status index_pieces(training *t)
{
    cse_vocabulary_clear(&t->vocabulary);
    t->unknown_score = 0;
    for (size_t i = 0; i < t->count; i++) {
        CSE_TRY(cse_vocabulary_put(&t->vocabulary, (int64_t)i, t->pieces[i].bytes,
                                   CSE_TOKEN_OF_CHARACTERS));
        t->unknown_score = fmin(t->unknown_score, t->pieces[i].score);
    }
    t->unknown_score -= unknown_penalty;
    cse_piece_trie_make(&t->trie, &t->vocabulary, NULL, NULL);
    return CSE_OK;
}

static double log_sum(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;
    return least == -INFINITY ? most : most + log1p(exp(least - most));
}

/* A walk over the pieces that begin at a place: the next one's end, 0 for none. */
typedef struct walk {
    size_t at;
    uint32_t node;
    int32_t id; /* of the piece; -1: a character that is none */
    bool has_one;
} walk;

static size_t next_piece(const training *t, const cse_counted_word *word, size_t begin, walk *w)
{
    const size_t size = (size_t)word->size;
    while (w->at < size) {
        w->node = cse_piece_trie_next(&t->trie, w->node, (unsigned char)word->bytes[w->at]);
        if (w->node == 0)
            break;
        w->at++;
        w->id = t->trie.nodes[w->node].id;
        if (w->id >= 0) {
            w->has_one |= t->pieces[w->id].is_character;
            return w->at;
        }
    }
    w->at = size; /* no more pieces */
    if (w->has_one)
        return 0;
    size_t length;
    cse_character_at(word->bytes + begin, &length);
    w->has_one = true;
    w->id = -1;
    return begin + length;
}

static double score_of(const training *t, const walk *w)
{
    return w->id >= 0 ? t->pieces[w->id].score : t->unknown_score;
}

/* Adds what is expected of each piece in the word. */
static void expect_in_word(training *t, const cse_counted_word *word)
{
    const size_t size = (size_t)word->size;
    double *forwards = t->forwards, *backwards = t->backwards;
    for (size_t i = 0; i <= size; i++)
        forwards[i] = backwards[i] = -INFINITY;
    forwards[0] = backwards[size] = 0;
    for (size_t begin = 0, end; begin < size; begin++) {
        walk w = { .at = begin };
        if (forwards[begin] == -INFINITY)
            continue;
        while ((end = next_piece(t, word, begin, &w)) != 0)
            forwards[end] = log_sum(forwards[end], forwards[begin] + score_of(t, &w));
    }
    for (size_t begin = size, end; begin-- > 0;) {
        walk w = { .at = begin };
        if (forwards[begin] == -INFINITY)
            continue;
        while ((end = next_piece(t, word, begin, &w)) != 0) {
            const double rest = score_of(t, &w) + backwards[end];
            backwards[begin] = log_sum(backwards[begin], rest);
            if (w.id >= 0)
                t->pieces[w.id].count +=
                    (double)word->count * exp(forwards[begin] + rest - forwards[size]);
        }
    }
}

/* The derivative of the logarithm of the gamma function, by its asymptotic series. */
static double digamma(double x)
{
    double sum = 0;
    for (; x < 7; x++)
        sum -= 1 / x;
    const double inverse = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           inverse * (1.0 / 12 - inverse * (1.0 / 120 - inverse * (1.0 / 252)));
}

static cse_status improve(training *t)
{
    double all = 0;
    size_t out = 0;
    CSE_TRY(index_pieces(t));
    for (size_t i = 0; i < t->count; i++)
        t->pieces[i].count = 0;
    for (size_t w = 0; w < t->counts->count; w++)
        expect_in_word(t, &t->counts->words[w]);
    for (size_t i = 0; i < t->count; i++) {
        if (t->pieces[i].count < least_count && !t->pieces[i].is_character)
            continue;
        t->pieces[out] = t->pieces[i];
        t->pieces[out].count = fmax(t->pieces[out].count, least_count);
        all += t->pieces[out++].count;
    }
    t->count = out;
    for (size_t i = 0; i < t->count; i++)
        t->pieces[i].score = digamma(t->pieces[i].count) - digamma(all);
    return CSE_OK;
}

/* ---- leaving out ---- */

/* The best score of the bytes of a piece without itself. */
static double score_without(const training *t, size_t number, double *best)
{
    const piece *one = &t->pieces[number];
    const cse_counted_word word = { .bytes = (char *)(uintptr_t)one->bytes,
                                    .size = (int32_t)one->size };
    for (size_t i = 0; i <= one->size; i++)
        best[i] = -INFINITY;
    best[0] = 0;
    for (size_t begin = 0, end; begin < one->size; begin++) {
        walk w = { .at = begin };
        if (best[begin] == -INFINITY)
            continue;
        while ((end = next_piece(t, &word, begin, &w)) != 0)
            if (w.id != (int32_t)number)
                best[end] = fmax(best[end], best[begin] + score_of(t, &w));
    }
    return best[one->size];
}

static int by_loss(const void *a, const void *b)
{
    const piece *left = a, *right = b;
    if (left->is_character != right->is_character)
        return right->is_character - left->is_character;
    if (left->loss != right->loss)
        return left->loss < right->loss ? 1 : -1;
    return strcmp(left->bytes, right->bytes);
}

/* Keeps `kept` pieces, or all characters where these are more. */
static cse_status leave_out(training *t, size_t kept)
{
    size_t characters = 0;
    CSE_TRY(index_pieces(t));
    for (size_t i = 0; i < t->count; i++) {
        piece *one = &t->pieces[i];
        characters += one->is_character;
        if (!one->is_character)
            one->loss = one->count * (one->score - score_without(t, i, t->forwards));
    }
    qsort(t->pieces, t->count, sizeof *t->pieces, by_loss);
    if (kept < characters)
        kept = characters;
    t->count = t->count < kept ? t->count : kept;
    return CSE_OK;
}

/* ---- the file ---- */

static int by_score(const void *a, const void *b)
{
    const piece *left = a, *right = b;
    if (left->score != right->score)
        return left->score < right->score ? 1 : -1;
    return strcmp(left->bytes, right->bytes);
}

static void write_json(const training *t, cse_text *json)
{
    const double least = t->unknown_score - unknown_penalty; /* no text prefers these */
    cse_text_add(json,
                 "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{"
                 "\"id\":0,\"content\":\"<|endoftext|>\",\"single_word\":false,\"lstrip\":false,"
                 "\"rstrip\":false,\"normalized\":false,\"special\":true}],\"normalizer\":null,"
                 "\"pre_tokenizer\":%s,\"post_processor\":null,\"decoder\":{\"type\":\"Sequence\","
                 "\"decoders\":[{\"type\":\"ByteFallback\"},%s]},\"model\":{\"type\":\"Unigram\","
                 "\"unk_id\":1,\"byte_fallback\":true,\"vocab\":[[\"<|endoftext|>\",0],\n"
                 "[\"<unk>\",0]",
                 cse_unigram_words, METASPACE);
    for (int byte = 0; byte < 256; byte++)
        cse_text_add(json, ",\n[\"<0x%02X>\",%.6f]", byte, least);
    for (size_t i = 0; i < t->count; i++) {
        cse_text_add(json, ",\n[");
        cse_json_add_string(json, t->pieces[i].bytes);
        cse_text_add(json, ",%.10f]", t->pieces[i].score);
    }
    cse_text_add(json, "]}}\n");
}

/* Characters, and of the other pieces the most likely. */
static cse_status keep_likely(training *t, size_t wanted)
{
    size_t characters = 0;
    for (size_t i = 0; i < t->count; i++) {
        characters += t->pieces[i].is_character;
        t->pieces[i].loss = t->pieces[i].score;
    }
    if (characters > wanted)
        return cse_fail(CSE_USAGE,
                        "the text has %zu different characters that are not rare: a vocabulary of "
                        "%d tokens or more is needed",
                        characters, (int)characters + FIXED_TOKENS);
    qsort(t->pieces, t->count, sizeof *t->pieces, by_loss);
    t->count = t->count < wanted ? t->count : wanted;
    qsort(t->pieces, t->count, sizeof *t->pieces, by_score);
    return CSE_OK;
}

static cse_status train(training *t, size_t wanted)
{
    size_t longest = MOST_CHARACTERS * 4;
    for (size_t w = 0; w < t->counts->count; w++) {
        const size_t size = (size_t)t->counts->words[w].size;
        longest = size > longest ? size : longest;
        count_pieces_of_word(t, &t->counts->words[w]);
    }
    choose_seeds(t);
    t->forwards = cse_malloc((longest + 1) * sizeof *t->forwards);
    t->backwards = cse_malloc((longest + 1) * sizeof *t->backwards);
    const size_t nearly = wanted + wanted / 10;
    for (;;) {
        for (int round = 0; round < ROUNDS; round++)
            CSE_TRY(improve(t));
        if (t->count <= nearly)
            break;
        const size_t before = t->count, less = (size_t)((double)t->count * kept_share);
        CSE_TRY(leave_out(t, less > nearly ? less : nearly));
        if (t->count == before)
            break;
    }
    CSE_TRY(keep_likely(t, wanted));
    return index_pieces(t);
}

cse_status cse_train_unigram(const cse_word_counts *counts, int64_t vocab_size, cse_text *json)
{
    training t = { .counts = counts, .arena = cse_arena_new() };
    cse_status status =
        vocab_size > FIXED_TOKENS && vocab_size <= CSE_VOCABULARY_MOST
            ? train(&t, (size_t)(vocab_size - FIXED_TOKENS))
            : cse_fail(CSE_USAGE, "a vocabulary of %lld tokens: accepted are %d to %d",
                       (long long)vocab_size, FIXED_TOKENS + 1, CSE_VOCABULARY_MOST);
    if (status == CSE_OK)
        write_json(&t, json);
    cse_vocabulary_clear(&t.vocabulary);
    cse_piece_trie_clear(&t.trie);
    cse_arena_destroy(&t.arena);
    free(t.pieces);
    free(t.index);
    free(t.forwards);
    free(t.backwards);
    return status;
}
