/* Numbers, places and texts of small tokenizers that are worked out by hand: what the methods say,
 * not what this program or another one made. */
#include <jansson.h>

#include "dataloader/tokenizer/sentence_piece.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/tokenizer_json.h"
#include "engine/base/protobuf.h"
#include "tests/dataloader/fixture.h"

enum { MOST = 12, UNITS = 67, MAP_BYTES = 4 + 4 * UNITS + 3 };

/* A text, and what becomes of it; the last token has the number -1. */
typedef struct expected {
    const char *text, *back;
    struct {
        int id, begin, end;
    } tokens[MOST];
} expected;

static void expect(cse_tokenizer *tokenizer, const expected *row)
{
    cse_token_ids placed = { .with_places = true }, plain = { 0 };
    cse_text back = { 0 };
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    fixture_expect(cse_encode(encoder, row->text, strlen(row->text), &placed), CSE_OK, NULL);
    fixture_expect(cse_encode(encoder, row->text, strlen(row->text), &plain), CSE_OK, NULL);
    for (size_t i = 0; i < placed.count || row->tokens[i].id >= 0; i++) {
        ck_assert_msg(i < placed.count && row->tokens[i].id >= 0, "%s: %zu tokens", row->text,
                      placed.count);
        ck_assert_int_eq(placed.ids[i], row->tokens[i].id);
        ck_assert_msg((int)placed.places[i].begin == row->tokens[i].begin &&
                          (int)placed.places[i].end == row->tokens[i].end,
                      "%s: token %zu is at %zu to %zu", row->text, i, placed.places[i].begin,
                      placed.places[i].end);
        ck_assert_int_eq(plain.ids[i], placed.ids[i]);
    }
    ck_assert_uint_eq(plain.count, placed.count);
    fixture_expect(cse_decode(tokenizer, plain.ids, plain.count, &back), CSE_OK, NULL);
    ck_assert_str_eq(back.data != NULL ? back.data : "", row->back);
    cse_text_clear(&back);
    cse_encoder_close(&encoder);
    free(placed.ids);
    free(placed.places);
    free(plain.ids);
}

static void expect_of_json(const char *json, const expected *rows, size_t count)
{
    cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    fixture_expect(cse_tokenizer_json_read(json, strlen(json), tokenizer), CSE_OK, NULL);
    for (size_t i = 0; i < count; i++)
        expect(tokenizer, &rows[i]);
    cse_tokenizer_close(&tokenizer);
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- tokenizer.json ---- */

START_TEST(places_of_pieces_of_words)
{
    static const char json[] =
        "{\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, "
        "\"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": true}, "
        "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
        "\"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": false}, "
        "\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": "
        "{\"[UNK]\": 0, \"cafe\": 1, \"##s\": 2, \"au\": 3, \"\\u4e00\": 4, \"!\": 5}}}";
    static const expected rows[] = {
        { "Caf\303\251s  AU!",
          "cafes au !",
          { { 1, 0, 4 }, { 2, 4, 5 }, { 3, 7, 9 }, { 5, 9, 10 }, { -1, 0, 0 } } },
        { "Cafe\314\201s", "cafes", { { 1, 0, 4 }, { 2, 5, 6 }, { -1, 0, 0 } } },
        { "au\344\270\200au tea",
          "au \344\270\200 au [UNK]",
          { { 3, 0, 2 }, { 4, 2, 3 }, { 3, 3, 5 }, { 0, 6, 9 }, { -1, 0, 0 } } },
    };
    expect_of_json(json, rows, COUNT(rows));
}
END_TEST

START_TEST(places_of_normal_forms)
{
    static const char json[] =
        "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFKC\"}, "
        "{\"type\": \"Replace\", \"pattern\": {\"String\": \"bb\"}, \"content\": \"x\"}]}, "
        "\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"decoder\": {\"type\": \"Fuse\"}, "
        "\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"f\": 1, "
        "\"i\": 2, \"fi\": 3, \"x\": 4, \"\\u00e9\": 5}, \"merges\": [\"f i\"]}}";
    static const expected rows[] = {
        { "\357\254\201bb", "fix", { { 3, 0, 1 }, { 4, 2, 3 }, { -1, 0, 0 } } },
        { "e\314\201 fbbi",
          "\303\251fxi",
          { { 5, 0, 1 }, { 1, 3, 4 }, { 4, 5, 6 }, { 2, 6, 7 }, { -1, 0, 0 } } },
        { "fzi", "f?i", { { 1, 0, 1 }, { 0, 1, 2 }, { 2, 2, 3 }, { -1, 0, 0 } } },
    };
    expect_of_json(json, rows, COUNT(rows));
}
END_TEST

/* White space at the ends of byte-level tokens is no part of their places. */
START_TEST(trimmed_places_of_bytes)
{
    static const char json[] =
        "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, "
        "\"post_processor\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
        "\"trim_offsets\": true}, \"decoder\": {\"type\": \"ByteLevel\"}, "
        "\"added_tokens\": [{\"id\": 5, \"content\": \"<s>\", \"lstrip\": true}], "
        "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"\\u0120\": 1, \"\\u0120a\": 2, "
        "\"\\u00c3\": 3, \"\\u00a9\": 4}, \"merges\": [\"\\u0120 a\"]}}";
    static const expected rows[] = {
        { "a a", "a a", { { 0, 0, 1 }, { 2, 2, 3 }, { -1, 0, 0 } } },
        { "a  <s>\303\251a",
          "a<s>\303\251a",
          { { 0, 0, 1 }, { 5, 3, 6 }, { 3, 6, 7 }, { 4, 6, 7 }, { 0, 7, 8 }, { -1, 0, 0 } } },
    };
    expect_of_json(json, rows, COUNT(rows));
}
END_TEST

/* ---- pairs ---- */

#define WORDS                                                                                  \
    "{\"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"model\": {\"type\": \"WordLevel\", "    \
    "\"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"cls\": 1, \"sep\": 2, \"a\": 3, \"b\": 4, " \
    "\"c\": 5}}, \"post_processor\": "
#define ENDS "\"sep\": [\"sep\", 2], \"cls\": [\"cls\", 1]"
#define SPECIAL(name, type) "{\"SpecialToken\": {\"id\": \"" name "\", \"type_id\": " type "}}"
#define SEQUENCE(name, type) "{\"Sequence\": {\"id\": \"" name "\", \"type_id\": " type "}}"
#define SPECIALS                                                                             \
    "\"special_tokens\": {\"cls\": {\"id\": \"cls\", \"ids\": [1], \"tokens\": [\"cls\"]}, " \
    "\"two\": {\"id\": \"two\", \"ids\": [2, 1], \"tokens\": [\"sep\", \"cls\"]}}"
#define TEMPLATE                                                                                \
    "{\"type\": \"TemplateProcessing\", \"single\": [" SPECIAL("cls", "0") ", " SEQUENCE(       \
        "A",                                                                                    \
        "2") "], \"pair\": [" SEQUENCE("B",                                                     \
                                       "1") ", " SPECIAL("two",                                 \
                                                         "3") ", " SEQUENCE("A",                \
                                                                            "0") "], " SPECIALS \
                                                                                 "}"

/* Numbers and types of "a b", and of "a b" with "c"; the last number is -1. */
static const struct around {
    const char *post_processor;
    int one[8][2], pair[10][2];
} arounds[] = {
    { "null}", { { 3, 0 }, { 4, 0 }, { -1 } }, { { 3, 0 }, { 4, 0 }, { 5, 1 }, { -1 } } },
    { "{\"type\": \"BertProcessing\", " ENDS "}}",
      { { 1, 0 }, { 3, 0 }, { 4, 0 }, { 2, 0 }, { -1 } },
      { { 1, 0 }, { 3, 0 }, { 4, 0 }, { 2, 0 }, { 5, 1 }, { 2, 1 }, { -1 } } },
    { "{\"type\": \"RobertaProcessing\", " ENDS
      ", \"trim_offsets\": true, \"add_prefix_space\": false}}",
      { { 1, 0 }, { 3, 0 }, { 4, 0 }, { 2, 0 }, { -1 } },
      { { 1, 0 }, { 3, 0 }, { 4, 0 }, { 2, 0 }, { 2, 0 }, { 5, 0 }, { 2, 0 }, { -1 } } },
    { TEMPLATE "}",
      { { 1, 0 }, { 3, 2 }, { 4, 2 }, { -1 } },
      { { 5, 1 }, { 2, 3 }, { 1, 3 }, { 3, 0 }, { 4, 0 }, { -1 } } },
    { "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"BertProcessing\", " ENDS
      "}, " TEMPLATE "]}}",
      { { 1, 0 }, { 1, 2 }, { 3, 2 }, { 4, 2 }, { 2, 2 }, { -1 } },
      { { 5, 1 }, { 2, 1 }, { 2, 3 }, { 1, 3 }, { 1, 0 }, { 3, 0 }, { 4, 0 }, { 2, 0 }, { -1 } } },
};

static void expect_around(cse_encoder *encoder, const cse_given_text texts[2],
                          const int numbers[][2])
{
    size_t count = 0;
    cse_token_ids ids = { .with_places = true };
    fixture_expect(cse_encode_whole(encoder, texts, &ids), CSE_OK, NULL);
    for (; numbers[count][0] >= 0; count++) {
        ck_assert_uint_lt(count, ids.count);
        ck_assert_int_eq(ids.ids[count], numbers[count][0]);
        ck_assert_int_eq(ids.places[count].type, numbers[count][1]);
    }
    ck_assert_uint_eq(ids.count, count);
    free(ids.ids);
    free(ids.places);
}

START_TEST(special_tokens_around_texts_and_pairs)
{
    const struct around *row = &arounds[_i];
    char json[2048];
    cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    snprintf(json, sizeof json, "%s%s", WORDS, row->post_processor);
    fixture_expect(cse_tokenizer_json_read(json, strlen(json), tokenizer), CSE_OK, NULL);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    expect_around(encoder, (const cse_given_text[]){ { "a b", 3 }, { NULL, 0 } }, row->one);
    expect_around(encoder, (const cse_given_text[]){ { "a b", 3 }, { "c", 1 } }, row->pair);
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&tokenizer);
}
END_TEST

START_TEST(a_template_without_a_text_is_refused)
{
    static const char *const rows[][2] = {
        { "{\"type\": \"TemplateProcessing\", \"single\": [], \"pair\": [], " SPECIALS "}}",
          "accepted in \"single\" is the Sequence A, once" },
        { "{\"type\": \"TemplateProcessing\", \"single\": [" SEQUENCE(
              "C", "0") "], \"pair\": [], " SPECIALS "}}",
          "accepted are A and B" },
        { "{\"type\": \"Sequence\", \"processors\": [" TEMPLATE ", " TEMPLATE "]}}",
          "behind another one" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char json[2048];
        cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
        snprintf(json, sizeof json, "%s%s", WORDS, rows[i][0]);
        fixture_expect(cse_tokenizer_json_read(json, strlen(json), tokenizer), CSE_DATA,
                       rows[i][1]);
        cse_tokenizer_close(&tokenizer);
    }
}
END_TEST

START_TEST(pairs_are_refused_by_a_template_that_leaves_one_text_out)
{
    static const char json[] = WORDS "{\"type\": \"TemplateProcessing\", \"single\": [" SEQUENCE(
        "A", "0") "], \"pair\": [" SEQUENCE("A", "0") "], " SPECIALS "}}";
    cse_token_ids ids = { .with_places = true };
    cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    fixture_expect(cse_tokenizer_json_read(json, strlen(json), tokenizer), CSE_OK, NULL);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    expect_around(encoder, (const cse_given_text[]){ { "a b", 3 }, { NULL, 0 } },
                  (const int[][2]){ { 3, 0 }, { 4, 0 }, { -1 } });
    fixture_expect(
        cse_encode_whole(encoder, (const cse_given_text[]){ { "a b", 3 }, { "c", 1 } }, &ids),
        CSE_DATA, "does not have each of both texts exactly once");
    ck_assert_uint_eq(ids.count, 0);
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&tokenizer);
}
END_TEST

/* The sums of scores: "ab" -3, "a" "b" -2; "abc" -2.5, "a" "bc" -2.2. */
START_TEST(the_best_pieces_of_a_word)
{
    static const char json[] =
        "{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\", "
        "\"prepend_scheme\": \"never\", \"split\": true}, \"decoder\": {\"type\": \"Metaspace\", "
        "\"replacement\": \"\\u2581\", \"prepend_scheme\": \"never\"}, \"model\": {\"type\": "
        "\"Unigram\", \"unk_id\": 0, \"byte_fallback\": true, \"vocab\": [[\"<unk>\", 0], "
        "[\"a\", -1], [\"b\", -1], [\"ab\", -3], [\"bc\", -1.2], [\"abc\", -2.5], "
        "[\"\\u2581\", -1], [\"<0xC3>\", -9], [\"<0xA9>\", -9]]}}";
    static const expected rows[] = {
        { "ab", "ab", { { 1, 0, 1 }, { 2, 1, 2 }, { -1, 0, 0 } } },
        { "abc a", "abc a", { { 1, 0, 1 }, { 4, 1, 3 }, { 6, 3, 4 }, { 1, 4, 5 }, { -1, 0, 0 } } },
        { "a\303\251xyb", "a<unk>b", { { 1, 0, 1 }, { 0, 1, 4 }, { 2, 4, 5 }, { -1, 0, 0 } } },
        { "a\303\251", "a<0xC3><0xA9>", { { 1, 0, 1 }, { 7, 1, 2 }, { 8, 1, 2 }, { -1, 0, 0 } } },
    };
    expect_of_json(json, rows, COUNT(rows));
}
END_TEST

/* A token may hold the character for a space between others, and then goes over two words. */
START_TEST(a_token_over_two_words)
{
    static const char json[] =
        "{\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": "
        "\"\\u2581\"}, \"decoder\": {\"type\": \"Fuse\"}, \"model\": {\"type\": \"BPE\", "
        "\"vocab\": "
        "{\"a\": 0, \"b\": 1, \"\\u2581\": 2, \"a\\u2581\": 3, \"a\\u2581b\": 4}, \"merges\": "
        "[\"a \\u2581\", \"a\\u2581 b\"]}}";
    static const expected rows[] = {
        { "a bb", "a\342\226\201bb", { { 4, 0, 3 }, { 1, 3, 4 }, { -1, 0, 0 } } },
    };
    expect_of_json(json, rows, COUNT(rows));
}
END_TEST

/* ---- tokenizer.model ---- */

/* "bc" for "A": the root leads to unit 65, whose value is unit 66. */
static void write_map(unsigned char map[MAP_BYTES])
{
    const struct {
        int place;
        uint32_t unit;
    } units[] = { { 65, 'A' | 1 << 8 | (65 ^ 66) << 10 }, { 66, UINT32_C(1) << 31 } };
    memset(map, 0, MAP_BYTES);
    map[0] = (unsigned char)(4 * UNITS);
    map[1] = (unsigned char)(4 * UNITS >> 8);
    for (int u = 0; u < 2; u++)
        for (int byte = 0; byte < 4; byte++)
            map[4 + 4 * units[u].place + byte] = (unsigned char)(units[u].unit >> 8 * byte);
    memcpy(map + 4 + 4 * UNITS, "bc", 3);
}

static void add_piece(cse_text *model, const char *text, float score, int kind)
{
    cse_text piece = { 0 };
    cse_protobuf_add_text(&piece, 1, text);
    cse_protobuf_add_float(&piece, 2, score);
    cse_protobuf_add_integer(&piece, 3, kind);
    cse_protobuf_take(model, 1, &piece);
}

enum { FIRST_BYTE = 3, SPACE = FIRST_BYTE + 256, A, B, C, AB, SPACE_AB, BC, USER };

/* `type`: 1 unigram, 2 BPE. */
static cse_text make_model(int type)
{
    unsigned char map[MAP_BYTES];
    cse_text model = { 0 }, trainer = { 0 }, normalizer = { 0 };
    char name[8];
    add_piece(&model, "<unk>", 0, 2);
    add_piece(&model, "<s>", 0, 3);
    add_piece(&model, "</s>", 0, 3);
    for (int byte = 0; byte < 256; byte++) {
        snprintf(name, sizeof name, "<0x%02X>", byte);
        add_piece(&model, name, 0, 6);
    }
    add_piece(&model, "\342\226\201", -7, 1);
    add_piece(&model, "a", -8, 1);
    add_piece(&model, "b", -9, 1);
    add_piece(&model, "c", -10, 1);
    add_piece(&model, "ab", -1, 1);
    add_piece(&model, "\342\226\201ab", -2, 1);
    add_piece(&model, "bc", -3, 1);
    add_piece(&model, "ca", 0, 4);
    write_map(map);
    cse_protobuf_add_integer(&trainer, 3, type);
    cse_protobuf_add_integer(&trainer, 35, 1);
    cse_protobuf_add_bytes(&normalizer, 2, map, sizeof map);
    cse_protobuf_take(&model, 2, &trainer);
    cse_protobuf_take(&model, 3, &normalizer);
    return model;
}

START_TEST(pieces_of_a_sentence)
{
    static const expected rows[] = {
        { "A  ab \303\251 ",
          "bc ab \303\251",
          { { SPACE, 0, 0 },
            { BC, 0, 1 },
            { SPACE_AB, 1, 5 },
            { SPACE, 5, 6 },
            { FIRST_BYTE + 0xc3, 6, 6 },
            { FIRST_BYTE + 0xa9, 6, 7 },
            { -1, 0, 0 } } },
        { "cab", "cab", { { SPACE, 0, 0 }, { USER, 0, 2 }, { B, 2, 3 }, { -1, 0, 0 } } },
    };
    cse_tokenizer *tokenizer = NULL;
    cse_text model = make_model(_i + 1);
    fixture_write("tokenizer.model", model.data, model.size);
    fixture_expect(cse_tokenizer_load(fixture_path("tokenizer.model"), &tokenizer), CSE_OK, NULL);
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(tokenizer, &rows[i]);
    ck_assert_int_eq(cse_tokenizer_find(tokenizer, "</s>"), 2);
    cse_tokenizer_close(&tokenizer);
    cse_text_clear(&model);
}
END_TEST

/* "abc": BPE takes the pair of the highest score; the sum of scores prefers "a" "bc". */
START_TEST(the_two_types_differ)
{
    static const expected rows[] = {
        { "c abc",
          "c abc",
          { { SPACE, 0, 0 }, { C, 0, 1 }, { SPACE_AB, 1, 4 }, { C, 4, 5 }, { -1, 0, 0 } } },
        { "b", "b", { { SPACE, 0, 0 }, { B, 0, 1 }, { -1, 0, 0 } } },
    };
    cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    cse_text model = make_model(2);
    fixture_expect(cse_sentence_piece_read(model.data, model.size, tokenizer), CSE_OK, NULL);
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(tokenizer, &rows[i]);
    cse_tokenizer_close(&tokenizer);
    cse_text_clear(&model);
}
END_TEST

/* A file that ends early is refused, or has whole fields: whatever it is, it is said or used. */
START_TEST(a_model_that_is_cut_off)
{
    int refused = 0;
    cse_text model = make_model(2);
    for (size_t size = 0; size < model.size; size += 7) {
        cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
        char *part = malloc(size + 1); /* of its own, so that a read behind it is seen */
        memcpy(part, model.data, size);
        if (cse_sentence_piece_read(part, size, tokenizer) != CSE_OK) {
            ck_assert_str_ne(cse_error_message(), "");
            refused++;
        }
        free(part);
        cse_tokenizer_close(&tokenizer);
    }
    ck_assert_int_gt(refused, 0);
    cse_text_clear(&model);
}
END_TEST

/* Models with one fault, and the refusal. */
START_TEST(models_are_refused_by_what_they_hold)
{
    static const struct {
        const char *text;
        float score;
        int kind;
        const char *refusal;
    } rows[] = {
        { "", 0, 1, "has no text" },         { "x", 0, 7, "the kind 7: accepted are 1 to 6" },
        { "a", 0, 1, "are both \"a\"" },     { "<unk>", 0, 2, "both of the kind unknown" },
        { "<0xZZ>", 0, 6, "no \"<0xNN>\"" }, { "xa", 0, 1, "has a character that is no piece" },
        { "<0x-D>", 0, 6, "no \"<0xNN>\"" }, { "<0x 1>", 0, 6, "no \"<0xNN>\"" },
        { "x", 0, 5, "of the kind unused" }, { "x\300y", 0, 1, "is no text in UTF-8" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        cse_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
        cse_text model = make_model(2);
        add_piece(&model, rows[i].text, rows[i].score, rows[i].kind);
        fixture_expect(cse_sentence_piece_read(model.data, model.size, tokenizer), CSE_DATA,
                       rows[i].refusal);
        cse_tokenizer_close(&tokenizer);
        cse_text_clear(&model);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("tokenizer_places");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, places_of_pieces_of_words);
    tcase_add_test(tests, places_of_normal_forms);
    tcase_add_test(tests, trimmed_places_of_bytes);
    tcase_add_loop_test(tests, special_tokens_around_texts_and_pairs, 0, (int)COUNT(arounds));
    tcase_add_test(tests, a_template_without_a_text_is_refused);
    tcase_add_test(tests, pairs_are_refused_by_a_template_that_leaves_one_text_out);
    tcase_add_test(tests, the_best_pieces_of_a_word);
    tcase_add_test(tests, a_token_over_two_words);
    tcase_add_loop_test(tests, pieces_of_a_sentence, 0, 2);
    tcase_add_test(tests, the_two_types_differ);
    tcase_add_test(tests, a_model_that_is_cut_off);
    tcase_add_test(tests, models_are_refused_by_what_they_hold);
    return fixture_run(tests);
}
