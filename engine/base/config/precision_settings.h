/* Settings of the formats that a step computes in, and of its tensor statistics: the same tables
 * for CONFIG.yaml (sections `precision` and `numerics`) and for YAML given to the C API. */
#ifndef CSE_CONFIG_PRECISION_SETTINGS_H
#define CSE_CONFIG_PRECISION_SETTINGS_H

#include "csengine/extend.h"
#include "engine/base/types/rounding.h"

/* LIST(FIRST, NEXT) of (name, number): the presets of GraphAMP. */
#define CSE_PRESETS(FIRST, NEXT) \
    FIRST(mp0, 0)                \
    NEXT(mp1, 1)                 \
    NEXT(mp2, 2)                 \
    NEXT(mp3, 3)                 \
    NEXT(mp4, 4)

/* allow, infer, deny: names of ops; preset. */
extern const cse_setting cse_graphamp_setting_table[];
/* One entry of the list `pol`. */
extern const cse_setting cse_pol_setting_table[];
/* The section `numerics`: every, tensors. */
extern const cse_setting cse_numerics_setting_table[];
/* The section `precision`. */
extern const cse_setting cse_precision_setting_table[];

/* ROW(name, type, default, {min, max}, choices, nested, documentation) */

#endif
