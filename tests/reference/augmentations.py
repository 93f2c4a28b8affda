"""Values of torchvision's functional operations on a picture of Pillow, for
tests/dataloader/pictures/check_augmentations.c: python3 augmentations.py >augmentations.h, with
torchvision and Pillow. Of each result the header has a hash (FNV-1a of its bytes) and its first
pixels."""

import sys
import types

import numpy
from PIL import Image

# The functional operations need no compiled code, which has to fit the version of torch.
sys.modules["torchvision._meta_registrations"] = types.ModuleType("_meta_registrations")
from torchvision.transforms import InterpolationMode, RandAugment, functional  # noqa: E402
from torchvision.transforms.autoaugment import _apply_op  # noqa: E402

WIDTH, HEIGHT = 29, 23


def picture():
    """As the test makes it: a smooth part, noise, and edges."""
    pixels = numpy.zeros((HEIGHT, WIDTH, 3), dtype=numpy.uint8)
    for y in range(HEIGHT):
        for x in range(WIDTH):
            for c in range(3):
                noise = (x * 7919 + y * 104729 + c * 1299709) % 97
                pixels[y, x, c] = (x * (5 + c) + y * (9 - 2 * c) + noise + (120 if x > y else 0)) % 256
    return Image.fromarray(pixels)


def line(name, image):
    data = numpy.asarray(image).tobytes()
    number = 14695981039346656037
    for byte in data:
        number = (number ^ byte) * 1099511628211 % (1 << 64)
    first = ", ".join(str(b) for b in data[:6])
    return f'    {{ "{name}", 0x{number:016x}, {{ {first} }} }},'


def operations():
    image = picture()
    yield "brightness 0.6", functional.adjust_brightness(image, 0.6)
    yield "brightness 1.7", functional.adjust_brightness(image, 1.7)
    yield "contrast 0.3", functional.adjust_contrast(image, 0.3)
    yield "contrast 1.4", functional.adjust_contrast(image, 1.4)
    yield "saturation 0.25", functional.adjust_saturation(image, 0.25)
    yield "saturation 1.9", functional.adjust_saturation(image, 1.9)
    for turn in -0.5, -0.37, -0.1, 0.05, 0.3, 0.5:
        yield f"hue {turn}", functional.adjust_hue(image, turn)
    yield "sharpness 0.2", functional.adjust_sharpness(image, 0.2)
    yield "sharpness 1.8", functional.adjust_sharpness(image, 1.8)
    for bits in 1, 4, 7:
        yield f"posterize {bits}", functional.posterize(image, bits)
    yield "solarize 178.5", functional.solarize(image, 178.5)
    yield "autocontrast", functional.autocontrast(functional.adjust_contrast(image, 0.5))
    yield "equalize", functional.equalize(image)
    for degrees in -30, 7.5, 90:
        yield f"rotate {degrees}", functional.rotate(image, degrees)


def augmented():
    image = picture()
    space = RandAugment()._augmentation_space(31, (HEIGHT, WIDTH))
    for name, (magnitudes, signed) in space.items():
        for magnitude in 9, 27:
            for negative in (False, True) if signed else (False,):
                value = float(magnitudes[magnitude].item()) if magnitudes.ndim > 0 else 0.0
                value = -value if negative else value
                result = _apply_op(image, name, value, InterpolationMode.NEAREST, None)
                yield f"{name} {magnitude} {int(negative)}", result


print("/* Written by augmentations.py: values of torchvision's operations. */")
print("#ifndef CSE_TESTS_REFERENCE_AUGMENTATIONS_H\n#define CSE_TESTS_REFERENCE_AUGMENTATIONS_H\n")
print("#include <stdint.h>\n")
print("enum { REFERENCE_WIDTH = %d, REFERENCE_HEIGHT = %d };\n" % (WIDTH, HEIGHT))
print("typedef struct reference_picture {")
print("    const char *name;\n    uint64_t hash; /* FNV-1a of all bytes */\n    unsigned char first[6];")
print("} reference_picture;\n\n/* clang-format off */")
for title, results in ("reference_operations", operations()), ("reference_rand_augment", augmented()):
    print("static const reference_picture %s[] = {" % title)
    for name, image in results:
        print(line(name, image))
    print("};")
print("/* clang-format on */\n\n#endif")
