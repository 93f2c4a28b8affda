/* Chat templates: texts and answer spans are those of transformers, whose renderings
 * tests/reference/chat_templates.py wrote; what is wrong is refused with its place; limits hold. */
#include "dataloader/chat/chat_template.h"

#include <limits.h>

#include "tests/dataloader/fixture.h"

static const char *in_tree(const char *name)
{
    static char path[PATH_MAX];
    const char *root = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/dataloader/chat/%s", root != NULL ? root : ".", name);
    return path;
}

static json_t *read_json(const char *name)
{
    json_error_t error;
    json_t *json = json_load_file(in_tree(name), 0, &error);
    ck_assert_msg(json != NULL, "%s: %s", name, error.text);
    return json;
}

static cse_chat_template *template_of(const char *text)
{
    cse_chat_template *template = NULL;
    fixture_expect(cse_chat_template_parse(text, strlen(text), "t", &template), CSE_OK, NULL);
    return template;
}

/* ---- as transformers ---- */

static json_t *tokens_and(const json_t *variables)
{
    json_t *all = json_pack("{ssss}", "bos_token", "<s>", "eos_token", "</s>");
    if (variables != NULL)
        json_object_update(all, (json_t *)(uintptr_t)variables);
    return all;
}

static void expect_spans(const cse_chat_text *text, const json_t *spans, const char *what)
{
    ck_assert_msg(text->span_count == (int)json_array_size(spans), "%s: %d spans", what,
                  text->span_count);
    for (int i = 0; i < text->span_count; i++) {
        const json_t *span = json_array_get(spans, (size_t)i);
        ck_assert_int_eq(text->spans[i].begin, json_integer_value(json_array_get(span, 0)));
        ck_assert_int_eq(text->spans[i].end, json_integer_value(json_array_get(span, 1)));
    }
}

/* `expected`: [text, spans], or null for a conversation that is refused. */
static void expect_rendering(const cse_chat_template *template, const json_t *messages,
                             const json_t *variant, const json_t *expected, const char *what)
{
    struct tm day = { .tm_year = 126, .tm_mon = 0, .tm_mday = 2, .tm_wday = 5, .tm_yday = 1 };
    json_t *variables = tokens_and(json_object_get(variant, "variables"));
    cse_chat_request request = { messages, variables,
                                 json_is_true(json_object_get(variant, "add_generation_prompt")),
                                 &day };
    cse_chat_text text = { 0 };
    const cse_status status = cse_chat_template_render(template, &request, &text);
    if (json_is_null(expected))
        ck_assert_msg(status == CSE_DATA, "%s: accepted: %s", what, text.text);
    else {
        ck_assert_msg(status == CSE_OK, "%s: %s", what, cse_error_message());
        ck_assert_msg(strcmp(text.text, json_string_value(json_array_get(expected, 0))) == 0,
                      "%s: it is\n%s\nnot\n%s", what, text.text,
                      json_string_value(json_array_get(expected, 0)));
        expect_spans(&text, json_array_get(expected, 1), what);
    }
    cse_chat_text_clear(&text);
    json_decref(variables);
}

START_TEST(texts_are_those_of_transformers)
{
    const char *name, *conversation;
    json_t *of_template, *expected, *whole = read_json("rendered.json"), *row;
    size_t i;
    int count = 0;
    json_object_foreach(json_object_get(whole, "rendered"), name, of_template)
    {
        char file[300], what[400];
        cse_chat_template *template;
        json_t *variables;
        snprintf(file, sizeof file, "templates/%s.jinja", name);
        fixture_expect(cse_chat_template_of_file(in_tree(file), NULL, &template, &variables),
                       CSE_OK, NULL);
        json_decref(variables);
        json_object_foreach(of_template, conversation, expected)
        {
            const json_t *messages =
                json_object_get(json_object_get(whole, "conversations"), conversation);
            json_array_foreach(expected, i, row)
            {
                snprintf(what, sizeof what, "%s: %s, variant %zu", name, conversation, i);
                expect_rendering(template, messages,
                                 json_array_get(json_object_get(whole, "variants"), i), row, what);
                count++;
            }
        }
        cse_chat_template_destroy(&template);
    }
    ck_assert_int_ge(json_object_size(json_object_get(whole, "rendered")), 30);
    ck_assert_int_ge(count, 700);
    json_decref(whole);
}
END_TEST

/* ---- what the reference says about Python's and Jinja's own ---- */

static void expect_text(const char *template_text, const char *expected)
{
    cse_chat_template *template = template_of(template_text);
    json_t *messages = json_pack("[{ssss}, {ssss}]", "role", "user", "content", "Hé", "role",
                                 "assistant", "content", "x\ny");
    cse_chat_request request = { .messages = messages };
    cse_chat_text text = { 0 };
    fixture_expect(cse_chat_template_render(template, &request, &text), CSE_OK, NULL);
    ck_assert_str_eq(text.text, expected);
    cse_chat_text_clear(&text);
    json_decref(messages);
    cse_chat_template_destroy(&template);
}

START_TEST(values_print_as_in_python)
{
    expect_text("{{ [1, 2.5, true, none, 'a\"b', \"it's\"] }}",
                "[1, 2.5, True, None, 'a\"b', \"it's\"]");
    expect_text("{{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 4/2 }} {{ -7//2 }}",
                "1e+16 1000000000000000.0 0.0001 1e-05 2.0 -4");
    expect_text("{{ 'héllo'[1] }} {{ 'abc'[::-1] }} {{ [1,2,3][5:1:-1] }} {{ [1,2][5] }}",
                "é cba [3] ");
    expect_text("{{ ['a\\u2028b\\u00a0\\u00e9', 'a\\nb'] }}", "['a\\u2028b\\xa0é', 'a\\nb']");
    expect_text("{{ {'z': 1, 'é': [none]}|tojson }} {{ [1, {}]|tojson(indent=2) }}",
                "{\"z\": 1, \"é\": [null]} [\n  1,\n  {}\n]");
    expect_text("{{ '<é>'|tojson(ensure_ascii=true) }} {{ {'b':1,'a':2}|tojson(sort_keys=true, "
                "separators=(',', ':')) }}",
                "\"<\\u00e9>\" {\"a\":2,\"b\":1}");
    expect_text("{{ 2**3**2 }} {{ 2 ~ 3*4 }} {{ 1 < 2 < 3 }} {{ true == 1 }} {{ 'a' if false }}",
                "64 212 True True ");
    expect_text("{{ 42.55|round(1) }} {{ 2.5|round }} {{ '42.7'|int }} {{ 'x'|int(5) }}",
                "42.5 2.0 42 5");
}
END_TEST

START_TEST(white_space_is_jinjas)
{
    expect_text("a\n  {% if true %}  \n  b\n  {% endif %}\nc\n", "a\n  \n  b\nc");
    expect_text("a \n {%- if true -%} \n b {%- endif %}\n c {{- 1 -}}  d", "ab c1d");
    expect_text("  {%+ if true %}x{% endif +%}\ny", "  x\ny");
    expect_text("a {# none #}\n b{#- c -#} d\r\ne", "a  bd\ne");
    expect_text("{% raw %}{{ x }}{% endraw %}\n{{ '}}' }}{{ {'a': {}} }}", "{{ x }}}}{'a': {}}");
}
END_TEST

START_TEST(scopes_are_jinjas)
{
    expect_text("{% set x = 'a' %}{% for i in range(3) %}{% set x = x ~ i %}{{ x }},{% endfor %}"
                "{{ x }}",
                "a0,a1,a2,a");
    expect_text("{% set n = namespace(a=1) %}{% for i in [2, 3] %}{% set n.a = n.a * i %}"
                "{% endfor %}{{ n.a }}",
                "6");
    expect_text("{% macro f(a, b=2) %}{{ a }}-{{ b }}{{ y }}{% endmacro %}{% set y = '!' %}"
                "{{ f(1) }} {{ f(b=3) }}",
                "1-2! -3!");
    expect_text("{% for x in [1,[2,[3]]] recursive %}{% if x is number %}{{ x }}{% else %}"
                "({{ loop(x) }}:{{ loop.depth }}){% endif %}{% endfor %}",
                "1(2(3:2):1)");
    expect_text("{% for k, v in messages[0].items() %}{{ loop.index }}{{ k }}={{ v }}{{ "
                "loop.nextitem }}{% endfor %}",
                "1role=user('content', 'Hé')2content=Hé");
}
END_TEST

START_TEST(a_filter_that_is_not_reached_need_not_be_known)
{
    expect_text("{% if 'from_json' is filter %}{{ x|from_json }}{% else %}no{% endif %}", "no");
    expect_text("{{ 1|from_json if 'from_json' is filter else 'no' }}", "no");
    expect_text("{{ 'no' if 1 is not none else 2 is odd_thing }}", "no");
}
END_TEST

START_TEST(special_names_are_those_of_a_sandbox)
{
    /* A method hides a key of its name behind ".", not in brackets; strftime_now is not there. */
    expect_text("{{ {'items': 5}['items'] }} {{ {'a': 1}.get('b', 2) }} {{ strftime_now is defined "
                "}}",
                "5 2 False");
    expect_text("{{ tools is none }} {{ documents is defined }} {{ add_generation_prompt }}",
                "True True False");
}
END_TEST

START_TEST(arguments_by_name_reach_their_places)
{
    expect_text("{{ 1 is eq(other=1) }} {{ 6 is divisibleby(num=4) }} {{ 2 is in(seq=[1, 2]) }}",
                "True False True");
    expect_text("{{ {'a': 1}.get(key='a') }} {{ {}.get('b', default=2) }} {{ 'a'.find(sub='a') }}",
                "1 2 0");
    expect_text("{{ 'a,b,c'.split(',', maxsplit=1) }} {{ '3.5'|int(base=8, default=7) }}",
                "['a', 'b,c'] 3");
    expect_text("{% macro f(a, b=2) %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}"
                "{{ f(1, b=3) }}{% call f(b=4) %}c{% endcall %}",
                "134c");
}
END_TEST

/* ---- what is refused ---- */

static void expect_refused(const char *text, const char *part)
{
    cse_chat_template *template = NULL;
    json_t *messages = json_pack("[{ssss}]", "role", "user", "content", "a");
    cse_chat_request request = { .messages = messages };
    cse_chat_text out = { 0 };
    cse_status status = cse_chat_template_parse(text, strlen(text), "t", &template);
    if (status == CSE_OK)
        status = cse_chat_template_render(template, &request, &out);
    fixture_expect(status, CSE_DATA, part);
    cse_chat_text_clear(&out);
    cse_chat_template_destroy(&template);
    json_decref(messages);
}

START_TEST(mistakes_have_a_place)
{
    expect_refused("a\n{{ x", "t:2:1: \"{{\" has no \"}}\" behind it");
    expect_refused("\n\n {% for x in y %}", "t:3:18: the template ends without {% endfor %}");
    expect_refused("{% if x %}{% endfor %}", "t:1:14: the tag \"endfor\" is not accepted here");
    expect_refused("{% include 'x' %}", "accepted: for, else, endfor");
    expect_refused("é {{ x|nothing }}", "t:1:8: the filter \"nothing\" is not known");
    expect_refused("{% if 1 %}{{ 2|nothing }}{% endif %}", "t:1:16: the filter \"nothing\"");
    expect_refused("{% for x in y|nothing %}{{ x }}{% endfor %}", "the filter \"nothing\"");
    expect_refused("{% if 0 %}{{ 2|nothing }}{% endif %}{{ 2|never }}", "the filter \"never\"");
    expect_refused("{{ x is nothing }}", "the test \"nothing\" is not known; accepted: !=, <");
    expect_refused("{{ 'abc }}", "t:1:4: a text has no closing quote");
    expect_refused("{{ (1, 2 }}", "t:1:10: a closing bracket has no opening one of its kind");
    expect_refused("{{ 1 + }}", "\"}}\" stands where an expression is expected");
    expect_refused("{% break %}", "t:1:4: \"break\" is accepted within {% for %} alone");
    expect_refused("{{ 99999999999999999999 }}", "not in the range of 64 bits");
    expect_refused("{{ 1000000000000000000000000000000000000000000000000000000000000000000000000000"
                   "00000000000000000000000000000000000000000000000000000000000e5 }}",
                   "has more than 127 characters");
    expect_refused("{{ '\\ud800' }}", "an escape of a text is no character");
    expect_refused("{{ 1 $ 2 }}", "t:1:6: a character that no expression has");
    expect_refused("{# \n", "\"{#\" has no \"#}\" behind it");
    expect_refused("{{ f(a=1, 2) }}",
                   "t:1:11: an argument is out of order: positional ones come first");
    expect_refused("{{ 1 is odd is even }}", "a test cannot follow a test");
    expect_refused("{% macro f(a=1, b) %}{% endmacro %}",
                   "the parameter \"b\" without a default stands behind one");
}
END_TEST

START_TEST(refusals_of_a_rendering_have_a_place)
{
    expect_refused("\n{{ raise_exception('turns ' ~ 2) }}",
                   "t:2:19: refused by the template: turns 2");
    expect_refused("{{ a.b }}", "t:1:5: \"a\" is not defined: it has no \"b\"");
    expect_refused("{{ messages[3].role }}", "is not defined: it has no \"role\"");
    expect_refused("{{ 'a' + 1 }}", "\"+\" is not for a str and a int");
    expect_refused("{{ 1 // 0 }}", "a division by zero");
    expect_refused("{{ x|tojson }}", "\"x\" is not defined: JSON needs a value");
    expect_refused("{{ 'a'|indent(x=1) }}", "takes no argument \"x\"; it takes: width,first,blank");
    expect_refused("{% set a, b = [1] %}", "1 values stand for 2 names");
    expect_refused("{{ strftime_now('%d') }}", "the template asks for the day");
    expect_refused("{{ 9223372036854775807 + 1 }}", "a whole number beyond 64 bits");
}
END_TEST

START_TEST(no_argument_is_ignored)
{
    expect_refused("{{ range(0, 10, step=2)|list }}", "range takes no argument by name");
    expect_refused("{% for x in [1] %}{{ loop.cycle(1, y=2) }}{% endfor %}", "no argument by name");
    expect_refused("{{ [1].count(1, x=1) }}", "count takes no argument by name, such as \"x\"");
    expect_refused("{{ [1]|select(x=1)|list }}", "select takes \"x\" behind the name of a test");
    expect_refused("{{ 'a'|indent(2, width=3) }}", "indent is given twice \"width\"");
    expect_refused("{{ 1 is eq }}", "eq takes at least 1 arguments (other), not 0");
    expect_refused("{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, a=2) }}",
                   "the macro \"f\" is given twice \"a\"");
    expect_refused("{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}",
                   "the macro \"f\" has no parameter \"b\"");
}
END_TEST

START_TEST(nothing_is_changed_and_nothing_is_reached)
{
    expect_refused("{{ messages.append(1) }}", "\"append\" would change a list");
    expect_refused("{{ messages[0].pop('role') }}", "\"pop\" would change a dict");
    expect_refused("{{ messages[0]['update'] }}", "\"update\" would change a dict");
    expect_refused("{{ ''.__class__ }}", "\"__class__\" of a str is not for templates");
    expect_refused("{{ ''['__class__'] }}", "\"__class__\" of a str is not for templates");
    expect_refused("{% set n = namespace(__a=1) %}", "begins with \"_\"");
    expect_refused("{{ '%n'|format(1) }}", "a format is none of");
    expect_refused("{{ '{0.x}'.format(1) }}", "a field of format() is none of");
}
END_TEST

START_TEST(limits_hold)
{
    expect_refused("{% set r = range(100000) %}{% for i in range(9999) %}{{ -1 in r }}{% endfor %}",
                   "takes more than 20000000 steps");
    expect_refused("{% for i in range(999) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
                   "takes more than");
    expect_refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "more than 400 deep");
    expect_refused("{{ 'ab' * 1000000000 }}", "repeated too many times");
    expect_refused("{% set n = namespace(x='abcdefgh') %}{% for i in range(40) %}"
                   "{% set n.x = n.x + n.x %}{% endfor %}",
                   "more than 64 MB");
    expect_refused("{% set n = namespace(x=[1]) %}{% for i in range(40) %}"
                   "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x|tojson }}",
                   "t:1:");
    expect_refused("{% set n = namespace() %}{% set n.n = n %}{% set n.m = [n, n] %}{% for i in "
                   "range(100000) %}{{ n|string|length }}{% endfor %}",
                   "more than 64 MB");
    expect_refused("{% set a = 'a' * 3000000 %}{{ a.rfind('a' * 1500000 ~ 'b') }}", "steps");
    expect_refused("{% set a = 'a' * 3000000 %}{{ a.strip('b' * 1500000 ~ 'a') }}", "steps");
    expect_refused("{% set n = namespace(x=[1], y=[1]) %}{% for i in range(20) %}"
                   "{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}"
                   "{% for i in range(1000) %}{{ n.x == n.y }}{% endfor %}",
                   "steps");
    expect_refused(
        "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(30) %}"
        "{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}",
        "two values have too many parts to be compared");
    expect_refused("{{ ('a' * 30000000).split('a')|length }}", "more than 512 MB of memory");
    expect_refused("{{ range(1000000) }}", "more than 100000 numbers");
    expect_refused("{{ ''|center(100000000) }}", "at most 1000000");
    char deep[2000] = "{{ ";
    for (int i = 0; i < 300; i++)
        strncat(deep, "(", sizeof deep - strlen(deep) - 1);
    expect_refused(deep, "more than 100 brackets");
    char nots[2000] = "{{ ";
    for (int i = 0; i < 300; i++)
        strncat(nots, i < 299 ? "not " : "1 }}", sizeof nots - strlen(nots) - 1);
    expect_refused(nots, "nested more than 100 deep");
}
END_TEST

/* ---- answers ---- */

START_TEST(a_span_in_a_macro_has_no_place)
{
    cse_chat_template *template =
        template_of("{% macro f() %}{% generation %}a{% endgeneration %}{% endmacro %}b{{ f() }}");
    json_t *messages = json_array();
    cse_chat_request request = { .messages = messages };
    cse_chat_text text = { 0 };
    ck_assert(cse_chat_template_marks_answers(template));
    fixture_expect(cse_chat_template_render(template, &request, &text), CSE_OK, NULL);
    ck_assert_str_eq(text.text, "ba");
    ck_assert(text.spans_lost);
    ck_assert_int_eq(text.span_count, 0);
    cse_chat_text_clear(&text);
    json_decref(messages);
    cse_chat_template_destroy(&template);
}
END_TEST

/* ---- folders ---- */

static void expect_folder(const char *name, const char *expected)
{
    cse_chat_template *template;
    json_t *variables, *messages = json_array();
    fixture_expect(cse_chat_template_of_model(fixture_folder, name, &template, &variables), CSE_OK,
                   NULL);
    cse_chat_request request = { .messages = messages, .variables = variables };
    cse_chat_text text = { 0 };
    fixture_expect(cse_chat_template_render(template, &request, &text), CSE_OK, NULL);
    ck_assert_str_eq(text.text, expected);
    cse_chat_text_clear(&text);
    json_decref(messages);
    json_decref(variables);
    cse_chat_template_destroy(&template);
}

static void expect_no_folder(const char *name, cse_status status, const char *part)
{
    cse_chat_template *template;
    json_t *variables;
    fixture_expect(cse_chat_template_of_model(fixture_folder, name, &template, &variables), status,
                   part);
}

START_TEST(a_folder_has_a_template)
{
    expect_no_folder(NULL, CSE_NO_INPUT, "it has no chat template");
    fixture_write_text("tokenizer_config.json",
                       "{\"model_max_length\": 1000000000000000019884624838656, \"bos_token\": "
                       "{\"content\": \"<b>\"}, \"eos_token\": \"<e>\", "
                       "\"chat_template\": [{\"name\": \"default\", \"template\": "
                       "\"{{ bos_token }}D{{ eos_token }}\"}, {\"name\": \"tool_use\", "
                       "\"template\": \"T{{ pad_token }}\"}]}");
    fixture_write_text("special_tokens_map.json", "{\"pad_token\": \"<p>\", \"eos_token\": \"x\"}");
    expect_folder(NULL, "<b>D<e>");
    expect_folder("tool_use", "T<p>");
    expect_no_folder("rag", CSE_DATA,
                     "no chat template of the name \"rag\"; accepted: default, tool_use");
    fixture_write_text("chat_template.json", "{\"chat_template\": \"J\"}");
    expect_folder(NULL, "J");
    fixture_write_text("chat_template.jinja", "{{ eos_token }}!\n");
    expect_folder(NULL, "<e>!");
    fixture_write_text("chat_template.jinja", "{{ 1");
    expect_no_folder(NULL, CSE_DATA, "chat_template.jinja:1:1");
    fixture_write_text("tokenizer_config.json", "{\"chat_template\": 3}");
    expect_no_folder("../x", CSE_CONFIG, "holds \"/\"");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("chat_template");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, texts_are_those_of_transformers);
    tcase_add_test(tests, values_print_as_in_python);
    tcase_add_test(tests, white_space_is_jinjas);
    tcase_add_test(tests, scopes_are_jinjas);
    tcase_add_test(tests, a_filter_that_is_not_reached_need_not_be_known);
    tcase_add_test(tests, special_names_are_those_of_a_sandbox);
    tcase_add_test(tests, arguments_by_name_reach_their_places);
    tcase_add_test(tests, no_argument_is_ignored);
    tcase_add_test(tests, mistakes_have_a_place);
    tcase_add_test(tests, refusals_of_a_rendering_have_a_place);
    tcase_add_test(tests, nothing_is_changed_and_nothing_is_reached);
    tcase_add_test(tests, limits_hold);
    tcase_add_test(tests, a_span_in_a_macro_has_no_place);
    tcase_add_test(tests, a_folder_has_a_template);
    return fixture_run(tests);
}
