/* The contract of an input function, held against every member: opens, describes its streams, gives
 * the same bits for the same sample however it is asked, and closes without a leak.
 *
 * `hows` says with which settings and files to open a member; a member without a row fails. */
#include "dataloader/section.h"
#include "engine/config/dataloader_table.h"
#include "tests/dataloader/fixture.h"

typedef struct how {
    const char *name;
    void (*prepare)(void);
    const char *settings; /* %s is the test's folder */
} how;

static void prepare_idx(void)
{
    enum { SAMPLES = 40, PIXELS = 4 * 3 };
    unsigned char images[16 + SAMPLES * PIXELS] = { 0, 0, 8, 3, 0, 0, 0, SAMPLES,
                                                    0, 0, 0, 4, 0, 0, 0, 3 };
    unsigned char labels[8 + SAMPLES] = { 0, 0, 8, 1, 0, 0, 0, SAMPLES };
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        images[16 + i] = (unsigned char)(i * 37);
    for (int i = 0; i < SAMPLES; i++)
        labels[8 + i] = (unsigned char)(i * 3 % 10);
    fixture_write_gzip("train-images-idx3-ubyte.gz", images, sizeof images);
    fixture_write("train-labels-idx1-ubyte", labels, sizeof labels);
}

static void prepare_csv(void)
{
    char text[4096] = "a,b,c,kind\n";
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d.25,-%de-1,%d\n", i, i * i,
                 i + 1, i % 3);
    fixture_write_text("table.csv", text);
}

static void prepare_text(void)
{
    unsigned char text[40 * 8 + 5];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * i + i / 7);
    fixture_write_gzip("text.gz", text, sizeof text);
}

static void prepare_nothing(void)
{
}

static const how hows[] = {
    { "csv", prepare_csv, "path: %s/table.csv, label: kind" },
    { "idx_images", prepare_idx, "data_dir: %s" },
    { "synthetic", prepare_nothing, "samples: 40, features: [2, 3], features_name: images" },
    { "text_bytes", prepare_text, "path: %s/text.gz, sequence_length: 8" },
};

static const how *how_of(const cse_input_descriptor *descriptor)
{
    for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++)
        if (strcmp(hows[i].name, descriptor->name) == 0)
            return &hows[i];
    ck_abort_msg("input function %s has no row in this test's table: add one", descriptor->name);
    return NULL;
}

static cse_dataloader *open_member(const how *member, const char *batching)
{
    char format[512], yaml[1024];
    cse_dataloader *loader = NULL;
    snprintf(format, sizeof format, "{data_processor: %s, %s, %s}", member->name, batching,
             member->settings);
    snprintf(yaml, sizeof yaml, format, fixture_folder);
    fixture_expect(cse_dataloader_open(yaml, 1, &loader), CSE_OK, NULL);
    return loader;
}

static void check_description(const cse_input *input)
{
    ck_assert_int_ge(input->sample_count, 40);
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

/* All samples in order against all in another order, one by one, and in one by one of a second
 * opening of the source. */
static void check_random_access(const cse_input *input, const cse_input *again)
{
    enum { COUNT = 40 };
    int64_t forward[COUNT], mixed[COUNT];
    unsigned char *in_order[CSE_MAX_STREAMS], *in_disorder[CSE_MAX_STREAMS], *one[CSE_MAX_STREAMS];
    for (int i = 0; i < COUNT; i++) {
        forward[i] = i;
        mixed[i] = (i * 17 + 5) % COUNT;
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

START_TEST(the_contract)
{
    const cse_input_descriptor *descriptor = cse_inputs[_i];
    const how *member = how_of(descriptor);
    member->prepare();
    const char *batching = "batch_size: 12, micro_batch_size: 3, shuffle: true";
    cse_dataloader *loader = open_member(member, batching);
    cse_dataloader *again = open_member(member, batching);
    const cse_input *input = cse_dataloader_input_view(loader);
    ck_assert_ptr_eq(input->descriptor, descriptor);
    check_description(input);
    check_random_access(input, cse_dataloader_input_view(again));
    check_positions(loader, again);
    cse_dataloader_close(&loader);
    cse_dataloader_close(&again);
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
}
END_TEST

int main(void)
{
    int count = 0;
    while (cse_inputs[count] != NULL)
        count++;
    TCase *tests = tcase_create("inputs");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_loop_test(tests, the_contract, 0, count);
    tcase_add_loop_test(tests, descriptors_are_complete, 0, count);
    return fixture_run(tests);
}
