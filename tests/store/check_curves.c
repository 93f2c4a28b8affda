/* Series read at any resolution, against the points themselves: random series with gaps, numbers
 * that are not finite, several attempts and lengths; random ranges and numbers of points. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/bins.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/support/expect.h"
#include "tests/support/temporary_folder.h"

enum { SERIES = 3, ATTEMPTS = 3, MOST_POINTS = 5000, QUERIES = 60 };

typedef struct points {
    int64_t steps[MOST_POINTS];
    double values[MOST_POINTS];
    int count;
} points;

static char folder[64];
static const char *const names[SERIES + 1] = { "loss", "few", "broken", NULL };
static points all[SERIES][ATTEMPTS];
static uint64_t drawn;

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "check_curves_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    ck_assert(temporary_folder_remove(folder));
}

/* A whole number below `most`. */
static int64_t draw(int64_t most)
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((drawn >> 33) % (uint64_t)most);
}

static double draw_value(int series)
{
    static const double odd[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    if (series == 2 && draw(4) == 0)
        return odd[draw(3)];
    return (double)(draw(2000001) - 1000000) / 4096;
}

/* The points of earlier attempts from a step on are replaced. */
static void cut(int series, int attempt, int64_t from)
{
    for (int before = 0; before < attempt; before++) {
        points *p = &all[series][before];
        while (p->count > 0 && p->steps[p->count - 1] >= from)
            p->count--;
    }
}

/* One attempt of every series: from another step each, with gaps. Those of earlier attempts are
 * replaced from its first step on, or, where it says that it trains, from there on. */
static void write_attempt(int attempt)
{
    cse_store *store = NULL;
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_OK);
    const int64_t lengths[SERIES] = { 1 + draw(MOST_POINTS), draw(12), 1 + draw(MOST_POINTS) };
    const int64_t from = draw(2) == 0 ? 1 + draw(MOST_POINTS) : 0;
    if (from > 0)
        cse_store_steps_from(store, from);
    for (int s = 0; s < SERIES; s++) {
        points *p = &all[s][attempt];
        int series = cse_store_series(store, names[s]);
        int64_t step = from > 0 ? from - 1 + draw(3) : draw(MOST_POINTS);
        if (from > 0)
            cut(s, attempt, from);
        for (p->count = 0; p->count < lengths[s]; p->count++) {
            step += 1 + (draw(3) == 0 ? draw(9) : 0);
            if (p->count == 0)
                cut(s, attempt, step);
            p->steps[p->count] = step;
            p->values[p->count] = draw_value(s);
            cse_store_point(store, series, step, p->values[p->count]);
            if (draw(2000) == 0)
                ck_assert_int_eq(cse_store_flush(store), CSE_OK); /* writes open buckets */
        }
    }
    cse_store_close(&store);
}

/* What one query has given so far. */
typedef struct seen {
    const cse_metrics_query *query;
    const points *points; /* of the curve */
    int next;             /* its next point that no row had */
    int64_t rows, bucket_points;
    int curves;
} seen;

static bool in_range(const cse_metrics_query *query, int64_t step)
{
    return step >= query->first_step && (query->last_step == 0 || step <= query->last_step);
}

/* All points of the range were in a row, and there are enough rows. */
static void end_curve(seen *s)
{
    if (s->points == NULL)
        return;
    int64_t inside = 0;
    for (int i = 0; i < s->points->count; i++)
        inside += in_range(s->query, s->points->steps[i]);
    for (int i = s->next < 0 ? 0 : s->next; i < s->points->count; i++)
        cse_expect(!in_range(s->query, s->points->steps[i]), "point %d is missing", i);
    ck_assert_int_le(s->rows, s->query->max_points);
    if (inside <= s->query->max_points)
        ck_assert_int_eq(s->rows, inside);
    else
        ck_assert_int_gt(2 * s->rows, s->query->max_points);
}

static void begin_curve(seen *s, const cse_curve *curve)
{
    int series = 0;
    while (names[series] != NULL && strcmp(names[series], curve->name) != 0)
        series++;
    ck_assert_int_lt(series, SERIES);
    ck_assert(curve->attempt >= 1 && curve->attempt <= ATTEMPTS);
    ck_assert((curve->level == 0) == (curve->bucket_points == 1));
    ck_assert_double_le((double)curve->bucket_points, pow(8, curve->level));
    ck_assert(curve->level == 0 || (double)curve->bucket_points > pow(8, curve->level - 1));
    s->points = &all[series][curve->attempt - 1];
    s->next = -1;
    s->rows = 0;
    s->bucket_points = curve->bucket_points;
    s->curves++;
}

static void same(double got, double wanted)
{
    cse_expect(got == wanted || (isnan(got) && isnan(wanted)), "%.17g is not %.17g", got, wanted);
}

static void take_row(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    seen *s = self;
    if (row == NULL) {
        end_curve(s);
        begin_curve(s, curve);
        return;
    }
    const points *p = s->points;
    int i = s->next < 0 ? 0 : s->next, first;
    while (i < p->count && p->steps[i] < row->first_step)
        i++;
    cse_expect(s->next < 0 || i == s->next, "a point between two rows is left out");
    cse_expect(p->steps[i] == row->first_step, "a row begins at no point");
    for (int before = 0; s->next < 0 && before < i; before++)
        cse_expect(!in_range(s->query, p->steps[before]), "point %d is missing", before);
    double low = (double)NAN, high = (double)NAN, sum = 0;
    int64_t finite = 0;
    for (first = i; i < p->count && p->steps[i] <= row->last_step; i++) {
        if (!isfinite(p->values[i]))
            continue;
        finite++;
        low = fmin(low, p->values[i]);
        high = fmax(high, p->values[i]);
        sum += p->values[i]; /* exact: multiples of 2^-12 */
    }
    cse_expect(row->last_step == p->steps[i - 1], "a row ends at no point");
    cse_expect(row->count == i - first && row->count <= s->bucket_points, "its count is wrong");
    cse_expect(row->finite == finite, "its count of finite points is wrong");
    same(row->minimum, low);
    same(row->maximum, high);
    same(row->sum, sum);
    same(row->last, p->values[i - 1]);
    s->next = i;
    s->rows++;
}

/* How many curves there are: of one attempt, or of all (0). */
static int curves_of(int64_t attempt)
{
    int count = 0;
    for (int s = 0; s < SERIES; s++)
        for (int a = 0; a < ATTEMPTS; a++)
            count += all[s][a].count > 0 && (attempt == 0 || attempt == a + 1);
    return count;
}

START_TEST(any_resolution_sums_up_the_points)
{
    cse_store_reader *reader = NULL;
    drawn = (uint64_t)_i + 1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++)
        write_attempt(attempt);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    for (int i = 0; i < QUERIES; i++) {
        cse_metrics_query query = { .max_points = 1 + draw(i % 2 == 0 ? 40 : 2 * MOST_POINTS) };
        if (i % 3 > 0)
            query.first_step = draw(2 * MOST_POINTS);
        if (i % 3 > 1)
            query.last_step = query.first_step + 1 + draw(2 * MOST_POINTS);
        if (i % 5 == 0)
            query.attempt = 1 + draw(ATTEMPTS);
        seen s = { .query = &query };
        ck_assert_int_eq(cse_store_reader_metrics(reader, &query, take_row, &s), CSE_OK);
        end_curve(&s);
        ck_assert_int_eq(s.curves, curves_of(query.attempt));
    }
    cse_store_reader_close(&reader);
}
END_TEST

/* Each point of the ranges once, from the points themselves. */
static void count_points(int series, const cse_bin_range *range, cse_bin *bins)
{
    for (int a = 0; a < ATTEMPTS; a++)
        for (int i = 0; i < all[series][a].count; i++) {
            const int64_t step = all[series][a].steps[i], from = step - range->first;
            const double value = all[series][a].values[i];
            if (from < 0 || from / range->width >= range->count)
                continue;
            cse_bin *bin = &bins[from / range->width];
            const bool is_first = bin->finite + bin->not_finite == 0;
            bin->first_step = is_first || step < bin->first_step ? step : bin->first_step;
            bin->last_step = step > bin->last_step ? step : bin->last_step;
            bin->finite += isfinite(value);
            bin->not_finite += !isfinite(value);
            bin->sum += isfinite(value) ? value : 0; /* exact */
        }
}

static void compare_bins(cse_store_reader *reader, int series, const cse_bin_range *range)
{
    cse_bin *got = calloc((size_t)range->count, sizeof *got);
    cse_bin *wanted = calloc((size_t)range->count, sizeof *wanted);
    count_points(series, range, wanted);
    ck_assert_int_eq(cse_store_reader_bins(reader, names[series], range, got), CSE_OK);
    for (int i = 0; i < range->count; i++) {
        ck_assert_int_eq(got[i].finite, wanted[i].finite);
        ck_assert_int_eq(got[i].not_finite, wanted[i].not_finite);
        ck_assert_int_eq(got[i].first_step, wanted[i].first_step);
        ck_assert_int_eq(got[i].last_step, wanted[i].last_step);
        same(got[i].sum, wanted[i].sum);
    }
    free(got);
    free(wanted);
}

START_TEST(ranges_of_steps_have_each_point_once)
{
    cse_store_reader *reader = NULL;
    cse_bin none;
    drawn = (uint64_t)_i + 77;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++)
        write_attempt(attempt);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    for (int i = 0; i < QUERIES; i++) {
        const cse_bin_range range = { .first = 1 + draw(i % 2 == 0 ? 2 : MOST_POINTS),
                                      .width = 1 + draw(i % 3 == 0 ? 4 : 900),
                                      .count = 1 + (int)draw(300) };
        for (int s = 0; s < SERIES; s++)
            compare_bins(reader, s, &range);
    }
    const cse_bin_range whole = { .first = 1, .width = INT32_MAX, .count = 1 };
    ck_assert_int_eq(cse_store_reader_bins(reader, "no such series", &whole, &none), CSE_OK);
    ck_assert_int_eq(none.finite + none.not_finite, 0);
    cse_store_reader_close(&reader);
}
END_TEST

START_TEST(widths_lie_near_those_of_buckets)
{
    static const int64_t wanted[][4] = {
        { 1, 100, 100, 1 },        { 1, 0, 100, 1 },         { 1, 801, 100, 16 },
        { 1, 700, 100, 7 },        { 1, 100000, 120, 1024 }, { 501, 1000, 100, 5 },
        { 1, 1000000, 250, 4096 },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ck_assert_int_eq(cse_bin_width(wanted[i][0], wanted[i][1], wanted[i][2]), wanted[i][3]);
}
END_TEST

/* The case in which a whole level alone gave 59 rows of 468. */
START_TEST(little_more_points_than_rows_make_half_as_many_rows_at_least)
{
    cse_store *store = NULL;
    cse_store_reader *reader = NULL;
    points *p = &all[0][0];
    ck_assert_int_eq(cse_store_open(folder, NULL, &store), CSE_OK);
    int series = cse_store_series(store, names[0]);
    for (p->count = 0; p->count < 469; p->count++) {
        p->steps[p->count] = p->count + 1;
        p->values[p->count] = p->count % 7;
        cse_store_point(store, series, p->count + 1, p->count % 7);
    }
    cse_store_close(&store);
    ck_assert_int_eq(cse_store_reader_open(folder, &reader), CSE_OK);
    static const int64_t wanted[][2] = { { 468, 235 }, { 469, 469 }, { 60, 59 }, { 58, 30 } };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const cse_metrics_query query = { .max_points = wanted[i][0] };
        seen s = { .query = &query };
        ck_assert_int_eq(cse_store_reader_metrics(reader, &query, take_row, &s), CSE_OK);
        end_curve(&s);
        ck_assert_int_eq(s.rows, wanted[i][1]);
    }
    cse_point point;
    ck_assert(cse_store_reader_last_point(reader, names[0], &point));
    ck_assert_int_eq(point.step, 469);
    ck_assert_double_eq(point.value, 468 % 7);
    cse_store_reader_close(&reader);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("curves");
    TCase *cases = tcase_create("resolution");
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, any_resolution_sums_up_the_points, 0, 3);
    tcase_add_loop_test(cases, ranges_of_steps_have_each_point_once, 0, 3);
    tcase_add_test(cases, widths_lie_near_those_of_buckets);
    tcase_add_test(cases, little_more_points_than_rows_make_half_as_many_rows_at_least);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
