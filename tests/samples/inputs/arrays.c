/* Samples of arrays, with independent values. */
#include "tests/samples/samples.h"

#define HEADER_OF(descr, shape, padding)                                                \
    "\223NUMPY\1\0\166\0{'descr': '" descr "', 'fortran_order': False, 'shape': " shape \
    ", }" padding "\n"
#define BLANKS_48 "                                                "
/* Twelve samples of one row of two bytes, and of one number. */
#define PAIRS HEADER_OF("|u1", "(12, 1, 2)", BLANKS_48 "      ") "aAbBcCdDeEfFgGhHiIjJkKlL"
#define NUMBERS HEADER_OF("|i1", "(12,)", BLANKS_48 "           ") "\0\1\2\3\4\5\6\7\10\11\12\13"
#define FILES                                                                       \
    {                                                                               \
        { .name = "pairs.npy", .text = PAIRS, .size = sizeof PAIRS - 1 },           \
            { .name = "numbers.npy", .text = NUMBERS, .size = sizeof NUMBERS - 1 }, \
    }

static const cse_input_sample samples[] = {
    { .settings = "path: $folder, arrays: [pairs, numbers]",
      .source = "ASCII",
      .files = FILES,
      .sample_count = 12,
      .value_count = 4,
      .values = { { 0, 0, 0, 'a' }, { 0, 11, 1, 'L' }, { 1, 0, 0, 0 }, { 1, 11, 0, 11 } } },
    { .settings = "path: $folder, arrays: [pairs, absent]",
      .refusal = "cannot open",
      .files = FILES },
    { .settings = "path: $folder, arrays: [pairs, pairs]", .refusal = "twice", .files = FILES },
    { .settings = NULL },
};

CSE_SAMPLES(input, arrays, samples);
