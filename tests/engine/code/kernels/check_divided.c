/* Products whose work threads share: the bits are those of one thread, whatever the number of
 * threads (check_attention.c has the same of attentions). */
#include <stdio.h>

#include "engine/base/types/packed/packed_rows.h"
#include "tests/engine/code/kernels/fixture.h"

enum { MOST_THREADS = 4 };

/* An op of the sizes `a` x `b`. */
typedef struct divided {
    const char *name;
    cse_shape a, b;
    cse_dtype dtype;
    const cse_packed_type *type; /* of a packed weight; NULL: none */
    bool transposed;
} divided;

static void build(const divided *d, kernel_case *one)
{
    kernel_case_begin(one);
    cse_node *a = kernel_case_leaf(one, d->a, d->dtype);
    if (d->type != NULL) {
        const int64_t columns = d->b.dims[1];
        cse_node *weight = kernel_case_leaf(
            one, cse_shape_of(d->b.dims[0], cse_packed_row_words(d->type, columns)), CSE_INT32);
        kernel_case_add(one, cse_packed_linear(a, weight, d->type->number, columns, d->transposed));
    } else {
        cse_node *b = kernel_case_leaf(one, d->b, d->dtype);
        kernel_case_add(one, cse_matmul(a, b, false, d->transposed));
    }
    kernel_case_close(one);
    kernel_case_draw(one, 17, -1, 1);
}

/* Halves of words that are small numbers in float16. */
static void draw_words(int32_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t counter[4] = { (uint32_t)i, 0, 3, 0 }, drawn[4];
        cse_philox(5, counter, drawn);
        words[i] = (int32_t)(0x20002000u + (drawn[0] & 0x83ff83ffu));
    }
}

static void has_the_bits_of_one_thread(const divided *d)
{
    kernel_case one;
    build(d, &one);
    if (d->type != NULL)
        draw_words(one.values[1], cse_shape_elements(one.nodes[1]->shape));
    cse_kernel *kernel = kernel_case_kernel(&one, d->name);
    const size_t bytes = kernel_case_output_bytes(&one);
    unsigned char *wanted = cse_calloc(bytes, 1), *got = cse_calloc(bytes, 1);
    kernel_case_run(&one, kernel, 0, wanted);
    for (int threads = 2; threads <= MOST_THREADS; threads++) {
        cse_thread_team *team = cse_thread_team_new(threads);
        kernel->team = team;
        for (int run = 0; run < 3; run++) {
            memset(got, 0, bytes);
            kernel_case_run(&one, kernel, run, got);
            ck_assert_msg(memcmp(got, wanted, bytes) == 0, "%s: other bits with %d threads",
                          d->name, threads);
        }
        cse_thread_team_destroy(&team);
    }
    free(got);
    free(wanted);
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
}

START_TEST(products_have_the_bits_of_one_thread)
{
    static const cse_dtype dtypes[] = { CSE_FLOAT32, CSE_BFLOAT16, CSE_FLOAT16 };
    static const int64_t rows[] = { 1, 3, 40 };
    for (int r = 0; r < 3; r++)
        for (int transposed = 0; transposed < 2; transposed++) {
            const int64_t n = 1203, k = 256;
            has_the_bits_of_one_thread(
                &(divided){ .name = transposed != 0 ? "x w'" : "x w",
                            .a = cse_shape_of(rows[r], k),
                            .b = transposed != 0 ? cse_shape_of(n, k) : cse_shape_of(k, n),
                            .dtype = dtypes[_i],
                            .transposed = transposed != 0 });
            has_the_bits_of_one_thread(
                &(divided){ .name = transposed != 0 ? "packed x w'" : "packed x w",
                            .a = cse_shape_of(rows[r], transposed != 0 ? 512 : 1203),
                            .b = cse_shape_of(1203, 512),
                            .type = _i == 1 ? &cse_packed_q4_k : &cse_packed_q4_1,
                            .dtype = dtypes[_i],
                            .transposed = transposed != 0 });
        }
}
END_TEST

START_TEST(batches_have_the_bits_of_one_thread)
{
    for (int transposed = 0; transposed < 2; transposed++)
        has_the_bits_of_one_thread(
            &(divided){ .name = "batches",
                        .a = cse_shape_of(12, 20, 64),
                        .b = transposed != 0 ? cse_shape_of(12, 90, 64) : cse_shape_of(12, 64, 90),
                        .dtype = _i == 0 ? CSE_FLOAT32 : CSE_BFLOAT16,
                        .transposed = transposed != 0 });
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels that threads share");
    TCase *tests = tcase_create("kernels");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, products_have_the_bits_of_one_thread, 0, 3);
    tcase_add_loop_test(tests, batches_have_the_bits_of_one_thread, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
