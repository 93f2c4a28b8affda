/* A handful of numbers; what the store holds is read by its ends alone. */
#include "run/record/loss_trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader.h"

#define FIRST_SPREAD 10.0 /* of the losses of the first steps, as multiples of the first */

void cse_loss_trend_add(cse_loss_trend *trend, double loss)
{
    if (trend->first_count < CSE_TREND_STEPS)
        trend->first[trend->first_count++] = loss;
    trend->last[trend->count++ % CSE_TREND_STEPS] = loss;
}

static double size_of_first(const cse_loss_trend *trend)
{
    int begin = 0;
    while (begin < trend->first_count && !isfinite(trend->first[begin]))
        begin++;
    const double own = begin < trend->first_count ? fmax(1, fabs(trend->first[begin])) : 1;
    double size = own;
    for (int i = begin; i < trend->first_count; i++)
        if (fabs(trend->first[i]) <= FIRST_SPREAD * own) /* false for NaN */
            size = fmax(size, fabs(trend->first[i]));
    return size;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_last(const cse_loss_trend *trend)
{
    double sorted[CSE_TREND_STEPS];
    const int count = trend->count < CSE_TREND_STEPS ? (int)trend->count : CSE_TREND_STEPS;
    memcpy(sorted, trend->last, sizeof sorted);
    for (int i = 0; i < count; i++)
        if (!isfinite(sorted[i]))
            return (double)NAN;
    qsort(sorted, (size_t)count, sizeof sorted[0], compare);
    return sorted[count / 2];
}

cse_loss_verdict cse_loss_trend_judge(const cse_loss_trend *trend, double factor)
{
    cse_loss_verdict verdict = { .size = size_of_first(trend) };
    verdict.limit = factor * verdict.size;
    if (factor <= 0 || trend->count == 0)
        return verdict;
    verdict.last = median_of_last(trend);
    verdict.diverged = !(verdict.last <= verdict.limit);
    return verdict;
}

void cse_loss_trend_begin(cse_loss_trend *trend, const char *model_dir, int64_t step)
{
    cse_store_reader *reader = NULL;
    cse_point first[CSE_TREND_STEPS], last[CSE_TREND_STEPS];
    if (trend->begun)
        return;
    trend->begun = true;
    if (step <= 1 || cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return;
    const int begins = cse_store_reader_end_points(
        reader, "loss", step, &(cse_end_points){ .points = first, .most = CSE_TREND_STEPS });
    const int ends = cse_store_reader_end_points(
        reader, "loss", step,
        &(cse_end_points){ .points = last, .most = CSE_TREND_STEPS, .newest = true });
    cse_store_reader_close(&reader);
    for (int i = 0; i < begins; i++)
        cse_loss_trend_add(trend, first[i].value);
    for (int i = ends - 1; i >= 0; i--) /* the newest comes first */
        if (begins == 0 || last[i].step > first[begins - 1].step)
            cse_loss_trend_add(trend, last[i].value);
}

bool cse_loss_had_diverged(const char *model_dir, int64_t step, double factor)
{
    cse_loss_trend trend = { .begun = false };
    cse_loss_trend_begin(&trend, model_dir, step + 1);
    return cse_loss_trend_judge(&trend, factor).diverged;
}
