/* Every default of the ModelZoo's settings, against this program's as a configuration has them: the
 * table tests/reference/modelzoo_defaults.tsv says where the two differ, and why. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dataloader/input.h"
#include "engine/base/arena.h"
#include "engine/base/config/config_table.h"
#include "engine/base/config/dataloader_table.h"
#include "engine/base/config/reference_defaults.h"
#include "engine/base/config/settings.h"
#include "engine/base/registry.h"
#include "engine/nn/plugins.h"
#include "run/job/callbacks.h"

enum { KIND, NAMES, KEYS, THEIRS, PLACE, OURS, REASON, FIELDS };

static cse_arena *arena;

static cse_yaml_node *parse(const char *text)
{
    cse_yaml_node *node = NULL;
    ck_assert_msg(cse_yaml_parse(arena, "", text, strlen(text), &node) == CSE_OK, "%s", text);
    return node;
}

static bool is_nothing(const cse_yaml_node *node)
{
    return node->kind == CSE_YAML_SCALAR ? cse_yaml_is_null(node) : node->count == 0;
}

static bool is_same_scalar(const cse_yaml_node *a, const cse_yaml_node *b)
{
    char *a_end, *b_end;
    const double x = strtod(a->text, &a_end), y = strtod(b->text, &b_end);
    const bool numbers = *a->text != '\0' && *b->text != '\0' && *a_end == '\0' && *b_end == '\0';
    return numbers ? x == y : strcasecmp(a->text, b->text) == 0;
}

/* The same value; an empty list or mapping is as good as null. */
static bool is_same(const cse_yaml_node *a, const cse_yaml_node *b)
{
    if (is_nothing(a) || is_nothing(b))
        return is_nothing(a) && is_nothing(b);
    if (a->kind != b->kind || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (!is_same(a->children[i], b->children[i]) ||
            (a->kind == CSE_YAML_MAPPING && strcmp(a->keys[i].text, b->keys[i].text) != 0))
            return false;
    return a->kind != CSE_YAML_SCALAR || is_same_scalar(a, b);
}

static const cse_setting *find_setting(const cse_setting *table, const char *keys)
{
    char *rest = cse_arena_string(arena, keys);
    for (char *key = strsep(&rest, "|"); key != NULL; key = strsep(&rest, "|"))
        for (const cse_setting *row = table; row->name != NULL; row++)
            if (strcmp(row->name, key) == 0)
                return row->type == CSE_SETTING_ALIAS ? find_setting(table, row->choices) : row;
    return NULL;
}

static const cse_setting *table_of(const char *kind, const char *name)
{
#define FIND(plural, list)                              \
    if (strcmp(kind, plural) == 0)                      \
        for (int i = 0; (list)[i] != NULL; i++)         \
            if (strcasecmp((list)[i]->name, name) == 0) \
                return (list)[i]->settings;
    FIND("model", cse_models)
    FIND("input", cse_inputs)
    FIND("optimizer", cse_optimizers)
    FIND("schedule", cse_schedules)
    FIND("callback", cse_callbacks)
#undef FIND
    const cse_setting *trainer = find_setting(cse_config_table, "trainer");
    const cse_setting *init = find_setting(trainer->nested, "init");
    return find_setting(init->nested, name)->nested;
}

/* What a section that names the plugin alone has after the reference's defaults were taken. */
static cse_yaml_node *taken(const char *kind, const char *name, const char *keys)
{
    const bool is_model = strcmp(kind, "model") == 0;
    char *rest = cse_arena_string(arena, keys);
    if (!is_model && strcmp(kind, "input") != 0)
        return NULL;
    const cse_yaml_node *trainer =
        parse(is_model ? cse_arena_printf(arena, "{init: {model: {name: %s}}}", name)
                       : cse_arena_printf(arena, "{fit: {train_dataloader: {data_processor: %s}}}",
                                          name));
    cse_config_take_defaults(arena, trainer);
    const cse_yaml_node *section = trainer->children[0]->children[0];
    for (char *key = strsep(&rest, "|"); key != NULL; key = strsep(&rest, "|"))
        if (cse_yaml_find(section, key) != NULL)
            return cse_yaml_find(section, key);
    return NULL;
}

/* As the table writes it. */
static const cse_yaml_node *our_default(const char *kind, const char *name, const char *keys)
{
    const cse_yaml_node *given = taken(kind, name, keys);
    const cse_setting *setting = find_setting(table_of(kind, name), keys);
    if (given != NULL)
        return given;
    if (setting == NULL && strcmp(kind, "input") == 0)
        setting = find_setting(cse_dataloader_settings, keys);
    if (setting == NULL || setting->default_value == NULL)
        return parse(setting == NULL ? "refused" : "required");
    return cse_yaml_literal(arena, (cse_place){ "default", 0, 0 }, setting->default_value);
}

/* The rate of an optimizer that is given none. */
static void check_rate(const char *name, const char *theirs)
{
    for (int i = 0; cse_optimizers[i] != NULL; i++)
        if (strcasecmp(cse_optimizers[i]->name, name) == 0)
            ck_assert_msg(cse_optimizers[i]->default_learning_rate ==
                              (strcmp(theirs, "required") == 0 ? 0 : strtod(theirs, NULL)),
                          "%s begins with a rate of %g, there %s", name,
                          cse_optimizers[i]->default_learning_rate, theirs);
}

static void check_row(char *const fields[FIELDS])
{
    char *rest = cse_arena_string(arena, fields[NAMES]);
    const bool differs = fields[OURS] != NULL;
    const cse_yaml_node *expected = parse(differs ? fields[OURS] : fields[THEIRS]);
    ck_assert_msg(!differs || (fields[REASON] != NULL && *fields[REASON] != '\0'), "%s: no reason",
                  fields[KEYS]);
    for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
        cse_text printed = { 0 };
        const cse_yaml_node *ours = our_default(fields[KIND], name, fields[KEYS]);
        cse_yaml_print(ours, &printed);
        /* The ModelZoo accepts a setting that is refused here with its default, if at all. */
        ck_assert_msg(is_same(ours, expected) || (!differs && strcmp(fields[THEIRS], "null") == 0 &&
                                                  strcmp(printed.data, "refused") == 0),
                      "%s %s: %s is %s, and %s in %s", fields[KIND], name, fields[KEYS],
                      printed.data, fields[THEIRS], fields[PLACE]);
        cse_text_clear(&printed);
        if (strcmp(fields[KIND], "optimizer") == 0 && strcmp(fields[KEYS], "lr") == 0)
            check_rate(name, fields[THEIRS]);
    }
}

START_TEST(defaults_are_the_modelzoos)
{
    char path[512], line[4096];
    const char *top = getenv("top_srcdir");
    int rows = 0;
    snprintf(path, sizeof path, "%s/tests/reference/modelzoo_defaults.tsv",
             top != NULL ? top : ".");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    arena = cse_arena_new();
    while (fgets(line, sizeof line, file) != NULL) {
        char *fields[FIELDS] = { NULL }, *rest = line;
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#')
            continue;
        for (int f = 0; f < FIELDS && rest != NULL; f++)
            fields[f] = strsep(&rest, "\t");
        ck_assert_ptr_nonnull(fields[PLACE]);
        check_row(fields);
        rows++;
    }
    ck_assert_int_gt(rows, 600);
    fclose(file);
    cse_arena_destroy(&arena);
}
END_TEST

/* What is given stays, and a section with a name of this program's own has its defaults. */
START_TEST(what_is_given_stays)
{
    arena = cse_arena_new();
    cse_yaml_node *trainer =
        parse("{init: {model: {name: gpt3, filter_size: null, attention_dropout_rate: 0.5}}, "
              "fit: {train_dataloader: {data_processor: MNISTDataProcessor, shuffle: false}, "
              "val_dataloader: [{data_processor: SST2DataProcessor}, {data_processor: "
              "ImageNet1KProcessor, split: val}]}}");
    cse_config_take_defaults(arena, trainer);
    cse_text printed = { 0 };
    cse_yaml_print(trainer, &printed);
    ck_assert_str_eq(
        printed.data,
        "{init: {model: {name: gpt3, filter_size: null, attention_dropout_rate: 0.5}}, "
        "fit: {train_dataloader: {data_processor: MNISTDataProcessor, shuffle: false}, "
        "val_dataloader: [{data_processor: SST2DataProcessor, shuffle: true}, "
        "{data_processor: ImageNet1KProcessor, split: val}]}}");
    cse_text_clear(&printed);
    trainer = parse("{init: {model: {name: gpt3, num_layers: 2}}}");
    cse_config_take_defaults(arena, trainer);
    ck_assert_int_eq(cse_yaml_find(cse_yaml_find(trainer, "init"), "model")->count, 2);
    cse_arena_destroy(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reference defaults");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, defaults_are_the_modelzoos);
    tcase_add_test(cases, what_is_given_stays);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
