/* Every sample of every library op of one result (check_attention has the others), and products of
 * many shapes, with every epilogue, against the ops' reference kernels. */
#include <stdio.h>

#include "tests/engine/code/kernels/fixture.h"
#include "tests/samples/samples.h"

/* At least the roundings of any sample: the longest sums have 100 terms. */
enum { SAMPLE_TERMS = 128 };

static void check_sample(const cse_op *op, const cse_op_sample *sample, cse_dtype dtype)
{
    kernel_case one;
    cse_node *inputs[6], *node;
    char name[160], *const label = name;
    kernel_case_begin(&one);
    snprintf(name, sizeof name, "%s, %s, %s", op->name, sample->name, cse_dtype_name(dtype));
    for (int i = 0; i < sample->input_count; i++)
        inputs[i] = kernel_case_input(&one, &sample->inputs[i], dtype);
    node = kernel_case_add(&one, cse_trace(op, &sample->attributes, sample->input_count, inputs));
    kernel_case_close(&one);
    kernel_case_draw(&one, 11, -1, 1);
    cse_kernel *kernel = kernel_case_kernel(&one, label);
    ck_assert_int_eq(node->dtype, dtype);
    kernel_case_compare(&one, kernel, SAMPLE_TERMS, label);
    kernel_case_same_bits(&one, kernel, 8, label);
    cse_kernel_destroy(&kernel);
    ck_assert_ptr_null(kernel);
    kernel_case_end(&one);
}

/* Whose words are blocks, not numbers that can be drawn: check_packed_weight has them. */
static bool reads_packed_weights(const cse_op *op)
{
    return op == &cse_op_packed_linear || op == &cse_op_packed_embedding ||
           op == &cse_op_unpack_weight;
}

START_TEST(every_sample_agrees_with_the_reference)
{
    static const cse_dtype dtypes[] = { CSE_FLOAT32, CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };
    int checked = 0;
    for (int i = 0; cse_ops[i] != NULL; i++) {
        if (cse_ops[i]->kind != CSE_OP_LIBRARY || cse_ops[i]->kernel.results > 1 ||
            reads_packed_weights(cse_ops[i]))
            continue;
        for (const cse_op_sample *s = cse_samples_of(cse_ops[i]); s->name != NULL; s++, checked++)
            check_sample(cse_ops[i], s, dtypes[_i]);
    }
    ck_assert_int_ge(checked, 20);
}
END_TEST

typedef struct product {
    int64_t batches, m, n, k;
    bool transpose_a, transpose_b, bias, relu, rows; /* rows: bias and relu on a reshape */
    cse_dtype dtype;
} product;

/* The group of a product, as fusion builds it: it asks before each step of the epilogue. */
static void build_product(const product *p, kernel_case *one)
{
    const cse_attributes transposes = { .integer_count = 2,
                                        .integers = { p->transpose_a, p->transpose_b } };
    cse_shape a =
        cse_shape_of(p->batches, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k);
    cse_shape b =
        cse_shape_of(p->batches, p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n);
    if (p->batches < 0) { /* no batch axis at all */
        a = cse_shape_of(a.dims[1], a.dims[2]);
        b = cse_shape_of(b.dims[1], b.dims[2]);
    }
    kernel_case_begin(one);
    cse_node *bias = p->bias ? kernel_case_leaf(one, cse_shape_of(p->n), p->dtype) : NULL;
    cse_node *operands[2] = { kernel_case_leaf(one, a, p->dtype),
                              kernel_case_leaf(one, b, p->dtype) };
    cse_node *last = kernel_case_add(one, cse_trace(&cse_op_matmul, &transposes, 2, operands));
    if (p->rows && p->batches < 0)
        last = kernel_case_add(one, cse_reshape(last, cse_shape_of(1, p->m, p->n)));
    if (p->bias) {
        cse_node *wide = cse_broadcast_to(bias, last->shape);
        cse_node *sum = cse_add(wide, last);
        bool accepted = cse_kernel_accepts(one->members, 1, sum);
        ck_assert_int_eq(accepted, p->dtype == CSE_FLOAT32 || p->dtype == CSE_BFLOAT16);
        kernel_case_add(one, wide);
        last = kernel_case_add(one, sum);
    }
    if (p->relu) {
        cse_node *positive = cse_relu(last);
        ck_assert(cse_kernel_accepts(one->members, one->group.node_count, positive));
        last = kernel_case_add(one, positive);
    }
    kernel_case_close(one);
}

static void check_product(const product *p, int runs)
{
    kernel_case one;
    char name[160];
    snprintf(name, sizeof name, "%lld x [%lld, %lld, %lld] %d%d bias %d relu %d %s",
             (long long)p->batches, (long long)p->m, (long long)p->n, (long long)p->k,
             p->transpose_a, p->transpose_b, p->bias, p->relu, cse_dtype_name(p->dtype));
    build_product(p, &one);
    kernel_case_draw(&one, (uint64_t)(p->m * 31 + p->n * 7 + p->k), -1, 1);
    cse_kernel *kernel = kernel_case_kernel(&one, name);
    kernel_case_compare(&one, kernel, (double)p->k + 4, name);
    kernel_case_same_bits(&one, kernel, runs, name);
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
}

/* Sizes around the borders of vectors and tiles, all transposes, all epilogues. */
START_TEST(products_of_many_shapes)
{
    static const int64_t sizes[][3] = {
        { 1, 1, 1 },     { 1, 7, 5 },     { 6, 1, 9 },     { 5, 3, 1 },    { 1, 64, 128 },
        { 128, 10, 33 }, { 10, 33, 128 }, { 17, 65, 40 },  { 6, 64, 16 },  { 7, 127, 31 },
        { 130, 70, 5 },  { 50, 30, 20 },  { 13, 48, 257 }, { 9, 16, 300 }, { 1, 1, 500 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int flags = 0; flags < 16; flags++) {
            product p = { .batches = -1,
                          .m = sizes[i][0],
                          .n = sizes[i][1],
                          .k = sizes[i][2],
                          .transpose_a = flags & 1,
                          .transpose_b = flags & 2,
                          .bias = flags & 4,
                          .relu = flags & 8,
                          .rows = i & 1 };
            check_product(&p, 3);
        }
}
END_TEST

START_TEST(products_of_random_shapes)
{
    for (uint32_t i = 0; i < 150; i++) {
        uint32_t counter[4] = { i, 1, 2, 3 }, words[4];
        cse_philox(77, counter, words);
        product p = { .batches = i % 3 ? -1 : (int64_t)(1 + words[3] % 4),
                      .m = 1 + words[0] % 70,
                      .n = 1 + words[1] % 150,
                      .k = 1 + words[2] % 90,
                      .transpose_a = words[3] >> 8 & 1,
                      .transpose_b = words[3] >> 9 & 1,
                      .bias = i % 3 && (words[3] >> 10 & 1),
                      .relu = words[3] >> 11 & 1 };
        check_product(&p, 2);
    }
}
END_TEST

START_TEST(batched_products_with_epilogues)
{
    for (int flags = 0; flags < 16; flags++) {
        product p = { .batches = 3,
                      .m = 17,
                      .n = 21,
                      .k = 19,
                      .transpose_a = flags & 1,
                      .transpose_b = flags & 2,
                      .bias = flags & 4,
                      .relu = flags & 8 };
        check_product(&p, 3);
    }
}
END_TEST

START_TEST(empty_products)
{
    static const int64_t sizes[][4] = {
        { -1, 0, 4, 3 }, { -1, 4, 0, 3 }, { -1, 4, 3, 0 }, { 0, 4, 3, 2 }, { 2, 4, 3, 0 }
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int flags = 0; flags < 4; flags++) {
            product p = { .batches = sizes[i][0],
                          .m = sizes[i][1],
                          .n = sizes[i][2],
                          .k = sizes[i][3],
                          .bias = flags & 1,
                          .relu = flags & 2 };
            check_product(&p, 1);
        }
}
END_TEST

START_TEST(products_in_narrow_types)
{
    static const cse_dtype dtypes[] = { CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };
    for (int t = 0; t < 3; t++)
        for (int flags = 0; flags < 8; flags++) {
            product p = { .batches = flags & 4 ? 2 : -1,
                          .m = 33,
                          .n = 50,
                          .k = 20,
                          .transpose_a = flags & 1,
                          .transpose_b = flags & 2,
                          .bias = t == 0 && flags & 1,
                          .relu = true,
                          .dtype = dtypes[t] };
            check_product(&p, 3);
        }
}
END_TEST

START_TEST(a_hundred_runs_give_the_same_bits)
{
    /* The products of the training step of a 784-500-300-10 perceptron. */
    static const product products[] = {
        { .batches = -1, .m = 128, .n = 500, .k = 784, .transpose_b = true, .bias = true },
        { .batches = -1, .m = 128, .n = 300, .k = 500 },
        { .batches = -1, .m = 500, .n = 784, .k = 128, .transpose_a = true },
        { .batches = -1, .m = 10, .n = 300, .k = 128, .transpose_a = true },
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        kernel_case one;
        build_product(&products[i], &one);
        kernel_case_draw(&one, 3, -1, 1);
        cse_kernel *kernel = kernel_case_kernel(&one, "product");
        kernel_case_same_bits(&one, kernel, 100, "product");
        cse_kernel_destroy(&kernel);
        kernel_case_end(&one);
    }
}
END_TEST

/* Our own product promises one chain of fused multiply-adds over k for each element, then bias,
 * then relu: then neither tiles nor panels nor the exchange of operands can change bits. fmaf says
 * what the bits are. */
static void check_chains(const product *p)
{
    kernel_case one;
    build_product(p, &one);
    kernel_case_draw(&one, 9, -1, 1);
    cse_kernel *kernel = kernel_case_kernel(&one, "chain");
    if (strncmp(kernel->implementation, "packed", 6) == 0) {
        float *got = cse_calloc(kernel_case_output_bytes(&one) + 1, 1);
        const float *bias = one.values[0], *a = one.values[p->bias], *b = one.values[1 + p->bias];
        kernel_case_run(&one, kernel, 1, got);
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                float sum = 0;
                for (int64_t k = 0; k < p->k; k++)
                    sum = fmaf(a[p->transpose_a ? k * p->m + i : i * p->k + k],
                               b[p->transpose_b ? j * p->k + k : k * p->n + j], sum);
                sum = p->bias ? sum + bias[j] : sum;
                sum = p->relu && sum < 0 ? 0 : sum;
                cse_expect(memcmp(&sum, &got[i * p->n + j], sizeof sum) == 0,
                           "[%lld, %lld] is %a, the chain gives %a", (long long)i, (long long)j,
                           (double)got[i * p->n + j], (double)sum);
            }
        free(got);
    }
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
}

START_TEST(every_element_is_one_chain)
{
    static const int64_t sizes[][3] = {
        { 5, 70, 900 }, { 70, 5, 529 }, { 33, 34, 264 }, { 20, 1100, 40 }, { 1100, 20, 265 }
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int flags = 0; flags < 8; flags++) {
            product p = { .batches = -1,
                          .m = sizes[i][0],
                          .n = sizes[i][1],
                          .k = sizes[i][2],
                          .transpose_a = flags & 1,
                          .transpose_b = flags & 2,
                          .bias = flags & 4,
                          .relu = flags & 4 };
            check_chains(&p);
        }
}
END_TEST

/* What no epilogue can do is not accepted. */
START_TEST(other_epilogues_are_refused)
{
    kernel_case one;
    kernel_case_begin(&one);
    cse_node *a = kernel_case_leaf(&one, cse_shape_of(4, 4), CSE_FLOAT32);
    cse_node *column = kernel_case_leaf(&one, cse_shape_of(4, 1), CSE_FLOAT32);
    cse_node *row = kernel_case_leaf(&one, cse_shape_of(4), CSE_FLOAT32);
    cse_node *half = kernel_case_leaf(&one, cse_shape_of(4, 4), CSE_BFLOAT16);
    cse_node *half_row = kernel_case_leaf(&one, cse_shape_of(4), CSE_BFLOAT16);
    cse_node *y = kernel_case_add(&one, cse_matmul(a, a, false, false));
    cse_node *refused[] = {
        cse_add(y, column),          cse_add(y, a), cse_sub(y, row), cse_add(row, a),
        cse_add(cse_constant(1), y), cse_tanh(y),   cse_relu(a)
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ck_assert_msg(!cse_kernel_accepts(one.members, 1, refused[i]), "case %zu", i);
    cse_node *none = kernel_case_leaf(&one, cse_shape_of(4, 0), CSE_BFLOAT16);
    cse_node *empty = cse_matmul(none, none, false, true),
             *halves = cse_matmul(half, half, false, false);
    ck_assert(cse_kernel_accepts(&halves, 1, cse_add(halves, half_row)));
    ck_assert(!cse_kernel_accepts(&empty, 1, cse_add(empty, half_row)));
    kernel_case_add(&one, cse_relu(y));
    ck_assert(!cse_kernel_accepts(one.members, 2, cse_add(one.members[1], row)));
    ck_assert(!cse_kernel_accepts(one.members, 2, cse_relu(one.members[1])));
    kernel_case_close(&one);
    kernel_case_end(&one);
}
END_TEST

/* A convolution with its bias, as the public function traces it. */
START_TEST(a_convolution_with_bias_and_relu)
{
    kernel_case one;
    for (int groups = 1; groups <= 2; groups++) {
        const cse_conv2d_options options = { .padding = { 1, 1 }, .groups = groups };
        kernel_case_begin(&one);
        cse_node *x = kernel_case_leaf(&one, cse_shape_of(2, 4, 9, 8), CSE_FLOAT32);
        cse_node *w = kernel_case_leaf(&one, cse_shape_of(6, 4 / groups, 3, 3), CSE_FLOAT32);
        cse_node *bias = kernel_case_leaf(&one, cse_shape_of(6), CSE_FLOAT32);
        cse_node *y = cse_conv2d(x, w, bias, &options);
        cse_node *convolution = y->inputs[0], *wide = y->inputs[1];
        kernel_case_add(&one, convolution);
        ck_assert(cse_kernel_accepts(one.members, 1, y));
        kernel_case_add(&one, wide->inputs[0]);
        kernel_case_add(&one, wide);
        kernel_case_add(&one, y);
        kernel_case_add(&one, cse_relu(y));
        kernel_case_close(&one);
        kernel_case_draw(&one, 5, -1, 1);
        cse_kernel *kernel = kernel_case_kernel(&one, "conv2d");
        kernel_case_compare(&one, kernel, SAMPLE_TERMS, "conv2d");
        kernel_case_same_bits(&one, kernel, 20, "conv2d");
        cse_kernel_destroy(&kernel);
        kernel_case_end(&one);
    }
}
END_TEST

/* NaN exactly where the reference has it. */
static void check_nan(kernel_case *one, const char *name)
{
    const cse_node *last = one->nodes[one->node_count - 1];
    kernel_case_draw(one, 21, -1, 1);
    for (int n = 0; n < one->node_count; n++)
        if (one->values[n] != NULL && one->nodes[n]->shape.rank > 1)
            cse_write_element(one->nodes[n]->dtype, one->values[n], 1, NAN);
    cse_kernel *kernel = kernel_case_kernel(one, name);
    void *expected = kernel_case_reference(one, false);
    void *got = cse_calloc(kernel_case_output_bytes(one) + 1, 1);
    kernel_case_run(one, kernel, 0, got);
    int64_t found = 0, count = cse_shape_elements(last->shape);
    for (int64_t e = 0; e < count; e++) {
        bool wanted = isnan(cse_read_element(last->dtype, expected, e));
        found += wanted;
        cse_expect(isnan(cse_read_element(last->dtype, got, e)) == wanted,
                   "%s (%s): element %lld is %sNaN", name, kernel->implementation, (long long)e,
                   wanted ? "no " : "");
    }
    ck_assert(found > 0 && found < count);
    free(expected);
    free(got);
    cse_kernel_destroy(&kernel);
    kernel_case_end(one);
}

START_TEST(a_nan_comes_through)
{
    static const char *const ways[] = { "packed", "onednn" };
    kernel_case one;
    setenv("CSE_MATMUL", ways[_i % 2], 1);
    for (int flags = 0; flags < 16; flags++) {
        product p = { .batches = flags & 8 ? 2 : -1,
                      .m = 32,
                      .n = 64,
                      .k = 32,
                      .transpose_a = flags & 1,
                      .transpose_b = flags & 2,
                      .bias = _i < 2 && (flags & 4),
                      .relu = true,
                      .dtype = _i < 2 ? CSE_FLOAT32 : CSE_BFLOAT16 };
        build_product(&p, &one);
        check_nan(&one, "product");
    }
    kernel_case_begin(&one);
    /* No padding: whether a NaN weight meets it is the library's affair. */
    const cse_conv2d_options options = { .groups = 2 };
    cse_dtype dtype = _i < 2 ? CSE_FLOAT32 : CSE_BFLOAT16;
    cse_node *x = kernel_case_leaf(&one, cse_shape_of(2, 4, 9, 8), dtype);
    cse_node *w = kernel_case_leaf(&one, cse_shape_of(6, 2, 3, 3), dtype);
    kernel_case_add(&one, cse_conv2d(x, w, NULL, &options));
    kernel_case_add(&one, cse_relu(one.members[0]));
    kernel_case_close(&one);
    check_nan(&one, "conv2d");
    unsetenv("CSE_MATMUL");
}
END_TEST

/* The first of equal maxima takes the gradient, and a NaN wins. */
START_TEST(the_first_maximum_wins)
{
    kernel_case one;
    const cse_pool2d_options options = { .kernel = { 2, 2 } };
    kernel_case_begin(&one);
    cse_node *x = kernel_case_leaf(&one, cse_shape_of(1, 1, 2, 4), CSE_FLOAT32);
    cse_node *dy = kernel_case_leaf(&one, cse_shape_of(1, 1, 1, 2), CSE_FLOAT32);
    cse_node *pooled = cse_max_pool2d(x, &options);
    kernel_case_add(&one, cse_max_pool2d_gradient(x, dy, pooled));
    kernel_case_close(&one);
    const float values[8] = { 1, 3, 5, NAN, 3, 3, 9, NAN }, gradients[2] = { 2, 7 };
    const float expected[8] = { 0, 2, 0, 7, 0, 0, 0, 0 };
    memcpy(one.values[0], values, sizeof values);
    memcpy(one.values[1], gradients, sizeof gradients);
    cse_kernel *kernel = kernel_case_kernel(&one, "max_pool2d_gradient");
    float got[8];
    kernel_case_run(&one, kernel, 0, got);
    ck_assert_mem_eq(got, expected, sizeof got);
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels");
    TCase *cases = tcase_create("kernels");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, every_sample_agrees_with_the_reference, 0, 4);
    tcase_add_test(cases, products_of_many_shapes);
    tcase_add_test(cases, products_of_random_shapes);
    tcase_add_test(cases, batched_products_with_epilogues);
    tcase_add_test(cases, empty_products);
    tcase_add_test(cases, products_in_narrow_types);
    tcase_add_test(cases, a_hundred_runs_give_the_same_bits);
    tcase_add_test(cases, every_element_is_one_chain);
    tcase_add_test(cases, other_epilogues_are_refused);
    tcase_add_test(cases, a_convolution_with_bias_and_relu);
    tcase_add_loop_test(cases, a_nan_comes_through, 0, 4);
    tcase_add_test(cases, the_first_maximum_wins);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
