/* The progress line at every width, for many states of a run: never wider than the terminal, each
 * part whole, and none shown while a more important one is missing. */
#include "cli/terminal/progress_line.c"
#include "tests/support/expect.h"

#include <check.h>

enum { LEAST_WIDTH = 1, MOST_WIDTH = 220 };

static const double losses[] = { 0.6147, 12345.678, 3.2e-7, 0, -1.5, 1e30, NAN, INFINITY };
static const double rates[] = { 0, 0.37, 69.4, 38421, 405000, 2.11e6 };
static const double lefts[] = { NAN, 0, 26, 729, 11110, 8e6, 1e12 };
static const int64_t steps[][2] = { { 0, 0 },
                                    { 1, 60 },
                                    { 860, 1872 },
                                    { 60, 60 },
                                    { 123456, 2500000 },
                                    { 2147483646, 2147483647 },
                                    { 12, 50 },
                                    { 5, 0 } };

enum { COUNT = 8 * 6 * 7 * 8 };

static cse_progress_state state_of(int number)
{
    const int64_t *step = steps[number / (8 * 6 * 7)];
    return (cse_progress_state){
        .phase = (cse_job_phase)(number % (CSE_JOB_STOPPING + 1)),
        .has_step = number % 11 != 0,
        .step = step[0],
        .last_step = step[1],
        .epoch = number % 3 == 0 ? 0 : 1.5 * (number % 50 + 1),
        .last_epoch = number % 3 == 1 ? 0 : 99.5,
        .loss = losses[number % 8],
        .has_loss = number % 5 != 0,
        .learning_rate = number % 4 == 0 ? (double)NAN : 0.0873,
        .samples_per_second = rates[number / 8 % 6],
        .seconds_left = lefts[number / 48 % 7],
        .phase_seconds = number,
    };
}

/* Columns of a text: escape sequences "ESC [ ... m" take none. */
static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++)
        if (*text == '\033')
            text = strchr(text, 'm');
        else
            columns++;
    return columns;
}

START_TEST(no_line_is_wider_than_the_terminal)
{
    for (int width = LEAST_WIDTH; width <= MOST_WIDTH; width++)
        for (int number = 0; number < COUNT; number += 5) {
            char text[CSE_PROGRESS_LINE_BYTES];
            const cse_progress_state state = state_of(number);
            for (int form = 0; form < 4; form++) {
                int columns = cse_progress_line(&state,
                                                (cse_progress_format){ .width = width,
                                                                       .colour = form % 2 == 1,
                                                                       .live = form < 2 },
                                                text);
                cse_expect(columns <= width && columns == columns_of(text) &&
                               columns <= CSE_PROGRESS_COLUMNS,
                           "width %d, state %d: %d columns: %s", width, number, columns, text);
                cse_expect(form % 2 == 1 || strchr(text, '\033') == NULL, "colour: %s", text);
                cse_expect(strchr(text, '\n') == NULL, "two lines: %s", text);
            }
        }
}
END_TEST

/* Whether the line holds the text between blanks or its ends. */
static bool holds(const char *line, const char *text)
{
    const char *found = strstr(line, text);
    const size_t length = strlen(text);
    return found != NULL && (found == line || found[-1] == ' ') &&
           (found[length] == ' ' || found[length] == '\0');
}

START_TEST(parts_are_whole_and_the_important_ones_stay)
{
    static const char *const in_order[] = { "loss 0.6147", "0:26 left", "epoch 2/4",
                                            "38421 samples/s", "lr 0.0873" };
    const cse_progress_state state = { .phase = CSE_JOB_TRAINING,
                                       .has_step = true,
                                       .step = 860,
                                       .last_step = 1872,
                                       .epoch = 1.84,
                                       .last_epoch = 4,
                                       .loss = 0.61471,
                                       .has_loss = true,
                                       .learning_rate = 0.0873,
                                       .samples_per_second = 38421.2,
                                       .seconds_left = 26.3 };
    char text[CSE_PROGRESS_LINE_BYTES];
    int most = 0;
    for (int width = 20; width <= 200; width++) {
        cse_progress_line(&state, (cse_progress_format){ .width = width, .live = true }, text);
        int kept = 0, words = 2; /* "train 860/1872" */
        ck_assert_msg(holds(text, "train 860/1872"), "%d: %s", width, text);
        while (kept < 5 && holds(text, in_order[kept]))
            words += 2, kept++;
        for (int later = kept; later < 5; later++)
            ck_assert_msg(strstr(text, in_order[later]) == NULL, "%d: %s", width, text);
        bool bar = strchr(text, '[') != NULL;
        ck_assert_msg(!bar || (kept == 5 && strchr(text, ']') != NULL), "%d: %s", width, text);
        ck_assert_msg(kept >= most, "width %d shows less than %d: %s", width, width - 1, text);
        most = kept;
        /* Nothing else is in it: no rest of a part. */
        int blanks = 0;
        for (const char *c = text; *c != '\0'; c++) {
            if (*c == '[')
                c = strchr(c, ']');
            blanks += *c == ' ';
        }
        ck_assert_msg(blanks + 1 == words + bar, "%d: %s", width, text);
    }
    ck_assert_int_eq(most, 5);
    /* A terminal of 80 columns, of which the last stays free, shows all. */
    cse_progress_line(&state, (cse_progress_format){ .width = 79, .live = true }, text);
    ck_assert_str_eq(text, "train 860/1872 [=>  ] epoch 2/4 loss 0.6147 lr 0.0873 38421 samples/s "
                           "0:26 left");
}
END_TEST

START_TEST(the_bar_is_the_share_of_steps)
{
    char text[CSE_PROGRESS_LINE_BYTES];
    cse_progress_state state = { .phase = CSE_JOB_VALIDATING,
                                 .has_step = true,
                                 .step = 12,
                                 .last_step = 50,
                                 .learning_rate = (double)NAN,
                                 .seconds_left = (double)NAN };
    /* 31 columns, of which 15 are the head and a blank, and 2 the brackets: 14 * 12 / 50 = 3.4. */
    cse_progress_line(&state, (cse_progress_format){ .width = 31, .live = true }, text);
    ck_assert_str_eq(text, "validate 12/50 [===>          ]");
    state.step = 50;
    cse_progress_line(&state, (cse_progress_format){ .width = 31, .live = true }, text);
    ck_assert_str_eq(text, "validate 50/50 [==============]");
    state.has_step = false;
    state.phase = CSE_JOB_COMPILING;
    state.phase_seconds = 62;
    cse_progress_line(&state, (cse_progress_format){ .width = 31, .live = true }, text);
    ck_assert_str_eq(text, "compiling 1:02");
}
END_TEST

START_TEST(short_durations)
{
    char text[24];
    ck_assert_str_eq(cse_short_duration(42.4, text), "0:42");
    ck_assert_str_eq(cse_short_duration(727, text), "12:07");
    ck_assert_str_eq(cse_short_duration(11110, text), "3:05:10");
    ck_assert_str_eq(cse_short_duration((double)NAN, text), "-");
    ck_assert_str_eq(cse_short_duration(-1, text), "-");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress line");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, no_line_is_wider_than_the_terminal);
    tcase_add_test(cases, parts_are_whole_and_the_important_ones_stay);
    tcase_add_test(cases, the_bar_is_the_share_of_steps);
    tcase_add_test(cases, short_durations);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
