/* How a plugin (a model, an optimizer, an input function, ...), inside the engine or in a shared
 * object of its own, declares its settings and reads them.
 *
 * A plugin's settings are one table: name, type, default, range and a line of documentation. The
 * configuration file, the command line, the help and the C API's inline text are all checked
 * against it, so that none of them can disagree. */
#ifndef CSENGINE_EXTEND_H
#define CSENGINE_EXTEND_H

#include <stdint.h>

#include "csengine/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cse_setting_type {
    CSE_SETTING_BOOL,
    CSE_SETTING_INTEGER,
    CSE_SETTING_NUMBER,
    CSE_SETTING_TEXT,
    CSE_SETTING_CHOICE,       /* one of `choices` */
    CSE_SETTING_INTEGER_LIST, /* [500, 300] */
    CSE_SETTING_NUMBER_LIST,
    CSE_SETTING_TEXT_LIST,
    CSE_SETTING_SETTINGS, /* nested settings, described by `nested` */
    CSE_SETTING_ANY,      /* any value, for another table to check */
    CSE_SETTING_PATH,     /* text: of a file or directory; a leading ~ is the home directory */
    CSE_SETTING_ALIAS,    /* another name of the setting that `choices` names; never read itself */
    CSE_SETTING_PATHS,    /* a path or a list of paths; read as a list */
    CSE_SETTING_NAME,     /* text: letters, digits, '_', '-' and '.'; of a layer, a group, ... */
} cse_setting_type;

typedef struct cse_setting {
    const char *name; /* NULL ends a table */
    cse_setting_type type;
    /* A scalar, {} or a flat list as written in YAML ("0.9", "[0.9, 0.999]"); NULL: required;
     * "null": unset unless given. */
    const char *default_value;
    double min, max;     /* numbers and integers, inclusive; both 0: no bounds */
    const char *choices; /* CHOICE: the accepted words, separated by '|'; null as the last one */
    const char *doc;     /* one line, with the unit */
    const struct cse_setting *nested;
} cse_setting;

/* Checked values of one table. Reading a name that is not in the table, or as another type, is a
 * programming error and ends the process with a message. */
typedef struct cse_settings cse_settings;

/* Checks YAML text (usually one flow mapping, "{lr: 0.1, momentum: 0.9}"; NULL or "" for all
 * defaults) against `table`. `subject` ("optimizer SGD") begins the messages. Unknown names, wrong
 * types and values out of range fail with CSE_CONFIG and line:column, what is accepted, and "did
 * you mean". The caller owns the result and releases it with cse_settings_destroy. */
CSE_API cse_status cse_settings_parse(const cse_setting *table, const char *subject,
                                      const char *yaml, cse_settings **settings);
CSE_API void cse_settings_destroy(cse_settings **settings);

/* False where the value is null. */
CSE_API bool cse_settings_has(const cse_settings *settings, const char *name);
CSE_API bool cse_settings_bool(const cse_settings *settings, const char *name);
CSE_API int64_t cse_settings_integer(const cse_settings *settings, const char *name);
CSE_API double cse_settings_number(const cse_settings *settings, const char *name);
/* Borrowed (TEXT, NAME, PATH, CHOICE; of ANY one line of YAML); NULL where the value is null. */
CSE_API const char *cse_settings_text(const cse_settings *settings, const char *name);
/* Number of entries of a list, and the entries. */
CSE_API int cse_settings_count(const cse_settings *settings, const char *name);
CSE_API int64_t cse_settings_integer_at(const cse_settings *settings, const char *name, int index);
CSE_API double cse_settings_number_at(const cse_settings *settings, const char *name, int index);
CSE_API const char *cse_settings_text_at(const cse_settings *settings, const char *name, int index);
/* Borrowed nested settings. */
CSE_API const cse_settings *cse_settings_nested(const cse_settings *settings, const char *name);
/* "file:line:column" where the value was given, or "default". Borrowed. */
CSE_API const char *cse_settings_origin(const cse_settings *settings, const char *name);
/* Canonical one-line YAML of all values (defaults included), in table order. Borrowed. */
CSE_API const char *cse_settings_canonical(const cse_settings *settings);

#ifdef __cplusplus
}
#endif

#endif
