/* Tokens are shown by what was to be said: the loss of a place is of its label, which of a
 * language model is the next token. */
#include "run/infer/worst_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/base/types/shape.h"
#include "run/infer/sample_view.h"

enum { MOST_TOKENS = 256 };

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* ---- what the model made of a sample ---- */

static json_t *predicted_json(const cse_validated_samples *v, const float *row,
                              const cse_class_names *names)
{
    float logarithms[CSE_CURVE_CLASSES];
    if (v->kind == CSE_ROWS_CLASSES) {
        const int64_t classes = v->columns - 2;
        for (int64_t c = 0; c < classes; c++)
            logarithms[c] = logf(row[2 + c]);
        return cse_classes_json(logarithms, classes, names);
    }
    const char *name = cse_class_name(names, (int64_t)row[2]);
    json_t *one =
        json_pack("{s:I, s:o}", "class", (json_int_t)row[2], "probability", number((double)row[3]));
    if (name != NULL)
        json_object_set_new(one, "name", json_string(name));
    return json_pack("[o]", one);
}

/* ---- tokens ---- */

static const int32_t *stream_of(const cse_input *input, void *const outputs[], const char *name,
                                int64_t length)
{
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        if (strcmp(stream->name, name) == 0 && stream->dtype == CSE_INT32 &&
            stream->shape.rank == 1 && stream->shape.dims[0] == length)
            return outputs[s];
    }
    return NULL;
}

static void add_token(json_t *list, const cse_text_codec *codec, int32_t token, json_t *loss)
{
    cse_text text = { 0 };
    if (token >= 0)
        (void)cse_text_codec_decode(codec, token, &text);
    json_t *one =
        json_pack("{s:o, s:o}", "text", cse_bytes_json(text.size > 0 ? text.data : "", text.size),
                  "loss", loss);
    json_array_append_new(list, one);
    cse_text_clear(&text);
}

/* [{text, loss}], NULL where the data have no such tokens. A token without a loss, such as one that
 * the model was given, has null. */
static json_t *tokens_json(const cse_validated_samples *v, const cse_input *input,
                           void *const outputs[], const float *row, const cse_text_codec *codec)
{
    const int64_t length = v->columns;
    const int32_t *labels = stream_of(input, outputs, "labels", length);
    const int32_t *inputs = stream_of(input, outputs, "input_ids", length);
    if (codec == NULL || labels == NULL)
        return NULL;
    json_t *list = json_array();
    if (inputs != NULL && length > 1 && labels[0] == inputs[1])
        add_token(list, codec, inputs[0], json_null());
    for (int64_t t = 0; t < length && t < MOST_TOKENS; t++)
        if (!(row[t] < 0))
            add_token(list, codec, labels[t], number((double)row[t]));
        else if (inputs != NULL)
            add_token(list, codec, inputs[t], json_null());
    return list;
}

/* ---- samples ---- */

typedef struct reading {
    const cse_validated_samples *validated;
    const cse_input *input;
    const cse_class_names *names;
    const cse_text_codec *codec;
} reading;

static json_t *sample_json(const reading *r, const cse_worst_sample *worst, void *const outputs[])
{
    const cse_validated_samples *v = r->validated;
    json_t *view = cse_sample_view(r->input, outputs, 0, worst->number, r->codec), *tokens;
    json_object_set_new(view, "loss", number(worst->loss));
    switch (v->kind) {
    case CSE_ROWS_CLASSES:
    case CSE_ROWS_CONFIDENCE:
        json_object_set_new(view, "predicted", predicted_json(v, worst->row, r->names));
        break;
    case CSE_ROWS_TOKENS:
        tokens = tokens_json(v, r->input, outputs, worst->row, r->codec);
        if (tokens != NULL)
            json_object_set_new(view, "tokens", tokens);
        break;
    case CSE_ROWS_NUMBERS:
        json_object_set_new(view, "target", number((double)worst->row[1]));
        json_object_set_new(view, "output", number((double)worst->row[2]));
        break;
    case CSE_ROWS_NONE:
        break;
    }
    return view;
}

/* Memory of one sample of each stream, in `outputs`; to be freed as one. */
static void *outputs_of(const cse_input *input, void *outputs[])
{
    size_t bytes = 0;
    for (int s = 0; s < input->stream_count; s++)
        bytes += (size_t)cse_shape_elements(input->streams[s].shape) * 4 + 64;
    unsigned char *memory = cse_calloc(bytes, 1), *at = memory;
    for (int s = 0; s < input->stream_count; s++) {
        outputs[s] = at;
        at += ((size_t)cse_shape_elements(input->streams[s].shape) * 4 + 63) / 64 * 64;
    }
    return memory;
}

static cse_status read_worst(const reading *r, cse_dataloader *loader, json_t *list)
{
    void *outputs[CSE_MAX_STREAMS];
    const cse_validated_samples *v = r->validated;
    void *memory = outputs_of(r->input, outputs);
    cse_status status = CSE_OK;
    for (int i = 0; i < v->count && status == CSE_OK; i++) {
        status = cse_dataloader_read_samples(loader, v->worst[i].number, 1, outputs);
        if (status == CSE_OK)
            json_array_append_new(list, sample_json(r, &v->worst[i], outputs));
    }
    free(memory);
    return status;
}

static json_t *names_json(const cse_class_names *names, int64_t classes)
{
    if (names->count != classes)
        return json_null();
    json_t *list = json_array();
    for (int64_t c = 0; c < classes; c++) {
        const char *name = cse_class_name(names, c);
        json_array_append_new(list, cse_bytes_json(name, strlen(name)));
    }
    return list;
}

cse_status cse_worst_samples_json(const cse_validated_samples *v, cse_dataloader *loader,
                                  const cse_class_names *names, const cse_text_codec *codec,
                                  json_t **report)
{
    static const char *const losses[] = { [CSE_ROWS_NONE] = "none",
                                          [CSE_ROWS_CLASSES] = "label",
                                          [CSE_ROWS_CONFIDENCE] = "label",
                                          [CSE_ROWS_TOKENS] = "tokens",
                                          [CSE_ROWS_NUMBERS] = "squares" };
    json_t *list = json_array();
    *report = json_pack("{s:I, s:s, s:o}", "samples", (json_int_t)v->seen, "loss", losses[v->kind],
                        "worst", list);
    if (v->kind == CSE_ROWS_CLASSES || v->kind == CSE_ROWS_CONFIDENCE)
        json_object_set_new(*report, "calibration", cse_calibration_json(&v->curves));
    if (v->kind == CSE_ROWS_CLASSES) {
        json_object_set_new(*report, "classes", names_json(names, v->columns - 2));
        json_object_set_new(*report, "precision", cse_precision_json(&v->curves));
    }
    const reading r = { v, cse_dataloader_input_view(loader), names, codec };
    return read_worst(&r, loader, list);
}
