/* Settings inside the engine: what extend.h does not show to members. */
#ifndef CSE_CONFIG_SETTINGS_H
#define CSE_CONFIG_SETTINGS_H

#include "csengine/extend.h"
#include "engine/base/diagnostics.h"
#include "engine/config/yaml.h"

/* One checked value. */
typedef struct cse_setting_value {
    const char *origin; /* "file:line:column" or "default" */
    bool is_null;
    bool boolean;
    int64_t integer;
    double number;
    const char *text;      /* TEXT, CHOICE; ANY: YAML with its origins comment */
    const char *canonical; /* of ANY: YAML without the comment */
    int count;
    struct cse_setting_value *entries; /* of the lists */
    struct cse_settings *nested;       /* of SETTINGS */
} cse_setting_value;

struct cse_settings {
    cse_arena *arena;
    const cse_setting *table;
    int count;
    cse_setting_value *values; /* one for each entry of the table */
    const char *canonical;
    bool faulty; /* a name or value of this level was taken over as a fault: read nothing of it */
};

/* What the descriptor of a member with settings begins with. */
typedef struct cse_configured_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
} cse_configured_descriptor;

/* Entries before the one without a name. */
int cse_setting_table_length(const cse_setting *table);

/* What a tree is checked against. */
typedef struct cse_settings_expected {
    const cse_setting *table;
    const char *subject;          /* begins the messages: "optimizer SGD" */
    const char *prefix;           /* stands before names in messages: "trainer.init." */
    cse_diagnostics *diagnostics; /* takes every fault over; NULL: the check ends at the first */
} cse_settings_expected;

/* As cse_settings_parse, from a tree. The result lives in `arena` and is not to be destroyed. With
 * a collector it succeeds in spite of diagnostics: levels that have one are marked, a level that is no
 * mapping is NULL, and there is no canonical line. */
cse_status cse_settings_check(cse_arena *arena, const cse_settings_expected *expected,
                              const cse_yaml_node *node, cse_settings **settings);

/* Writes what a setting accepts: "an integer from 1 to 64", "one of fp32, bf16". */
void cse_setting_describe(const cse_setting *setting, cse_text *text);

/* Canonical line of checked values. */
void cse_settings_print(const cse_settings *settings, cse_text *text);

/* Appends {"path": "place", ...} for every value, those of members' sections included. */
void cse_settings_origins(const cse_settings *settings, cse_text *out);

#endif
