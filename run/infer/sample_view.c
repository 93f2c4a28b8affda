/* Which values are a picture is told by name and shape, as a model's input has them. */
#include "run/infer/sample_view.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/types/shape.h"

enum {
    MOST_SIDE = 64,
    LEAST_SIDE = 8,
    MOST_TOKENS = 96,
    MOST_VALUES = 8,
    MOST_CLASSES = 3,
    PLACE_BYTES = 4352
};

typedef struct picture_shape {
    int channels;
    int64_t height, width;
} picture_shape;

json_t *cse_bytes_json(const char *bytes, size_t size)
{
    cse_text text = { 0 };
    for (size_t i = 0; i < size;) {
        const size_t length = cse_utf8_length(bytes + i, size - i);
        cse_text_add_bytes(&text, length > 0 ? bytes + i : "\xEF\xBF\xBD", length > 0 ? length : 3);
        i += length > 0 ? length : 1;
    }
    json_t *json = json_stringn(text.size > 0 ? text.data : "", text.size);
    cse_text_clear(&text);
    return json;
}

/* ---- pictures ---- */

static bool square(int64_t pixels, int channels, picture_shape *shape)
{
    const int64_t side = (int64_t)llround(sqrt((double)(pixels / channels)));
    *shape = (picture_shape){ channels, side, side };
    return side >= LEAST_SIDE && side * side * channels == pixels;
}

static bool shape_of(const cse_stream *stream, picture_shape *shape)
{
    const cse_shape s = stream->shape;
    if (stream->dtype != CSE_FLOAT32 || strcmp(stream->name, "images") != 0)
        return false;
    if (s.rank == 3 && (s.dims[0] == 1 || s.dims[0] == 3)) {
        *shape = (picture_shape){ (int)s.dims[0], s.dims[1], s.dims[2] };
        return s.dims[1] > 0 && s.dims[2] > 0;
    }
    return s.rank == 1 && (square(s.dims[0], 1, shape) || square(s.dims[0], 3, shape));
}

int cse_picture_stream(const cse_input *input)
{
    picture_shape shape;
    for (int s = 0; s < input->stream_count; s++)
        if (shape_of(&input->streams[s], &shape))
            return s;
    return -1;
}

/* What was subtracted and divided is not known here: from the least value to the greatest. */
static void limits(const float *values, int64_t count, float *least, float *scale)
{
    float greatest = -INFINITY;
    *least = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        *least = fminf(*least, values[i]);
        greatest = fmaxf(greatest, values[i]);
    }
    *scale = greatest > *least ? 255.0f / (greatest - *least) : 0;
}

static json_t *picture_json(const picture_shape *shape, const float *values)
{
    const int64_t longest = shape->width > shape->height ? shape->width : shape->height;
    const int64_t step = (longest + MOST_SIDE - 1) / MOST_SIDE;
    const int64_t width = (shape->width + step - 1) / step;
    const int64_t height = (shape->height + step - 1) / step;
    const int64_t plane = shape->width * shape->height;
    float least, scale;
    unsigned char pixels[MOST_SIDE * MOST_SIDE * 3];
    char text[sodium_base64_ENCODED_LEN(sizeof pixels, sodium_base64_VARIANT_ORIGINAL)];
    size_t count = 0;
    limits(values, plane * shape->channels, &least, &scale);
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int c = 0; c < shape->channels; c++) {
                const float value = values[c * plane + y * step * shape->width + x * step];
                pixels[count++] =
                    isfinite(value) ? (unsigned char)lroundf((value - least) * scale) : 0;
            }
    sodium_bin2base64(text, sizeof text, pixels, count, sodium_base64_VARIANT_ORIGINAL);
    return json_pack("{s:I, s:I, s:i, s:s}", "width", (json_int_t)width, "height",
                     (json_int_t)height, "channels", shape->channels, "pixels", text);
}

/* ---- other samples ---- */

int cse_token_stream(const cse_input *input)
{
    for (int s = 0; s < input->stream_count; s++)
        if (strcmp(input->streams[s].name, "input_ids") == 0 &&
            input->streams[s].dtype == CSE_INT32 && input->streams[s].shape.rank == 1)
            return s;
    return -1;
}

static json_t *text_of(const cse_text_codec *codec, const int32_t *tokens, int64_t count)
{
    cse_text text = { 0 };
    for (int64_t i = 0; i < count && i < MOST_TOKENS; i++)
        if (tokens[i] < 0 || cse_text_codec_decode(codec, tokens[i], &text) != CSE_OK)
            break;
    json_t *json = cse_bytes_json(text.size > 0 ? text.data : "", text.size);
    cse_text_clear(&text);
    return json;
}

static json_t *values_of(const cse_stream *stream, const void *values)
{
    json_t *list = json_array();
    const int64_t count = cse_shape_elements(stream->shape);
    for (int64_t i = 0; i < count && i < MOST_VALUES; i++) {
        const float number = ((const float *)values)[i];
        json_array_append_new(list, stream->dtype == CSE_INT32
                                        ? json_integer(((const int32_t *)values)[i])
                                    : isfinite(number) ? json_real((double)number)
                                                       : json_null());
    }
    return list;
}

static const void *sample_of(const cse_stream *stream, void *const output, int64_t i)
{
    return (const unsigned char *)output +
           i * cse_shape_elements(stream->shape) * (int64_t)cse_dtype_size(stream->dtype);
}

static void add_label(const cse_input *input, void *const outputs[], int64_t i, json_t *view)
{
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        if (strcmp(stream->name, "labels") != 0 || stream->shape.rank != 0 ||
            stream->dtype != CSE_INT32)
            continue;
        const int32_t label = *(const int32_t *)sample_of(stream, outputs[s], i);
        json_object_set_new(view, "label", json_integer(label));
        if (label >= 0 && label < input->class_count)
            json_object_set_new(
                view, "name",
                cse_bytes_json(input->class_names[label], strlen(input->class_names[label])));
    }
}

json_t *cse_sample_view(const cse_input *input, void *const outputs[], int64_t i, int64_t number,
                        const cse_text_codec *codec)
{
    char place[PLACE_BYTES] = "";
    picture_shape shape;
    const int picture = cse_picture_stream(input), tokens = cse_token_stream(input);
    json_t *view = json_pack("{s:I}", "sample", (json_int_t)number);
    if (input->descriptor->locate != NULL)
        input->descriptor->locate(input, &(cse_element_place){ .sample = number }, place,
                                  sizeof place);
    if (place[0] != '\0')
        json_object_set_new(view, "place", cse_bytes_json(place, strlen(place)));
    add_label(input, outputs, i, view);
    if (picture >= 0 && shape_of(&input->streams[picture], &shape))
        json_object_set_new(
            view, "picture",
            picture_json(&shape, sample_of(&input->streams[picture], outputs[picture], i)));
    else if (tokens >= 0 && codec != NULL)
        json_object_set_new(view, "text",
                            text_of(codec, sample_of(&input->streams[tokens], outputs[tokens], i),
                                    input->streams[tokens].shape.dims[0]));
    else
        json_object_set_new(
            view, "values",
            values_of(&input->streams[0], sample_of(&input->streams[0], outputs[0], i)));
    return view;
}

/* ---- predictions ---- */

json_t *cse_classes_json(const float *logits, int64_t count, const cse_class_names *names)
{
    json_t *list = json_array();
    int64_t shown[MOST_CLASSES];
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, (double)logits[i]);
    for (int64_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - largest);
    for (int64_t k = 0; k < MOST_CLASSES && k < count; k++) {
        shown[k] = -1;
        for (int64_t i = 0; i < count; i++) {
            bool taken = false;
            for (int64_t j = 0; j < k; j++)
                taken = taken || shown[j] == i;
            if (!taken && (shown[k] < 0 || logits[i] > logits[shown[k]]))
                shown[k] = i;
        }
        const double probability = exp((double)logits[shown[k]] - largest) / sum;
        const char *name = cse_class_name(names, shown[k]);
        json_t *entry = json_pack("{s:I}", "class", (json_int_t)shown[k]);
        if (name != NULL)
            json_object_set_new(entry, "name", json_string(name));
        json_object_set_new(entry, "probability",
                            isfinite(probability) ? json_real(probability) : json_null());
        json_array_append_new(list, entry);
    }
    return list;
}
