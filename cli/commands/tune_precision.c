/* `csengine tune-precision`: how low the precision of each layer may go.
 *
 * The configuration is trained in float32 and then with its layers at lower and lower precision,
 * the sums carried bit for bit as an accelerator would; a search by bisection keeps what leaves the
 * loss where float32 has it. A layer is a scope with matrix products in it. What is found is
 * written as a configuration, with the evidence above it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/report.h"
#include "engine/base/arena.h"
#include "engine/config/yaml.h"
#include "engine/precision/graphamp.h"
#include "engine/precision/search.h"
#include "run/measure/variants.h"

enum { LEVEL_FLOAT32, LEVEL_POL_0, LEVEL_POL_1, LEVEL_POL_2, LEVEL_COUNT };

static const char *const level_names[LEVEL_COUNT] = { "fp32", "POL 0", "POL 1", "POL 2" };

typedef struct tuning {
    const cse_command_line *line;
    const char *config, *format, *preset, *output;
    double tolerance;
    long steps;
    cse_arena *arena;
    const char **layers; /* scopes, in the order of the forward pass */
    int layer_count, layer_capacity;
    cse_variants *variants;
    double loss_float32, loss_found;
    int trained;
    cse_text evidence; /* comment lines, one a training */
} tuning;

/* ---- arguments ---- */

static cse_status read_number(const cse_command_line *line, const char *name, double range[2],
                              double *value)
{
    const char *given = cse_option_value(line, name);
    char *end = NULL;
    if (given == NULL)
        return CSE_OK;
    double number = strtod(given, &end);
    if (end == given || *end != '\0' || !(number >= range[0] && number <= range[1]))
        return cse_fail(CSE_USAGE, "tune-precision: --%s %s: accepted: a number from %g to %g",
                        name, given, range[0], range[1]);
    *value = number;
    return CSE_OK;
}

static cse_status read_word(const cse_command_line *line, const char *name,
                            const char *const *accepted, const char **value)
{
    const char *given = cse_option_value(line, name);
    if (given == NULL)
        return CSE_OK;
    cse_text list = { 0 };
    for (; *accepted != NULL; accepted++) {
        cse_text_add(&list, "%s%s", list.size > 0 ? ", " : "", *accepted);
        if (strcmp(*accepted, given) == 0)
            *value = *accepted;
    }
    cse_status status = CSE_OK;
    if (*value == NULL || strcmp(*value, given) != 0)
        status =
            cse_fail(CSE_USAGE, "tune-precision: --%s %s: accepted: %s", name, given, list.data);
    cse_text_clear(&list);
    return status;
}

/* CONFIG.tuned.yaml in the working directory. */
static const char *default_output(tuning *t)
{
    const char *slash = strrchr(t->config, '/');
    const char *name = slash != NULL ? slash + 1 : t->config;
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".yaml") == 0)
        length -= 5;
    cse_text path = { 0 };
    cse_text_add(&path, "%.*s.tuned.yaml", (int)length, name);
    const char *kept = cse_arena_string(t->arena, path.data);
    cse_text_clear(&path);
    return kept;
}

static cse_status read_arguments(tuning *t)
{
    static const char *const formats[] = { "bfloat16", "float16", "cbfloat16", NULL };
    static const char *const presets[] = { "mp1", "mp2", "mp3", "mp4", NULL };
    double steps = 200;
    t->tolerance = 0.01;
    t->format = formats[0];
    t->preset = presets[1];
    CSE_TRY(read_number(t->line, "tolerance", (double[]){ 0, 1e6 }, &t->tolerance));
    CSE_TRY(read_number(t->line, "steps", (double[]){ 1, 1e9 }, &steps));
    CSE_TRY(read_word(t->line, "fp16_type", formats, &t->format));
    CSE_TRY(read_word(t->line, "preset", presets, &t->preset));
    t->steps = lround(steps);
    t->config = t->line->arguments[0];
    t->output = cse_option_value(t->line, "output");
    if (t->output == NULL)
        t->output = default_output(t);
    if (strcmp(t->output, "-") != 0 && access(t->output, F_OK) == 0)
        return cse_fail(CSE_CANNOT_CREATE,
                        "tune-precision: %s is there already; move it away, or name another file "
                        "with --output (- is standard output)",
                        t->output);
    return CSE_OK;
}

/* ---- layers ---- */

static void add_layer(tuning *t, const char *scope)
{
    for (int i = 0; i < t->layer_count; i++)
        if (strcmp(t->layers[i], scope) == 0)
            return;
    if (t->layer_count == t->layer_capacity) {
        t->layer_capacity = 2 * t->layer_capacity + 16;
        t->layers = realloc(t->layers, (size_t)t->layer_capacity * sizeof *t->layers);
        if (t->layers == NULL)
            abort();
    }
    t->layers[t->layer_count++] = cse_arena_string(t->arena, scope);
}

static void find_layers(void *self, const cse_pass *pass, const cse_graph *graph)
{
    if (strcmp(pass->name, "precision") != 0)
        return;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (!node->backward && node->scope[0] != '\0' && node->op->precision == CSE_FAMILY_PRODUCT)
            add_layer(self, node->scope);
    }
}

/* Traces the training step once; this also says what is wrong with the configuration. */
static cse_status trace_layers(tuning *t)
{
    cse_prepared_job job;
    cse_passes_options passes = { .after = find_layers, .self = t };
    cse_job_result result = { 0 };
    cse_status status = cse_job_prepare(t->line, CSE_JOB_COMPILE, &job);
    if (status == CSE_OK) {
        job.settings.val_dataloader = NULL;
        job.settings.session.validate_only = true;
        job.settings.passes = &passes;
        status = cse_job_run(&job.settings, &result);
    }
    cse_job_clear(&job);
    if (status == CSE_OK && t->layer_count == 0)
        status = cse_fail(CSE_CONFIG,
                          "tune-precision: %s: the model has no matrix product inside a scope; "
                          "there is nothing to choose",
                          t->config);
    return status;
}

/* ---- assignments ---- */

/* "pol=[{scope: a, level: 2}]" and "disable_graphamp=[b]", as values of the section `precision`. */
static void print_assignment(const tuning *t, const int *levels, cse_text *off, cse_text *pol)
{
    cse_text_add(off, "[");
    cse_text_add(pol, "[");
    for (int i = 0; i < t->layer_count; i++) {
        cse_text *to = levels[i] == LEVEL_FLOAT32 ? off : pol;
        cse_text_add(to, to->size > 1 ? ", " : "");
        if (levels[i] != LEVEL_FLOAT32)
            cse_text_add(to, "{scope: ");
        cse_yaml_print_text(t->layers[i], to);
        if (levels[i] != LEVEL_FLOAT32)
            cse_text_add(to, ", level: %d}", levels[i] - LEVEL_POL_0);
    }
    cse_text_add(off, "]");
    cse_text_add(pol, "]");
}

enum { MOST_SETTINGS = 8 };

/* The rest of the section, the same for every assignment. */
static int fixed_settings(const tuning *t, const char *settings[][2])
{
    int count = 0;
    settings[count][0] = "fp16_type", settings[count++][1] = t->format;
    settings[count][0] = "precision_opt_level", settings[count++][1] = "0";
    settings[count][0] = "emulate_accumulation", settings[count++][1] = "true";
    if (strcmp(t->format, "bfloat16") != 0)
        settings[count][0] = "loss_scaling_factor", settings[count++][1] = "dynamic";
    return count;
}

static cse_status train(tuning *t, const int *levels, double *loss)
{
    const char *settings[MOST_SETTINGS][2], *words[MOST_SETTINGS + 4];
    cse_text texts[MOST_SETTINGS + 4] = { 0 }, off = { 0 }, pol = { 0 };
    int count = 0;
    if (levels == NULL) {
        cse_text_add(&texts[count++], "precision.enabled=false");
    } else {
        print_assignment(t, levels, &off, &pol);
        const int fixed = fixed_settings(t, settings);
        for (int i = 0; i < fixed; i++)
            cse_text_add(&texts[count++], "precision.%s=%s", settings[i][0], settings[i][1]);
        cse_text_add(&texts[count++], "precision.graphamp.preset=%s", t->preset);
        cse_text_add(&texts[count++], "precision.disable_graphamp=%s", off.data);
        cse_text_add(&texts[count++], "precision.pol=%s", pol.data);
    }
    for (int i = 0; i < count; i++)
        words[i] = texts[i].data;
    words[count] = NULL;
    cse_variant_result result;
    cse_status status = cse_variants_run(t->variants, words, &result);
    *loss = status == CSE_OK ? cse_variant_final_loss(&result) : NAN;
    if (status == CSE_OK && levels == NULL && !isfinite(*loss))
        status = cse_fail(CSE_FAILED,
                          "tune-precision: the training in float32, which all else is compared "
                          "with, did not reach its end: %s",
                          result.message[0] != '\0' ? result.message : "its loss is no number");
    cse_variant_result_clear(&result);
    for (int i = 0; i < count; i++)
        cse_text_clear(&texts[i]);
    cse_text_clear(&off);
    cse_text_clear(&pol);
    return status;
}

static double distance(const tuning *t, double loss)
{
    return fabs(loss - t->loss_float32) / fabs(t->loss_float32);
}

/* A line for people and for the file: how many layers stand at each level, and the loss. */
static void note(tuning *t, const int *levels, double loss, bool within)
{
    int counts[LEVEL_COUNT] = { 0 };
    char row[160], place[32] = "no number";
    for (int i = 0; i < t->layer_count; i++)
        counts[levels[i]]++;
    if (isfinite(loss))
        snprintf(place, sizeof place, "%+.4f %%",
                 100 * (loss - t->loss_float32) / fabs(t->loss_float32));
    snprintf(row, sizeof row, "%3d  %4d %5d %5d %5d  %-12.6g %12s  %s", ++t->trained,
             counts[LEVEL_FLOAT32], counts[LEVEL_POL_0], counts[LEVEL_POL_1], counts[LEVEL_POL_2],
             loss, place, within ? "kept" : "refused");
    cse_text_add(&t->evidence, "# %s\n", row);
    fprintf(stderr, "%s\n", row);
}

static cse_status judge(void *self, const int *levels, bool *within)
{
    tuning *t = self;
    double loss;
    CSE_TRY(train(t, levels, &loss));
    *within = isfinite(loss) && distance(t, loss) <= t->tolerance;
    if (*within)
        t->loss_found = loss;
    note(t, levels, loss, *within);
    return CSE_OK;
}

/* ---- the file ---- */

static void print_evidence(const tuning *t, const int *levels, cse_text *out)
{
    cse_text_add(out,
                 "# Precision of %s, found by `csengine tune-precision`: the lowest of each layer\n"
                 "# with which the loss stays within %g %% of float32's (mean of the last tenth of "
                 "%ld steps).\n"
                 "# Format %s, preset %s, sums carried as an accelerator would.\n#\n"
                 "# loss in float32: %.9g\n# loss as below:   %.9g (%+.4f %%)\n#\n",
                 t->config, 100 * t->tolerance, t->steps, t->format, t->preset, t->loss_float32,
                 t->loss_found, 100 * (t->loss_found - t->loss_float32) / fabs(t->loss_float32));
    for (int i = 0; i < t->line->option_count; i++)
        if (strcmp(t->line->options[i].option->name, "set") == 0)
            cse_text_add(out, "# trained with --set %s\n", t->line->options[i].value);
    for (int i = 0; i < t->layer_count; i++)
        cse_text_add(out, "# %-6s %s\n", level_names[levels[i]], t->layers[i]);
    cse_text_add(out,
                 "#\n# Trainings, with how many layers at each level:\n"
                 "# run  fp32 POL 0 POL 1 POL 2  loss          against fp32\n%s",
                 t->evidence.data != NULL ? t->evidence.data : "");
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

static cse_status put(cse_arena *arena, cse_yaml_node *mapping, const char *name, const char *value)
{
    cse_yaml_node *node = NULL;
    CSE_TRY(cse_yaml_parse(arena, "", value, strlen(value), &node));
    cse_yaml_put(arena, mapping, (cse_yaml_key){ name, mapping->place }, node);
    return CSE_OK;
}

/* The configuration as it was given, with another section `precision`. */
static cse_status print_configuration(tuning *t, const int *levels, cse_text *out)
{
    const char *settings[MOST_SETTINGS][2];
    cse_text off = { 0 }, pol = { 0 };
    cse_yaml_node *root = NULL;
    CSE_TRY(cse_yaml_parse_file(t->arena, t->config, &root));
    cse_yaml_node *precision = child_of(
        t->arena, child_of(t->arena, child_of(t->arena, root, "trainer"), "init"), "precision");
    const int fixed = fixed_settings(t, settings);
    for (int i = 0; i < fixed; i++)
        CSE_TRY(put(t->arena, precision, settings[i][0], settings[i][1]));
    CSE_TRY(put(t->arena, child_of(t->arena, precision, "graphamp"), "preset", t->preset));
    print_assignment(t, levels, &off, &pol);
    cse_status status = put(t->arena, precision, "disable_graphamp", off.data);
    if (status == CSE_OK)
        status = put(t->arena, precision, "pol", pol.data);
    cse_text_clear(&off);
    cse_text_clear(&pol);
    print_evidence(t, levels, out);
    if (status == CSE_OK)
        cse_yaml_print_block(root, out);
    return status;
}

static cse_status write_file(const tuning *t, const cse_text *text)
{
    if (strcmp(t->output, "-") == 0)
        return fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0
                   ? CSE_OK
                   : cse_fail(CSE_IO, "tune-precision: standard output: %s", strerror(errno));
    int file = open(t->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return cse_fail(CSE_CANNOT_CREATE, "tune-precision: %s cannot be created: %s", t->output,
                        strerror(errno));
    bool written = write(file, text->data, text->size) == (ssize_t)text->size;
    int failure = errno;
    if (close(file) != 0 || !written)
        return cse_fail(CSE_IO, "tune-precision: %s cannot be written: %s", t->output,
                        strerror(failure));
    fprintf(stderr, "Written: %s\n", t->output);
    return CSE_OK;
}

/* ---- the whole ---- */

static cse_status tune(tuning *t)
{
    CSE_TRY(read_arguments(t));
    CSE_TRY(trace_layers(t));
    const char *settings[64];
    int count = 0;
    for (int i = 0; i < t->line->option_count && count < 63; i++)
        if (strcmp(t->line->options[i].option->name, "set") == 0)
            settings[count++] = t->line->options[i].value;
    settings[count] = NULL;
    const cse_variants_options options = { .config = t->config,
                                           .settings = settings,
                                           .steps = t->steps };
    CSE_TRY(cse_variants_new(&options, &t->variants));
    CSE_TRY(train(t, NULL, &t->loss_float32));
    t->loss_found = t->loss_float32;
    fprintf(stderr,
            "%d layers, loss in float32 %.6g\nrun  fp32 POL 0 POL 1 POL 2  loss          "
            "against fp32\n",
            t->layer_count, t->loss_float32);
    int *levels = cse_calloc((size_t)t->layer_count + 1, sizeof *levels);
    const cse_precision_search search = {
        .layer_count = t->layer_count, .level_count = LEVEL_COUNT, .judge = judge, .self = t
    };
    cse_text text = { 0 };
    cse_status status = cse_precision_search_run(&search, levels);
    if (status == CSE_OK)
        status = print_configuration(t, levels, &text);
    if (status == CSE_OK)
        status = write_file(t, &text);
    cse_text_clear(&text);
    free(levels);
    return status;
}

static int run(const cse_command_line *line)
{
    tuning t = { .line = line, .arena = cse_arena_new() };
    cse_status status = tune(&t);
    cse_variants_destroy(&t.variants);
    cse_text_clear(&t.evidence);
    free(t.layers);
    cse_arena_destroy(&t.arena);
    return cse_report(status);
}

static const cse_option options[] = {
    { "tolerance", "X", NULL,
      "how far the loss may part from float32's, relatively; default 0.01" },
    { "steps", "N", NULL, "training steps of each trial; the default is 200" },
    { "fp16_type", "TYPE", NULL, "bfloat16 (default), float16 or cbfloat16" },
    { "preset", "NAME", NULL, "GraphAMP preset of the lowered layers: mp1 to mp4; default mp2" },
    { "output", "FILE", NULL, "configuration to write; default CONFIG.tuned.yaml, - is stdout" },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { 0 },
};

const cse_command cse_command_tune_precision = {
    .name = "tune-precision",
    .summary = "finds the lowest precision of each layer that keeps the loss",
    .arguments = "CONFIG.yaml",
    .doc =
        "Trains the configuration in float32, then searches by bisection over layers and levels\n"
        "(fp32, POL 0, 1, 2) with emulated accumulation, and writes what it found as a\n"
        "configuration with the evidence in comments.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
