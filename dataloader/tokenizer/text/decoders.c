/* A table of kinds: what each reads of its entry, and what it makes of one token's text. */
#include "dataloader/tokenizer/text/decoders.h"

#include <stdio.h>
#include <stdlib.h>

#include "dataloader/tokenizer/text/byte_characters.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/json_members.h"
#include "dataloader/tokenizer/text/sentence_text.h"
#include "engine/base/arena.h"

enum { MOST_DECODERS = 32, MOST_TIMES = 64, MORE_BYTES = 1 << 20, BYTE_TOKEN = 6 };

/* A token's text, and where what becomes of it goes. */
typedef struct one_token {
    const cse_decoder *decoder;
    cse_split_matcher *matcher;
    const char *text;
    size_t size, number, count; /* of all */
    const char *before;         /* the text of the token before it */
    size_t before_size;
    bool within; /* others stand before and behind them */
    cse_token_texts *to;
    size_t most;              /* bytes of them */
    size_t held;              /* bytes at the end of to->text that are byte tokens */
    bool at_begin, has_begun; /* of SentencePiece: a space of the begin was dropped */
} one_token;

struct cse_decoder {
    cse_status (*apply)(one_token *one);
    cse_split_pattern *pattern; /* of Replace */
    char *content;              /* what is put, a prefix, a suffix or a filler */
    char *delimiter;            /* of words, for CTC */
    uint32_t character;         /* of Metaspace and Strip */
    int64_t from_start, from_end;
    bool drops_first, cleans_up;
    bool is_of_whole; /* Strip of the text that Fuse made */
};

typedef struct kind {
    const char *name, *members;
    cse_status (*read)(cse_decoder *decoder, const json_t *entry);
    cse_status (*apply)(one_token *one);
} kind;

void cse_token_texts_end(cse_token_texts *texts)
{
    CSE_GROW(texts->ends, texts->count, texts->capacity);
    texts->ends[texts->count++] = texts->text.size;
}

void cse_token_texts_clear(cse_token_texts *texts)
{
    cse_text_clear(&texts->text);
    free(texts->ends);
    *texts = (cse_token_texts){ 0 };
}

static void put(one_token *one, const char *text, size_t size)
{
    cse_text_add_bytes(&one->to->text, text, size);
}

/* ---- Replace ---- */

static cse_status read_replace(cse_decoder *decoder, const json_t *entry)
{
    bool is_literal;
    const char *pattern = cse_json_pattern(entry, &is_literal);
    decoder->content = cse_strdup(cse_json_text(entry, "content"));
    return cse_split_pattern_new(pattern, is_literal, &decoder->pattern);
}

static cse_status apply_replace(one_token *one)
{
    cse_split_search search = { .text = one->text, .size = one->size };
    size_t done = 0, range[2];
    for (int found;
         (found = cse_split_next(one->decoder->pattern, one->matcher, &search, range)) != 0;) {
        if (found < 0)
            return cse_fail(CSE_DATA, "the pattern of the decoder Replace takes too many steps");
        put(one, one->text + done, range[0] - done);
        put(one, one->decoder->content, strlen(one->decoder->content));
        done = range[1];
        if (one->to->text.size > one->most)
            break;
    }
    put(one, one->text + done, one->size - done);
    cse_token_texts_end(one->to);
    return CSE_OK;
}

/* ---- ByteFallback: neighbours such as <0xC3> <0xA9> are one text ---- */

static int byte_of(const char *text, size_t size)
{
    char *end;
    if (size != BYTE_TOKEN || memcmp(text, "<0x", 3) != 0 || text[5] != '>' || text[3] == '+')
        return -1;
    const char digits[3] = { text[3], text[4], '\0' };
    const long value = strtol(digits, &end, 16);
    return *end == '\0' && digits[0] != ' ' && digits[0] != '-' ? (int)value : -1;
}

/* The bytes that were held back become a text, or an U+FFFD each. */
static void end_bytes(one_token *one)
{
    cse_text *text = &one->to->text;
    const size_t begin = text->size - one->held, count = one->held;
    bool is_text = true;
    for (size_t i = 0, length; i < count && is_text; i += length) {
        length = cse_utf8_length(text->data + begin + i, count - i);
        is_text = length > 0;
    }
    one->held = 0;
    if (count == 0)
        return;
    if (is_text) {
        cse_token_texts_end(one->to);
        return;
    }
    text->size = begin;
    for (size_t i = 0; i < count; i++) {
        cse_text_add_character(text, 0xfffd);
        cse_token_texts_end(one->to);
    }
}

static cse_status apply_byte_fallback(one_token *one)
{
    const int byte = byte_of(one->text, one->size);
    if (byte < 0) {
        end_bytes(one);
        put(one, one->text, one->size);
        cse_token_texts_end(one->to);
        return CSE_OK;
    }
    put(one, &(char){ (char)byte }, 1);
    if (one->within) {
        cse_token_texts_end(one->to);
        return CSE_OK;
    }
    one->held++;
    if (one->number + 1 == one->count)
        end_bytes(one);
    return CSE_OK;
}

/* ---- Fuse ---- */

static cse_status apply_fuse(one_token *one)
{
    put(one, one->text, one->size);
    if (one->within || one->number + 1 == one->count)
        cse_token_texts_end(one->to);
    return CSE_OK;
}

/* ---- Strip ---- */

static cse_status read_character(cse_decoder *decoder, const json_t *entry, const char *name)
{
    const char *text = cse_json_text(entry, name);
    size_t length = cse_utf8_length(text, strlen(text));
    if (length == 0 || text[length] != '\0')
        return cse_fail(CSE_DATA, "decoder %.60s has the %s \"%.60s\": accepted is one character",
                        cse_json_text(entry, "type"), name, text);
    decoder->character = cse_character_at(text, &length);
    return CSE_OK;
}

static cse_status read_strip(cse_decoder *decoder, const json_t *entry)
{
    decoder->from_start = json_integer_value(json_object_get(entry, "start"));
    decoder->from_end = json_integer_value(json_object_get(entry, "stop"));
    return read_character(decoder, entry, "content");
}

static cse_status apply_strip(one_token *one)
{
    const cse_decoder *d = one->decoder;
    size_t begin = 0, end = one->size, length;
    const bool is_end = !(one->within && d->is_of_whole);
    for (int64_t i = 0; is_end && i < d->from_start && begin < end; i++) {
        if (cse_character_at(one->text + begin, &length) != d->character)
            break;
        begin += length;
    }
    for (int64_t i = 0; is_end && i < d->from_end && end > begin; i++) {
        if (cse_character_before(one->text, end, &length) != d->character)
            break;
        end -= length;
    }
    put(one, one->text + begin, end - begin);
    cse_token_texts_end(one->to);
    return CSE_OK;
}

/* ---- Metaspace ---- */

static cse_status read_metaspace(cse_decoder *decoder, const json_t *entry)
{
    const char *scheme = cse_json_text(entry, "prepend_scheme");
    decoder->drops_first = *scheme != '\0' ? strcmp(scheme, "never") != 0
                                           : cse_json_is_on(entry, "add_prefix_space", true);
    return read_character(decoder, entry, "replacement");
}

static cse_status apply_metaspace(one_token *one)
{
    const cse_decoder *d = one->decoder;
    for (size_t i = 0, length; i < one->size; i += length)
        if (cse_character_at(one->text + i, &length) != d->character)
            put(one, one->text + i, length);
        else if (one->within || one->number > 0 || !d->drops_first)
            put(one, " ", 1);
    cse_token_texts_end(one->to);
    return CSE_OK;
}

/* ---- WordPiece and BPE's suffixes ---- */

static cse_status read_word_piece(cse_decoder *decoder, const json_t *entry)
{
    decoder->content = cse_strdup(cse_json_text(entry, "prefix"));
    decoder->cleans_up = cse_json_is_on(entry, "cleanup", true);
    return CSE_OK;
}

/* Puts another text for one, from `begin` on. */
static void replace_all(cse_text *text, size_t begin, const char *from, const char *to)
{
    const size_t size = strlen(from);
    cse_text made = { 0 };
    size_t done = begin;
    for (size_t i = begin; size > 0 && i + size <= text->size;)
        if (memcmp(text->data + i, from, size) == 0) {
            cse_text_add_bytes(&made, text->data + done, i - done);
            cse_text_add(&made, "%s", to);
            done = i += size;
        } else {
            i++;
        }
    cse_text_add_bytes(&made, text->data + done, text->size - done);
    text->size = begin;
    cse_text_add_bytes(text, made.data, made.size);
    cse_text_clear(&made);
}

/* Each of these replaced in turn, as in the original. */
static void clean_up(cse_text *text, size_t begin)
{
    static const char *const pairs[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },     { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },   { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++)
        replace_all(text, begin, pairs[p][0], pairs[p][1]);
}

static cse_status apply_word_piece(one_token *one)
{
    const char *prefix = one->decoder->content;
    const size_t begin = one->to->text.size, size = strlen(prefix);
    if (one->number == 0 && !one->within)
        put(one, one->text, one->size);
    else if (one->size >= size && memcmp(one->text, prefix, size) == 0)
        put(one, one->text + size, one->size - size);
    else {
        put(one, " ", 1);
        put(one, one->text, one->size);
    }
    if (one->decoder->cleans_up && one->to->text.size > begin)
        clean_up(&one->to->text, begin);
    cse_token_texts_end(one->to);
    return CSE_OK;
}

static cse_status read_suffix(cse_decoder *decoder, const json_t *entry)
{
    decoder->content = cse_strdup(cse_json_text(entry, "suffix"));
    return CSE_OK;
}

/* The suffix is a space, but at the end. */
static cse_status apply_suffix(one_token *one)
{
    const char *suffix = one->decoder->content;
    const size_t size = strlen(suffix);
    for (size_t i = 0; i < one->size;)
        if (size > 0 && one->size - i >= size && memcmp(one->text + i, suffix, size) == 0) {
            if (one->within || one->number + 1 < one->count)
                put(one, " ", 1);
            i += size;
        } else {
            put(one, one->text + i++, 1);
        }
    cse_token_texts_end(one->to);
    return CSE_OK;
}

/* ---- CTC: a token that is repeated is one; a filler stands between two that are the same ---- */

static cse_status read_ctc(cse_decoder *decoder, const json_t *entry)
{
    decoder->content = cse_strdup(cse_json_text(entry, "pad_token"));
    decoder->delimiter = cse_strdup(cse_json_text(entry, "word_delimiter_token"));
    decoder->cleans_up = cse_json_is_on(entry, "cleanup", true);
    return CSE_OK;
}

static cse_status apply_ctc(one_token *one)
{
    const size_t begin = one->to->text.size;
    if (one->number > 0 && one->before_size == one->size &&
        memcmp(one->before, one->text, one->size) == 0)
        return CSE_OK;
    put(one, one->text, one->size);
    replace_all(&one->to->text, begin, one->decoder->content, "");
    if (one->decoder->cleans_up && one->to->text.size > begin) {
        clean_up(&one->to->text, begin);
        replace_all(&one->to->text, begin, one->decoder->delimiter, " ");
    }
    if (one->to->text.size > begin)
        cse_token_texts_end(one->to);
    return CSE_OK;
}

/* ---- ByteLevel: characters that stand for bytes; all tokens become one text ---- */

/* What bytes make is text for the decoders behind. */
static void mend(cse_text *text)
{
    cse_text mended = { 0 };
    if (cse_is_utf8(text->data, text->size))
        return;
    cse_text_add_mended(&mended, text->data, text->size);
    cse_text_clear(text);
    *text = mended;
}

static cse_status apply_byte_level(one_token *one)
{
    char *bytes = cse_malloc(one->size + 1);
    const long count = cse_byte_characters_read(one->text, one->size, bytes);
    put(one, count >= 0 ? bytes : one->text, count >= 0 ? (size_t)count : one->size);
    free(bytes);
    if (one->number + 1 == one->count && !one->within)
        mend(&one->to->text);
    if (one->within || one->number + 1 == one->count)
        cse_token_texts_end(one->to);
    return CSE_OK;
}

/* ---- the list ---- */

static const kind kinds[] = {
    /* clang-format off */
    { "Replace", "pattern:p! content:s!", read_replace, apply_replace },
    { "ByteFallback", "", NULL, apply_byte_fallback },
    { "Fuse", "", NULL, apply_fuse },
    { "Strip", "content:s! start:i! stop:i!", read_strip, apply_strip },
    { "Metaspace", "replacement:s! add_prefix_space:b prepend_scheme:s split:b? str_rep:s",
      read_metaspace, apply_metaspace },
    { "WordPiece", "prefix:s! cleanup:b!", read_word_piece, apply_word_piece },
    { "BPEDecoder", "suffix:s!", read_suffix, apply_suffix },
    { "CTC", "pad_token:s! word_delimiter_token:s! cleanup:b!", read_ctc, apply_ctc },
    { "ByteLevel", "add_prefix_space:b trim_offsets:b use_regex:b", NULL, apply_byte_level },
    /* clang-format on */
};

static cse_status read_list(cse_decoders *decoders, const json_t *entry)
{
    char what[80];
    const json_t *list = json_object_get(entry, "decoders");
    const char *type = cse_json_text(entry, "type");
    if (strcmp(type, "Sequence") == 0) {
        CSE_TRY(cse_json_expect(entry, "decoder Sequence", "decoders:l!"));
        for (size_t i = 0; i < json_array_size(list); i++)
            CSE_TRY(read_list(decoders, json_array_get(list, i)));
        return CSE_OK;
    }
    const int index = CSE_JSON_KIND(kinds, entry);
    if (index < 0)
        return cse_fail(CSE_DATA,
                        "decoder is \"%.60s\": accepted are ByteLevel, Replace, ByteFallback, "
                        "Fuse, Strip, Metaspace, WordPiece, BPEDecoder, CTC and Sequence",
                        type);
    snprintf(what, sizeof what, "decoder %s", type);
    CSE_TRY(cse_json_expect(entry, what, kinds[index].members));
    if (decoders->count == MOST_DECODERS)
        return cse_fail(CSE_DATA, "there are more than %d decoders", MOST_DECODERS);
    CSE_GROW(decoders->list, decoders->count, decoders->capacity);
    cse_decoder *added = &decoders->list[decoders->count++];
    *added = (cse_decoder){ .apply = kinds[index].apply };
    for (int i = 0; i + 1 < decoders->count; i++)
        added->is_of_whole |= decoders->list[i].apply == apply_fuse;
    return kinds[index].read != NULL ? kinds[index].read(added, entry) : CSE_OK;
}

/* Where the first decoder is ByteLevel and others only join what it made, tokens are kept as bytes
 * and no decoder is needed. */
static void keep_bytes(cse_decoders *decoders)
{
    for (int i = 0; i < decoders->count; i++)
        if (decoders->list[i].apply != (i == 0 ? apply_byte_level : apply_fuse))
            return;
    if (decoders->count > 0)
        decoders->takes_bytes = true;
    decoders->count = 0;
}

cse_status cse_decoders_read(cse_decoders *decoders, const json_t *entry)
{
    decoders->joins_by_space = entry == NULL || json_is_null(entry);
    if (!decoders->joins_by_space)
        CSE_TRY(read_list(decoders, entry));
    keep_bytes(decoders);
    return CSE_OK;
}

/* ---- SentencePiece's ---- */

/* Each of the bytes that were held back and begin no character is an U+FFFD. */
static void end_sentence_bytes(one_token *one)
{
    cse_text *text = &one->to->text;
    cse_text held = { 0 };
    if (one->held == 0)
        return;
    cse_text_add_bytes(&held, text->data + text->size - one->held, one->held);
    text->size -= one->held;
    one->held = 0;
    for (size_t i = 0, length; i < held.size; i += length) {
        length = cse_utf8_length(held.data + i, held.size - i);
        if (length > 0)
            cse_text_add_bytes(text, held.data + i, length);
        else
            cse_text_add_character(text, 0xfffd);
        length += length == 0;
    }
    cse_text_clear(&held);
}

static void put_sentence_piece(one_token *one)
{
    static const char space[] = CSE_SENTENCE_SPACE;
    const size_t length = sizeof space - 1;
    const cse_decoder *d = one->decoder;
    size_t i = 0;
    if (one->has_begun || one->to->text.size > 0)
        one->at_begin = false;
    one->has_begun = false;
    if (one->at_begin && d->drops_first && one->size >= length &&
        memcmp(one->text, space, length) == 0) {
        i = length;
        one->has_begun = !d->cleans_up;
    }
    while (i < one->size) {
        if (one->size - i >= length && memcmp(one->text + i, space, length) == 0) {
            put(one, " ", 1);
            i += length;
        } else {
            put(one, one->text + i++, 1);
        }
    }
}

static cse_status apply_sentences(one_token *one)
{
    const int byte = byte_of(one->text, one->size);
    if (one->number == 0)
        one->at_begin = !one->within;
    if (byte >= 0) {
        put(one, &(char){ (char)byte }, 1);
        one->held += !one->within;
    } else {
        end_sentence_bytes(one);
        put_sentence_piece(one);
    }
    if (one->within || one->number + 1 == one->count) {
        end_sentence_bytes(one);
        cse_token_texts_end(one->to);
    }
    return CSE_OK;
}

void cse_decoders_of_sentences(cse_decoders *decoders, bool drops_space, bool drops_all)
{
    CSE_GROW(decoders->list, decoders->count, decoders->capacity);
    decoders->list[decoders->count++] = (cse_decoder){ .apply = apply_sentences,
                                                       .drops_first = drops_space,
                                                       .cleans_up = drops_all };
}

void cse_decoders_clear(cse_decoders *decoders)
{
    for (int i = 0; i < decoders->count; i++) {
        cse_split_pattern_destroy(&decoders->list[i].pattern);
        free(decoders->list[i].content);
        free(decoders->list[i].delimiter);
    }
    free(decoders->list);
    *decoders = (cse_decoders){ 0 };
}

/* `one` says how. */
static cse_status apply(one_token one, const cse_token_texts *from)
{
    size_t begin = 0;
    one.most = from->text.size * MOST_TIMES + MORE_BYTES;
    for (one.number = 0; one.number < from->count; one.number++) {
        one.text = from->text.data + begin;
        one.size = from->ends[one.number] - begin;
        if (one.within && !cse_is_utf8(one.text, one.size)) { /* a part of a character */
            put(&one, one.text, one.size);
            cse_token_texts_end(one.to);
        } else {
            CSE_TRY(one.decoder->apply(&one));
        }
        one.before = one.text;
        one.before_size = one.size;
        begin = from->ends[one.number];
        if (one.to->text.size > one.most)
            return cse_fail(CSE_DATA,
                            "a decoder makes more than %d times as many bytes of the "
                            "tokens",
                            MOST_TIMES);
    }
    return CSE_OK;
}

cse_status cse_decoders_apply(const cse_decoders *decoders, cse_token_texts *texts, bool within,
                              cse_text *to)
{
    cse_split_matcher *matcher = decoders->count > 0 ? cse_split_matcher_new() : NULL;
    cse_status status = CSE_OK;
    for (int i = 0; i < decoders->count && status == CSE_OK; i++) {
        cse_token_texts made = { 0 };
        const one_token how = { .decoder = &decoders->list[i],
                                .matcher = matcher,
                                .count = texts->count,
                                .within = within,
                                .to = &made };
        status = apply(how, texts);
        cse_token_texts_clear(texts);
        *texts = made;
    }
    size_t begin = 0;
    for (size_t i = 0; i < texts->count && status == CSE_OK; i++) {
        if (decoders->joins_by_space && (within || i > 0))
            cse_text_add_bytes(to, " ", 1);
        cse_text_add_bytes(to, texts->text.data + begin, texts->ends[i] - begin);
        begin = texts->ends[i];
    }
    if (matcher != NULL)
        cse_split_matcher_destroy(&matcher);
    return status;
}
