/* Samples of npy, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "tests/samples/samples.h"

#define HEADER_OF(descr, shape, padding)                                                \
    "\223NUMPY\1\0\166\0{'descr': '" descr "', 'fortran_order': False, 'shape': " shape \
    ", }" padding "\n"
#define BLANKS_48 "                                                "
#define ANSWERS HEADER_OF("|i1", "(12,)", BLANKS_48 "           ") "\0\1\2\3\4\5\6\7\10\11\12\13"

/* Twelve samples of one row of two bytes, and their answers. */
#define PAIRS HEADER_OF("|u1", "(12, 1, 2)", BLANKS_48 "      ") "aAbBcCdDeEfFgGhHiIjJkKlL"
#define FILES                                                                 \
    {                                                                         \
        { .name = "x.npy", .text = PAIRS, .size = sizeof PAIRS - 1 },         \
            { .name = "y.npy", .text = ANSWERS, .size = sizeof ANSWERS - 1 }, \
    }

static const cse_input_sample samples[] = {
    { .settings = "features: $folder/x.npy, answers: $folder/y.npy, mean: 64, std: 2",
      .source = "ASCII",
      .files = FILES,
      .sample_count = 12,
      .value_count = 5,
      .values = { { CSE_FEATURES_STREAM, 0, 0, ('a' - 64) / 2.0 },
                  { CSE_FEATURES_STREAM, 11, 1, ('L' - 64) / 2.0 },
                  { CSE_ANSWERS_STREAM, 0, 0, 0 },
                  { CSE_ANSWERS_STREAM, 7, 0, 7 },
                  { CSE_ANSWERS_STREAM, 11, 0, 11 } } },
    { .settings = "features: $folder/x.npy, answers: $folder/y.npy, regression: true",
      .source = "ASCII",
      .files = FILES,
      .sample_count = 12,
      .value_count = 2,
      .values = { { CSE_FEATURES_STREAM, 3, 0, 'd' }, { CSE_ANSWERS_STREAM, 9, 0, 9 } } },
    { .settings = "features: $folder/y.npy, answers: $folder/x.npy",
      .refusal = "expected one answer for each",
      .files = FILES },
    { .settings = "features: $folder/x.npy, answers: $folder/z.npy",
      .refusal = "cannot open",
      .files = FILES },
    { .settings = NULL },
};

CSE_SAMPLES(input, npy, samples);
