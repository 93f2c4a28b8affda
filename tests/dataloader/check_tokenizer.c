/* Numbers of texts are those of Hugging Face's tokenizers, whatever the file's form; a vocabulary
 * that is trained here is the one that its trainer makes; other files are refused by what they
 * hold. */
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/train.h"
#include "tests/dataloader/fixture.h"
#include "tests/reference/tokenizer.h"

enum { CASES = sizeof tokenizer_cases / sizeof tokenizer_cases[0] };

static const char *const files[] = { "tokenizer_plain.json", "tokenizer_split.json",
                                     "tokenizer_digits.json" };

static const char *reference(const char *name)
{
    static char path[1024];
    const char *root = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/reference/%s", root != NULL ? root : "..", name);
    return path;
}

static char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s is missing", path);
    char *bytes = calloc(1, 1 << 16);
    *size = fread(bytes, 1, (1 << 16) - 1, file);
    fclose(file);
    return bytes;
}

static void expect_ids(cse_encoder *encoder, int c, const int32_t *expected)
{
    cse_token_ids ids = { 0 };
    size_t count = 0;
    fixture_expect(
        cse_encode(encoder, (const char *)tokenizer_cases[c].text, tokenizer_cases[c].size, &ids),
        CSE_OK, NULL);
    while (expected[count] >= 0)
        count++;
    ck_assert_msg(ids.count == count, "case %d: %zu tokens, expected %zu", c, ids.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(ids.ids[i] == expected[i], "case %d, token %zu: %d, expected %d", c, i,
                      ids.ids[i], expected[i]);
    free(ids.ids);
}

START_TEST(numbers_are_those_of_the_reference)
{
    cse_tokenizer *tokenizer = NULL;
    fixture_expect(cse_tokenizer_load(reference(files[_i]), &tokenizer), CSE_OK, NULL);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    for (int round = 0; round < 2; round++) /* the second by what is kept of words */
        for (int c = 0; c < CASES; c++)
            expect_ids(encoder, c, tokenizer_cases[c].ids[_i]);
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&tokenizer);
}
END_TEST

START_TEST(decoding_gives_the_text_back)
{
    cse_tokenizer *tokenizer = NULL;
    fixture_expect(cse_tokenizer_load(reference(files[0]), &tokenizer), CSE_OK, NULL);
    for (int c = 0; c < CASES; c++) {
        size_t count = 0;
        cse_text text = { 0 };
        while (tokenizer_cases[c].ids[0][count] >= 0)
            count++;
        fixture_expect(cse_decode(tokenizer, tokenizer_cases[c].ids[0], count, &text), CSE_OK,
                       NULL);
        ck_assert_uint_eq(text.size, tokenizer_cases[c].size);
        ck_assert(text.size == 0 || memcmp(text.data, tokenizer_cases[c].text, text.size) == 0);
        cse_text_clear(&text);
    }
    const int32_t none = 420;
    cse_text text = { 0 };
    fixture_expect(cse_decode(tokenizer, &none, 1, &text), CSE_DATA, "numbers below 420");
    ck_assert_int_eq(cse_tokenizer_find(tokenizer, "<|endoftext|>"), 0);
    ck_assert_int_eq(cse_tokenizer_find(tokenizer, "no such token"), -1);
    cse_tokenizer_close(&tokenizer);
}
END_TEST

static void copy_reference(const char *name, const char *to)
{
    size_t size;
    char *bytes = read_whole(reference(name), &size);
    fixture_write(to, bytes, size);
    free(bytes);
}

START_TEST(the_two_files_of_gpt2_say_the_same)
{
    cse_tokenizer *tokenizer = NULL;
    copy_reference("tokenizer_vocab.json", "vocab.json");
    fixture_expect(cse_tokenizer_load(fixture_folder, &tokenizer), CSE_NO_INPUT, "merges.txt");
    copy_reference("tokenizer_merges.txt", "merges.txt");
    fixture_expect(cse_tokenizer_load(fixture_folder, &tokenizer), CSE_OK, NULL);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    for (int c = 0; c < CASES; c++)
        expect_ids(encoder, c, tokenizer_cases[c].ids[0]);
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&tokenizer);
    fixture_expect(cse_tokenizer_load(fixture_path("vocab.json"), &tokenizer), CSE_OK, NULL);
    cse_tokenizer_close(&tokenizer);
    copy_reference("tokenizer_plain.json", "tokenizer.json");
    fixture_expect(cse_tokenizer_load(fixture_folder, &tokenizer), CSE_OK, NULL);
    cse_tokenizer_close(&tokenizer);
}
END_TEST

START_TEST(bytes_that_are_no_utf8_count_as_replacement_characters)
{
    static const char broken[] = "a\377b\303\355\240\200z",
                      mended[] = "a\357\277\275b\357\277\275\357\277\275\357\277\275\357\277\275z";
    cse_token_ids ids[2] = { { 0 } };
    cse_tokenizer *tokenizer = NULL;
    fixture_expect(cse_tokenizer_load(reference(files[0]), &tokenizer), CSE_OK, NULL);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    ck_assert_int_eq(cse_encode(encoder, broken, sizeof broken - 1, &ids[0]), CSE_OK);
    ck_assert_int_eq(cse_encode(encoder, mended, sizeof mended - 1, &ids[1]), CSE_OK);
    ck_assert_uint_eq(ids[0].count, ids[1].count);
    ck_assert_mem_eq(ids[0].ids, ids[1].ids, ids[0].count * sizeof(int32_t));
    free(ids[0].ids);
    free(ids[1].ids);
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&tokenizer);
}
END_TEST

START_TEST(training_makes_the_vocabulary_of_the_reference)
{
    size_t size;
    cse_text json = { 0 };
    cse_tokenizer *ours = NULL, *theirs = NULL;
    char *text = read_whole(reference("tokenizer_text.txt"), &size);
    cse_tokenizer_trainer *trainer = cse_tokenizer_trainer_new(CSE_TRAIN_BPE);
    ck_assert_int_eq(cse_tokenizer_trainer_add(trainer, text, size), CSE_OK);
    const cse_trainer_wish few = { .vocab_size = 256 }, wish = { .vocab_size = 420 };
    fixture_expect(cse_tokenizer_trainer_finish(trainer, &few, &json), CSE_USAGE, "257");
    ck_assert_int_eq(cse_tokenizer_trainer_finish(trainer, &wish, &json), CSE_OK);
    fixture_write("own.json", json.data, json.size);
    fixture_expect(cse_tokenizer_load(fixture_path("own.json"), &ours), CSE_OK, NULL);
    fixture_expect(cse_tokenizer_load(reference(files[0]), &theirs), CSE_OK, NULL);
    ck_assert_int_eq(cse_tokenizer_vocab_size(ours), cse_tokenizer_vocab_size(theirs));
    for (int id = 0; id < 420; id++) {
        size_t a, b;
        const char *left = cse_tokenizer_token_view(ours, id, &a);
        const char *right = cse_tokenizer_token_view(theirs, id, &b);
        ck_assert_msg(a == b && memcmp(left, right, a) == 0, "token %d is another", id);
    }
    cse_encoder *encoder = cse_encoder_new(ours);
    for (int c = 0; c < CASES; c++)
        expect_ids(encoder, c, tokenizer_cases[c].ids[0]);
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&ours);
    cse_tokenizer_close(&theirs);
    cse_tokenizer_trainer_destroy(&trainer);
    cse_text_clear(&json);
    free(text);
}
END_TEST

static int64_t count_tokens(cse_encoder *encoder, const char *text, size_t size)
{
    cse_token_ids ids = { 0 };
    fixture_expect(cse_encode(encoder, text, size, &ids), CSE_OK, NULL);
    const int64_t count = (int64_t)ids.count;
    free(ids.ids);
    return count;
}

/* Words of three stems and three endings, each stem with each ending as often: stems and endings
 * are the pieces of the vocabulary, so that a word is at most two tokens. */
START_TEST(training_of_unigram_finds_stems_and_endings)
{
    static const char *const stems[] = { "walk", "jump", "turn" }, *const ends[] = { "ing", "ed",
                                                                                     "er" };
    cse_text text = { 0 }, json = { 0 };
    cse_tokenizer *tokenizer = NULL;
    cse_tokenizer_trainer *trainer = cse_tokenizer_trainer_new(CSE_TRAIN_UNIGRAM);
    const cse_trainer_wish wish = { .vocab_size = 290, .min_frequency = 2 };
    for (int i = 0; i < 900; i++)
        cse_text_add(&text, "%s%s%s", i == 0 ? "" : " ", stems[i % 3], ends[i / 3 % 3]);
    fixture_expect(cse_tokenizer_trainer_add(trainer, text.data, text.size), CSE_OK, NULL);
    fixture_expect(cse_tokenizer_trainer_finish(trainer, &wish, &json), CSE_OK, NULL);
    fixture_write("tokenizer.json", json.data, json.size);
    fixture_expect(cse_tokenizer_load(fixture_path("tokenizer.json"), &tokenizer), CSE_OK, NULL);
    ck_assert_int_le(cse_tokenizer_vocab_size(tokenizer), 290);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    ck_assert_int_le(count_tokens(encoder, text.data, text.size), 2 * 900);
    ck_assert_int_eq(count_tokens(encoder, "\303\251", 2), 3); /* the space, and two bytes */
    const cse_trainer_wish small = { .vocab_size = 260 };
    fixture_expect(cse_tokenizer_trainer_finish(trainer, &small, &json), CSE_USAGE,
                   "different characters that are not rare");
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&tokenizer);
    cse_tokenizer_trainer_destroy(&trainer);
    cse_text_clear(&json);
    cse_text_clear(&text);
}
END_TEST

#define SMALL "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, "
#define BYTE_LEVEL "\"pre_tokenizer\": {\"type\": \"ByteLevel\"}"

/* Files, and a part of the refusal; NULL: accepted. */
static const char *const files_with_a_fault[][2] = {
    { "{", "no JSON" },
    { "[]", "no JSON object" },
    { "{}", "has no model" },
    { "{\"a\": [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}", "brackets are open" },
    { "{\"model\": {\"type\": \"Characters\", \"vocab\": []}}", "model.type is \"Characters\"" },
    { "{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}", "model.vocab has 0 entries" },
    { "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]]}}",
      "entry 0 is no [text, number]" },
    { "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"\", 0]]}}", "entry 0 has no text" },
    { "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0], [\"a\", 1]]}}",
      "has \"a\" twice, as entries 0 and 1" },
    { "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 1, \"vocab\": [[\"a\", 0]]}}",
      "model.unk_id is 1: accepted are 0 to 0" },
    { "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]]}, \"padding\": 7}",
      "\"padding\" is not an object" },
    { "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]]}, \"paddings\": {}}",
      "the member \"paddings\": accepted are version, truncation" },
    { "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]], \"dropout\": 0}}",
      "model Unigram has the member \"dropout\": accepted are unk_id, vocab, byte_fallback" },
    { "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {}}}", "vocabulary is no object" },
    { "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}}",
      "model WordPiece has no \"unk_token\"" },
    { "{" SMALL "\"merges\": [\"a b\"]}, " BYTE_LEVEL "}", NULL },
    { "{" SMALL "\"merges\": [[\"a\", \"b\"]]}, " BYTE_LEVEL "}", NULL },
    { "{" SMALL "\"merges\": [\"a b\"]}}", NULL },
    { "{" SMALL "\"merges\": []}, \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": "
      "[{\"type\": \"ByteLevel\"}, {\"type\": \"Digits\"}]}}",
      NULL },
    { "{" SMALL "\"merges\": [\"a c\"]}, " BYTE_LEVEL "}", "merge 0: \"c\"" },
    { "{" SMALL "\"merges\": [\"b a\"]}, " BYTE_LEVEL "}", "merge 0: \"ba\"" },
    { "{" SMALL "\"merges\": [\"a\"]}, " BYTE_LEVEL "}", "two tokens" },
    { "{" SMALL "\"merges\": [7]}, " BYTE_LEVEL "}", "merge 0" },
    { "{" SMALL
      "\"byte_fallback\": true, \"end_of_word_suffix\": \"</w>\", \"merges\": []}, " BYTE_LEVEL "}",
      "byte_fallback" },
    { "{" SMALL "\"dropout\": 0.1, \"merges\": []}, " BYTE_LEVEL "}", "dropout" },
    { "{" SMALL "\"unk_token\": \"u\", \"merges\": []}, " BYTE_LEVEL "}", "unk_token" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"Precompiled\"}}",
      "normalizer Precompiled has no \"precompiled_charsmap\"" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"Precompiled\", "
      "\"precompiled_charsmap\": \"AA!=\"}}",
      "no base64 at its byte 2" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"Precompiled\", "
      "\"precompiled_charsmap\": \"CAAAAAAAAAA=\"}}",
      "8 bytes, of which 8 are said to be its trie" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"Precompiled\", "
      "\"precompiled_charsmap\": \"BAAAAAABAAAA\"}}",
      "unit 0 of 1 leads outside of it" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"Casefold\"}}",
      "normalizer is \"Casefold\"" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"NFC\", \"form\": 1}}",
      "normalizer NFC has the member \"form\": accepted are none" },
    { "{" SMALL "\"merges\": []}, \"decoder\": {\"type\": \"Metaspace\"}, " BYTE_LEVEL "}",
      "decoder Metaspace has no \"replacement\"" },
    { "{" SMALL "\"merges\": []}, \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": "
      "[\"x\", -1], \"cls\": [\"y\", 0]}}",
      "\"sep\" is not [text, id]" },
    { "{" SMALL "\"merges\": []}, \"post_processor\": {\"type\": \"TemplateProcessing\", "
      "\"single\": [{\"SpecialToken\": {\"id\": \"x\", \"type_id\": 0}}], \"pair\": [], "
      "\"special_tokens\": {}}}",
      "\"x\" is not among its special_tokens" },
    { "{" SMALL "\"merges\": []}, \"pre_tokenizer\": {\"type\": \"Words\"}}",
      "pre_tokenizer has \"Words\"" },
    { "{" SMALL "\"merges\": []}, \"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 0}}",
      "has the length 0" },
    { "{" SMALL "\"merges\": []}, \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
      "\"ab\"}}",
      "accepted is one character" },
    { "{" SMALL "\"merges\": []}, \"added_tokens\": [{\"id\": 1, \"content\": \"a\"}], " BYTE_LEVEL
      "}",
      "has the id 1: accepted is 0, which it has in the vocabulary" },
    { "{" SMALL "\"merges\": []}, \"added_tokens\": [{\"id\": 1, \"content\": \"x\"}], " BYTE_LEVEL
      "}",
      "has the id 1: accepted is 3, the next after" },
    { "{" SMALL
      "\"merges\": []}, \"added_tokens\": [{\"id\": 4194304, \"content\": \"x\"}], " BYTE_LEVEL "}",
      "has the id 4194304: accepted is 3" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"Strip\", \"strip_left\": true}, "
      "\"added_tokens\": [{\"id\": 3, \"content\": \" \"}], " BYTE_LEVEL "}",
      "nothing is left of the added token" },
    { "{" SMALL "\"merges\": []}, \"normalizer\": {\"type\": \"Lowercase\"}, \"added_tokens\": "
      "[{\"id\": 3, "
      "\"content\": \"X\"}, {\"id\": 4, \"content\": \"x\"}], " BYTE_LEVEL "}",
      "are the same text" },
    { "{" SMALL "\"merges\": []}, \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": "
      "[{\"type\": \"Split\", \"pattern\": {\"Regex\": \"(a)\\\\1\"}, \"behavior\": "
      "\"Isolated\"}, "
      "{\"type\": \"ByteLevel\"}]}}",
      "an escape whose meaning differs" },
    { "{" SMALL "\"merges\": []}, \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": "
      "[{\"type\": \"Split\", \"pattern\": {\"Regex\": \"(a\"}, \"behavior\": \"Isolated\"}, "
      "{\"type\": \"ByteLevel\"}]}}",
      "cannot be used" },
    { "{" SMALL "\"merges\": []}, \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": "
      "[{\"type\": \"Split\", \"pattern\": {\"Regex\": \"a\"}, \"behavior\": "
      "\"MergedWithAll\"}, {\"type\": \"ByteLevel\"}]}}",
      "MergedWithAll" },
};

START_TEST(other_files_are_refused_by_what_they_hold)
{
    for (size_t i = 0; i < sizeof files_with_a_fault / sizeof files_with_a_fault[0]; i++) {
        const char *const *row = files_with_a_fault[i];
        cse_tokenizer *tokenizer = NULL;
        fixture_write_text("tokenizer.json", row[0]);
        fixture_expect(cse_tokenizer_load(fixture_path("tokenizer.json"), &tokenizer),
                       row[1] == NULL ? CSE_OK : CSE_DATA, row[1]);
        cse_tokenizer_close(&tokenizer);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("tokenizer");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_loop_test(tests, numbers_are_those_of_the_reference, 0, 3);
    tcase_add_test(tests, decoding_gives_the_text_back);
    tcase_add_test(tests, the_two_files_of_gpt2_say_the_same);
    tcase_add_test(tests, bytes_that_are_no_utf8_count_as_replacement_characters);
    tcase_add_test(tests, training_makes_the_vocabulary_of_the_reference);
    tcase_add_test(tests, training_of_unigram_finds_stems_and_endings);
    tcase_add_test(tests, other_files_are_refused_by_what_they_hold);
    return fixture_run(tests);
}
