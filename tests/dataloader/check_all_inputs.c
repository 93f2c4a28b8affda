/* The contract of input functions, tested for every plugin with its own samples: opens, describes
 * its streams, reads the expected values, gives the same bits for the same sample in any order of
 * reading, refuses invalid settings, and closes without a leak. */
#include "dataloader/section.h"
#include "engine/config/dataloader_table.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

enum { MOST_SAMPLES = 256, COUNT = 10 };

typedef struct sampled {
    const cse_input_descriptor *descriptor;
    const cse_input_sample *sample;
} sampled;

static sampled values[MOST_SAMPLES], refusals[MOST_SAMPLES];
static int value_count, refusal_count;

static void list_samples(void)
{
    for (int k = 0; cse_inputs[k] != NULL; k++)
        for (const cse_input_sample *s = cse_inputs[k]->samples; s != NULL && s->settings != NULL;
             s++) {
            if (value_count == MOST_SAMPLES || refusal_count == MOST_SAMPLES)
                abort();
            sampled at = { cse_inputs[k], s };
            if (s->refusal != NULL)
                refusals[refusal_count++] = at;
            else
                values[value_count++] = at;
        }
}

static void write_files(const cse_input_sample *sample)
{
    for (int i = 0; i < CSE_INPUT_SAMPLE_FILES && sample->files[i].name != NULL; i++) {
        const char *text = sample->files[i].text;
        size_t size = sample->files[i].size > 0 ? sample->files[i].size : strlen(text);
        (sample->files[i].gzip ? fixture_write_gzip : fixture_write)(sample->files[i].name, text,
                                                                     size);
    }
}

/* $folder in the settings becomes the test's folder. */
static cse_status open_sample(const sampled *at, cse_dataloader **loader)
{
    char settings[1024] = "", yaml[2048];
    const char *rest = at->sample->settings;
    for (const char *found; (found = strstr(rest, "$folder")) != NULL;
         rest = found + strlen("$folder")) {
        strncat(settings, rest, (size_t)(found - rest));
        strncat(settings, fixture_folder, sizeof settings - strlen(settings) - 1);
    }
    strncat(settings, rest, sizeof settings - strlen(settings) - 1);
    snprintf(yaml, sizeof yaml,
             "{data_processor: %s, batch_size: 4, micro_batch_size: 1, shuffle: true, %s}",
             at->descriptor->name, settings);
    return open_loader(yaml, 1, loader);
}

static void check_description(const cse_input *input)
{
    ck_assert_int_ge(input->sample_count, COUNT);
    ck_assert(input->stream_count >= 1 && input->stream_count <= CSE_MAX_STREAMS);
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        ck_assert(stream->name != NULL && stream->name[0] != '\0');
        ck_assert(stream->dtype == CSE_FLOAT32 || stream->dtype == CSE_INT32);
        ck_assert(stream->shape.rank >= 0 && stream->shape.rank <= CSE_MAX_RANK);
        ck_assert_int_ge(cse_shape_elements(stream->shape), 1);
        for (int other = 0; other < s; other++)
            ck_assert_str_ne(stream->name, input->streams[other].name);
    }
}

static size_t sample_bytes(const cse_stream *stream)
{
    return (size_t)cse_shape_elements(stream->shape) * cse_dtype_size(stream->dtype);
}

/* Reads `count` samples of every stream into memory that is exactly as large and was full of other
 * bits, so that a sanitizer sees a write beyond it and a missing write shows. */
static void read_samples(const cse_input *shared, const int64_t *indices, int64_t count,
                         unsigned char *outputs[CSE_MAX_STREAMS], int filler)
{
    cse_input *input = (cse_input *)(uintptr_t)shared;
    for (int s = 0; s < input->stream_count; s++) {
        size_t bytes = sample_bytes(&input->streams[s]) * (size_t)count;
        outputs[s] = malloc(bytes);
        memset(outputs[s], filler, bytes);
    }
    ck_assert_int_eq(input->descriptor->read(input, indices, count, (void *const *)outputs),
                     CSE_OK);
}

static void free_samples(const cse_input *input, unsigned char *outputs[CSE_MAX_STREAMS])
{
    for (int s = 0; s < input->stream_count; s++)
        free(outputs[s]);
}

/* The first samples in order, against the same in another order, and one at a time from a second
 * opening of the source. */
static void check_random_access(const cse_input *input, const cse_input *again)
{
    int64_t forward[COUNT], mixed[COUNT];
    unsigned char *in_order[CSE_MAX_STREAMS], *in_disorder[CSE_MAX_STREAMS], *one[CSE_MAX_STREAMS];
    for (int i = 0; i < COUNT; i++) {
        forward[i] = i;
        mixed[i] = (i * 7 + 5) % COUNT;
    }
    read_samples(input, forward, COUNT, in_order, 0x55);
    read_samples(input, mixed, COUNT, in_disorder, 0xaa);
    for (int64_t i = 0; i < COUNT; i++) {
        read_samples(again, &mixed[i], 1, one, 0x33);
        for (int s = 0; s < input->stream_count; s++) {
            size_t bytes = sample_bytes(&input->streams[s]);
            const unsigned char *expected = in_order[s] + (size_t)mixed[i] * bytes;
            ck_assert_mem_eq(in_disorder[s] + (size_t)i * bytes, expected, bytes);
            ck_assert_mem_eq(one[s], expected, bytes);
        }
        free_samples(again, one);
    }
    free_samples(input, in_order);
    free_samples(input, in_disorder);
}

/* Microbatches by the loader: twice, from a late step backwards, and from another opening. */
static void check_positions(cse_dataloader *loader, cse_dataloader *again)
{
    size_t bytes = (size_t)cse_dataloader_microbatch_bytes(loader);
    unsigned char *first = aligned_alloc(64, bytes), *second = aligned_alloc(64, bytes);
    for (int64_t step = 11; step >= 0; step--)
        for (int64_t m = 0; m < 4; m++) {
            memset(first, 0x55, bytes);
            memset(second, 0xaa, bytes);
            ck_assert_int_eq(cse_dataloader_read(loader, step, m, first), CSE_OK);
            ck_assert_int_eq(cse_dataloader_read(again, step, 3 - m, second), CSE_OK);
            ck_assert_int_eq(cse_dataloader_read(again, step, m, second), CSE_OK);
            ck_assert_mem_eq(first, second, bytes);
        }
    free(first);
    free(second);
}

/* The sample's values: each rounded to the type of its stream. */
static void check_values(const cse_input *input, const cse_input_sample *sample)
{
    bool seen[CSE_MAX_STREAMS] = { false };
    ck_assert(sample->value_count > 0 && sample->value_count <= CSE_INPUT_SAMPLE_VALUES);
    ck_assert_ptr_nonnull(sample->source);
    for (int v = 0; v < sample->value_count; v++) {
        unsigned char *outputs[CSE_MAX_STREAMS];
        int stream = sample->values[v].stream;
        int64_t element = sample->values[v].element;
        seen[stream] = true;
        ck_assert_int_lt(stream, input->stream_count);
        ck_assert_int_lt(element, cse_shape_elements(input->streams[stream].shape));
        read_samples(input, &sample->values[v].sample, 1, outputs, 0x55);
        const void *bytes = outputs[stream];
        if (input->streams[stream].dtype == CSE_FLOAT32)
            ck_assert_float_eq(((const float *)bytes)[element], (float)sample->values[v].value);
        else
            ck_assert_int_eq(((const int32_t *)bytes)[element], (int32_t)sample->values[v].value);
        free_samples(input, outputs);
    }
    for (int s = 0; s < input->stream_count; s++)
        ck_assert_msg(seen[s], "stream %s has no value", input->streams[s].name);
}

START_TEST(samples_are_met)
{
    const sampled *at = &values[_i];
    cse_dataloader *loader = NULL, *again = NULL;
    write_files(at->sample);
    fixture_expect(open_sample(at, &loader), CSE_OK, NULL);
    fixture_expect(open_sample(at, &again), CSE_OK, NULL);
    const cse_input *input = cse_dataloader_input_view(loader);
    ck_assert_ptr_eq(input->descriptor, at->descriptor);
    ck_assert_int_eq(input->sample_count, at->sample->sample_count);
    check_description(input);
    check_values(input, at->sample);
    check_random_access(input, cse_dataloader_input_view(again));
    check_positions(loader, again);
    cse_dataloader_close(&loader);
    cse_dataloader_close(&again);
}
END_TEST

START_TEST(wrong_settings_and_files_are_refused)
{
    cse_dataloader *loader = NULL;
    write_files(refusals[_i].sample);
    ck_assert_int_ne(open_sample(&refusals[_i], &loader), CSE_OK);
    ck_assert_ptr_null(loader);
    ck_assert_msg(strstr(cse_error_message(), refusals[_i].sample->refusal) != NULL, "%s",
                  cse_error_message());
}
END_TEST

static const cse_setting *setting_of(const cse_setting *table, const char *name)
{
    while (table->name != NULL && strcmp(table->name, name) != 0)
        table++;
    return table->name == NULL ? NULL : table;
}

START_TEST(descriptors_are_complete)
{
    const cse_input_descriptor *descriptor = cse_inputs[_i];
    ck_assert(descriptor->name[0] != '\0' && descriptor->summary[0] != '\0');
    ck_assert(descriptor->open != NULL && descriptor->read != NULL && descriptor->close != NULL);
    for (const cse_setting *own = descriptor->settings; own->name != NULL; own++) {
        ck_assert_msg(own->doc != NULL && own->doc[0] != '\0', "%s: no doc", own->name);
        ck_assert_msg(setting_of(cse_dataloader_settings, own->name) == NULL,
                      "%s: %s is a setting that every data loader has", descriptor->name,
                      own->name);
    }
    bool found = false;
    for (int v = 0; v < value_count; v++)
        found = found || values[v].descriptor == descriptor;
    ck_assert_msg(found, "input function %s has no sample with values", descriptor->name);
}
END_TEST

int main(void)
{
    int count = 0;
    while (cse_inputs[count] != NULL)
        count++;
    list_samples();
    TCase *tests = tcase_create("inputs");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_loop_test(tests, samples_are_met, 0, value_count);
    tcase_add_loop_test(tests, wrong_settings_and_files_are_refused, 0, refusal_count);
    tcase_add_loop_test(tests, descriptors_are_complete, 0, count);
    return fixture_run(tests);
}
