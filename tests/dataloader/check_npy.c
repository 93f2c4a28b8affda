/* Arrays of NumPy, each header as NumPy of some version writes it, and archives of them: the
 * values, by hand, and refusals. */
#include <zlib.h>

#include "dataloader/formats/npy_array.h"
#include "tests/dataloader/fixture.h"

static cse_file_pool *pool;
static cse_npy_array array;

static void begin(void)
{
    fixture_make_folder();
    pool = cse_file_pool_new(NULL, NULL);
    array = (cse_npy_array){ .memory = NULL };
}

static void end(void)
{
    cse_npy_array_clear(&array);
    cse_file_pool_destroy(&pool);
    fixture_remove_folder();
}

/* A file of that version with a literal and elements; returns its size. */
static size_t make(char *file, int version, const char *literal, const void *elements, size_t bytes)
{
    const size_t length = strlen(literal), field = version == 1 ? 2 : 4;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    for (size_t i = 0; i < field; i++)
        file[8 + i] = (char)(length >> (8 * i));
    memcpy(file + 8 + field, literal, length);
    memcpy(file + 8 + field + length, elements, bytes);
    return 8 + field + length + bytes;
}

static cse_status open_literal(const char *literal, const void *elements, size_t bytes)
{
    char file[1024];
    fixture_write("a.npy", file, make(file, 1, literal, elements, bytes));
    return cse_npy_array_open(pool, fixture_path("a.npy"), NULL, &array);
}

static void expect_floats(const float *expected, int64_t count)
{
    unsigned char raw[256];
    float values[16];
    ck_assert_int_eq(array.header.elements, count);
    fixture_expect(cse_npy_array_read(&array, 0, count, raw), CSE_OK, NULL);
    cse_npy_convert(&array.header, raw, count, CSE_FLOAT32, values);
    for (int64_t i = 0; i < count; i++)
        ck_assert_float_eq(values[i], expected[i]);
}

#define LITERAL(descr, order, shape) \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }\n"

/* [[1, 2, 3], [4, 5, 6]], whose columns stand side by side. */
START_TEST(fortran_order)
{
    static const int16_t columns[] = { 1, 4, 2, 5, 3, 6 };
    static const float rows[] = { 1, 2, 3, 4, 5, 6 };
    fixture_expect(open_literal(LITERAL("<i2", "True", "(2, 3)"), columns, sizeof columns), CSE_OK,
                   NULL);
    expect_floats(rows, 6);
    ck_assert_ptr_nonnull(array.memory);
    cse_npy_array_clear(&array);
    /* Of one row both orders are one, and nothing is kept in memory. */
    fixture_expect(open_literal(LITERAL("<i2", "True", "(1, 6)"), rows, 12), CSE_OK, NULL);
    ck_assert_ptr_null(array.memory);
}
END_TEST

START_TEST(three_dimensions_in_fortran_order)
{
    /* a[i][j][k] = 100 i + 10 j + k of shape [2, 2, 2], the first index fastest. */
    static const unsigned char bytes[] = { 0, 100, 10, 110, 1, 101, 11, 111 };
    static const float expected[] = { 0, 1, 10, 11, 100, 101, 110, 111 };
    fixture_expect(open_literal(LITERAL("|u1", "True", "(2, 2, 2)"), bytes, sizeof bytes), CSE_OK,
                   NULL);
    expect_floats(expected, 8);
}
END_TEST

/* IEEE 754: 1.5, -2 and 0.1 in the format. */
START_TEST(byte_orders_and_kinds)
{
    static const struct {
        const char *literal, *bytes;
        int size;
        float expected[2];
    } rows[] = {
        { LITERAL(">f4", "False", "(2,)"), "\x3f\xc0\0\0\xc0\0\0\0", 8, { 1.5f, -2 } },
        { LITERAL("<f4", "False", "(2,)"), "\0\0\xc0\x3f\0\0\0\xc0", 8, { 1.5f, -2 } },
        { LITERAL("<f2", "False", "(2,)"), "\0\x3e\0\xc0", 4, { 1.5f, -2 } },
        { LITERAL(">f2", "False", "(2,)"), "\x3e\0\x2e\x66", 4, { 1.5f, 0.0999755859375f } },
        { LITERAL(">f8", "False", "(1,)"), "\xc0\0\0\0\0\0\0\0", 8, { -2 } },
        { LITERAL(">i8", "False", "(1,)"), "\xff\xff\xff\xff\xff\xff\xff\xfe", 8, { -2 } },
        { LITERAL(">u2", "False", "(2,)"), "\1\0\0\2", 4, { 256, 2 } },
        { LITERAL("|i1", "False", "(2,)"), "\xff\1", 2, { -1, 1 } },
        { LITERAL("|b1", "False", "(2,)"), "\1\0", 2, { 1, 0 } },
        { LITERAL("<u8", "False", "(1,)"), "\0\0\0\0\0\0\0\x80", 8, { 9223372036854775808.0f } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture_expect(open_literal(rows[i].literal, rows[i].bytes, (size_t)rows[i].size), CSE_OK,
                       NULL);
        expect_floats(rows[i].expected, array.header.elements);
    }
}
END_TEST

/* Python 2 prints long numbers with L; quotes and the order of keys are Python's to choose. */
START_TEST(headers_of_all_versions)
{
    static const char *const literals[] = {
        LITERAL("|u1", "False", "(2L, 2L)"),
        "{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (2, 2), }   \n",
        "{'shape':(2,2),'fortran_order':False,'descr':'|u1'}",
        "{u'descr': u'|u1', 'fortran_order': False, 'shape': (2L, 2L,)}",
    };
    static const float expected[] = { 1, 2, 3, 4 };
    char file[512];
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
            fixture_write("a.npy", file, make(file, version, literals[i], "\1\2\3\4", 4));
            fixture_expect(cse_npy_array_open(pool, fixture_path("a.npy"), NULL, &array), CSE_OK,
                           NULL);
            expect_floats(expected, 4);
        }
}
END_TEST

START_TEST(refused_by_name)
{
    static const struct {
        const char *literal, *part;
    } rows[] = {
        { "{'descr': [('x', '<f4'), ('y', '<i8')], 'fortran_order': False, 'shape': (1,), }",
          "a structured array, of the fields x, y" },
        { LITERAL("|O", "False", "(1,)"), "it holds Python objects (O)" },
        { LITERAL("<U3", "False", "(1,)"), "it holds texts" },
        { LITERAL("<c8", "False", "(1,)"), "it holds complex numbers" },
        { LITERAL("<M8[s]", "False", "(1,)"), "it holds dates" },
        { LITERAL("<f16", "False", "(1,)"), "floats of another size" },
        { LITERAL("<f4", "Perhaps", "(1,)"), "fortran_order" },
        { LITERAL("<f4", "False", "(-1,)"), "shape" },
        { "{'descr': '<f4', 'shape': (1,)}", "lacks one of" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", "other keys" },
        { LITERAL("<f4", "False", "(3,)"), "the file is not whole" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fixture_expect(open_literal(rows[i].literal, "12345678", 8), CSE_DATA, rows[i].part);
}
END_TEST

/* ---- archives ---- */

static void put(char **at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *(*at)++ = (char)(value >> (8 * i));
}

typedef struct member {
    const char *name;
    char content[512];
    size_t size;
    bool deflated;
} member;

/* The header that stands before a member, or in the directory (APPNOTE.TXT 4.3.7, 4.3.12). */
static void put_header(char **at, const member *m, size_t packed, size_t place, bool in_directory)
{
    put(at, in_directory ? 0x02014b50 : 0x04034b50, 4);
    if (in_directory)
        put(at, 20, 2);
    put(at, 20, 2);
    put(at, 0, 2);
    put(at, m->deflated ? 8 : 0, 2);
    put(at, 0, 4);
    put(at, crc32(0, (const Bytef *)m->content, (uInt)m->size), 4);
    put(at, packed, 4);
    put(at, m->size, 4);
    put(at, strlen(m->name), 2);
    put(at, 0, 2);
    if (in_directory) {
        put(at, 0, 2 + 2 + 2);
        put(at, 0, 4);
        put(at, place, 4);
    }
    memcpy(*at, m->name, strlen(m->name));
    *at += strlen(m->name);
}

static size_t make_archive(char *archive, const member *members, int count)
{
    char *at = archive;
    size_t places[4], packed[4];
    for (int i = 0; i < count; i++) {
        unsigned char bytes[1024];
        z_stream stream = { .next_in = (Bytef *)(uintptr_t)members[i].content,
                            .avail_in = (uInt)members[i].size,
                            .next_out = bytes,
                            .avail_out = sizeof bytes };
        deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
        deflate(&stream, Z_FINISH);
        packed[i] = members[i].deflated ? stream.total_out : members[i].size;
        deflateEnd(&stream);
        places[i] = (size_t)(at - archive);
        put_header(&at, &members[i], packed[i], 0, false);
        memcpy(at, members[i].deflated ? (const char *)bytes : members[i].content, packed[i]);
        at += packed[i];
    }
    const size_t directory = (size_t)(at - archive);
    for (int i = 0; i < count; i++)
        put_header(&at, &members[i], packed[i], places[i], true);
    const size_t size = (size_t)(at - archive) - directory;
    put(&at, 0x06054b50, 4);
    put(&at, 0, 4);
    put(&at, (uint64_t)count, 2);
    put(&at, (uint64_t)count, 2);
    put(&at, size, 4);
    put(&at, directory, 4);
    put(&at, 0, 2);
    return (size_t)(at - archive);
}

static cse_status open_member(const char *key)
{
    cse_npy_array_clear(&array);
    return cse_npy_array_open(pool, fixture_path("a.npz"), key, &array);
}

START_TEST(members_of_archives)
{
    static const float expected[] = { 1, 2, 3, 4 }, others[] = { 7, 8 };
    char archive[4096];
    member members[2] = { { .name = "x.npy" }, { .name = "y.npy", .deflated = true } };
    members[0].size = make(members[0].content, 1, LITERAL("|u1", "False", "(2, 2)"), "\1\2\3\4", 4);
    members[1].size = make(members[1].content, 1, LITERAL(">i2", "False", "(2,)"), "\0\7\0\10", 4);
    size_t size = make_archive(archive, members, 2);
    fixture_write("a.npz", archive, size);
    fixture_expect(open_member("x"), CSE_OK, NULL);
    expect_floats(expected, 4);
    fixture_expect(open_member("y"), CSE_OK, NULL);
    expect_floats(others, 2);
    fixture_expect(open_member(NULL), CSE_CONFIG, "name one by its key; its arrays are: x, y");
    fixture_expect(open_member("z"), CSE_CONFIG, "there is no array \"z\"; its arrays are: x, y");
    /* The checksum in the directory, before whose end stand two entries of 46 + 5 bytes. */
    for (int i = 0; i < 2; i++) {
        char *checksum = archive + size - 22 - (size_t)(2 - i) * 51 + 16;
        *checksum ^= 1;
        fixture_write("a.npz", archive, size);
        *checksum ^= 1;
        fixture_expect(open_member(i == 0 ? "x" : "y"), CSE_DATA, "checksum differs");
    }
    size = make_archive(archive, members, 1);
    fixture_write("a.npz", archive, size);
    fixture_expect(open_member(NULL), CSE_OK, NULL);
    expect_floats(expected, 4);
    fixture_write("a.npz", archive, size - 3);
    fixture_expect(open_member(NULL), CSE_DATA, "cut off or is damaged");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("npy");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, fortran_order);
    tcase_add_test(tests, three_dimensions_in_fortran_order);
    tcase_add_test(tests, byte_orders_and_kinds);
    tcase_add_test(tests, headers_of_all_versions);
    tcase_add_test(tests, refused_by_name);
    tcase_add_test(tests, members_of_archives);
    return fixture_run(tests);
}
