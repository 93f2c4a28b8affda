/* Settings of the formats that a step computes in, and of its tensor statistics: rows shared by
 * CONFIG.yaml (sections `precision` and `numerics`) and the tables for YAML given to the C API. */
#ifndef CSE_CONFIG_PRECISION_SETTINGS_H
#define CSE_CONFIG_PRECISION_SETTINGS_H

#include "csengine/extend.h"
#include "engine/types/rounding.h"

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
/* The rows of CSE_PRECISION_SETTINGS alone. */
extern const cse_setting cse_precision_setting_table[];

/* ROW(name, type, default, {min, max}, choices, nested, documentation) */
#define CSE_PRECISION_SETTINGS(ROW)                                                               \
    ROW("enabled", BOOL, "null", 0, 0, NULL, NULL,                                                \
        "false: float32 throughout, whatever else is set; null: true where fp16_type is "         \
        "given"),                                                                                 \
        ROW("fp16_type", CHOICE, "null", 0, 0, CSE_CHOICES(CSE_LOW_FORMATS), NULL,                \
            "the 16-bit format of mixed precision; null: float32 throughout"),                    \
        ROW("precision_opt_level", INTEGER, "1", 0, 2, NULL, NULL,                                \
            "POL of the model: 0 sums in float32, 1 and 2 round between tiles of long sums"),     \
        ROW("tiling_accum", CHOICE, "null", 0, 0, CSE_CHOICES(CSE_TILING_ROUNDINGS), NULL,        \
            "sums between the tiles of a product; null: as the precision_opt_level says"),        \
        ROW("tile_length", INTEGER, "64", 1, 1 << 20, NULL, NULL,                                 \
            "terms of a long sum that are added in float32 before it is rounded"),                \
        ROW("emulate_accumulation", BOOL, "false", 0, 0, NULL, NULL,                              \
            "true: sums are rounded between tiles as POL and tiling_accum say, bit for bit; "     \
            "false: rounding is permitted but not done; sums are float32"),                       \
        ROW("graphamp", SETTINGS, "{}", 0, 0, NULL, cse_graphamp_setting_table,                   \
            "which ops run in fp16_type"),                                                        \
        ROW("disable_graphamp", TEXT_LIST, "[]", 0, 0, NULL, NULL,                                \
            "patterns of scopes that keep the types they are written with, as in model.head*"),   \
        ROW("pol", ANY, "[]", 0, 0, NULL, NULL,                                                   \
            "levels of parts of the model: [{scope: PATTERN, level: 0, bwd_level: 1}]; the last " \
            "match wins")

#define CSE_PRECISION_SETTING_ROW(name, type, default_value, min, max, choices, nested, doc) \
    {                                                                                        \
        name, CSE_SETTING_##type, default_value, min, max, choices, doc, nested              \
    }

#endif
