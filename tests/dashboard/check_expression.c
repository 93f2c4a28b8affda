/* Conditions on jobs: what they mean, what is known, and what is refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/query/expression.h"
#include "engine/base/error.h"

static const char job_text[] =
    "{\"id\": \"a1\", \"name\": \"first try\", \"state\": \"FAILED\", \"model\": \"fc_mnist\","
    " \"optimizer\": null, \"attempt\": 2, \"seed\": 7, \"reason\": \"DIVERGED\","
    " \"labels\": {\"team\": \"vision\", \"fold\": \"3\", \"version\": \"1.10\"},"
    " \"health\": [{\"kind\": \"diverged\"}, {\"kind\": \"skipping\"}],"
    " \"progress\": {\"step\": 120, \"loss\": null, \"minimum_loss\": 0.25}}";
static const char values_text[] =
    "{\"settings\": {\"trainer.init.optimizer.SGD.lr\": \"0.05\","
    "  \"trainer.init.model.name\": \"fc_mnist\", \"trainer.fit.train_dataloader.samples\": "
    "\"512\","
    "  \"trainer.fit.val_dataloader.samples\": \"64\"},"
    " \"metrics\": {\"val_accuracy\": {\"last\": 0.81, \"min\": 0.2, \"max\": 0.9},"
    "  \"lr/0\": {\"last\": 0.05, \"min\": 0.05, \"max\": 0.05, \"at\": 0.5}}}";

/* 1: it holds, 0: it does not, -1: it is refused, -2: a name is unknown. */
static int ask(const char *text)
{
    cse_expression *e = NULL;
    if (cse_expression_parse(text, &e) != CSE_OK)
        return -1;
    json_t *job = json_loads(job_text, 0, NULL), *values = json_loads(values_text, 0, NULL);
    ck_assert(job != NULL && values != NULL);
    int found = cse_expression_holds(e, job, values);
    if (cse_expression_unknown(e) != NULL)
        found = -2;
    json_decref(job);
    json_decref(values);
    cse_expression_destroy(&e);
    return found;
}

static const struct {
    const char *text;
    int found;
} cases[] = {
    { "first", 1 },
    { "FC_mnist", 1 },
    { "vision", 1 },
    { "other", 0 },
    { "\"first try\"", 1 },
    { "state=FAILED", 1 },
    { "state = failed", 1 },
    { "state:failed", 1 },
    { "state!=failed", 0 },
    { "step>100", 1 },
    { "step >= 121", 0 },
    { "min_loss<0.5", 1 },
    { "loss<0.5", 0 }, /* it has none */
    { "loss>=0", 0 },
    { "loss!=1", 1 },
    { "team=vision", 1 },
    { "team~vis", 1 },
    { "fold>2", 1 },
    { "fold<2", 0 },
    { "version>1.9", 0 }, /* both are numbers */
    { "val_accuracy>0.8", 1 },
    { "max(val_accuracy)>0.85", 1 },
    { "min(val_accuracy)>0.85", 0 },
    { "lr/0=0.05", 1 },
    { "at(lr/0)=0.5", 1 },
    { "at(val_accuracy)>0", -2 }, /* no step was asked for */
    { "lr=5e-2", 1 },
    { "optimizer.SGD.lr<=0.05", 1 },
    { "trainer.init.optimizer.SGD.lr=0.05", 1 },
    { "samples=64", 1 }, /* of two settings one */
    { "samples=512", 1 },
    { "samples=65", 0 },
    { "health=diverged", 1 },
    { "health=skipping", 1 },
    { "health=plateau", 0 },
    { "not health=plateau", 1 },
    { "state=FAILED step>100 team=vision", 1 },
    { "state=FAILED and step>1000", 0 },
    { "state=RUNNING or step>100", 1 },
    { "state=RUNNING or step>100 fold=4", 0 }, /* and binds closer */
    { "(state=RUNNING or step>100) fold=3", 1 },
    { "not (fold=3)", 0 },
    { "NOT fold=4 AND team=vision", 1 },
    { "order", 0 }, /* a word that begins as a keyword */
    { "notable", 0 },
    { "gr=3", -2 },
    { "min(nothing)>1", -2 },
    { "state=FAILED or unheard=1", -2 },
    { "GD.lr=0.05", -2 }, /* no end from a dot on */
    { "", -1 },
    { "   ", -1 },
    { "loss<", -1 },
    { "<3", -1 },
    { "(loss<3", -1 },
    { "loss<3)", -1 },
    { "not", -1 },
    { "a or", -1 },
    { "name=\"open", -1 },
};

START_TEST(a_condition_means)
{
    ck_assert_msg(ask(cases[_i].text) == cases[_i].found, "%s: %d, not %d", cases[_i].text,
                  ask(cases[_i].text), cases[_i].found);
}
END_TEST

START_TEST(a_fault_is_told_with_its_place)
{
    cse_expression *e = NULL;
    ck_assert_int_eq(cse_expression_parse("team=vision loss<", &e), CSE_USAGE);
    ck_assert_ptr_null(e);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "a value is missing at character 18"));
}
END_TEST

/* Hostile lengths and depths end in a message. */
START_TEST(there_are_limits)
{
    char text[3001];
    memset(text, '(', 3000);
    text[3000] = '\0';
    ck_assert_int_eq(ask(text), -1);
    text[900] = '\0';
    ck_assert_int_eq(ask(text), -1);
    for (int i = 0; i < 900; i++)
        text[i] = i % 2 ? ' ' : 'a';
    ck_assert_int_eq(ask(text), -1);
    for (int i = 0; i + 4 <= 900; i += 4)
        memcpy(text + i, "not ", 4);
    ck_assert_int_eq(ask(text), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expression");
    TCase *tests = tcase_create("expression");
    tcase_add_loop_test(tests, a_condition_means, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(tests, a_fault_is_told_with_its_place);
    tcase_add_test(tests, there_are_limits);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
