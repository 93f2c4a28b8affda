/* Names never become code: whatever bytes a name has, it is refused, or the generated C has the
 * tokens that it has with a plain name. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/code/codegen/codegen.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/c_tokens.h"
#include "tests/support/random_graph.h"
#include "tests/support/traced_run.h"

enum { RANDOM_NAMES = 600, PIECES = 8, NODES = 12 };

static const char *const traps[] = {
    "*/",
    "/*",
    "//",
    "\\",
    "\\\n",
    "\\ \n",
    "\n",
    "\r",
    "\r\n",
    "?\?/",
    "?\?/\n",
    "?\?/ \n",
    "*",
    "/",
    "*\\\n/\n#error reached\n/*",
    "*?\?/\n/",
    "\"",
    "'",
    "%s%n",
    "$(id)",
    "`id`",
    "#error x",
    "\n#include <a>\n",
    "\xE2\x80\xA8",
    "\xE2\x80\xAE",
    "\xEF\xBB\xBF",
    "\x1B[31m",
    "\xC2\x9B",
    "\xC0\xAF",
    "\xFF",
    "\v",
    "\f",
    "R\"(",
    ")\"",
    "<:",
    "%:",
    "_Pragma(\"x\")",
    "\\u002a/",
    "a",
    "-",
    ".",
};
enum { TRAPS = sizeof traps / sizeof traps[0] };

/* Byte `i` between letters, a trap, or several of them. */
static int hostile_name(int i, char *name, size_t size)
{
    name[0] = '\0';
    if (i < 255)
        return snprintf(name, size, "a%cb", i + 1);
    if (i < 255 + 2 * TRAPS)
        return snprintf(name, size, "%s%s%s", i % 2 ? "a" : "", traps[(i - 255) / 2],
                        i % 2 ? "b" : "");
    for (uint32_t p = 0; p < PIECES; p++) {
        const uint32_t choice = cse_hash_bits((uint64_t)i, p);
        strncat(name, traps[choice % TRAPS], size - strlen(name) - 1);
    }
    return (int)strlen(name);
}
enum { NAMES = 255 + 2 * TRAPS + RANDOM_NAMES };

static char *code_of(const cse_graph *graph)
{
    cse_program program = { 0 };
    cse_text text = { 0 };
    ck_assert_msg(cse_codegen_print(graph, &program, &text) == CSE_OK, "%s", cse_error_message());
    cse_program_clear(&program);
    return text.data;
}

static void name_all(cse_graph *graph, const char *scope)
{
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scope = scope;
}

static char *tokens_with(cse_graph *graph, const char *scope)
{
    name_all(graph, scope);
    char *code = code_of(graph), *tokens = c_tokens(code);
    /* The prelude is the same. */
    const char *own = strstr(tokens, "CSE_ENTRY");
    ck_assert_ptr_nonnull(own);
    own = cse_strdup(own);
    free(code);
    free(tokens);
    return (char *)(uintptr_t)own;
}

START_TEST(scopes_of_any_bytes_leave_the_tokens)
{
    cse_graph *graph = random_graph_new(4, NODES);
    fixture_passes(graph, "");
    char *plain = tokens_with(graph, "plain");
    for (int i = 0; i < NAMES; i++) {
        char name[256];
        hostile_name(i, name, sizeof name);
        char *tokens = tokens_with(graph, name);
        ck_assert_msg(strcmp(tokens, plain) == 0, "name %d reaches the code: %s", i, name);
        free(tokens);
    }
    free(plain);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(a_compiler_reads_them)
{
    cse_graph *graph = random_graph_new(4, NODES);
    fixture_passes(graph, "");
    name_all(graph, "a*\\\n/\n#error reached\n/*?\?/");
    cse_executable *compiled = fixture_compile(graph);
    cse_executable_destroy(&compiled);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

/* The lexer itself: what it must tell apart. */
START_TEST(the_lexer_sees_what_a_compiler_sees)
{
    static const struct {
        const char *text, *tokens;
    } cases[] = {
        { "a /* b */ c", "a c" },   { "/* a *\\\n/ b", " b" },  { "/* a *?\?/\n/ b", " b" },
        { "/* a *\\ \n/ b", " b" }, { "// a\\\nb\nc", " \nc" }, { "\"/*\" a '\"' b", "\" a \" b" },
        { "/* a", " <open>" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *tokens = c_tokens(cases[i].text);
        ck_assert_str_eq(tokens, cases[i].tokens);
        free(tokens);
    }
}
END_TEST

/* Of one network, whose first layer has the name; YAML can write all bytes below 128. */
static cse_status layers_named(const char *name, char **tokens)
{
    cse_text yaml = { 0 };
    cse_status status = CSE_OK;
    cse_text_add(&yaml, "{input_shape: [4], layers: [{linear: {out: 2, name: \"");
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at < 128)
            cse_text_add(&yaml, "\\x%02x", (unsigned)*at);
        else
            cse_text_add_bytes(&yaml, at, 1);
    cse_text_add(&yaml, "\"}}]}");
    open_session();
    cse_model *model = cse_model_new("layers", yaml.data);
    status = cse_session_status();
    if (model != NULL)
        *tokens = cse_strdup(cse_state_name_view(cse_parameter_at(model, 0)));
    cse_finish();
    cse_text_clear(&yaml);
    return status;
}

START_TEST(names_of_layers_are_refused_or_plain)
{
    for (int i = 0; i < NAMES; i++) {
        char name[256], *parameter = NULL;
        const int length = hostile_name(i, name, sizeof name);
        const bool plain = length > 0 &&
                           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-.") == (size_t)length &&
                           name[0] != '-' && name[0] != '.';
        const cse_status status = layers_named(name, &parameter);
        ck_assert_msg(status == (plain ? CSE_OK : CSE_CONFIG), "name %d: %s", i, name);
        free(parameter);
    }
}
END_TEST

/* Names of the public API, each of which reaches a scope, a state or a series. */
START_TEST(names_of_the_interface_are_refused)
{
    static const char *const refused[] = { "",        "a b", "a\n", "*/",      "a\\",
                                           "\x1b[1m", "-a",  ".a",  "\xC3\xA9" };
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        open_session();
        ck_assert_ptr_null(cse_state_new(refused[i], cse_shape_of(2), CSE_FLOAT32, zero));
        ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), "accepted: "));
        cse_finish();
        open_session();
        ck_assert_ptr_null(cse_metric_new("mean", refused[i]));
        ck_assert_int_eq(cse_log_scalar(refused[i], 1), CSE_CONFIG);
        cse_finish();
    }
    open_session();
    ck_assert_ptr_null(
        cse_state_new("a/b", cse_shape_of(2), CSE_FLOAT32, zero)); /* no checkpoint */
    cse_finish();
    open_session();
    ck_assert_ptr_nonnull(cse_metric_new("mean", "eval/mean")); /* a series, which is not saved */
    cse_finish();
}
END_TEST

static cse_tensor *enters_scope(cse_step *step, void *name)
{
    cse_scope_enter(step, name);
    cse_tensor *value = cse_mean_all(cse_step_input(step, "features"));
    cse_scope_leave(step, name);
    return value;
}

START_TEST(scopes_of_the_interface_are_refused)
{
    static char bad[] = "a*\\\n/\n#error reached\n/*";
    open_session();
    const char *message = traced_failure(
        "{data_processor: synthetic, features: [4], batch_size: 2}", enters_scope, bad);
    ck_assert_msg(strstr(message, "is not accepted as a name") != NULL, "%s", message);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names in generated code");
    TCase *cases = tcase_create("names");
    tcase_add_test(cases, the_lexer_sees_what_a_compiler_sees);
    tcase_add_test(cases, scopes_of_any_bytes_leave_the_tokens);
    tcase_add_test(cases, a_compiler_reads_them);
    tcase_add_test(cases, names_of_layers_are_refused_or_plain);
    tcase_add_test(cases, names_of_the_interface_are_refused);
    tcase_add_test(cases, scopes_of_the_interface_are_refused);
    tcase_set_timeout(cases, 120);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
