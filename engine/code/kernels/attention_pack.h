/* Packing for the attention kernels with AVX-512 vectors; included by each file that has its own
 * narrow_lanes, which rounds a vector to bfloat16. */

ROWS_INLINE void pack_lanes(uint16_t *at, lanes x)
{
    _mm256_store_si256((__m256i *)(void *)at, narrow_lanes(x));
}

ROWS_INLINE lanes pair_lanes(lanes low, lanes high)
{
    const __m512i first = _mm512_cvtepu16_epi32(narrow_lanes(low));
    const __m512i second = _mm512_cvtepu16_epi32(narrow_lanes(high));
    return _mm512_castsi512_ps(_mm512_or_epi32(first, _mm512_slli_epi32(second, 16)));
}

ROWS_INLINE void turn_lanes(lanes x[LANES])
{
    cse_lanes_transpose(x);
}

ROWS_FUNCTION void pack_turned(const cse_attention_matrix *m, int64_t depth, float *to)
{
    const int64_t per_word = m->dtype == CSE_FLOAT32 ? 1 : 2, width = CSE_ATTENTION_TURNED_COLUMNS;
    const int64_t rows = (m->rows + width - 1) / width * width;
    const char *values = m->values;
    const int64_t bytes = 4 / per_word;
    for (int64_t row = 0; row < rows; row += LANES)
        for (int64_t word = 0; word < depth; word += LANES) {
            float *place = to + row / width * depth * width + word * width + row % width;
            lanes x[LANES];
            CSE_UNROLL for (int i = 0; i < LANES; i++)
            {
                x[i] = set_lanes(0);
                if (row + i < m->rows)
                    x[i] = read_words(m->dtype, values + (row + i) * m->stride * bytes,
                                      word * per_word, m->columns - word * per_word);
            }
            cse_lanes_transpose(x);
            CSE_UNROLL for (int i = 0; i < LANES; i++) if (word + i < depth)
                store_lanes(place + i * width, x[i]);
        }
}

/* The places of halves `from` to `from` + 15 of two vectors in turn. */
ROWS_INLINE __m512i interleaved_halves(int from)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i low = _mm512_add_epi32(number, _mm512_set1_epi32(from));
    return _mm512_or_epi32(low,
                           _mm512_slli_epi32(_mm512_add_epi32(low, _mm512_set1_epi32(32)), 16));
}

ROWS_FUNCTION void interleave(const uint16_t *low, const uint16_t *high, int64_t count,
                              uint32_t *to)
{
    const __m512i first_half = interleaved_halves(0), second_half = interleaved_halves(16);
    int64_t c = 0;
    for (; c + 2 * LANES <= count; c += 2 * LANES) {
        const __m512i first = _mm512_loadu_si512(low + c), second = _mm512_loadu_si512(high + c);
        _mm512_storeu_si512(to + c, _mm512_permutex2var_epi16(first, first_half, second));
        _mm512_storeu_si512(to + c + LANES, _mm512_permutex2var_epi16(first, second_half, second));
    }
    for (; c < count; c += LANES) {
        const __mmask16 mask = first_lanes(count - c);
        const __m512i first = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, low + c));
        const __m512i second = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, high + c));
        _mm512_mask_storeu_epi32(to + c, mask,
                                 _mm512_or_epi32(first, _mm512_slli_epi32(second, 16)));
    }
}
