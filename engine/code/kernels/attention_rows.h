/* The row functions of the attention kernels, written once over vectors of 16 lanes. A file that
 * includes this has defined
 *
 *   ROWS_FUNCTION, ROWS_INLINE   the attributes of a function, of one that is always inlined
 *   lanes                        the type of a vector, with these functions:
 *   load_lanes, store_lanes      16 floats, aligned to 64 bytes
 *   set_lanes(value), fma_lanes(a, b, c), mul_, add_ and sub_lanes(a, b)
 *   max_lanes, min_lanes(a, b)   b where one is NaN
 *   nearest_lanes(x), scale_lanes(x, n) = x 2^n, sum_lanes(x), maximum_lanes(x)
 *   keep_lanes(x, from, end)     other lanes become 0
 *   lowest_lanes(x, count)       lanes from `count` on become minus infinity
 *   span_lanes(x, spans, at, query, other)   `other` where key at + lane does not span the query
 *   read_lanes(dtype, at, index, count), write_lanes(dtype, at, index, count, x)
 *   pack_lanes(at, x)            to bfloat16
 *   pair_lanes(low, high)        as words of two bfloat16
 *   turn_lanes(x)                transposes 16 vectors
 *   ROWS_IN_TURN                 rows of scores whose vectors the registers hold at once
 *
 * and, where it defines ROWS_NARROW_QUICKLY, its own
 *
 *   write_whole_lanes(dtype, at, index, x)   write_lanes of all lanes
 *   pack_two(low_at, high_at, low, high)     pack_lanes of both; returns pair_lanes of them */

#ifdef CSE_UNROLL
#define ROWS_UNROLL CSE_UNROLL
#else
#define ROWS_UNROLL
#endif

#ifndef ROWS_NARROW_QUICKLY
ROWS_INLINE void write_whole_lanes(cse_dtype dtype, void *at, int64_t index, lanes x)
{
    write_lanes(dtype, at, index, LANES, x);
}

ROWS_INLINE lanes pack_two(uint16_t *low_at, uint16_t *high_at, lanes low, lanes high)
{
    pack_lanes(low_at, low);
    pack_lanes(high_at, high);
    return pair_lanes(low, high);
}
#endif

/* 2^x; see attention.h. The error of the polynomial is below 2e-9. */
ROWS_INLINE lanes exp2_lanes(lanes x)
{
    x = min_lanes(set_lanes(126.0f), max_lanes(set_lanes(-125.0f), x));
    const lanes n = nearest_lanes(x), r = sub_lanes(x, n);
    lanes p = set_lanes(0x1.41fbbcp-13f);
    p = fma_lanes(p, r, set_lanes(0x1.5f3e52p-10f));
    p = fma_lanes(p, r, set_lanes(0x1.3b2d4cp-7f));
    p = fma_lanes(p, r, set_lanes(0x1.c6aee8p-5f));
    p = fma_lanes(p, r, set_lanes(0x1.ebfbdcp-3f));
    p = fma_lanes(p, r, set_lanes(0x1.62e430p-1f));
    p = fma_lanes(p, r, set_lanes(1.0f));
    return scale_lanes(p, n);
}

/* The largest score that query `query` sees; minus infinity: none. */
ROWS_INLINE float largest_score(const cse_attention_softmax *s, const float *row, int64_t seen,
                                bool spans, int32_t query)
{
    const float lowest = -__builtin_inff();
    lanes maximum = set_lanes(lowest);
    for (int64_t j = 0; j < seen; j += LANES) {
        lanes score = load_lanes(row + j);
        if (j + LANES > seen)
            score = lowest_lanes(score, seen - j);
        if (spans)
            score = span_lanes(score, &s->spans, j, query, lowest);
        maximum = max_lanes(maximum, score);
    }
    return maximum_lanes(maximum);
}

ROWS_INLINE void softmax_row(const cse_attention_softmax *s, int64_t r, bool paired, bool spans)
{
    float *row = s->scores + r * s->stride;
    const int64_t all = s->seen + r * s->seen_step, seen = all < s->most ? all : s->most;
    const int32_t query = s->query + (int32_t)r;
    float largest = largest_score(s, row, seen, spans, query);
    if (spans && largest == -__builtin_inff())
        largest = 0;
    const lanes maximum = set_lanes(largest), factor = set_lanes(s->factor);
    lanes sum = set_lanes(0);
    for (int64_t j = 0; j < s->filled; j += LANES) {
        lanes weight = exp2_lanes(mul_lanes(sub_lanes(load_lanes(row + j), maximum), factor));
        if (j + LANES > seen)
            weight = keep_lanes(weight, 0, seen - j);
        if (spans)
            weight = span_lanes(weight, &s->spans, j, query, 0);
        sum = add_lanes(sum, weight);
        if (paired)
            pack_lanes((uint16_t *)(void *)row + j, weight);
        else
            store_lanes(row + j, weight);
    }
    const float total = sum_lanes(sum);
    s->maxima[r] = largest;
    s->reciprocals[r] = spans && total == 0 ? 0 : 1.0f / total;
}

/* Rows of scores from `r` on, without spans, in turn: the work at a single one waits for its own
 * results most of the time. */
ROWS_INLINE void softmax_rows(const cse_attention_softmax *s, int64_t r, bool paired)
{
    float *rows[ROWS_IN_TURN], largest[ROWS_IN_TURN];
    int64_t seen[ROWS_IN_TURN];
    lanes maxima[ROWS_IN_TURN], sums[ROWS_IN_TURN];
    const lanes factor = set_lanes(s->factor);
    ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++)
    {
        const int64_t all = s->seen + (r + i) * s->seen_step;
        rows[i] = s->scores + (r + i) * s->stride;
        seen[i] = all < s->most ? all : s->most;
        maxima[i] = set_lanes(-__builtin_inff());
    }
    /* The first row sees the fewest. */
    const int64_t whole = seen[0] / LANES * LANES;
    for (int64_t j = 0; j < whole; j += LANES)
        ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++) maxima[i] =
            max_lanes(maxima[i], load_lanes(rows[i] + j));
    ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++)
    {
        for (int64_t j = whole; j < seen[i]; j += LANES)
            maxima[i] = max_lanes(maxima[i], lowest_lanes(load_lanes(rows[i] + j), seen[i] - j));
        largest[i] = maximum_lanes(maxima[i]);
        maxima[i] = set_lanes(largest[i]);
        sums[i] = set_lanes(0);
    }
    for (int64_t j = 0; j < s->filled; j += LANES)
        ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++)
        {
            lanes weight = set_lanes(0);
            if (j < seen[i]) {
                const lanes below = sub_lanes(load_lanes(rows[i] + j), maxima[i]);
                weight = exp2_lanes(mul_lanes(below, factor));
                if (j + LANES > seen[i])
                    weight = keep_lanes(weight, 0, seen[i] - j);
                sums[i] = add_lanes(sums[i], weight);
            }
            if (paired)
                pack_lanes((uint16_t *)(void *)rows[i] + j, weight);
            else
                store_lanes(rows[i] + j, weight);
        }
    ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++)
    {
        s->maxima[r + i] = largest[i];
        s->reciprocals[r + i] = 1.0f / sum_lanes(sums[i]);
    }
}

ROWS_FUNCTION void softmax(const cse_attention_softmax *softmax)
{
    const cse_attention_softmax copy = *softmax, *const s = &copy;
    const bool spans = s->spans.begins != NULL;
    int64_t r = 0;
    for (; !spans && r + ROWS_IN_TURN <= s->rows; r += ROWS_IN_TURN)
        if (s->paired)
            softmax_rows(s, r, true);
        else
            softmax_rows(s, r, false);
    for (; r < s->rows; r++)
        if (s->paired && spans)
            softmax_row(s, r, true, true);
        else if (s->paired)
            softmax_row(s, r, true, false);
        else if (spans)
            softmax_row(s, r, false, true);
        else
            softmax_row(s, r, false, false);
}

/* What 16 queries and one key become. */
typedef struct changed_lanes {
    lanes weight, change;
} changed_lanes;

/* `masked`: some may not see the key. */
ROWS_INLINE changed_lanes change_lanes(const cse_attention_scores *s, int64_t row, int64_t column,
                                       bool masked)
{
    const float *scores = s->scores + row * s->stride, *gradient = s->gradient + row * s->stride;
    int64_t first = 0, end = LANES;
    if (masked) {
        first = s->first_seen + row - column;
        if (s->spans.begins != NULL) {
            const int64_t begin = s->spans.begins[row] - s->query - column;
            first = first > begin ? first : begin;
            end = s->spans.ends[row] - s->query - column;
        }
        if (first >= LANES)
            return (changed_lanes){ set_lanes(0), set_lanes(0) };
    }
    const lanes below = sub_lanes(load_lanes(scores + column), load_lanes(s->maxima + column));
    const lanes x = mul_lanes(below, set_lanes(s->factor));
    lanes weight = mul_lanes(exp2_lanes(x), load_lanes(s->reciprocals + column));
    lanes change = sub_lanes(load_lanes(gradient + column), load_lanes(s->means + column));
    change = mul_lanes(weight, change);
    if (masked && (first > 0 || end < LANES)) {
        weight = keep_lanes(weight, first, end);
        change = keep_lanes(change, first, end);
    }
    return (changed_lanes){ weight, change };
}

/* 16 queries of one key: stores the weights; returns the gradient, which is stored, too. */
ROWS_INLINE lanes differentiate_lanes(const cse_attention_scores *s, int64_t row, int64_t column,
                                      bool paired, bool masked)
{
    const changed_lanes to = change_lanes(s, row, column, masked);
    if (paired) {
        pack_lanes(s->weights + row * s->paired_stride + column, to.weight);
        pack_lanes(s->changes + row * s->paired_stride + column, to.change);
    } else {
        store_lanes(s->scores + row * s->stride + column, to.weight);
        store_lanes(s->gradient + row * s->stride + column, to.change);
    }
    return to.change;
}

/* 16 queries of keys `row` and `row` + 1, of which those from `end` on are missing: the pairs of
 * the gradient. */
ROWS_INLINE lanes differentiate_two(const cse_attention_scores *s, int64_t row, int64_t end,
                                    int64_t column, bool masked)
{
    if (row >= end)
        return set_lanes(0);
    if (row + 1 == end)
        return pair_lanes(differentiate_lanes(s, row, column, true, masked), set_lanes(0));
    const changed_lanes low = change_lanes(s, row, column, masked),
                        high = change_lanes(s, row + 1, column, masked);
    const int64_t at = row * s->paired_stride + column, next = at + s->paired_stride;
    (void)pack_two(s->weights + at, s->weights + next, low.weight, high.weight);
    return pack_two(s->changes + at, s->changes + next, low.change, high.change);
}

/* The pairs of 32 keys from `first` on as rows of the queries; `pairs` is used up. */
ROWS_INLINE void store_by_query(const cse_attention_scores *s, int64_t first, int64_t column,
                                lanes pairs[LANES])
{
    float *to = s->turned + column * s->turned_stride + first / 2;
    turn_lanes(pairs);
    for (int i = 0; i < LANES; i++)
        store_lanes(to + i * s->turned_stride, pairs[i]);
}

/* 16 queries of `rows` keys from `first` on, up to 32, with the pairs of the gradient as rows of
 * the queries. */
ROWS_INLINE void differentiate_by_query(const cse_attention_scores *s, int64_t first, int64_t rows,
                                        int64_t column, bool masked)
{
    lanes pairs[LANES];
    for (int i = 0; i < LANES; i++)
        pairs[i] = differentiate_two(s, first + 2 * i, first + rows, column, masked);
    store_by_query(s, first, column, pairs);
}

/* Whether none of 16 queries from `column` on is hidden from `rows` keys from `first` on. */
ROWS_INLINE bool all_seen(const cse_attention_scores *s, int64_t first, int64_t rows,
                          int64_t column)
{
    return s->spans.begins == NULL && s->first_seen + first + rows - 1 <= column;
}

/* The same of keys that all of these queries do not see. */
ROWS_INLINE void hide_by_query(const cse_attention_scores *s, int64_t first, int64_t rows,
                               int64_t column)
{
    const lanes zero = set_lanes(0);
    for (int64_t row = first; row < first + rows; row++) {
        pack_lanes(s->weights + row * s->paired_stride + column, zero);
        pack_lanes(s->changes + row * s->paired_stride + column, zero);
    }
    for (int i = 0; i < LANES; i++)
        store_lanes(s->turned + (column + i) * s->turned_stride + first / 2, zero);
}

ROWS_INLINE void differentiate_all_by_query(const cse_attention_scores *s)
{
    enum { KEYS = 2 * LANES };
    const int64_t all = s->rows + s->hidden_rows;
    for (int64_t first = 0; first < all; first += KEYS) {
        const int64_t rows = all - first < KEYS ? all - first : KEYS;
        for (int64_t column = 0; column < s->columns; column += LANES)
            if (first >= s->rows)
                hide_by_query(s, first, rows, column);
            else if (rows == KEYS && all_seen(s, first, rows, column))
                differentiate_by_query(s, first, KEYS, column, false);
            else
                differentiate_by_query(s, first, rows, column, true);
    }
}

ROWS_INLINE void differentiate_pairs(const cse_attention_scores *s)
{
    for (int64_t r = 0; r < s->rows; r += 2)
        for (int64_t column = 0; column < s->columns; column += LANES) {
            const lanes low = differentiate_lanes(s, r, column, true, true);
            lanes high = set_lanes(0);
            if (r + 1 < s->rows)
                high = differentiate_lanes(s, r + 1, column, true, true);
            store_lanes(s->turned + r / 2 * s->turned_stride + column, pair_lanes(low, high));
        }
}

ROWS_FUNCTION void differentiate(const cse_attention_scores *scores)
{
    /* A copy that no store can change. */
    const cse_attention_scores copy = *scores, *const s = &copy;
    if (s->by_query)
        differentiate_all_by_query(s);
    else if (s->paired)
        differentiate_pairs(s);
    else
        for (int64_t r = 0; r < s->rows; r++)
            for (int64_t column = 0; column < s->columns; column += LANES)
                differentiate_lanes(s, r, column, false, true);
}

/* Rows [first, first + ROWS_IN_TURN), whose columns are a multiple of the lanes. */
ROWS_INLINE void dot_whole_rows(const cse_attention_matrix *a, const cse_attention_matrix *b,
                                cse_dtype dtype, int64_t first, float *means)
{
    lanes sums[ROWS_IN_TURN];
    ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++) sums[i] = set_lanes(0);
    for (int64_t c = 0; c < a->columns; c += LANES)
        ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++) sums[i] =
            fma_lanes(read_lanes(dtype, a->values, (first + i) * a->stride + c, LANES),
                      read_lanes(dtype, b->values, (first + i) * b->stride + c, LANES), sums[i]);
    ROWS_UNROLL for (int i = 0; i < ROWS_IN_TURN; i++) means[first + i] = sum_lanes(sums[i]);
}

ROWS_FUNCTION void dot_rows(const cse_attention_matrix *one, const cse_attention_matrix *other,
                            float *means)
{
    /* Copies that no store can change. */
    const cse_attention_matrix copies[2] = { *one, *other };
    const cse_attention_matrix *const a = &copies[0], *const b = &copies[1];
    int64_t i = 0;
    if (a->columns % LANES == 0 && a->dtype == CSE_BFLOAT16 && b->dtype == CSE_BFLOAT16)
        for (; i + ROWS_IN_TURN <= a->rows; i += ROWS_IN_TURN)
            dot_whole_rows(a, b, CSE_BFLOAT16, i, means);
    for (; i < a->rows; i++) {
        lanes sum = set_lanes(0);
        for (int64_t c = 0; c < a->columns; c += LANES)
            sum =
                fma_lanes(read_lanes(a->dtype, a->values, i * a->stride + c, a->columns - c),
                          read_lanes(b->dtype, b->values, i * b->stride + c, b->columns - c), sum);
        means[i] = sum_lanes(sum);
    }
}

/* Vector `c` of row `i`. */
ROWS_INLINE lanes sum_of(const cse_attention_store *s, int64_t i, int64_t c)
{
    const lanes sum = load_lanes(s->from + i * s->from_stride + c);
    return s->positive ? add_lanes(sum, set_lanes(0)) : sum;
}

ROWS_INLINE void store_rows(const cse_attention_store *s, cse_dtype dtype)
{
    const int64_t whole = s->columns / LANES * LANES;
    for (int64_t i = 0; i < s->rows; i++) {
        const lanes factor = set_lanes(s->factors != NULL ? s->factors[i] : s->factor);
        const int64_t to = i * s->to_stride;
        for (int64_t c = 0; c < whole; c += LANES)
            write_whole_lanes(dtype, s->to, to + c, mul_lanes(sum_of(s, i, c), factor));
        if (whole < s->columns)
            write_lanes(dtype, s->to, to + whole, s->columns - whole,
                        mul_lanes(sum_of(s, i, whole), factor));
    }
}

ROWS_FUNCTION void store(const cse_attention_store *result)
{
    /* A copy that no store can change. */
    const cse_attention_store copy = *result;
    if (copy.dtype == CSE_FLOAT32)
        store_rows(&copy, CSE_FLOAT32);
    else
        store_rows(&copy, CSE_BFLOAT16);
}
