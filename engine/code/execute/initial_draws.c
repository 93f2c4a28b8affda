/* The definition takes a logarithm and a cosine of the C library for each element: seconds for a
 * model of 100 million weights. Here polynomials give a normal deviate within a bound. Rounded to
 * float32, both ends of the interval are nearly always one number, which then is the definition's,
 * too; where they are two, or where the interval does not say whether a draw is taken, the
 * definition decides. So the bits depend neither on the vectors nor on the polynomials. */
#include "engine/code/execute/initial_draws.h"

#include <math.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/base/vector_clones.h"

/* A bound of a tenth of the deviation is met by 8 % of the draws; the limit ends the loop for one
 * that no caller should have let through. */
enum { MOST_DRAWS = 10000 };
enum { BLOCK = 64 };

/* Of a deviate, relative: the polynomials are within 2^-44, and the C library's cosine, whose angle
 * is rounded, within 2^-38 of what it is where it is not below LEAST_COSINE. */
#define ERROR 0x1p-36
#define LEAST_COSINE 0x1p-10

/* ---- the definition ---- */

static double standard_normal(uint64_t key, uint32_t element, uint32_t draw)
{
    uint32_t words[4], counter[4] = { element, draw, 0, 0 };
    cse_philox(key, counter, words);
    return cse_normal_from_bits(words[0], words[1]);
}

double cse_initial_draw(const cse_initializer *init, uint64_t key, uint32_t element)
{
    uint32_t words[4], counter[4] = { element, 0, 0, 0 };
    double normal;
    switch (init->kind) {
    case CSE_INIT_UNIFORM:
        cse_philox(key, counter, words);
        return init->a + (init->b - init->a) * (double)cse_uniform_from_bits(words[0]);
    case CSE_INIT_NORMAL:
        return init->a + init->b * standard_normal(key, element, 0);
    case CSE_INIT_TRUNCATED_NORMAL:
        normal = standard_normal(key, element, 0);
        for (uint32_t again = 1; fabs(normal) > 2.0; again++)
            normal = standard_normal(key, element, again);
        return init->a + init->b * normal;
    case CSE_INIT_NORMAL_WITHIN:
        normal = standard_normal(key, element, 0);
        for (uint32_t again = 1; fabs(normal * init->a) > init->b && again < MOST_DRAWS; again++)
            normal = standard_normal(key, element, again);
        return fmax(-init->b, fmin(init->b, init->a * normal));
    default:
        return init->a;
    }
}

/* ---- blocks ---- */

typedef struct block {
    uint32_t elements[BLOCK], draw;       /* whose draw of that number it is */
    uint32_t first[BLOCK], second[BLOCK]; /* words of each element */
    double root[BLOCK], cosine[BLOCK];
    double normal[BLOCK];
    float low[BLOCK], high[BLOCK]; /* the value is between; NaN: not known */
} block;

/* The first two words of the elements, as cse_philox makes them. */
CSE_VECTOR_INLINE void draw_words(block *b, uint64_t key)
{
    uint32_t c0[BLOCK], c1[BLOCK], c2[BLOCK], c3[BLOCK];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    memcpy(c0, b->elements, sizeof c0);
    for (int i = 0; i < BLOCK; i++) {
        c1[i] = b->draw;
        c2[i] = c3[i] = 0;
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < BLOCK; i++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)p1;
            c3[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(b->first, c0, sizeof b->first);
    memcpy(b->second, c1, sizeof b->second);
}

/* The square root of -2 log((w + 1) 2^-32). With (w + 1) = 2^e m, m in [sqrt(1/2), sqrt(2)), the
 * logarithm of m is 2 artanh((m - 1) / (m + 1)). */
CSE_VECTOR_INLINE void find_roots(block *b)
{
    const uint64_t half = UINT64_C(0x3fe6a09e667f3bcd); /* the bits of sqrt(1/2) */
    uint64_t bits[BLOCK], parts[2][BLOCK];
    double u[BLOCK], m[BLOCK], e[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        u[i] = (double)(int32_t)(b->first[i] ^ 0x80000000u) + 2147483649.0;
    memcpy(bits, u, sizeof bits);
    for (int i = 0; i < BLOCK; i++) {
        const uint64_t moved = bits[i] + (UINT64_C(0x3ff0000000000000) - half);
        parts[0][i] = (moved & UINT64_C(0x000fffffffffffff)) + half;
        parts[1][i] = moved >> 52 | UINT64_C(0x4330000000000000); /* 2^52 + the exponent */
    }
    memcpy(m, parts[0], sizeof m);
    memcpy(e, parts[1], sizeof e);
    for (int i = 0; i < BLOCK; i++) {
        const double s = (m[i] - 1) / (m[i] + 1), z = s * s;
        double p = 1.0 / 19;
        p = p * z + 1.0 / 17;
        p = p * z + 1.0 / 15;
        p = p * z + 1.0 / 13;
        p = p * z + 1.0 / 11;
        p = p * z + 1.0 / 9;
        p = p * z + 1.0 / 7;
        p = p * z + 1.0 / 5;
        p = p * z + 1.0 / 3;
        p = p * z + 1;
        const double logarithm = (e[i] - (0x1p52 + 1023 + 32)) * 0.69314718055994530942 + 2 * s * p;
        b->root[i] = sqrt(-2 * logarithm);
    }
}

/* The cosine of 2 pi w 2^-32, from the nearest quarter of the circle. */
CSE_VECTOR_INLINE void find_cosines(block *b)
{
    double x[BLOCK], odd[BLOCK], sign[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t quarter = (b->second[i] + 0x20000000u) >> 30;
        x[i] = (double)(int32_t)(b->second[i] - (quarter << 30)) * 1.46291807926715968105e-9;
        odd[i] = (double)(int32_t)(quarter & 1);
        sign[i] = 1 - (double)(int32_t)((quarter + 1) & 2);
    }
    for (int i = 0; i < BLOCK; i++) {
        const double z = x[i] * x[i];
        double s = 1.0 / 6227020800, c = -1.0 / 87178291200;
        s = s * z - 1.0 / 39916800;
        s = s * z + 1.0 / 362880;
        s = s * z - 1.0 / 5040;
        s = s * z + 1.0 / 120;
        s = s * z - 1.0 / 6;
        s = (s * z + 1) * x[i];
        c = c * z + 1.0 / 479001600;
        c = c * z - 1.0 / 3628800;
        c = c * z + 1.0 / 40320;
        c = c * z - 1.0 / 720;
        c = c * z + 1.0 / 24;
        c = c * z - 1.0 / 2;
        c = c * z + 1;
        b->cosine[i] = sign[i] * (odd[i] * s + (1 - odd[i]) * c);
    }
}

CSE_VECTOR_INLINE void find_normals(block *b)
{
    find_roots(b);
    find_cosines(b);
    for (int i = 0; i < BLOCK; i++) {
        const double least = b->root[i] > 0 ? fabs(b->cosine[i]) : 0;
        b->normal[i] = least < LEAST_COSINE ? (double)NAN : b->root[i] * b->cosine[i];
    }
}

/* Values a + b n of deviates of at most `most`, from both ends of the interval. */
CSE_VECTOR_INLINE void find_values(block *b, double mean, double deviation, double most)
{
    for (int i = 0; i < BLOCK; i++) {
        const double n = b->normal[i], error = fabs(n) * ERROR;
        const double taken = fabs(n) < most * (1 - ERROR) ? n : (double)NAN;
        b->low[i] = (float)(mean + deviation * (taken - error));
        b->high[i] = (float)(mean + deviation * (taken + error));
    }
}

/* Of the deviates that are taken. */
static double most_of(const cse_initializer *init)
{
    return init->kind == CSE_INIT_TRUNCATED_NORMAL ? 2
           : init->kind == CSE_INIT_NORMAL_WITHIN  ? fabs(init->b / init->a)
                                                   : HUGE_VAL;
}

CSE_VECTOR_CLONES(void, draw_normals,
                  (block * b, const cse_initializer *init, uint64_t key, double most),
                  (b, init, key, most))
{
    const bool within = init->kind == CSE_INIT_NORMAL_WITHIN;
    draw_words(b, key);
    find_normals(b);
    find_values(b, within ? 0 : init->a, within ? init->a : init->b, most);
}

/* The same operations as in the definition, none of which is a library's. */
CSE_VECTOR_CLONES(void, draw_uniform, (block * b, const cse_initializer *init, uint64_t key),
                  (b, init, key))
{
    const double from = init->a, width = init->b - init->a;
    draw_words(b, key);
    for (int i = 0; i < BLOCK; i++)
        b->low[i] = b->high[i] =
            (float)(from + width * (double)((float)(int32_t)(b->first[i] >> 8) * 0x1p-24f));
}

/* ---- states ---- */

/* Elements whose first draw is not taken, until they fill a block. */
typedef struct redraws {
    int64_t elements[BLOCK], first; /* by their place in `values`; the state's at place 0 */
    int count;
} redraws;

static void draw_again(const cse_initializer *init, uint64_t key, redraws *r, float *values)
{
    block b = { .draw = 1 };
    for (int i = 0; i < BLOCK; i++)
        b.elements[i] = i < r->count ? (uint32_t)(r->first + r->elements[i]) : 0;
    draw_normals(&b, init, key, most_of(init));
    for (int i = 0; i < r->count; i++)
        values[r->elements[i]] =
            b.low[i] == b.high[i] ? b.low[i] : (float)cse_initial_draw(init, key, b.elements[i]);
    r->count = 0;
}

void cse_initial_draws(const cse_initializer *init, uint64_t key, int64_t first, int64_t count,
                       float *values)
{
    block b = { .draw = 0 };
    redraws again = { .first = first };
    const bool uniform = init->kind == CSE_INIT_UNIFORM;
    const double most = most_of(init);
    for (int64_t at = 0; at < count; at += BLOCK) {
        for (int i = 0; i < BLOCK; i++)
            b.elements[i] = (uint32_t)(first + at) + (uint32_t)i;
        if (uniform)
            draw_uniform(&b, init, key);
        else
            draw_normals(&b, init, key, most);
        for (int i = 0; i < BLOCK && at + i < count; i++) {
            if (b.low[i] == b.high[i]) {
                values[at + i] = b.low[i];
                continue;
            }
            if (fabs(b.normal[i]) > most * (1 + ERROR))
                again.elements[again.count++] = at + i;
            else
                values[at + i] = (float)cse_initial_draw(init, key, b.elements[i]);
            if (again.count == BLOCK)
                draw_again(init, key, &again, values);
        }
    }
    draw_again(init, key, &again, values);
}
