/* layers: a network that a configuration describes, for those who do not write C.
 *
 *   name: layers
 *   input_shape: [1, 28, 28]
 *   layers:
 *     - conv2d: {out: 16, padding: 1}
 *     - relu
 *     - residual:
 *         layers:
 *           - conv2d: {out: 16, padding: 1, name: inner}
 *           - batch_norm
 *     - flatten
 *     - linear: {out: 10}
 *
 * An entry is the name of a type, or a mapping from it to its settings; docs/models.md lists them.
 * Parameters are named by the place of a layer, "layers.0.weight", "layers.2.layers.0.weight", or
 * by its `name`. The last layer is the head, for the precision that goes by it.
 *
 * Layers are kept as one array in which those inside of a layer follow it. How deep they nest is
 * limited by the depth of YAML. */
#include <stdio.h>
#include <string.h>

#include "csengine/model.h"
#include "engine/base/config/settings.h"
#include "engine/base/registry.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/models/layer_types.h"

enum { MAX_LAYERS = 512 };

typedef struct network {
    cse_shape sample; /* of the input */
    int count;
    cse_layer layers[MAX_LAYERS];
} network;

static const cse_setting settings[] = {
    { .name = "input_shape",
      .type = CSE_SETTING_INTEGER_LIST,
      .min = 1,
      .max = 1 << 24,
      .doc = "of one sample: [784], [1, 28, 28] (channel, height, width), [128] (tokens)" },
    { .name = "layers",
      .type = CSE_SETTING_ANY,
      .doc = "a list of relu, {linear: {out: 10}}, ..." },
    { .name = NULL },
};

/* ---- reading ---- */

static cse_status refuse_type(const cse_yaml_node *node, const char *name)
{
    const char *names[64];
    int count = 0;
    for (const cse_layer_type *type = cse_layer_types; type->name != NULL && count < 63; type++)
        names[count++] = type->name;
    names[count] = NULL;
    const char *near = cse_did_you_mean(name, names);
    char accepted[1024] = "accepted: ", hint[128];
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(accepted);
        snprintf(accepted + used, sizeof accepted - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    snprintf(hint, sizeof hint, "did you mean \"%s\"?", near != NULL ? near : "");
    const cse_error error = { .status = CSE_CONFIG,
                              .place = node->place,
                              .hint = near != NULL ? hint : NULL,
                              .accepted = accepted };
    return cse_fail_at(&error, "there is no layer of type \"%.60s\"", name);
}

/* The type of an entry, and the node of its settings (NULL: none). */
static cse_status read_entry(cse_yaml_node *entry, cse_layer *layer, cse_yaml_node **options)
{
    const bool mapping = entry->kind == CSE_YAML_MAPPING && entry->count == 1;
    const bool scalar = entry->kind == CSE_YAML_SCALAR && !cse_yaml_is_null(entry);
    *options = mapping ? entry->children[0] : NULL;
    if (!mapping && !scalar)
        return cse_fail_at(CSE_ERROR_AT(NULL, entry->place),
                           "a layer is the name of a type, or one type with its settings: "
                           "relu, or {linear: {out: 10}}");
    entry->read = true;
    const char *name = mapping ? entry->keys[0].text : entry->text;
    layer->place = entry->place;
    layer->type = cse_layer_type_named(name);
    return layer->type != NULL ? CSE_OK : refuse_type(entry, name);
}

static cse_status build_list(cse_model *model, cse_yaml_node *list, const char *prefix,
                             cse_shape *sample);

/* The setting of a layer that is a list of layers. */
static cse_yaml_node *inner_list(const cse_layer *layer, const char *setting)
{
    return cse_settings_has(layer->settings, setting) ? cse_settings_node(layer->settings, setting)
                                                      : NULL;
}

/* A residual has two lists; those of the shortcut stand behind the others. */
static cse_status build_residual(cse_model *model, cse_layer *layer, cse_shape *sample)
{
    network *self = cse_model_self(model);
    cse_shape around = *sample;
    cse_yaml_node *shortcut = inner_list(layer, "shortcut");
    CSE_TRY(build_list(model, inner_list(layer, "layers"),
                       cse_model_text(model, "%s.layers", layer->name), sample));
    layer->shortcut = self->count;
    if (shortcut != NULL)
        CSE_TRY(build_list(model, shortcut, cse_model_text(model, "%s.shortcut", layer->name),
                           &around));
    return cse_shape_equal(around, *sample)
               ? CSE_OK
               : cse_layer_refuse(layer, *sample,
                                  "layers that keep the shape, or a shortcut that makes the same");
}

static cse_status build_repeat(cse_model *model, cse_layer *layer, cse_shape *sample)
{
    for (int64_t i = 0; i < cse_settings_integer(layer->settings, "count"); i++)
        CSE_TRY(build_list(model, inner_list(layer, "layers"),
                           cse_model_text(model, "%s.%d", layer->name, (int)i), sample));
    return CSE_OK;
}

static cse_status build_layer(cse_model *model, cse_yaml_node *entry, const char *name,
                              cse_shape *sample)
{
    network *self = cse_model_self(model);
    cse_yaml_node *options = NULL;
    cse_settings *checked = NULL;
    if (self->count == MAX_LAYERS)
        return cse_fail_at(CSE_ERROR_AT(NULL, entry->place), "there are more than %d layers",
                           MAX_LAYERS);
    cse_layer *layer = &self->layers[self->count++];
    CSE_TRY(read_entry(entry, layer, &options));
    cse_arena *arena = cse_model_settings_view(model)->arena;
    const char *subject = cse_model_text(model, "layer %s of type %s", name, layer->type->name);
    const cse_settings_expected expected = { .table = layer->type->settings, .subject = subject };
    if (options == NULL)
        options = cse_yaml_mapping_new(arena, entry->place);
    CSE_TRY(cse_settings_check(arena, &expected, options, &checked));
    layer->settings = checked;
    layer->name = cse_settings_has(checked, "name") ? cse_settings_text(checked, "name") : name;
    layer->sample = *sample;
    if (layer->type->build != NULL)
        CSE_TRY(layer->type->build(model, layer, sample));
    else if (strcmp(layer->type->name, "residual") == 0)
        CSE_TRY(build_residual(model, layer, sample));
    else
        CSE_TRY(build_repeat(model, layer, sample));
    layer->end = self->count;
    return CSE_OK;
}

static cse_status build_list(cse_model *model, cse_yaml_node *list, const char *prefix,
                             cse_shape *sample)
{
    if (list == NULL || list->kind != CSE_YAML_SEQUENCE || list->count == 0) {
        const cse_place nowhere = { "layers", 0, 0 };
        return cse_fail_at(CSE_ERROR_AT(NULL, list != NULL ? list->place : nowhere),
                           "%s: a list of layers belongs here, [relu, {linear: {out: 10}}]",
                           prefix);
    }
    list->read = true;
    for (int i = 0; i < list->count; i++)
        CSE_TRY(build_layer(model, list->children[i], cse_model_text(model, "%s.%d", prefix, i),
                            sample));
    return CSE_OK;
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    network *self = cse_model_self(model);
    self->sample.rank = cse_settings_count(s, "input_shape");
    if (self->sample.rank < 1 || self->sample.rank >= CSE_MAX_RANK)
        return cse_fail(CSE_CONFIG, "input_shape (%s) must have 1 to %d entries",
                        cse_settings_origin(s, "input_shape"), CSE_MAX_RANK - 1);
    for (int i = 0; i < self->sample.rank; i++)
        self->sample.dims[i] = cse_settings_integer_at(s, "input_shape", i);
    cse_shape sample = self->sample;
    return build_list(model, cse_settings_node(s, "layers"), "layers", &sample);
}

/* ---- tracing ---- */

static cse_tensor *apply_range(cse_model *model, int first, int end, cse_tensor *x);

static cse_tensor *apply_inside(cse_model *model, int index, cse_tensor *x)
{
    const network *self = cse_model_self(model);
    const cse_layer *layer = &self->layers[index];
    if (strcmp(layer->type->name, "repeat") == 0)
        return apply_range(model, index + 1, layer->end, x);
    cse_tensor *around = apply_range(model, layer->shortcut, layer->end, x);
    return cse_add(around, apply_range(model, index + 1, layer->shortcut, x));
}

static cse_tensor *apply_range(cse_model *model, int first, int end, cse_tensor *x)
{
    const network *self = cse_model_self(model);
    for (int i = first; i < end; i = self->layers[i].end) {
        const cse_layer *layer = &self->layers[i];
        const bool head = i + 1 == self->count;
        if (layer->type->apply == NULL) {
            x = apply_inside(model, i, x);
            continue;
        }
        CSE_MODULE(NULL, layer->name, head ? CSE_MODULE_HEAD : CSE_MODULE_PLAIN)
        {
            x = layer->type->apply(model, layer, x);
        }
    }
    return x;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const network *self = cse_model_self(model);
    cse_shape shape = { .rank = 1 }, given = cse_tensor_shape(input);
    if (cse_trace_is_poison(input))
        return input;
    shape.dims[0] = given.dims[0];
    for (int i = 0; i < self->sample.rank; i++)
        shape.dims[shape.rank++] = self->sample.dims[i];
    if (given.rank < 1 || cse_shape_elements(given) != cse_shape_elements(shape)) {
        char text[128];
        return cse_trace_fail(CSE_SHAPE,
                              "input_shape has %lld values a sample; the data's input is %s, the "
                              "batch first",
                              (long long)cse_shape_elements(self->sample),
                              cse_shape_text(given, text, sizeof text));
    }
    return apply_range(model, 0, self->count, cse_reshape(input, shape));
}

const cse_model_descriptor cse_model_layers = {
    .name = "layers",
    .summary = "network that the configuration describes layer by layer",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(network),
    .build = build,
    .forward = forward,
};
