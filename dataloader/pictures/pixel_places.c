/* Operations that move pixels. Coordinates are computed as Pillow does, in fixed point with 16
 * fractional bits, so that the same pixels are taken. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "dataloader/pictures/pixel_ops.h"

static int64_t fixed(double x)
{
    return (int64_t)floor(x * 65536.0 + 0.5);
}

void cse_pixels_affine(cse_pixels *p, const double m[6])
{
    const size_t row = 3 * (size_t)p->width;
    int64_t x_row = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
    int64_t y_row = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    memcpy(p->other, p->bytes, row * (size_t)p->height);
    for (int y = 0; y < p->height; y++) {
        int64_t at_x = x_row, at_y = y_row;
        for (int x = 0; x < p->width; x++) {
            const int64_t from_x = at_x >> 16, from_y = at_y >> 16;
            unsigned char *to = p->bytes + (size_t)y * row + 3 * (size_t)x;
            if (from_x >= 0 && from_x < p->width && from_y >= 0 && from_y < p->height)
                memcpy(to, p->other + (size_t)from_y * row + 3 * (size_t)from_x, 3);
            else
                memset(to, 0, 3);
            at_x += fixed(m[0]);
            at_y += fixed(m[3]);
        }
        x_row += fixed(m[1]);
        y_row += fixed(m[4]);
    }
}

void cse_pixels_shear(cse_pixels *p, double x, double y)
{
    cse_pixels_affine(p, (const double[6]){ 1, x, 0, y, 1, 0 });
}

void cse_pixels_translate(cse_pixels *p, int x, int y)
{
    cse_pixels_affine(p, (const double[6]){ 1, 0, -x, 0, 1, -y });
}

static double rounded(double x)
{
    return nearbyint(x * 1e15) / 1e15;
}

void cse_pixels_rotate(cse_pixels *p, double degrees)
{
    const double angle = -(fmod(fmod(degrees, 360) + 360, 360)) * M_PI / 180;
    const double x = p->width / 2.0, y = p->height / 2.0;
    const double c = rounded(cos(angle)), s = rounded(sin(angle));
    if (degrees == 0)
        return;
    cse_pixels_affine(p, (const double[6]){ c, s, x - c * x - s * y, -s, c, y + s * x - c * y });
}
