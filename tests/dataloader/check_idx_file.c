/* idx files: plain and compressed files read alike, and every defect of a file gives one
 * message with its position. */
#include <sys/stat.h>

#include "dataloader/formats/idx_file.h"
#include "engine/base/random.h"
#include "tests/dataloader/fixture.h"

/* Two images of 3 by 2. */
static const unsigned char good[] = { 0, 0, 8, 3, 0, 0, 0, 2, 0,  0,  0,  3,  0,  0,
                                      0, 2, 1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60 };

static void expect_good(const char *name)
{
    cse_idx_file file;
    ck_assert_int_eq(cse_idx_file_load(fixture_path(name), 3, &file), CSE_OK);
    ck_assert_int_eq(file.rank, 3);
    ck_assert_int_eq(file.dims[0], 2);
    ck_assert_int_eq(file.dims[1], 3);
    ck_assert_int_eq(file.dims[2], 2);
    ck_assert_int_eq(file.size_bytes, 12);
    ck_assert_mem_eq(file.values, good + 16, 12);
    cse_idx_file_clear(&file);
    ck_assert_ptr_null(file.values);
}

static void expect_wrong(const char *name, cse_status expected, const char *part)
{
    cse_idx_file file;
    fixture_expect(cse_idx_file_load(fixture_path(name), 3, &file), expected, part);
    ck_assert(strstr(cse_error_message(), fixture_path(name)) != NULL);
    ck_assert_ptr_null(file.values);
}

START_TEST(plain_and_gzip_read_alike)
{
    fixture_write("plain", good, sizeof good);
    fixture_write_gzip("compressed", good, sizeof good);
    expect_good("plain");
    expect_good("compressed");
}
END_TEST

START_TEST(every_truncation_is_found)
{
    for (size_t size = 0; size < sizeof good; size++) {
        char part[64];
        snprintf(part, sizeof part, "offset %zu", size);
        fixture_write("short", good, size);
        expect_wrong("short", CSE_DATA, part);
        fixture_write_gzip("short", good, size);
        expect_wrong("short", CSE_DATA, part);
    }
}
END_TEST

START_TEST(trailing_bytes_are_found)
{
    unsigned char longer[sizeof good + 1] = { 0 };
    memcpy(longer, good, sizeof good);
    fixture_write("long", longer, sizeof longer);
    expect_wrong("long", CSE_DATA, "offset 28: more bytes follow the 12 values");
    fixture_write_gzip("long", longer, sizeof longer);
    expect_wrong("long", CSE_DATA, "offset 28: more bytes follow the 12 values");
}
END_TEST

START_TEST(wrong_headers_are_refused)
{
    static const struct {
        unsigned char header[16];
        const char *part;
    } rows[] = {
        { { 0, 0, 8, 1, 0, 0, 0, 12 }, "0x00000801, expected 0x00000803" },
        { { 0, 0, 9, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2 }, "0x00000903, expected 0x00000803" },
        { { 3, 8, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2 }, "0x03080000, expected 0x00000803" },
        { { 0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2 }, "offset 4: dimension 0 is 0" },
        { { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0 }, "offset 12: dimension 2 is 0" },
        { { 0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 },
          "offset 8: dimension 1 is 4294967295: the sizes multiply" },
        /* Sizes that can be multiplied, but that no file has: refused without taking the memory. */
        { { 0, 0, 8, 3, 127, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 1 },
          "offset 28: the content ends here, expected 9223372030412324865 values" },
        { { 0, 0, 8, 3, 0, 255, 255, 255, 0, 0, 255, 255, 0, 0, 0, 255 },
          "offset 28: the content ends here" },
    };
    unsigned char bytes[sizeof good];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memcpy(bytes, good, sizeof good);
        memcpy(bytes, rows[i].header, sizeof rows[i].header);
        fixture_write("wrong", bytes, sizeof bytes);
        expect_wrong("wrong", CSE_DATA, rows[i].part);
    }
}
END_TEST

static size_t read_back(const char *name, unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(fixture_path(name), "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

START_TEST(damaged_compression_is_found)
{
    unsigned char bytes[256], damaged[256];
    fixture_write_gzip("whole", good, sizeof good);
    size_t size = read_back("whole", bytes, sizeof bytes);
    for (size_t cut = 2; cut < size; cut++) {
        fixture_write("cut", bytes, cut);
        expect_wrong("cut", CSE_DATA, "");
    }
    for (size_t at = size - 8; at < size; at++) { /* checksum and length */
        memcpy(damaged, bytes, size);
        damaged[at] ^= 1;
        fixture_write("damaged", damaged, size);
        expect_wrong("damaged", CSE_DATA, "the compressed stream is damaged");
    }
}
END_TEST

/* Any damage gives the good content or an error; a sanitizer sees what else would happen. */
START_TEST(random_damage_never_crashes)
{
    unsigned char bytes[2][256], damaged[256];
    fixture_write("plain", good, sizeof good);
    fixture_write_gzip("compressed", good, sizeof good);
    const size_t sizes[] = { read_back("plain", bytes[0], 256),
                             read_back("compressed", bytes[1], 256) };
    for (uint32_t number = 0; number < 1500; number++) {
        uint32_t words[4];
        cse_philox(number, (const uint32_t[]){ 0, 0, 0, 0 }, words);
        int form = (int)(number % 2);
        memcpy(damaged, bytes[form], sizes[form]);
        damaged[words[0] % sizes[form]] = (unsigned char)words[1];
        damaged[words[2] % sizes[form]] ^= (unsigned char)(1u << words[3] % 8);
        fixture_write("damaged", damaged, sizes[form] - (words[3] >> 8) % 4);
        cse_idx_file file;
        cse_status status = cse_idx_file_load(fixture_path("damaged"), 3, &file);
        ck_assert(status == CSE_OK || status == CSE_DATA);
        if (status == CSE_OK)
            ck_assert_int_eq(file.size_bytes, file.dims[0] * file.dims[1] * file.dims[2]);
        cse_idx_file_clear(&file);
    }
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
    expect_wrong("missing", CSE_NO_INPUT, "cannot open the file");
    ck_assert_int_eq(mkdir(fixture_path("folder"), 0777), 0);
    expect_wrong("folder", CSE_NO_INPUT, "not a regular file");
    ck_assert_int_eq(mkfifo(fixture_path("pipe"), 0666), 0);
    expect_wrong("pipe", CSE_NO_INPUT, "not a regular file");
    if (geteuid() != 0) {
        fixture_write("secret", good, sizeof good);
        ck_assert_int_eq(chmod(fixture_path("secret"), 0), 0);
        expect_wrong("secret", CSE_PERMISSION, "cannot open the file");
    }
}
END_TEST

/* Larger than the reader's first block, so that its memory grows. */
START_TEST(a_large_file_arrives_whole)
{
    enum { ROWS = 3000, COLUMNS = 1500 };
    size_t size = 12 + (size_t)ROWS * COLUMNS;
    unsigned char *bytes = calloc(1, size);
    const unsigned char header[] = {
        0, 0, 8, 2, 0, 0, ROWS >> 8, ROWS & 255, 0, 0, COLUMNS >> 8, COLUMNS & 255
    };
    memcpy(bytes, header, sizeof header);
    for (size_t i = 12; i < size; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    fixture_write("large", bytes, size);
    fixture_write_gzip("large.gz", bytes, size);
    for (int form = 0; form < 2; form++) {
        cse_idx_file file;
        const char *path = fixture_path(form == 0 ? "large" : "large.gz");
        ck_assert_int_eq(cse_idx_file_load(path, 2, &file), CSE_OK);
        ck_assert_int_eq(file.size_bytes, ROWS * COLUMNS);
        ck_assert_mem_eq(file.values, bytes + 12, size - 12);
        cse_idx_file_clear(&file);
    }
    free(bytes);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("idx_file");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, plain_and_gzip_read_alike);
    tcase_add_test(tests, every_truncation_is_found);
    tcase_add_test(tests, trailing_bytes_are_found);
    tcase_add_test(tests, wrong_headers_are_refused);
    tcase_add_test(tests, damaged_compression_is_found);
    tcase_add_test(tests, random_damage_never_crashes);
    tcase_add_test(tests, what_is_no_file_is_refused);
    tcase_add_test(tests, a_large_file_arrives_whole);
    return fixture_run(tests);
}
