/* The table of types. */
#include "engine/base/types/packed/packed.h"

#include <strings.h>

const cse_packed_type *const cse_packed_types[] = {
    &cse_packed_q4_0,
    &cse_packed_q4_1,
    &cse_packed_q5_0,
    &cse_packed_q5_1,
    &cse_packed_q8_0,
    &cse_packed_q2_k,
    &cse_packed_q3_k,
    &cse_packed_q4_k,
    &cse_packed_q5_k,
    &cse_packed_q6_k,
    NULL,
};

const cse_packed_type *const cse_packed_own_types[] = {
    &cse_packed_nf4,      &cse_packed_fp4,
    &cse_packed_int8_row, &cse_packed_uint2_32,
    &cse_packed_uint4_32, &cse_packed_uint4_128,
    &cse_packed_uint8_32, &cse_packed_bf16_32,
    &cse_packed_f16_32,   NULL,
};

/* clang-format off */
static const struct {
    uint32_t number;
    const char *name;
} others[] = {
    { 9, "Q8_1" }, { 15, "Q8_K" }, { 16, "IQ2_XXS" }, { 17, "IQ2_XS" }, { 18, "IQ3_XXS" },
    { 19, "IQ1_S" }, { 20, "IQ4_NL" }, { 21, "IQ3_S" }, { 22, "IQ2_S" }, { 23, "IQ4_XS" },
    { 29, "IQ1_M" }, { 34, "TQ1_0" }, { 35, "TQ2_0" }, { 39, "MXFP4" },
};
/* clang-format on */

const cse_packed_type *cse_packed_by_number(uint32_t number)
{
    for (const cse_packed_type *const *row = cse_packed_types; *row != NULL; row++)
        if ((*row)->number == number)
            return *row;
    return NULL;
}

const cse_packed_type *cse_packed_by_name(const char *name)
{
    for (const cse_packed_type *const *row = cse_packed_types; *row != NULL; row++)
        if (strcasecmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}

const cse_packed_type *cse_packed_of_number(uint32_t number)
{
    const cse_packed_type *found = cse_packed_by_number(number);
    for (const cse_packed_type *const *row = cse_packed_own_types; *row != NULL; row++)
        found = (*row)->number == number ? *row : found;
    return found;
}

const cse_packed_type *cse_packed_of_name(const char *name)
{
    const cse_packed_type *found = cse_packed_by_name(name);
    for (const cse_packed_type *const *row = cse_packed_own_types; *row != NULL; row++)
        found = strcasecmp((*row)->name, name) == 0 ? *row : found;
    return found;
}

const char *cse_packed_name_of(uint32_t number)
{
    const cse_packed_type *type = cse_packed_by_number(number);
    for (size_t i = 0; type == NULL && i < sizeof others / sizeof others[0]; i++)
        if (others[i].number == number)
            return others[i].name;
    return type != NULL ? type->name : NULL;
}
