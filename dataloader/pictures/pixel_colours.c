/* Operations on values and colours. What depends on one byte alone is looked up in a table of 256
 * bytes. */
#include <math.h>
#include <string.h>

#include "dataloader/pictures/pixel_ops.h"

static size_t count_of(const cse_pixels *p)
{
    return (size_t)p->width * (size_t)p->height;
}

static unsigned char grey_of(const unsigned char *pixel)
{
    return (unsigned char)((19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + 32768) >> 16);
}

/* `degenerate` at factor 0, the value at 1, and beyond it above: Pillow's Image.blend, in float. */
static unsigned char blend(unsigned char degenerate, unsigned char value, float factor)
{
    const float mixed = (float)degenerate + factor * (float)(value - degenerate);
    return mixed <= 0 ? 0 : mixed >= 255 ? 255 : (unsigned char)mixed;
}

/* Of one channel. */
static void look_up(cse_pixels *p, int channel, const unsigned char table[256])
{
    unsigned char *bytes = p->bytes;
    const size_t end = 3 * count_of(p);
    for (size_t i = (size_t)channel; i < end; i += 3)
        bytes[i] = table[bytes[i]];
}

static void look_up_all(cse_pixels *p, const unsigned char table[256])
{
    unsigned char *bytes = p->bytes;
    const size_t end = 3 * count_of(p);
    for (size_t i = 0; i < end; i++)
        bytes[i] = table[bytes[i]];
}

static void blend_all(cse_pixels *p, unsigned char degenerate, double factor)
{
    unsigned char table[256];
    for (int v = 0; v < 256; v++)
        table[v] = blend(degenerate, (unsigned char)v, (float)factor);
    look_up_all(p, table);
}

void cse_pixels_brightness(cse_pixels *p, double factor)
{
    blend_all(p, 0, factor);
}

void cse_pixels_contrast(cse_pixels *p, double factor)
{
    double sum = 0;
    for (size_t i = 0; i < count_of(p); i++)
        sum += grey_of(p->bytes + 3 * i);
    blend_all(p, (unsigned char)(sum / (double)count_of(p) + 0.5), factor);
}

void cse_pixels_saturation(cse_pixels *p, double factor)
{
    for (size_t i = 0; i < count_of(p); i++) {
        unsigned char *pixel = p->bytes + 3 * i;
        const unsigned char grey = grey_of(pixel);
        for (int c = 0; c < 3; c++)
            pixel[c] = blend(grey, pixel[c], (float)factor);
    }
}

/* Blurred by a kernel of 3 x 3 ones with 5 in its middle; the pixels at the edges stay. */
void cse_pixels_sharpness(cse_pixels *p, double factor)
{
    const size_t row = 3 * (size_t)p->width;
    memcpy(p->other, p->bytes, row * (size_t)p->height);
    for (int y = 1; y + 1 < p->height; y++)
        for (size_t x = 3; x + 3 < row; x++) {
            const unsigned char *from = p->other + (size_t)y * row + x;
            int sum = 4 * from[0];
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -3; dx <= 3; dx += 3)
                    sum += from[dy * (long)row + dx];
            const unsigned char blurred = (unsigned char)((2 * sum + 13) / 26);
            p->bytes[(size_t)y * row + x] = blend(blurred, from[0], (float)factor);
        }
}

/* ---- hue ---- */

static unsigned char clipped(double x)
{
    return x <= 0 ? 0 : x >= 255 ? 255 : (unsigned char)x;
}

/* Hue, saturation and value as bytes. */
static void hsv_of(const unsigned char *pixel, unsigned char hsv[3])
{
    const int r = pixel[0], g = pixel[1], b = pixel[2];
    const int most = r > g ? (r > b ? r : b) : (g > b ? g : b);
    const int least = r < g ? (r < b ? r : b) : (g < b ? g : b);
    hsv[0] = hsv[1] = 0;
    hsv[2] = (unsigned char)most;
    if (most == least)
        return;
    const float range = (float)(most - least);
    const float rc = (float)(most - r) / range, gc = (float)(most - g) / range;
    const float bc = (float)(most - b) / range;
    const float sixths = r == most   ? bc - gc
                         : g == most ? (float)(2.0 + (double)rc - (double)bc)
                                     : (float)(4.0 + (double)gc - (double)rc);
    const float hue = (float)fmod((double)sixths / 6.0 + 1.0, 1.0);
    hsv[0] = clipped((double)hue * 255.0);
    hsv[1] = clipped((double)(range / (float)most) * 255.0);
}

static void colour_of(unsigned char hue, unsigned char saturation, unsigned char value,
                      unsigned char *pixel)
{
    const float sixths = (float)((double)hue * 6.0 / 255.0), s = (float)(saturation / 255.0);
    const int side = (int)floorf(sixths);
    const float f = sixths - (float)side, v = value;
    const unsigned char p = clipped(round((double)v * (1.0 - (double)s)));
    const unsigned char q = clipped(round((double)v * (1.0 - (double)(s * f))));
    const unsigned char t = clipped(round((double)v * (1.0 - (double)s * (1.0 - (double)f))));
    const unsigned char sides[6][3] = { { value, t, p }, { q, value, p }, { p, value, t },
                                        { p, q, value }, { t, p, value }, { value, p, q } };
    memcpy(pixel, sides[side % 6], 3);
}

void cse_pixels_hue(cse_pixels *p, double turn)
{
    const unsigned char shift = (unsigned char)(int)(turn * 255);
    for (size_t i = 0; i < count_of(p); i++) {
        unsigned char *pixel = p->bytes + 3 * i, hsv[3];
        hsv_of(pixel, hsv);
        colour_of((unsigned char)(hsv[0] + shift), hsv[1], hsv[2], pixel);
    }
}

/* ---- tables ---- */

void cse_pixels_posterize(cse_pixels *p, int bits)
{
    unsigned char table[256];
    for (int v = 0; v < 256; v++)
        table[v] = (unsigned char)(v & ~((1 << (8 - bits)) - 1));
    look_up_all(p, table);
}

void cse_pixels_solarize(cse_pixels *p, double threshold)
{
    unsigned char table[256];
    for (int v = 0; v < 256; v++)
        table[v] = (unsigned char)(v >= threshold ? 255 - v : v);
    look_up_all(p, table);
}

void cse_pixels_autocontrast(cse_pixels *p)
{
    for (int c = 0; c < 3; c++) {
        unsigned char low = 255, high = 0, table[256];
        for (size_t i = (size_t)c; i < 3 * count_of(p); i += 3) {
            low = p->bytes[i] < low ? p->bytes[i] : low;
            high = p->bytes[i] > high ? p->bytes[i] : high;
        }
        if (high <= low)
            continue;
        const double scale = 255.0 / (high - low), offset = -low * scale;
        for (int v = 0; v < 256; v++)
            table[v] = clipped(v * scale + offset);
        look_up(p, c, table);
    }
}

void cse_pixels_equalize(cse_pixels *p)
{
    for (int c = 0; c < 3; c++) {
        long histogram[256] = { 0 }, last = 0, sum = 0;
        unsigned char table[256];
        for (size_t i = (size_t)c; i < 3 * count_of(p); i += 3)
            histogram[p->bytes[i]]++;
        for (int v = 0; v < 256; v++) {
            sum += histogram[v];
            last = histogram[v] > 0 ? histogram[v] : last;
        }
        const long step = (sum - last) / 255;
        if (step == 0)
            continue;
        long n = step / 2;
        for (int v = 0; v < 256; n += histogram[v++])
            table[v] = clipped((double)(n / step));
        look_up(p, c, table);
    }
}
