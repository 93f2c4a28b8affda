/* What a host without data is told of them: a loader that is made of it is laid out as the one that
 * was described, and a text that is none is refused. */
#include "dataloader/data_description.h"
#include "dataloader/data_open.h"
#include "engine/base/arena.h"
#include "tests/dataloader/fixture.h"

static cse_arena *arena;

static cse_settings *settings_of(const char *path)
{
    char text[512];
    cse_settings *settings = NULL;
    cse_yaml_node *tree = NULL;
    snprintf(text, sizeof text,
             "{data_processor: csv, path: %s, label: kind, class_names: [cat, dog, \"a \\xff\"], "
             "batch_size: 4, micro_batch_size: 2, shuffle_seed: 3, drop_last: true}",
             path);
    ck_assert_int_eq(cse_yaml_parse(arena, "test", text, strlen(text), &tree), CSE_OK);
    ck_assert_int_eq(cse_dataloader_settings_read(arena, tree, &settings), CSE_OK);
    return settings;
}

START_TEST(the_other_loader_is_laid_out_alike)
{
    cse_data_identity identity = { 0 }, again = { 0 };
    const cse_data_watch watch = { .identity = &identity };
    cse_dataloader *loader = NULL, *other = NULL;
    cse_text text = { 0 }, files = { 0 }, other_files = { 0 };
    arena = cse_arena_new();
    fixture_write_text("table.csv", "x,y,kind\n1,2,cat\n3,4,dog\n5,6,cat\n7,8,dog\n9,0,cat\n");
    ck_assert_int_eq(cse_data_open(settings_of(fixture_path("table.csv")), 1, &watch, &loader),
                     CSE_OK);
    cse_data_description_print(loader, &identity, &text);
    /* Another path: nothing is opened there. */
    ck_assert_int_eq(
        cse_data_description_open(text.data, settings_of("/nowhere/t.csv"), 1, &again, &other),
        CSE_OK);
    const cse_input *a = cse_dataloader_input_view(loader), *b = cse_dataloader_input_view(other);
    ck_assert_int_eq(b->sample_count, 5);
    ck_assert_int_eq(a->stream_count, b->stream_count);
    for (int s = 0; s < a->stream_count; s++) {
        ck_assert_str_eq(a->streams[s].name, b->streams[s].name);
        ck_assert(a->streams[s].dtype == b->streams[s].dtype);
        ck_assert(cse_shape_equal(a->streams[s].shape, b->streams[s].shape));
        ck_assert_int_eq(cse_dataloader_stream_offset(loader, s),
                         cse_dataloader_stream_offset(other, s));
    }
    ck_assert_int_eq(cse_dataloader_microbatch_bytes(loader),
                     cse_dataloader_microbatch_bytes(other));
    ck_assert_int_eq(cse_dataloader_steps_per_epoch(other), 1);
    ck_assert_int_eq(a->class_count, b->class_count);
    ck_assert_str_eq(a->source, b->source);
    cse_data_identity_print(&identity, &files);
    cse_data_identity_print(&again, &other_files);
    ck_assert_str_eq(files.data, other_files.data);
    ck_assert_int_eq(again.count, 1);
    ck_assert(again.files[0].opened);
    cse_dataloader_close(&loader);
    cse_dataloader_close(&other);
    cse_data_identity_clear(&identity);
    cse_data_identity_clear(&again);
    cse_text_clear(&text);
    cse_text_clear(&files);
    cse_text_clear(&other_files);
    cse_arena_destroy(&arena);
}
END_TEST

#define STREAM "{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[2]}"
#define TEXT(samples, streams, classes, identity, opened)                                      \
    "{\"samples\":" samples ",\"source\":\"s\",\"streams\":[" streams "],\"classes\":" classes \
    ",\"identity\":\"" identity "\",\"opened\":\"" opened "\"}"
#define FILE_LINE "train blake2b:00 1 2 3 4 5 p\\n"

START_TEST(nothing_of_the_text_is_believed)
{
    static const char *const good[] = {
        TEXT("8", STREAM, "null", "", ""),
        TEXT("8", STREAM, "[]", FILE_LINE, "1"),
        TEXT("8", STREAM "," STREAM, "[\"a\"]", FILE_LINE FILE_LINE, "01"),
    };
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        TEXT("0", STREAM, "null", "", ""),
        TEXT("-1", STREAM, "null", "", ""),
        TEXT("\"8\"", STREAM, "null", "", ""),
        TEXT("8", "", "null", "", ""),
        TEXT("8", "{}", "null", "", ""),
        TEXT("8", "{\"name\":\"\",\"dtype\":\"float32\",\"shape\":[2]}", "null", "", ""),
        TEXT("8", "{\"name\":\"x\",\"dtype\":\"float16\",\"shape\":[2]}", "null", "", ""),
        TEXT("8", "{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":2}", "null", "", ""),
        TEXT("8", "{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[0]}", "null", "", ""),
        TEXT("8", "{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[-3]}", "null", "", ""),
        TEXT("8", "{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[4294967296,4294967296]}",
             "null", "", ""),
        TEXT("8", "{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1]}",
             "null", "", ""),
        TEXT("8",
             STREAM "," STREAM "," STREAM "," STREAM "," STREAM "," STREAM "," STREAM "," STREAM
                    "," STREAM,
             "null", "", ""),
        TEXT("8", STREAM, "3", "", ""),
        TEXT("8", STREAM, "[1]", "", ""),
        TEXT("8", STREAM, "null", "train x", "1"),
        TEXT("8", STREAM, "null", FILE_LINE, ""),
        TEXT("8", STREAM, "null", FILE_LINE, "11"),
        TEXT("8", STREAM, "null", FILE_LINE, "2"),
    };
    cse_data_identity identity = { 0 };
    cse_dataloader *loader = NULL;
    arena = cse_arena_new();
    cse_settings *settings = settings_of("/nowhere/t.csv");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_msg(cse_data_description_open(good[i], settings, 1, &identity, &loader) == CSE_OK,
                      "%s: %s", good[i], cse_error_message());
        const cse_input *input = cse_dataloader_input_view(loader);
        ck_assert_int_eq(input->class_count, i == 2);
        ck_assert(i < 2 || strcmp(input->class_names[0], "a") == 0);
        cse_dataloader_close(&loader);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_msg(cse_data_description_open(wrong[i], settings, 1, &identity, &loader) ==
                          CSE_DATA,
                      "%s", wrong[i]);
        ck_assert_ptr_null(loader);
    }
    /* What is well-formed and does not fit the settings is the configuration's fault. */
    fixture_expect(cse_data_description_open(TEXT("3", STREAM, "null", "", ""), settings, 1,
                                             &identity, &loader),
                   CSE_CONFIG, "batch_size 4 is larger than the data, which has 3 samples");
    cse_data_identity_clear(&identity);
    cse_arena_destroy(&arena);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("data_description");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, the_other_loader_is_laid_out_alike);
    tcase_add_test(tests, nothing_of_the_text_is_believed);
    return fixture_run(tests);
}
