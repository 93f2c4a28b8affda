/* The usual kinds by the loops of npy_file.h, others one by one. */
#include "dataloader/formats/arrow_convert.h"

#include <string.h>

#include "dataloader/formats/npy_file.h"
#include "engine/base/types/dtype.h"

int64_t cse_arrow_integer(const unsigned char *raw, int bits, bool is_signed)
{
    uint64_t value = 0;
    for (int i = bits / 8; i > 0; i--)
        value = value << 8 | raw[i - 1];
    return is_signed ? (int64_t)(value << (64 - bits)) >> (64 - bits) : (int64_t)value;
}

double cse_arrow_float(const unsigned char *raw, int bits)
{
    double wide;
    float single;
    if (bits == 64) {
        memcpy(&wide, raw, sizeof wide);
        return wide;
    }
    if (bits == 16)
        return (double)cse_float_from_format(CSE_FLOAT16,
                                             (uint16_t)cse_arrow_integer(raw, 16, false));
    memcpy(&single, raw, sizeof single);
    return (double)single;
}

bool cse_arrow_is_as(cse_arrow_form form, cse_dtype dtype)
{
    return form.bits == 32 && form.type == (dtype == CSE_INT32 ? CSE_ARROW_INT : CSE_ARROW_FLOAT);
}

/* False: it does not fit. */
static bool convert_one(cse_arrow_form form, const unsigned char *at, cse_dtype dtype, void *to)
{
    if (form.type == CSE_ARROW_FLOAT) {
        const float value = (float)cse_arrow_float(at, form.bits);
        memcpy(to, &value, sizeof value);
        return dtype == CSE_FLOAT32;
    }
    const int64_t whole = cse_arrow_integer(at, form.bits, form.type == CSE_ARROW_INT);
    const int32_t word = (int32_t)whole;
    const float value = form.type == CSE_ARROW_UNSIGNED ? (float)(uint64_t)whole : (float)whole;
    memcpy(to, dtype == CSE_FLOAT32 ? (const void *)&value : (const void *)&word, 4);
    return dtype == CSE_FLOAT32 || (word == whole && (word >= 0 || form.type == CSE_ARROW_INT));
}

/* Whether the loops of npy_file.h give the same: they round whole numbers of 64 bits twice. */
static bool has_loop(cse_arrow_form form, cse_dtype dtype)
{
    if (form.type == CSE_ARROW_FLOAT)
        return dtype == CSE_FLOAT32 && form.bits >= 32;
    return dtype == CSE_INT32 || form.bits <= 32;
}

/* What does not fit becomes INT32_MIN there, which may also be a number of the file. */
static bool may_not_fit(const int32_t *values, int64_t count)
{
    bool found = false;
    for (int64_t i = 0; i < count; i++)
        found |= values[i] == INT32_MIN;
    return found;
}

bool cse_arrow_convert(cse_arrow_form form, const unsigned char *raw, int64_t count,
                       cse_dtype dtype, void *values)
{
    static const char kinds[] = {
        [CSE_ARROW_INT] = 'i', [CSE_ARROW_UNSIGNED] = 'u', [CSE_ARROW_FLOAT] = 'f'
    };
    const int size = form.bits / 8;
    if (has_loop(form, dtype)) {
        const cse_npy_header header = { .kind = kinds[form.type], .size = size };
        cse_npy_convert(&header, raw, count, dtype, values);
        if (dtype != CSE_INT32 || !may_not_fit(values, count))
            return true;
    }
    for (int64_t i = 0; i < count; i++)
        if (!convert_one(form, raw + i * size, dtype, (unsigned char *)values + i * 4))
            return false;
    return true;
}
