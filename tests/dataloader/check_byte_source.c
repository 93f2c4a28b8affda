/* Compressed files: what is handed out as whole is what was compressed. No wrong bit, missing end
 * or damaged later member may give other content. */
#include <zstd.h>

#include "csengine/input.h"
#include "tests/dataloader/fixture.h"

enum { CONTENT_BYTES = 3000, MOST_BYTES = 8192 };

static char content[CONTENT_BYTES];
static unsigned char packed[2][MOST_BYTES]; /* gzip, zstd */
static size_t sizes[2];
static const char *const endings[] = { "gz", "zst" };

/* One member or frame, appended to the form's file. */
static void append(int form, const char *bytes, size_t size)
{
    unsigned char *to = packed[form] + sizes[form];
    if (form == 1) {
        ZSTD_CCtx *context = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        const size_t got = ZSTD_compress2(context, to, MOST_BYTES - sizes[form], bytes, size);
        ck_assert(!ZSTD_isError(got));
        ZSTD_freeCCtx(context);
        sizes[form] += got;
        return;
    }
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes,
                        .avail_in = (uInt)size,
                        .next_out = to,
                        .avail_out = (uInt)(MOST_BYTES - sizes[form]) };
    ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    sizes[form] += stream.total_out;
    deflateEnd(&stream);
}

/* The content in two members, of numbers so that each is packed. */
static void make(void)
{
    fixture_make_folder();
    for (int i = 0; i < CONTENT_BYTES; i++)
        content[i] = (char)('0' + (i * i / 7 + i % 13) % 10);
    for (int form = 0; form < 2; form++) {
        sizes[form] = 0;
        append(form, content, 1000);
        append(form, content + 1000, CONTENT_BYTES - 1000);
    }
}

static cse_status read_file(int form, const void *bytes, size_t size, unsigned char **got,
                            size_t *count)
{
    char name[32];
    cse_byte_source *source;
    snprintf(name, sizeof name, "file.%s", endings[form]);
    fixture_write(name, bytes, size);
    *got = NULL;
    *count = 0;
    cse_status status = cse_byte_source_open(fixture_path(name), &source);
    if (status != CSE_OK)
        return status;
    status = cse_byte_source_take(source, MOST_BYTES, got, count);
    cse_byte_source_close(&source);
    return status;
}

static void expect(int form, const void *bytes, size_t size, cse_status expected, size_t length)
{
    unsigned char *got;
    size_t count;
    fixture_expect(read_file(form, bytes, size, &got, &count), expected, "file.");
    if (expected == CSE_OK) {
        ck_assert_uint_eq(count, length);
        ck_assert_mem_eq(got, content, length);
    }
    free(got);
}

START_TEST(members_follow_each_other)
{
    for (int form = 0; form < 2; form++)
        expect(form, packed[form], sizes[form], CSE_OK, CONTENT_BYTES);
}
END_TEST

START_TEST(no_wrong_bit_changes_the_content)
{
    for (int form = 0; form < 2; form++)
        for (size_t bit = 0; bit < 8 * sizes[form]; bit += 1 + bit % 3) {
            unsigned char *got;
            size_t count;
            packed[form][bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (read_file(form, packed[form], sizes[form], &got, &count) == CSE_OK)
                ck_assert_msg(count == CONTENT_BYTES && memcmp(got, content, count) == 0,
                              "%s: bit %zu", endings[form], bit);
            free(got);
            packed[form][bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
}
END_TEST

START_TEST(a_file_that_is_cut_off_is_refused)
{
    for (int form = 0; form < 2; form++) {
        sizes[form] = 0;
        append(form, content, CONTENT_BYTES);
        for (size_t size = 1; size < sizes[form]; size++)
            expect(form, packed[form], size, CSE_DATA, 0);
    }
}
END_TEST

/* Zeros fill up blocks of tapes; anything else was content. */
START_TEST(behind_gzip_stand_members_or_zeros)
{
    expect(0, packed[0], sizes[0] + 512, CSE_OK, CONTENT_BYTES);
    memset(packed[0] + sizes[0], 'x', 10);
    expect(0, packed[0], sizes[0] + 10, CSE_DATA, 0);
    expect(0, content, 100, CSE_DATA, 0);
    expect(1, content, 100, CSE_DATA, 0);
    expect(1, packed[0], sizes[0], CSE_OK, CONTENT_BYTES);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("byte source");
    tcase_add_checked_fixture(tests, make, fixture_remove_folder);
    tcase_add_test(tests, members_follow_each_other);
    tcase_add_test(tests, no_wrong_bit_changes_the_content);
    tcase_add_test(tests, a_file_that_is_cut_off_is_refused);
    tcase_add_test(tests, behind_gzip_stand_members_or_zeros);
    return fixture_run(tests);
}
