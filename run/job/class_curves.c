/* A probability p is in the bin of precision floor(256 p), whose limits are exact in float32. */
#include "run/job/class_curves.h"

#include <math.h>
#include <stdbool.h>

static int calibration_bin(float confidence)
{
    const int bin = (int)ceil((double)confidence * CSE_CALIBRATION_BINS) - 1;
    return bin < 0 ? 0 : bin >= CSE_CALIBRATION_BINS ? CSE_CALIBRATION_BINS - 1 : bin;
}

static int precision_bin(float probability)
{
    const int bin = (int)floorf(probability * CSE_PRECISION_BINS);
    return bin < 0 ? 0 : bin >= CSE_PRECISION_BINS ? CSE_PRECISION_BINS - 1 : bin;
}

void cse_class_curves_add(cse_class_curves *curves, int label, int predicted, float confidence,
                          const float *probabilities)
{
    curves->samples++;
    if (!isfinite(confidence)) {
        curves->unknown++;
        return;
    }
    cse_calibration_bin *bin = &curves->calibration[calibration_bin(confidence)];
    bin->count++;
    bin->right += label == predicted;
    bin->confidence += (double)confidence;
    for (int c = 0; c < curves->classes; c++) {
        int64_t *counts = label == c ? curves->labelled[c] : curves->others[c];
        counts[precision_bin(probabilities[c])]++;
    }
}

/* The sum of the precision at each of `found` samples of the class, which come after `before` of
 * the class among `above` samples. */
static double precisions(int64_t found, int64_t before, int64_t above)
{
    double sum = 0;
    for (int64_t i = 1; i <= found; i++)
        sum += (double)(before + i) / (double)(above + i);
    return sum;
}

void cse_class_curves_average(const cse_class_curves *curves, int label, double limits[2])
{
    int64_t hits = 0, above = 0;
    limits[0] = limits[1] = 0;
    for (int bin = CSE_PRECISION_BINS - 1; bin >= 0; bin--) {
        const int64_t found = curves->labelled[label][bin], others = curves->others[label][bin];
        limits[0] += precisions(found, hits, above + others);
        limits[1] += precisions(found, hits, above);
        hits += found;
        above += found + others;
    }
    for (int i = 0; i < 2; i++)
        limits[i] = hits > 0 ? limits[i] / (double)hits : (double)NAN;
}

double cse_class_curves_calibration_error(const cse_class_curves *curves)
{
    double sum = 0;
    int64_t count = 0;
    for (int b = 0; b < CSE_CALIBRATION_BINS; b++) {
        const cse_calibration_bin *bin = &curves->calibration[b];
        sum += fabs((double)bin->right - bin->confidence);
        count += bin->count;
    }
    return count > 0 ? sum / (double)count : (double)NAN;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cse_calibration_json(const cse_class_curves *curves)
{
    json_t *bins = json_array();
    for (int b = 0; b < CSE_CALIBRATION_BINS; b++) {
        const cse_calibration_bin *bin = &curves->calibration[b];
        const double count = (double)bin->count;
        json_array_append_new(
            bins, bin->count == 0
                      ? json_null()
                      : json_pack("{s:I, s:f, s:f}", "count", (json_int_t)bin->count, "confidence",
                                  bin->confidence / count, "accuracy", (double)bin->right / count));
    }
    return json_pack("{s:o, s:I, s:o}", "error", number(cse_class_curves_calibration_error(curves)),
                     "unknown", (json_int_t)curves->unknown, "bins", bins);
}

static int64_t labelled_as(const cse_class_curves *curves, int label)
{
    int64_t sum = 0;
    for (int bin = 0; bin < CSE_PRECISION_BINS; bin++)
        sum += curves->labelled[label][bin];
    return sum;
}

static json_t *points_of(const cse_class_curves *curves, int label, int64_t samples)
{
    json_t *points = json_array();
    int64_t hits = 0, above = 0;
    for (int bin = CSE_PRECISION_BINS - 1; bin >= 0 && samples > 0; bin--) {
        const int64_t found = curves->labelled[label][bin], others = curves->others[label][bin];
        hits += found;
        above += found + others;
        if (found + others > 0)
            json_array_append_new(points, json_pack("[f, f, f]", (double)bin / CSE_PRECISION_BINS,
                                                    (double)hits / (double)above,
                                                    (double)hits / (double)samples));
    }
    return points;
}

json_t *cse_precision_json(const cse_class_curves *curves)
{
    json_t *list = json_array();
    for (int c = 0; c < curves->classes; c++) {
        double limits[2];
        const int64_t samples = labelled_as(curves, c);
        cse_class_curves_average(curves, c, limits);
        json_array_append_new(list, json_pack("{s:i, s:I, s:o, s:o, s:o}", "class", c, "samples",
                                              (json_int_t)samples, "least", number(limits[0]),
                                              "greatest", number(limits[1]), "points",
                                              points_of(curves, c, samples)));
    }
    return list;
}
