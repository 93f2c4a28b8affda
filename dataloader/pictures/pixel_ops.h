/* Operations of augmentations on the bytes of a picture [height, width, 3], in place: each value is
 * the one that torchvision's functional operations give for a picture of Pillow. */
#ifndef CSE_DATALOADER_PICTURES_PIXEL_OPS_H
#define CSE_DATALOADER_PICTURES_PIXEL_OPS_H

#include <stddef.h>

typedef struct cse_pixels {
    unsigned char *bytes;
    int width, height;
    unsigned char *other; /* scratch space of as many bytes */
} cse_pixels;

/* Factor 1 leaves the picture as it is. With factor 0 it becomes black (brightness), the mean of
 * its grey values (contrast), grey (saturation), blurred (sharpness). */
void cse_pixels_brightness(cse_pixels *pixels, double factor);
void cse_pixels_contrast(cse_pixels *pixels, double factor);
void cse_pixels_saturation(cse_pixels *pixels, double factor);
void cse_pixels_sharpness(cse_pixels *pixels, double factor);
/* The hue is turned by `turn` of a circle, -0.5 to 0.5. */
void cse_pixels_hue(cse_pixels *pixels, double turn);
/* Keeps the highest `bits` bits of each value. */
void cse_pixels_posterize(cse_pixels *pixels, int bits);
/* Values from the threshold on are inverted. */
void cse_pixels_solarize(cse_pixels *pixels, double threshold);
/* Stretches each channel to the range 0 to 255; makes its histogram uniform. */
void cse_pixels_autocontrast(cse_pixels *pixels);
void cse_pixels_equalize(cse_pixels *pixels);

/* Pixel (x, y) becomes the one nearest to (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), and
 * black where that is outside of the picture. */
void cse_pixels_affine(cse_pixels *pixels, const double m[6]);
void cse_pixels_shear(cse_pixels *pixels, double x, double y);
void cse_pixels_translate(cse_pixels *pixels, int x, int y);
/* Counterclockwise around the centre. */
void cse_pixels_rotate(cse_pixels *pixels, double degrees);

#endif
