/* Resolves settings to a cse_precision: required combinations, names of ops, patterns. */
#include <fnmatch.h>
#include <string.h>

#include "engine/base/config/precision_settings.h"
#include "engine/base/config/settings.h"
#include "engine/base/registry.h"
#include "engine/graph/precision/graphamp.h"

static const char subject[] = "precision";
static const char context[] = "precision: ";

/* Whether the settings ask for mixed precision at all. */
static cse_status read_enabled(const cse_settings *settings, bool *enabled)
{
    static const char *const dependent[] = {
        "precision_opt_level", "tiling_accum", "tile_length", "emulate_accumulation", "graphamp",
        "disable_graphamp",    "pol"
    };
    bool has_type = cse_settings_has(settings, "fp16_type");
    *enabled = has_type;
    if (cse_settings_has(settings, "enabled")) {
        *enabled = cse_settings_bool(settings, "enabled");
        if (!*enabled)
            return CSE_OK;
        if (!has_type)
            return cse_fail_at(
                CSE_ERROR_AT(context, cse_settings_place(settings, "enabled")),
                "enabled is true, and fp16_type is not given; accepted: " CSE_CHOICES_TEXT(
                    CSE_LOW_FORMATS));
    }
    for (size_t i = 0; !has_type && i < sizeof dependent / sizeof dependent[0]; i++)
        if (cse_settings_given(settings, dependent[i]))
            return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, dependent[i])),
                               "%s has no effect without fp16_type; add fp16_type "
                               "(" CSE_CHOICES_TEXT(CSE_LOW_FORMATS) "), or enabled: false",
                               dependent[i]);
    return CSE_OK;
}

/* The preset and which results may be stored in 16 bits, as given or by the level. */
static void read_preset(const cse_settings *graphamp, cse_precision *precision)
{
    static const int by_level[CSE_MAX_POL + 1] = { 1, 2, 3 };
    const char *name = cse_settings_text(graphamp, "preset");
    precision->preset = by_level[precision->level];
    precision->low_norms = name == NULL && precision->level == 1;
    for (int i = 0; name != NULL && i < CSE_PRESET_COUNT; i++)
        if (strcmp(cse_preset_name(i), name) == 0)
            precision->preset = i;
    precision->low_norms = precision->low_norms || precision->preset >= 3;
    precision->low_softmax = precision->preset >= 3;
}

static void read_tiling(const cse_settings *settings, cse_precision *precision)
{
    const char *given = cse_settings_text(settings, "tiling_accum");
    precision->tile_length = (int32_t)cse_settings_integer(settings, "tile_length");
    precision->emulated = cse_settings_bool(settings, "emulate_accumulation");
    if (given == NULL)
        return;
    precision->tiling_given = true;
    cse_rounding rounding = { CSE_FLOAT32, false };
    cse_rounding_from_name(given, &rounding);
    if (rounding.format != CSE_FLOAT32)
        precision->tiling = (cse_accumulation){ .across = rounding.format,
                                                .stochastic = rounding.stochastic,
                                                .tile_length = precision->tile_length };
}

/* Reports the last failure again, at the place of the list entry that it concerns. */
static cse_status place_last_error(cse_place place, const char *list)
{
    cse_error error = *cse_error_last();
    error.status = CSE_CONFIG;
    error.context = context;
    error.place = place;
    return cse_fail_at(&error, "%s%s%s%s", list != NULL ? "graphamp." : "",
                       list != NULL ? list : "", list != NULL ? ": " : "", error.message);
}

/* An op by name, with "did you mean". */
static cse_status find_op(const char *name, cse_place place, const cse_op **op)
{
    const void *found = NULL;
    *op = cse_op_find(name);
    if (*op != NULL || cse_registry_get(cse_ops, "op", name, &found) == CSE_OK)
        return CSE_OK;
    return place_last_error(place, NULL);
}

static cse_status read_overrides(const cse_settings *graphamp, const char *list,
                                 cse_precision_class wanted, cse_precision *precision)
{
    for (int i = 0; i < cse_settings_count(graphamp, list); i++) {
        const cse_place place = cse_settings_place_at(graphamp, list, i);
        const cse_op *op = NULL;
        CSE_TRY(find_op(cse_settings_text_at(graphamp, list, i), place, &op));
        for (int k = 0; k < precision->override_count; k++)
            if (precision->overrides[k].op == op)
                return cse_fail_at(
                    CSE_ERROR_AT(context, place),
                    "graphamp.%s: op %s is named already (%s); an op is in one of "
                    "allow, infer, deny, once",
                    list, op->name,
                    cse_precision_class_name(precision->overrides[k].precision_class));
        if (cse_precision_class_possible(op, wanted) != CSE_OK)
            return place_last_error(place, list);
        precision->overrides[precision->override_count++] = (cse_class_override){ op, wanted };
    }
    return CSE_OK;
}

static cse_status read_graphamp(const cse_settings *graphamp, cse_precision *precision)
{
    int count = cse_settings_count(graphamp, "allow") + cse_settings_count(graphamp, "infer") +
                cse_settings_count(graphamp, "deny");
    precision->overrides =
        cse_arena_alloc(precision->arena, ((size_t)count + 1) * sizeof *precision->overrides);
    read_preset(graphamp, precision);
    CSE_TRY(read_overrides(graphamp, "allow", CSE_ALLOW, precision));
    CSE_TRY(read_overrides(graphamp, "infer", CSE_INFER, precision));
    return read_overrides(graphamp, "deny", CSE_DENY, precision);
}

/* ---- patterns ---- */

static void add_pattern(cse_precision *precision, const char *pattern, cse_place place,
                        cse_precision_request request)
{
    place.source = cse_arena_string(precision->arena, place.source);
    precision->patterns[precision->pattern_count++] = (cse_scope_pattern){
        .pattern = cse_arena_string(precision->arena, pattern), .place = place, .request = request
    };
}

static uint8_t level_plus_one(const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name) ? (uint8_t)(cse_settings_integer(settings, name) + 1)
                                            : 0;
}

static cse_status read_pol_entry(cse_precision *precision, cse_yaml_node *node)
{
    cse_settings *entry = NULL;
    const cse_settings_expected expected = { .table = cse_pol_setting_table,
                                             .subject = subject,
                                             .prefix = "pol." };
    CSE_TRY(cse_settings_check(precision->arena, &expected, node, &entry));
    uint8_t forward = level_plus_one(entry, "level"), backward = level_plus_one(entry, "bwd_level");
    if (backward == 0)
        backward = forward;
    if (!cse_settings_bool(entry, "enable_fwd"))
        forward = 0;
    if (!cse_settings_bool(entry, "enable_bwd"))
        backward = 0;
    if (forward == 0 && backward == 0)
        return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(entry, "scope")),
                           "pol: the entry sets no level; give level or bwd_level (0, 1, "
                           "2), and leave one of enable_fwd and enable_bwd true");
    add_pattern(precision, cse_settings_text(entry, "scope"), cse_settings_place(entry, "scope"),
                (cse_precision_request){ .pol_forward = forward, .pol_backward = backward });
    return CSE_OK;
}

static cse_status read_patterns(const cse_settings *settings, cse_precision *precision)
{
    const int off_count = cse_settings_count(settings, "disable_graphamp");
    cse_yaml_node *pol = cse_settings_node(settings, "pol");
    if (pol->kind != CSE_YAML_SEQUENCE)
        return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, "pol")),
                           "pol: a list belongs here: [{scope: PATTERN, level: 0}]");
    size_t count = (size_t)off_count + (size_t)pol->count;
    precision->patterns =
        cse_arena_alloc(precision->arena, (count + 1) * sizeof *precision->patterns);
    for (int i = 0; i < off_count; i++)
        add_pattern(precision, cse_settings_text_at(settings, "disable_graphamp", i),
                    cse_settings_place_at(settings, "disable_graphamp", i),
                    (cse_precision_request){ .graphamp_off = true });
    for (int i = 0; i < pol->count; i++)
        CSE_TRY(read_pol_entry(precision, pol->children[i]));
    return CSE_OK;
}

static void apply_request(cse_precision_request *to, const cse_precision_request *request)
{
    to->graphamp_off = to->graphamp_off || request->graphamp_off;
    if (request->pol_forward > 0)
        to->pol_forward = request->pol_forward;
    if (request->pol_backward > 0)
        to->pol_backward = request->pol_backward;
}

cse_status cse_precision_apply_patterns(const cse_precision *precision, cse_graph *graph,
                                        bool strict)
{
    for (int p = 0; p < precision->pattern_count; p++) {
        const cse_scope_pattern *pattern = &precision->patterns[p];
        bool matched = false;
        for (int n = 0; n < graph->node_count; n++) {
            cse_node *node = graph->nodes[n];
            bool leaf = node->op->kind == CSE_OP_STRUCTURAL;
            if (leaf || fnmatch(pattern->pattern, node->scope, 0) != 0)
                continue;
            matched = true;
            apply_request(&node->request, &pattern->request);
        }
        if (!matched && strict)
            return cse_fail_at(CSE_ERROR_AT(context, pattern->place),
                               "the pattern \"%.120s\" matches no scope of the step; "
                               "`csengine compile CONFIG --print_precision` shows them",
                               pattern->pattern);
    }
    return CSE_OK;
}

/* ---- the whole ---- */

static cse_status resolve(const cse_settings *settings, cse_precision *precision)
{
    precision->low = cse_dtype_from_name(cse_settings_text(settings, "fp16_type"));
    precision->level = (int)cse_settings_integer(settings, "precision_opt_level");
    CSE_TRY(cse_presets_check());
    read_tiling(settings, precision);
    CSE_TRY(read_graphamp(cse_settings_nested(settings, "graphamp"), precision));
    return read_patterns(settings, precision);
}

cse_status cse_precision_new(const cse_settings *settings, cse_precision **result)
{
    bool enabled = false;
    *result = NULL;
    CSE_TRY(read_enabled(settings, &enabled));
    if (!enabled)
        return CSE_OK;
    cse_arena *arena = cse_arena_new();
    cse_precision *precision = cse_arena_alloc(arena, sizeof *precision);
    precision->arena = arena;
    cse_status status = resolve(settings, precision);
    if (status == CSE_OK)
        *result = precision;
    else
        cse_precision_destroy(&precision);
    return status;
}

cse_status cse_precision_parse(const char *yaml, cse_precision **result)
{
    cse_settings *settings = NULL;
    *result = NULL;
    CSE_TRY(cse_settings_parse(cse_precision_setting_table, subject, yaml, &settings));
    cse_status status = cse_precision_new(settings, result);
    cse_settings_destroy(&settings);
    return status;
}

void cse_precision_destroy(cse_precision **precision)
{
    if (*precision == NULL)
        return;
    cse_arena *arena = (*precision)->arena;
    cse_arena_destroy(&arena);
    *precision = NULL;
}
