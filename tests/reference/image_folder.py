"""Writes tests/samples/inputs/image_folder.h: a PNG and a JPEG, and what Pillow makes of them. The functions
are those of torchvision for pictures of Pillow, which call it: Resize, CenterCrop, ToTensor and Normalize.

Usage: image_folder.py >tests/samples/inputs/image_folder.h (packages pillow, numpy)"""
import io

import numpy as np
from PIL import Image
from bytes_as_c import literal

random = np.random.default_rng(5)

def smooth(height, width):
    coarse = Image.fromarray(random.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    return coarse.resize((width, height), Image.BICUBIC)

def stored(image, **options):
    memory = io.BytesIO()
    image.save(memory, **options)
    return memory.getvalue()

png = stored(smooth(6, 7), format="PNG")
jpeg = stored(smooth(20, 14), format="JPEG", quality=80)
pictures = [Image.open(io.BytesIO(content)).convert("RGB") for content in (png, jpeg)]

def values(transform, elements):
    rows = []
    for sample, picture in ((0, pictures[0]), (13, pictures[1])):
        flat = transform(picture).flatten()
        rows += [f"{{ CSE_FEATURES_STREAM, {sample}, {e}, {flat[e].item():.9g} }}" for e in elements]
    return ", ".join(rows + ["{ CSE_ANSWERS_STREAM, 0, 0, 0 }", "{ CSE_ANSWERS_STREAM, 19, 0, 1 }"])

def resize(picture, size):
    if isinstance(size, int):  # of the shorter side
        w, h = picture.size
        size = (size * h // w, size) if w < h else (size, size * w // h)
    # In two steps, since Pillow 13 begins with the height for some sizes.
    return picture.resize((size[1], picture.size[1]), Image.BILINEAR).resize((size[1], size[0]), Image.BILINEAR)

def center_crop(picture, size):
    w, h = picture.size
    top, left = round((h - size[0]) / 2), round((w - size[1]) / 2)
    return picture.crop((left, top, left + size[1], top + size[0]))

def normalize(picture, mean, std):
    array = np.asarray(picture, dtype=np.float32) / np.float32(255)
    array = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    column = (-1, 1, 1)
    return (array - np.float32(mean).reshape(column)) / np.float32(std).reshape(column)

IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
cases = [
    ("data_dir: $folder, image_size: [4, 3], resize: 5",
     lambda p: normalize(center_crop(resize(p, 5), (4, 3)), *IMAGENET), (0, 7, 14, 23, 35)),
    ("data_dir: $folder, image_size: [3, 9], num_classes: 2",
     lambda p: normalize(resize(p, (3, 9)), *IMAGENET), (0, 13, 26, 44, 80)),
    ("data_dir: $folder, image_size: [20, 14], channels: 1, flatten: true, mean: [0.5], std: [0.25]",
     lambda p: normalize(resize(p, (20, 14)).convert("L"), [0.5], [0.25]), (0, 139, 279)),
]
print('/* Written by tests/reference/image_folder.py: pictures for the contract test, and their values. */\n'
      "#ifndef CSE_TESTS_SAMPLES_INPUTS_IMAGE_FOLDER_H\n#define CSE_TESTS_SAMPLES_INPUTS_IMAGE_FOLDER_H\n\n"
      '#include "dataloader/inputs/labelled.h"\n\n'
      "/* clang-format off */")
print("static const char png_picture[] =\n    " + literal(png) + ";")
print("static const char jpeg_picture[] =\n    " + literal(jpeg) + ";")
print("#define PICTURES \\\n    { { .name = \"a/*.png\", .text = png_picture, .size = sizeof png_picture - 1 }, \\\n"
      "    { .name = \"b/*.jpg\", .text = jpeg_picture, .size = sizeof jpeg_picture - 1 } }")
for n, (settings, transform, elements) in enumerate(cases):
    text = values(transform, elements)
    count = text.count("{ CSE_")
    parts = text.replace(" }, ", " },@").split("@")
    body = " \\\n    ".join(parts)
    print(f"#define PICTURES_{n} \\\n    .settings = \"" + settings.replace(", ", ", \" \\\n    \"", 1) + "\", \\\n"
          "    .source = \"Pillow (tests/reference/image_folder.py)\", \\\n"
          f"    .files = PICTURES, .sample_count = 20, .value_count = {count}, .values = {{ \\\n    {body} }}")

def resized(picture, size, filter):
    """As resize, but with a filter, and rounded to bytes between both steps as Pillow does."""
    if isinstance(size, int):
        w, h = picture.size
        size = (size * h // w, size) if w < h else (size, size * w // h)
    return picture.resize((size[1], picture.size[1]), filter).resize((size[1], size[0]), filter)

HALF = ([0.5, 0.5, 0.5], [0.5, 0.25, 0.5])
steps = [
    ("image_size: [4, 3], transforms: [{name: resize, size: [6, 5], interpolation: bicubic}, {name: center_crop, "
     "size: [4, 3]}, {name: to_tensor}, {name: normalize, mean: [0.5, 0.5, 0.5], std: [0.5, 0.25, 0.5]}]",
     lambda p: normalize(center_crop(resized(p, (6, 5), Image.BICUBIC), (4, 3)), *HALF), (0, 7, 14, 23, 35)),
    ("image_size: [9, 9], transforms: [{name: resize, size: 12, interpolation: bicubic}, {name: resize, size: [9, 9]}, "
     "{name: to_tensor}]",
     lambda p: normalize(resized(resized(p, 12, Image.BICUBIC), (9, 9), Image.BILINEAR), [0, 0, 0], [1, 1, 1]),
     (0, 13, 80, 144, 242)),
]
for n, (settings, transform, elements) in enumerate(steps):
    text = values(transform, elements)
    body = " \\\n    ".join(text.replace(" }, ", " },@").split("@"))
    print(f"#define STEPS_{n} \\\n    .settings = \"data_dir: $folder, \" \\\n    \"" +
          settings.replace("}, ", "}, \" \\\n    \"") + "\", \\\n"
          "    .source = \"Pillow (tests/reference/image_folder.py)\", \\\n"
          "    .files = { { .name = \"train/a/*.png\", .text = png_picture, .size = sizeof png_picture - 1 }, \\\n"
          "    { .name = \"train/b/*.jpg\", .text = jpeg_picture, .size = sizeof jpeg_picture - 1 } }, \\\n"
          f"    .sample_count = 20, .value_count = {text.count('{ CSE_')}, .values = {{ \\\n    {body} }}")
print("/* clang-format on */\n\n#endif")
