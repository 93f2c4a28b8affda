/* Two C libraries may round expf differently in the last bit, which is a difference of results that
 * no comparison of versions shows. */
#include "workers/group/host_identity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/build_identity.h"
#include "engine/base/instruction_set.h"
#include "engine/code/execute/self_test.h"
#include "engine/code/kernels/kernel_record.h"

enum { POINTS = 4096 };

static uint64_t add(uint64_t digest, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t self_test(void)
{
    static float (*const functions[])(float) = { expf, logf, tanhf, erff, sinf, cosf, sqrtf };
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    cse_text choices = { 0 };
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++)
        for (int i = 0; i < POINTS; i++) {
            const volatile float at = 1e-4f + (float)i * (16.0f / POINTS);
            const float value = functions[f](at);
            digest = add(digest, &value, sizeof value);
        }
    const uint64_t products = cse_kernel_self_test();
    digest = add(digest, &products, sizeof products);
    if (cse_kernel_record_choices(&choices) != CSE_OK)
        cse_text_add(&choices, "unknown");
    if (choices.data != NULL)
        digest = add(digest, choices.data, choices.size);
    cse_text_clear(&choices);
    return digest;
}

void cse_host_identity_new(cse_arena *arena, bool portable, cse_host_identity *identity)
{
    unsigned char build[CSE_BUILD_IDENTITY_BYTES];
    char digits[2 * CSE_BUILD_IDENTITY_BYTES + 1] = "", digest[17];
    const size_t size = cse_build_identity(build);
    for (size_t i = 0; i < size; i++)
        snprintf(digits + 2 * i, 3, "%02x", build[i]);
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)self_test());
    *identity = (cse_host_identity){ .build = cse_arena_string(arena, digits),
                                     .instruction_set = cse_isa_name(cse_isa_of_host()),
                                     .kernels = cse_arena_string(arena, digest),
                                     .deterministic = portable ? "portable" : "true" };
}
