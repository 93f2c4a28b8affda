/* The table of element.h, and conversions by way of double or int64. */
#include "engine/formats/weights/element.h"

#include <string.h>

#include "engine/base/types/dtype.h"

static const struct {
    const char *short_name, *name;
    size_t bytes;
} table[] = {
#define CSE_ELEMENT_ROW(enumerator, short_name, name, bytes) { short_name, name, bytes },
    CSE_ELEMENT_TABLE(CSE_ELEMENT_ROW)
#undef CSE_ELEMENT_ROW
};

const char *cse_element_name(cse_element element)
{
    return table[element].name;
}

const char *cse_element_short_name(cse_element element)
{
    return table[element].short_name;
}

size_t cse_element_bytes(cse_element element)
{
    return table[element].bytes;
}

bool cse_element_is_float(cse_element element)
{
    return element <= CSE_ELEMENT_F64;
}

cse_element cse_element_from_name(const char *name)
{
    for (int i = 0; i < CSE_ELEMENT_COUNT; i++)
        if (strcmp(table[i].name, name) == 0 || strcmp(table[i].short_name, name) == 0)
            return (cse_element)i;
    return CSE_ELEMENT_COUNT;
}

cse_element cse_element_of_dtype(cse_dtype dtype)
{
    return cse_element_from_name(cse_dtype_name(dtype));
}

cse_dtype cse_element_dtype(cse_element element)
{
    return cse_dtype_from_name(table[element].name);
}

bool cse_element_converts(cse_element from, cse_element to)
{
    if (from == to)
        return true;
    if (cse_element_is_float(from) || cse_element_is_float(to))
        return cse_element_is_float(from) && cse_element_is_float(to);
    return to == CSE_ELEMENT_I32 || to == CSE_ELEMENT_I64;
}

static double load_float(cse_element from, const unsigned char *at)
{
    double wide;
    float single;
    uint16_t half;
    if (from == CSE_ELEMENT_F64) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    if (from == CSE_ELEMENT_F32) {
        memcpy(&single, at, sizeof single);
        return (double)single;
    }
    memcpy(&half, at, sizeof half);
    return (double)cse_float_from_format(cse_element_dtype(from), half);
}

static void store_float(cse_element to, double value, unsigned char *at)
{
    const float single = (float)value;
    if (to == CSE_ELEMENT_F64) {
        memcpy(at, &value, sizeof value);
    } else if (to == CSE_ELEMENT_F32) {
        memcpy(at, &single, sizeof single);
    } else {
        const uint16_t half = cse_round_to_bits(cse_element_dtype(to), single);
        memcpy(at, &half, sizeof half);
    }
}

static int64_t load_integer(cse_element from, const unsigned char *at)
{
    int64_t wide;
    int32_t word;
    int16_t half;
    switch (cse_element_bytes(from)) {
    case 8:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case 4:
        memcpy(&word, at, sizeof word);
        return word;
    case 2:
        memcpy(&half, at, sizeof half);
        return half;
    default:
        return from == CSE_ELEMENT_I8 ? (int64_t)(signed char)*at : (int64_t)*at;
    }
}

bool cse_element_convert(cse_element from, const void *source, cse_element to, void *target,
                         size_t count)
{
    const size_t step = cse_element_bytes(from), width = cse_element_bytes(to);
    const unsigned char *at = source;
    unsigned char *out = target;
    if (from == to) {
        memcpy(target, source, count * step);
        return true;
    }
    for (size_t i = 0; i < count; i++, at += step, out += width) {
        if (cse_element_is_float(from)) {
            store_float(to, load_float(from, at), out);
            continue;
        }
        const int64_t value = load_integer(from, at);
        const int32_t word = (int32_t)value;
        if (to == CSE_ELEMENT_I32 && word != value)
            return false;
        if (to == CSE_ELEMENT_I32)
            memcpy(out, &word, sizeof word);
        else
            memcpy(out, &value, sizeof value);
    }
    return true;
}
