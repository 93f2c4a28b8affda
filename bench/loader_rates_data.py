"""The data that loader_rates.py reads: made here, by a seed, of no data set.

    loader_rates_data.py FOLDER CSENGINE KIND...

Tokens are random numbers in the distribution of words (the k-th has a share of about 1/k), texts are
words of random letters, tables hold normal numbers, and pictures are noise of all wavelengths, the
longer the stronger, as photographs are: at quality 90 a JPEG of 500 x 375 pixels has about 100 KB,
as those of ImageNet have. Needs numpy, and what the kind is written with: h5py, pyarrow, Pillow.
"""

import json
import os
import subprocess
import sys

import numpy

TIME = 512  # tokens of a sample
WORDS = 50257
TOKEN_SAMPLES, TEXTS, ROWS, COLUMNS = 25600, 3200, 51200, 32
FEATURE_ROWS, FEATURES = 20480, 784
CLASSES = 10


def tokens(draw, count):
    """Of Zipf's distribution, as uint16."""
    return (WORDS ** draw.random(count)).astype(numpy.uint16)


def samples_of(row):
    """[samples, TIME]: what is read, and the token that follows each."""
    return row[:-1].reshape(-1, TIME), row[1:].reshape(-1, TIME)


def make_token_files(folder, draw, _):
    row = tokens(draw, TOKEN_SAMPLES * TIME + 1)
    numpy.save(f"{folder}/tokens.npy", row)
    row.tofile(f"{folder}/tokens.bin")


def make_hdf5(folder, draw, _):
    import h5py

    ids, labels = samples_of(tokens(draw, TOKEN_SAMPLES // 4 * TIME + 1).astype(numpy.int32))
    samples = numpy.stack([ids, numpy.ones_like(ids), labels], axis=1)
    with h5py.File(f"{folder}/tokens.h5", "w") as file:
        file["data"] = samples
    with h5py.File(f"{folder}/packed.h5", "w") as file:
        file.create_dataset(
            "data", data=samples, chunks=(1, 3, TIME), compression="gzip", compression_opts=4
        )


def make_parquet_tokens(folder, draw, _):
    import pyarrow
    import pyarrow.parquet

    ids, labels = samples_of(tokens(draw, TOKEN_SAMPLES // 4 * TIME + 1).astype(numpy.int32))
    offsets = pyarrow.array(numpy.arange(len(ids) + 1, dtype=numpy.int32) * TIME)
    columns = {
        name: pyarrow.ListArray.from_arrays(offsets, pyarrow.array(values.ravel()))
        for name, values in (("input_ids", ids), ("labels", labels))
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), f"{folder}/tokens.parquet")


def make_texts(folder, draw, csengine):
    letters = numpy.array(list("etaoinshrdlucmfwygpbvk"))
    words = ["".join(draw.choice(letters, draw.integers(2, 9))) for _ in range(20000)]
    places = (len(words) ** draw.random((TEXTS, 400))).astype(int) - 1
    texts = [" ".join(words[place] for place in row) + "." for row in places]
    with open(f"{folder}/texts.jsonl", "w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    with open(f"{folder}/texts.txt", "w") as file:
        file.writelines(text + "\n" for text in texts[:800])
    train = ["--train_tokenizer", "4000", "--sequence_length", str(TIME), "--format", "npy"]
    subprocess.run(
        [csengine, "data", "tokenize", f"{folder}/texts.txt", *train, "--to", f"{folder}/words"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def make_tables(folder, draw, _):
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    columns = {f"c{k}": draw.standard_normal(ROWS).round(4) for k in range(COLUMNS)}
    columns["label"] = draw.integers(0, CLASSES, ROWS)
    table = pyarrow.table(columns)
    pyarrow.csv.write_csv(table, f"{folder}/rows.csv")
    pyarrow.parquet.write_table(table, f"{folder}/rows.parquet")


def make_features(folder, draw, _):
    x = draw.standard_normal((FEATURE_ROWS, FEATURES), dtype=numpy.float32)
    y = draw.integers(0, CLASSES, FEATURE_ROWS).astype(numpy.int32)
    numpy.savez(f"{folder}/rows.npz", x=x, y=y)


def make_json_rows(folder, draw, _):
    with open(f"{folder}/rows.jsonl", "w") as file:
        for row in draw.standard_normal((ROWS // 4, COLUMNS)).round(4).tolist():
            line = {"features": row, "label": int(draw.integers(0, CLASSES))}
            file.write(json.dumps(line) + "\n")


# ---- pictures ----


def photograph(draw, width, height, grain):
    """Noise of wavelengths from two pixels to the whole picture, and of `grain` levels a pixel."""
    from PIL import Image

    levels = numpy.full((height, width, 3), 128, dtype=numpy.float32)
    wavelength = 2
    while wavelength < 2 * max(width, height):
        size = (max(2, width // wavelength), max(2, height // wavelength))
        coarse = draw.integers(0, 256, (size[1], size[0], 3), dtype=numpy.uint8)
        fine = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
        levels += (numpy.asarray(fine, dtype=numpy.float32) - 128) * (wavelength / 128) ** 0.5 / 2
        wavelength *= 2
    levels += draw.standard_normal(levels.shape, dtype=numpy.float32) * grain
    return Image.fromarray(levels.clip(0, 255).astype(numpy.uint8))


def write_pictures(draw, folder, form, count, size, grain):
    for label in range(CLASSES):
        os.makedirs(f"{folder}/{label}")
    for number in range(count):
        picture = photograph(draw, *size, grain)
        path = f"{folder}/{number % CLASSES}/{number:05}.{form}"
        picture.save(path, **({"quality": 90} if form == "jpg" else {}))


def make_jpeg(folder, draw, _):
    write_pictures(draw, f"{folder}/jpeg", "jpg", 384, (500, 375), 5)


def make_large_jpeg(folder, draw, _):
    write_pictures(draw, f"{folder}/large", "jpg", 32, (2400, 1800), 5)


def make_png(folder, draw, _):
    write_pictures(draw, f"{folder}/png", "png", 384, (320, 240), 1)


def make_small_png(folder, draw, _):
    write_pictures(draw, f"{folder}/small", "png", 4096, (32, 32), 1)


MAKERS = {
    "token_files": make_token_files,
    "hdf5": make_hdf5,
    "parquet_tokens": make_parquet_tokens,
    "texts": make_texts,
    "tables": make_tables,
    "features": make_features,
    "json_rows": make_json_rows,
    "jpeg": make_jpeg,
    "large_jpeg": make_large_jpeg,
    "png": make_png,
    "small_png": make_small_png,
}


def main():
    folder, csengine, *kinds = sys.argv[1:]
    for kind in kinds:
        draw = numpy.random.default_rng(list(MAKERS).index(kind))
        MAKERS[kind](folder, draw, csengine)


if __name__ == "__main__":
    main()
