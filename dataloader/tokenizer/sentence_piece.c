/* A message of pieces and two of settings. Pairs of pieces that together are a piece become merges,
 * those of the highest score first. */
#include "dataloader/tokenizer/sentence_piece.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/protobuf_fields.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/tokenizer_rules.h"
#include "dataloader/tokenizer/word_models.h"

typedef enum piece_kind { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE } piece_kind;

enum { UNIGRAM = 1, BPE = 2 };

typedef struct piece {
    const char *text; /* of the arena */
    float score;
    int kind;
} piece;

typedef struct model {
    cse_tokenizer *t;
    piece *pieces;
    size_t count, capacity;
    uint64_t type;
    bool falls_back;
    const char *unknown_text; /* what an unknown token is decoded to */
    cse_sentence_rules rules;
    cse_protobuf_message map; /* of characters */
} model;

/* ---- the messages ---- */

/* A text of the file; CSE_DATA where it is no UTF-8 or has a zero byte. */
static cse_status take_text(const model *m, const cse_protobuf_field *field, const char *what,
                            const char **text)
{
    const char *bytes = (const char *)field->inner.bytes;
    const size_t size = field->inner.size;
    for (size_t i = 0, length; i < size; i += length) {
        length = cse_utf8_length(bytes + i, size - i);
        if (length == 0 || bytes[i] == '\0')
            return cse_fail(CSE_DATA, "%s %zu is no text in UTF-8", what, m->count);
    }
    *text = cse_arena_printf(m->t->vocabulary.arena, "%.*s", (int)size, size > 0 ? bytes : "");
    return CSE_OK;
}

static cse_status read_piece(model *m, cse_protobuf_message message)
{
    cse_protobuf_field field;
    piece read = { .text = "", .kind = NORMAL };
    if (m->count == CSE_VOCABULARY_MOST)
        return cse_fail(CSE_DATA, "it has more than %d pieces", CSE_VOCABULARY_MOST);
    for (;;) {
        CSE_TRY(cse_protobuf_next(&message, &field));
        if (field.number == 0)
            break;
        if (field.number == 1 && field.wire == 2)
            CSE_TRY(take_text(m, &field, "piece", &read.text));
        else if (field.number == 2 && field.wire == 5)
            read.score = cse_protobuf_float(&field);
        else if (field.number == 3 && field.wire == 0)
            read.kind = (int)(field.integer & INT32_MAX);
    }
    if (*read.text == '\0' || !isfinite(read.score) || read.kind < NORMAL || read.kind > BYTE)
        return cse_fail(CSE_DATA,
                        "piece %zu has no text, a score that is no number, or the kind "
                        "%d: accepted are 1 to 6",
                        m->count, read.kind);
    CSE_GROW(m->pieces, m->count, m->capacity);
    m->pieces[m->count++] = read;
    return CSE_OK;
}

static cse_status read_trainer(model *m, cse_protobuf_message message)
{
    cse_protobuf_field field;
    for (;;) {
        CSE_TRY(cse_protobuf_next(&message, &field));
        if (field.number == 0)
            return CSE_OK;
        if (field.number == 3 && field.wire == 0)
            m->type = field.integer;
        else if (field.number == 24 && field.wire == 0)
            m->rules.space_is_suffix = field.integer != 0;
        else if (field.number == 35 && field.wire == 0)
            m->falls_back = field.integer != 0;
        else if (field.number == 44 && field.wire == 2)
            CSE_TRY(take_text(m, &field, "unk_surface, beside piece", &m->unknown_text));
    }
}

static cse_status read_normalizer(model *m, cse_protobuf_message message)
{
    cse_protobuf_field field;
    for (;;) {
        CSE_TRY(cse_protobuf_next(&message, &field));
        if (field.number == 0)
            return CSE_OK;
        if (field.number == 2 && field.wire == 2)
            m->map = field.inner;
        else if (field.number == 3 && field.wire == 0)
            m->rules.adds_space = field.integer != 0;
        else if (field.number == 4 && field.wire == 0)
            m->rules.removes_spaces = field.integer != 0;
        else if (field.number == 5 && field.wire == 0)
            m->rules.escapes_spaces = field.integer != 0;
    }
}

static cse_status check_denormalizer(cse_protobuf_message message)
{
    cse_protobuf_field field;
    for (;;) {
        CSE_TRY(cse_protobuf_next(&message, &field));
        if (field.number == 0)
            return CSE_OK;
        if (field.number == 2 && field.inner.size > 0)
            return cse_fail(CSE_DATA, "it has a denormalizer_spec with a precompiled_charsmap, "
                                      "which is not accepted");
    }
}

static cse_status read_message(model *m, cse_protobuf_message message)
{
    cse_protobuf_field field;
    for (;;) {
        CSE_TRY(cse_protobuf_next(&message, &field));
        if (field.number == 0)
            return CSE_OK;
        if (field.wire != 2)
            continue;
        if (field.number == 1)
            CSE_TRY(read_piece(m, field.inner));
        else if (field.number == 2)
            CSE_TRY(read_trainer(m, field.inner));
        else if (field.number == 3)
            CSE_TRY(read_normalizer(m, field.inner));
        else if (field.number == 5)
            CSE_TRY(check_denormalizer(field.inner));
    }
}

/* ---- the vocabulary ---- */

/* What a token is decoded from: nothing for a control, and the text for an unknown one. */
static const char *shown_text(const model *m, const piece *one)
{
    return one->kind == CONTROL ? "" : one->kind == UNKNOWN ? m->unknown_text : one->text;
}

static cse_status put_pieces(model *m)
{
    cse_tokenizer *t = m->t;
    t->unknown = -1;
    t->scores = cse_calloc(m->count, sizeof *t->scores);
    for (size_t id = 0; id < m->count; id++) {
        const piece *one = &m->pieces[id];
        const bool is_word = one->kind == NORMAL || one->kind == USER_DEFINED;
        CSE_TRY(cse_vocabulary_put(&t->vocabulary, (int64_t)id, one->text,
                                   is_word ? CSE_TOKEN_OF_CHARACTERS : CSE_TOKEN_ADDED));
        cse_vocabulary_show(&t->vocabulary, (int64_t)id, shown_text(m, one), false);
        t->scores[id] = one->score;
        if (one->kind == UNKNOWN && t->unknown >= 0)
            return cse_fail(CSE_DATA, "pieces %d and %zu are both of the kind unknown",
                            (int)t->unknown, id);
        if (one->kind == UNKNOWN)
            t->unknown = (int32_t)id;
    }
    cse_vocabulary_index(&t->vocabulary);
    for (size_t id = 0; id < m->count; id++) {
        const cse_vocabulary_token *token = &t->vocabulary.tokens[id];
        const int32_t found = cse_vocabulary_find(&t->vocabulary, token->bytes, token->size);
        if (token->is_word && found != (int32_t)id)
            return cse_fail(CSE_DATA, "pieces %d and %zu are both \"%.60s\"", (int)found, id,
                            token->bytes);
    }
    return t->unknown >= 0 ? CSE_OK : cse_fail(CSE_DATA, "it has no piece of the kind unknown");
}

static cse_status put_bytes(model *m)
{
    cse_tokenizer *t = m->t;
    for (int byte = 0; byte < 256; byte++)
        t->fallback_of_byte[byte] = -1;
    for (size_t id = 0; id < m->count; id++) {
        const char *text = m->pieces[id].text;
        if (m->pieces[id].kind != BYTE)
            continue;
        if (strlen(text) != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>' ||
            !isxdigit((unsigned char)text[3]) || !isxdigit((unsigned char)text[4]))
            return cse_fail(CSE_DATA, "piece %zu is of the kind byte, and no \"<0xNN>\": \"%.60s\"",
                            id, text);
        t->fallback_of_byte[strtol(text + 3, NULL, 16)] = (int32_t)id;
    }
    for (int byte = 0; byte < 256 && m->falls_back; byte++)
        if (t->fallback_of_byte[byte] < 0)
            return cse_fail(CSE_DATA, "byte_fallback is on, and there is no piece <0x%02X>", byte);
    t->falls_back = m->falls_back;
    return CSE_OK;
}

static bool is_user_defined(const void *self, int32_t id)
{
    const model *m = self;
    return m->pieces[id].kind == USER_DEFINED;
}

static bool is_normal(const model *m, int32_t id)
{
    return id >= 0 && (size_t)id < m->count && m->pieces[id].kind == NORMAL;
}

/* ---- merges ---- */

typedef struct ranked {
    float score;
    int32_t id;
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *left = a, *right = b;
    return (left->score < right->score) - (left->score > right->score);
}

/* Each pair of pieces that together is this one. */
static void add_rules(const model *m, int32_t id, uint64_t rank)
{
    const cse_vocabulary *vocabulary = &m->t->vocabulary;
    const cse_vocabulary_token *token = &vocabulary->tokens[id];
    for (uint32_t cut = 1; cut < token->size; cut++) {
        if ((token->bytes[cut] & 0xc0) == 0x80)
            continue;
        const int32_t left = cse_vocabulary_find(vocabulary, token->bytes, cut);
        const int32_t right =
            is_normal(m, left)
                ? cse_vocabulary_find(vocabulary, token->bytes + cut, token->size - cut)
                : -1;
        if (is_normal(m, right))
            cse_merges_put(&m->t->merges, left, right, rank << 32 | (uint32_t)id);
    }
}

/* Pieces of the same score have the same rank: the leftmost of them comes first. */
static cse_status read_merges(model *m)
{
    size_t count = 0, characters = 0;
    uint64_t rank = 0;
    ranked *order = cse_malloc(m->count * sizeof *order);
    for (size_t id = 0; id < m->count; id++) {
        if (!is_normal(m, (int32_t)id))
            continue;
        order[count++] = (ranked){ m->pieces[id].score, (int32_t)id };
        characters += cse_count_characters(m->pieces[id].text, strlen(m->pieces[id].text)) - 1;
    }
    qsort(order, count, sizeof *order, by_score);
    cse_merges_make(&m->t->merges, characters);
    for (size_t i = 0; i < count; i++) {
        rank += i > 0 && order[i].score < order[i - 1].score;
        add_rules(m, order[i].id, rank);
    }
    free(order);
    m->t->fuses_unknown = true;
    m->t->model = &cse_bpe_model;
    return CSE_OK;
}

/* A character that is in a piece, and is none itself, would be merged only by its text. */
static cse_status check_characters(const model *m)
{
    for (size_t id = 0; id < m->count; id++) {
        const char *text = m->pieces[id].text;
        const size_t size = strlen(text);
        if (m->pieces[id].kind == UNUSED)
            return cse_fail(CSE_DATA,
                            "piece %zu is of the kind unused, which is accepted in models "
                            "of the type unigram",
                            id);
        for (size_t i = 0, length; i < size && m->pieces[id].kind == NORMAL; i += length) {
            cse_character_at(text + i, &length);
            if (cse_vocabulary_find(&m->t->vocabulary, text + i, length) < 0)
                return cse_fail(CSE_DATA, "piece %zu, \"%.60s\", has a character that is no piece",
                                id, text);
        }
    }
    return CSE_OK;
}

/* ---- scores ---- */

/* As the original computes them: numbers of 32 bits, and a user-defined piece before all others. */
static cse_status read_scores(model *m)
{
    cse_tokenizer *t = m->t;
    float least = 3.4028235e38f, most = 1.1754944e-38f;
    for (size_t id = 0; id < m->count; id++) {
        if (m->pieces[id].kind != NORMAL)
            continue;
        least = fminf(least, m->pieces[id].score);
        most = fmaxf(most, m->pieces[id].score);
    }
    for (size_t id = 0; id < m->count; id++)
        if (m->pieces[id].kind == USER_DEFINED)
            t->scores[id] = (double)((float)strlen(m->pieces[id].text) * most) - 0.1;
    t->unknown_score = least - 10.0f;
    t->adds_floats = true;
    cse_piece_trie_make(&t->trie, &t->vocabulary, NULL, NULL);
    t->model = &cse_unigram_model;
    return CSE_OK;
}

/* ---- the whole ---- */

static cse_status take(model *m)
{
    cse_tokenizer *t = m->t;
    CSE_TRY(put_pieces(m));
    CSE_TRY(put_bytes(m));
    cse_piece_trie_make(&t->user_trie, &t->vocabulary, is_user_defined, m);
    if (m->map.size > 0)
        CSE_TRY(cse_characters_map_read(m->map.bytes, m->map.size, &m->rules.map));
    m->rules.user_trie = &t->user_trie;
    CSE_TRY(cse_normalizers_of_sentences(&t->normalizers, &m->rules));
    cse_decoders_of_sentences(&t->decoders, m->rules.adds_space || m->rules.removes_spaces,
                              m->rules.removes_spaces);
    if (m->type == UNIGRAM)
        return read_scores(m);
    if (m->type != BPE)
        return cse_fail(CSE_DATA, "its model_type is %llu: accepted are 1 (unigram) and 2 (bpe)",
                        (unsigned long long)m->type);
    CSE_TRY(check_characters(m));
    return read_merges(m);
}

cse_status cse_sentence_piece_read(const void *bytes, size_t size, cse_tokenizer *tokenizer)
{
    model m = { .t = tokenizer,
                .type = UNIGRAM,
                .unknown_text = " \342\201\207 ",
                .rules = { .adds_space = true, .removes_spaces = true, .escapes_spaces = true } };
    tokenizer->vocabulary.arena = cse_arena_new();
    cse_status status = read_message(&m, (cse_protobuf_message){ bytes, size, 0 });
    if (status == CSE_OK && m.count == 0)
        status = cse_fail(CSE_DATA, "it has no pieces: is it a tokenizer.model?");
    if (status == CSE_OK)
        status = take(&m);
    free(m.pieces);
    return status == CSE_OK ? cse_tokenizer_finish(tokenizer) : status;
}
