/* Tokens of a language model in raw files or .npy files, one sequence a file (nanoGPT's train.bin,
 * llm.c's shards, what csengine data tokenize --format npy writes).
 *
 * Sample i of a file takes its tokens from i * sequence_length on, and the one that follows the
 * last as its label; in every other epoch the samples end with the file (windows.h). Tokens are
 * read when they are asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataloader/files/file_list.h"
#include "dataloader/files/part_of.h"
#include "dataloader/formats/npy_file.h"
#include "dataloader/inputs/token_streams.h"
#include "dataloader/positions/windows.h"
#include "engine/base/arena.h"

typedef struct shard {
    cse_npy_header header; /* of raw files, too */
    int64_t first;         /* its first sample among all */
} shard;

typedef struct token_shards {
    cse_file_pool *pool;
    shard *shards; /* by the pool's numbers */
    int capacity;
    int64_t time, samples;
    unsigned char *raw; /* [time + 1] */
} token_shards;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "folder of *.bin and *.npy files, or one such file" },
    { .name = "sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1024",
      .min = 1,
      .max = 1 << 24,
      .doc = "tokens of one sample" },
    { .name = "dtype",
      .type = CSE_SETTING_CHOICE,
      .default_value = "uint16",
      .choices = "uint16|int32|uint32",
      .doc = "of the tokens in *.bin files, little-endian; .npy files say it themselves" },
    { .name = "header_bytes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .min = 0,
      .max = 1 << 20,
      .doc = "what precedes the tokens in *.bin files; 1024 in those of llm.c" },
    { 0 },
};

static cse_status raw_header(const token_shards *self, const cse_settings *settings, int file,
                             cse_npy_header *header)
{
    const char *dtype = cse_settings_text(settings, "dtype");
    const int64_t begin = cse_settings_integer(settings, "header_bytes");
    const int64_t bytes = cse_file_pool_bytes(self->pool, file) - begin;
    *header = (cse_npy_header){ .kind = dtype[0],
                                .size = strcmp(dtype, "uint16") == 0 ? 2 : 4,
                                .offset = begin };
    header->elements = bytes / header->size;
    if (bytes < 0 || bytes % header->size != 0)
        return cse_fail(CSE_DATA,
                        "%s: %" PRId64 " bytes behind a header of %" PRId64
                        " are no whole number of %s: set dtype and header_bytes to what it has",
                        cse_file_pool_path_view(self->pool, file), bytes, begin, dtype);
    return CSE_OK;
}

static cse_status check_header(const token_shards *self, int file, const cse_npy_header *header,
                               bool is_npy)
{
    if (is_npy && (header->shape.rank != 1 || header->kind == 'f' || header->kind == 'b'))
        return cse_fail(CSE_DATA, "%s: accepted is one row of whole numbers",
                        cse_file_pool_path_view(self->pool, file));
    if (header->elements < self->time + 1)
        return cse_fail(CSE_DATA,
                        "%s: it holds %" PRId64 " tokens, expected at least %" PRId64
                        ", sequence_length and the one that follows",
                        cse_file_pool_path_view(self->pool, file), header->elements,
                        self->time + 1);
    return CSE_OK;
}

static cse_status add_file(token_shards *self, const cse_settings *settings, const char *path)
{
    int file;
    const bool is_npy = cse_name_ends(path, ".npy");
    CSE_TRY(cse_file_pool_add(self->pool, path, &file));
    CSE_GROW(self->shards, file, self->capacity);
    shard *s = &self->shards[file];
    CSE_TRY(is_npy ? cse_npy_read_header(self->pool, file, &s->header)
                   : raw_header(self, settings, file, &s->header));
    CSE_TRY(check_header(self, file, &s->header, is_npy));
    s->first = self->samples;
    self->samples += (s->header.elements - 1) / self->time;
    return CSE_OK;
}

static cse_status add_files(token_shards *self, const cse_settings *settings)
{
    struct stat info;
    cse_file_list list = { 0 };
    const char *path = cse_settings_text(settings, "path");
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return add_file(self, settings, path);
    cse_status status = cse_file_list_read(&list, path, ".bin|.npy");
    if (status == CSE_OK && list.count == 0)
        status = cse_fail(CSE_NO_INPUT, "%s: no file ends in .bin or .npy", path);
    for (int i = 0; i < list.count && status == CSE_OK; i++)
        status =
            add_file(self, settings, cse_arena_printf(list.arena, "%s/%s", path, list.names[i]));
    cse_file_list_clear(&list);
    return status;
}

static void token_shards_close(cse_input *input)
{
    token_shards *self = input->self;
    cse_file_pool_destroy(&self->pool);
    free(self->shards);
    free(self->raw);
    free(self);
    input->self = NULL;
}

static cse_status token_shards_open(cse_input *input, const cse_settings *settings)
{
    token_shards *self = input->self = cse_calloc(1, sizeof *self);
    self->pool = cse_file_pool_new(NULL, NULL);
    self->time = cse_settings_integer(settings, "sequence_length");
    cse_status status = add_files(self, settings);
    if (status != CSE_OK) {
        token_shards_close(input);
        return status;
    }
    self->raw = cse_malloc((size_t)(self->time + 1) * 8);
    input->sample_count = self->samples;
    snprintf(input->source, sizeof input->source, "%s", cse_settings_text(settings, "path"));
    cse_describe_tokens(input, self->time, false);
    return CSE_OK;
}

/* The file and the first token of a sample. */
static int find(const token_shards *self, int64_t sample, int64_t epoch, int64_t *token)
{
    const int file = (int)cse_part_of(&self->shards[0].first, sizeof self->shards[0],
                                      cse_file_pool_count(self->pool), sample);
    const int64_t left_over = (self->shards[file].header.elements - 1) % self->time;
    *token = (sample - self->shards[file].first) * self->time + cse_windows_shift(left_over, epoch);
    return file;
}

static int64_t epoch_of(const cse_input *input, int64_t i)
{
    return input->epochs != NULL ? input->epochs[i] : 0;
}

static void expect(const token_shards *self, int64_t sample, int64_t epoch)
{
    int64_t token;
    const int file = find(self, sample, epoch, &token);
    const cse_npy_header *header = &self->shards[file].header;
    cse_file_pool_expect(self->pool, file, header->offset + token * header->size,
                         (size_t)((self->time + 1) * header->size));
}

static cse_status token_shards_read(cse_input *input, const int64_t *indices, int64_t count,
                                    void *const outputs[])
{
    token_shards *self = input->self;
    cse_file_pool_look_once(self->pool);
    for (int64_t i = 0; i < count; i++) {
        int64_t token;
        const int file = find(self, indices[i], epoch_of(input, i), &token);
        if (i + 1 < count)
            expect(self, indices[i + 1], epoch_of(input, i + 1));
        const cse_npy_header *header = &self->shards[file].header;
        CSE_TRY(cse_file_pool_read(self->pool, file, header->offset + token * header->size,
                                   self->raw, (size_t)((self->time + 1) * header->size)));
        cse_npy_convert(header, self->raw, self->time, CSE_INT32,
                        (int32_t *)outputs[CSE_INPUT_IDS_STREAM] + i * self->time);
        cse_npy_convert(header, self->raw + header->size, self->time, CSE_INT32,
                        (int32_t *)outputs[CSE_LABELS_STREAM] + i * self->time);
    }
    return CSE_OK;
}

static void token_shards_locate(const cse_input *input, const cse_element_place *place, char *text,
                                size_t size)
{
    const token_shards *self = input->self;
    int64_t token;
    const int file = find(self, place->sample, place->epoch, &token);
    snprintf(text, size, "%s: token %" PRId64, cse_file_pool_path_view(self->pool, file),
             token + place->element + (place->stream == CSE_LABELS_STREAM));
}

const cse_input_descriptor cse_input_token_shards = {
    .name = "token_shards",
    .summary = "tokens of a language model in raw files or .npy files",
    .settings = settings_table,
    .open = token_shards_open,
    .read = token_shards_read,
    .locate = token_shards_locate,
    .close = token_shards_close,
};
