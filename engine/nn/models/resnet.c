/* resnet: residual networks of images (He et al. 2016), in torchvision's form of ResNet v1.5: the
 * stride of a bottleneck is that of its 3 x 3 convolution.
 *
 *   images -> conv 7x7 / 2 -> batch norm -> relu -> max pool 3x3 / 2
 *     -> four stages of blocks, each of half the pixels and twice the channels of the one before
 *     -> mean over the pixels -> linear
 *
 * `depths`, `hidden_sizes` and `block_type` describe others than the three of `depth`, as Hugging
 * Face has them: `nonlinearity` is that of the first convolution and of the end of each block.
 *
 * Depths 18 and 34 have blocks of two 3 x 3 convolutions, 50 bottlenecks of 1 x 1, 3 x 3 and 1 x 1.
 * With `small_images` the network begins with a 3 x 3 convolution and without pooling, as is usual
 * for 32 x 32 pixels. Parameters have torchvision's names: conv1, bn1, layer1.0.conv1, .bn1, ...,
 * layerN.0.downsample.0 and .1, fc. Convolutions begin by He's rule of the outputs. */
#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/nn/models/images.h"

enum { STAGES = 4, MAX_STAGES = 8, MAX_BLOCKS = 256, MAX_CONVOLUTIONS = 3 };

/* A convolution without a bias, and its batch norm. */
typedef struct unit {
    cse_conv2d_layer conv;
    cse_batch_norm_layer norm;
} unit;

typedef struct block {
    const char *name;
    int count; /* of convolutions */
    unit units[MAX_CONVOLUTIONS], shortcut;
    bool has_shortcut;
} block;

typedef struct resnet {
    cse_image_size size;
    bool small_images;
    const char *activation;
    unit first;
    int block_count;
    block blocks[MAX_BLOCKS];
    cse_linear_layer last;
} resnet;

static const struct depth {
    int64_t layers;
    int blocks[STAGES];
    bool bottleneck;
} depths[] = {
    { 18, { 2, 2, 2, 2 }, false },
    { 34, { 3, 4, 6, 3 }, false },
    { 50, { 3, 4, 6, 3 }, true },
};

static const cse_setting settings[] = {
    { .name = "depth",
      .type = CSE_SETTING_INTEGER,
      .default_value = "18",
      .min = 18,
      .max = 50,
      .doc = "18, 34 or 50 layers" },
    CSE_IMAGE_SETTINGS("[224, 224]", "3"),
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1000",
      .min = 1,
      .max = 1 << 20,
      .doc = "outputs" },
    { .name = "width",
      .type = CSE_SETTING_INTEGER,
      .default_value = "64",
      .min = 1,
      .max = 1 << 12,
      .doc = "channels of the first convolution" },
    { .name = "depths",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "null",
      .min = 1,
      .max = 128,
      .doc = "blocks of each stage, up to 8 stages; null: those of depth" },
    { .name = "hidden_sizes",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "null",
      .min = 4,
      .max = 1 << 16,
      .doc = "channels that leave each stage; null: width, or 4 times that of bottlenecks, and "
             "twice as many in each further one" },
    { .name = "block_type",
      .type = CSE_SETTING_CHOICE,
      .default_value = "null",
      .choices = "basic|bottleneck|null",
      .doc = "two convolutions of 3 x 3, or 1 x 1, 3 x 3 and 1 x 1; null: that of depth" },
    { .name = "downsample_in_first_stage",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "the first stage has half the pixels, too" },
    { .name = "downsample_in_bottleneck",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "the stride of a bottleneck is that of its first convolution (v1)" },
    { .name = "nonlinearity",
      .type = CSE_SETTING_CHOICE,
      .default_value = "relu",
      .choices = CSE_ACTIVATION_NAMES,
      .doc = "of the first convolution and behind the sums; within blocks it is relu" },
    { .name = "small_images",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "begin with a 3 x 3 convolution of stride 1 and without pooling" },
    { .name = NULL },
};

/* ---- parameters ---- */

typedef struct unit_shape {
    int64_t in, out, kernel, stride;
} unit_shape;

/* What the stages are made of. */
typedef struct plan {
    int stages;
    int64_t blocks[MAX_STAGES], channels[MAX_STAGES]; /* that leave the stage */
    bool bottleneck, early; /* early: the stride is that of the first convolution */
} plan;

static unit build_unit(cse_model *model, const char *conv, const char *norm, unit_shape shape)
{
    const cse_conv2d_module_options options = {
        .in = shape.in,
        .out = shape.out,
        .kernel = { shape.kernel, shape.kernel },
        .conv = { .stride = { shape.stride, shape.stride },
                  .padding = { shape.kernel / 2, shape.kernel / 2 } },
        .no_bias = true,
        .has_initial = true,
        .weight = cse_initial_scaled(2, CSE_FAN_OUT, CSE_DISTRIBUTION_NORMAL),
    };
    unit result;
    result.conv = cse_conv2d_parameters(model, conv, &options);
    result.norm = cse_batch_norm_parameters(model, norm, shape.out);
    return result;
}

/* Declares the block. */
static void build_block(cse_model *model, block *b, const plan *p, unit_shape shape)
{
    const bool bottleneck = p->bottleneck;
    const int64_t out = shape.out, inner = bottleneck ? out / 4 : out;
    const int64_t early = p->early ? shape.stride : 1, late = p->early ? 1 : shape.stride;
    const unit_shape two[] = { { shape.in, inner, 3, shape.stride }, { inner, inner, 3, 1 } };
    const unit_shape three[] = { { shape.in, inner, 1, early },
                                 { inner, inner, 3, late },
                                 { inner, out, 1, 1 } };
    b->count = bottleneck ? 3 : 2;
    for (int i = 0; i < b->count; i++)
        b->units[i] = build_unit(model, cse_model_text(model, "%s.conv%d", b->name, i + 1),
                                 cse_model_text(model, "%s.bn%d", b->name, i + 1),
                                 bottleneck ? three[i] : two[i]);
    b->has_shortcut = shape.stride != 1 || shape.in != out;
    if (b->has_shortcut)
        b->shortcut = build_unit(model, cse_model_text(model, "%s.downsample.0", b->name),
                                 cse_model_text(model, "%s.downsample.1", b->name),
                                 (unit_shape){ shape.in, out, 1, shape.stride });
}

static const struct depth *depth_of(const cse_settings *s)
{
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++)
        if (depths[i].layers == cse_settings_integer(s, "depth"))
            return &depths[i];
    return NULL;
}

/* A list of the stages into values; *count: as many as there are. */
static cse_status read_list(const cse_settings *s, const char *name, int64_t *values, int *count)
{
    *count = cse_settings_count(s, name);
    if (*count < 1 || *count > MAX_STAGES)
        return cse_fail(CSE_CONFIG, "%s (%s) has %d entries; accepted: 1 to %d", name,
                        cse_settings_origin(s, name), *count, MAX_STAGES);
    for (int i = 0; i < *count; i++)
        values[i] = cse_settings_integer_at(s, name, i);
    return CSE_OK;
}

static cse_status read_plan(const cse_settings *s, plan *p)
{
    const struct depth *depth = depth_of(s);
    const int64_t width = cse_settings_integer(s, "width");
    int sizes = 0;
    int64_t all = 0;
    if (depth == NULL)
        return cse_fail(CSE_CONFIG, "depth (%s) is %lld; accepted: 18, 34, 50",
                        cse_settings_origin(s, "depth"),
                        (long long)cse_settings_integer(s, "depth"));
    *p = (plan){ .stages = STAGES,
                 .bottleneck = depth->bottleneck,
                 .early = cse_settings_bool(s, "downsample_in_bottleneck") };
    if (cse_settings_has(s, "block_type"))
        p->bottleneck = cse_settings_text(s, "block_type")[1] == 'o';
    if (cse_settings_has(s, "depths"))
        CSE_TRY(read_list(s, "depths", p->blocks, &p->stages));
    else
        for (int i = 0; i < STAGES; i++)
            p->blocks[i] = depth->blocks[i];
    for (int i = 0; i < p->stages; i++) {
        p->channels[i] = (width << i) * (p->bottleneck ? 4 : 1);
        all += p->blocks[i];
    }
    if (cse_settings_has(s, "hidden_sizes"))
        CSE_TRY(read_list(s, "hidden_sizes", p->channels, &sizes));
    if (cse_settings_has(s, "hidden_sizes") && sizes != p->stages)
        return cse_fail(CSE_CONFIG, "hidden_sizes (%s) has %d entries, but there are %d stages",
                        cse_settings_origin(s, "hidden_sizes"), sizes, p->stages);
    return all <= MAX_BLOCKS ? CSE_OK
                             : cse_fail(CSE_CONFIG, "depths (%s): more than %d blocks",
                                        cse_settings_origin(s, "depths"), MAX_BLOCKS);
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    resnet *self = cse_model_self(model);
    plan p;
    const int64_t width = cse_settings_integer(s, "width");
    const bool early = cse_settings_bool(s, "downsample_in_first_stage");
    int64_t channels = width;
    CSE_TRY(cse_image_size_read(s, &self->size));
    CSE_TRY(read_plan(s, &p));
    self->activation = cse_settings_text(s, "nonlinearity");
    self->small_images = cse_settings_bool(s, "small_images");
    self->first = build_unit(model, "conv1", "bn1",
                             (unit_shape){ self->size.channels, width, self->small_images ? 3 : 7,
                                           self->small_images ? 1 : 2 });
    for (int stage = 0; stage < p.stages; stage++)
        for (int i = 0; i < p.blocks[stage]; i++) {
            const bool halves = i == 0 && (stage > 0 || early);
            block *b = &self->blocks[self->block_count++];
            b->name = cse_model_text(model, "layer%d.%d", stage + 1, i);
            build_block(model, b, &p,
                        (unit_shape){ channels, p.channels[stage], 0, halves ? 2 : 1 });
            channels = p.channels[stage];
        }
    self->last =
        cse_linear_parameters(model, "fc", channels, cse_settings_integer(s, "num_classes"), true);
    return CSE_OK;
}

/* ---- tracing ---- */

static cse_tensor *apply_unit(const cse_model *model, const unit *u, cse_tensor *x)
{
    return cse_apply_batch_norm(model, &u->norm, cse_apply_conv2d(&u->conv, x));
}

static cse_tensor *apply_block(const cse_model *model, const resnet *self, const block *b,
                               cse_tensor *x)
{
    cse_tensor *shortcut = x;
    CSE_SCOPE(NULL, b->name)
    {
        for (int i = 0; i < b->count; i++) {
            x = apply_unit(model, &b->units[i], x);
            x = i + 1 < b->count ? cse_relu(x) : x;
        }
        if (b->has_shortcut)
            shortcut = apply_unit(model, &b->shortcut, shortcut);
        x = cse_activate(self->activation, cse_add(x, shortcut));
    }
    return x;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const resnet *self = cse_model_self(model);
    const cse_pool2d_options pool = { .kernel = { 3, 3 }, .stride = { 2, 2 }, .padding = { 1, 1 } };
    cse_tensor *x = cse_images_of(input, self->size);
    CSE_SCOPE(NULL, "conv1")
    {
        x = cse_activate(self->activation, apply_unit(model, &self->first, x));
        x = self->small_images ? x : cse_max_pool2d(x, &pool);
    }
    for (int i = 0; i < self->block_count; i++)
        x = apply_block(model, self, &self->blocks[i], x);
    CSE_MODULE(NULL, "fc", CSE_MODULE_HEAD)
    {
        x = cse_apply_linear(self->last, cse_mean(x, cse_axes(2, 3), false));
    }
    return x;
}

const cse_model_descriptor cse_model_resnet = {
    .name = "resnet",
    .summary = "residual network of images with batch norm, of 18, 34, 50 or other layers",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(resnet),
    .build = build,
    .forward = forward,
};
