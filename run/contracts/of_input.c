/* An input function opens, describes its streams, reads the values of its own samples, gives the
 * same bits for the same sample in any order and from any opening, and refuses wrong settings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/arena.h"
#include "engine/base/config/dataloader_table.h"
#include "engine/base/directory.h"
#include "run/contracts/contract.h"
#include "run/contracts/traced_run.h"

enum { COUNT = 10, MOST_PASS_BYTES = 1 << 24 };

static cse_status write_file(const char *path, const void *bytes, size_t size, bool gzip)
{
    gzFile file = gzopen(path, gzip ? "wb" : "wbT"); /* T: as it is */
    bool good = file != NULL && (size == 0 || gzwrite(file, bytes, (unsigned)size) == (int)size);
    if (file != NULL && gzclose(file) != Z_OK)
        good = false;
    return good ? CSE_OK : cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(errno));
}

/* With the folders in its name; with * in it, COUNT files with a number there. */
static cse_status write_named(const cse_contract *contract, const cse_input_sample *sample, int i,
                              int number)
{
    char path[1024];
    const char *name = sample->files[i].name, *text = sample->files[i].text;
    const char *star = strchr(name, '*');
    const size_t size = sample->files[i].size > 0 ? sample->files[i].size : strlen(text);
    if (star != NULL)
        snprintf(path, sizeof path, "%s/%.*s%d%s", contract->folder, (int)(star - name), name,
                 number, star + 1);
    else
        snprintf(path, sizeof path, "%s/%s", contract->folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    CSE_TRY(cse_make_directories("the folder of a sample", path));
    *slash = '/';
    return write_file(path, text, size, sample->files[i].gzip);
}

static cse_status write_files(const cse_contract *contract, const cse_input_sample *sample)
{
    for (int i = 0; i < CSE_INPUT_SAMPLE_FILES && sample->files[i].name != NULL; i++)
        for (int n = 0; n == 0 || (n < COUNT && strchr(sample->files[i].name, '*') != NULL); n++)
            CSE_TRY(write_named(contract, sample, i, n));
    return CSE_OK;
}

static cse_status open_sample(const cse_contract *contract, const cse_input_sample *sample,
                              int batch_size, cse_dataloader **loader)
{
    char settings[1024], yaml[2048];
    cse_contract_text(contract, sample->settings, settings, sizeof settings);
    snprintf(yaml, sizeof yaml,
             "{data_processor: %s, batch_size: %d, micro_batch_size: 1, shuffle: true, %s}",
             contract->plugin, batch_size, settings);
    return cse_loader_open(yaml, 1, loader);
}

static cse_status check_description(const cse_input *input)
{
    if (input->sample_count < COUNT || input->stream_count < 1 ||
        input->stream_count > CSE_MAX_STREAMS)
        return cse_fail(CSE_DATA,
                        "it has %lld samples of %d streams: a test case needs %d samples or more, "
                        "and 1 to %d streams",
                        (long long)input->sample_count, input->stream_count, COUNT,
                        CSE_MAX_STREAMS);
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        bool good = stream->name != NULL && stream->name[0] != '\0' &&
                    (stream->dtype == CSE_FLOAT32 || stream->dtype == CSE_INT32) &&
                    stream->shape.rank >= 0 && stream->shape.rank <= CSE_MAX_RANK &&
                    cse_shape_elements(stream->shape) >= 1;
        for (int other = 0; other < s && good; other++)
            good = strcmp(stream->name, input->streams[other].name) != 0;
        if (!good)
            return cse_fail(CSE_DATA,
                            "stream %d has no name of its own, another type than float32 "
                            "and int32, or a wrong shape",
                            s);
    }
    return CSE_OK;
}

static size_t sample_bytes(const cse_stream *stream)
{
    return (size_t)cse_shape_elements(stream->shape) * cse_dtype_size(stream->dtype);
}

/* Samples of every stream, in memory that is exactly as large and was full of other bits, so that a
 * sanitizer sees a write beyond it and a missing write shows. */
static cse_status read_samples(const cse_input *shared, const int64_t *indices, int64_t count,
                               unsigned char *outputs[CSE_MAX_STREAMS], int filler)
{
    cse_input *input = (cse_input *)(uintptr_t)shared;
    for (int s = 0; s < input->stream_count; s++) {
        size_t bytes = sample_bytes(&input->streams[s]) * (size_t)count;
        outputs[s] = cse_malloc(bytes);
        memset(outputs[s], filler, bytes);
    }
    return input->descriptor->read(input, indices, count, (void *const *)outputs);
}

static void free_samples(const cse_input *input, unsigned char *outputs[CSE_MAX_STREAMS])
{
    for (int s = 0; s < input->stream_count; s++)
        free(outputs[s]);
}

/* One sample from a second opening, against its place among all. */
static cse_status compare_one(const cse_input *again, int64_t index,
                              unsigned char *const in_order[], unsigned char *const mixed[],
                              int64_t place)
{
    unsigned char *one[CSE_MAX_STREAMS] = { NULL };
    cse_status status = read_samples(again, &index, 1, one, 0x33);
    for (int s = 0; s < again->stream_count && status == CSE_OK; s++) {
        size_t bytes = sample_bytes(&again->streams[s]);
        const unsigned char *expected = in_order[s] + (size_t)index * bytes;
        if (memcmp(mixed[s] + (size_t)place * bytes, expected, bytes) != 0 ||
            memcmp(one[s], expected, bytes) != 0)
            status = cse_fail(CSE_DATA,
                              "sample %lld of stream %s has other bits in another order or from "
                              "another opening: it must depend on its index and the settings alone",
                              (long long)index, again->streams[s].name);
    }
    free_samples(again, one);
    return status;
}

static cse_status check_random_access(const cse_input *input, const cse_input *again)
{
    int64_t forward[COUNT], mixed[COUNT];
    unsigned char *in_order[CSE_MAX_STREAMS] = { NULL }, *in_disorder[CSE_MAX_STREAMS] = { NULL };
    for (int i = 0; i < COUNT; i++) {
        forward[i] = i;
        mixed[i] = (i * 7 + 5) % COUNT;
    }
    cse_status status = read_samples(input, forward, COUNT, in_order, 0x55);
    if (status == CSE_OK)
        status = read_samples(input, mixed, COUNT, in_disorder, 0xaa);
    for (int64_t i = 0; i < COUNT && status == CSE_OK; i++)
        status = compare_one(again, mixed[i], in_order, in_disorder, i);
    free_samples(input, in_order);
    free_samples(input, in_disorder);
    return status;
}

static int compare_bytes(const void *a, const void *b, void *size)
{
    return memcmp(a, b, *(const size_t *)size);
}

/* Microbatches by the loader: twice, from a late step backwards, and from another opening. */
static cse_status check_positions(cse_dataloader *loader, cse_dataloader *again)
{
    size_t bytes = (size_t)cse_dataloader_microbatch_bytes(loader);
    unsigned char *first = cse_aligned_calloc(bytes), *second = cse_aligned_calloc(bytes);
    cse_status status = CSE_OK;
    for (int64_t step = 11; step >= 0 && status == CSE_OK; step--)
        for (int64_t m = 0; m < 4 && status == CSE_OK; m++) {
            memset(first, 0x55, bytes);
            memset(second, 0xaa, bytes);
            status = cse_dataloader_read(loader, step, m, first);
            if (status == CSE_OK)
                status = cse_dataloader_read(again, step, 3 - m, second);
            if (status == CSE_OK)
                status = cse_dataloader_read(again, step, m, second);
            if (status == CSE_OK && memcmp(first, second, bytes) != 0)
                status = cse_fail(CSE_DATA,
                                  "microbatch %lld of step %lld has other bits when it "
                                  "is read again",
                                  (long long)m, (long long)step);
        }
    free(first);
    free(second);
    return status;
}

/* The samples of an epoch as the loader reads them, or by their numbers, sorted as bytes. */
static cse_status read_epoch(cse_dataloader *loader, int64_t epoch, bool by_number,
                             unsigned char *bytes)
{
    cse_input *input = (cse_input *)(uintptr_t)cse_dataloader_input_view(loader);
    const size_t size = (size_t)cse_dataloader_microbatch_bytes(loader);
    cse_status status = CSE_OK;
    memset(bytes, 0, size * (size_t)input->sample_count);
    for (int64_t i = 0; i < input->sample_count && status == CSE_OK; i++) {
        void *outputs[CSE_MAX_STREAMS];
        unsigned char *const to = bytes + (size_t)i * size;
        const int64_t index = input->is_stream ? epoch * input->sample_count + i : i;
        for (int s = 0; s < input->stream_count; s++)
            outputs[s] = to + cse_dataloader_stream_offset(loader, s);
        input->epochs = &epoch;
        status = by_number ? input->descriptor->read(input, &index, 1, outputs)
                           : cse_dataloader_read(loader, epoch * input->sample_count + i, 0, to);
        input->epochs = NULL;
    }
    qsort_r(bytes, (size_t)input->sample_count, size, compare_bytes, (void *)(uintptr_t)&size);
    return status;
}

/* In each epoch each sample is read once, as that epoch has it. */
static cse_status check_passes(cse_dataloader *loader)
{
    const cse_input *input = cse_dataloader_input_view(loader);
    const size_t size =
        (size_t)cse_dataloader_microbatch_bytes(loader) * (size_t)input->sample_count;
    if (size > MOST_PASS_BYTES)
        return CSE_OK;
    unsigned char *read = cse_aligned_calloc(size), *expected = cse_aligned_calloc(size);
    cse_status status = CSE_OK;
    for (int64_t epoch = 0; epoch < 3 && status == CSE_OK; epoch++) {
        status = read_epoch(loader, epoch, false, read);
        if (status == CSE_OK)
            status = read_epoch(loader, epoch, true, expected);
        if (status == CSE_OK && memcmp(read, expected, size) != 0)
            status =
                cse_fail(CSE_DATA, "epoch %lld does not have each sample once", (long long)epoch);
    }
    free(read);
    free(expected);
    return status;
}

static cse_status check_value(const cse_input *input, const cse_input_sample *sample, int v)
{
    unsigned char *outputs[CSE_MAX_STREAMS] = { NULL };
    const int stream = sample->values[v].stream;
    const int64_t element = sample->values[v].element;
    if (stream < 0 || stream >= input->stream_count || element < 0 ||
        element >= cse_shape_elements(input->streams[stream].shape))
        return cse_fail(CSE_DATA, "value %d names a stream or an element that is not there", v);
    cse_status status = read_samples(input, &sample->values[v].sample, 1, outputs, 0x55);
    const void *bytes = outputs[stream];
    const bool is_float = input->streams[stream].dtype == CSE_FLOAT32;
    const double got = is_float ? (double)((const float *)bytes)[element]
                                : (double)((const int32_t *)bytes)[element];
    const double expected =
        is_float ? (double)(float)sample->values[v].value : sample->values[v].value;
    if (status == CSE_OK && got != expected)
        status = cse_fail(CSE_DATA,
                          "stream %s, sample %lld, element %lld is %.9g, expected %.9g "
                          "(%s)",
                          input->streams[stream].name, (long long)sample->values[v].sample,
                          (long long)element, got, expected, sample->source);
    free_samples(input, outputs);
    return status;
}

static cse_status check_values(const cse_input *input, const cse_input_sample *sample)
{
    bool seen[CSE_MAX_STREAMS] = { false };
    if (sample->value_count < 1 || sample->value_count > CSE_INPUT_SAMPLE_VALUES ||
        sample->source == NULL || input->sample_count != sample->sample_count)
        return cse_fail(CSE_DATA,
                        "the sample needs values, what computed them (source), and the "
                        "number of samples, which is %lld",
                        (long long)input->sample_count);
    for (int v = 0; v < sample->value_count; v++) {
        CSE_TRY(check_value(input, sample, v));
        seen[sample->values[v].stream] = true;
    }
    for (int s = 0; s < input->stream_count; s++)
        if (!seen[s])
            return cse_fail(CSE_DATA, "stream %s has no value", input->streams[s].name);
    return CSE_OK;
}

/* Labels that are known without the samples are those that come with them. */
static cse_status check_labels(cse_dataloader *loader)
{
    cse_input *input = cse_dataloader_open_input(loader);
    int labels = 0;
    cse_status status = CSE_OK;
    if (input->read_labels == NULL)
        return CSE_OK;
    while (labels < input->stream_count && strcmp(input->streams[labels].name, "labels") != 0)
        labels++;
    if (labels == input->stream_count || input->streams[labels].dtype != CSE_INT32 ||
        input->streams[labels].shape.rank != 0)
        return cse_fail(CSE_DATA, "read_labels needs a stream labels of one class a sample");
    for (int64_t i = 0; i < input->sample_count && status == CSE_OK; i++) {
        unsigned char *outputs[CSE_MAX_STREAMS] = { NULL };
        int32_t label = -1;
        status = read_samples(input, &i, 1, outputs, 0x55);
        if (status == CSE_OK)
            status = input->read_labels(input, &i, 1, &label);
        if (status == CSE_OK && label != *(const int32_t *)(const void *)outputs[labels])
            status = cse_fail(CSE_DATA, "read_labels has another label of sample %lld than read",
                              (long long)i);
        free_samples(input, outputs);
    }
    return status;
}

static cse_status meet(const cse_contract *contract, const cse_input_sample *sample)
{
    cse_dataloader *loader = NULL, *again = NULL;
    CSE_TRY(write_files(contract, sample));
    cse_status status = open_sample(contract, sample, 4, &loader);
    if (status == CSE_OK)
        status = open_sample(contract, sample, 4, &again);
    const cse_input *input = status == CSE_OK ? cse_dataloader_input_view(loader) : NULL;
    if (status == CSE_OK)
        status = check_description(input);
    if (status == CSE_OK)
        status = check_values(input, sample);
    if (status == CSE_OK)
        status = check_random_access(input, cse_dataloader_input_view(again));
    if (status == CSE_OK)
        status = check_labels(loader);
    if (status == CSE_OK)
        status = check_positions(loader, again);
    if (again != NULL)
        cse_dataloader_close(&again);
    if (status == CSE_OK)
        status = open_sample(contract, sample, 1, &again);
    if (status == CSE_OK)
        status = check_passes(again);
    if (loader != NULL)
        cse_dataloader_close(&loader);
    if (again != NULL)
        cse_dataloader_close(&again);
    return status;
}

static cse_status refuse(const cse_contract *contract, const cse_input_sample *sample)
{
    cse_dataloader *loader = NULL;
    CSE_TRY(write_files(contract, sample));
    cse_status status =
        cse_contract_refused(open_sample(contract, sample, 4, &loader), sample->refusal);
    if (loader != NULL)
        cse_dataloader_close(&loader);
    return status;
}

static cse_status check_descriptor(const cse_input_descriptor *d, const cse_input_sample *samples)
{
    bool values = false;
    if (d->summary == NULL || d->summary[0] == '\0')
        return cse_fail(CSE_DATA, "it has no summary");
    CSE_TRY(cse_contract_settings(d->settings, d->name));
    for (const cse_setting *own = d->settings; own->name != NULL; own++)
        if (cse_setting_table_has(cse_dataloader_settings, own->name))
            return cse_fail(CSE_DATA, "%s is a setting that every data loader has", own->name);
    for (const cse_input_sample *s = samples; s != NULL && s->settings != NULL; s++)
        values = values || s->refusal == NULL;
    return values ? CSE_OK : cse_fail(CSE_DATA, "it has no sample with values");
}

/* Each sample has an empty folder. */
void cse_contract_of_input(cse_contract *contract, const void *descriptor)
{
    const cse_input_descriptor *d = descriptor;
    const cse_input_sample *samples = cse_contract_samples(contract, d, d->samples);
    const char *outer = contract->folder;
    cse_contract_tell(contract, check_descriptor(d, samples), "is complete");
    for (const cse_input_sample *s = samples; s != NULL && s->settings != NULL; s++) {
        char folder[512];
        snprintf(folder, sizeof folder, "%s/input_XXXXXX", outer);
        contract->folder = mkdtemp(folder) != NULL ? folder : outer;
        if (s->refusal != NULL)
            cse_contract_tell(contract, refuse(contract, s), "refuses %s", s->settings);
        else
            cse_contract_tell(contract, meet(contract, s), "reads the values of %s", s->settings);
        if (contract->folder == folder)
            cse_remove_tree(folder);
        contract->folder = outer;
    }
}
