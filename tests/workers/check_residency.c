/* Residency over a real file and over the model of a disk: random uses leave the bytes that they
 * should, never more than the budget is in memory, and the model counts what the file does; a file
 * that is cut off ends with CSE_IO; the model's clock waits as its rates say. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workers/arena/arena_file.h"
#include "workers/arena/disk_model.h"
#include "workers/arena/disk_threads.h"
#include "workers/arena/residency.h"

enum { BLOCK = CSE_RESIDENCY_BLOCK_BYTES, BLOCKS = 96, BUDGET = 12, CALLS = 3000 };
static const int64_t file_bytes = (int64_t)BLOCKS * BLOCK - 4096;

typedef struct side {
    cse_residency *residency;
    cse_block_io *io;
    unsigned char *base;
    int descriptor;
} side;

static unsigned random_below(unsigned n)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static void open_residency(side *s)
{
    cse_residency_new(&(cse_residency_options){ .io = s->io,
                                                .base = s->base,
                                                .first = BLOCK,
                                                .end = file_bytes,
                                                .budget_bytes = BUDGET * BLOCK },
                      &s->residency);
}

static side open_file(void)
{
    side s = { .base = NULL };
    ck_assert_int_eq(cse_arena_file_new("/tmp", &s.descriptor), CSE_OK);
    ck_assert_int_eq(cse_arena_file_reserve(s.descriptor, 0, file_bytes), CSE_OK);
    s.base = mmap(NULL, (size_t)file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s.descriptor, 0);
    ck_assert(s.base != MAP_FAILED);
    madvise(s.base, (size_t)file_bytes, MADV_RANDOM);
    ck_assert_int_eq(cse_disk_threads_new(s.descriptor, s.base, &s.io), CSE_OK);
    open_residency(&s);
    return s;
}

static void close_file(side *s)
{
    cse_residency_destroy(&s->residency);
    s->io->destroy(s->io);
    munmap(s->base, (size_t)file_bytes);
    close(s->descriptor);
}

static int64_t bytes_in_memory(const side *s)
{
    unsigned char pages[BLOCKS * (BLOCK / 4096)];
    int64_t count = 0;
    ck_assert_int_eq(mincore(s->base + BLOCK, (size_t)(file_bytes - BLOCK), pages), 0);
    for (int64_t p = 0; p < (file_bytes - BLOCK + 4095) / 4096; p++)
        count += pages[p] & 1;
    return count * 4096;
}

/* Up to three ranges of at most four blocks together, somewhere. */
static int random_ranges(cse_byte_range ranges[3])
{
    const int count = 1 + (int)random_below(3);
    for (int i = 0; i < count; i++) {
        const int64_t first = BLOCK + random_below((unsigned)(file_bytes - 3 * BLOCK));
        ranges[i] = (cse_byte_range){ first, first + 1 + random_below(BLOCK), random_below(2) };
    }
    return count;
}

static void write_range(unsigned char *bytes, cse_byte_range range, int value)
{
    if (range.written)
        memset(bytes + range.first, value, (size_t)(range.end - range.first));
}

static void check_counts(const side *file, const side *model)
{
    const cse_residency_counts a = cse_residency_count(file->residency);
    const cse_residency_counts b = cse_residency_count(model->residency);
    ck_assert_int_eq(a.read_bytes, b.read_bytes);
    ck_assert_int_eq(a.written_bytes, b.written_bytes);
    ck_assert_int_le(a.most_resident_bytes, BUDGET * BLOCK);
    ck_assert_int_ge(a.written_bytes, 100 * BLOCK);
}

START_TEST(test_bytes_stay_and_memory_is_bounded)
{
    static cse_disk_model disk;
    side file = open_file(), model = { .io = &disk.io };
    unsigned char *wanted = calloc(1, (size_t)file_bytes);
    cse_disk_model_begin(&disk, 0, 0);
    open_residency(&model);
    for (int call = 0; call < CALLS; call++) {
        cse_byte_range ranges[3];
        const int count = random_ranges(ranges);
        ck_assert_int_eq(cse_residency_use(file.residency, ranges, count), CSE_OK);
        ck_assert_int_eq(cse_residency_use(model.residency, ranges, count), CSE_OK);
        for (int i = 0; i < count; i++) {
            write_range(file.base, ranges[i], call & 0xff);
            write_range(wanted, ranges[i], call & 0xff);
        }
        const int ahead = random_ranges(ranges);
        ck_assert(cse_residency_expect(file.residency, ranges, ahead) ==
                  cse_residency_expect(model.residency, ranges, ahead));
        if (call % 16 == 0) {
            /* While blocks come and leave, the count could have one that has left and one that
             * came in its place. */
            ck_assert_int_eq(file.io->finish(file.io), CSE_OK);
            ck_assert_int_le(bytes_in_memory(&file), BUDGET * BLOCK);
        }
    }
    check_counts(&file, &model);
    ck_assert_int_eq(cse_residency_clear(file.residency), CSE_OK);
    ck_assert_int_eq(bytes_in_memory(&file), 0);
    ck_assert_mem_eq(file.base, wanted, (size_t)file_bytes);
    free(wanted);
    cse_residency_destroy(&model.residency);
    close_file(&file);
}
END_TEST

START_TEST(test_bytes_that_are_gone_end_with_a_status)
{
    side file = open_file();
    const cse_byte_range range = { 40 * BLOCK, 41 * BLOCK, true };
    ck_assert_int_eq(ftruncate(file.descriptor, 30 * BLOCK), 0);
    ck_assert_int_eq(cse_residency_use(file.residency, &range, 1), CSE_IO);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "cannot be read"));
    close_file(&file);
}
END_TEST

static double seconds_of(const cse_disk_model *disk)
{
    return disk->now_s;
}

START_TEST(test_the_model_waits_as_its_rates_say)
{
    static cse_disk_model disk;
    side model = { .io = &disk.io };
    const cse_byte_range first = { BLOCK, 5 * BLOCK, true },
                         next = { 8 * BLOCK, 12 * BLOCK, false };
    cse_disk_model_begin(&disk, 4 * BLOCK, 2 * BLOCK); /* 4 blocks: 1 s to read, 2 s to write */
    open_residency(&model);
    ck_assert_int_eq(cse_residency_use(model.residency, &first, 1), CSE_OK);
    ck_assert_double_eq_tol(seconds_of(&disk), 1, 1e-9);
    ck_assert(cse_residency_expect(model.residency, &next, 1));
    disk.now_s += 0.75; /* of the second that it takes; the rest is waited for */
    ck_assert_int_eq(cse_residency_use(model.residency, &next, 1), CSE_OK);
    ck_assert_double_eq_tol(seconds_of(&disk), 2, 1e-9);
    ck_assert_int_eq(cse_residency_count(model.residency).waited_ns, 1250000000);
    ck_assert_int_eq(cse_residency_clear(model.residency), CSE_OK);
    ck_assert_double_eq_tol(seconds_of(&disk), 4, 1e-9);
    cse_residency_destroy(&model.residency);
}
END_TEST

/* What is read ahead is still there when it is used, also where blocks that are there already are
 * asked for in between. */
START_TEST(test_what_is_there_counts_as_asked_for)
{
    static cse_disk_model disk;
    side model = { .io = &disk.io };
    const cse_byte_range used = { BLOCK, 9 * BLOCK, false };
    int taken = 0;
    cse_disk_model_begin(&disk, 0, 0);
    open_residency(&model);
    ck_assert_int_eq(cse_residency_use(model.residency, &used, 1), CSE_OK);
    for (int b = 20; b < 30; b++)
        for (int at = 0; at < 2; at++) {
            const int64_t first = at == 0 ? b : b - 19; /* absent, there */
            const cse_byte_range range = { first * BLOCK, (first + 1) * BLOCK, false };
            taken += cse_residency_expect(model.residency, &range, 1);
        }
    ck_assert_int_eq(taken, BUDGET / 2);
    for (int b = 20; b < 23; b++) {
        const cse_byte_range range = { (int64_t)b * BLOCK, (int64_t)(b + 1) * BLOCK, false };
        ck_assert_int_eq(cse_residency_use(model.residency, &range, 1), CSE_OK);
    }
    ck_assert_int_eq(cse_residency_count(model.residency).read_bytes, (8 + 3) * BLOCK);
    cse_residency_destroy(&model.residency);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("residency");
    TCase *tests = tcase_create("residency");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_bytes_stay_and_memory_is_bounded);
    tcase_add_test(tests, test_bytes_that_are_gone_end_with_a_status);
    tcase_add_test(tests, test_what_is_there_counts_as_asked_for);
    tcase_add_test(tests, test_the_model_waits_as_its_rates_say);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
