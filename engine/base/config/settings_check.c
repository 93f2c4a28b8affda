/* Checking a tree against a table of settings.
 *
 * The node that was given, or one made from the table's default, is turned into a cse_setting_value
 * by the reader of its type, so that defaults follow the same rules as a user's values. Numbers are
 * read in the C locale whatever the process has set. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/config/reference_names.h"
#include "engine/base/config/settings.h"
#include "engine/base/name.h"
#include "engine/base/path.h"
#include "engine/base/registry.h"

/* State of one call of cse_settings_check. */
typedef struct check {
    cse_arena *arena;
    const char *subject;
    const char *prefix;
    cse_diagnostics *diagnostics;
    const cse_setting *root;
} check;

static void describe_bounds(const cse_setting *setting, cse_text *text)
{
    if (setting->min == 0 && setting->max == 0)
        return;
    if (setting->max >= 1e300)
        cse_text_add(text, " of at least %.17g", setting->min);
    else if (setting->min <= -1e300)
        cse_text_add(text, " of at most %.17g", setting->max);
    else
        cse_text_add(text, " from %.17g to %.17g", setting->min, setting->max);
}

/* Accepted as null itself, not as a word. */
static const char null_word[] = "null";

static bool has_null_default(const cse_setting *setting)
{
    return setting->default_value != NULL && strcmp(setting->default_value, null_word) == 0;
}

static bool has_null_choice(const cse_setting *setting)
{
    const char *last = setting->type == CSE_SETTING_CHOICE && setting->choices != NULL
                           ? strrchr(setting->choices, '|')
                           : NULL;
    return last != NULL && strcmp(last + 1, null_word) == 0;
}

static void describe_choices(const cse_setting *setting, cse_text *text)
{
    cse_text_add(text, strchr(setting->choices, '|') != NULL ? "one of " : "");
    for (const char *c = setting->choices; *c != '\0'; c++)
        cse_text_add(text, *c == '|' ? ", " : "%c", *c);
}

void cse_setting_describe(const cse_setting *setting, cse_text *text)
{
    static const char *const words[] = {
        [CSE_SETTING_BOOL] = "true or false",
        [CSE_SETTING_INTEGER] = "an integer",
        [CSE_SETTING_NUMBER] = "a number",
        [CSE_SETTING_TEXT] = "text",
        [CSE_SETTING_PATH] = "a path",
        [CSE_SETTING_CHOICE] = "",
        [CSE_SETTING_INTEGER_LIST] = "a list of integers",
        [CSE_SETTING_NUMBER_LIST] = "a list of numbers",
        [CSE_SETTING_TEXT_LIST] = "a list of text",
        [CSE_SETTING_SETTINGS] = "a mapping of settings",
        [CSE_SETTING_ANY] = "settings of the plugin it names",
        [CSE_SETTING_ALIAS] = "another name of ",
        [CSE_SETTING_PATHS] = "a path or a list of paths",
        [CSE_SETTING_NAME] = CSE_NAME_ACCEPTED,
    };
    const size_t start = text->size;
    cse_text_add(text, "%s", words[setting->type]);
    if (setting->type == CSE_SETTING_CHOICE)
        describe_choices(setting, text);
    if (setting->type == CSE_SETTING_ALIAS) {
        cse_text_add(text, "%s", setting->choices);
        return;
    }
    if (setting->type == CSE_SETTING_ANY && setting->choices != NULL) {
        text->size = start;
        cse_text_add(text, "%s alone", setting->choices);
        return;
    }
    bool list =
        setting->type == CSE_SETTING_INTEGER_LIST || setting->type == CSE_SETTING_NUMBER_LIST;
    if (list && (setting->min != 0 || setting->max != 0))
        cse_text_add(text, ", each");
    if (list || setting->type == CSE_SETTING_INTEGER || setting->type == CSE_SETTING_NUMBER)
        describe_bounds(setting, text);
    if (has_null_default(setting))
        cse_text_add(text, ", or null");
}

/* Fails with `what` at `place`; `error` has what is accepted, and may have a hint. */
static cse_status fail(const check *c, cse_error error, cse_place place, const char *what)
{
    error.status = CSE_CONFIG;
    error.context = cse_arena_printf(c->arena, "%s: ", c->subject);
    error.place = place;
    return cse_fail_at(&error, "%s", what);
}

/* "subject: place: prefix.name: <problem>; <hint>; accepted: <description> (<doc>)". */
static cse_status reject_with_hint(const check *c, const cse_setting *setting,
                                   const cse_yaml_node *node, const char *problem, const char *hint)
{
    cse_text accepted = { 0 };
    cse_text_add(&accepted, "accepted: ");
    cse_setting_describe(setting, &accepted);
    cse_text_add(&accepted, " (%s)", setting->doc);
    char said[61] = "";
    if (node->kind == CSE_YAML_SCALAR)
        cse_text_one_line(node->text, said, sizeof said);
    const char *what =
        node->kind == CSE_YAML_SCALAR
            ? cse_arena_printf(c->arena, "%s%s: \"%s\" %s", c->prefix, setting->name, said, problem)
            : cse_arena_printf(c->arena, "%s%s: %s", c->prefix, setting->name, problem);
    cse_status status =
        fail(c, (cse_error){ .accepted = accepted.data, .hint = hint }, node->place, what);
    cse_text_clear(&accepted);
    return status;
}

static cse_status reject(const check *c, const cse_setting *setting, const cse_yaml_node *node,
                         const char *problem)
{
    return reject_with_hint(c, setting, node, problem, NULL);
}

static const char *hint_of(const check *c, const char *near)
{
    return near != NULL ? cse_arena_printf(c->arena, "did you mean \"%s\"?", near) : NULL;
}

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words != NULL && strcmp(text, *words) != 0)
        words++;
    return *words != NULL;
}

/* YAML 1.2 has true and false only; the other words are those of YAML 1.1 and of people. */
static cse_status read_bool(const check *c, const cse_setting *setting, cse_yaml_node *node,
                            cse_setting_value *value)
{
    static const char *const yes[] = { "true", "True", "TRUE", NULL };
    static const char *const no[] = { "false", "False", "FALSE", NULL };
    static const char *const on[] = { "yes", "Yes", "YES", "y", "on", "On", "ON", "1", NULL };
    static const char *const off[] = { "no", "No", "NO", "n", "off", "Off", "OFF", "0", NULL };
    if (node->kind != CSE_YAML_SCALAR)
        return reject(c, setting, node, "a list or mapping, not true or false");
    value->boolean = is_one_of(node->text, yes);
    bool known = value->boolean || is_one_of(node->text, no);
    if (known && !node->quoted)
        return CSE_OK;
    if (known)
        return reject(c, setting, node, "is text; remove the quotes");
    const char *hint = is_one_of(node->text, on)    ? "write true"
                       : is_one_of(node->text, off) ? "write false"
                                                    : NULL;
    return reject_with_hint(c, setting, node, "is neither true nor false", hint);
}

static bool is_within(const cse_setting *setting, double number)
{
    bool bounded = setting->min != 0 || setting->max != 0;
    return !bounded || (number >= setting->min && number <= setting->max);
}

static bool is_integer_text(const char *text)
{
    if (*text == '-' || *text == '+')
        text++;
    if (text[0] == '0' && text[1] == 'x')
        return text[2] != '\0' && strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2);
    return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool cse_setting_number_read(const char *text, double *number)
{
    char *end = NULL;
    pthread_once(&c_locale_once, make_c_locale);
    *number = strtod_l(text, &end, c_locale);
    return end != text && *end == '\0' && strspn(text, "0123456789+-.eE") == strlen(text);
}

/* What was probably meant by a text that is no number: "0,9" is 0.9, "10_000" is 10000. */
static const char *number_hint(const check *c, const char *text)
{
    double number;
    char *meant = cse_arena_string(c->arena, text), *to = meant;
    if (strpbrk(text, ",_ ") == NULL)
        return NULL;
    bool decimal = strchr(text, ',') != NULL && strchr(text, ',') == strrchr(text, ',') &&
                   strchr(text, '.') == NULL;
    for (const char *at = text; *at != '\0'; at++)
        if (*at == ',' && decimal)
            *to++ = '.';
        else if (strchr(",_ ", *at) == NULL)
            *to++ = *at;
    *to = '\0';
    if (!cse_setting_number_read(meant, &number))
        return NULL;
    return cse_arena_printf(c->arena,
                            decimal ? "write %s: the decimal separator is a point, not a comma"
                                    : "write %s: digits are not grouped",
                            meant);
}

static cse_status reject_number(const check *c, const cse_setting *setting,
                                const cse_yaml_node *node, const char *problem)
{
    double number;
    if (node->kind != CSE_YAML_SCALAR)
        return reject(c, setting, node, "a list or mapping, not a number");
    if (node->quoted && cse_setting_number_read(node->text, &number))
        return reject(c, setting, node, "is text; remove the quotes");
    return reject_with_hint(c, setting, node, problem, number_hint(c, node->text));
}

/* "1e4" and "10.0" are numbers, but not written as integers. */
static cse_status reject_integer(const check *c, const cse_setting *setting,
                                 const cse_yaml_node *node)
{
    double number;
    bool whole = node->kind == CSE_YAML_SCALAR && !node->quoted &&
                 cse_setting_number_read(node->text, &number) && fabs(number) < 1e15 &&
                 number == floor(number);
    if (!whole)
        return reject_number(c, setting, node, "is not an integer");
    return reject_with_hint(c, setting, node, "is not an integer",
                            cse_arena_printf(c->arena, "write %.0f", number));
}

static cse_status read_integer(const check *c, const cse_setting *setting, cse_yaml_node *node,
                               cse_setting_value *value)
{
    if (node->kind != CSE_YAML_SCALAR || node->quoted || !is_integer_text(node->text))
        return reject_integer(c, setting, node);
    const char *digits = node->text + (*node->text == '-' || *node->text == '+');
    errno = 0;
    value->integer = strtoll(node->text, NULL, digits[1] == 'x' ? 16 : 10);
    if (errno == ERANGE || !is_within(setting, (double)value->integer))
        return reject(c, setting, node, "is out of range");
    return CSE_OK;
}

static cse_status read_number(const check *c, const cse_setting *setting, cse_yaml_node *node,
                              cse_setting_value *value)
{
    if (node->kind != CSE_YAML_SCALAR || node->quoted ||
        !cse_setting_number_read(node->text, &value->number))
        return reject_number(c, setting, node, "is not a number");
    if (!isfinite(value->number) || !is_within(setting, value->number))
        return reject(c, setting, node, "is out of range");
    return CSE_OK;
}

static cse_status read_text(const check *c, const cse_setting *setting, cse_yaml_node *node,
                            cse_setting_value *value)
{
    if (node->kind != CSE_YAML_SCALAR)
        return reject(c, setting, node, "a list or mapping, not one word");
    value->text = cse_arena_string(c->arena, node->text);
    return CSE_OK;
}

static cse_status read_name(const check *c, const cse_setting *setting, cse_yaml_node *node,
                            cse_setting_value *value)
{
    CSE_TRY(read_text(c, setting, node, value));
    return cse_name_is_good(value->text) ? CSE_OK
                                         : reject(c, setting, node, "is not accepted as a name");
}

static cse_status read_path(const check *c, const cse_setting *setting, cse_yaml_node *node,
                            cse_setting_value *value)
{
    CSE_TRY(read_text(c, setting, node, value));
    const char *problem = cse_path_expand(c->arena, value->text, &value->text);
    return problem == NULL ? CSE_OK : reject_with_hint(c, setting, node, problem, cse_path_hint);
}

/* The words of "a|b|c" as a NULL-terminated array. */
static const char **split_choices(cse_arena *arena, const char *choices)
{
    size_t count = 1;
    for (const char *c = choices; *c != '\0'; c++)
        count += *c == '|';
    const char **words = cse_arena_alloc(arena, (count + 1) * sizeof *words);
    char *rest = cse_arena_string(arena, choices);
    for (size_t i = 0; i < count; i++)
        words[i] = strsep(&rest, "|");
    return words;
}

/* Formats of numbers have a long name and a short one; each setting takes one of the two. */
static const char *other_name(const char *word, const char *const *accepted)
{
    static const char *const pairs[][2] = { { "float32", "fp32" },
                                            { "float16", "fp16" },
                                            { "bfloat16", "bf16" },
                                            { "cbfloat16", "cb16" } };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int k = 0; k < 2; k++)
            if (strcasecmp(word, pairs[i][k]) == 0 && is_one_of(pairs[i][1 - k], accepted))
                return pairs[i][1 - k];
    return NULL;
}

static cse_status read_choice(const check *c, const cse_setting *setting, cse_yaml_node *node,
                              cse_setting_value *value)
{
    CSE_TRY(read_text(c, setting, node, value));
    const char **words = split_choices(c->arena, setting->choices);
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], value->text) == 0 && strcmp(words[i], null_word) != 0)
            return CSE_OK;
    const char *near = other_name(value->text, words);
    return reject_with_hint(c, setting, node, "is not accepted here",
                            hint_of(c, near != NULL ? near : cse_did_you_mean(value->text, words)));
}

typedef cse_status value_reader(const check *, const cse_setting *, cse_yaml_node *,
                                cse_setting_value *);

static cse_status read_list(const check *c, const cse_setting *setting, cse_yaml_node *node,
                            cse_setting_value *value)
{
    value_reader *read_entry = setting->type == CSE_SETTING_INTEGER_LIST  ? read_integer
                               : setting->type == CSE_SETTING_NUMBER_LIST ? read_number
                                                                          : read_text;
    if (node->kind != CSE_YAML_SEQUENCE)
        return reject_with_hint(c, setting, node, "is no list",
                                node->kind == CSE_YAML_SCALAR
                                    ? cse_arena_printf(c->arena, "write [%.60s]", node->text)
                                    : "write [a, b]");
    value->count = node->count;
    value->entries = cse_arena_alloc(c->arena, ((size_t)node->count + 1) * sizeof *value->entries);
    for (int i = 0; i < node->count; i++) {
        if (cse_yaml_is_null(node->children[i]))
            return reject(c, setting, node->children[i], "an entry of the list is empty");
        value->entries[i].node = node->children[i];
        CSE_TRY(read_entry(c, setting, node->children[i], &value->entries[i]));
    }
    return CSE_OK;
}

/* One path is a list of one. */
static cse_status read_paths(const check *c, const cse_setting *setting, cse_yaml_node *node,
                             cse_setting_value *value)
{
    const bool is_list = node->kind == CSE_YAML_SEQUENCE;
    if (node->kind == CSE_YAML_MAPPING || (is_list && node->count == 0))
        return reject(c, setting, node, "is no path and no list of paths");
    value->count = is_list ? node->count : 1;
    value->entries = cse_arena_alloc(c->arena, (size_t)value->count * sizeof *value->entries);
    for (int i = 0; i < value->count; i++) {
        cse_yaml_node *entry = is_list ? node->children[i] : node;
        if (cse_yaml_is_null(entry))
            return reject(c, setting, entry, "an entry of the list is empty");
        value->entries[i].node = entry;
        CSE_TRY(read_path(c, setting, entry, &value->entries[i]));
    }
    return CSE_OK;
}

static cse_status read_nested(const check *c, const cse_setting *setting, cse_yaml_node *node,
                              cse_setting_value *value)
{
    const char *prefix = cse_arena_printf(c->arena, "%s%s.", c->prefix, setting->name);
    cse_settings_expected expected = { setting->nested, c->subject, prefix, c->diagnostics,
                                       c->root };
    return cse_settings_check(c->arena, &expected, node, &value->nested);
}

static value_reader *const readers[] = {
    [CSE_SETTING_BOOL] = read_bool,        [CSE_SETTING_INTEGER] = read_integer,
    [CSE_SETTING_NUMBER] = read_number,    [CSE_SETTING_TEXT] = read_text,
    [CSE_SETTING_CHOICE] = read_choice,    [CSE_SETTING_INTEGER_LIST] = read_list,
    [CSE_SETTING_NUMBER_LIST] = read_list, [CSE_SETTING_TEXT_LIST] = read_list,
    [CSE_SETTING_SETTINGS] = read_nested,  [CSE_SETTING_ANY] = NULL,   /* the tree is the value */
    [CSE_SETTING_PATH] = read_path,        [CSE_SETTING_ALIAS] = NULL, /* see find_given */
    [CSE_SETTING_PATHS] = read_paths,      [CSE_SETTING_NAME] = read_name,
};

static cse_status read_value(const check *c, const cse_setting *setting, cse_yaml_node *node,
                             cse_setting_value *value)
{
    value->node = node;
    if (cse_yaml_is_null(node) && setting->type != CSE_SETTING_SETTINGS) {
        if (!has_null_default(setting) && !has_null_choice(setting))
            return reject(c, setting, node, "is no value");
        value->is_null = true;
        return CSE_OK;
    }
    value_reader *read = readers[setting->type];
    return read != NULL ? read(c, setting, node, value) : CSE_OK;
}

static cse_status read_default(const check *c, const cse_setting *setting,
                               const cse_yaml_node *mapping, cse_setting_value *value)
{
    static const cse_place place = { "default", 0, 0 };
    if (setting->default_value == NULL)
        return fail(c, (cse_error){ .hint = "add it" }, mapping->place,
                    cse_arena_printf(c->arena, "the setting \"%s%s\" is missing (%s)", c->prefix,
                                     setting->name, setting->doc));
    return read_value(c, setting, cse_yaml_literal(c->arena, place, setting->default_value), value);
}

/* "a.b." for the section of `table` (or below it) that has the setting; false where none has. */
static bool find_section(const cse_setting *table, const char *name, cse_text *path)
{
    if (cse_setting_table_has(table, name))
        return true;
    for (; table->name != NULL; table++) {
        size_t size = path->size;
        if (table->type != CSE_SETTING_SETTINGS)
            continue;
        cse_text_add(path, "%s.", table->name);
        if (find_section(table->nested, name, path))
            return true;
        path->size = size;
    }
    return false;
}

/* What was probably meant by a name that the table lacks: a similar name; the place where the name
 * belongs; in {momentum: 0,9} a decimal comma, which ends a value. */
static const char *unknown_hint(const check *c, const cse_yaml_node *mapping, int index,
                                const char *const *names)
{
    const char *name = mapping->keys[index].text;
    const cse_yaml_node *before = index > 0 ? mapping->children[index - 1] : NULL;
    const char *near = cse_did_you_mean(name, names), *known = cse_reference_name_hint(name);
    cse_text path = { 0 };
    const char *hint = known != NULL ? known : hint_of(c, near);
    if (before != NULL && cse_yaml_is_null(mapping->children[index]) && *name != '\0' &&
        strspn(name, "0123456789") == strlen(name) && before->kind == CSE_YAML_SCALAR &&
        is_integer_text(before->text))
        hint = cse_arena_printf(c->arena,
                                "write %s: %s.%s: the decimal separator is a point, not a comma",
                                mapping->keys[index - 1].text, before->text, name);
    else if (hint == NULL && c->root != NULL && find_section(c->root, name, &path))
        hint =
            cse_arena_printf(c->arena, "it belongs to %.*s%s", (int)path.size - (path.size > 0),
                             path.data ? path.data : "",
                             mapping->keys[index].place.line > 0 ? "; check the indentation" : "");
    else if (hint == NULL && strchr(name, ':') != NULL)
        hint = cse_arena_printf(c->arena, "write %.*s: %s, with a space after the colon",
                                (int)strcspn(name, ":"), name, strchr(name, ':') + 1);
    cse_text_clear(&path);
    return hint;
}

/* Not second names, nor settings that have one value alone. */
static bool is_worth_telling(const cse_setting *setting)
{
    return setting->type != CSE_SETTING_ALIAS &&
           (setting->type != CSE_SETTING_ANY || setting->choices == NULL);
}

static cse_status reject_unknown(const check *c, const cse_setting *table,
                                 const cse_yaml_node *mapping, int index)
{
    const cse_yaml_key *key = &mapping->keys[index];
    int count = 0;
    while (table[count].name != NULL)
        count++;
    const char **names = cse_arena_alloc(c->arena, ((size_t)count + 1) * sizeof *names);
    cse_text accepted = { 0 };
    cse_text_add(&accepted, "accepted: %s", count > 0 ? "" : "nothing");
    for (int i = 0, told = 0; i < count; i++) {
        names[i] = table[i].name;
        if (is_worth_telling(&table[i]))
            cse_text_add(&accepted, "%s%s", told++ > 0 ? ", " : "", names[i]);
    }
    const cse_error error = { .hint = unknown_hint(c, mapping, index, names),
                              .accepted = accepted.data };
    cse_status status =
        fail(c, error, key->place,
             cse_arena_printf(c->arena, "unknown setting \"%s%.80s\"", c->prefix, key->text));
    cse_text_clear(&accepted);
    return status;
}

static cse_status reject_kind(const check *c, const cse_yaml_node *node)
{
    return fail(c, (cse_error){ .hint = NULL }, node->place,
                cse_arena_printf(c->arena,
                                 "%.*s%sa mapping of settings belongs here, \"name: value\"",
                                 c->prefix[0] != '\0' ? (int)strlen(c->prefix) - 1 : 0, c->prefix,
                                 c->prefix[0] != '\0' ? ": " : ""));
}

static cse_status check_names(const check *c, const cse_yaml_node *node, cse_settings *checked)
{
    for (int i = 0; i < node->count; i++) {
        if (cse_setting_table_has(checked->table, node->keys[i].text))
            continue;
        checked->faulty = true;
        CSE_TRY(cse_diagnostics_take(c->diagnostics, reject_unknown(c, checked->table, node, i)));
    }
    return CSE_OK;
}

/* Finds the value of `setting` under its own name or under an alias of it, which becomes the name
 * that messages have; two names of one setting in a mapping are an error, since which of them was
 * meant is unknown. */
static cse_status find_given(const check *c, const cse_settings *checked, cse_setting *setting,
                             cse_yaml_node **given)
{
    const char *own = setting->name;
    *given = cse_yaml_find(checked->node, own);
    for (const cse_setting *alias = checked->table; alias->name != NULL; alias++) {
        if (alias->type != CSE_SETTING_ALIAS || strcmp(alias->choices, own) != 0)
            continue;
        cse_yaml_node *other = cse_yaml_find(checked->node, alias->name);
        if (other == NULL)
            continue;
        if (*given != NULL)
            return fail(c, (cse_error){ .hint = "keep one of them" }, other->place,
                        cse_arena_printf(c->arena, "%s%s and %s are names of the same setting",
                                         c->prefix, alias->name, setting->name));
        *given = other;
        setting->name = alias->name;
    }
    return CSE_OK;
}

static cse_status check_value(const check *c, cse_settings *checked, int index)
{
    static const cse_place place = { "default", 0, 0 };
    cse_setting setting = checked->table[index];
    cse_setting_value *value = &checked->values[index];
    cse_yaml_node *given = NULL;
    if (setting.type == CSE_SETTING_ALIAS) {
        value->is_null = true;
        value->node = cse_yaml_scalar_new(c->arena, place, "null");
        return CSE_OK;
    }
    CSE_TRY(find_given(c, checked, &setting, &given));
    value->given = given != NULL;
    return value->given ? read_value(c, &setting, given, value)
                        : read_default(c, &setting, checked->node, value);
}

static cse_status check_values(const check *c, cse_settings *checked)
{
    for (int i = 0; i < checked->count; i++) {
        cse_status status = check_value(c, checked, i);
        checked->faulty = checked->faulty || status != CSE_OK;
        CSE_TRY(cse_diagnostics_take(c->diagnostics, status));
    }
    return CSE_OK;
}

cse_status cse_settings_check(cse_arena *arena, const cse_settings_expected *expected,
                              cse_yaml_node *node, cse_settings **settings)
{
    const cse_setting *table = expected->table;
    const check c = { arena, expected->subject, expected->prefix != NULL ? expected->prefix : "",
                      expected->diagnostics, expected->root };
    bool empty = cse_yaml_is_null(node);
    if (!empty && node->kind != CSE_YAML_MAPPING)
        return cse_diagnostics_take(c.diagnostics, reject_kind(&c, node));
    cse_settings *checked = cse_arena_alloc(arena, sizeof *checked);
    checked->arena = arena;
    checked->table = table;
    checked->node = empty ? cse_yaml_mapping_new(arena, node->place) : node;
    while (table[checked->count].name != NULL)
        checked->count++;
    checked->values =
        cse_arena_alloc(arena, ((size_t)checked->count + 1) * sizeof *checked->values);
    CSE_TRY(check_names(&c, checked->node, checked));
    CSE_TRY(check_values(&c, checked));
    *settings = checked;
    return CSE_OK;
}

cse_status cse_settings_parse(const cse_setting *table, const char *subject, const char *yaml,
                              cse_settings **settings)
{
    *settings = NULL;
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *root = NULL;
    const cse_settings_expected expected = { .table = table, .subject = subject };
    cse_status status = cse_yaml_parse(arena, "", yaml, yaml != NULL ? strlen(yaml) : 0, &root);
    if (status != CSE_OK)
        status = cse_fail_within(status, "%s: ", subject);
    else
        status = cse_settings_check(arena, &expected, root, settings);
    if (status != CSE_OK)
        cse_arena_destroy(&arena);
    return status;
}
