/* Kinds of tokenizers: a few here, beside the numbers that Hugging Face's tokenizers gave
 * (tests/reference/tokenizer_kinds.py), and, with CSE_TOKENIZERS=FOLDER, those whose files and texts
 * tests/dataloader/tokenizers_of_hugging_face.py made: their numbers and texts are written there. */
#include <dirent.h>

#include "dataloader/file_list.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "tests/dataloader/fixture.h"

static void write_block(FILE *to, const void *bytes, size_t size)
{
    const uint32_t length = (uint32_t)size;
    ck_assert_uint_eq(fwrite(&length, 4, 1, to), 1);
    ck_assert_uint_eq(fwrite(bytes != NULL ? bytes : "", 1, size, to), size);
}

static void encode_file(const char *path, int *texts)
{
    char name[1024];
    uint32_t size;
    cse_tokenizer *tokenizer;
    const int length = (int)strlen(path) - 5;
    fixture_expect(cse_tokenizer_load(path, &tokenizer), CSE_OK, NULL);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    snprintf(name, sizeof name, "%.*s.texts", length, path);
    FILE *from = fopen(name, "rb");
    snprintf(name, sizeof name, "%.*s.ids", length, path);
    FILE *to = fopen(name, "wb");
    ck_assert(from != NULL && to != NULL);
    while (fread(&size, 4, 1, from) == 1) {
        cse_token_ids ids = { 0 };
        cse_text back = { 0 };
        char *text = malloc(size + 1);
        ck_assert_uint_eq(fread(text, 1, size, from), size);
        fixture_expect(cse_encode(encoder, text, size, &ids), CSE_OK, NULL);
        fixture_expect(cse_decode(tokenizer, ids.ids, ids.count, &back), CSE_OK, NULL);
        write_block(to, ids.ids, ids.count * sizeof *ids.ids);
        write_block(to, back.data, back.size);
        cse_text_clear(&back);
        free(ids.ids);
        free(text);
        ++*texts;
    }
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
        if (!cse_name_ends(path, ".json"))
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
    tcase_add_test(tests, a_folder_of_tokenizers);
    return fixture_run(tests);
}
