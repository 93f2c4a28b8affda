/* Loops for the kinds of numbers that files mostly hold, in the byte order of the machine; others
 * one by one. */
#include <stdint.h>
#include <string.h>

#include "dataloader/formats/npy_file.h"
#include "engine/base/vector_clones.h"

enum { BLOCK = 64 };

/* Defines the function `name`, which makes `to_type` of each `from_type`, named `value`. Blocks of
 * a size that the compiler knows become vectors at -O2, too. */
#define CONVERSION(name, from_type, to_type, expression)                        \
    CSE_VECTOR_CLONES(void, name, (const void *raw, int64_t count, void *made), \
                      (raw, count, made))                                       \
    {                                                                           \
        const from_type *from = raw;                                            \
        to_type *to = made;                                                     \
        for (; count >= BLOCK; count -= BLOCK, from += BLOCK, to += BLOCK) {    \
            from_type values[BLOCK];                                            \
            to_type results[BLOCK];                                             \
            memcpy(values, from, sizeof values);                                \
            for (int k = 0; k < BLOCK; k++) {                                   \
                const from_type value = values[k];                              \
                results[k] = (to_type)(expression);                             \
            }                                                                   \
            memcpy(to, results, sizeof results);                                \
        }                                                                       \
        for (; count > 0; count--, from++, to++) {                              \
            from_type value;                                                    \
            memcpy(&value, from, sizeof value);                                 \
            *to = (to_type)(expression);                                        \
        }                                                                       \
    }

/* Whole numbers that do not fit. */
#define FITTING(condition) ((condition) ? (int32_t)value : INT32_MIN)

CONVERSION(int8_to_int32, int8_t, int32_t, value)
CONVERSION(uint8_to_int32, uint8_t, int32_t, value)
CONVERSION(int16_to_int32, int16_t, int32_t, value)
CONVERSION(uint16_to_int32, uint16_t, int32_t, value)
CONVERSION(int32_to_int32, int32_t, int32_t, value)
CONVERSION(uint32_to_int32, uint32_t, int32_t, FITTING(value <= INT32_MAX))
CONVERSION(int64_to_int32, int64_t, int32_t, FITTING(value >= INT32_MIN && value <= INT32_MAX))
CONVERSION(uint64_to_int32, uint64_t, int32_t, FITTING(value <= INT32_MAX))
CONVERSION(int8_to_float, int8_t, float, value)
CONVERSION(uint8_to_float, uint8_t, float, value)
CONVERSION(int16_to_float, int16_t, float, value)
CONVERSION(uint16_to_float, uint16_t, float, value)
CONVERSION(int32_to_float, int32_t, float, value)
CONVERSION(uint32_to_float, uint32_t, float, value)
/* By way of double, as of one element. */
CONVERSION(int64_to_float, int64_t, float, (double)value)
CONVERSION(float_to_float, float, float, value)
CONVERSION(double_to_float, double, float, value)

typedef void conversion(const void *raw, int64_t count, void *made);

static const struct {
    char kind;
    int size;
    conversion *to_int32, *to_float; /* NULL: one by one */
} conversions[] = {
    { 'i', 1, int8_to_int32, int8_to_float },   { 'u', 1, uint8_to_int32, uint8_to_float },
    { 'i', 2, int16_to_int32, int16_to_float }, { 'u', 2, uint16_to_int32, uint16_to_float },
    { 'i', 4, int32_to_int32, int32_to_float }, { 'u', 4, uint32_to_int32, uint32_to_float },
    { 'i', 8, int64_to_int32, int64_to_float }, { 'u', 8, uint64_to_int32, NULL },
    { 'f', 4, NULL, float_to_float },           { 'f', 8, NULL, double_to_float },
};

static conversion *conversion_of(const cse_npy_header *header, cse_dtype dtype)
{
    const int count = sizeof conversions / sizeof conversions[0];
    int i = 0;
    while (i < count &&
           (conversions[i].kind != header->kind || conversions[i].size != header->size))
        i++;
    if (i == count || (header->big_endian && header->size > 1))
        return NULL;
    return dtype == CSE_INT32 ? conversions[i].to_int32 : conversions[i].to_float;
}

static int32_t fitting(const cse_npy_header *header, const unsigned char *raw)
{
    if (header->kind == 'f') {
        const double value = cse_npy_real(header, raw);
        return value >= -2147483648.0 && value <= 2147483647.0 ? (int32_t)value : INT32_MIN;
    }
    const int64_t value = cse_npy_whole(header, raw);
    return FITTING(value >= INT32_MIN && value <= INT32_MAX);
}

void cse_npy_convert(const cse_npy_header *header, const void *raw, int64_t count, cse_dtype dtype,
                     void *values)
{
    const unsigned char *bytes = raw;
    conversion *convert = conversion_of(header, dtype);
    if (convert != NULL) {
        convert(raw, count, values);
        return;
    }
    for (int64_t i = 0; i < count; i++, bytes += header->size) {
        if (dtype == CSE_INT32)
            ((int32_t *)values)[i] = fitting(header, bytes);
        else
            ((float *)values)[i] = (float)cse_npy_real(header, bytes);
    }
}
