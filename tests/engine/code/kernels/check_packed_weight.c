/* Kernels of packed weights of every type: products have the bits of the product with the unpacked
 * weight, whatever is computed at once; rows of a table and the whole matrix have those of its
 * blocks. */
#include <stdio.h>

#include "engine/base/instruction_set.h"
#include "engine/base/types/packed/packed_rows.h"
#include "tests/engine/code/kernels/fixture.h"

enum { OUT = 70, MOST_TYPES = 32 };

static const cse_packed_type *types[MOST_TYPES];
static int type_count;

static void list_types(void)
{
    type_count = 0;
    for (int i = 0; cse_packed_types[i] != NULL; i++)
        types[type_count++] = cse_packed_types[i];
    for (int i = 0; cse_packed_own_types[i] != NULL; i++)
        types[type_count++] = cse_packed_own_types[i];
}

/* Halves of words that are small numbers in float16, and so are words in float32: any block made of
 * them is one of finite values. */
static void draw_words(int32_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t counter[4] = { (uint32_t)i, 0, 3, 0 }, drawn[4];
        cse_philox(5, counter, drawn);
        words[i] = (int32_t)(0x20002000u + (drawn[0] & 0x83ff83ffu));
    }
}

/* All values of a matrix [rows, columns], as `dtype`. */
static void unpack_all(const cse_packed_type *type, const int32_t *words, int64_t columns,
                       cse_dtype dtype, void *to)
{
    const int64_t step = cse_packed_row_words(type, columns);
    float values[CSE_PACKED_MOST_ELEMENTS];
    for (int64_t r = 0; r < OUT; r++)
        for (int64_t b = 0; b < columns / type->elements; b++) {
            type->unpack((const unsigned char *)(words + r * step) + (size_t)b * type->bytes,
                         values);
            for (int64_t i = 0; i < type->elements; i++)
                cse_write_element(dtype, to, r * columns + b * type->elements + i,
                                  (double)values[i]);
        }
}

/* One product, with a bias and a relu where its type takes them. */
typedef struct product {
    const cse_packed_type *type; /* NULL: with the unpacked weight */
    int64_t rows, columns;
    bool transposed;
    cse_dtype dtype;
} product;

static void build(const product *p, const cse_packed_type *type, kernel_case *one)
{
    const int64_t k = p->transposed ? p->columns : OUT, n = p->transposed ? OUT : p->columns;
    kernel_case_begin(one);
    cse_node *x = kernel_case_leaf(one, cse_shape_of(p->rows, k), p->dtype);
    cse_node *weight =
        p->type == NULL
            ? kernel_case_leaf(one, cse_shape_of(OUT, p->columns), p->dtype)
            : kernel_case_leaf(one, cse_shape_of(OUT, cse_packed_row_words(type, p->columns)),
                               CSE_INT32);
    cse_node *bias =
        p->dtype == CSE_FLOAT32 ? kernel_case_leaf(one, cse_shape_of(n), p->dtype) : NULL;
    cse_node *last =
        kernel_case_add(one, p->type == NULL ? cse_matmul(x, weight, false, p->transposed)
                                             : cse_packed_linear(x, weight, type->number,
                                                                 p->columns, p->transposed));
    if (bias != NULL) {
        cse_node *wide = kernel_case_add(one, cse_broadcast_to(bias, last->shape));
        last = kernel_case_add(one, cse_relu(kernel_case_add(one, cse_add(last, wide))));
    }
    kernel_case_close(one);
    kernel_case_draw(one, 11, -1, 1);
}

static void has_the_bits_of_the_unpacked(const product *p)
{
    if (p->dtype == CSE_FLOAT32 && !cse_isa_runs(CSE_ISA_AVX2))
        return; /* the unpacked product runs on oneDNN there, which has bits of its own */
    char name[160];
    kernel_case packed, plain;
    product unpacked = *p;
    unpacked.type = NULL;
    snprintf(name, sizeof name, "%s, %lld rows, %s%s", p->type->name, (long long)p->rows,
             cse_dtype_name(p->dtype), p->transposed ? ", transposed" : "");
    build(p, p->type, &packed);
    build(&unpacked, p->type, &plain);
    draw_words(packed.values[1], cse_shape_elements(packed.nodes[1]->shape));
    unpack_all(p->type, packed.values[1], p->columns, p->dtype, plain.values[1]);
    cse_kernel *of_packed = kernel_case_kernel(&packed, name);
    cse_kernel *of_plain = kernel_case_kernel(&plain, name);
    const size_t bytes = kernel_case_output_bytes(&packed);
    unsigned char *got = cse_calloc(bytes + 1, 1), *wanted = cse_calloc(bytes + 1, 1);
    kernel_case_run(&packed, of_packed, 1, got);
    kernel_case_run(&plain, of_plain, 0, wanted);
    ck_assert_msg(memcmp(got, wanted, bytes) == 0, "%s: other bits", name);
    free(got);
    free(wanted);
    cse_kernel_destroy(&of_packed);
    cse_kernel_destroy(&of_plain);
    kernel_case_end(&packed);
    kernel_case_end(&plain);
}

START_TEST(products_have_the_bits_of_the_unpacked_weight)
{
    static const cse_dtype dtypes[] = { CSE_FLOAT32, CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };
    static const int64_t rows[] = { 1, 2, 5, 8, 9, 40 };
    list_types();
    for (int t = 0; t < type_count; t++)
        for (int r = 0; r < 6; r++)
            for (int transposed = 0; transposed < 2; transposed++)
                has_the_bits_of_the_unpacked(&(product){ .type = types[t],
                                                         .rows = rows[r],
                                                         .columns = 3 * types[t]->elements,
                                                         .transposed = transposed != 0,
                                                         .dtype = dtypes[_i] });
}
END_TEST

/* Several slabs, and several chunks of a row. */
START_TEST(large_products_have_them_too)
{
    for (int transposed = 0; transposed < 2; transposed++)
        for (int64_t rows = 1; rows < 30; rows += 14)
            has_the_bits_of_the_unpacked(&(product){ .type = &cse_packed_q4_1,
                                                     .rows = rows,
                                                     .columns = 4800,
                                                     .transposed = transposed != 0,
                                                     .dtype = CSE_FLOAT32 });
}
END_TEST

static void rows_are_those_of_the_matrix(const cse_packed_type *type)
{
    static const int32_t indices[] = { 3, OUT - 1, 0, -1, OUT };
    enum { COUNT = sizeof indices / sizeof indices[0] };
    const int64_t columns = 2 * type->elements;
    float *whole = cse_calloc((size_t)(OUT * columns), sizeof *whole);
    float *got = cse_calloc((size_t)(OUT * columns), sizeof *got);
    for (int of_rows = 0; of_rows < 2; of_rows++) {
        kernel_case one;
        kernel_case_begin(&one);
        cse_node *weight = kernel_case_leaf(
            &one, cse_shape_of(OUT, cse_packed_row_words(type, columns)), CSE_INT32);
        cse_node *places = kernel_case_leaf(&one, cse_shape_of(COUNT), CSE_INT32);
        kernel_case_add(&one, of_rows != 0
                                  ? cse_packed_embedding(weight, places, type->number, columns)
                                  : cse_unpack_weight(weight, type->number, columns));
        kernel_case_close(&one);
        draw_words(one.values[0], cse_shape_elements(weight->shape));
        memcpy(one.values[1], indices, sizeof indices);
        unpack_all(type, one.values[0], columns, CSE_FLOAT32, whole);
        cse_kernel *kernel = kernel_case_kernel(&one, type->name);
        kernel_case_run(&one, kernel, 1, got);
        if (of_rows == 0)
            ck_assert_mem_eq(got, whole, (size_t)(OUT * columns) * sizeof *got);
        for (int i = 0; i < COUNT && of_rows != 0; i++)
            if (indices[i] >= 0 && indices[i] < OUT)
                ck_assert_mem_eq(got + i * columns, whole + indices[i] * columns,
                                 (size_t)columns * sizeof *got);
            else
                ck_assert(isnan(got[i * columns]) && isnan(got[(i + 1) * columns - 1]));
        cse_kernel_destroy(&kernel);
        kernel_case_end(&one);
    }
    free(got);
    free(whole);
}

START_TEST(rows_and_matrices_are_those_of_the_blocks)
{
    list_types();
    for (int t = 0; t < type_count; t++)
        rows_are_those_of_the_matrix(types[t]);
}
END_TEST

/* What is unpacked block by block, and in vectors. */
START_TEST(blocks_in_vectors_have_the_values_of_one)
{
    enum { BLOCKS = 5 };
    int32_t words[BLOCKS * CSE_PACKED_MOST_BYTES / 4];
    float one[CSE_PACKED_MOST_ELEMENTS], all[BLOCKS * CSE_PACKED_MOST_ELEMENTS];
    list_types();
    draw_words(words, BLOCKS * CSE_PACKED_MOST_BYTES / 4);
    for (int t = 0; t < type_count; t++) {
        const cse_packed_type *type = types[t];
        ck_assert_ptr_eq(cse_packed_of_number(type->number), type);
        ck_assert_ptr_eq(cse_packed_of_name(type->name), type);
        type->unpack_blocks((const unsigned char *)words, BLOCKS, all);
        for (int b = 0; b < BLOCKS; b++) {
            type->unpack((const unsigned char *)words + (size_t)b * type->bytes, one);
            ck_assert_mem_eq(one, all + b * type->elements, (size_t)type->elements * sizeof *one);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed weights in products");
    TCase *tests = tcase_create("kernels");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, products_have_the_bits_of_the_unpacked_weight, 0, 4);
    tcase_add_test(tests, large_products_have_them_too);
    tcase_add_test(tests, rows_and_matrices_are_those_of_the_blocks);
    tcase_add_test(tests, blocks_in_vectors_have_the_values_of_one);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
