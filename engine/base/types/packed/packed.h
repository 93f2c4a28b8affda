/* Types of packed weights, most of them as GGUF numbers and lays them out: a row of a matrix is a
 * list of blocks of so many elements, each in so many bytes, which hold small whole numbers and the
 * factors that make values of them
 * (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md names the types).
 *
 * A weight may stay packed in memory (nn/packed_parameters.h); a type that is in the lists of
 * packed.c is all that a product with such a weight needs.
 *
 * The values of a block are those of the Python package `gguf`, bit for bit: one operation of
 * float32 after the other, in its order. */
#ifndef CSE_TYPES_PACKED_H
#define CSE_TYPES_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/types/dtype.h"
#include "engine/base/vector_clones.h"

enum { CSE_PACKED_MOST_ELEMENTS = 256, CSE_PACKED_MOST_BYTES = 256 }; /* of a block of any type */

typedef struct cse_packed_type {
    const char *name;   /* as GGUF has it, "Q4_1" */
    uint32_t number;    /* in GGUF, or above CSE_PACKED_OWN */
    int elements;       /* of a block; a row is whole blocks */
    size_t bytes;       /* of a block */
    uint32_t file_type; /* GGUF's general.file_type of files with most weights so */
    void (*unpack)(const unsigned char *block, float *values);
    /* The same of so many blocks, in vectors where the machine has them. */
    void (*unpack_blocks)(const unsigned char *blocks, int64_t count, float *values);
    /* The nearest block to those values; NULL: the type is only read. */
    void (*pack)(const float *values, unsigned char *block);
    /* The type that takes rows that are no whole blocks of this one; NULL: none does. */
    const struct cse_packed_type *instead;
} cse_packed_type;

extern const cse_packed_type cse_packed_q4_0, cse_packed_q4_1, cse_packed_q5_0, cse_packed_q5_1,
    cse_packed_q8_0; /* of 32 elements */
extern const cse_packed_type cse_packed_q2_k, cse_packed_q3_k, cse_packed_q4_k, cse_packed_q5_k,
    cse_packed_q6_k; /* of 256 elements */

/* Of our own, for what other programs pack in several tensors: files that they come from have none
 * of these numbers. */
extern const cse_packed_type cse_packed_nf4, cse_packed_fp4; /* levels_of_4_bits.c */
extern const float cse_packed_levels_nf4[16], cse_packed_levels_fp4[16];
extern const cse_packed_type cse_packed_int8_row, cse_packed_uint2_32, cse_packed_uint4_32,
    cse_packed_uint4_128, cse_packed_uint8_32;                      /* scaled_numbers.c */
extern const cse_packed_type cse_packed_bf16_32, cse_packed_f16_32; /* halves.c */
enum { CSE_PACKED_OWN = 1000 };                                     /* their numbers are above it */

/* Of all types; NULL: there is no such one. Names are compared without regard to case. */
const cse_packed_type *cse_packed_of_number(uint32_t number);
const cse_packed_type *cse_packed_of_name(const char *name);

/* Of GGUF's types. NULL: there is no such one. Names are compared without regard to case. */
const cse_packed_type *cse_packed_by_number(uint32_t number);
const cse_packed_type *cse_packed_by_name(const char *name);
/* GGUF's types in the order of their numbers, and our own; NULL ends them. */
extern const cse_packed_type *const cse_packed_types[], *const cse_packed_own_types[];
/* What a number of GGUF is called, of types that are not read, too; NULL: nobody knows it. */
const char *cse_packed_name_of(uint32_t number);

/* ---- for the types ---- */

/* float16 in two bytes, little endian, and back to nearest. */
float cse_packed_load_half(const unsigned char *at);
/* The same in few instructions, but for what is no number. Neither depends on whether the process
 * flushes subnormal numbers. */
static inline float cse_packed_half(const unsigned char *at)
{
    const uint32_t bits = (uint32_t)at[0] | (uint32_t)at[1] << 8, field = bits >> 10 & 31;
    if (field == 31)
        return cse_packed_load_half(at);
    const float magnitude = field == 0
                                ? (float)(bits & 0x3ff) * 0x1p-24F
                                : cse_float_from_bits(((bits & 0x7fff) << 13) + (112U << 23));
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/* Defines NAME_blocks, which is the function NAME for each of several blocks of so many elements in
 * so many bytes, for several instruction sets (vector_clones.h): elementwise loops, whose bits do
 * not depend on them. */
#define CSE_PACKED_BLOCKS(name, block_elements, block_bytes)                       \
    enum { name##_elements = (block_elements), name##_bytes = (block_bytes) };     \
    CSE_VECTOR_CLONES(void, name##_blocks,                                         \
                      (const unsigned char *blocks, int64_t count, float *values), \
                      (blocks, count, values))                                     \
    {                                                                              \
        for (int64_t i = 0; i < count; i++)                                        \
            name(blocks + i * (block_bytes), values + i * (block_elements));       \
    }
/* What a type says of the blocks that were defined so. */
#define CSE_PACKED_UNPACKED_BY(name)                                      \
    .elements = name##_elements, .bytes = name##_bytes, .unpack = (name), \
    .unpack_blocks = name##_blocks

void cse_packed_store_half(unsigned char *at, float value);
/* To the nearest whole number, halves away from 0. */
float cse_packed_round(float value);
/* Scales and minima, 6 bits each, of the eight parts of a block of Q4_K and Q5_K: of parts 0 to 3
 * in the low bits of bytes 0 to 3 and 4 to 7; of parts 4 to 7 the low 4 bits are in the halves of
 * bytes 8 to 11, the upper two in the upper bits of the bytes before. */
void cse_packed_six_bits(const unsigned char packed[12], int part, int *scale, int *minimum);

#endif
