/* Conversations of every form become tokens of which the right ones count; what is wrong with one
 * is said with its place before a run; rows that are packed hold each conversation once. Tokens are
 * single characters here, so that what counts can be read. */
#include "dataloader/conversations/conversation_set.h"

#include "dataloader/conversations/packing.h"
#include "tests/dataloader/fixture.h"

#define CHATML                                                                 \
    "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}<e>\n{% endfor %}" \
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"

/* A vocabulary of all printable characters of ASCII, the blank and the line end. */
static void write_tokenizer(void)
{
    cse_text text = { 0 };
    cse_text_add(&text, "{\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {");
    for (int c = 33; c < 127; c++)
        cse_text_add(&text, "\"%s%c\": %d, ", c == '"' || c == '\\' ? "\\" : "", c, c - 33);
    cse_text_add(&text, "\"\u0120\": 94, \"\u010a\": 95}}, \"added_tokens\": [{\"id\": 96, "
                        "\"content\": \"<s>\"}, {\"id\": 97, \"content\": \"<e>\"}], "
                        "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": "
                        "false}}");
    fixture_write("tokenizer.json", text.data, text.size);
    cse_text_clear(&text);
}

static void begin(void)
{
    fixture_make_folder();
    write_tokenizer();
    fixture_write_text("tokenizer_config.json", "{\"eos_token\": \"<e>\"}");
    fixture_write_text("chat_template.jinja", CHATML);
}

static cse_status fill(cse_conversation_set *set, const char *file,
                       const cse_conversation_rules *rules, cse_loss_on loss_on)
{
    cse_conversation_tools *tools;
    const cse_conversation_choices choices = { .tokenizer = fixture_folder, .loss_on = loss_on };
    CSE_TRY(cse_conversation_files_add(&set->files, fixture_path(file)));
    CSE_TRY(cse_conversation_tools_open(&choices, &tools));
    const cse_status status =
        cse_conversation_set_fill(set, cse_conversation_writer_view(tools), rules);
    cse_conversation_tools_close(&tools);
    return status;
}

static const cse_conversation_rules plain = { .most_tokens = 1000 };

/* What counts of a conversation, with "|" between parts that are apart. */
static void counted_text(const cse_conversation_set *set, int64_t item, char *text)
{
    bool was = false;
    char *at = text;
    for (int64_t t = 0; t < set->lengths[item]; t++) {
        const int32_t id = set->ids[set->items[item].begin + t];
        const bool counts = set->counts[set->items[item].begin + t];
        if (counts && !was && at > text)
            *at++ = '|';
        if (counts && id < 94)
            *at++ = (char)(id + 33);
        else if (counts)
            at = stpcpy(at, id == 94 ? "_" : id == 95 ? "$" : id == 96 ? "<s>" : "<e>");
        was = counts;
    }
    *at = '\0';
}

static void expect_counted(const char *row, cse_loss_on loss_on, const char *expected)
{
    char text[2000];
    cse_conversation_set set = { 0 };
    fixture_write_text("a.jsonl", row);
    fixture_expect(fill(&set, "a.jsonl", &plain, loss_on), CSE_OK, NULL);
    ck_assert_int_eq(set.count, 1);
    counted_text(&set, 0, text);
    ck_assert_str_eq(text, expected);
    cse_conversation_set_clear(&set);
}

static void expect_refused(const char *rows, const char *part)
{
    cse_conversation_set set = { 0 };
    fixture_write_text("a.jsonl", rows);
    fixture_expect(fill(&set, "a.jsonl", &plain, CSE_LOSS_ON_ANSWERS), CSE_DATA, part);
    cse_conversation_set_clear(&set);
}

#define USER(text) "{\"role\": \"user\", \"content\": \"" text "\"}"
#define ANSWER(text) "{\"role\": \"assistant\", \"content\": \"" text "\"}"
#define TWO "{\"messages\": [" USER("Hi") ", " ANSWER("Yo") ", " USER("B") ", " ANSWER("C D") "]}"

START_TEST(answers_count)
{
    expect_counted(TWO, CSE_LOSS_ON_ANSWERS, "Yo<e>|C_D<e>");
    expect_counted(TWO, CSE_LOSS_ON_LAST_ANSWER, "C_D<e>");
    expect_counted("{\"messages\": [" USER("a") ", " ANSWER("b") ", " USER("c") "]}",
                   CSE_LOSS_ON_LAST_ANSWER, "b<e>");
    expect_counted("{\"messages\": [" USER("a") ", " ANSWER("b") "]}", CSE_LOSS_ON_ALL,
                   "<s>user$a<e>$<s>assistant$b<e>$");
    /* Blanks of the answer itself stay. */
    expect_counted("{\"messages\": [" USER("a") ", " ANSWER(" b \\n") "]}", CSE_LOSS_ON_ANSWERS,
                   "_b_$<e>");
    expect_counted("{\"messages\": [" ANSWER("b") "]}", CSE_LOSS_ON_ANSWERS, "b<e>");
}
END_TEST

START_TEST(forms_are_told_apart)
{
    expect_counted("{\"conversations\": [{\"from\": \"human\", \"value\": \"Hi\"}, {\"from\": "
                   "\"gpt\", \"value\": \"Yo\"}], \"system\": \"S\"}",
                   CSE_LOSS_ON_ALL, "<s>system$S<e>$<s>user$Hi<e>$<s>assistant$Yo<e>$");
    expect_counted("{\"instruction\": \"Add\", \"input\": \"1\", \"output\": \"2\", \"history\": "
                   "[[\"q\", \"a\"]]}",
                   CSE_LOSS_ON_ALL,
                   "<s>user$q<e>$<s>assistant$a<e>$<s>user$Add$1<e>$<s>assistant$2<e>$");
    expect_counted("{\"instruction\": \"Add\", \"input\": \"\", \"output\": \"2\"}",
                   CSE_LOSS_ON_ANSWERS, "2<e>");
    expect_counted("{\"prompt\": \"ab\", \"completion\": \"cd\"}", CSE_LOSS_ON_ANSWERS, "cd<e>");
    expect_counted("{\"prompt\": \"ab\", \"completion\": \"cd\"}", CSE_LOSS_ON_ALL, "abcd<e>");
    /* Answers of the prompt are none. */
    expect_counted("{\"prompt\": [" USER("a") ", " ANSWER("b") ", " USER(
                       "c") "], \"completion\": [" ANSWER("d") "]}",
                   CSE_LOSS_ON_ANSWERS, "d<e>");
}
END_TEST

START_TEST(the_template_may_say_what_an_answer_is)
{
    fixture_write_text("chat_template.jinja",
                       "{% for m in messages %}{% if m.role == 'assistant' %}A:{% generation %}"
                       "{{ m.content }};{% endgeneration %}{% else %}U:{{ m.content }};{% endif %}"
                       "{% endfor %}");
    expect_counted(TWO, CSE_LOSS_ON_ANSWERS, "Yo;|C_D;");
    expect_counted(TWO, CSE_LOSS_ON_LAST_ANSWER, "C_D;");
    expect_counted(
        "{\"prompt\": [" USER("a") ", " ANSWER("b") "], \"completion\": [" ANSWER("d") "]}",
        CSE_LOSS_ON_ANSWERS, "d;");
}
END_TEST

START_TEST(templates_that_end_a_text_in_another_way)
{
    /* <e> stands at the end of the whole text alone, as in Phi-3; turns end in "/". */
    fixture_write_text("chat_template.jinja",
                       "{% for m in messages %}{{ m.role[0] }}{{ m.content }}/{% endfor %}"
                       "{{ 'a' if add_generation_prompt else '<e>' }}");
    expect_counted(TWO, CSE_LOSS_ON_ANSWERS, "Yo/|C_D/<e>");
}
END_TEST

START_TEST(templates_that_are_not_stable_are_refused)
{
    fixture_write_text("chat_template.jinja",
                       "{% for m in messages %}{{ m.role[0] }}{% if loop.last %}think{% endif %}"
                       "{{ m.content }}<e>{% endfor %}{% if add_generation_prompt %}a{% endif %}");
    expect_refused(TWO, "a.jsonl: line 1: where answer 2 stands cannot be told: ");
    expect_refused(TWO, "put {% generation %} and {% endgeneration %} around answers");
    fixture_write_text("chat_template.jinja",
                       "{% for m in messages %}{{ m.content }}<e>{% endfor %}"
                       "{% if add_generation_prompt %}<s>{% endif %}");
    expect_refused(TWO, "or the begin of an answer, in another way");
}
END_TEST

START_TEST(mistakes_have_a_place)
{
    expect_refused("{\"messages\": [" USER("a") "]}\n",
                   "1 of 1 conversations have no answer that the loss counts");
    expect_refused("{\"messages\": []}", "have no answer");
    expect_refused("\n{\"text\": \"a\"}", "a.jsonl: line 2: it is no conversation: accepted are");
    expect_refused("{\"messages\": [{\"role\": \"user\"}]}",
                   "message 1: its member \"content\" is no text");
    expect_refused("{\"messages\": [3]}", "message 1: it is no object with a text in member");
    expect_refused("{\"messages\": {\"role\": \"user\"}}", "is no list of messages");
    expect_refused("{\"conversations\": [{\"from\": \"alien\", \"value\": \"\"}]}",
                   "\"alien\": accepted are human, user, gpt");
    expect_refused("{\"instruction\": \"a\"}", "it has no text in member \"output\"");
    expect_refused("{\"prompt\": \"a\", \"completion\": []}", "neither two texts nor two lists");
    expect_refused("{\"messages\": [", "a.jsonl: line 1: column");
    expect_refused("[1]", "it is no object of JSON");
    fixture_write_text("chat_template.jinja", "{{ raise_exception('never') }}");
    expect_refused(TWO, "a.jsonl: line 1: ");
    expect_refused(TWO, "chat_template.jinja:1:19: refused by the template: never");
    fixture_write_text("chat_template.jinja", "{% if %}");
    expect_refused(TWO, "chat_template.jinja:1:7: \"%}\" stands where an expression");
    remove(fixture_path("chat_template.jinja"));
    expect_refused(TWO, "has no chat template; name a file with one by chat_template");
}
END_TEST

START_TEST(long_ones_are_cut_and_counted)
{
    cse_conversation_set set = { 0 };
    char text[200];
    /* "<s>user$a<e>$" are 9 tokens, "<s>assistant$" 11, "<e>$" 2. */
    cse_conversation_rules rules = { .most_tokens = 23 };
    fixture_write_text(
        "a.jsonl",
        "{\"messages\": [" USER("a") ", " ANSWER(
            "bcdefgh") "]}\n"
                       "{\"messages\": [" USER("aaaaaaaaaaaaaaaaaaaaaa") ", " ANSWER(
                           "b") "]}\n"
                                "{\"messages\": [" USER("a") "]}\n"
                                                             "{\"messages\": [" USER(
                                                                 "a") ", " ANSWER("b") "]}\n");
    fixture_expect(fill(&set, "a.jsonl", &rules, CSE_LOSS_ON_ANSWERS), CSE_DATA,
                   "1 of 4 conversations have no answer");
    cse_conversation_set_clear(&set);
    rules.leaves_out = true;
    fixture_expect(fill(&set, "a.jsonl", &rules, CSE_LOSS_ON_ANSWERS), CSE_OK, NULL);
    ck_assert_int_eq(set.count, 2);
    ck_assert_int_eq(set.cut, 1);
    ck_assert_int_eq(set.cut_tokens, 29 - 23);
    ck_assert_int_eq(set.cut_away, 1);
    ck_assert_int_eq(set.without_answer, 1);
    counted_text(&set, 0, text);
    ck_assert_str_eq(text, "bcd");
    ck_assert_int_eq(set.items[1].row, 3);
    cse_conversation_set_clear(&set);
    rules.too_long = CSE_TOO_LONG_LEFT_OUT;
    fixture_expect(fill(&set, "a.jsonl", &rules, CSE_LOSS_ON_ANSWERS), CSE_OK, NULL);
    ck_assert_int_eq(set.count, 1);
    ck_assert_int_eq(set.left_out_long, 2);
    cse_conversation_set_clear(&set);
    rules.too_long = CSE_TOO_LONG_REFUSED;
    fixture_expect(fill(&set, "a.jsonl", &rules, CSE_LOSS_ON_ANSWERS), CSE_DATA,
                   "2 of 4 conversations have more than 23 tokens, the first: ");
    cse_conversation_set_clear(&set);
}
END_TEST

START_TEST(a_list_in_a_file_is_read)
{
    cse_conversation_set set = { 0 };
    char place[600];
    fixture_write_text("a.json", "[" TWO ", " TWO "]");
    fixture_expect(fill(&set, "a.json", &plain, CSE_LOSS_ON_ANSWERS), CSE_OK, NULL);
    ck_assert_int_eq(set.count, 2);
    cse_conversation_files_locate(&set.files, 1, place, sizeof place);
    ck_assert_msg(strstr(place, "a.json: entry 2") != NULL, "%s", place);
    cse_conversation_set_clear(&set);
    fixture_write_text("a.txt", TWO);
    fixture_expect(fill(&set, "a.txt", &plain, CSE_LOSS_ON_ANSWERS), CSE_DATA,
                   "accepted: .jsonl, .ndjson, .json, .parquet");
    cse_conversation_set_clear(&set);
}
END_TEST

START_TEST(a_row_has_tools)
{
    fixture_write_text("chat_template.jinja",
                       "{% for t in tools or [] %}{{ t.name }}({{ t.n }}){% endfor %}"
                       "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% if m.tool_calls %}"
                       "{{ m.tool_calls[0].function.name }}{% endif %}<e>{% endfor %}"
                       "{% if add_generation_prompt %}a{% endif %}");
    expect_counted("{\"messages\": [" USER("x") ", " ANSWER("y") "], \"tools\": [{\"name\": \"f\", "
                                                                 "\"n\": 3}]}",
                   CSE_LOSS_ON_ALL, "f(3)ux<e>ay<e>");
    expect_counted("{\"conversations\": [{\"from\": \"human\", \"value\": \"x\"}, {\"from\": "
                   "\"function_call\", \"value\": \"{\\\"name\\\": \\\"g\\\"}\"}], \"tools\": "
                   "\"[{\\\"name\\\": \\\"f\\\"}]\"}",
                   CSE_LOSS_ON_ANSWERS, "g<e>");
    expect_refused("{\"messages\": [], \"tools\": 3}", "member \"tools\" is no list");
}
END_TEST

/* ---- packing ---- */

START_TEST(packing_holds_each_once)
{
    int32_t lengths[500];
    bool seen[500] = { false };
    cse_packing packing = { 0 };
    unsigned state = 7;
    int64_t total = 0;
    for (int i = 0; i < 500; i++) {
        state = state * 1103515245u + 12345u;
        total += lengths[i] = (int32_t)(1 + (state >> 16) % 64);
    }
    cse_packing_make(&packing, lengths, 500, 64);
    for (int64_t row = 0; row < packing.rows; row++) {
        int64_t sum = 0;
        ck_assert_int_lt(packing.first[row], packing.first[row + 1]);
        for (int64_t k = packing.first[row]; k < packing.first[row + 1]; k++) {
            ck_assert(!seen[packing.items[k]]);
            seen[packing.items[k]] = true;
            sum += lengths[packing.items[k]];
            ck_assert(k == packing.first[row] || packing.items[k] > packing.items[k - 1]);
        }
        ck_assert_int_le(sum, 64);
        ck_assert(row == 0 ||
                  packing.items[packing.first[row]] > packing.items[packing.first[row - 1]]);
    }
    ck_assert_int_eq(packing.first[packing.rows], 500);
    /* Best fit leaves little room here. */
    ck_assert_int_le(packing.rows, total / 64 + total / 64 / 50 + 1);
    cse_packing_clear(&packing);
}
END_TEST

START_TEST(packing_is_best_fit)
{
    const int32_t lengths[] = { 6, 4, 9, 5, 9, 3 };
    const int64_t items[] = { 0, 3, 1, 2, 5, 4 }, first[] = { 0, 2, 3, 5, 6 };
    cse_packing packing = { 0 };
    cse_packing_make(&packing, lengths, 6, 12);
    ck_assert_int_eq(packing.rows, 4);
    ck_assert_mem_eq(packing.items, items, sizeof items);
    ck_assert_mem_eq(packing.first, first, sizeof first);
    cse_packing_clear(&packing);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("conversations");
    tcase_add_checked_fixture(tests, begin, fixture_remove_folder);
    tcase_add_test(tests, answers_count);
    tcase_add_test(tests, forms_are_told_apart);
    tcase_add_test(tests, the_template_may_say_what_an_answer_is);
    tcase_add_test(tests, templates_that_end_a_text_in_another_way);
    tcase_add_test(tests, templates_that_are_not_stable_are_refused);
    tcase_add_test(tests, mistakes_have_a_place);
    tcase_add_test(tests, long_ones_are_cut_and_counted);
    tcase_add_test(tests, a_list_in_a_file_is_read);
    tcase_add_test(tests, a_row_has_tools);
    tcase_add_test(tests, packing_holds_each_once);
    tcase_add_test(tests, packing_is_best_fit);
    return fixture_run(tests);
}
