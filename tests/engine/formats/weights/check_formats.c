/* Every format that is written gives back the same bits, and the same file for the same weights;
 * what it cannot hold is refused by name and leaves nothing behind. */
#include <hdf5.h>
#include <zlib.h>

#include "engine/base/protobuf.h"
#include "engine/formats/weights/format.h"
#include "engine/formats/weights/weight_formats/lz4_filter.h"
#include "engine/formats/weights/weight_formats/zip.h"
#include "tests/engine/formats/weights/memory_weights.h"

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

/* A pass that takes all of them, for formats that hold one. */
static cse_status save(cse_weights *weights, const char *to)
{
    cse_weights_save_options options = as_they_are;
    cse_forward_weight taken[8] = { { .name = NULL } };
    const cse_forward_pass pass = { .weights = taken, .weight_count = weights->count };
    for (int i = 0; i < weights->count; i++)
        taken[i] = (cse_forward_weight){ weights->list[i].name, weights->list[i].shape };
    options.forward = cse_weights_save_wants_forward(to, &options) ? &pass : NULL;
    return cse_weights_save(&weights, to, &options);
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

/* ---- pytorch ---- */

/* An archive with this pickle, and a storage of 16 bytes. */
static void write_pickle(const char *pickle, size_t size)
{
    static const unsigned char elements[16] = { 1 };
    snprintf(path, sizeof path, "%s/x.pt", directory);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    const cse_weights_target to = { .descriptor = file, .path = path };
    cse_zip_writer zip = { .to = &to };
    ck_assert_int_eq(cse_zip_add_bytes(&zip, "x/data.pkl", pickle, size), CSE_OK);
    ck_assert_int_eq(cse_zip_add_bytes(&zip, "x/data/0", elements, sizeof elements), CSE_OK);
    ck_assert_int_eq(cse_zip_finish(&zip), CSE_OK);
    cse_zip_writer_clear(&zip);
    close(file);
}

/* {"w": tensor of 4 numbers at the offset, with sizes and strides}, as torch.save prints it. */
#define TENSOR(offset, size, stride)                                          \
    "\x80\2}(X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storage" \
    "ctorch\nFloatStorage\nX\1\0\0\0"                                         \
    "0X\3\0\0\0cpuK\4tQK" offset "(K" size "t(K" stride "t\x89"               \
    "ccollections\nOrderedDict\n)RtRu."

START_TEST(a_pickle_that_does_more_is_refused)
{
    static const struct {
        const char *pickle;
        size_t size;
        const char *words;
    } rows[] = {
#define ROW(text, words) { text, sizeof text - 1, words }
        ROW(TENSOR("\0", "\4", "\1"), NULL),
        ROW(TENSOR("\1", "\3", "\1"), NULL),
        ROW(TENSOR("\1", "\4", "\1"), "beyond its storage"),
        ROW(TENSOR("\5", "\1", "\1"), "beyond its storage"),
        ROW(TENSOR("\0", "\2", "\2"), "one block"),
        ROW("\x80\2cos\nsystem\nX\2\0\0\0ls\x85R.",
            "byte 2 of the pickle: it would call or make os "
            "system"),
        ROW("\x80\2}i.", "byte 3 of the pickle: the opcode 0x69"),
        ROW("\x80\2}\x81.", "the opcode 0x81"),
        ROW("\x80\4}.", "protocol 2"),
        ROW("\x80\2}", "ends in the middle"),
        ROW("\x80\2X\xff\xff\xff\xff", "ends in the middle"),
        ROW("\x80\2.", "nothing is left"),
        ROW("\x80\2}.", "no tensors"),
        ROW("\x80\2t.", "there is no mark"),
        ROW("\x80\2K\1K\1R.", "no function"),
        ROW("\x80\2}q\1h\7.", "no such place"),
        ROW("\x80\2K\1K\2\x86Q.", "no storage"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_weights *weights = NULL;
        write_pickle(rows[i].pickle, rows[i].size);
        const cse_status status = cse_weights_open(path, NULL, &weights);
        ck_assert_msg(status == (rows[i].words == NULL ? CSE_OK : CSE_DATA), "row %zu: %s", i,
                      cse_error_message());
        if (rows[i].words != NULL)
            ck_assert_msg(strstr(cse_error_message(), rows[i].words) != NULL, "row %zu: %s", i,
                          cse_error_message());
        cse_weights_close(&weights);
    }
}
END_TEST

/* A dictionary that holds itself, and ones that hold the one before twice. */
START_TEST(a_pickle_without_end_is_refused)
{
    char pickle[4096] = "\x80\2}q";
    size_t size = 4;
    cse_weights *weights = NULL;
    static const char itself[] = "\x80\2}q\0X\1\0\0\0ah\0s.";
    write_pickle(itself, sizeof itself - 1);
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "deep"));
    pickle[size++] = 0;
    for (char level = 0; level < 15; level++) {
        const char twice[] = { '}',
                               '(',
                               'K',
                               1,
                               'h',
                               level,
                               'K',
                               2,
                               'h',
                               level,
                               'K',
                               3,
                               'h',
                               level,
                               'u',
                               'q',
                               (char)(level + 1) };
        memcpy(pickle + size, twice, sizeof twice);
        size += sizeof twice;
    }
    pickle[size++] = '.';
    write_pickle(pickle, size);
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "values"));
}
END_TEST

START_TEST(an_archive_that_was_cut_is_refused)
{
    size_t size = 0;
    snprintf(path, sizeof path, "%s/one.pt", directory);
    ck_assert_int_eq(save(sample(CSE_ELEMENT_F32), path), CSE_OK);
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t less = 1; less < size; less += size / 50) {
        cse_weights *weights = NULL;
        write_bytes(path, bytes, size - less);
        ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    }
    bytes[140] ^= 1; /* in the pickle */
    write_bytes(path, bytes, size);
    cse_weights *weights = NULL;
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "checksum"));
    free(bytes);
}
END_TEST

/* The elements of each weight by its name, one after the other; false: one was refused. */
static bool read_all(cse_weights *weights, cse_text *all)
{
    int *order = cse_weights_name_order(weights);
    bool is_good = true;
    for (int i = 0; i < weights->count && is_good; i++) {
        const cse_weight *weight = &weights->list[order[i]];
        const size_t bytes = (size_t)cse_weight_bytes(weight);
        cse_text_add(all, "%s:", weight->name);
        cse_text_reserve(all, bytes);
        is_good = cse_weights_read(weights, order[i], 0, bytes, all->data + all->size) == CSE_OK;
        all->size += bytes;
    }
    free(order);
    return is_good;
}

static bool open_and_read(cse_text *all)
{
    cse_weights *weights = NULL;
    all->size = 0;
    const bool is_good = cse_weights_open(path, NULL, &weights) == CSE_OK && read_all(weights, all);
    if (weights != NULL)
        cse_weights_close(&weights);
    return is_good;
}

/* What is read in spite of it is what was written. */
START_TEST(a_wrong_bit_of_an_archive_changes_no_element)
{
    static const char *const names[] = { "bits.pt", "bits.npz" };
    for (int n = 0; n < 2; n++) {
        size_t size = 0;
        int refused = 0;
        cse_text right = { 0 }, all = { 0 };
        snprintf(path, sizeof path, "%s/%s", directory, names[n]);
        ck_assert_int_eq(save(sample(CSE_ELEMENT_F32), path), CSE_OK);
        unsigned char *bytes = read_bytes(path, &size);
        ck_assert(open_and_read(&right));
        for (size_t bit = 0; bit < 8 * size; bit += 8 * size / 150 + 1) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            write_bytes(path, bytes, size);
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (!open_and_read(&all))
                refused++;
            else if (all.size == right.size)
                ck_assert_msg(memcmp(all.data, right.data, right.size) == 0, "%s: bit %zu",
                              names[n], bit);
        }
        ck_assert_int_gt(refused, 0);
        cse_text_clear(&right);
        cse_text_clear(&all);
        free(bytes);
    }
}
END_TEST

/* ---- gguf ---- */

START_TEST(a_gguf_that_is_cut_is_refused)
{
    size_t size = 0;
    cse_weights *weights = NULL;
    snprintf(path, sizeof path, "%s/one.gguf", directory);
    ck_assert_int_eq(save(sample(CSE_ELEMENT_F32), path), CSE_OK);
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t less = 64; less < size; less += size / 50) {
        write_bytes(path, bytes, size - less);
        ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    }
    bytes[4] = 9;
    write_bytes(path, bytes, size);
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "accepted: 2, 3"));
    free(bytes);
}
END_TEST

/* ---- ONNX ---- */

START_TEST(an_onnx_that_is_cut_or_lies_elsewhere_is_refused)
{
    static const unsigned char outside[] = { 8,    8, 0x12, 1, 'x', 0x3a, 11, 0x2a, 9,
                                             0x10, 1, 0x42, 1, 'w', 0x70, 1,  8,    1 };
    size_t size = 0;
    cse_weights *weights = NULL;
    snprintf(path, sizeof path, "%s/one.onnx", directory);
    ck_assert_int_eq(save(sample(CSE_ELEMENT_BF16), path), CSE_OK);
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t less = 1; less < size; less += size / 50) {
        write_bytes(path, bytes, size - less);
        ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    }
    for (size_t at = 2; at < 600; at++) { /* any error, or other weights, but never more bytes */
        bytes[at] ^= 0x81;
        write_bytes(path, bytes, size);
        if (cse_weights_open(path, NULL, &weights) == CSE_OK)
            cse_weights_close(&weights);
        bytes[at] ^= 0x81;
    }
    free(bytes);
    write_bytes(path, outside, sizeof outside);
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "not in a file of the same folder"));
}
END_TEST

/* A model with one weight [256] of float32 whose elements are said to be in another file. */
static size_t outside_model(const char *facts[][2], unsigned char *bytes)
{
    cse_text model = { 0 }, graph = { 0 }, tensor = { 0 };
    cse_protobuf_add_integer(&model, 1, 8);
    cse_protobuf_add_text(&model, 2, "x");
    cse_protobuf_add_integer(&tensor, 1, 256);
    cse_protobuf_add_integer(&tensor, 2, 1);
    cse_protobuf_add_text(&tensor, 8, "w");
    for (int i = 0; facts[i][0] != NULL; i++) {
        cse_text pair = { 0 };
        cse_protobuf_add_text(&pair, 1, facts[i][0]);
        cse_protobuf_add_text(&pair, 2, facts[i][1]);
        cse_protobuf_take(&tensor, 13, &pair);
    }
    cse_protobuf_add_integer(&tensor, 14, 1);
    cse_protobuf_take(&graph, 5, &tensor);
    cse_protobuf_take(&model, 7, &graph);
    const size_t size = model.size;
    memcpy(bytes, model.data, size);
    cse_text_clear(&model);
    return size;
}

START_TEST(an_onnx_finds_weights_beside_it_alone)
{
    static const struct {
        const char *facts[4][2], *refusal; /* NULL: it is read */
    } cases[] = {
        { { { "location", "data" } }, NULL },
        { { { "location", "data" }, { "offset", "976" }, { "checksum", "any" } }, NULL },
        { { { "location", "data" }, { "offset", "976" }, { "length", "1024" } }, NULL },
        { { { "location", "data" }, { "offset", "977" } }, "beyond" },
        { { { "location", "data" }, { "offset", "999999999999999999" } }, "beyond" },
        { { { "location", "data" }, { "offset", "9999999999999999999" } }, "is no number" },
        { { { "location", "data" }, { "offset", "-4" } }, "is no number" },
        { { { "location", "data" }, { "length", "1020" } }, "does not fit its bytes" },
        { { { "location", "../data" } }, "not in a file of the same folder" },
        { { { "location", "/etc/passwd" } }, "not in a file of the same folder" },
        { { { "location", "." } }, "not in a file of the same folder" },
        { { { "location", "" } }, "not in a file of the same folder" },
        { { { "location", "none" } }, "none: cannot be opened" },
    };
    unsigned char bytes[1024];
    char data[2000] = "", beside[PATH_MAX + 64];
    cse_weights *weights = NULL;
    data[976] = 0x40;
    snprintf(beside, sizeof beside, "%s/data", directory);
    write_bytes(beside, (const unsigned char *)data, sizeof data);
    snprintf(path, sizeof path, "%s/one.onnx", directory);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_bytes(path, bytes,
                    outside_model((const char *(*)[2])(uintptr_t)cases[i].facts, bytes));
        const cse_status status = cse_weights_open(path, NULL, &weights);
        if (cases[i].refusal != NULL) {
            ck_assert_int_ne(status, CSE_OK);
            ck_assert_msg(strstr(cse_error_message(), cases[i].refusal) != NULL, "%zu: %s", i,
                          cse_error_message());
            continue;
        }
        ck_assert_int_eq(status, CSE_OK);
        unsigned char first = 0;
        ck_assert_int_eq(cse_weights_read(weights, 0, 0, 1, &first), CSE_OK);
        ck_assert_int_eq(first, i == 0 ? 0 : 0x40);
        cse_weights_close(&weights);
    }
    unlink(beside);
}
END_TEST

/* The file of the weights is taken away again where the other one cannot get its name. */
START_TEST(an_onnx_of_two_files_is_whole_or_not_there)
{
    cse_weights *weights = sample(CSE_ELEMENT_F32);
    cse_forward_weight wanted = { "large", cse_shape_of(300, 1000) };
    cse_forward_pass pass = { .weights = &wanted, .weight_count = 1 };
    cse_weights_save_options options = { .element = CSE_ELEMENT_COUNT,
                                         .forward = &pass,
                                         .file_bytes = 1 };
    snprintf(path, sizeof path, "%s/two.onnx", directory);
    ck_assert_int_eq(cse_weights_save(&weights, path, &options), CSE_OK);
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_OK);
    ck_assert_int_eq(weights->count, 1);
    cse_weights_close(&weights);
    ck_assert_int_eq(files_in(directory), 2);
    unlink(path);
    weights = sample(CSE_ELEMENT_F32);
    ck_assert_int_eq(cse_weights_save(&weights, path, &options), CSE_CANNOT_CREATE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "two.onnx.data: is there already"));
    ck_assert_int_eq(files_in(directory), 1);
}
END_TEST

START_TEST(an_onnx_takes_the_weights_of_its_pass)
{
    cse_weights *weights = NULL;
    const cse_forward_weight wanted[] = { { "alone", cse_shape_of(1) },
                                          { "layers.0.bias", cse_shape_of(7) } };
    cse_forward_pass pass = { .weights = (cse_forward_weight *)(uintptr_t)wanted,
                              .weight_count = 2 };
    cse_weights_save_options options = { .element = CSE_ELEMENT_COUNT, .forward = &pass };
    snprintf(path, sizeof path, "%s/one.onnx", directory);
    weights = sample(CSE_ELEMENT_F32);
    ck_assert_int_eq(cse_weights_save(&weights, path, &options), CSE_OK);
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_OK);
    ck_assert_int_eq(weights->count, 2);
    cse_weights_close(&weights);
    unlink(path);
    pass.weights = (cse_forward_weight[]){ { "none", cse_shape_of(1) } };
    pass.weight_count = 1;
    weights = sample(CSE_ELEMENT_F32);
    ck_assert_int_eq(cse_weights_save(&weights, path, &options), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "'none' of the model is missing"));
    pass.weights = (cse_forward_weight[]){ { "alone", cse_shape_of(2) } };
    weights = sample(CSE_ELEMENT_F32);
    ck_assert_int_eq(cse_weights_save(&weights, path, &options), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "'alone' is [1]; the model has [2]"));
    weights = sample(CSE_ELEMENT_F32);
    ck_assert_int_eq(cse_weights_save(&weights, path, &as_they_are), CSE_USAGE);
    ck_assert_int_eq(files_in(directory), 0);
}
END_TEST

/* ---- HDF5 ---- */

/* A dataset of two numbers of 16 bits; `pieces`: compressed, in chunks. */
static void add_dataset(hid_t file, const char *name, bool is_bfloat16, bool pieces)
{
    const hsize_t sizes[] = { 2 }, chunk[] = { 1 };
    const uint16_t values[] = { 0x3f80, 0x4000 };
    const int8_t yes = 1;
    hid_t space = H5Screate_simple(1, sizes, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
    if (pieces) {
        H5Pset_chunk(properties, 1, chunk);
        H5Pset_deflate(properties, 1);
    }
    hid_t dataset =
        H5Dcreate2(file, name, H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ck_assert_int_ge(H5Dwrite(dataset, H5T_STD_U16LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    hid_t scalar = H5Screate(H5S_SCALAR);
    if (is_bfloat16) {
        hid_t attribute =
            H5Acreate2(dataset, "is_bfloat16", H5T_STD_I8LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(attribute, H5T_STD_I8LE, &yes);
        H5Aclose(attribute);
    }
    H5Sclose(scalar);
    H5Dclose(dataset);
    H5Pclose(properties);
    H5Sclose(space);
}

/* As cstorch keeps them: quoted names, bfloat16 as integers, other states beside the model's. */
START_TEST(files_of_cstorch_are_read)
{
    uint16_t values[2];
    float wide[2];
    cse_weights *weights = NULL;
    snprintf(path, sizeof path, "%s/x.h5", directory);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(file, "__spec__", H5T_STD_I8LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(attribute);
    H5Sclose(scalar);
    add_dataset(file, "model%2Efc%2Eweight", true, true);
    add_dataset(file, "model.fc.bias", true, false);
    add_dataset(file, "optimizer.step", false, false);
    H5Fclose(file);
    ck_assert_msg(cse_weights_open(path, NULL, &weights) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(weights->count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(weights->list[i].element, CSE_ELEMENT_BF16);
        ck_assert_int_eq(cse_weights_read(weights, i, 0, 4, values), CSE_OK);
        ck_assert_int_eq(values[1], 0x4000);
        ck_assert_int_eq(cse_weights_read_as(weights, i, CSE_ELEMENT_F32, wide), CSE_OK);
        ck_assert_float_eq(wide[1], 2.0f);
    }
    ck_assert_int_ge(cse_weights_find(weights, "fc.weight"), 0);
    ck_assert_int_ge(cse_weights_find(weights, "fc.bias"), 0);
    cse_weights_close(&weights);
}
END_TEST

/* HDF5 makes a dataset with a filter only where something could compress by it. */
static size_t h5z_decode(unsigned flags, size_t count, const unsigned *values, size_t bytes,
                         size_t *capacity, void **buffer)
{
    (void)flags, (void)count, (void)values, (void)bytes, (void)capacity, (void)buffer;
    return 0;
}

/* A chunk of four numbers of 16 bits under `filter`, which unpacks to `bytes`. */
static void write_chunk(H5Z_filter_t filter, size_t bytes)
{
    const hsize_t sizes[] = { 4 }, offset[] = { 0 };
    unsigned char plain[64] = { 0, 0x3c }, chunk[128] = { 0 };
    uLongf size = sizeof chunk;
    const H5Z_class2_t lz4 = { H5Z_CLASS_T_VERS, 32004, 1, 1, "LZ4", NULL, NULL, h5z_decode };
    ck_assert_int_ge(H5Zregister(&lz4), 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, sizes, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 1, sizes);
    const unsigned level = 6, levels = filter == H5Z_FILTER_DEFLATE;
    ck_assert_int_ge(H5Pset_filter(properties, filter, H5Z_FLAG_OPTIONAL, levels, &level), 0);
    hid_t data = H5Dcreate2(file, "w", H5T_STD_I16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (filter == H5Z_FILTER_DEFLATE) {
        ck_assert_int_eq(compress2(chunk, &size, plain, bytes, 6), Z_OK);
    } else { /* one block, which is as long as its elements: these themselves */
        chunk[7] = chunk[11] = chunk[15] = (unsigned char)bytes;
        memcpy(chunk + 16, plain, bytes);
        size = 16 + bytes;
    }
    ck_assert_int_ge(H5Dwrite_chunk(data, H5P_DEFAULT, 0, offset, size, chunk), 0);
    H5Dclose(data);
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
    H5Zunregister(lz4.id);
}

START_TEST(a_chunk_of_another_size_is_refused)
{
    static const H5Z_filter_t filters[] = { H5Z_FILTER_DEFLATE, 32004 };
    static const size_t bytes[] = { 8, 7, 9, 16, 48 };
    snprintf(path, sizeof path, "%s/x.h5", directory);
    for (size_t i = 0; i < 2 * sizeof bytes / sizeof bytes[0]; i++) {
        uint16_t values[4] = { 0 };
        cse_weights *weights = NULL;
        write_chunk(filters[i % 2], bytes[i / 2]);
        ck_assert_msg(cse_weights_open(path, NULL, &weights) == CSE_OK, "%s", cse_error_message());
        const cse_status status = cse_weights_read(weights, 0, 0, sizeof values, values);
        ck_assert_int_eq(status, bytes[i / 2] == sizeof values ? CSE_OK : CSE_DATA);
        if (status == CSE_OK)
            ck_assert_int_eq(values[0], 0x3c00);
        else
            ck_assert_ptr_nonnull(strstr(cse_error_message(), "has a chunk that is damaged"));
        cse_weights_close(&weights);
    }
}
END_TEST

/* ---- LZ4 ---- */

/* By the format's description: a token, literals, how far back, and how many more than 4. */
START_TEST(blocks_of_lz4_are_decoded)
{
    static const unsigned char good[] = { 0x3f, 'a', 'b', 'c', 3, 0, 1, 0x20, 'd', 'e' };
    static const unsigned char before[] = { 0x10, 'a', 2, 0, 0x10, 'b' };
    unsigned char out[25];
    ck_assert_int_eq(cse_lz4_decode(good, sizeof good, out, sizeof out), 0);
    ck_assert_mem_eq(out, "abcabcabcabcabcabcabcabde", 25);
    ck_assert_int_eq(cse_lz4_decode(good, sizeof good, out, 24), -1);
    ck_assert_int_eq(cse_lz4_decode(good, sizeof good - 1, out, 25), -1);
    ck_assert_int_eq(cse_lz4_decode(before, sizeof before, out, 6), -1);
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
    tcase_add_test(test, a_pickle_that_does_more_is_refused);
    tcase_add_test(test, a_pickle_without_end_is_refused);
    tcase_add_test(test, an_archive_that_was_cut_is_refused);
    tcase_add_test(test, a_gguf_that_is_cut_is_refused);
    tcase_add_test(test, an_onnx_that_is_cut_or_lies_elsewhere_is_refused);
    tcase_add_test(test, an_onnx_finds_weights_beside_it_alone);
    tcase_add_test(test, an_onnx_of_two_files_is_whole_or_not_there);
    tcase_add_test(test, an_onnx_takes_the_weights_of_its_pass);
    tcase_add_test(test, files_of_cstorch_are_read);
    tcase_add_test(test, a_wrong_bit_of_an_archive_changes_no_element);
    tcase_add_test(test, a_chunk_of_another_size_is_refused);
    tcase_add_test(test, blocks_of_lz4_are_decoded);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
