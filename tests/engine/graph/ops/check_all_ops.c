/* The contract of every op of engine/graph/ops (run/contracts/of_op.c), and that those of floats
 * have a gradient. */
#include <check.h>
#include <string.h>

#include "engine/graph/trace/trace.h"
#include "tests/samples/contract.h"
#include "tests/samples/samples.h"

START_TEST(the_contract_is_kept)
{
    contract_check("op", cse_ops, _i);
}
END_TEST

/* Whether a sample's result is a float that is made of a float. */
static bool is_of_floats(const cse_op *op, const cse_op_sample *sample)
{
    cse_shape shapes[CSE_MAX_INPUTS], shape;
    cse_dtype dtypes[CSE_MAX_INPUTS], dtype;
    for (int i = 0; i < sample->input_count; i++) {
        shapes[i] = sample->inputs[i].shape;
        dtypes[i] = sample->inputs[i].dtype;
    }
    const cse_infer in = { &sample->attributes, sample->input_count, shapes, dtypes };
    ck_assert_int_eq(op->infer(&in, &shape, &dtype), CSE_OK);
    return cse_dtype_is_float(dtypes[0]) && cse_dtype_is_float(dtype);
}

/* An op whose output is a float and depends smoothly on a float must say how. */
START_TEST(every_float_op_of_floats_has_a_gradient_or_says_why_not)
{
    static const char *const without[] = { "max_pool2d_gradient", "fused_attention",
                                           "fused_attention_gradient", "paged_attention", NULL };
    for (int i = 0; cse_ops[i] != NULL; i++) {
        bool listed = false;
        for (int k = 0; without[k] != NULL; k++)
            listed = listed || strcmp(without[k], cse_ops[i]->name) == 0;
        for (const cse_op_sample *s = cse_samples_of(cse_ops[i]); s->name != NULL && !listed; s++)
            ck_assert_msg(cse_ops[i]->gradient != NULL || !is_of_floats(cse_ops[i], s),
                          "%s: no gradient", cse_ops[i]->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("all ops");
    TCase *cases = tcase_create("contract");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, the_contract_is_kept, 0, contract_count(cse_ops));
    tcase_add_test(cases, every_float_op_of_floats_has_a_gradient_or_says_why_not);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
