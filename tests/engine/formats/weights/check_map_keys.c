/* Every key of a config.json with another value, against the verdict that stands in
 * tests/reference/config_keys.txt: refused by its name, the same model as before, or another one.
 * tests/python/config_keys.py made that table, where it computed each changed folder with
 * transformers, and compares it again. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/rope_factors.h"

/* The printed settings of facts; NULL: they are refused, as *why says. */
static char *settings_of(const cse_map *map, const json_t *facts, const char **why)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *settings = NULL;
    cse_text text = { 0 };
    cse_status status = cse_map_check_keys(map, arena, facts);
    if (status == CSE_OK)
        status = cse_map_settings(map, arena, facts, &settings);
    if (status == CSE_OK)
        cse_yaml_print(settings, &text);
    *why = status == CSE_OK ? "" : cse_error_message();
    cse_arena_destroy(&arena);
    return text.data;
}

/* "FAMILY KEY VALUE VERDICT", or "FAMILY base FACTS"; the value may have blanks. */
typedef struct row {
    char *family, *key, *value, *verdict;
} row;

static bool split(char *line, row *r)
{
    line[strcspn(line, "\n")] = '\0';
    char *first = strchr(line, ' '), *second = first != NULL ? strchr(first + 1, ' ') : NULL;
    if (second == NULL)
        return false;
    *first = *second = '\0';
    *r = (row){ .family = line, .key = first + 1, .value = second + 1, .verdict = NULL };
    char *last = strrchr(r->value, ' ');
    if (strcmp(r->key, "base") != 0) {
        ck_assert_ptr_nonnull(last);
        *last = '\0';
        r->verdict = last + 1;
    }
    return true;
}

static const char *verdict_of(const char *before, const char *after)
{
    return after == NULL ? "refused" : strcmp(before, after) == 0 ? "same" : "used";
}

static void check_row(const cse_map *map, const json_t *base, const char *before, const row *r)
{
    const char *why;
    json_t *facts = json_deep_copy(base);
    json_t *value = json_loads(r->value, JSON_DECODE_ANY, NULL);
    ck_assert_msg(value != NULL, "%s %s: %s is no JSON", r->family, r->key, r->value);
    json_object_set_new(facts, r->key, value);
    if (strcmp(r->key, "rope_scaling") == 0 || strcmp(r->key, "rope_theta") == 0)
        json_object_del(facts, "rope_parameters"); /* older folders have no other */
    char *after = settings_of(map, facts, &why);
    if (after == NULL && strcmp(r->verdict, "used") == 0) { /* a key that selects another map */
        cse_arena *arena = cse_arena_new();
        cse_map *other = NULL;
        ck_assert_int_eq(cse_map_for_theirs(arena, "hugging_face", facts, NULL, &other), CSE_OK);
        after = settings_of(other, facts, &why);
        cse_arena_destroy(&arena);
    }
    const char *verdict = verdict_of(before, after);
    /* What does not fit the weights is told when they are read. */
    const bool fits = strcmp(r->verdict, "unfit") != 0;
    ck_assert_msg(!fits || strcmp(verdict, r->verdict) == 0, "%s: %s: %s is %s, not %s: %s",
                  r->family, r->key, r->value, verdict, r->verdict, why);
    ck_assert_msg(fits || strcmp(verdict, "same") != 0, "%s: %s: %s is of no effect", r->family,
                  r->key, r->value);
    ck_assert_msg(after != NULL || strstr(why, r->key) != NULL || strstr(why, "rope_") != NULL,
                  "%s: %s is not named: %s", r->family, r->key, why);
    free(after);
    json_decref(facts);
}

START_TEST(every_key_has_the_verdict_of_the_table)
{
    char path[4096], line[8192];
    const char *tree = getenv("top_srcdir"), *why;
    cse_arena *arena = cse_arena_new();
    cse_map *map = NULL;
    json_t *base = NULL;
    char *before = NULL;
    int rows = 0;
    row r;
    snprintf(path, sizeof path, "%s/tests/reference/config_keys.txt", tree != NULL ? tree : ".");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || !split(line, &r))
            continue;
        if (r.verdict != NULL) {
            check_row(map, base, before, &r);
            rows++;
            continue;
        }
        json_decref(base);
        free(before);
        base = json_loads(r.value, 0, NULL);
        ck_assert_int_eq(cse_map_for_theirs(arena, "hugging_face", base, NULL, &map), CSE_OK);
        before = settings_of(map, base, &why);
        ck_assert_msg(before != NULL, "%s: %s", r.family, why);
    }
    fclose(file);
    cse_arena_destroy(&arena);
    json_decref(base);
    free(before);
    ck_assert_int_gt(rows, 700);
}
END_TEST

/* Of Llama 3.1 (base 500000, 128 channels a head): transformers' formula for rope_type llama3, in
 * Python, as the frequency without the scaling over that with it. */
START_TEST(factors_are_those_of_llama_3)
{
    static const struct {
        int pair;
        double factor;
    } rows[] = { { 0, 1 },
                 { 28, 1 },
                 { 29, 1.207483871283662 },
                 { 31, 2.0263132059050557 },
                 { 34, 5.257326588708467 },
                 { 35, 8 },
                 { 63, 8 } };
    const cse_rope_scaling scaling = { 8, 1, 4, 8192 };
    float factors[64];
    cse_rope_factors_make(&scaling, 500000, 64, factors);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_double_eq_tol((double)factors[rows[i].pair], rows[i].factor,
                                1e-6 * rows[i].factor);
}
END_TEST

START_TEST(factors_tell_the_scaling)
{
    static const struct {
        cse_rope_scaling scaling;
        double base;
        int count;
    } rows[] = {
        { { 8, 1, 4, 8192 }, 500000, 64 },   { { 32, 1, 4, 8192 }, 500000, 32 },
        { { 4, 1, 4, 64 }, 10000, 8 },       { { 16, 2, 6, 4096 }, 10000, 32 },
        { { 8, 1.5, 3, 8192 }, 1e6, 64 },    { { 2, 1, 32, 2048 }, 10000, 64 },
        { { 8, 1, 1.0001, 8192 }, 1e4, 16 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float made[64], again[64];
        cse_rope_scaling found;
        cse_rope_factors_make(&rows[i].scaling, rows[i].base, rows[i].count, made);
        ck_assert_msg(cse_rope_factors_find(made, rows[i].count, rows[i].base,
                                            rows[i].scaling.original_positions, &found),
                      "row %zu", i);
        cse_rope_factors_make(&found, rows[i].base, rows[i].count, again);
        for (int k = 0; k < rows[i].count; k++)
            ck_assert_double_eq_tol((double)again[k], (double)made[k], 1e-5 * (double)made[k]);
    }
    const float other[4] = { 1, 1.5f, 1.6f, 8 }, less[2] = { 2, 1 };
    cse_rope_scaling none;
    ck_assert(!cse_rope_factors_find(other, 4, 10000, 0, &none));
    ck_assert(!cse_rope_factors_find(less, 2, 10000, 0, &none));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("map keys");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, every_key_has_the_verdict_of_the_table);
    tcase_add_test(all, factors_are_those_of_llama_3);
    tcase_add_test(all, factors_tell_the_scaling);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
