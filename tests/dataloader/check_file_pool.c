/* Files that change while they are read: told with their name, at each use or once for a batch; a
 * file that was cut short after it was looked at does not end the process. */
#include <unistd.h>

#include "dataloader/files/file_pool.h"
#include "tests/dataloader/fixture.h"

enum { BYTES = 1 << 16 };

static cse_file_pool *pool;
static int file;

static void make(void)
{
    static unsigned char bytes[BYTES];
    fixture_make_folder();
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i % 251);
    fixture_write("a.bin", bytes, BYTES);
    pool = cse_file_pool_new(NULL, NULL);
    ck_assert_int_eq(cse_file_pool_add(pool, fixture_path("a.bin"), &file), CSE_OK);
}

static void unmake(void)
{
    cse_file_pool_destroy(&pool);
    fixture_remove_folder();
}

static cse_status read_at(int64_t offset, size_t size)
{
    static unsigned char bytes[BYTES];
    cse_status status = cse_file_pool_read(pool, file, offset, bytes, size);
    for (size_t i = 0; i < size && status == CSE_OK; i++)
        ck_assert_int_eq(bytes[i], (unsigned char)((offset + (int64_t)i) % 251));
    return status;
}

static void cut(int64_t size)
{
    ck_assert_int_eq(truncate(fixture_path("a.bin"), (off_t)size), 0);
}

START_TEST(a_change_is_told_at_each_use)
{
    fixture_expect(read_at(0, BYTES), CSE_OK, NULL);
    fixture_expect(read_at(BYTES - 3, 3), CSE_OK, NULL);
    fixture_expect(read_at(BYTES - 3, 4), CSE_DATA, "the file ends here");
    cut(BYTES - 1);
    fixture_expect(read_at(0, 1), CSE_DATA, "a.bin: the file changed while it was in use");
}
END_TEST

START_TEST(a_change_is_told_once_for_a_batch)
{
    cse_file_pool_look_once(pool);
    fixture_expect(read_at(0, BYTES), CSE_OK, NULL);
    cut(5000);
    fixture_expect(read_at(100, 4000), CSE_OK, NULL);
    fixture_expect(read_at(100, 40000), CSE_DATA, "a.bin: offset 5000: the file ends here");
    fixture_expect(read_at(20000, 10), CSE_DATA, "a.bin: offset 20000: the file ends here");
    cse_file_pool_look_once(pool);
    fixture_expect(read_at(0, 1), CSE_DATA, "changed while it was in use, from 65536 to 5000");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("file_pool");
    tcase_add_checked_fixture(tests, make, unmake);
    tcase_add_test(tests, a_change_is_told_at_each_use);
    tcase_add_test(tests, a_change_is_told_once_for_a_batch);
    return fixture_run(tests);
}
