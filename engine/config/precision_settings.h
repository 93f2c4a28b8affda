/* Settings of the formats that a step computes in, and of the counting of its numbers: rows that
 * stand both in CONFIG.yaml (sections `precision` and `numerics`) and in the tables that the C
 * API's texts are checked against. */
#ifndef CSE_CONFIG_PRECISION_SETTINGS_H
#define CSE_CONFIG_PRECISION_SETTINGS_H

#include "csengine/extend.h"

/* allow, infer, deny: names of ops; preset. */
extern const cse_setting cse_graphamp_setting_table[];
/* One entry of the list `pol`. */
extern const cse_setting cse_pol_setting_table[];
/* The section `numerics`: every, tensors. */
extern const cse_setting cse_numerics_setting_table[];
/* The rows below by themselves. */
extern const cse_setting cse_precision_setting_table[];

#define CSE_PRECISION_SETTINGS                                                                     \
    { "enabled",                                                                                   \
      CSE_SETTING_BOOL,                                                                            \
      "null",                                                                                      \
      0,                                                                                           \
      0,                                                                                           \
      NULL,                                                                                        \
      "false: float32 throughout, whatever else stands here; null: true where fp16_type is given", \
      NULL },                                                                                      \
        { "fp16_type",                                                                             \
          CSE_SETTING_CHOICE,                                                                      \
          "null",                                                                                  \
          0,                                                                                       \
          0,                                                                                       \
          "float16|bfloat16|cbfloat16",                                                            \
          "the 16-bit format of mixed precision; null: float32 throughout",                        \
          NULL },                                                                                  \
        { "precision_opt_level",                                                                   \
          CSE_SETTING_INTEGER,                                                                     \
          "1",                                                                                     \
          0,                                                                                       \
          2,                                                                                       \
          NULL,                                                                                    \
          "POL of the model: 0 sums in float32, 1 and 2 round between tiles of long sums",         \
          NULL },                                                                                  \
        { "tiling_accum",                                                                          \
          CSE_SETTING_CHOICE,                                                                      \
          "null",                                                                                  \
          0,                                                                                       \
          0,                                                                                       \
          "fp32|bf16|bf16sr",                                                                      \
          "sums between the tiles of a product; null: as the precision_opt_level says",            \
          NULL },                                                                                  \
        { "tile_length",                                                                           \
          CSE_SETTING_INTEGER,                                                                     \
          "64",                                                                                    \
          1,                                                                                       \
          1 << 20,                                                                                 \
          NULL,                                                                                    \
          "terms of a long sum that are added in float32 before it is rounded",                    \
          NULL },                                                                                  \
        { "emulate_accumulation",                                                                  \
          CSE_SETTING_BOOL,                                                                        \
          "false",                                                                                 \
          0,                                                                                       \
          0,                                                                                       \
          NULL,                                                                                    \
          "true: sums are rounded between tiles as POL and tiling_accum say, bit for bit; false: " \
          "that is a permission, and sums are float32",                                            \
          NULL },                                                                                  \
        { "graphamp",                                                                              \
          CSE_SETTING_SETTINGS,                                                                    \
          "{}",                                                                                    \
          0,                                                                                       \
          0,                                                                                       \
          NULL,                                                                                    \
          "which ops run in fp16_type",                                                            \
          cse_graphamp_setting_table },                                                            \
        { "disable_graphamp",                                                                      \
          CSE_SETTING_TEXT_LIST,                                                                   \
          "[]",                                                                                    \
          0,                                                                                       \
          0,                                                                                       \
          NULL,                                                                                    \
          "patterns of scopes that keep the types they are written with, as in model.head*",       \
          NULL },                                                                                  \
    {                                                                                              \
        "pol", CSE_SETTING_ANY, "[]", 0, 0, NULL,                                                  \
            "levels of parts of the model: [{scope: PATTERN, level: 0, bwd_level: 1}]; the last "  \
            "match wins",                                                                          \
            NULL                                                                                   \
    }

#endif
