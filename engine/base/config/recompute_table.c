/* The section `recompute`: which activations the backward pass computes again. */
#include "engine/base/config/recompute_settings.h"

#include <stddef.h>

const cse_setting cse_recompute_setting_table[] = {
    { "scopes", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "patterns of scopes whose values are computed again for the backward pass instead of kept, "
      "as "
      "in model.layers.*; * stands for one name",
      NULL },
    { "memory_limit_mib", CSE_SETTING_INTEGER, "null", 1, 1 << 30, NULL,
      "most memory for the activations of a replica, in MiB: as little as keeps within it is "
      "recomputed, of `scopes` or, without them, of all modules with a number for a name; null: "
      "all of `scopes`",
      NULL },
    { 0 },
};
