/* Every format that is written gives back the same bits, and the same file for the same weights;
 * what it cannot hold is refused by name and leaves nothing behind. */
#include "engine/weights/format.h"
#include "tests/engine/weights/memory_weights.h"

static char directory[PATH_MAX], path[PATH_MAX + 64], again[PATH_MAX + 64];

static void set_up(void)
{
    ck_assert_ptr_nonnull(make_directory(directory));
}

static void tear_down(void)
{
    remove_directory(directory);
}

static void set_names(const cse_weights_format *format)
{
    const int length = (int)strcspn(format->extensions, " ");
    snprintf(path, sizeof path, "%s/one%.*s", directory, length, format->extensions);
    snprintf(again, sizeof again, "%s/two%.*s", directory, length, format->extensions);
}

static cse_weights *sample(cse_element element)
{
    cse_weights *weights = memory_weights();
    memory_add(weights, "layers.0.weight", element, cse_shape_of(3, 5));
    memory_add(weights, "layers.0.bias", element, cse_shape_of(7));
    memory_add(weights, "alone", element, cse_shape_of(1));
    memory_add(weights, "a.of.four", element, cse_shape_of(2, 3, 1, 4));
    memory_add(weights, "large", element, cse_shape_of(300, 1000));
    return weights;
}

static const cse_weights_save_options as_they_are = { .element = CSE_ELEMENT_COUNT };

static cse_status save(cse_weights *weights, const char *to)
{
    return cse_weights_save(&weights, to, &as_they_are);
}

static void comes_back(const cse_weights_format *format, cse_element element)
{
    cse_weights *read = NULL, *expected = sample(element);
    ck_assert_msg(save(sample(element), again) == CSE_OK, "%s", cse_error_message());
    ck_assert_msg(cse_weights_open(path, NULL, &read) == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(read->format, format->name);
    ck_assert_msg(weights_equal(expected, read), "%s, %s: other weights come back", format->name,
                  cse_element_name(element));
    cse_weights_close(&read);
    cse_weights_close(&expected);
    size_t size = 0, other = 0;
    unsigned char *a = read_bytes(path, &size), *b = read_bytes(again, &other);
    ck_assert_msg(size == other && memcmp(a, b, size) == 0, "%s: another file", format->name);
    free(a);
    free(b);
    unlink(path);
    unlink(again);
}

START_TEST(every_format_gives_back_the_same_bits)
{
    for (const cse_weights_format *const *row = cse_weights_formats; *row != NULL; row++) {
        int held = 0;
        if ((*row)->write == NULL)
            continue;
        set_names(*row);
        for (int e = 0; e < CSE_ELEMENT_COUNT; e++) {
            const cse_status status = save(sample((cse_element)e), path);
            ck_assert_msg(status == CSE_OK || status == CSE_SHAPE, "%s: %s", (*row)->name,
                          cse_error_message());
            ck_assert_msg(status == CSE_OK || e != CSE_ELEMENT_F32, "%s: no float32", (*row)->name);
            if (status == CSE_SHAPE) {
                ck_assert_ptr_nonnull(strstr(cse_error_message(), cse_element_name(e)));
                ck_assert_int_eq(files_in(directory), 0);
                continue;
            }
            comes_back(*row, (cse_element)e);
            held++;
        }
        ck_assert_int_gt(held, 0);
    }
}
END_TEST

START_TEST(floats_are_converted_to_nearest)
{
    static const float values[] = { 1.0f, 1.00390625f, -3.14159274f, 65504.0f, 1e-8f };
    static const uint16_t bfloat16[] = { 0x3f80, 0x3f80, 0xc049, 0x4780, 0x322c };
    static const uint16_t float16[] = { 0x3c00, 0x3c04, 0xc248, 0x7bff, 0x0000 };
    uint16_t got[5];
    float wide[5];
    ck_assert(cse_element_convert(CSE_ELEMENT_F32, values, CSE_ELEMENT_BF16, got, 5));
    ck_assert_mem_eq(got, bfloat16, sizeof got);
    ck_assert(cse_element_convert(CSE_ELEMENT_F32, values, CSE_ELEMENT_F16, got, 5));
    ck_assert_mem_eq(got, float16, sizeof got);
    ck_assert(cse_element_convert(CSE_ELEMENT_F16, float16, CSE_ELEMENT_F32, wide, 5));
    ck_assert_float_eq(wide[3], 65504.0f);
    const int64_t large = (int64_t)1 << 40;
    int32_t small;
    ck_assert(!cse_element_convert(CSE_ELEMENT_I64, &large, CSE_ELEMENT_I32, &small, 1));
}
END_TEST

START_TEST(a_name_that_is_there_is_not_overwritten)
{
    snprintf(path, sizeof path, "%s/one.safetensors", directory);
    ck_assert_int_eq(save(sample(CSE_ELEMENT_F32), path), CSE_OK);
    ck_assert_int_eq(save(sample(CSE_ELEMENT_F32), path), CSE_CANNOT_CREATE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "is there already"));
    snprintf(path, sizeof path, "%s/one.doc", directory);
    ck_assert_int_eq(save(sample(CSE_ELEMENT_F32), path), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "safetensors"));
}
END_TEST

/* ---- safetensors ---- */

/* A file with this header and so many bytes of elements. */
static void write_header(const char *header, size_t elements)
{
    const uint64_t size = strlen(header);
    unsigned char *bytes = calloc(8 + size + elements, 1);
    memcpy(bytes, &size, 8);
    memcpy(bytes + 8, header, size);
    snprintf(path, sizeof path, "%s/x.safetensors", directory);
    write_bytes(path, bytes, 8 + size + elements);
    free(bytes);
}

START_TEST(a_wrong_header_is_refused)
{
    static const struct {
        const char *header;
        size_t elements;
        const char *words;
    } rows[] = {
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, NULL },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "beyond" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8, "do not fit" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "beyond the end" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9,
          "follow the last" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}",
          6, "overlaps" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[5,9]}}",
          9, "leaves a hole" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
          8, "duplicate" },
        { "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]}}", 8, "F8_E4M3" },
        { "{\"a\":{\"dtype\":\"float32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "float32" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "shape" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4294967296],"
          "\"data_offsets\":[0,8]}}",
          8, "size that no file" },
        { "{\"__metadata__\":{\"a\":1}}", 0, "no text" },
        { "{\"a\":[1]}", 0, "no dtype" },
        { "{\"a\":", 0, "no JSON object" },
        { "{\"a\":[[[[[[[[[[]]]]]]]]]]}", 0, "brackets" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_weights *weights = NULL;
        write_header(rows[i].header, rows[i].elements);
        const cse_status status = cse_weights_open(path, NULL, &weights);
        if (rows[i].words == NULL) {
            ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
        } else {
            ck_assert_msg(status == CSE_DATA, "%s: status %d", rows[i].header, status);
            ck_assert_msg(strstr(cse_error_message(), rows[i].words) != NULL, "%s: %s",
                          rows[i].header, cse_error_message());
        }
        cse_weights_close(&weights);
    }
}
END_TEST

START_TEST(a_header_longer_than_the_file_is_refused)
{
    static const unsigned char lengths[][10] = {
        { 255, 255, 255, 255, 255, 0, 0, 0, '{', '}' },
        { 3, 0, 0, 0, 0, 0, 0, 0, '{', '}' },
    };
    snprintf(path, sizeof path, "%s/x.safetensors", directory);
    for (size_t i = 0; i < 2; i++) {
        cse_weights *weights = NULL;
        write_bytes(path, lengths[i], sizeof lengths[i]);
        ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), "header"));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("formats of weights");
    TCase *test = tcase_create("formats");
    tcase_add_checked_fixture(test, set_up, tear_down);
    tcase_add_test(test, every_format_gives_back_the_same_bits);
    tcase_add_test(test, floats_are_converted_to_nearest);
    tcase_add_test(test, a_name_that_is_there_is_not_overwritten);
    tcase_add_test(test, a_wrong_header_is_refused);
    tcase_add_test(test, a_header_longer_than_the_file_is_refused);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
