/* Neighbouring channels are a pair, as in the ModelZoo; maps of other programs reorder weights. */
#include "engine/nn/models/rotary.h"

cse_status cse_rotary_read(const cse_settings *settings, int64_t head, cse_rotary_options *rotary)
{
    const int64_t size = cse_settings_has(settings, "rotary_dim")
                             ? cse_settings_integer(settings, "rotary_dim")
                             : head / 4;
    *rotary = (cse_rotary_options){ .base = cse_settings_number(settings, "rope_theta"),
                                    .size = size,
                                    .interleaved = true,
                                    .scaling = 1 };
    if (size < 2 || size % 2 != 0 || size > head)
        return cse_fail(CSE_CONFIG,
                        "rotary_dim (%s) is %lld; accepted: an even number up to the size of a "
                        "head, which is %lld",
                        cse_settings_origin(settings, "rotary_dim"), (long long)size,
                        (long long)head);
    return CSE_OK;
}
