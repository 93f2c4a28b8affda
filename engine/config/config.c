/* Loading: file -> tree -> overrides -> checked settings -> member sections.
 *
 * Overrides change the tree before it is checked, so that a value from the command line is held to
 * the same rules, and is reported by the same messages, as one of the file. */
#include "engine/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/config/precision_settings.h"
#include "engine/config/settings.h"

static const char subject[] = "configuration";

enum { SECTION_COUNT = 6 };
static const char *const section_names[SECTION_COUNT] = {
    "model", "optimizer", "schedulers", "loggers", "train_dataloader", "val_dataloader"
};

typedef struct member_list {
    cse_config_member *members;
    int count;
} member_list;

struct cse_config {
    cse_arena *arena;
    const char *source;
    cse_yaml_node *root;
    cse_settings *settings;
    member_list sections[SECTION_COUNT];
    const char *precision, *numerics;
    cse_diagnostics *diagnostics; /* while it is checked; NULL: the first fault ends the check */
};

static cse_status fail_at(const cse_config *config, cse_yaml_place place, const char *what)
{
    return cse_fail(CSE_CONFIG, "%s: %s: %s", subject, cse_yaml_place_text(config->arena, place),
                    what);
}

/* --- Overrides --- */

static bool table_has(const cse_setting *table, const char *name)
{
    for (; table->name != NULL; table++)
        if (strcmp(table->name, name) == 0)
            return true;
    return false;
}

static const cse_setting *nested_of(const cse_setting *table, const char *name)
{
    while (strcmp(table->name, name) != 0)
        table++;
    return table->nested;
}

/* The path with "trainer.init." or "trainer.fit." where it was left out. */
static char *full_path(cse_arena *arena, const char *path)
{
    const cse_setting *trainer = nested_of(cse_config_table, "trainer");
    char *first = cse_arena_string(arena, path);
    first[strcspn(first, ".")] = '\0';
    if (table_has(trainer, first))
        return cse_arena_printf(arena, "trainer.%s", path);
    if (table_has(nested_of(trainer, "init"), first))
        return cse_arena_printf(arena, "trainer.init.%s", path);
    if (table_has(nested_of(trainer, "fit"), first))
        return cse_arena_printf(arena, "trainer.fit.%s", path);
    return cse_arena_string(arena, path);
}

static cse_status parse_override(cse_config *config, const cse_config_override *override,
                                 cse_yaml_node **value)
{
    if (override->literal) {
        *value = cse_arena_alloc(config->arena, sizeof **value);
        (*value)->text = cse_arena_string(config->arena, override->value);
        (*value)->place.source = cse_arena_string(config->arena, override->origin);
        return CSE_OK;
    }
    cse_status status = cse_yaml_parse(config->arena, override->origin, override->value,
                                       strlen(override->value), value);
    if (status != CSE_OK)
        return cse_fail_within(status, "%s: ", subject);
    if ((*value)->kind == CSE_YAML_SCALAR)
        (*value)->place.line = 0;
    return CSE_OK;
}

/* The slot of an entry of a list. */
static cse_status find_entry(const cse_config *config, const cse_yaml_node *list, const char *index,
                             cse_yaml_place place, cse_yaml_node ***slot)
{
    char *end = NULL;
    long i = strtol(index, &end, 10);
    if (*index == '\0' || *end != '\0' || i < 0 || i >= list->count)
        return fail_at(config, place,
                       cse_arena_printf(config->arena,
                                        "\"%s\" is no entry of that list; accepted: 0 to %d", index,
                                        list->count - 1));
    *slot = &list->children[i];
    return CSE_OK;
}

/* The slot that one step of a path names; made where a mapping lacks it. */
static cse_status step_into(cse_config *config, cse_yaml_node *parent, const char *name,
                            cse_yaml_place place, cse_yaml_node ***slot)
{
    if (parent->kind == CSE_YAML_SEQUENCE)
        return find_entry(config, parent, name, place, slot);
    cse_yaml_node *child = cse_yaml_find(parent, name);
    if (child == NULL)
        cse_yaml_put(config->arena, parent, (cse_yaml_key){ name, place },
                     cse_yaml_mapping_new(config->arena, place));
    for (int i = 0; i < parent->count; i++)
        if (strcmp(parent->keys[i].text, name) == 0)
            *slot = &parent->children[i];
    return CSE_OK;
}

static cse_status apply_override(cse_config *config, const cse_config_override *override)
{
    cse_yaml_node *value = NULL;
    CSE_TRY(parse_override(config, override, &value));
    cse_yaml_place place = { .source = cse_arena_string(config->arena, override->origin) };
    cse_yaml_node **slot = &config->root;
    char *rest = full_path(config->arena, override->path);
    for (char *name = strsep(&rest, "."); name != NULL; name = strsep(&rest, ".")) {
        if (*name == '\0')
            return fail_at(config, place, "a name is empty; write a.b.c=value");
        if (cse_yaml_is_null(*slot))
            *slot = cse_yaml_mapping_new(config->arena, place);
        if ((*slot)->kind == CSE_YAML_SCALAR)
            return fail_at(config, place,
                           cse_arena_printf(config->arena,
                                            "\"%s\" cannot be set inside of a single value", name));
        CSE_TRY(step_into(config, *slot, name, place, &slot));
    }
    *slot = value;
    return CSE_OK;
}

/* --- Member sections --- */

static const char *printed(cse_arena *arena, const cse_yaml_node *node, bool origins)
{
    cse_text text = { 0 };
    if (origins)
        cse_yaml_print_with_origins(node, &text);
    else
        cse_yaml_print(node, &text);
    const char *copy = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return copy;
}

static void set_member(cse_config *config, cse_config_member *member, cse_yaml_place place,
                       const cse_yaml_node *settings)
{
    member->origin = cse_yaml_place_text(config->arena, place);
    member->yaml = printed(config->arena, settings, true);
    member->canonical = printed(config->arena, settings, false);
}

/* A word of a member's section: its name, its library. NULL when it is not there. */
static cse_status find_word(const cse_config *config, const cse_yaml_node *section, const char *key,
                            const char *what, const char **word)
{
    const cse_yaml_node *node = cse_yaml_find(section, key);
    *word = NULL;
    if (node == NULL)
        return CSE_OK;
    if (node->kind != CSE_YAML_SCALAR || node->text[0] == '\0')
        return fail_at(config, node->place,
                       cse_arena_printf(config->arena, "%s: %s belongs here", key, what));
    *word = node->text;
    return CSE_OK;
}

/* {name: fc_mnist, library: x.so, ...} and {data_processor: idx_images, ...}. */
static cse_status read_named(cse_config *config, const cse_yaml_node *section, const char *key,
                             cse_config_member *member)
{
    bool model = strcmp(key, "name") == 0;
    const char *list = model ? "models" : "inputs";
    if (section->kind != CSE_YAML_MAPPING || cse_yaml_find(section, key) == NULL)
        return fail_at(config, section->place,
                       cse_arena_printf(config->arena,
                                        "{%s: NAME, ...} belongs here; see `csengine list %s`", key,
                                        list));
    CSE_TRY(find_word(config, section, key, "a name", &member->name));
    if (!model) {
        set_member(config, member, cse_yaml_find(section, key)->place, section);
        return CSE_OK;
    }
    CSE_TRY(find_word(config, section, "library", "the path of a shared object", &member->library));
    cse_yaml_node *own = cse_yaml_mapping_new(config->arena, section->place);
    for (int i = 0; i < section->count; i++)
        if (strcmp(section->keys[i].text, "name") != 0 &&
            strcmp(section->keys[i].text, "library") != 0)
            cse_yaml_put(config->arena, own, section->keys[i], section->children[i]);
    set_member(config, member, cse_yaml_find(section, key)->place, own);
    return CSE_OK;
}

/* {SGD: {lr: 0.1}}, or the name alone. */
static cse_status read_keyed(cse_config *config, const char *section_name,
                             const cse_yaml_node *section, cse_config_member *member)
{
    if (section->kind == CSE_YAML_SCALAR && section->text[0] != '\0') {
        member->name = section->text;
        set_member(config, member, section->place,
                   cse_yaml_mapping_new(config->arena, section->place));
        return CSE_OK;
    }
    if (section->kind != CSE_YAML_MAPPING || section->count != 1)
        return fail_at(config, section->place,
                       cse_arena_printf(config->arena,
                                        "%s: one {NAME: {settings}} belongs here; names: "
                                        "`csengine list %s`",
                                        section_name,
                                        strcmp(section_name, "optimizer") == 0    ? "optimizers"
                                        : strcmp(section_name, "schedulers") == 0 ? "schedules"
                                                                                  : section_name));
    member->name = section->keys[0].text;
    set_member(config, member, section->keys[0].place, section->children[0]);
    return CSE_OK;
}

static cse_status read_section(cse_config *config, const char *name, const cse_yaml_node *section,
                               member_list *list)
{
    bool may_be_list = strcmp(name, "schedulers") == 0 || strcmp(name, "loggers") == 0;
    bool is_list = may_be_list && section->kind == CSE_YAML_SEQUENCE;
    int count = is_list ? section->count : 1;
    list->members = cse_arena_alloc(config->arena, ((size_t)count + 1) * sizeof *list->members);
    for (int i = 0; i < count; i++) {
        const cse_yaml_node *node = is_list ? section->children[i] : section;
        cse_config_member *member = &list->members[i];
        cse_status status;
        if (strcmp(name, "model") == 0)
            status = read_named(config, node, "name", member);
        else if (strstr(name, "dataloader") != NULL)
            status = read_named(config, node, "data_processor", member);
        else
            status = read_keyed(config, name, node, member);
        if (status != CSE_OK)
            member->name = NULL;
        CSE_TRY(cse_diagnostics_take(config->diagnostics, status));
    }
    list->count = count;
    return CSE_OK;
}

static cse_status read_sections(cse_config *config)
{
    const cse_yaml_node *trainer = cse_yaml_find(config->root, "trainer");
    for (int i = 0; i < SECTION_COUNT; i++) {
        const char *parent = strstr(section_names[i], "dataloader") != NULL ? "fit" : "init";
        const cse_yaml_node *node = cse_yaml_find(cse_yaml_find(trainer, parent), section_names[i]);
        if (node != NULL && !cse_yaml_is_null(node))
            CSE_TRY(read_section(config, section_names[i], node, &config->sections[i]));
    }
    return CSE_OK;
}

/* The rows of the section `precision` that the session reads by itself. */
static void read_precision(cse_config *config)
{
    const cse_yaml_node *init = cse_yaml_find(cse_yaml_find(config->root, "trainer"), "init");
    const cse_yaml_node *section = cse_yaml_find(init, "precision");
    if (section == NULL || section->kind != CSE_YAML_MAPPING)
        return;
    cse_yaml_node *own = cse_yaml_mapping_new(config->arena, section->place);
    for (int i = 0; i < section->count; i++)
        if (table_has(cse_precision_setting_table, section->keys[i].text))
            cse_yaml_put(config->arena, own, section->keys[i], section->children[i]);
    if (own->count > 0)
        config->precision = printed(config->arena, own, true);
}

static void read_numerics(cse_config *config)
{
    const cse_yaml_node *init = cse_yaml_find(cse_yaml_find(config->root, "trainer"), "init");
    const cse_yaml_node *section = cse_yaml_find(init, "numerics");
    if (section != NULL && section->kind == CSE_YAML_MAPPING && section->count > 0)
        config->numerics = printed(config->arena, section, true);
}

/* --- Checks that concern several settings --- */

static cse_status reject_pair(const cse_settings *settings, const char *section, const char *a,
                              const char *b)
{
    if (!cse_settings_has(settings, a) || !cse_settings_has(settings, b))
        return CSE_OK;
    return cse_fail(CSE_CONFIG, "%s: %s: %s.%s and %s.%s (at %s) exclude each other; keep one",
                    subject, cse_settings_origin(settings, b), section, b, section, a,
                    cse_settings_origin(settings, a));
}

static cse_status require_positive(const cse_settings *settings, const char *name)
{
    if (!cse_settings_has(settings, name) || cse_settings_number(settings, name) > 0)
        return CSE_OK;
    return cse_fail(CSE_CONFIG, "%s: %s: precision.%s is 0; accepted: a number above 0, or null",
                    subject, cse_settings_origin(settings, name), name);
}

static cse_status check_loss_scaling(const cse_settings *precision)
{
    const char *factor = cse_settings_text(precision, "loss_scaling_factor");
    char *end = NULL;
    double number = strtod(factor, &end);
    if (strcmp(factor, "dynamic") == 0 ||
        (*factor != '\0' && *end == '\0' && number > 0 && number < UINT64_MAX))
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "%s: %s: precision.loss_scaling_factor: \"%s\" is not accepted; accepted: a "
                    "number above 0, or dynamic",
                    subject, cse_settings_origin(precision, "loss_scaling_factor"), factor);
}

/* As in the reference. cbfloat16 reaches down to 2^-39 only, and gradients of a mean loss lie far
 * below; no fixed scale fits a whole run. */
static cse_status check_cbfloat16(const cse_settings *precision)
{
    const char *type = cse_settings_text(precision, "fp16_type");
    bool off = cse_settings_has(precision, "enabled") && !cse_settings_bool(precision, "enabled");
    if (off || type == NULL || strcmp(type, "cbfloat16") != 0 ||
        strcmp(cse_settings_text(precision, "loss_scaling_factor"), "dynamic") == 0)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "%s: %s: precision.fp16_type: cbfloat16 needs loss_scaling_factor: dynamic; "
                    "its least value is 2^-39, and gradients that no scale keeps above it are lost",
                    subject, cse_settings_origin(precision, "fp16_type"));
}

/* One side of a label: letters, digits and inner -_., at most 63 characters. */
static bool is_label_word(const char *word, size_t length)
{
    static const char alphanumeric[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (length == 0 || length > 63 || strchr(alphanumeric, word[0]) == NULL ||
        strchr(alphanumeric, word[length - 1]) == NULL)
        return false;
    for (size_t i = 0; i < length; i++)
        if (strchr(alphanumeric, word[i]) == NULL && strchr("-_.", word[i]) == NULL)
            return false;
    return true;
}

static cse_status check_labels(const cse_settings *cluster, cse_diagnostics *diagnostics)
{
    for (int i = 0; i < cse_settings_count(cluster, "job_labels"); i++) {
        const char *label = cse_settings_text_at(cluster, "job_labels", i);
        size_t key = strcspn(label, "=");
        if (label[key] == '=' && is_label_word(label, key) &&
            is_label_word(label + key + 1, strlen(label + key + 1)))
            continue;
        CSE_TRY(cse_diagnostics_take(
            diagnostics,
            cse_fail(CSE_CONFIG,
                     "%s: %s: cluster_config.job_labels: \"%.140s\" is no label; accepted: "
                     "key=value, each of 1 to 63 letters, digits and inner -_.",
                     subject, cse_settings_origin(cluster, "job_labels"), label)));
    }
    return CSE_OK;
}

static cse_status check_loop(const cse_settings *loop)
{
    CSE_TRY(reject_pair(loop, "loop", "num_epochs", "num_steps"));
    if (cse_settings_has(loop, "steps_per_epoch") && !cse_settings_has(loop, "num_epochs"))
        return cse_fail(CSE_CONFIG,
                        "%s: %s: loop.steps_per_epoch says nothing without loop.num_epochs; add "
                        "num_epochs or use num_steps",
                        subject, cse_settings_origin(loop, "steps_per_epoch"));
    return CSE_OK;
}

static cse_status check_backend(const cse_settings *backend)
{
    if (cse_settings_bool(backend, "compile_only") && cse_settings_bool(backend, "validate_only"))
        return cse_fail(CSE_CONFIG,
                        "%s: %s: backend.validate_only and backend.compile_only exclude each "
                        "other; keep one",
                        subject, cse_settings_origin(backend, "validate_only"));
    return CSE_OK;
}

static cse_status check_precision(const cse_settings *precision, cse_diagnostics *diagnostics)
{
    static const char *const positive[] = { "max_gradient_norm", "max_gradient_value",
                                            "initial_loss_scale" };
    CSE_TRY(
        cse_diagnostics_take(diagnostics, reject_pair(precision, "precision", "max_gradient_norm",
                                                      "max_gradient_value")));
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
        CSE_TRY(cse_diagnostics_take(diagnostics, require_positive(precision, positive[i])));
    cse_status status = check_loss_scaling(precision);
    if (status == CSE_OK)
        status = check_cbfloat16(precision);
    return cse_diagnostics_take(diagnostics, status);
}

/* A section none of whose own settings is at fault, or NULL: what settings are to each other can
 * be said of values only. */
static const cse_settings *sound_section(const cse_config *config, const char *path)
{
    const cse_settings *settings = config->settings;
    char *copy = cse_strdup(path), *rest = copy;
    for (char *name = strsep(&rest, "."); name != NULL && settings != NULL;
         name = strsep(&rest, "."))
        settings = cse_settings_nested(settings, name);
    free(copy);
    return settings == NULL || settings->faulty ? NULL : settings;
}

static cse_status check_together(const cse_config *config)
{
    const cse_settings *loop = sound_section(config, "trainer.init.loop");
    const cse_settings *precision = sound_section(config, "trainer.init.precision");
    const cse_settings *cluster = sound_section(config, "trainer.init.backend.cluster_config");
    const cse_settings *backend = sound_section(config, "trainer.init.backend");
    if (loop != NULL)
        CSE_TRY(cse_diagnostics_take(config->diagnostics, check_loop(loop)));
    if (precision != NULL)
        CSE_TRY(check_precision(precision, config->diagnostics));
    if (cluster != NULL)
        CSE_TRY(check_labels(cluster, config->diagnostics));
    return backend != NULL ? cse_diagnostics_take(config->diagnostics, check_backend(backend))
                           : CSE_OK;
}

/* --- Loading --- */

static cse_status finish(cse_config *config, const cse_config_text *text)
{
    for (int i = 0; i < text->override_count; i++)
        CSE_TRY(
            cse_diagnostics_take(config->diagnostics, apply_override(config, &text->overrides[i])));
    cse_settings_expected expected = { cse_config_table, subject, "", config->diagnostics };
    CSE_TRY(cse_settings_check(config->arena, &expected, config->root, &config->settings));
    CSE_TRY(check_together(config));
    read_precision(config);
    read_numerics(config);
    return read_sections(config);
}

static cse_status read_text(cse_config *config, const cse_config_text *text)
{
    cse_status status = text->yaml == NULL
                            ? cse_yaml_parse_file(config->arena, text->source, &config->root)
                            : cse_yaml_parse(config->arena, text->source, text->yaml,
                                             strlen(text->yaml), &config->root);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", subject);
}

/* `members`: what they are called and set to is checked as well. */
static cse_status make(const cse_config_text *text, bool members, cse_diagnostics *diagnostics,
                       cse_config **config)
{
    *config = NULL;
    cse_arena *arena = cse_arena_new();
    cse_config *made = cse_arena_alloc(arena, sizeof *made);
    made->arena = arena;
    made->source = cse_arena_string(arena, text->source);
    made->diagnostics = diagnostics;
    cse_status status = read_text(made, text);
    if (status != CSE_OK)
        cse_diagnostics_take(diagnostics, status);
    else
        status = finish(made, text);
    if (status == CSE_OK && members)
        status = cse_config_check_members(made, diagnostics);
    made->diagnostics = NULL;
    /* Whatever ended a check that took diagnostics over, the first of them is what it says. */
    if (status == CSE_OK || status == CSE_CONFIG) {
        cse_status first = cse_diagnostics_end(diagnostics);
        status = first != CSE_OK ? first : status;
    }
    if (status != CSE_OK)
        cse_config_destroy(&made);
    *config = made;
    return status;
}

cse_status cse_config_load(const char *path, const cse_config_override *overrides,
                           int override_count, cse_config **config)
{
    const cse_config_text text = { path, NULL, overrides, override_count };
    return make(&text, false, NULL, config);
}

cse_status cse_config_parse(const char *source, const char *yaml,
                            const cse_config_override *overrides, int override_count,
                            cse_config **config)
{
    const cse_config_text text = { source, yaml, overrides, override_count };
    return make(&text, false, NULL, config);
}

cse_status cse_config_check(const cse_config_text *text, cse_diagnostics *diagnostics,
                            cse_config **config)
{
    return make(text, true, diagnostics, config);
}

void cse_config_destroy(cse_config **config)
{
    if (*config == NULL)
        return;
    cse_arena *arena = (*config)->arena;
    cse_arena_destroy(&arena);
    *config = NULL;
}

/* --- Reading --- */

const cse_settings *cse_config_section_view(const cse_config *config, const char *section)
{
    const cse_settings *settings = cse_settings_nested(config->settings, "trainer");
    char *copy = cse_strdup(section);
    char *rest = copy;
    for (char *name = strsep(&rest, "."); name != NULL; name = strsep(&rest, "."))
        settings = cse_settings_nested(settings, name);
    free(copy);
    return settings;
}

static const member_list *find_section(const cse_config *config, const char *section)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (strcmp(section_names[i], section) == 0)
            return &config->sections[i];
    fprintf(stderr, "csengine: internal error: \"%s\" is no member section\n", section);
    abort();
}

int cse_config_member_count(const cse_config *config, const char *section)
{
    return find_section(config, section)->count;
}

const cse_config_member *cse_config_member_view(const cse_config *config, const char *section,
                                                int index)
{
    const member_list *list = find_section(config, section);
    return index >= 0 && index < list->count ? &list->members[index] : NULL;
}

const char *cse_config_precision_view(const cse_config *config)
{
    return config->precision;
}

const char *cse_config_numerics_view(const cse_config *config)
{
    return config->numerics;
}

cse_config_start cse_config_start_from(const cse_config *config, const char **path)
{
    const cse_settings *fit = cse_config_section_view(config, "fit");
    *path = cse_settings_text(fit, "ckpt_path");
    if (*path != NULL)
        return CSE_START_FROM_PATH;
    bool given = strcmp(cse_settings_origin(fit, "ckpt_path"), "default") != 0;
    const cse_settings *checkpoint = cse_config_section_view(config, "init.checkpoint");
    bool autoload = cse_settings_bool(checkpoint, "autoload_last_checkpoint");
    return given || !autoload ? CSE_START_FRESH : CSE_START_NEWEST;
}

const char *cse_config_canonical(const cse_config *config)
{
    return cse_settings_canonical(config->settings);
}

void cse_config_resolved(const cse_config *config, cse_text *yaml, cse_text *origins)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *root = NULL;
    const char *canonical = cse_config_canonical(config);
    if (cse_yaml_parse(arena, "", canonical, strlen(canonical), &root) == CSE_OK)
        cse_yaml_print_block(root, yaml);
    cse_settings_origins(config->settings, origins);
    cse_arena_destroy(&arena);
}

const char *cse_config_source(const cse_config *config)
{
    return config->source;
}
