/* Initialisers by name: what a configuration says of how weights begin, made an initializer once
 * the shape of the weight is known.
 *
 * All that depend on the shape are one rule, of the variance scale / fan: Glorot's (Glorot, Bengio
 * 2010), He's (He et al. 2015), LeCun's and PyTorch's of linear layers differ by scale, fan and
 * distribution alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csengine/modules.h"

/* The deviation of a standard normal that is cut at two deviations. */
static const double cut_deviation = 0.87962566103423978;

cse_initial cse_initial_constant(double value)
{
    return (cse_initial){ .fixed = { CSE_INIT_CONSTANT, value, 0 } };
}

cse_initial cse_initial_normal(double deviation)
{
    return (cse_initial){ .fixed = { CSE_INIT_NORMAL, 0, deviation } };
}

cse_initial cse_initial_truncated_normal(double deviation)
{
    return (cse_initial){ .fixed = { CSE_INIT_TRUNCATED_NORMAL, 0, deviation } };
}

cse_initial cse_initial_scaled(double scale, cse_fan fan, cse_distribution distribution)
{
    return (cse_initial){
        .kind = CSE_INITIAL_SCALED, .scale = scale, .fan = fan, .distribution = distribution
    };
}

cse_initial cse_initial_times(cse_initial initial, double factor)
{
    cse_initializer *fixed = &initial.fixed;
    initial.scale *= factor * factor;
    switch (fixed->kind) {
    case CSE_INIT_NORMAL:
    case CSE_INIT_TRUNCATED_NORMAL:
        fixed->b *= factor;
        break;
    case CSE_INIT_NORMAL_WITHIN:
    case CSE_INIT_UNIFORM:
        fixed->a *= factor;
        fixed->b *= factor;
        break;
    default:
        break;
    }
    return initial;
}

/* As PyTorch counts them: of [out, in, ...] all but `out`, and all but `in`. */
static double fan_of(cse_shape shape, cse_fan fan)
{
    double field = 1;
    for (int i = 2; i < shape.rank; i++)
        field *= (double)shape.dims[i];
    const double in = (double)shape.dims[shape.rank > 1] * field;
    const double out = (double)shape.dims[0] * field;
    const double sizes[] = { in, out, (in + out) / 2 };
    return fmax(1, sizes[fan]);
}

cse_initializer cse_initial_for(cse_initial initial, cse_shape shape)
{
    if (initial.kind == CSE_INITIAL_FIXED)
        return initial.fixed;
    const double variance = initial.scale / fan_of(shape, initial.fan);
    const double bound = sqrt(3 * variance);
    switch (initial.distribution) {
    case CSE_DISTRIBUTION_UNIFORM:
        return (cse_initializer){ CSE_INIT_UNIFORM, -bound, bound };
    case CSE_DISTRIBUTION_NORMAL:
        return (cse_initializer){ CSE_INIT_NORMAL, 0, sqrt(variance) };
    default:
        return (cse_initializer){ CSE_INIT_TRUNCATED_NORMAL, 0, sqrt(variance) / cut_deviation };
    }
}

/* ---- from settings ---- */

static const char names[] =
    "constant|ones|zeros|eye|uniform|normal|truncated_normal|xavier_normal|glorot_normal|"
    "xavier_uniform|glorot_uniform|kaiming_normal|kaiming_uniform|variance_scaling|lecun_normal|"
    "lecun_uniform";

static const cse_setting table[] = {
    { .name = "name", .type = CSE_SETTING_CHOICE, .choices = names, .doc = "the distribution" },
    { .name = "val", .type = CSE_SETTING_NUMBER, .default_value = "0", .doc = "of constant" },
    { .name = "mean", .type = CSE_SETTING_NUMBER, .default_value = "0", .doc = "of normal" },
    { .name = "std",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.05",
      .max = 1e300,
      .doc = "standard deviation of normal and truncated_normal" },
    { .name = "a",
      .type = CSE_SETTING_NUMBER,
      .default_value = "null",
      .doc = "lower bound of uniform (-0.05) and truncated_normal (-2 std); slope of kaiming (0)" },
    { .name = "b",
      .type = CSE_SETTING_NUMBER,
      .default_value = "null",
      .doc = "upper bound of uniform (0.05) and truncated_normal (2 std)" },
    { .name = "gain", .type = CSE_SETTING_NUMBER, .default_value = "1", .doc = "of xavier" },
    { .name = "scale",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1",
      .max = 1e300,
      .doc = "of variance_scaling and lecun" },
    { .name = "mode",
      .type = CSE_SETTING_CHOICE,
      .default_value = "fan_in",
      .choices = "fan_in|fan_out|fan_avg",
      .doc = "which fan divides the variance" },
    { .name = "nonlinearity",
      .type = CSE_SETTING_CHOICE,
      .default_value = "leaky_relu",
      .choices = "leaky_relu|relu",
      .doc = "of kaiming" },
    { .name = "distribution",
      .type = CSE_SETTING_CHOICE,
      .default_value = "null",
      .choices = "uniform|normal|truncated_normal",
      .doc = "of variance_scaling (truncated_normal) and lecun_uniform (uniform)" },
    { .name = NULL },
};

static double number_or(const cse_settings *s, const char *name, double otherwise)
{
    return cse_settings_has(s, name) ? cse_settings_number(s, name) : otherwise;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static cse_status read_truncated(const cse_settings *s, cse_initial *initial)
{
    const double mean = cse_settings_number(s, "mean"), std = cse_settings_number(s, "std");
    const double a = number_or(s, "a", -2 * std), b = number_or(s, "b", 2 * std);
    if (is_near(a, mean - 2 * std) && is_near(b, mean + 2 * std)) {
        initial->fixed = (cse_initializer){ CSE_INIT_TRUNCATED_NORMAL, mean, std };
        return CSE_OK;
    }
    if (mean != 0 || !is_near(-a, b) || b < 0.1 * std || std == 0)
        return cse_fail(CSE_CONFIG,
                        "truncated_normal with mean %g, std %g, a %g, b %g is not supported; "
                        "accepted: bounds two deviations from the mean, or mean 0 and a = -b with "
                        "b at least a tenth of std",
                        mean, std, a, b);
    initial->fixed = (cse_initializer){ CSE_INIT_NORMAL_WITHIN, std, b };
    return CSE_OK;
}

static cse_fan fan_named(const cse_settings *s)
{
    const char *mode = cse_settings_text(s, "mode");
    return strcmp(mode, "fan_in") == 0    ? CSE_FAN_IN
           : strcmp(mode, "fan_out") == 0 ? CSE_FAN_OUT
                                          : CSE_FAN_AVERAGE;
}

static cse_distribution distribution_named(const cse_settings *s, cse_distribution otherwise)
{
    const char *name = cse_settings_text(s, "distribution");
    if (name == NULL)
        return otherwise;
    return strcmp(name, "uniform") == 0  ? CSE_DISTRIBUTION_UNIFORM
           : strcmp(name, "normal") == 0 ? CSE_DISTRIBUTION_NORMAL
                                         : CSE_DISTRIBUTION_TRUNCATED_NORMAL;
}

/* Those of the variance scale / fan. */
static void read_scaled(const cse_settings *s, const char *name, cse_initial *initial)
{
    const double gain = cse_settings_number(s, "gain"), slope = number_or(s, "a", 0);
    const bool uniform = strstr(name, "uniform") != NULL;
    const cse_distribution plain = uniform ? CSE_DISTRIBUTION_UNIFORM : CSE_DISTRIBUTION_NORMAL;
    if (strncmp(name, "xavier", 6) == 0 || strncmp(name, "glorot", 6) == 0) {
        *initial = cse_initial_scaled(gain * gain, CSE_FAN_AVERAGE, plain);
        return;
    }
    if (strncmp(name, "kaiming", 7) == 0) {
        const bool relu = strcmp(cse_settings_text(s, "nonlinearity"), "relu") == 0;
        *initial = cse_initial_scaled(relu ? 2 : 2 / (1 + slope * slope), fan_named(s), plain);
        return;
    }
    *initial =
        cse_initial_scaled(cse_settings_number(s, "scale"), fan_named(s),
                           distribution_named(s, uniform ? CSE_DISTRIBUTION_UNIFORM
                                                         : CSE_DISTRIBUTION_TRUNCATED_NORMAL));
}

static cse_status read_named(const cse_settings *s, cse_initial *initial)
{
    const char *name = cse_settings_text(s, "name");
    *initial = (cse_initial){ .kind = CSE_INITIAL_FIXED };
    if (strcmp(name, "truncated_normal") == 0)
        return read_truncated(s, initial);
    if (strcmp(name, "normal") == 0)
        initial->fixed = (cse_initializer){ CSE_INIT_NORMAL, cse_settings_number(s, "mean"),
                                            cse_settings_number(s, "std") };
    else if (strcmp(name, "uniform") == 0)
        initial->fixed = (cse_initializer){ CSE_INIT_UNIFORM, number_or(s, "a", -0.05),
                                            number_or(s, "b", 0.05) };
    else if (strcmp(name, "eye") == 0)
        initial->fixed.kind = CSE_INIT_EYE;
    else if (strcmp(name, "constant") == 0 || strcmp(name, "ones") == 0 ||
             strcmp(name, "zeros") == 0)
        *initial = cse_initial_constant(
            strcmp(name, "constant") == 0 ? cse_settings_number(s, "val") : name[0] == 'o');
    else
        read_scaled(s, name, initial);
    return CSE_OK;
}

cse_status cse_initial_read(const cse_settings *settings, const char *name, cse_initial *initial)
{
    cse_settings *s = NULL;
    char yaml[1024];
    const char *given = cse_settings_text(settings, name);
    if (given == NULL)
        return CSE_OK;
    const bool mapping = strchr(given, '{') != NULL;
    snprintf(yaml, sizeof yaml, "%s%s%s", mapping ? "" : "{name: ", given, mapping ? "" : "}");
    cse_status status = cse_settings_parse(table, name, yaml, &s);
    if (status == CSE_OK)
        status = read_named(s, initial);
    cse_settings_destroy(&s);
    return status == CSE_OK
               ? CSE_OK
               : cse_fail_within(status, "%s (%s): ", name, cse_settings_origin(settings, name));
}
