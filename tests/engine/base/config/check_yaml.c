/* The YAML reader against hostile text: bounds hold and random bytes never crash it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/yaml.h"
#include "engine/base/random.h"

static cse_status parse(const char *text, size_t size)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *root = NULL;
    cse_status status = cse_yaml_parse(arena, "x.yaml", text, size, &root);
    if (status == CSE_OK) {
        ck_assert_ptr_nonnull(root);
        /* Printed it is the same tree again, and encoded with the same places. */
        cse_text printed = { 0 }, printed_again = { 0 }, encoded = { 0 }, encoded_again = { 0 };
        cse_yaml_node *again = NULL, *decoded = NULL;
        cse_yaml_print(root, &printed);
        ck_assert_msg(cse_yaml_parse(arena, "y.yaml", printed.data, printed.size, &again) == CSE_OK,
                      "%s: %s", printed.data, cse_error_message());
        cse_yaml_print(again, &printed_again);
        ck_assert_str_eq(printed.data, printed_again.data);
        cse_yaml_encode(root, &encoded);
        ck_assert_msg(cse_yaml_decode(arena, encoded.data, encoded.size, &decoded) == CSE_OK,
                      "%s: %s", encoded.data, cse_error_message());
        cse_yaml_encode(decoded, &encoded_again);
        ck_assert_str_eq(encoded.data, encoded_again.data);
        cse_text_clear(&printed);
        cse_text_clear(&printed_again);
        cse_text_clear(&encoded);
        cse_text_clear(&encoded_again);
    } else {
        ck_assert_int_eq(status, CSE_CONFIG);
        ck_assert_msg(strncmp(cse_error_message(), "x.yaml:", 7) == 0, "%s", cse_error_message());
    }
    cse_arena_destroy(&arena);
    return status;
}

START_TEST(depth_is_bounded)
{
    char text[20001];
    memset(text, '[', 20000);
    text[20000] = '\0';
    ck_assert_int_eq(parse(text, 20000), CSE_CONFIG);
    memset(text, '[', 30);
    memset(text + 30, ']', 30);
    ck_assert_int_eq(parse(text, 60), CSE_OK);
    cse_text nested = { 0 };
    for (int i = 0; i < 100; i++)
        cse_text_add(&nested, "%*sa:\n", i, "");
    ck_assert_int_eq(parse(nested.data, nested.size), CSE_CONFIG);
    cse_text_clear(&nested);
}
END_TEST

START_TEST(aliases_cannot_multiply)
{
    cse_text text = { 0 };
    cse_text_add(&text, "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n");
    for (int i = 1; i < 10; i++) {
        cse_text_add(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            cse_text_add(&text, "*a%d%s", i - 1, k < 9 ? ", " : "]\n");
    }
    ck_assert_int_eq(parse(text.data, text.size), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "too many values"));
    cse_text_clear(&text);
}
END_TEST

START_TEST(size_is_bounded)
{
    size_t size = CSE_YAML_MAX_BYTES + 1;
    char *text = malloc(size);
    memset(text, ' ', size);
    ck_assert_int_eq(parse(text, size), CSE_CONFIG);
    free(text);
}
END_TEST

/* By escapes, since a file with the bytes themselves is refused before it is read. */
START_TEST(texts_have_no_control_characters)
{
    static const char *const refused[] = { "a: \"x\\0y\"",  "a: \"\\0\"",      "\"a\\0\": 1",
                                           "a: \"\\e[2J\"", "a: \"\\x07\\a\"", "[\"b\\x7f\"]" };
    static const char *const accepted[] = { "a: \"x\\ny\\t\\r\"", "a: \"\\x1f\"",
                                            "a: \"\\u00e9\"" };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_int_eq(parse(refused[i], strlen(refused[i])), CSE_CONFIG);
        ck_assert_msg(strstr(cse_error_message(), "control character \\x") != NULL, "%s",
                      cse_error_message());
    }
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++)
        ck_assert_msg(parse(accepted[i], strlen(accepted[i])) == CSE_OK, "%s", cse_error_message());
}
END_TEST

static uint32_t draw(uint32_t *counter)
{
    uint32_t words[4], place[4] = { ++*counter, 0, 0, 0 };
    cse_philox(7, place, words);
    return words[0];
}

START_TEST(random_bytes_are_survived)
{
    static const char pieces[] = "{}[]:,-?&*!|>'\"%@`# \n\tab01.~=\xc3\xa4\xff";
    uint32_t counter = 0;
    for (int round = 0; round < 4000; round++) {
        char text[64];
        size_t size = draw(&counter) % sizeof text;
        for (size_t i = 0; i < size; i++)
            text[i] = round % 4 == 0 ? (char)draw(&counter)
                                     : pieces[draw(&counter) % (sizeof pieces - 1)];
        parse(text, size);
    }
}
END_TEST

START_TEST(mutations_of_a_real_text_are_survived)
{
    static const char real[] =
        "trainer:\n  init:\n    model: {name: fc_mnist, hidden: [500, 300]}\n"
        "    seed: &s 1\n    x: *s\n    text: |\n      a\n      b\n"
        "  fit: # here\n    - 'it''s'\n    - \"\\u00e4\"\n";
    uint32_t counter = 0;
    for (int round = 0; round < 4000; round++) {
        char text[sizeof real];
        memcpy(text, real, sizeof real);
        size_t size = sizeof real - 1;
        for (uint32_t k = draw(&counter) % 4; k < 4; k++)
            text[draw(&counter) % size] = (char)(draw(&counter) % 128);
        parse(text, size - draw(&counter) % 3 * (draw(&counter) % 60));
    }
}
END_TEST

/* ---- the encoded form ---- */

static const char *const not_encoded[] = {
    "",
    "{",
    "[]",
    "null",
    "{\"version\":1}",
    "{\"version\":2,\"root\":{\"text\":\"a\"}}",
    "{\"root\":{\"text\":\"a\"}}",
    "{\"version\":1,\"root\":[]}",
    "{\"version\":1,\"root\":{\"text\":1}}",
    "{\"version\":1,\"root\":{\"map\":[]}}",
    "{\"version\":1,\"root\":{\"list\":{}}}",
    "{\"version\":1,\"root\":{\"map\":{},\"list\":[]}}",
    "{\"version\":1,\"root\":{\"map\":{\"a\":1}}}",
    "{\"version\":1,\"root\":{\"map\":{\"a\":{\"text\":\"1\"},\"a\":{\"text\":\"2\"}}}}",
    "{\"version\":1,\"root\":{\"text\":\"a\\u0000b\"}}",
    "{\"version\":1,\"root\":{\"text\":\"a\"}} x",
};

/* A dash alone is a null, however the list is indented; the trees are those of PyYAML. */
START_TEST(bare_items_are_null)
{
    static const struct {
        const char *text, *printed;
    } rows[] = {
        { "a:\n- 1\n-\nb: 2\n", "{a: [1, null], b: 2}" },
        { "a:\n  - 1\n  -\nb: 2\n", "{a: [1, null], b: 2}" },
        { "a:\n-\n- 2\nb: 2\n", "{a: [null, 2], b: 2}" },
        { "a:\n-\n", "{a: [null]}" },
        { "a:\n-", "{a: [null]}" },
        { "a:\n-\n-\n- \n", "{a: [null, null, null]}" },
        { "a:\n- # why\n\n  # more\n\nb: 2\n", "{a: [null], b: 2}" },
        { "a:\r\n- 1\r\n-\r\nb: 2\r\n", "{a: [1, null], b: 2}" },
        { "a:\n  c:\n  - 1\n  -\n  d: 3\nb: 2\n", "{a: {c: [1, null], d: 3}, b: 2}" },
        { "k:\n- a:\n  -\n  c: 1\n- b: 2\n", "{k: [{a: [null], c: 1}, {b: 2}]}" },
        { "a:\n- x:\n-\nb: 2\n", "{a: [{x: null}, null], b: 2}" },
        { "a:\n- - 1\n  -\n-\nb: 2\n", "{a: [[1, null], null], b: 2}" },
        { "a:\n- |\n  -\n  x\n-\nb: 2\n", "{a: [\"-\\nx\\n\", null], b: 2}" },
        { "a:\n- -1\n- --\nb: 2\n", "{a: [-1, --], b: 2}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_text printed = { 0 };
        cse_yaml_node *root = NULL;
        cse_arena *arena = cse_arena_new();
        ck_assert_msg(cse_yaml_parse(arena, "x.yaml", rows[i].text, strlen(rows[i].text), &root) ==
                          CSE_OK,
                      "%s: %s", rows[i].text, cse_error_message());
        cse_yaml_print(root, &printed);
        ck_assert_str_eq(printed.data, rows[i].printed);
        cse_text_clear(&printed);
        cse_arena_destroy(&arena);
    }
}
END_TEST

/* An error elsewhere stays what it is, and texts of many bare items are bounded. */
START_TEST(bare_items_hide_no_error)
{
    static const char *const texts[] = { "a:\n-\n- ]\n", "a: \"\n-\nb: 2\n", "a:\n-\n  b: [\n",
                                         "-\na: 1\n", "a:\n-\nb: 2\n c: 3\n" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_int_eq(parse(texts[i], strlen(texts[i])), CSE_CONFIG);
    cse_text many = { 0 };
    cse_text_add(&many, "a:\n");
    for (int i = 0; i < 20000; i++)
        cse_text_add(&many, "-\n");
    (void)parse(many.data, many.size);
    cse_text_clear(&many);
}
END_TEST

START_TEST(what_is_not_encoded_is_refused)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *node = NULL;
    const char *json = not_encoded[_i];
    ck_assert_msg(cse_yaml_decode(arena, json, strlen(json), &node) == CSE_DATA, "%s", json);
    cse_arena_destroy(&arena);
}
END_TEST

START_TEST(encoded_trees_are_bounded)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *node = NULL;
    cse_text deep = { 0 }, wide = { 0 };
    cse_text_add(&deep, "{\"version\":1,\"root\":");
    for (int i = 0; i < CSE_YAML_MAX_DEPTH + 2; i++)
        cse_text_add(&deep, "{\"list\":[");
    for (int i = 0; i < CSE_YAML_MAX_DEPTH + 2; i++)
        cse_text_add(&deep, "]}");
    cse_text_add(&deep, "}");
    ck_assert_int_eq(cse_yaml_decode(arena, deep.data, deep.size, &node), CSE_DATA);
    cse_text_add(&wide, "{\"version\":1,\"root\":{\"list\":[{\"text\":\"\"}");
    for (int i = 0; i < CSE_YAML_MAX_NODES; i++)
        cse_text_add(&wide, ",{\"text\":\"\"}");
    cse_text_add(&wide, "]}}");
    ck_assert_int_eq(cse_yaml_decode(arena, wide.data, wide.size, &node), CSE_DATA);
    cse_text_clear(&deep);
    cse_text_clear(&wide);
    cse_arena_destroy(&arena);
}
END_TEST

START_TEST(mutations_of_an_encoded_tree_are_survived)
{
    static const char real[] = "a: {b: [1, \"x\"], c: null}\nd: text\n";
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *node = NULL;
    cse_text json = { 0 };
    uint32_t counter = 0;
    ck_assert_int_eq(cse_yaml_parse(arena, "x.yaml", real, sizeof real - 1, &node), CSE_OK);
    cse_yaml_encode(node, &json);
    char *text = malloc(json.size);
    for (int round = 0; round < 4000; round++) {
        memcpy(text, json.data, json.size);
        for (uint32_t k = draw(&counter) % 4; k < 4; k++)
            text[draw(&counter) % json.size] = (char)(draw(&counter) % 128);
        cse_status status = cse_yaml_decode(
            arena, text, json.size - draw(&counter) % 3 * (draw(&counter) % 60), &node);
        ck_assert(status == CSE_OK || status == CSE_DATA);
    }
    free(text);
    cse_text_clear(&json);
    cse_arena_destroy(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("yaml");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 30);
    tcase_add_test(cases, depth_is_bounded);
    tcase_add_test(cases, aliases_cannot_multiply);
    tcase_add_test(cases, size_is_bounded);
    tcase_add_test(cases, texts_have_no_control_characters);
    tcase_add_test(cases, random_bytes_are_survived);
    tcase_add_test(cases, mutations_of_a_real_text_are_survived);
    tcase_add_loop_test(cases, what_is_not_encoded_is_refused, 0,
                        sizeof not_encoded / sizeof not_encoded[0]);
    tcase_add_test(cases, bare_items_are_null);
    tcase_add_test(cases, bare_items_hide_no_error);
    tcase_add_test(cases, encoded_trees_are_bounded);
    tcase_add_test(cases, mutations_of_an_encoded_tree_are_survived);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
