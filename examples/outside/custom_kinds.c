/* A metric, a logger, a callback, an op and a model that uses it, in one shared object;
 * custom_training.c has the kinds that train. Compiled and named in a configuration in the same
 * way. */
#include <csengine/csengine.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cse_setting no_settings[] = { { .name = NULL } };

/* ---- the op: softsign(x) = x / (1 + |x|) ---- */

static cse_tensor *softsign(cse_tensor *x);

/* d softsign / dx = 1 / (1 + |x|)^2 */
static void softsign_gradient(cse_tensor *node, cse_tensor *output_gradient,
                              cse_tensor *gradients[])
{
    cse_tensor *x = cse_tensor_input(node, 0);
    cse_tensor *size = cse_add(cse_abs(x), cse_cast(cse_constant(1), cse_tensor_dtype(x)));
    gradients[0] = cse_div(output_gradient, cse_square(size));
}

static double softsign_of(double x)
{
    return x / (1 + fabs(x));
}

/* Two roundings in float32 of values up to 4. */
static const cse_op_sample softsign_samples[] = {
    { .name = "rows of 67",
      .inputs = { CSE_FLOATS(0.1, 3, 3, 67) },
      .input_count = 1,
      .tolerance = 1e-6 },
    { .name = "both signs",
      .inputs = { CSE_FLOATS(-3, 3, 40) },
      .input_count = 1,
      .tolerance = 1e-6 },
    { .name = NULL },
};

static const cse_op softsign_op = {
    .name = "softsign",
    .summary = "x / (1 + |x|)",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = softsign_gradient,
    .reference = cse_reference_elementwise,
    .expression = "$0 / (1.0f + ($0 < 0.0f ? -$0 : $0))",
    .unary = softsign_of,
    .samples = softsign_samples,
};

static cse_tensor *softsign(cse_tensor *x)
{
    return cse_trace(&softsign_op, NULL, 1, &x);
}

/* ---- the model: two layers with softsign between them ---- */

typedef struct softsign_net {
    cse_linear_layer first, second;
} softsign_net;

static const cse_setting model_settings[] = {
    { .name = "input_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "2",
      .min = 1,
      .max = 1 << 20,
      .doc = "features of one sample" },
    { .name = "hidden_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "32",
      .min = 1,
      .max = 1 << 20,
      .doc = "units between the layers" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "2",
      .min = 1,
      .max = 1 << 20,
      .doc = "outputs" },
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    softsign_net *self = cse_model_self(model);
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    self->first =
        cse_linear_parameters(model, "first", cse_settings_integer(s, "input_size"), hidden, true);
    self->second = cse_linear_parameters(model, "second", hidden,
                                         cse_settings_integer(s, "num_classes"), true);
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const softsign_net *self = cse_model_self(model);
    return cse_apply_linear(self->second,
                            softsign(cse_apply_linear(self->first, cse_flatten(input, 1))));
}

static const cse_model_descriptor softsign_model = {
    .name = "softsign_net",
    .summary = "two layers with softsign between them",
    .settings = model_settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(softsign_net),
    .build = build,
    .forward = forward,
};

/* ---- the metric: the share of wrong predictions ---- */

enum { WRONG, WRONG_REST, TOTAL, TOTAL_REST };

static void error_rate(cse_metric_step *step)
{
    cse_tensor *labels = step->arguments[0], *predictions = step->arguments[1];
    cse_tensor *is_wrong = cse_cast(cse_not_equal(labels, predictions), CSE_FLOAT32);
    cse_tensor *wrong = cse_metric_add(step, WRONG, cse_metric_sum(is_wrong));
    cse_tensor *total = cse_metric_add(step, TOTAL, cse_metric_count(labels));
    step->value = cse_div(wrong, total);
}

static const cse_metric_sample metric_samples[] = {
    { .name = "three batches",
      .source = "by hand: 1 of 4, 3 of 8, 3 of 12 are wrong",
      .argument_count = 2,
      .arguments = { { CSE_INT32, 0, { 0, 1, 2, 1, 1, 1, 0, 2, 2, 2, 1, 0 } },
                     { CSE_INT32, 0, { 0, 1, 2, 0, 1, 0, 0, 1, 2, 2, 1, 0 } } },
      .values = { 0.25, 0.375, 0.25 } },
    { .name = NULL },
};

static const cse_metric_descriptor error_rate_metric = {
    .name = "error_rate",
    .summary = "share of wrong predictions",
    .settings = no_settings,
    .arguments = "labels, predictions",
    .min_arguments = 2,
    .max_arguments = 2,
    .state_count = 4,
    .states = { CSE_METRIC_TOTAL("wrong"), CSE_METRIC_TOTAL("total") },
    .update = error_rate,
    .samples = metric_samples,
};

/* ---- the logger: one JSON object a line ---- */

static const cse_setting logger_settings[] = {
    { .name = "file",
      .type = CSE_SETTING_TEXT,
      .default_value = "scalars.jsonl",
      .doc = "name of the file in model_dir" },
    { .name = NULL },
};

static cse_status open_lines(const cse_settings *settings, const char *model_dir, void **logger)
{
    char path[4096];
    const char *name = cse_settings_text(settings, "file");
    if (strchr(name, '/') != NULL)
        return cse_fail(CSE_CONFIG, "file (%s): a name without \"/\" belongs here",
                        cse_settings_origin(settings, "file"));
    snprintf(path, sizeof path, "%s/%s", model_dir, name);
    *logger = fopen(path, "a");
    return *logger != NULL
               ? CSE_OK
               : cse_fail(CSE_CANNOT_CREATE, "%s cannot be written: %s", path, strerror(errno));
}

/* JSON has no infinity; names have no control characters. */
static cse_status write_line(void *logger, const cse_logged_scalar *scalar)
{
    fputs("{\"name\": \"", logger);
    for (const char *at = scalar->name; *at != '\0'; at++)
        fprintf(logger, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    fprintf(logger, "\", \"step\": %lld, \"value\": ", (long long)scalar->step);
    fprintf(logger, isfinite(scalar->value) ? "%.9g}\n" : "null}\n", scalar->value);
    return ferror((FILE *)logger) ? cse_fail(CSE_IO, "a line cannot be written") : CSE_OK;
}

static cse_status flush_lines(void *logger)
{
    return fflush(logger) == 0 ? CSE_OK : cse_fail(CSE_IO, "%s", strerror(errno));
}

static void close_lines(void *logger)
{
    fclose(logger);
}

static const cse_logger_sample logger_samples[] = {
    { .settings = "{file: x.jsonl}",
      .source = "RFC 8259, by hand",
      .file = "x.jsonl",
      .bytes = "{\"name\": \"loss\", \"step\": 1, \"value\": 0.5}\n"
               "{\"name\": \"val \\\"accuracy\\\", %\", \"step\": 300, \"value\": 0.1}\n"
               "{\"name\": \"lr/0\", \"step\": 70000, \"value\": null}\n" },
    { .settings = "{file: a/b}", .refusal = "without \"/\"" },
    { .settings = NULL },
};

static const cse_logger_descriptor lines_logger = {
    .name = "JsonLines",
    .summary = "one JSON object a line",
    .settings = logger_settings,
    .open = open_lines,
    .scalar = write_line,
    .flush = flush_lines,
    .close = close_lines,
    .samples = logger_samples,
};

/* ---- the callback: ends the training at a validation with a good loss ---- */

typedef struct good_enough {
    cse_callback_host *host;
    double loss;
} good_enough;

static const cse_setting callback_settings[] = {
    { .name = "loss",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1e6,
      .doc = "training ends after a validation with this loss or less" },
    { .name = NULL },
};

static cse_status set_up(const cse_settings *settings, cse_callback_host *host, void **self)
{
    good_enough *made = malloc(sizeof *made);
    if (made == NULL)
        return cse_fail(CSE_TEMPORARY, "memory is short");
    *made = (good_enough){ host, cse_settings_number(settings, "loss") };
    *self = made;
    return CSE_OK;
}

/* Validations of an earlier start are told again, so that a run that is resumed ends where it would
 * have ended. */
static cse_status look_at_loss(void *self, const cse_callback_validation *validation)
{
    const good_enough *own = self;
    for (int i = 0; i < validation->metric_count; i++)
        if (strcmp(validation->metrics[i].name, "val_loss") == 0 &&
            validation->metrics[i].value <= own->loss)
            cse_callback_stop(own->host, "the loss is good enough");
    return CSE_OK;
}

static const cse_callback_sample callback_samples[] = {
    { .settings = "{loss: 0.5}",
      .val_losses = { 1, 0.5, 0.25 },
      .stops_at = 20,
      .source = "the second is the first that is not above it" },
    { .settings = "{loss: 0.1}", .val_losses = { 1, 0.5 }, .source = "none is below it" },
    { .settings = NULL },
};

static const cse_callback_descriptor good_enough_callback = {
    .name = "GoodEnough",
    .summary = "ends the training at a validation with a good loss",
    .settings = callback_settings,
    .setup = set_up,
    .finalize = free,
    .on_validate_end = look_at_loss,
    .samples = callback_samples,
};

CSE_PLUGINS(CSE_OP_PLUGIN(&softsign_op), CSE_MODEL_PLUGIN(&softsign_model),
            CSE_METRIC_PLUGIN(&error_rate_metric), CSE_LOGGER_PLUGIN(&lines_logger),
            CSE_CALLBACK_PLUGIN(&good_enough_callback));
