/* Written by augmentations.py: values of torchvision's operations. */
#ifndef CSE_TESTS_REFERENCE_AUGMENTATIONS_H
#define CSE_TESTS_REFERENCE_AUGMENTATIONS_H

#include <stdint.h>

enum { REFERENCE_WIDTH = 29, REFERENCE_HEIGHT = 23 };

typedef struct reference_picture {
    const char *name;
    uint64_t hash; /* FNV-1a of all bytes */
    unsigned char first[6];
} reference_picture;

/* clang-format off */
static const reference_picture reference_operations[] = {
    { "brightness 0.6", 0x591b3fd735104f54, { 0, 3, 7, 112, 116, 120 } },
    { "brightness 1.7", 0x34c8d1d8ca33774e, { 0, 10, 20, 255, 255, 255 } },
    { "contrast 0.3", 0x0e25750f8239fd41, { 89, 91, 93, 145, 147, 149 } },
    { "contrast 1.4", 0x6ea267b5e95a483b, { 0, 0, 0, 210, 220, 230 } },
    { "saturation 0.25", 0x9536305eb75e98b5, { 3, 5, 6, 191, 193, 195 } },
    { "saturation 1.9", 0x39d4ddb61d794480, { 0, 6, 18, 181, 194, 208 } },
    { "hue -0.5", 0x76ea9c4e1fe27cf2, { 12, 6, 0, 201, 194, 188 } },
    { "hue -0.37", 0xed3cfb93e1169464, { 9, 12, 0, 197, 201, 188 } },
    { "hue -0.1", 0x54a5bea07597f170, { 0, 12, 11, 188, 201, 200 } },
    { "hue 0.05", 0xb1c4479d30515987, { 0, 3, 12, 188, 191, 201 } },
    { "hue 0.3", 0x12748a6f523fb414, { 12, 0, 9, 201, 188, 197 } },
    { "hue 0.5", 0x14ee8ee205881fcb, { 12, 5, 0, 201, 194, 188 } },
    { "sharpness 0.2", 0xc7c366dad6ba804c, { 0, 6, 12, 187, 194, 201 } },
    { "sharpness 1.8", 0xfc8e3267db7dfcb5, { 0, 6, 12, 187, 194, 201 } },
    { "posterize 1", 0xc48c1a5e361d059f, { 0, 0, 0, 128, 128, 128 } },
    { "posterize 4", 0x8cd493d1e820899f, { 0, 0, 0, 176, 192, 192 } },
    { "posterize 7", 0x67b624a65e72a261, { 0, 6, 12, 186, 194, 200 } },
    { "solarize 178.5", 0xf28b1c85f47734eb, { 0, 6, 12, 68, 61, 54 } },
    { "autocontrast", 0xef97486337072f2e, { 0, 6, 12, 186, 194, 200 } },
    { "equalize", 0xf904225ceae3077b, { 0, 6, 10, 236, 250, 255 } },
    { "rotate -30", 0x4a5ba44a8295e779, { 0, 0, 0, 0, 0, 0 } },
    { "rotate 7.5", 0x351320baf34622c6, { 0, 0, 0, 0, 0, 0 } },
    { "rotate 90", 0x97cb7d3bbcc88044, { 0, 0, 0, 0, 0, 0 } },
};
static const reference_picture reference_rand_augment[] = {
    { "Identity 9 0", 0x21e76de4c7903892, { 0, 6, 12, 187, 194, 201 } },
    { "Identity 27 0", 0x21e76de4c7903892, { 0, 6, 12, 187, 194, 201 } },
    { "ShearX 9 0", 0x357ddb19846cb05a, { 0, 6, 12, 187, 194, 201 } },
    { "ShearX 9 1", 0x760aedc8925c9619, { 0, 6, 12, 187, 194, 201 } },
    { "ShearX 27 0", 0xa919280224ed5b16, { 0, 6, 12, 187, 194, 201 } },
    { "ShearX 27 1", 0x357b4f888829440b, { 0, 6, 12, 187, 194, 201 } },
    { "ShearY 9 0", 0x7ee268f20dee6881, { 0, 6, 12, 187, 194, 201 } },
    { "ShearY 9 1", 0xd2c0f30ff2b41208, { 0, 6, 12, 187, 194, 201 } },
    { "ShearY 27 0", 0x1f50af352130d7dd, { 0, 6, 12, 187, 194, 201 } },
    { "ShearY 27 1", 0xe7877b1056110715, { 0, 6, 12, 187, 194, 201 } },
    { "TranslateX 9 0", 0x4a1a54c37bb98110, { 0, 0, 0, 0, 0, 0 } },
    { "TranslateX 9 1", 0x01d0ba997e13ef5e, { 224, 233, 145, 194, 204, 214 } },
    { "TranslateX 27 0", 0x87d9918de73dced8, { 0, 0, 0, 0, 0, 0 } },
    { "TranslateX 27 1", 0xb9ea5676946a14fe, { 178, 195, 212, 245, 7, 25 } },
    { "TranslateY 9 0", 0x7a2dd77b68c1df46, { 0, 0, 0, 0, 0, 0 } },
    { "TranslateY 9 1", 0x580129e768f373e0, { 31, 31, 31, 98, 99, 100 } },
    { "TranslateY 27 0", 0x0e3e3e6e399d76e9, { 0, 0, 0, 0, 0, 0 } },
    { "TranslateY 27 1", 0x062a90afc53f8fd5, { 93, 81, 69, 160, 149, 138 } },
    { "Rotate 9 0", 0xb4c3333088e9295a, { 0, 0, 0, 0, 0, 0 } },
    { "Rotate 9 1", 0xf54bb88d39889770, { 0, 0, 0, 0, 0, 0 } },
    { "Rotate 27 0", 0x7558062ba1fab50c, { 0, 0, 0, 0, 0, 0 } },
    { "Rotate 27 1", 0x1a70e7731f1dbd6a, { 0, 0, 0, 0, 0, 0 } },
    { "Brightness 9 0", 0x30f208253a43adf8, { 0, 7, 15, 237, 246, 255 } },
    { "Brightness 9 1", 0xdc30f0b6f0d30d06, { 0, 4, 8, 136, 141, 146 } },
    { "Brightness 27 0", 0x7ac288a382fdcdb7, { 0, 10, 21, 255, 255, 255 } },
    { "Brightness 27 1", 0x209f7494fdb12fe3, { 0, 1, 2, 35, 36, 38 } },
    { "Color 9 0", 0xea5f3f29e232b945, { 0, 6, 13, 185, 194, 203 } },
    { "Color 9 1", 0x9641fdd8592e5285, { 1, 5, 10, 188, 193, 198 } },
    { "Color 27 0", 0x981e239800bf15ca, { 0, 6, 17, 182, 194, 207 } },
    { "Color 27 1", 0xcaacd89c6a557d6c, { 4, 5, 6, 191, 193, 194 } },
    { "Contrast 9 0", 0xf8c7c3c9ba254990, { 0, 0, 0, 202, 211, 220 } },
    { "Contrast 9 1", 0x1ca0012439d1c98d, { 34, 38, 43, 171, 176, 181 } },
    { "Contrast 27 0", 0xd66a50c6a72f91d5, { 0, 0, 0, 234, 247, 255 } },
    { "Contrast 27 1", 0xe3d15edcf9f5119d, { 103, 104, 105, 139, 140, 141 } },
    { "Sharpness 9 0", 0xafc30e5ac5ce655a, { 0, 6, 12, 187, 194, 201 } },
    { "Sharpness 9 1", 0xd9bcec3b999cd264, { 0, 6, 12, 187, 194, 201 } },
    { "Sharpness 27 0", 0xe0938629b76c7392, { 0, 6, 12, 187, 194, 201 } },
    { "Sharpness 27 1", 0x9530109d2d0de737, { 0, 6, 12, 187, 194, 201 } },
    { "Posterize 9 0", 0x67b624a65e72a261, { 0, 6, 12, 186, 194, 200 } },
    { "Posterize 27 0", 0x8cd493d1e820899f, { 0, 0, 0, 176, 192, 192 } },
    { "Solarize 9 0", 0xf28b1c85f47734eb, { 0, 6, 12, 68, 61, 54 } },
    { "Solarize 27 0", 0xbe3b860dcfcea2cb, { 0, 6, 12, 68, 61, 54 } },
    { "AutoContrast 9 0", 0xb09a319eb2aced5a, { 0, 6, 11, 187, 194, 200 } },
    { "AutoContrast 27 0", 0xb09a319eb2aced5a, { 0, 6, 11, 187, 194, 200 } },
    { "Equalize 9 0", 0xf904225ceae3077b, { 0, 6, 10, 236, 250, 255 } },
    { "Equalize 27 0", 0xf904225ceae3077b, { 0, 6, 10, 236, 250, 255 } },
};
/* clang-format on */

#endif
