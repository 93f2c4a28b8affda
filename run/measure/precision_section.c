/* Trials get the section as overrides; the tuned configuration has it written in. */
#include "run/measure/precision_section.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/yaml.h"

/* "[b]" for disable_graphamp, "[{scope: a, level: 2}]" for pol. */
static void print_layers(const cse_tuning *tuning, const int *levels, cse_text *off, cse_text *pol)
{
    cse_text_add(off, "[");
    cse_text_add(pol, "[");
    for (int i = 0; i < tuning->layer_count; i++) {
        const bool lowered = levels[i] != CSE_TUNING_FP32;
        cse_text *to = lowered ? pol : off;
        cse_text_add(to, "%s%s", to->size > 1 ? ", " : "", lowered ? "{scope: " : "");
        cse_yaml_print_text(tuning->layers[i], to);
        if (lowered)
            cse_text_add(to, ", level: %d}", levels[i] - CSE_TUNING_POL_0);
    }
    cse_text_add(off, "]");
    cse_text_add(pol, "]");
}

int cse_precision_settings(const cse_tuning_options *options, const cse_tuning *tuning,
                           const int *levels, cse_precision_setting *settings)
{
    const char *fixed[][2] = { { "fp16_type", options->format },
                               { "precision_opt_level", "0" },
                               { "emulate_accumulation", "true" },
                               { "loss_scaling_factor", "dynamic" },
                               { "graphamp.preset", options->preset } };
    int count = 0;
    memset(settings, 0, CSE_MOST_PRECISION_SETTINGS * sizeof *settings);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        /* bfloat16 has the range of float32 and needs no scaling. */
        if (strcmp(fixed[i][0], "loss_scaling_factor") == 0 &&
            strcmp(options->format, "bfloat16") == 0)
            continue;
        settings[count].path = fixed[i][0];
        cse_text_add(&settings[count++].value, "%s", fixed[i][1]);
    }
    settings[count].path = "disable_graphamp";
    settings[count + 1].path = "pol";
    print_layers(tuning, levels, &settings[count].value, &settings[count + 1].value);
    return count + 2;
}

const char cse_tuning_heads[] = "run  fp32 POL 0 POL 1 POL 2  loss          against fp32";

void cse_tuning_print_trial(const cse_tuning_trial *trial, cse_text *out)
{
    char change[32] = "no number";
    if (isfinite(trial->loss))
        snprintf(change, sizeof change, "%+.4f %%", 100 * trial->change);
    cse_text_add(out, "%3d  %4d %5d %5d %5d  %-12.6g %12s  %s", trial->number,
                 trial->layers[CSE_TUNING_FP32], trial->layers[CSE_TUNING_POL_0],
                 trial->layers[CSE_TUNING_POL_1], trial->layers[CSE_TUNING_POL_2], trial->loss,
                 change, trial->accepted ? "kept" : "refused");
}

/* ---- the tuned configuration ---- */

static void print_evidence(const cse_tuning_options *options, const cse_tuning *t, cse_text *out)
{
    static const char *const names[] = { "fp32", "POL 0", "POL 1", "POL 2" };
    cse_text_add(out,
                 "# Precision of %s, found by `csengine tune-precision`: the lowest of each layer\n"
                 "# with which the loss stays within %g %% of float32's (mean of the last tenth of "
                 "%lld steps).\n"
                 "# Format %s, preset %s, sums rounded as an accelerator would.\n#\n"
                 "# loss in float32: %.9g\n# loss as below:   %.9g (%+.4f %%)\n#\n",
                 options->config, 100 * options->tolerance, (long long)options->steps,
                 options->format, options->preset, t->loss_float32, t->loss,
                 100 * (t->loss - t->loss_float32) / fabs(t->loss_float32));
    for (const char *const *set = options->settings; *set != NULL; set++)
        cse_text_add(out, "# trained with --set %s\n", *set);
    for (int i = 0; i < t->layer_count; i++)
        cse_text_add(out, "# %-6s %s\n", names[t->levels[i]], t->layers[i]);
    cse_text_add(out, "#\n# Trainings, with how many layers at each level:\n# %s\n",
                 cse_tuning_heads);
    for (int i = 0; i < t->trial_count; i++) {
        cse_text_add(out, "# ");
        cse_tuning_print_trial(&t->trials[i], out);
        cse_text_add(out, "\n");
    }
}

static cse_yaml_node *child_of(cse_arena *arena, cse_yaml_node *mapping, const char *name)
{
    cse_yaml_node *child = cse_yaml_find(mapping, name);
    if (child == NULL || child->kind != CSE_YAML_MAPPING) {
        child = cse_yaml_mapping_new(arena, mapping->place);
        cse_yaml_put(arena, mapping, (cse_yaml_key){ name, mapping->place }, child);
    }
    return child;
}

/* Sets a value by its path; makes the mappings that are missing. */
static cse_status put(cse_arena *arena, cse_yaml_node *mapping,
                      const cse_precision_setting *setting)
{
    cse_yaml_node *node = NULL;
    char *rest = cse_arena_string(arena, setting->path), *name = strsep(&rest, ".");
    for (; rest != NULL; name = strsep(&rest, "."))
        mapping = child_of(arena, mapping, name);
    CSE_TRY(cse_yaml_parse(arena, "", setting->value.data, setting->value.size, &node));
    cse_yaml_put(arena, mapping, (cse_yaml_key){ name, mapping->place }, node);
    return CSE_OK;
}

cse_status cse_tuning_print(const cse_tuning_options *options, const cse_tuning *tuning,
                            cse_text *out)
{
    cse_arena *arena = tuning->arena;
    cse_yaml_node *root = NULL;
    cse_precision_setting settings[CSE_MOST_PRECISION_SETTINGS];
    CSE_TRY(cse_yaml_parse_file(arena, options->config, &root));
    cse_yaml_node *precision =
        child_of(arena, child_of(arena, child_of(arena, root, "trainer"), "init"), "precision");
    const int count = cse_precision_settings(options, tuning, tuning->levels, settings);
    cse_status status = CSE_OK;
    for (int i = 0; i < count; i++) {
        if (status == CSE_OK)
            status = put(arena, precision, &settings[i]);
        cse_text_clear(&settings[i].value);
    }
    CSE_TRY(status);
    print_evidence(options, tuning, out);
    cse_yaml_print_block(root, out);
    return CSE_OK;
}
