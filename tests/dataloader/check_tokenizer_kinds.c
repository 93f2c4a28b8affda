/* Kinds of tokenizers: some beside the numbers that Hugging Face's tokenizers gave
 * (tests/reference/tokenizer_kinds.py). With CSE_TOKENIZERS=FOLDER the numbers and texts of those
 * that tests/dataloader/tokenizers_of_hugging_face.py made are written there, and why one of them
 * is refused. */
#include <dirent.h>
#include <jansson.h>

#include "dataloader/files/file_list.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "tests/dataloader/fixture.h"
#include "tests/reference/tokenizer_kinds.h"

enum { KINDS = sizeof tokenizer_kinds / sizeof tokenizer_kinds[0] };

/* tokenizer_plain.json with the members of this kind. */
static void load_kind(const struct tokenizer_kind *kind, cse_tokenizer **tokenizer)
{
    char path[4096];
    const char *tree = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/reference/tokenizer_plain.json",
             tree == NULL ? "." : tree);
    json_t *base = json_load_file(path, 0, NULL);
    json_t *members = json_loads(kind->members, 0, NULL);
    ck_assert(base != NULL && members != NULL);
    ck_assert_int_eq(json_object_update(base, members), 0);
    ck_assert_int_eq(json_dump_file(base, fixture_path("tokenizer.json"), 0), 0);
    json_decref(base);
    json_decref(members);
    fixture_expect(cse_tokenizer_load(fixture_path("tokenizer.json"), tokenizer), CSE_OK, NULL);
}

/* As the reference writes bytes of an added token that are no text. */
static cse_text with_replacements(const cse_text *bytes)
{
    cse_text text = { 0 };
    for (size_t i = 0, length; i < bytes->size; i += length) {
        length = cse_utf8_length(bytes->data + i, bytes->size - i);
        cse_text_add_bytes(&text, length > 0 ? bytes->data + i : "\357\277\275",
                           length > 0 ? length : 3);
        length += length == 0;
    }
    return text;
}

/* The numbers, and what is decoded from them. */
static void expect(const struct tokenizer_kind *kind, cse_tokenizer *tokenizer,
                   cse_encoder *encoder, int text)
{
    cse_token_ids ids = { 0 };
    cse_text back = { 0 };
    const int32_t *expected = kind->results[text].ids;
    fixture_expect(cse_encode(encoder, kind_texts[text].bytes, kind_texts[text].size, &ids), CSE_OK,
                   NULL);
    for (size_t i = 0; i < ids.count || expected[i] >= 0; i++)
        ck_assert_msg(i < ids.count && ids.ids[i] == expected[i],
                      "%s: text %d: token %zu is %d, expected %d", kind->name, text, i,
                      i < ids.count ? ids.ids[i] : -1, expected[i]);
    fixture_expect(cse_decode(tokenizer, ids.ids, ids.count, &back), CSE_OK, NULL);
    cse_text shown = with_replacements(&back);
    ck_assert_msg(
        shown.size == kind->results[text].size &&
            memcmp(shown.data != NULL ? shown.data : "", kind->results[text].back, shown.size) == 0,
        "%s: text %d comes back as \"%s\"", kind->name, text, shown.data);
    cse_text_clear(&shown);
    cse_text_clear(&back);
    free(ids.ids);
}

START_TEST(numbers_and_texts_are_those_of_the_reference)
{
    for (int k = 0; k < KINDS; k++) {
        cse_tokenizer *tokenizer;
        load_kind(&tokenizer_kinds[k], &tokenizer);
        cse_encoder *encoder = cse_encoder_new(tokenizer);
        for (int text = 0; text < KIND_TEXTS; text++)
            expect(&tokenizer_kinds[k], tokenizer, encoder, text);
        cse_encoder_close(&encoder);
        cse_tokenizer_close(&tokenizer);
    }
}
END_TEST

/* Token by token, as a text is generated: but for its begin the same text. */
START_TEST(tokens_within_a_text_add_to_it)
{
    for (int k = 0; k < KINDS; k++) {
        cse_tokenizer *tokenizer;
        cse_text whole = { 0 };
        const int32_t *ids = tokenizer_kinds[k].results[6].ids;
        load_kind(&tokenizer_kinds[k], &tokenizer);
        for (int i = 0; ids[i] >= 0; i++)
            fixture_expect(cse_decode_within(tokenizer, ids[i], &whole), CSE_OK, NULL);
        const char *back = tokenizer_kinds[k].results[6].back;
        const size_t extra = whole.size - strlen(back);
        ck_assert_msg(extra <= 1 && strcmp(whole.data + extra, back) == 0,
                      "%s: \"%s\" instead of \"%s\"", tokenizer_kinds[k].name, whole.data, back);
        cse_text_clear(&whole);
        cse_tokenizer_close(&tokenizer);
    }
}
END_TEST

static void write_block(FILE *to, const void *bytes, size_t size)
{
    const uint32_t length = (uint32_t)size;
    ck_assert_uint_eq(fwrite(&length, 4, 1, to), 1);
    ck_assert_uint_eq(fwrite(bytes != NULL ? bytes : "", 1, size, to), size);
}

/* The numbers are the same with places and without. */
static void write_places(FILE *to, const cse_token_ids *ids, const cse_token_ids *placed)
{
    int32_t *ends = malloc((placed->count + 1) * 2 * sizeof *ends);
    ck_assert_uint_eq(ids->count, placed->count);
    for (size_t i = 0; i < placed->count; i++) {
        ck_assert_int_eq(ids->ids[i], placed->ids[i]);
        ends[2 * i] = (int32_t)placed->places[i].begin;
        ends[2 * i + 1] = (int32_t)placed->places[i].end;
    }
    write_block(to, ends, placed->count * 2 * sizeof *ends);
    free(ends);
}

/* The text and the one before it, with the special tokens around them: numbers and types. */
static void write_pair(FILE *to, cse_encoder *encoder, const cse_given_text texts[2])
{
    cse_token_ids ids = { .with_places = true };
    cse_status status = cse_encode_whole(encoder, texts, &ids);
    fixture_expect(status, status == CSE_OK ? CSE_OK : CSE_DATA,
                   status == CSE_OK ? NULL : "each of its two texts once");
    int32_t *types = malloc((ids.count + 1) * sizeof *types);
    for (size_t i = 0; i < ids.count; i++)
        types[i] = ids.places[i].type;
    write_block(to, ids.ids, ids.count * sizeof *ids.ids);
    write_block(to, types, ids.count * sizeof *types);
    free(types);
    free(ids.ids);
    free(ids.places);
}

static void encode_file(const char *path, int *texts)
{
    char name[1024], *before = strdup("a pair");
    uint32_t size, before_size = 6;
    cse_tokenizer *tokenizer;
    const int length = (int)(strrchr(path, '.') - path);
    cse_status status = cse_tokenizer_load(path, &tokenizer);
    snprintf(name, sizeof name, "%.*s.%s", length, path, status == CSE_OK ? "ids" : "refused");
    FILE *to = fopen(name, "wb");
    ck_assert_ptr_nonnull(to);
    if (status != CSE_OK) {
        ck_assert_int_eq(status, CSE_DATA);
        write_block(to, cse_error_message(), strlen(cse_error_message()));
        fclose(to);
        free(before);
        return;
    }
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    snprintf(name, sizeof name, "%.*s.texts", length, path);
    FILE *from = fopen(name, "rb");
    ck_assert_ptr_nonnull(from);
    while (fread(&size, 4, 1, from) == 1) {
        cse_token_ids ids = { 0 }, placed = { .with_places = true };
        cse_text back = { 0 };
        char *text = malloc(size + 1);
        ck_assert_uint_eq(fread(text, 1, size, from), size);
        fixture_expect(cse_encode(encoder, text, size, &ids), CSE_OK, NULL);
        fixture_expect(cse_decode(tokenizer, ids.ids, ids.count, &back), CSE_OK, NULL);
        write_block(to, ids.ids, ids.count * sizeof *ids.ids);
        write_block(to, back.data, back.size);
        fixture_expect(cse_encode(encoder, text, size, &placed), CSE_OK, NULL);
        write_places(to, &ids, &placed);
        write_pair(to, encoder,
                   (const cse_given_text[]){ { text, size }, { before, before_size } });
        cse_text_clear(&back);
        free(ids.ids);
        free(placed.ids);
        free(placed.places);
        free(before);
        before = text;
        before_size = size;
        ++*texts;
    }
    free(before);
    fclose(from);
    ck_assert_int_eq(fclose(to), 0);
    cse_encoder_close(&encoder);
    cse_tokenizer_close(&tokenizer);
}

START_TEST(a_folder_of_tokenizers)
{
    const char *folder = getenv("CSE_TOKENIZERS");
    int files = 0, texts = 0;
    if (folder == NULL)
        return;
    DIR *list = opendir(folder);
    ck_assert_ptr_nonnull(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!cse_name_ends(path, ".json|.model"))
            continue;
        encode_file(path, &texts);
        files++;
    }
    closedir(list);
    printf("%d tokenizers, %d texts\n", files, texts);
    ck_assert_int_gt(texts, 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("tokenizer kinds");
    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, numbers_and_texts_are_those_of_the_reference);
    tcase_add_test(tests, tokens_within_a_text_add_to_it);
    tcase_add_test(tests, a_folder_of_tokenizers);
    return fixture_run(tests);
}
