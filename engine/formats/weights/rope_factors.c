/* A factor f is 1 for short wave lengths and `factor` for long ones; between them 1/f grows with
 * the frequency x, in turns a token, in a straight line: s = original * x - low over high - low,
 * where s = (1/f - 1/factor) / (1 - 1/factor). So two points between tell the line; with fewer,
 * any line that makes the same factors is as good as the one that was meant. */
#include "engine/formats/weights/rope_factors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The published model's, and the tolerance of numbers that were stored as float32. */
static const double published_low = 1, published_high = 4, published_positions = 8192;
static const double tolerance = 1e-5;

typedef struct rotation {
    const float *factors;
    int count;
    double base;
} rotation;

static double turns(double base, int count, int pair)
{
    return pow(base, -(double)pair / count) / (2 * acos(-1.0));
}

static double factor_at(const cse_rope_scaling *scaling, double x)
{
    const double low = scaling->low_frequency, high = scaling->high_frequency;
    const double share = (scaling->original_positions * x - low) / (high - low);
    return share >= 1   ? 1
           : share <= 0 ? scaling->factor
                        : 1 / ((1 - share) / scaling->factor + share);
}

void cse_rope_factors_make(const cse_rope_scaling *scaling, double base, int count, float *factors)
{
    for (int i = 0; i < count; i++)
        factors[i] = (float)factor_at(scaling, turns(base, count, i));
}

static bool makes(const cse_rope_scaling *scaling, const rotation *r)
{
    bool good = scaling->high_frequency > scaling->low_frequency;
    for (int i = 0; i < r->count && good; i++) {
        const double factor = r->factors[i];
        good = fabs(factor_at(scaling, turns(r->base, r->count, i)) - factor) <= tolerance * factor;
    }
    return good;
}

static double rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return strtod(text, NULL);
}

/* The line that is 0 at one frequency and 1 at another. */
static bool try_line(double zero, double one, const rotation *r, cse_rope_scaling *scaling)
{
    if (!(one > zero && zero > 0))
        return false;
    const double low = scaling->original_positions * zero;
    const double high = scaling->original_positions * one;
    scaling->low_frequency = rounded(low);
    scaling->high_frequency = rounded(high);
    if (makes(scaling, r))
        return true;
    scaling->low_frequency = low;
    scaling->high_frequency = high;
    return makes(scaling, r);
}

/* The share of the frequency that is not scaled, of a pair between. */
static double share_of(const rotation *r, int pair, double factor)
{
    return (1 / (double)r->factors[pair] - 1 / factor) / (1 - 1 / factor);
}

/* `first` is the first pair that is scaled, `full` the first that is in full. */
static bool find_line(const rotation *r, int first, int full, cse_rope_scaling *scaling)
{
    enum { TRIES = 64 };
    const double above =
        first > 0 ? turns(r->base, r->count, first - 1) : 4 * turns(r->base, r->count, 0);
    const double x = turns(r->base, r->count, first), share = share_of(r, first, scaling->factor);
    const double below = turns(r->base, r->count, full);
    if (full == first)
        return try_line(x * pow(above / x, 1.0 / 3), x * pow(above / x, 2.0 / 3), r, scaling);
    if (full == first + 1) {
        bool found = false;
        for (int i = 0; i < TRIES && !found; i++) {
            const double zero = below * pow(x / below, (double)i / TRIES);
            found = try_line(zero, zero + (x - zero) / share, r, scaling);
        }
        return found;
    }
    const double last = turns(r->base, r->count, full - 1);
    const double slope = (share - share_of(r, full - 1, scaling->factor)) / (x - last);
    const double zero = x - share / slope;
    return try_line(zero, zero + 1 / slope, r, scaling);
}

bool cse_rope_factors_find(const float *factors, int count, double base, double original_positions,
                           cse_rope_scaling *scaling)
{
    const rotation r = { factors, count, base };
    int first = 0, full = 0;
    for (int i = 0; i < count; i++)
        if (!(factors[i] >= 1) || !isfinite(factors[i]) || (i > 0 && factors[i] < factors[i - 1]))
            return false;
    *scaling =
        (cse_rope_scaling){ count > 0 ? rounded((double)factors[count - 1]) : 1, published_low,
                            published_high,
                            original_positions > 0 ? original_positions : published_positions };
    if (count < 1 || makes(scaling, &r))
        return count > 0;
    while (first < count && (double)factors[first] <= 1 + tolerance)
        first++;
    while (full < count && (double)factors[full] < scaling->factor * (1 - tolerance))
        full++;
    return first < count && full < count && find_line(&r, first, full, scaling);
}
