/* Samples from any file as a sequence of bytes, for language models without a tokenizer: each byte
 * is a token, the vocabulary is 256.
 *
 * Sample i holds the bytes from i * stride on: sequence_length of them as input_ids, and the
 * bytes one place further as labels, so that each label is the byte that follows. With the default
 * stride, sequence_length, every byte is used once an epoch, but for those at the end that do not
 * fill a sample: in every other epoch the samples end with the file, and the first bytes are left
 * out in their place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dataloader/input.h"
#include "dataloader/positions/windows.h"
#include "engine/base/arena.h"

enum { INPUT_IDS_STREAM, LABELS_STREAM, STREAM_COUNT };

#define MOST_BYTES ((size_t)1 << 32) /* the content is kept in memory */

typedef struct text_bytes {
    unsigned char *bytes;
    int64_t sequence_length, stride, left_over;
    char *path;
} text_bytes;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "the file, plain or compressed with gzip or zstd" },
    { .name = "sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "128",
      .min = 1,
      .max = 1 << 24,
      .doc = "tokens of one sample" },
    { .name = "stride",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 30,
      .doc = "bytes from the start of one sample to that of the next; null: sequence_length" },
    { 0 },
};

static cse_status load(text_bytes *self, const char *path, size_t *size)
{
    cse_byte_source *source;
    CSE_TRY(cse_byte_source_open(path, &source));
    cse_status status = cse_byte_source_take(source, MOST_BYTES, &self->bytes, size);
    cse_byte_source_close(&source);
    CSE_TRY(status);
    if (*size == MOST_BYTES)
        return cse_fail(CSE_DATA, "%s: the content has %zu bytes or more, expected fewer: split it",
                        path, MOST_BYTES);
    if (*size < (size_t)self->sequence_length + 1)
        return cse_fail(CSE_DATA,
                        "%s: offset %zu: the content ends here, expected at least %" PRId64
                        " bytes, sequence_length and the one that follows: set sequence_length to "
                        "what the file holds, or give a longer file",
                        path, *size, self->sequence_length + 1);
    return CSE_OK;
}

static void text_bytes_close(cse_input *input)
{
    text_bytes *self = input->self;
    free(self->bytes);
    free(self->path);
    free(self);
    input->self = NULL;
}

static cse_status text_bytes_open(cse_input *input, const cse_settings *settings)
{
    size_t size = 0;
    text_bytes *self = input->self = cse_calloc(1, sizeof *self);
    self->sequence_length = cse_settings_integer(settings, "sequence_length");
    self->stride = cse_settings_has(settings, "stride") ? cse_settings_integer(settings, "stride")
                                                        : self->sequence_length;
    self->path = cse_strdup(cse_settings_text(settings, "path"));
    cse_status status = load(self, self->path, &size);
    if (status != CSE_OK) {
        text_bytes_close(input);
        return status;
    }
    input->sample_count = ((int64_t)size - self->sequence_length - 1) / self->stride + 1;
    self->left_over = ((int64_t)size - self->sequence_length - 1) % self->stride;
    snprintf(input->source, sizeof input->source, "%s", cse_settings_text(settings, "path"));
    input->stream_count = STREAM_COUNT;
    for (int s = 0; s < STREAM_COUNT; s++)
        input->streams[s] = (cse_stream){
            .name = s == INPUT_IDS_STREAM ? "input_ids" : "labels",
            .shape = cse_shape_of(self->sequence_length),
            .dtype = CSE_INT32,
        };
    return CSE_OK;
}

static int64_t first_byte(const text_bytes *self, int64_t sample, int64_t epoch)
{
    return sample * self->stride + cse_windows_shift(self->left_over, epoch);
}

/* Labels are one byte further on. */
static void text_bytes_locate(const cse_input *input, const cse_element_place *place, char *text,
                              size_t size)
{
    const text_bytes *self = input->self;
    snprintf(text, size, "%s: offset %" PRId64, self->path,
             first_byte(self, place->sample, place->epoch) + place->element +
                 (place->stream == LABELS_STREAM));
}

static cse_status text_bytes_read(cse_input *input, const int64_t *indices, int64_t count,
                                  void *const outputs[])
{
    const text_bytes *self = input->self;
    int32_t *input_ids = outputs[INPUT_IDS_STREAM], *labels = outputs[LABELS_STREAM];
    for (int64_t i = 0; i < count; i++) {
        const int64_t epoch = input->epochs != NULL ? input->epochs[i] : 0;
        const unsigned char *bytes = self->bytes + first_byte(self, indices[i], epoch);
        for (int64_t t = 0; t < self->sequence_length; t++) {
            *input_ids++ = bytes[t];
            *labels++ = bytes[t + 1];
        }
    }
    return CSE_OK;
}

const cse_input_descriptor cse_input_text_bytes = {
    .name = "text_bytes",
    .summary = "any file as a sequence of bytes, each with the byte that follows",
    .settings = settings_table,
    .open = text_bytes_open,
    .read = text_bytes_read,
    .locate = text_bytes_locate,
    .close = text_bytes_close,
};
