/* Synthetic samples: their distribution, the relation of targets to features, and that a model can
 * learn it. */
#include <math.h>

#include "dataloader/input.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

/* Opens with one batch of all samples and reads it. */
static unsigned char *read_all(const char *settings, cse_dataloader **loader)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml, "{data_processor: synthetic, %s}", settings);
    fixture_expect(open_loader(yaml, 0, loader), CSE_OK, NULL);
    unsigned char *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(*loader));
    ck_assert_int_eq(cse_dataloader_read(*loader, 0, 0, bytes), CSE_OK);
    return bytes;
}

START_TEST(features_have_mean_0_and_variance_1)
{
    enum { SAMPLES = 2000, FEATURES = 50, COUNT = SAMPLES * FEATURES };
    cse_dataloader *loader;
    unsigned char *bytes = read_all("samples: 2000, batch_size: 2000, features: [5, 10]", &loader);
    const float *x = (const float *)(void *)bytes;
    double sum = 0, squares = 0, neighbours = 0;
    for (int i = 0; i < COUNT; i++) {
        ck_assert(fabsf(x[i]) < 1.7320509f);
        sum += x[i];
        squares += (double)x[i] * x[i];
        neighbours += i > 0 ? (double)x[i] * x[i - 1] : 0;
    }
    /* Five standard errors: 1 / sqrt(n); sqrt(0.8 / n) for the square of a uniform number. */
    ck_assert_double_eq_tol(sum / COUNT, 0, 5 / sqrt(COUNT));
    ck_assert_double_eq_tol(squares / COUNT, 1, 5 * sqrt(0.8 / COUNT));
    ck_assert_double_eq_tol(neighbours / COUNT, 0, 5 / sqrt(COUNT));
    const cse_input *input = cse_dataloader_input_view(loader);
    ck_assert(cse_shape_equal(input->streams[0].shape, cse_shape_of(5, 10)));
    free(bytes);
    cse_dataloader_close(&loader);
}
END_TEST

START_TEST(every_class_occurs)
{
    enum { SAMPLES = 4000, CLASSES = 10 };
    cse_dataloader *loader;
    unsigned char *bytes = read_all("samples: 4000, batch_size: 4000, features: [64]", &loader);
    const int32_t *labels =
        (const int32_t *)(void *)(bytes + cse_dataloader_stream_offset(loader, 1));
    int counts[CLASSES] = { 0 };
    for (int i = 0; i < SAMPLES; i++) {
        ck_assert(labels[i] >= 0 && labels[i] < CLASSES);
        counts[labels[i]]++;
    }
    for (int c = 0; c < CLASSES; c++)
        ck_assert_int_gt(counts[c], SAMPLES / CLASSES / 3);
    free(bytes);
    cse_dataloader_close(&loader);
}
END_TEST

/* Rosenblatt's perceptron with one row a class: it finds the map exactly when there is one. */
START_TEST(a_linear_model_learns_the_labels)
{
    enum { SAMPLES = 3000, TRAINED = 2000, FEATURES = 16, CLASSES = 4, EPOCHS = 60 };
    static double weights[CLASSES][FEATURES];
    cse_dataloader *loader;
    unsigned char *bytes =
        read_all("samples: 3000, batch_size: 3000, features: [16], classes: 4", &loader);
    const float *x = (const float *)(void *)bytes;
    const int32_t *labels =
        (const int32_t *)(void *)(bytes + cse_dataloader_stream_offset(loader, 1));
    int right = 0;
    for (int epoch = 0; epoch <= EPOCHS; epoch++) {
        bool learning = epoch < EPOCHS;
        for (int i = learning ? 0 : TRAINED; i < (learning ? TRAINED : SAMPLES); i++) {
            double scores[CLASSES] = { 0 };
            int best = 0;
            for (int c = 0; c < CLASSES; c++) {
                for (int f = 0; f < FEATURES; f++)
                    scores[c] += weights[c][f] * x[i * FEATURES + f];
                best = scores[c] > scores[best] ? c : best;
            }
            right += !learning && best == labels[i];
            for (int f = 0; learning && best != labels[i] && f < FEATURES; f++) {
                weights[labels[i]][f] += x[i * FEATURES + f];
                weights[best][f] -= x[i * FEATURES + f];
            }
        }
    }
    ck_assert_int_gt(right, (SAMPLES - TRAINED) * 95 / 100);
    free(bytes);
    cse_dataloader_close(&loader);
}
END_TEST

/* Each target is a sum of the features with fixed signs, over the root of their number: of all
 * choices of signs exactly one must fit all samples. */
START_TEST(targets_are_a_linear_map_of_the_features)
{
    enum { SAMPLES = 500, FEATURES = 6 };
    cse_dataloader *loader;
    unsigned char *bytes =
        read_all("samples: 500, batch_size: 500, features: [6], regression: true", &loader);
    ck_assert_str_eq(cse_dataloader_input_view(loader)->streams[1].name, "targets");
    ck_assert_int_eq(cse_dataloader_input_view(loader)->streams[1].dtype, CSE_FLOAT32);
    const float *x = (const float *)(void *)bytes;
    const float *targets = (const float *)(void *)(bytes + cse_dataloader_stream_offset(loader, 1));
    int fitting = 0;
    for (int signs = 0; signs < 1 << FEATURES; signs++) {
        double worst = 0;
        for (int i = 0; i < SAMPLES; i++) {
            double sum = 0;
            for (int f = 0; f < FEATURES; f++)
                sum += signs >> f & 1 ? x[i * FEATURES + f] : -x[i * FEATURES + f];
            worst = fmax(worst, fabs(sum / sqrt(FEATURES) - targets[i]));
        }
        fitting += worst < 1e-6;
    }
    ck_assert_int_eq(fitting, 1);
    free(bytes);
    cse_dataloader_close(&loader);
}
END_TEST

START_TEST(seeds_give_other_samples)
{
    cse_dataloader *loaders[3];
    static const char *const seeds[] = { "0", "1", "4294967296" };
    unsigned char *bytes[3];
    for (int i = 0; i < 3; i++) {
        char settings[128];
        snprintf(settings, sizeof settings, "samples: 8, batch_size: 8, features: [8], seed: %s",
                 seeds[i]);
        bytes[i] = read_all(settings, &loaders[i]);
        for (int j = 0; j < i; j++)
            ck_assert_mem_ne(bytes[i], bytes[j], 8 * sizeof(float));
    }
    for (int i = 0; i < 3; i++) {
        free(bytes[i]);
        cse_dataloader_close(&loaders[i]);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("synthetic");
    tcase_add_test(tests, features_have_mean_0_and_variance_1);
    tcase_add_test(tests, every_class_occurs);
    tcase_add_test(tests, a_linear_model_learns_the_labels);
    tcase_add_test(tests, targets_are_a_linear_map_of_the_features);
    tcase_add_test(tests, seeds_give_other_samples);
    return fixture_run(tests);
}
