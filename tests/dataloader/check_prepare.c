/* Texts become samples: the tokens of all documents in order, the same bytes for any number of
 * jobs and however files are compressed, and documents that cannot be read named or left out. */
#include <zstd.h>

#include "dataloader/input.h"
#include "dataloader/prepare/text_pieces.h"
#include "dataloader/prepare/tokenize.h"
#include "engine/base/directory.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

enum { TIME = 16, END = 0 };

static cse_tokenizer *tokenizer;

static void make(void)
{
    char path[1024];
    const char *root = getenv("top_srcdir");
    fixture_make_folder();
    snprintf(path, sizeof path, "%s/tests/reference/tokenizer_plain.json", root ? root : "..");
    fixture_expect(cse_tokenizer_load(path, &tokenizer), CSE_OK, NULL);
}

static void unmake(void)
{
    cse_tokenizer_close(&tokenizer);
    cse_remove_tree(fixture_folder);
}

static void write_zstd(const char *name, const char *text)
{
    char packed[4096];
    const size_t size = ZSTD_compress(packed, sizeof packed, text, strlen(text), 3);
    ck_assert(!ZSTD_isError(size));
    fixture_write(name, packed, size);
}

typedef struct request {
    const char *files[4];
    int jobs;
    bool skips_bad, npy;
} request;

static cse_status tokenize(const request *r, const char *to, cse_tokenize_result *result)
{
    char folder[512];
    const char *paths[4];
    snprintf(folder, sizeof folder, "%s", fixture_path(to));
    ck_assert_int_eq(cse_make_directories("to", folder), CSE_OK);
    cse_tokenize_options options = { .paths = paths,
                                     .field = "text",
                                     .skips_bad = r->skips_bad,
                                     .jobs = r->jobs,
                                     .end_of_document = END };
    while (options.path_count < 4 && r->files[options.path_count] != NULL) {
        paths[options.path_count] = strdup(fixture_path(r->files[options.path_count]));
        options.path_count++;
    }
    const cse_token_writer_options output = { .folder = folder,
                                              .npy = r->npy,
                                              .time = TIME,
                                              .file_samples = r->npy ? 1 << 16 : 5,
                                              .vocab_size = 420,
                                              .padding = END };
    cse_token_writer *writer = cse_token_writer_new(&output);
    cse_status status = cse_tokenize(tokenizer, &options, writer, result);
    if (status == CSE_OK)
        status = cse_token_writer_finish(writer);
    cse_token_writer_close(&writer);
    for (int i = 0; i < options.path_count; i++)
        free((char *)(uintptr_t)paths[i]);
    return status;
}

static size_t read_bytes(const char *folder, const char *name, char *bytes, size_t most)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", fixture_path(folder), name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s is missing", path);
    const size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

static void expect_same_file(const char *a, const char *b, const char *name)
{
    static char left[1 << 20], right[1 << 20];
    const size_t size = read_bytes(a, name, left, sizeof left);
    ck_assert_uint_eq(size, read_bytes(b, name, right, sizeof right));
    ck_assert_mem_eq(left, right, size);
}

static const char lines[] = "{\"id\": 1, \"text\": \"the cat sat on the mat\"}\n"
                            "\n"
                            "{\"text\": \"\\u041f\\u0440\\u0438\\u0432\\u0435\\u0442\"}\r\n"
                            "\"a line may be a text\"\n";
static const char *const texts[] = { "the cat sat on the mat", "Привет", "a line may be a text" };
static const char plain[] = "a file\nis one document, they say. 1234567 cats sat on that.\n";

/* What the tokens must be: of each text, with END behind it. */
static cse_token_ids expected(void)
{
    cse_token_ids ids = { 0 };
    const int32_t end = END;
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    for (int i = 0; i < 4; i++) {
        const char *text = i < 3 ? texts[i] : plain;
        ck_assert_int_eq(cse_encode(encoder, text, strlen(text), &ids), CSE_OK);
        ids.ids = realloc(ids.ids, (ids.count + 1) * sizeof end);
        ids.ids[ids.count++] = end;
        ids.capacity = ids.count;
    }
    cse_encoder_close(&encoder);
    return ids;
}

START_TEST(samples_hold_all_tokens_in_order)
{
    cse_tokenize_result result;
    char yaml[1024];
    cse_dataloader *loader = NULL;
    fixture_write_text("a.jsonl", lines);
    fixture_write_text("b.txt", plain);
    const request r = { .files = { "a.jsonl", "b.txt" }, .jobs = 1 };
    fixture_expect(tokenize(&r, "out", &result), CSE_OK, NULL);
    ck_assert_int_eq(result.documents, 4);
    cse_token_ids ids = expected();
    const int64_t samples = ((int64_t)ids.count - 2) / TIME + 1;
    snprintf(yaml, sizeof yaml,
             "{data_processor: hdf5_lm, data_dir: %s, attention_mask: true, batch_size: 1}",
             fixture_path("out"));
    fixture_expect(open_loader(yaml, 1, &loader), CSE_OK, NULL);
    ck_assert_int_eq(cse_dataloader_input_view(loader)->sample_count, samples);
    int32_t *values = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    for (int64_t s = 0; s < samples; s++) {
        ck_assert_int_eq(cse_dataloader_read(loader, s, 0, values), CSE_OK);
        for (int64_t t = 0; t < TIME; t++) {
            const size_t at = (size_t)(s * TIME + t);
            ck_assert_int_eq(values[t], at < ids.count ? ids.ids[at] : END);
            ck_assert_int_eq(values[TIME + t], at + 1 < ids.count ? ids.ids[at + 1] : -100);
            ck_assert_int_eq(values[2 * TIME + t], at + 1 < ids.count);
        }
    }
    free(values);
    free(ids.ids);
    cse_dataloader_close(&loader);
}
END_TEST

START_TEST(jobs_and_compression_do_not_show)
{
    static const request others[] = {
        { .files = { "a.jsonl", "b.txt" }, .jobs = 7 },
        { .files = { "a.jsonl.gz", "b.txt.zst" }, .jobs = 2 },
        { .files = { "a.jsonl.zst", "b.txt.gz" }, .jobs = 3 },
    };
    cse_tokenize_result result;
    fixture_write_text("a.jsonl", lines);
    fixture_write_text("b.txt", plain);
    fixture_write_gzip("a.jsonl.gz", lines, sizeof lines - 1);
    fixture_write_gzip("b.txt.gz", plain, sizeof plain - 1);
    write_zstd("a.jsonl.zst", lines);
    write_zstd("b.txt.zst", plain);
    const request first = { .files = { "a.jsonl", "b.txt" }, .jobs = 1 };
    fixture_expect(tokenize(&first, "first", &result), CSE_OK, NULL);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "other%zu", i);
        fixture_expect(tokenize(&others[i], name, &result), CSE_OK, NULL);
        expect_same_file("first", name, "data-00000.h5");
    }
}
END_TEST

/* Longer than a piece; encoded whole, and cut. */
START_TEST(a_long_text_is_cut_without_a_change)
{
    enum { LINES = 100000 };
    size_t size = 0;
    cse_token_ids whole = { 0 };
    cse_tokenize_result result;
    char *text = malloc(LINES * 32), header[128];
    for (int i = 0; i < LINES; i++)
        size += (size_t)snprintf(
            text + size, 32, i % 7 == 0 ? "the mat,\n\n  %d\n" : "cat %d sat on\n", i * 37 % 1000);
    fixture_write("long.txt", text, size);
    ck_assert_uint_gt(size, CSE_PIECE_BYTES);
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    ck_assert_int_eq(cse_encode(encoder, text, size, &whole), CSE_OK);
    const request r = { .files = { "long.txt" }, .jobs = 2, .npy = true };
    fixture_expect(tokenize(&r, "long", &result), CSE_OK, NULL);
    ck_assert_int_eq(result.documents, 1);
    size_t done = 0;
    for (int f = 0; done < whole.count; f++) {
        char path[512], name[32];
        static uint16_t tokens[TIME << 16];
        snprintf(name, sizeof name, "data-%05d.npy", f);
        snprintf(path, sizeof path, "%s/%s", fixture_path("long"), name);
        FILE *file = fopen(path, "rb");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fread(header, 1, 128, file), 128);
        const size_t count = fread(tokens, 2, TIME << 16, file);
        fclose(file);
        for (size_t i = 0; i < count && done < whole.count; i++, done++)
            ck_assert_int_eq(tokens[i], whole.ids[done]);
    }
    cse_encoder_close(&encoder);
    free(whole.ids);
    free(text);
}
END_TEST

START_TEST(documents_that_cannot_be_read_are_named_or_left_out)
{
    cse_tokenize_result result;
    fixture_write_text("bad.jsonl", "{\"text\": \"good\"}\n{\"text\": 7}\n{\"text\": \"x\n");
    fixture_write_text("cut.txt.zst", "\x28\xb5\x2f\xfd");
    const request strict = { .files = { "bad.jsonl" }, .jobs = 1 };
    const request lenient = { .files = { "bad.jsonl" }, .jobs = 2, .skips_bad = true };
    const request cut = { .files = { "cut.txt.zst" }, .jobs = 1, .skips_bad = true };
    fixture_expect(tokenize(&strict, "strict", &result), CSE_DATA,
                   "bad.jsonl:2: no text in member \"text\"");
    fixture_expect(tokenize(&lenient, "lenient", &result), CSE_OK, NULL);
    ck_assert_int_eq(result.documents, 1);
    ck_assert_int_eq(result.bad_documents, 2);
    ck_assert_ptr_nonnull(strstr(result.first_bad, "bad.jsonl:2"));
    fixture_expect(tokenize(&cut, "cut", &result), CSE_DATA, "ends too early");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("prepare");
    tcase_add_checked_fixture(tests, make, unmake);
    tcase_add_test(tests, samples_hold_all_tokens_in_order);
    tcase_add_test(tests, jobs_and_compression_do_not_show);
    tcase_add_test(tests, a_long_text_is_cut_without_a_change);
    tcase_add_test(tests, documents_that_cannot_be_read_are_named_or_left_out);
    return fixture_run(tests);
}
