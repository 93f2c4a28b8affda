/* Checked settings: the functions that extend.h does not offer to plugins.
 *
 * A value points to the node of the tree that it was read from. The node holds its place and
 * whether it was read, however many tables it was checked against. */
#ifndef CSE_CONFIG_SETTINGS_H
#define CSE_CONFIG_SETTINGS_H

#include "csengine/extend.h"
#include "engine/base/config/yaml.h"
#include "engine/base/diagnostics.h"

/* One checked value. */
typedef struct cse_setting_value {
    cse_yaml_node *node; /* as given, or the table's default; for ANY the value itself */
    bool given;          /* false: the default */
    bool is_null;
    bool boolean;
    int64_t integer;
    double number;
    const char *text; /* TEXT, CHOICE */
    int count;
    struct cse_setting_value *entries; /* of the lists */
    struct cse_settings *nested;       /* of SETTINGS */
} cse_setting_value;

struct cse_settings {
    cse_arena *arena;
    const cse_setting *table;
    cse_yaml_node *node; /* the mapping that was checked */
    int count;
    cse_setting_value *values; /* one for each entry of the table */
    bool faulty;               /* a name or value of this level is wrong: read nothing of it */
};

/* What the descriptor of a plugin with settings begins with. */
typedef struct cse_configured_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
} cse_configured_descriptor;

/* What a tree is checked against. */
typedef struct cse_settings_expected {
    const cse_setting *table;
    const char *subject;          /* begins the messages: "optimizer SGD" */
    const char *prefix;           /* stands before names in messages: "trainer.init."; or NULL */
    cse_diagnostics *diagnostics; /* collects every error; NULL: the check ends at the first */
    const cse_setting *root;      /* where a misplaced setting may belong; or NULL */
} cse_settings_expected;

/* As cse_settings_parse, from a tree. The result lives in `arena`, as must `node`, and is not to be
 * destroyed. With a collector it succeeds in spite of errors: levels that have one are marked
 * `faulty`, and a level that is no mapping is NULL. */
cse_status cse_settings_check(cse_arena *arena, const cse_settings_expected *expected,
                              cse_yaml_node *node, cse_settings **settings);

/* Whether the table has a setting of that name, and whether its value was given. */
bool cse_setting_table_has(const cse_setting *table, const char *name);
bool cse_settings_given(const cse_settings *settings, const char *name);
/* The settings at "init.loop" below `settings`; NULL where a level of the path has an error. */
const cse_settings *cse_settings_section(const cse_settings *settings, const char *path);
/* Place of the value ({"default", 0, 0} for a default), or of an entry of a list. */
cse_place cse_settings_place(const cse_settings *settings, const char *name);
cse_place cse_settings_place_at(const cse_settings *settings, const char *name, int index);
/* The tree that a value was read from, to be checked against another table; never NULL. */
cse_yaml_node *cse_settings_node(const cse_settings *settings, const char *name);
/* Marks all values as read: another process reads them. */
void cse_settings_leave(const cse_settings *settings);

/* For cse_fail_at: an error at a place; `where` ("optimizer SGD: ") begins the message. */
#define CSE_ERROR_AT(where, place_) \
    (&(cse_error){ .status = CSE_CONFIG, .context = (where), .place = (place_) })

/* Whether a text is a number of YAML 1.2: digits with a point, an exponent; neither hexadecimal nor
 * inf nor nan. Read in the C locale. */
bool cse_setting_number_read(const char *text, double *number);

/* Writes what a setting accepts: "an integer from 1 to 64", "one of fp32, bf16". */
void cse_setting_describe(const cse_setting *setting, cse_text *text);

/* The checked values, defaults included, as a new tree in table order. */
cse_yaml_node *cse_settings_tree(cse_arena *arena, const cse_settings *settings);
/* Of a whole configuration: the settings that can change a bit of a step, appended as two lines of
 * YAML, of the training and of its data; the chain of identity has their digest. */
void cse_settings_effective(const cse_settings *settings, cse_text *text);
/* Whether a setting, by its path ("trainer.init.optimizer.SGD.lr"), can change a bit of a step. */
bool cse_setting_changes_bits(const char *path);

/* Appends {"path": "place", ...} for every value, those of plugins' sections included. */
void cse_settings_origins(const cse_settings *settings, cse_text *out);

#endif
