/* A part of 32 values x is to be s * q - t, with q from 0 to 15 and t not negative. For each of
 * several widths of the range that q spreads over, q is rounded, then s and t are solved for by
 * least squares with those q; the best of all is taken. An error at a value counts more the farther
 * the value is from 0: by the weight rms(x) + |x|. The eight s and t of a block then become 6 bits
 * of the largest s and t, and q is rounded again for what these have become. */
#include "engine/base/types/packed/pack_q4_k.h"

#include <math.h>
#include <string.h>

#include "engine/base/types/packed/packed.h"

enum { PARTS = 8, SIZE = 32, MOST = 15, SIX_BITS = 63, WIDTHS = 24 };

typedef struct part {
    const float *x;
    float weight[SIZE];
    float scale, minimum; /* t: what is taken away */
} part;

static int quantum(float value)
{
    const float whole = cse_packed_round(value);
    return whole > MOST ? MOST : whole > 0 ? (int)whole : 0;
}

/* The weighted square error of a scale and a minimum, with the best q for them. */
static double error_of(const part *p, float scale, float minimum)
{
    double sum = 0;
    for (int i = 0; i < SIZE; i++) {
        const int q = scale > 0 ? quantum((p->x[i] + minimum) / scale) : 0;
        const double off = (double)scale * q - (double)minimum - (double)p->x[i];
        sum += (double)p->weight[i] * off * off;
    }
    return sum;
}

/* By least squares for the q that a range makes; false: there is but one q. */
static bool solve(const part *p, float low, float step, float *scale, float *minimum)
{
    double w = 0, wq = 0, wqq = 0, wx = 0, wqx = 0;
    for (int i = 0; i < SIZE; i++) {
        const double weight = (double)p->weight[i], x = (double)p->x[i];
        const double q = quantum((p->x[i] - low) / step);
        w += weight;
        wq += weight * q;
        wqq += weight * q * q;
        wx += weight * x;
        wqx += weight * q * x;
    }
    const double determinant = w * wqq - wq * wq;
    if (!(determinant > 0))
        return false;
    double s = (w * wqx - wq * wx) / determinant, m = (wqq * wx - wq * wqx) / determinant;
    if (m > 0) { /* t may not be negative */
        m = 0;
        s = wqq > 0 ? wqx / wqq : 0;
    }
    *scale = (float)s;
    *minimum = (float)-m;
    return s > 0;
}

static void fit(part *p)
{
    float low = 0, high = p->x[0], scale = 0, minimum = 0;
    double square = 0;
    for (int i = 0; i < SIZE; i++) {
        low = fminf(low, p->x[i]);
        high = fmaxf(high, p->x[i]);
        square += (double)p->x[i] * (double)p->x[i];
    }
    for (int i = 0; i < SIZE; i++)
        p->weight[i] = (float)sqrt(square / SIZE) + fabsf(p->x[i]);
    p->minimum = -low;
    p->scale = high > low ? (high - low) / MOST : 0;
    if (!(p->scale > 0))
        return;
    double least = error_of(p, p->scale, p->minimum);
    for (int i = 0; i < WIDTHS; i++) {
        const float step = (high - low) / ((float)MOST - 1.2f + 0.1f * (float)i);
        if (!solve(p, low, step, &scale, &minimum))
            continue;
        const double error = error_of(p, scale, minimum);
        if (error < least) {
            least = error;
            p->scale = scale;
            p->minimum = minimum;
        }
    }
}

/* Six bits of the largest. */
static int of_largest(float value, float largest)
{
    const float whole = largest > 0 ? cse_packed_round(value * (SIX_BITS / largest)) : 0;
    return whole > SIX_BITS ? SIX_BITS : whole > 0 ? (int)whole : 0;
}

static void put_six_bits(unsigned char packed[12], int at, int scale, int minimum)
{
    if (at < 4) {
        packed[at] |= (unsigned char)scale;
        packed[at + 4] |= (unsigned char)minimum;
        return;
    }
    packed[at + 4] = (unsigned char)((scale & 15) | (minimum & 15) << 4);
    packed[at - 4] |= (unsigned char)(scale >> 4 << 6);
    packed[at] |= (unsigned char)(minimum >> 4 << 6);
}

void cse_pack_q4_k(const float *values, unsigned char *block)
{
    part parts[PARTS];
    float scale = 0, minimum = 0;
    for (int k = 0; k < PARTS; k++) {
        parts[k].x = values + SIZE * k;
        fit(&parts[k]);
        scale = fmaxf(scale, parts[k].scale);
        minimum = fmaxf(minimum, parts[k].minimum);
    }
    memset(block, 0, 144);
    cse_packed_store_half(block, scale / SIX_BITS);
    cse_packed_store_half(block + 2, minimum / SIX_BITS);
    const float d = cse_packed_load_half(block), dmin = cse_packed_load_half(block + 2);
    for (int k = 0; k < PARTS; k++) {
        const int s = of_largest(parts[k].scale, scale), t = of_largest(parts[k].minimum, minimum);
        put_six_bits(block + 4, k, s, t);
        for (int i = 0; i < SIZE; i++) {
            const float step = d * (float)s, low = dmin * (float)t;
            const int q = step > 0 ? quantum((parts[k].x[i] + low) / step) : 0;
            block[16 + k / 2 * SIZE + i] |= (unsigned char)(q << (4 * (k % 2)));
        }
    }
}
