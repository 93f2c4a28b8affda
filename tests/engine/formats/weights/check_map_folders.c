/* What a map makes of folders that other programs wrote in their own way: tied weights under any of
 * their names, and stacks whose matrices have several types of floats. */
#include "engine/formats/weights/map.h"
#include "tests/engine/formats/weights/memory_weights.h"

static const char map_text[] =
    "model: llama\n"
    "kind: hugging_face\n"
    "selects: {model_type: none}\n"
    "prefix: model.\n"
    "layers: n\n"
    "facts:\n"
    "  - {theirs: n, ours: num_layers, our_default: 2, their_default: 2}\n"
    "  - {theirs: tie, ours: share_embedding_weights, our_default: true, "
    "their_default: true}\n"
    "weights:\n"
    "  - {theirs: embed.weight, ours: e.weight}\n"
    "  - {theirs: head.weight, ours: h.weight, no_prefix: true, unless: tie}\n"
    "  - {theirs: head.weight, tied: embed.weight, no_prefix: true}\n"
    "  - {theirs: x.*.y.*.weight, ours: x.*.weight, stack: n}\n";

static cse_map *parse(cse_arena *arena)
{
    cse_map *map = NULL;
    ck_assert_msg(cse_map_parse(arena, "map", map_text, &map) == CSE_OK, "%s", cse_error_message());
    return map;
}

static void add_stacks(cse_weights *weights, cse_element third)
{
    static const char *const names[] = { "x.0.y.0.weight", "x.0.y.1.weight", "x.1.y.0.weight",
                                         "x.1.y.1.weight" };
    const cse_shape shape = { .rank = 2, .dims = { 2, 3 } };
    for (int i = 0; i < 4; i++)
        memory_add(weights, names[i], i == 2 ? third : CSE_ELEMENT_BF16, shape);
}

/* The weights under our names, or NULL where one is missing. */
static cse_weights *mapped(cse_arena *arena, cse_weights *weights, const char *facts)
{
    cse_weights *ours = NULL;
    const cse_map *map = parse(arena);
    json_t *json = json_loads(facts, 0, NULL);
    cse_map_even_stacks(map, &weights);
    cse_map_name_tied(map, json, weights);
    if (cse_map_to_ours(map, json, &weights, &ours) != CSE_OK)
        cse_weights_close(&weights);
    json_decref(json);
    return ours;
}

START_TEST(a_tied_weight_has_any_of_its_names)
{
    const cse_shape shape = { .rank = 2, .dims = { 4, 3 } };
    cse_arena *arena = cse_arena_new();
    cse_weights *weights = memory_weights();
    memory_add(weights, "head.weight", CSE_ELEMENT_F32, shape);
    add_stacks(weights, CSE_ELEMENT_BF16);
    cse_weights *ours = mapped(arena, weights, "{\"n\": 2}");
    ck_assert_msg(ours != NULL, "%s", cse_error_message());
    unsigned char bytes[48];
    const int index = cse_weights_find(ours, "e.weight");
    ck_assert_int_ge(index, 0);
    ck_assert_int_eq(cse_weights_read(ours, index, 0, sizeof bytes, bytes), CSE_OK);
    for (size_t i = 0; i < sizeof bytes; i++)
        ck_assert_int_eq(bytes[i], memory_byte(0, i, CSE_ELEMENT_F32));
    cse_weights_close(&ours);

    weights = memory_weights(); /* the same file of a model whose weights are two */
    memory_add(weights, "head.weight", CSE_ELEMENT_F32, shape);
    add_stacks(weights, CSE_ELEMENT_BF16);
    ck_assert_ptr_null(mapped(arena, weights, "{\"n\": 2, \"tie\": false}"));
    ck_assert_msg(strstr(cse_error_message(), "the first is 'embed.weight'") != NULL, "%s",
                  cse_error_message());
    cse_arena_destroy(&arena);
}
END_TEST

START_TEST(matrices_of_a_stack_get_one_type)
{
    const cse_shape shape = { .rank = 2, .dims = { 4, 3 } };
    cse_arena *arena = cse_arena_new();
    cse_weights *weights = memory_weights();
    memory_add(weights, "model.embed.weight", CSE_ELEMENT_F16, shape);
    add_stacks(weights, CSE_ELEMENT_F32);
    cse_weights *ours = mapped(arena, weights, "{\"n\": 2}");
    ck_assert_msg(ours != NULL, "%s", cse_error_message());
    const int index = cse_weights_find(ours, "x.1.weight");
    ck_assert_int_eq(ours->list[index].element, CSE_ELEMENT_F32);
    ck_assert_int_eq(ours->list[cse_weights_find(ours, "e.weight")].element, CSE_ELEMENT_F16);
    unsigned char bytes[48];
    ck_assert_int_eq(cse_weights_read(ours, index, 0, sizeof bytes, bytes), CSE_OK);
    for (size_t i = 0; i < 24; i++) /* the first matrix as it is */
        ck_assert_int_eq(bytes[i], memory_byte(3, i, CSE_ELEMENT_F32));
    for (size_t i = 0; i < 6; i++) { /* of the second the upper halves */
        ck_assert_int_eq(bytes[24 + 4 * i] | bytes[25 + 4 * i], 0);
        ck_assert_int_eq(bytes[26 + 4 * i], memory_byte(4, 2 * i, CSE_ELEMENT_BF16));
        ck_assert_int_eq(bytes[27 + 4 * i], memory_byte(4, 2 * i + 1, CSE_ELEMENT_BF16));
    }
    cse_weights_close(&ours);
    cse_arena_destroy(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("map_folders");
    TCase *tests = tcase_create("folders");
    tcase_add_test(tests, a_tied_weight_has_any_of_its_names);
    tcase_add_test(tests, matrices_of_a_stack_get_one_type);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
