/* The product that uses the matrix units, with their instructions computed in C: its packing, its
 * division into chunks, ranges and pieces, and its reads in place, against the implementation for
 * vector units of the same order of sums, bit for bit, and against double precision. Operands end
 * where readable memory ends. */
#include <check.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)
#include "tests/engine/code/kernels/emulated_tiles.h"

#define cse_narrow_amx emulated_amx
#include "engine/code/kernels/matmul_amx.c"
#undef cse_narrow_amx

#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/graph/trace/arguments.h"
#include "tests/support/expect.h"
#include "tests/support/sanitized.h"

extern const cse_narrow_way cse_narrow_avx512;

/* Memory whose last byte is the last one that may be read. */
typedef struct fenced {
    char *mapping;
    size_t size;
    void *values;
} fenced;

static fenced fenced_new(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    fenced f = { .size = (bytes + page - 1) / page * page + page };
    f.mapping = mmap(NULL, f.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(f.mapping, MAP_FAILED);
    ck_assert_int_eq(mprotect(f.mapping + f.size - page, page, PROT_NONE), 0);
    f.values = f.mapping + f.size - page - bytes;
    return f;
}

static void fenced_free(fenced *f)
{
    munmap(f->mapping, f->size);
}

/* Ordinary values, and some that are subnormal, very large or infinite. */
static void draw(fenced *f, int64_t count, uint32_t seed)
{
    uint16_t *values = f->values;
    for (int64_t i = 0; i < count; i++) {
        uint32_t counter[4] = { (uint32_t)i, seed, 0, 0 }, words[4];
        cse_philox(7, counter, words);
        uint32_t exponent = 120 + words[0] % 12;
        if (words[1] % 500 == 0)
            exponent = words[2] % 3 == 0 ? 0 : words[2] % 3 == 1 ? 60 : 170;
        values[i] = (uint16_t)((words[0] >> 31) << 15 | exponent << 7 | (words[3] & 127));
    }
}

static void multiply_by(const cse_narrow_way *way, cse_narrow_kernel *kernel,
                        const cse_matmul_side sides[2], const cse_matmul_end *end)
{
    kernel->way = way;
    const size_t bytes = way->scratch_bytes(kernel);
    void *place = cse_aligned_calloc((bytes + 63) / 64 * 64 + 64);
    memset((char *)place + bytes, 0x5a, 64);
    way->multiply(kernel, sides, end, place);
    for (int i = 0; i < 64; i++)
        ck_assert_msg(((char *)place)[bytes + (size_t)i] == 0x5a, "wrote beyond its scratch");
    free(place);
}

typedef struct product {
    int64_t m, n, k;
    bool transpose_a, transpose_b, bias, relu;
    cse_dtype result;
    bool continues;
} product;

/* The sum that element i goes on from, where it does. */
static double begun_at(int64_t i)
{
    return (double)(i % 11) - 5;
}

/* Each of k + 3 roundings errs by at most 2^-24 of the sum of magnitudes; that to the result's
 * type comes last. Values that overflow or are lost are left to the comparison of bits. */
static void check_in_double(const product *p, const cse_matmul_side sides[2],
                            const cse_matmul_end *end, int64_t row, int64_t column)
{
    double sum = end->bias != NULL ? (double)end->bias[column] : 0;
    sum += p->continues ? begun_at(row * p->n + column) : 0;
    double magnitude = fabs(sum);
    for (int64_t i = 0; i < p->k; i++) {
        const int64_t a = row * sides[0].outer_stride + i * sides[0].depth_stride,
                      b = column * sides[1].outer_stride + i * sides[1].depth_stride;
        const double term = cse_read_element(CSE_BFLOAT16, sides[0].values, a) *
                            cse_read_element(CSE_BFLOAT16, sides[1].values, b);
        sum += term;
        magnitude += fabs(term);
    }
    if (p->relu && sum < 0)
        sum = 0;
    const double got = cse_read_element(p->result, end->to, row * p->n + column);
    const double last = p->result == CSE_BFLOAT16 ? 0x1p-8 : 0;
    const double bound = (double)(p->k + 3) * 0x1p-24 * magnitude * (1 + last) + last * fabs(sum);
    cse_expect(!(magnitude < 1e30) || fabs(got - sum) <= bound + 1e-30,
               "[%lld, %lld, %lld]: element %lld, %lld is %a, in double precision %a",
               (long long)p->m, (long long)p->n, (long long)p->k, (long long)row, (long long)column,
               got, sum);
}

static void check_product(const product *p)
{
    cse_narrow_kernel kernel = {
        .sizes = { 1, p->m, p->n, p->k, p->transpose_a, p->transpose_b },
        .dtypes = { CSE_BFLOAT16, CSE_BFLOAT16 },
        .result = p->result,
        .relu = p->relu,
        .continues = p->continues,
        .order = CSE_PRODUCT_ORDER_PAIRS,
    };
    fenced a = fenced_new((size_t)(p->m * p->k) * 2), b = fenced_new((size_t)(p->k * p->n) * 2);
    fenced bias = fenced_new((size_t)p->n * sizeof(float));
    const size_t size = cse_dtype_size(p->result), bytes = (size_t)(p->m * p->n) * size;
    fenced results[2] = { fenced_new(bytes), fenced_new(bytes) };
    draw(&a, p->m * p->k, 1);
    draw(&b, p->k * p->n, 2);
    for (int64_t i = 0; i < p->n; i++)
        ((float *)bias.values)[i] = (float)(i % 7) - 3;
    for (int64_t i = 0; p->continues && i < 2 * p->m * p->n; i++)
        ((float *)results[i % 2].values)[i / 2] = (float)begun_at(i / 2);
    const cse_matmul_side sides[2] = {
        { CSE_BFLOAT16, a.values, p->transpose_a ? 1 : p->k, p->transpose_a ? p->m : 1, p->m },
        { CSE_BFLOAT16, b.values, p->transpose_b ? p->k : 1, p->transpose_b ? 1 : p->n, p->n },
    };
    for (int i = 0; i < 2; i++) {
        const cse_matmul_end end = { p->result, results[i].values,
                                     p->n,      p->bias ? bias.values : NULL,
                                     p->relu,   p->continues,
                                     NULL };
        multiply_by(i == 0 ? &emulated_amx : &cse_narrow_avx512, &kernel, sides, &end);
        for (int64_t e = 0; i == 0 && e < p->m * p->n; e += 1 + p->m * p->n / 16)
            check_in_double(p, sides, &end, e / p->n, e % p->n);
    }
    for (int64_t i = 0; i < p->m * p->n; i++) {
        const char *x = (char *)results[0].values + (size_t)i * size,
                   *y = (char *)results[1].values + (size_t)i * size;
        double got = cse_read_element(p->result, results[0].values, i),
               wanted = cse_read_element(p->result, results[1].values, i);
        cse_expect(memcmp(x, y, size) == 0 || (isnan(got) && isnan(wanted)),
                   "[%lld, %lld, %lld] %d%d: element %lld is %a, not %a", (long long)p->m,
                   (long long)p->n, (long long)p->k, p->transpose_a, p->transpose_b, (long long)i,
                   got, wanted);
    }
    fenced_free(&a);
    fenced_free(&b);
    fenced_free(&bias);
    fenced_free(&results[0]);
    fenced_free(&results[1]);
}

/* Sizes around the borders of tiles, blocks, pieces (1536 steps of the depth) and chunks; what is
 * read in place and what is packed; both operands as the one that stays. */
START_TEST(sizes_around_every_border)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 },       { 32, 32, 32 },    { 48, 16, 64 },
                                        { 33, 31, 97 },    { 80, 40, 512 },   { 48, 33, 544 },
                                        { 33, 64, 1088 },  { 64, 33, 1100 },  { 16, 16, 1024 },
                                        { 176, 32, 96 },   { 17, 200, 520 },  { 300, 70, 33 },
                                        { 112, 96, 1536 }, { 96, 112, 1536 }, { 48, 33, 1568 },
                                        { 33, 65, 3104 } };
    const int64_t *s = sizes[_i];
    for (int flags = 0; flags < 8; flags += SANITIZED ? 3 : 1)
        check_product(&(product){ s[0], s[1], s[2], flags & 1, flags & 2, flags & 4, flags & 1,
                                  flags & 4 ? CSE_BFLOAT16 : CSE_FLOAT32, false });
    for (int flags = 0; flags < 4; flags += SANITIZED ? 3 : 1)
        check_product(
            &(product){ s[0], s[1], s[2], flags & 1, flags & 2, false, false, CSE_FLOAT32, true });
}
END_TEST

/* The second operand gives the rows, and blocks of the result are transposed: whole ones, and what
 * is left of either operand. */
START_TEST(exchanged_operands)
{
    static const int64_t sizes[][3] = {
        { 17, 208, 96 }, { 5, 48, 64 }, { 1, 16, 32 }, { 33, 336, 1056 }, { 64, 160, 544 }
    };
    const int64_t *s = sizes[_i];
    for (int flags = 0; flags < 16; flags += SANITIZED ? 5 : 1) {
        const product p = { s[0], s[1],      s[2],      flags & 1,
                            true, flags & 2, flags & 4, flags & 8 ? CSE_BFLOAT16 : CSE_FLOAT32,
                            false };
        const cse_narrow_kernel kernel = { .sizes = { 1, p.m, p.n, p.k, p.transpose_a, true } };
        ck_assert(is_exchanged(&kernel));
        check_product(&p);
    }
}
END_TEST

/* Rows or columns that pass are packed step by step, a chunk of them after another. */
START_TEST(several_steps_and_chunks)
{
    static const int64_t sizes[][3] = { { 1100, 40, 600 }, { 40, 1090, 590 }, { 700, 33, 520 } };
    const int64_t *s = sizes[_i];
    const bool turned =
        s[0] > s[1]; /* the operand that passes must be packed, the other need not */
    const cse_narrow_kernel kernel = { .sizes = { 1, s[0], s[1], s[2], turned, turned } };
    static char origin[1];
    const layout l = layout_of(&kernel, origin);
    ck_assert_int_lt(l.step, l.range);
    ck_assert_int_lt(l.chunk[1 - l.stays], l.size[1 - l.stays]);
    check_product(&(product){ s[0], s[1], s[2], turned, turned, false, false, CSE_FLOAT32, false });
    check_product(&(product){ s[0], s[1], s[2], turned, turned, false, false, CSE_FLOAT32, true });
    check_product(&(product){ s[0], s[1], s[2], turned, turned, true, true, CSE_BFLOAT16, false });
}
END_TEST

/* So shallow that neither the steps of the depth nor the sums wait. */
START_TEST(shallow_products)
{
    static const int64_t sizes[][3] = { { 1100, 150, 512 }, { 150, 1090, 300 }, { 800, 790, 290 } };
    const int64_t *s = sizes[_i];
    const cse_narrow_kernel kernel = { .sizes = { 1, s[0], s[1], s[2], true, false } };
    static char origin[1];
    const layout l = layout_of(&kernel, origin);
    ck_assert(!is_sliced(&kernel.sizes));
    ck_assert_int_eq(l.step, l.depth_tiles);
    ck_assert_int_eq(l.waiting, 0);
    check_product(&(product){ s[0], s[1], s[2], true, false, false, false, CSE_FLOAT32, false });
    check_product(&(product){ s[0], s[1], s[2], true, false, false, false, CSE_FLOAT32, true });
    check_product(&(product){ s[0], s[1], s[2], true, false, true, true, CSE_BFLOAT16, false });
}
END_TEST

/* Both operands must be packed: slices of the result keep their sums along the depth. */
START_TEST(slices_of_the_result)
{
    static const int64_t sizes[][3] = { { 1100, 150, 600 }, { 150, 1090, 590 }, { 700, 233, 520 } };
    const int64_t *s = sizes[_i];
    const cse_matmul_sizes whole = { 1, s[0], s[1], s[2], true, false };
    ck_assert(is_sliced(&whole));
    ck_assert_int_lt(slice_of(&whole, 0).size, sliced_size(&whole));
    check_product(&(product){ s[0], s[1], s[2], true, false, false, false, CSE_FLOAT32, false });
    check_product(&(product){ s[0], s[1], s[2], true, false, false, false, CSE_FLOAT32, true });
    check_product(&(product){ s[0], s[1], s[2], true, false, true, true, CSE_BFLOAT16, false });
}
END_TEST

/* 1, a border of a tile of so many, one beside it, or anything up to eight tiles. */
static int64_t random_size(uint32_t number, uint32_t unit)
{
    uint32_t counter[4] = { number, 0, 1, 0 }, words[4];
    cse_philox(7, counter, words);
    const int64_t border = unit * (1 + words[1] % 8);
    const int64_t sizes[] = { 1, border, border - 1, border + 1, 1 + words[2] % (8 * unit) };
    return sizes[words[0] % 5];
}

START_TEST(random_sizes)
{
    for (uint32_t i = 0; i < 60; i += SANITIZED ? 6 : 1)
        check_product(&(product){ random_size(3 * i, TILE), random_size(3 * i + 1, TILE),
                                  random_size(3 * i + 2, TILE_DEPTH), i & 1, i & 2, i & 4, i & 8,
                                  i % 3 == 0 ? CSE_BFLOAT16 : CSE_FLOAT32,
                                  i % 3 != 0 && i % 5 == 0 });
}
END_TEST

/* So deep that the depth is cut into ranges, so wide that what stays has several chunks. */
START_TEST(several_ranges_and_chunks)
{
    static const int64_t sizes[][3] = { { 40, 65, 13000 }, { 65, 40, 12320 }, { 48, 16, 24640 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int flags = SANITIZED ? (int)i : 0; flags < 4; flags += SANITIZED ? 4 : 1)
            check_product(&(product){ sizes[i][0], sizes[i][1], sizes[i][2], flags & 1, flags & 2,
                                      flags & 1, false, flags & 1 ? CSE_BFLOAT16 : CSE_FLOAT32,
                                      false });
    check_product(&(product){ 1600, 1600, 36, false, false, true, true, CSE_BFLOAT16, false });
}
END_TEST

/* The layout's promises, for sizes that are too large to be multiplied here. */
START_TEST(what_is_packed_fits_the_cache)
{
    static const int64_t sizes[][3] = { { 256, 768, 50257 }, { 256, 50257, 768 },
                                        { 50257, 768, 256 }, { 2048, 384, 1536 },
                                        { 384, 1536, 2048 }, { 8192, 8192, 8192 },
                                        { 1, 50257, 768 },   { 16384, 64, 64 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const cse_narrow_kernel kernel = { .sizes = { 1, sizes[i][0], sizes[i][1], sizes[i][2] } };
        static char origin[1];
        const layout l = layout_of(&kernel, origin);
        const int64_t staying = l.chunk[l.stays] * l.range * TILE_DEPTH * 2;
        ck_assert_int_le(staying, STAYING_BYTES);
        ck_assert(l.in_place || l.chunk[1 - l.stays] * l.step * TILE_DEPTH * 2 <= PASSING_BYTES ||
                  l.chunk[1 - l.stays] == BLOCK);
        ck_assert_int_ge(l.chunk[l.stays], least(ENOUGH, least(sizes[i][0], sizes[i][1])));
    }
}
END_TEST

int main(void)
{
    if (!cse_lanes_run_here()) {
        printf("the processor has no AVX-512, with which the product packs\n");
        return 77;
    }
    Suite *suite = suite_create("matrix product");
    TCase *cases = tcase_create("matrix product");
    tcase_set_timeout(cases, 300);
    tcase_add_loop_test(cases, sizes_around_every_border, 0, 16);
    tcase_add_loop_test(cases, exchanged_operands, 0, 5);
    tcase_add_loop_test(cases, several_steps_and_chunks, 0, 3);
    tcase_add_loop_test(cases, slices_of_the_result, 0, 3);
    tcase_add_loop_test(cases, shallow_products, 0, 3);
    tcase_add_test(cases, random_sizes);
    tcase_add_test(cases, several_ranges_and_chunks);
    tcase_add_test(cases, what_is_packed_fits_the_cache);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#else

int main(void)
{
    printf("matrix units are a matter of x86-64\n");
    return 77;
}

#endif
