/* Weighted and balanced sampling, and mixed samples: distributions by chi-square, formulas, and
 * that neither the cut into microbatches nor the order of reading changes a bit. */
#include <math.h>

#include "dataloader/input.h"
#include "dataloader/mixing.h"
#include "dataloader/position.h"
#include "dataloader/positions/weighted.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

/* ---- draws ---- */

/* The 0.9999 quantile of chi-square, by Wilson and Hilferty (1931). */
static double quantile(int degrees)
{
    const double a = 2.0 / (9.0 * degrees);
    return degrees * pow(1 - a + 3.719 * sqrt(a), 3);
}

static void check_draws(const double *weights, int count, uint64_t seed)
{
    enum { DRAWS = 200000, MOST = 300 };
    int64_t found[MOST] = { 0 };
    double sum = 0, square = 0;
    int degrees = -1;
    cse_weighted *weighted = cse_weighted_new(weights, count);
    for (int64_t place = 0; place < DRAWS; place++) {
        const int64_t item = cse_weighted_draw(weighted, seed, place);
        if (item < 0 || item >= count)
            ck_abort_msg("item %ld of %d", (long)item, count);
        found[item]++;
    }
    for (int i = 0; i < count; i++)
        sum += weights[i];
    for (int i = 0; i < count; i++) {
        const double wanted = DRAWS * weights[i] / sum;
        if (wanted == 0)
            ck_assert_int_eq(found[i], 0);
        else
            square += (found[i] - wanted) * (found[i] - wanted) / wanted;
        degrees += wanted > 0;
    }
    if (degrees > 0)
        ck_assert_msg(square < quantile(degrees), "%d items: chi-square %g, limit %g", count,
                      square, quantile(degrees));
    cse_weighted_destroy(&weighted);
    ck_assert_ptr_null(weighted);
}

START_TEST(draws_have_the_distribution_of_the_weights)
{
    double many[300];
    for (int i = 0; i < 300; i++)
        many[i] = i % 7 == 0 ? 0 : 1 + i % 11;
    check_draws((const double[]){ 2 }, 1, 1);
    check_draws((const double[]){ 1, 3 }, 2, 2);
    check_draws((const double[]){ 0, 1, 0 }, 3, 3);
    check_draws((const double[]){ 1e-3, 5, 2, 0, 1 }, 5, 4);
    check_draws((const double[]){ 1e300, 1e300, 2e300 }, 3, 5);
    check_draws(many, 300, 6);
}
END_TEST

/* ---- loaders ---- */

static const char rows[] = "x,y,label\n1,10,0\n2,20,0\n3,30,0\n4,40,0\n5,50,0\n6,60,0\n7,70,1\n"
                           "8,80,1\n9,90,2\n10,100,2\n";
enum { ROWS = 10 };

static cse_dataloader *open_rows(const char *more)
{
    char yaml[1024];
    cse_dataloader *loader = NULL;
    fixture_write("rows.csv", rows, strlen(rows));
    snprintf(yaml, sizeof yaml, "{data_processor: csv, path: %s, label: label, %s}",
             fixture_path("rows.csv"), more);
    cse_status status = open_loader(yaml, 11, &loader);
    ck_assert_msg(status == CSE_OK, "%s: %s", more, cse_error_message());
    return loader;
}

static void refuses(const char *more, const char *message)
{
    char yaml[1024];
    cse_dataloader *loader = NULL;
    fixture_write("rows.csv", rows, strlen(rows));
    snprintf(yaml, sizeof yaml, "{data_processor: csv, path: %s, label: label, batch_size: 2, %s}",
             fixture_path("rows.csv"), more);
    ck_assert_msg(open_loader(yaml, 11, &loader) != CSE_OK, "%s was accepted", more);
    ck_assert_msg(strstr(cse_error_message(), message) != NULL, "%s: %s", more,
                  cse_error_message());
}

/* Reads microbatch by microbatch. */
static void read_steps(cse_dataloader *loader, int64_t first, int64_t steps, float *values,
                       int32_t *labels)
{
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    const cse_input *input = cse_dataloader_input_view(loader);
    const int64_t size = batching->micro_batch_size;
    const int64_t width = cse_shape_elements(input->streams[1].shape);
    unsigned char *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    for (int64_t step = first; step < first + steps; step++)
        for (int64_t m = 0; m < cse_batching_microbatches(batching); m++) {
            ck_assert_int_eq(cse_dataloader_read(loader, step, m, bytes), CSE_OK);
            memcpy(values, bytes + cse_dataloader_stream_offset(loader, 0), (size_t)size * 8);
            memcpy(labels, bytes + cse_dataloader_stream_offset(loader, 1),
                   (size_t)(size * width) * 4);
            values += size * 2;
            labels += size * width;
        }
    free(bytes);
}

START_TEST(balanced_classes_come_as_often_as_each_other)
{
    enum { STEPS = 3000 };
    static float values[STEPS * 10 * 2];
    static int32_t labels[STEPS * 10];
    double counts[3] = { 0 }, square = 0;
    cse_dataloader *loader = open_rows("batch_size: 10, sampling: balanced");
    read_steps(loader, 0, STEPS, values, labels);
    cse_dataloader_close(&loader);
    for (int i = 0; i < STEPS * 10; i++) {
        ck_assert_int_eq(labels[i], values[2 * i] <= 6 ? 0 : values[2 * i] <= 8 ? 1 : 2);
        counts[labels[i]]++;
    }
    for (int c = 0; c < 3; c++)
        square += pow(counts[c] - STEPS * 10 / 3.0, 2) / (STEPS * 10 / 3.0);
    ck_assert_double_lt(square, quantile(2));
}
END_TEST

START_TEST(weights_of_classes_and_of_samples_are_followed)
{
    enum { STEPS = 1000 };
    static float values[STEPS * 10 * 2];
    static int32_t labels[STEPS * 10];
    char more[600];
    cse_dataloader *loader =
        open_rows("batch_size: 10, sampling: {class_weights: [0, 3, 1]}, shuffle: true");
    read_steps(loader, 0, STEPS, values, labels);
    cse_dataloader_close(&loader);
    double ones = 0;
    for (int i = 0; i < STEPS * 10; i++) {
        ck_assert_int_ge(labels[i], 1);
        ones += labels[i] == 1;
    }
    ck_assert_double_le(fabs(ones - 7500), 4 * sqrt(10000 * 0.75 * 0.25));
    fixture_write("weights", "0\n0\n0\n1\n0\n0\n0\n0\n0\n0.5\n", 22);
    snprintf(more, sizeof more, "batch_size: 10, sampling: {sample_weights: %s}",
             fixture_path("weights"));
    loader = open_rows(more);
    read_steps(loader, 0, STEPS, values, labels);
    cse_dataloader_close(&loader);
    double fours = 0;
    for (int i = 0; i < STEPS * 10; i++) {
        ck_assert(values[2 * i] == 4 || values[2 * i] == 10);
        fours += values[2 * i] == 4;
    }
    ck_assert_double_le(fabs(fours - 20000 / 3.0), 4 * sqrt(10000 * 2.0 / 9));
}
END_TEST

/* ---- a column of weights ---- */

static const char weighted_rows[] = "x,w,y,label\n1,0,10,0\n2,0.25,20,0\n3,0,30,1\n4,3,40,2\n";
static const char weights_alone[] = "0\n0.25\n0\n3\n";

/* The settings of a table of these rows. */
static const char *settings_of(const char *text, const char *more)
{
    static char yaml[1024];
    fixture_write("weighted.csv", text, strlen(text));
    snprintf(yaml, sizeof yaml, "{data_processor: csv, path: %s, label: label, batch_size: 4, %s}",
             fixture_path("weighted.csv"), more);
    return yaml;
}

static void read_weighted(const char *yaml, float *values, int32_t *labels)
{
    cse_dataloader *loader = NULL;
    ck_assert_msg(open_loader(yaml, 11, &loader) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(cse_shape_elements(cse_dataloader_input_view(loader)->streams[0].shape), 2);
    read_steps(loader, 0, 50, values, labels);
    cse_dataloader_close(&loader);
}

START_TEST(a_column_of_weights_is_followed_as_a_file_of_them)
{
    enum { VALUES = 50 * 4 };
    char more[600];
    float values[2][VALUES * 2];
    int32_t labels[2][VALUES];
    int seen[5] = { 0 };
    fixture_write("weights", weights_alone, strlen(weights_alone));
    snprintf(more, sizeof more, "features: [x, y], sampling: {sample_weights: %s}",
             fixture_path("weights"));
    read_weighted(settings_of(weighted_rows, more), values[0], labels[0]);
    read_weighted(settings_of(weighted_rows, "weights: w"), values[1], labels[1]);
    ck_assert_mem_eq(values[0], values[1], sizeof values[0]);
    ck_assert_mem_eq(labels[0], labels[1], sizeof labels[0]);
    for (int i = 0; i < VALUES; i++)
        seen[(int)values[1][2 * i]]++;
    ck_assert(seen[1] == 0 && seen[3] == 0 && seen[2] > 0 && seen[4] > seen[2]);
}
END_TEST

static const struct {
    const char *rows, *more, *message;
} wrong_weights[] = {
    { weighted_rows, "weights: v", "weights: there is no column \"v\"" },
    { weighted_rows, "weights: label", "weights: column \"label\" is that of the label, too" },
    { weighted_rows, "weights: w, features: [x, w]", "\"w\" is that of the weights, too" },
    { weighted_rows, "weights: w, sampling: balanced", "have weights of samples already" },
    { "x,w,label\n1,1,0\n2,-1,1\n", "weights: w", "weighted.csv:3: -1 in column 1 is no weight" },
    { "x,w,label\n1,0,0\n2,0,1\n", "weights: w", "is 0: accepted are finite sums above 0" },
    { "x,w,label\n1,1,0\n2,,1\n", "weights: w", "weighted.csv:3:" },
};

START_TEST(wrong_weights_of_a_column_are_told)
{
    cse_dataloader *loader = NULL;
    const char *yaml = settings_of(wrong_weights[_i].rows, wrong_weights[_i].more);
    ck_assert_msg(open_loader(yaml, 11, &loader) != CSE_OK, "%s was accepted", yaml);
    ck_assert_msg(strstr(cse_error_message(), wrong_weights[_i].message) != NULL, "%s",
                  cse_error_message());
}
END_TEST

/* Whatever is read first, by which microbatches: the same stream. */
static void check_cuts(const char *more, int64_t label_width)
{
    enum { STEPS = 7 };
    float values[2][STEPS * 6 * 2];
    int32_t labels[2][STEPS * 6 * 8];
    char settings[300];
    for (int micro = 1; micro <= 6; micro++) {
        if (6 % micro != 0)
            continue;
        snprintf(settings, sizeof settings, "batch_size: 6, micro_batch_size: %d, %s", micro, more);
        cse_dataloader *loader = open_rows(settings);
        const int side = micro == 1 ? 0 : 1;
        for (int64_t step = STEPS - 1; step >= 0; step--)
            read_steps(loader, step, 1, values[side] + step * 12,
                       labels[side] + step * 6 * label_width);
        cse_dataloader_close(&loader);
        ck_assert_mem_eq(values[0], values[side], sizeof values[0]);
        ck_assert_mem_eq(labels[0], labels[side], (size_t)(STEPS * 6 * label_width) * 4);
    }
}

START_TEST(the_cut_of_the_batch_does_not_matter)
{
    check_cuts("sampling: balanced", 1);
    check_cuts("shuffle: true, mixing: {mixup_alpha: 0.4, num_classes: 3}", 3);
    check_cuts("sampling: balanced, mixing: {mixup_alpha: 0.4, num_classes: 3}", 3);
}
END_TEST

/* A row is (x, 10 x), and labels are what the mixture of two rows says: so each is found again. */
START_TEST(mixed_labels_are_those_of_the_mixed_rows)
{
    enum { STEPS = 200 };
    static float values[STEPS * 10 * 2], labels[STEPS * 10 * 3];
    cse_dataloader *loader =
        open_rows("batch_size: 10, shuffle: true, "
                  "mixing: {mixup_alpha: 1, num_classes: 3, probability: 0.5}");
    read_steps(loader, 0, STEPS, values, (int32_t *)labels);
    cse_dataloader_close(&loader);
    int whole = 0;
    double sum = 0;
    for (int i = 0; i < STEPS * 10; i++) {
        const float *row = labels + 3 * i, x = values[2 * i];
        ck_assert_double_le(fabs(values[2 * i + 1] - 10 * x), 1e-4);
        ck_assert_double_le(fabs(row[0] + row[1] + row[2] - 1), 1e-6);
        whole += x == (float)(int)x && (row[0] == 1 || row[1] == 1 || row[2] == 1);
        sum += x;
    }
    /* Half of them stay as they are; the mean of the rows stays, too. */
    ck_assert_double_le(fabs(whole - STEPS * 5.0), 4 * sqrt(STEPS * 2.5));
    ck_assert_double_le(fabs(sum / (STEPS * 10) - 5.5), 4 * 2.9 / sqrt(STEPS * 10));
}
END_TEST

/* Mean and variance of the beta distribution: 1/2 and 1 / (4 (2 alpha + 1)). */
START_TEST(shares_are_beta_distributed)
{
    enum { DRAWS = 40000 };
    static const double alphas[] = { 0.1, 0.2, 1, 3 };
    for (int a = 0; a < 4; a++) {
        double sum = 0, squares = 0;
        for (uint32_t i = 0; i < DRAWS; i++) {
            const double x = cse_draw_beta(alphas[a], 5, (const uint32_t[3]){ i, 0, 0 });
            if (!(x >= 0 && x <= 1))
                ck_abort_msg("a share of %g", x);
            sum += x;
            squares += (x - 0.5) * (x - 0.5);
        }
        const double variance = 1 / (4 * (2 * alphas[a] + 1));
        ck_assert_double_le(fabs(sum / DRAWS - 0.5), 4 * sqrt(variance / DRAWS));
        ck_assert_double_le(fabs(squares / DRAWS / variance - 1), 0.03);
    }
}
END_TEST

/* As torchvision.transforms.v2.CutMix computes the box of lambda and its middle. */
START_TEST(the_box_is_that_of_torchvision)
{
    const cse_mixture_plan plan = { .cuts = true, .own = 0.36, .x = 1, .y = 9 };
    const cse_cut_box box = cse_cut_box_of(&plan, 20, 10); /* half a side: 0.4 */
    ck_assert_int_eq(box.left, 0);
    ck_assert_int_eq(box.right, 9);
    ck_assert_int_eq(box.top, 5);
    ck_assert_int_eq(box.bottom, 10);
    ck_assert_double_eq_tol(box.own, 1 - 45 / 200.0, 1e-12);
}
END_TEST

START_TEST(wrong_settings_are_refused_by_name)
{
    refuses("sampling: evenly", "balanced");
    refuses("sampling: {class_weight: [1]}", "unknown key \"class_weight\"");
    refuses("sampling: {class_weights: [1, -1, 2]}", "number from 0 on");
    refuses("sampling: {class_weights: [1, 2]}", "3 classes");
    refuses("sampling: {class_weights: [1e308, 1e308, 0]}", "sum of the weights is not finite");
    refuses("sampling: {class_weights: [1e308, 0, 0]}", "sum of the weights is not finite");
    refuses("sampling: {sample_weights: /nowhere/weights}", "/nowhere/weights");
    char more[600];
    fixture_write("weights", "1\r\n\r\n 2\n3 4\n", 12);
    snprintf(more, sizeof more, "sampling: {sample_weights: %s}", fixture_path("weights"));
    refuses(more, "weights:4: \"3 4\" is no weight");
    refuses("mixing: {mixup_alpha: 1, num_class: 3}", "num_class");
    refuses("mixing: {probability: 1}", "mixup_alpha");
    refuses("mixing: {cutmix_alpha: 1, num_classes: 3}", "cutmix_alpha");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("sampling");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, draws_have_the_distribution_of_the_weights);
    tcase_add_test(tests, balanced_classes_come_as_often_as_each_other);
    tcase_add_test(tests, weights_of_classes_and_of_samples_are_followed);
    tcase_add_test(tests, a_column_of_weights_is_followed_as_a_file_of_them);
    tcase_add_loop_test(tests, wrong_weights_of_a_column_are_told, 0,
                        (int)(sizeof wrong_weights / sizeof wrong_weights[0]));
    tcase_add_test(tests, the_cut_of_the_batch_does_not_matter);
    tcase_add_test(tests, mixed_labels_are_those_of_the_mixed_rows);
    tcase_add_test(tests, shares_are_beta_distributed);
    tcase_add_test(tests, the_box_is_that_of_torchvision);
    tcase_add_test(tests, wrong_settings_are_refused_by_name);
    return fixture_run(tests);
}
