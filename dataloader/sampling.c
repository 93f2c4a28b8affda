/* Weights of classes become those of samples; a file, or the data, have those of the samples
 * themselves. */
#include "dataloader/sampling.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/label_list.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/text.h"

static const char name[] = "sampling", by_class[] = "class_weights", by_sample[] = "sample_weights";
static const char accepted[] =
    "accepted: null, balanced, {class_weights: [1, 2.5]}, {sample_weights: FILE}";

/* ---- settings ---- */

static cse_status wrong(cse_place place, const char *what)
{
    const cse_error error = {
        .status = CSE_CONFIG, .context = "data loader: ", .place = place, .accepted = accepted
    };
    return cse_fail_at(&error, "sampling: %s", what);
}

static cse_status unknown(cse_place place, const char *kind, const char *text)
{
    char what[128];
    snprintf(what, sizeof what, "unknown %s \"%.60s\"", kind, text);
    return wrong(place, what);
}

static bool weight_of(const char *text, double *weight)
{
    return cse_setting_number_read(text, weight) && isfinite(*weight) && *weight >= 0;
}

/* Of weights that are drawn by; one of infinity would leave each of them a share of 0. */
static cse_status check_sum(cse_place place, double sum)
{
    if (!isfinite(sum))
        return wrong(place, "the sum of the weights is not finite");
    return sum > 0 ? CSE_OK : wrong(place, "all weights are 0");
}

static cse_status check_class_weights(const cse_yaml_node *list)
{
    double sum = 0;
    if (list->kind != CSE_YAML_SEQUENCE || list->count == 0)
        return wrong(list->place, "class_weights is a list with a number for each class");
    for (int c = 0; c < list->count; c++) {
        double weight;
        if (list->children[c]->kind != CSE_YAML_SCALAR ||
            !weight_of(list->children[c]->text, &weight))
            return wrong(list->children[c]->place, "a weight is a number from 0 on");
        list->children[c]->read = true;
        sum += weight;
    }
    return check_sum(list->place, sum);
}

cse_status cse_sampling_check(const cse_settings *settings)
{
    cse_yaml_node *node = cse_settings_node(settings, name);
    node->read = true;
    if (cse_yaml_is_null(node))
        return CSE_OK;
    if (node->kind == CSE_YAML_SCALAR)
        return strcmp(node->text, "balanced") == 0 ? CSE_OK
                                                   : unknown(node->place, "value", node->text);
    if (node->kind != CSE_YAML_MAPPING || node->count != 1)
        return wrong(node->place, "this is neither a word nor a mapping with one key");
    const char *key = node->keys[0].text;
    cse_yaml_node *value = node->children[0];
    value->read = true;
    if (strcmp(key, by_class) == 0)
        return check_class_weights(value);
    if (strcmp(key, by_sample) != 0)
        return unknown(node->keys[0].place, "key", key);
    return value->kind == CSE_YAML_SCALAR && !cse_yaml_is_null(value)
               ? CSE_OK
               : wrong(value->place, "sample_weights is the path of a file with one number a line");
}

/* ---- weights of samples ---- */

/* The weight of each class: 1 over its number of samples, or the list's. */
static cse_status class_weights(const cse_yaml_node *node, const int64_t *counts, int64_t classes,
                                double *weights)
{
    if (node->kind == CSE_YAML_SCALAR) {
        for (int64_t c = 0; c < classes; c++)
            weights[c] = counts[c] > 0 ? 1 / (double)counts[c] : 0;
        return CSE_OK;
    }
    double sum = 0;
    const cse_yaml_node *list = node->children[0];
    if (list->count != classes)
        return cse_fail_at(CSE_ERROR_AT("data loader: ", list->place),
                           "sampling: class_weights has %d numbers, and the data have %" PRId64
                           " classes: give one for each",
                           list->count, classes);
    for (int64_t c = 0; c < classes; c++) {
        (void)weight_of(list->children[c]->text, &weights[c]);
        sum += weights[c] * (double)counts[c];
    }
    return sum == 0 ? wrong(list->place, "no sample of the data has a class of a weight above 0")
                    : check_sum(list->place, sum);
}

static cse_status of_classes(const cse_settings *settings, const cse_yaml_node *node,
                             cse_input *input, double *weights)
{
    int32_t *labels = NULL;
    int64_t *counts = NULL, classes = 0;
    double *of_class = NULL;
    CSE_TRY(cse_label_list_read(input, name, cse_settings_origin(settings, name), &labels));
    cse_status status = cse_label_counts(input, labels, &counts, &classes);
    if (status == CSE_OK) {
        of_class = cse_calloc((size_t)classes, sizeof *of_class);
        status = class_weights(node, counts, classes, of_class);
    }
    for (int64_t i = 0; status == CSE_OK && i < input->sample_count; i++)
        weights[i] = of_class[labels[i]];
    free(of_class);
    free(counts);
    free(labels);
    return status;
}

/* Empty lines are passed over. */
static cse_status parse_lines(const char *path, char *text, int64_t count, double *weights)
{
    char *rest = text, *line;
    int64_t i = 0;
    double sum = 0;
    for (int64_t number = 1; (line = strsep(&rest, "\n")) != NULL; number++) {
        const size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (*line == '\0')
            continue;
        double weight;
        if (i < count && !weight_of(line + strspn(line, " \t"), &weight))
            return cse_fail(CSE_DATA,
                            "%s:%" PRId64 ": \"%.40s\" is no weight: accepted are "
                            "numbers from 0 on, one a line",
                            path, number, line);
        if (i < count)
            sum += weights[i] = weight;
        i++;
    }
    if (i != count)
        return cse_fail(CSE_DATA,
                        "%s: it has %" PRId64 " weights, and the data have %" PRId64
                        " samples: a line for each",
                        path, i, count);
    return sum > 0 && isfinite(sum) ? CSE_OK
                                    : cse_fail(CSE_DATA,
                                               "%s: the sum of the weights is %g: "
                                               "accepted are finite sums above 0",
                                               path, sum);
}

static cse_status of_file(const char *given, int64_t count, double *weights)
{
    enum { MOST_LINE_BYTES = 64 };
    cse_byte_source *source = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    CSE_TRY(cse_byte_source_open(given, &source));
    cse_status status =
        cse_byte_source_take(source, (size_t)count * MOST_LINE_BYTES, &bytes, &size);
    cse_byte_source_close(&source);
    char *text = cse_calloc(size + 1, 1);
    if (size > 0)
        memcpy(text, bytes, size);
    if (status == CSE_OK && memchr(text, '\0', size) != NULL)
        status = cse_fail(
            CSE_DATA, "%s: it has bytes of 0; accepted is a text with one number a line", given);
    if (status == CSE_OK)
        status = parse_lines(given, text, count, weights);
    free(text);
    free(bytes);
    return status;
}

cse_status cse_sampling_read(const cse_settings *settings, cse_input *input, cse_weighted **sampler)
{
    const cse_yaml_node *node = cse_settings_node(settings, name);
    *sampler = NULL;
    CSE_TRY(cse_sampling_check(settings));
    if (cse_yaml_is_null(node)) {
        if (input->sample_weights != NULL)
            *sampler = cse_weighted_new(input->sample_weights, input->sample_count);
        return CSE_OK;
    }
    if (input->sample_weights != NULL)
        return cse_fail_at(CSE_ERROR_AT("data loader: ", node->place),
                           "sampling: the data have weights of samples already (weights): leave "
                           "one of them out");
    if (input->is_stream)
        return cse_fail_at(CSE_ERROR_AT("data loader: ", node->place),
                           "sampling: %s determines the order of its samples itself: give "
                           "sampling: null",
                           input->descriptor->name);
    double *weights = cse_calloc((size_t)input->sample_count, sizeof *weights);
    const bool has_file =
        node->kind == CSE_YAML_MAPPING && strcmp(node->keys[0].text, by_sample) == 0;
    cse_status status = has_file ? of_file(node->children[0]->text, input->sample_count, weights)
                                 : of_classes(settings, node, input, weights);
    if (status == CSE_OK)
        *sampler = cse_weighted_new(weights, input->sample_count);
    free(weights);
    return status;
}
