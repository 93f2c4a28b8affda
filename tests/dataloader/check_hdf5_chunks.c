/* A chunk of HDF5 that unpacks to another size than the dataset says is refused, shuffled or not;
 * good ones are read, and read again, whatever filters they went through. */
#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>
#include <zlib.h>

#include "dataloader/formats/hdf5_table.h"
#include "tests/dataloader/fixture.h"

enum { ROWS = 4, TIME = 6, CHUNK_ROWS = 2, CHUNK_BYTES = CHUNK_ROWS * TIME * 4 };
enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER = 4 };

static int32_t values[ROWS][TIME];

static hid_t make_dataset(hid_t file, int filters)
{
    const hsize_t dims[] = { ROWS, TIME }, chunk[] = { CHUNK_ROWS, TIME };
    hid_t space = H5Screate_simple(2, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 2, chunk);
    if (filters & SHUFFLE)
        H5Pset_shuffle(creation);
    if (filters & DEFLATE)
        H5Pset_deflate(creation, 6);
    if (filters & FLETCHER)
        H5Pset_fletcher32(creation);
    hid_t data =
        H5Dcreate2(file, "data", H5T_NATIVE_INT32, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ck_assert_int_ge(data, 0);
    H5Sclose(space);
    H5Pclose(creation);
    return data;
}

/* `bytes`: that the second chunk unpacks to; 0: all is as HDF5 writes it. */
static void write_file(int filters, size_t bytes)
{
    hid_t file = H5Fcreate(fixture_path("t.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t data = make_dataset(file, filters);
    for (int i = 0; i < ROWS * TIME; i++)
        values[i / TIME][i % TIME] = i * i;
    H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (bytes > 0) {
        const hsize_t offset[] = { CHUNK_ROWS, 0 };
        unsigned char plain[2 * CHUNK_BYTES] = "", packed[1024];
        uLongf size = sizeof packed;
        ck_assert_int_eq(compress2(packed, &size, plain, bytes, 6), Z_OK);
        ck_assert_int_ge(H5Dwrite_chunk(data, H5P_DEFAULT, 0, offset, size, packed), 0);
    }
    H5Dclose(data);
    H5Fclose(file);
}

static cse_status read_rows(int64_t first, int64_t count)
{
    int32_t got[ROWS][TIME];
    cse_hdf5_table *table = NULL;
    const int64_t starts[] = { first, 0 }, counts[] = { count, TIME };
    const int descriptor = open(fixture_path("t.h5"), O_RDONLY);
    cse_status status = cse_hdf5_table_open(descriptor, fixture_path("t.h5"), "data", &table);
    for (int again = 0; again < 2 && status == CSE_OK; again++)
        status = cse_hdf5_table_read(table, starts, counts, CSE_INT32, got);
    if (status == CSE_OK)
        ck_assert_mem_eq(got, values[first], (size_t)(count * TIME) * sizeof got[0][0]);
    cse_hdf5_table_close(&table);
    close(descriptor);
    return status;
}

START_TEST(good_chunks_are_read)
{
    for (int filters = 0; filters < 8; filters++) {
        write_file(filters, 0);
        for (int64_t first = 0; first < ROWS; first++)
            for (int64_t count = 1; count <= ROWS - first; count++)
                ck_assert_msg(read_rows(first, count) == CSE_OK, "%s", cse_error_message());
    }
}
END_TEST

START_TEST(a_chunk_of_another_size_is_refused)
{
    static const size_t wrong[] = { 1, CHUNK_BYTES - 1, CHUNK_BYTES + 1, 2 * CHUNK_BYTES };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            write_file(DEFLATE | (shuffled ? SHUFFLE : 0), wrong[i]);
            ck_assert_int_eq(read_rows(0, CHUNK_ROWS), CSE_OK);
            for (int64_t first = 0; first < ROWS; first++) {
                ck_assert_int_eq(read_rows(first, ROWS - first), CSE_DATA);
                ck_assert_ptr_nonnull(strstr(cse_error_message(), "has a chunk that is damaged"));
            }
        }
}
END_TEST

/* The place of a chunk's bytes in the file says how many there are. */
START_TEST(an_unpacked_chunk_of_another_size_is_refused)
{
    static const uint32_t size = CHUNK_BYTES;
    int changed = 0;
    char bytes[1 << 16];
    write_file(0, 0);
    FILE *file = fopen(fixture_path("t.h5"), "r+b");
    const size_t all = fread(bytes, 1, sizeof bytes, file);
    /* In the tree of chunks: the bytes, no filter is skipped, and the offset of the second one. */
    for (size_t at = 0; at + 16 <= all; at++)
        if (memcmp(bytes + at, &size, 4) == 0 &&
            memcmp(bytes + at + 4, "\0\0\0\0\2\0\0\0", 8) == 0) {
            fseek(file, (long)at, SEEK_SET);
            fputc(CHUNK_BYTES - 8, file);
            changed++;
        }
    fclose(file);
    ck_assert_int_eq(changed, 1);
    ck_assert_int_eq(read_rows(0, CHUNK_ROWS), CSE_OK);
    ck_assert_int_eq(read_rows(CHUNK_ROWS, 1), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "has a chunk that is damaged"));
}
END_TEST

/* The tree of chunks names the first one twice, of which libhdf5 reads the second. */
START_TEST(a_chunk_that_is_named_twice_is_looked_at_where_it_is_read)
{
    static const unsigned char place[28] = { [4] = CHUNK_ROWS };
    for (int wrong = 0; wrong < 2; wrong++) {
        int changed = 0;
        char bytes[1 << 16];
        write_file(DEFLATE, wrong ? 2 * CHUNK_BYTES : CHUNK_BYTES);
        FILE *file = fopen(fixture_path("t.h5"), "r+b");
        const size_t all = fread(bytes, 1, sizeof bytes, file);
        for (size_t at = 0; at + sizeof place <= all; at++)
            if (memcmp(bytes + at, place, sizeof place) == 0) {
                fseek(file, (long)at + 4, SEEK_SET);
                fputc(0, file);
                changed++;
            }
        fclose(file);
        ck_assert_int_eq(changed, 1);
        memset(values, 0, sizeof values); /* what the second one holds */
        ck_assert_int_eq(read_rows(0, CHUNK_ROWS), wrong ? CSE_DATA : CSE_OK);
    }
}
END_TEST

/* By the size of an element libhdf5 divides where a chunk is not in the file. */
START_TEST(elements_of_no_bytes_are_refused)
{
    static const unsigned char type[] = { 0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0 };
    int changed = 0;
    char bytes[1 << 16];
    write_file(0, 0);
    FILE *file = fopen(fixture_path("t.h5"), "r+b");
    const size_t all = fread(bytes, 1, sizeof bytes, file);
    for (size_t at = 0; at + sizeof type <= all; at++)
        if (memcmp(bytes + at, type, sizeof type) == 0) {
            fseek(file, (long)at + 4, SEEK_SET);
            fputc(0, file);
            changed++;
        }
    fclose(file);
    ck_assert_int_eq(changed, 1);
    ck_assert_int_eq(read_rows(0, 1), CSE_DATA);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("chunks of HDF5");
    tcase_add_checked_fixture(test, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(test, good_chunks_are_read);
    tcase_add_test(test, a_chunk_of_another_size_is_refused);
    tcase_add_test(test, an_unpacked_chunk_of_another_size_is_refused);
    tcase_add_test(test, a_chunk_that_is_named_twice_is_looked_at_where_it_is_read);
    tcase_add_test(test, elements_of_no_bytes_are_refused);
    return fixture_run(test);
}
