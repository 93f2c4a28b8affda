/* The precision settings: defaults, valid combinations, and each mistake with its position. */
#include <check.h>
#include <string.h>

#include "engine/graph/precision/graphamp.h"

START_TEST(off_is_off)
{
    static const char *const off[] = { "", "{}", "{enabled: false}",
                                       "{enabled: false, fp16_type: float16}",
                                       "{enabled: false, precision_opt_level: 0}" };
    cse_precision *precision = NULL;
    ck_assert_int_eq(cse_precision_parse(off[_i], &precision), CSE_OK);
    ck_assert_ptr_null(precision);
}
END_TEST

/* The format by the rule of compute_format.h. */
START_TEST(the_format_follows_one_rule)
{
    static const struct {
        const char *yaml;
        cse_dtype format;
    } rows[] = { { "{fp16_type: float16}", CSE_FLOAT16 },
                 { "{enabled: true}", CSE_BFLOAT16 },
                 { "{enabled: true, fp16_type: cbfloat16}", CSE_CBFLOAT16 },
                 { "{enabled: null, fp16_type: cbfloat16}", CSE_CBFLOAT16 },
                 { "{enabled: true, graphamp: {preset: mp1}}", CSE_BFLOAT16 },
                 { "{enabled: false, fp16_type: float16}", CSE_FLOAT32 },
                 { "{weight_grad_reduce: bf16}", CSE_FLOAT32 },
                 { "{weight_update: bf16_kahan}", CSE_FLOAT32 },
                 { "{loss_scaling_factor: dynamic, max_gradient_norm: 1}", CSE_FLOAT32 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_precision *precision = NULL;
        ck_assert_int_eq(cse_precision_parse(rows[i].yaml, &precision), CSE_OK);
        ck_assert_msg((precision == NULL ? CSE_FLOAT32 : precision->low) == rows[i].format, "%s",
                      rows[i].yaml);
        cse_precision_destroy(&precision);
    }
}
END_TEST

/* The preset that a level stands for, where none is named. */
START_TEST(levels_have_presets)
{
    static const struct {
        const char *yaml;
        int preset;
        bool norms, softmax;
    } rows[] = { { "{fp16_type: float16, precision_opt_level: 0}", 1, false, false },
                 { "{fp16_type: float16}", 2, true, false },
                 { "{fp16_type: float16, precision_opt_level: 2}", 3, true, true },
                 { "{fp16_type: float16, graphamp: {preset: mp2}}", 2, false, false },
                 { "{fp16_type: float16, graphamp: {preset: mp3}}", 3, true, true } };
    cse_precision *precision = NULL;
    ck_assert_int_eq(cse_precision_parse(rows[_i].yaml, &precision), CSE_OK);
    ck_assert_int_eq(precision->preset, rows[_i].preset);
    ck_assert_int_eq(precision->low_norms, rows[_i].norms);
    ck_assert_int_eq(precision->low_softmax, rows[_i].softmax);
    cse_precision_destroy(&precision);
}
END_TEST

START_TEST(ops_can_be_moved_between_the_sets)
{
    cse_precision *precision = NULL;
    ck_assert_int_eq(cse_precision_parse("{fp16_type: float16, graphamp: {preset: mp1, infer: "
                                         "[exp, sum], allow: [gelu], deny: [matmul]}}",
                                         &precision),
                     CSE_OK);
    ck_assert_int_eq(cse_precision_class_of(precision, cse_op_find("exp")), CSE_INFER);
    ck_assert_int_eq(cse_precision_class_of(precision, cse_op_find("gelu")), CSE_ALLOW);
    ck_assert_int_eq(cse_precision_class_of(precision, cse_op_find("matmul")), CSE_DENY);
    ck_assert_int_eq(cse_precision_class_of(precision, cse_op_find("conv2d")), CSE_ALLOW);
    cse_precision_destroy(&precision);
}
END_TEST

static const struct {
    const char *yaml, *message;
} bad[] = {
    { "{fp16_type: fp16}", "1:13: fp16_type: \"fp16\" is not accepted here" },
    { "{fp16_type: float16, precision_opt_level: 3}", "1:43: precision_opt_level: \"3\"" },
    { "{fp16_type: float16, tiling_accum: fp16}", "1:36: tiling_accum: \"fp16\"" },
    { "{fp16_type: float16, tile_length: 0}", "1:35: tile_length: \"0\" is out of range" },
    { "{fp16_type: float16, graphamp: {preset: mp5}}", "1:41: graphamp.preset: \"mp5\"" },
    { "{fp16_type: float16, graphamp: {alow: []}}", "1:33: unknown setting \"graphamp.alow\"" },
    { "{fp16_type: float16, graphamp: {deny: [exp, matmull]}}", "1:45: there is no op 'matmull'" },
    { "{fp16_type: float16, graphamp: {allow: [gelu], deny: [gelu]}}",
      "1:55: graphamp.deny: op gelu is named already (allow)" },
    { "{fp16_type: float16, graphamp: {allow: [reshape]}}",
      "1:41: graphamp.allow: reshape reads and writes one type" },
    { "{fp16_type: float16, graphamp: {infer: [cast]}}",
      "1:41: graphamp.infer: the types of cast are fixed" },
    { "{fp16_type: float16, graphamp: {allow: [batch_sum]}}",
      "1:41: graphamp.allow: the types of batch_sum are fixed" },
    { "{fp16_type: float16, disable_graphamp: model}", "1:40: disable_graphamp: " },
    { "{fp16_type: float16, pol: {scope: a, level: 1}}", "1:27: pol: a list belongs here" },
    { "{fp16_type: float16, pol: [{level: 1}]}", "1:28: the setting \"pol.scope\" is missing" },
    { "{fp16_type: float16, pol: [{scope: a}]}", "1:36: pol: the entry sets no level" },
    { "{fp16_type: float16, pol: [{scope: a, level: 5}]}", "1:46: pol.level: \"5\"" },
    { "{fp16_type: float16, pol: [{scope: a, level: 1, enable_fwd: false, enable_bwd: false}]}",
      "1:36: pol: the entry sets no level" },
    { "{precision_opt_level: 0}", "1:23: precision_opt_level has no effect without fp16_type" },
    { "{graphamp: {preset: mp1}}", "1:12: graphamp has no effect without fp16_type" },
    { "{fp16_type: float16, emulate_accumulation: maybe}",
      "1:44: emulate_accumulation: \"maybe\"" },
    { "{emulate_accumulation: true}",
      "1:24: emulate_accumulation has no effect without fp16_type" },
};

START_TEST(mistakes_are_named_with_their_place)
{
    cse_precision *precision = NULL;
    ck_assert_msg(cse_precision_parse(bad[_i].yaml, &precision) == CSE_CONFIG, "%s", bad[_i].yaml);
    ck_assert_ptr_null(precision);
    ck_assert_msg(strstr(cse_error_message(), bad[_i].message) != NULL, "%s\n%s",
                  cse_error_message(), bad[_i].message);
}
END_TEST

START_TEST(a_pattern_that_matches_nothing_is_an_error)
{
    cse_precision *precision = NULL;
    cse_graph *graph = cse_graph_new(1, 1);
    ck_assert_int_eq(
        cse_precision_parse("{fp16_type: float16, disable_graphamp: [no.such*]}", &precision),
        CSE_OK);
    ck_assert_int_eq(cse_precision_apply_patterns(precision, graph, false), CSE_OK);
    ck_assert_int_eq(cse_precision_apply_patterns(precision, graph, true), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "1:41: the pattern \"no.such*\" matches no"));
    cse_graph_destroy(&graph);
    cse_precision_destroy(&precision);
}
END_TEST

/* The C API takes the same text, and a session that cannot be opened leaves none behind. */
START_TEST(a_session_checks_its_precision)
{
    const cse_configuration wrong = { .precision = "{fp16_type: bfloat16, pol: 3}" };
    const cse_configuration right = { .precision = "{fp16_type: bfloat16}" };
    ck_assert_int_eq(cse_configure(&wrong), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "1:28: pol: a list belongs here"));
    ck_assert_int_eq(cse_configure(&right), CSE_OK);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("precision settings");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, off_is_off, 0, 5);
    tcase_add_test(cases, the_format_follows_one_rule);
    tcase_add_loop_test(cases, levels_have_presets, 0, 5);
    tcase_add_test(cases, ops_can_be_moved_between_the_sets);
    tcase_add_loop_test(cases, mistakes_are_named_with_their_place, 0,
                        (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(cases, a_pattern_that_matches_nothing_is_an_error);
    tcase_add_test(cases, a_session_checks_its_precision);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
