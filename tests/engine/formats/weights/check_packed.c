/* Packed blocks have the values that tests/reference/packed.py made them of; what is packed here is
 * as near as the type allows, and a file that says otherwise than it holds is refused. */
#include <math.h>

#include "engine/base/types/shape.h"
#include "engine/formats/weights/packed/packed_weight.h"
#include "tests/engine/formats/weights/memory_weights.h"
#include "tests/reference/packed.h"

static char directory[PATH_MAX], path[PATH_MAX + 64];

static void set_up(void)
{
    ck_assert_ptr_nonnull(make_directory(directory));
    snprintf(path, sizeof path, "%s/one.gguf", directory);
}

static void tear_down(void)
{
    remove_directory(directory);
}

/* ---- blocks ---- */

START_TEST(blocks_have_the_values_they_were_made_of)
{
    const struct packed_sample *sample = &packed_samples[_i];
    const cse_packed_type *type = cse_packed_by_name(sample->type);
    float values[CSE_PACKED_MOST_ELEMENTS];
    ck_assert_ptr_nonnull(type);
    ck_assert_ptr_eq(cse_packed_by_number(type->number), type);
    type->unpack(sample->block, values);
    ck_assert_mem_eq(values, sample->values, (size_t)type->elements * sizeof(float));
}
END_TEST

/* Numbers that repeat, near to normally distributed, of another size in each row of 32. */
static void fill(float *values, int count, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (int i = 0; i < count; i++) {
        float sum = 0;
        for (int k = 0; k < 4; k++) {
            state = state * 1664525u + 1013904223u;
            sum += (float)(state >> 8) / 16777216.0F - 0.5F;
        }
        values[i] = sum * (1 + (float)(i / 32 % 7));
    }
}

/* The largest error of a block, in steps of an ideal grid over its range; the scales of the parts
 * of larger blocks are six bits of the largest, so no part alone is meant. */
static void is_near(const cse_packed_type *type, const float *values, float steps)
{
    unsigned char block[CSE_PACKED_MOST_BYTES];
    float back[CSE_PACKED_MOST_ELEMENTS];
    const float levels = type->number == cse_packed_q8_0.number   ? 127
                         : type->number == cse_packed_q5_0.number ? 16
                         : type->number == cse_packed_q4_0.number ? 8
                                                                  : 7.5F;
    type->pack(values, block);
    type->unpack(block, back);
    float farthest = 0, worst = 0;
    for (int i = 0; i < type->elements; i++) {
        farthest = fmaxf(farthest, fabsf(values[i]));
        worst = fmaxf(worst, fabsf(values[i] - back[i]));
    }
    ck_assert_msg(worst <= steps * farthest / levels, "%s: %g of %g", type->name, (double)worst,
                  (double)farthest);
}

START_TEST(what_is_packed_is_near)
{
    float values[CSE_PACKED_MOST_ELEMENTS] = { 0 };
    for (const cse_packed_type *const *row = cse_packed_types; *row != NULL; row++) {
        if ((*row)->pack == NULL)
            continue;
        is_near(*row, (const float[CSE_PACKED_MOST_ELEMENTS]){ 0 }, 0);
        for (unsigned seed = 0; seed < 200; seed++) {
            fill(values, CSE_PACKED_MOST_ELEMENTS, seed);
            /* Half a step, or a whole one at the end that has no level; half a bit of float16. */
            is_near(*row, values, (*row)->number == cse_packed_q8_0.number ? 0.57F : 1.05F);
        }
    }
}
END_TEST

/* A grid of four bits over [least, largest] of each part of 32, which any search begins with, has a
 * larger error than what the search finds. */
START_TEST(the_search_of_q4_k_is_better_than_a_grid)
{
    float values[256], back[256];
    unsigned char block[CSE_PACKED_MOST_BYTES];
    double searched = 0, grid = 0;
    for (unsigned seed = 0; seed < 200; seed++) {
        fill(values, 256, seed);
        cse_packed_q4_k.pack(values, block);
        cse_packed_q4_k.unpack(block, back);
        for (int part = 0; part < 256; part += 32) {
            float low = 0, high = 0;
            for (int i = part; i < part + 32; i++) {
                low = fminf(low, values[i]);
                high = fmaxf(high, values[i]);
                searched += pow((double)(values[i] - back[i]), 2);
            }
            for (int i = part; i < part + 32; i++) {
                const float step = (high - low) / 15;
                grid += pow((double)(values[i] - low - step * roundf((values[i] - low) / step)), 2);
            }
        }
    }
    ck_assert_msg(searched < 0.95 * grid, "%g and %g", searched, grid);
}
END_TEST

/* ---- files ---- */

static cse_status read_floats(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    const uint64_t count = cse_weight_bytes(&weights->list[index]);
    float *all = cse_malloc(count);
    fill(all, (int)(count / sizeof *all), (unsigned)index);
    memcpy(to, (const char *)all + first, bytes);
    free(all);
    return CSE_OK;
}

static void save_packed(const cse_packed_type *type, cse_text *notice)
{
    cse_weights *weights = memory_weights();
    weights->read = read_floats;
    memory_add(weights, "a.weight", CSE_ELEMENT_F32, cse_shape_of(3, 512));
    memory_add(weights, "b.weight", CSE_ELEMENT_F32, cse_shape_of(5, 96));
    memory_add(weights, "c.weight", CSE_ELEMENT_F32, cse_shape_of(2, 7));
    memory_add(weights, "norm", CSE_ELEMENT_F32, cse_shape_of(64));
    const cse_weights_save_options options = { .element = CSE_ELEMENT_COUNT,
                                               .packed = type,
                                               .notice = notice };
    ck_assert_msg(cse_weights_save(&weights, path, &options) == CSE_OK, "%s", cse_error_message());
}

START_TEST(a_file_holds_packed_matrices)
{
    cse_weights *read = NULL;
    cse_text notice = { 0 };
    float want[1536], got[1536];
    unsigned char blocks[1536 * 4];
    save_packed(&cse_packed_q4_k, &notice);
    ck_assert_ptr_nonnull(strstr(notice.data, "b.weight as Q5_0, c.weight as F16"));
    cse_text_clear(&notice);
    ck_assert_msg(cse_weights_open(path, NULL, &read) == CSE_OK, "%s", cse_error_message());
    const int a = cse_weights_find(read, "a.weight"), norm = cse_weights_find(read, "norm");
    ck_assert_ptr_eq(read->list[a].packed, &cse_packed_q4_k);
    ck_assert_ptr_eq(read->list[cse_weights_find(read, "b.weight")].packed, &cse_packed_q5_0);
    ck_assert_ptr_null(read->list[norm].packed);
    ck_assert_int_eq(read->list[norm].element, CSE_ELEMENT_F32);
    fill(want, 1536, 0);
    cse_packed_pack(&cse_packed_q4_k, want, 1536, blocks);
    for (int i = 0; i < 6; i++)
        cse_packed_q4_k.unpack(blocks + i * 144, want + i * 256);
    ck_assert_int_eq(cse_weights_read(read, a, 0, sizeof got, got), CSE_OK);
    ck_assert_mem_eq(got, want, sizeof want);
    /* Any range is the same as that part of the whole. */
    for (size_t first = 0; first < sizeof want; first += 1021)
        for (size_t bytes = 1; first + bytes <= sizeof want; bytes += 1537) {
            ck_assert_int_eq(cse_weights_read(read, a, first, bytes, got), CSE_OK);
            ck_assert_mem_eq(got, (const char *)want + first, bytes);
        }
    cse_weights_close(&read);
}
END_TEST

/* The place of a weight's number of a type in the file, by its name and rank. */
static unsigned char *type_of(unsigned char *bytes, size_t size, const char *name, int rank)
{
    unsigned char *at = memmem(bytes, size, name, strlen(name));
    ck_assert_ptr_nonnull(at);
    return at + strlen(name) + 4 + 8 * rank;
}

static void is_refused(const unsigned char *bytes, size_t size, const char *why)
{
    cse_weights *weights = NULL;
    write_bytes(path, bytes, size);
    ck_assert_int_eq(cse_weights_open(path, NULL, &weights), CSE_DATA);
    ck_assert_msg(strstr(cse_error_message(), why) != NULL && strstr(cse_error_message(), path),
                  "%s", cse_error_message());
}

START_TEST(a_file_that_says_otherwise_is_refused)
{
    size_t size = 0;
    save_packed(&cse_packed_q8_0, NULL);
    unsigned char *bytes = read_bytes(path, &size);
    unsigned char *type = type_of(bytes, size, "c.weight", 2);
    ck_assert_int_eq(*type, 1); /* float16 */
    *type = 8;                  /* rows of 7 elements are no blocks of 32 */
    is_refused(bytes, size, "'c.weight' is packed as Q8_0");
    *type = 20;
    is_refused(bytes, size, "'c.weight' has the type IQ4_NL");
    *type = 99;
    is_refused(bytes, size, "'c.weight' has the type of an unknown name (99");
    *type = 0; /* float32 takes more bytes than there are before the next */
    is_refused(bytes, size, "'norm' overlaps 'c.weight'");
    *type = 1;
    for (size_t less = 40; less < size; less += size / 50)
        is_refused(bytes, size - less, "");
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed weights");
    TCase *test = tcase_create("packed");
    tcase_add_checked_fixture(test, set_up, tear_down);
    tcase_add_loop_test(test, blocks_have_the_values_they_were_made_of, 0,
                        (int)(sizeof packed_samples / sizeof packed_samples[0]));
    tcase_add_test(test, what_is_packed_is_near);
    tcase_add_test(test, the_search_of_q4_k_is_better_than_a_grid);
    tcase_add_test(test, a_file_holds_packed_matrices);
    tcase_add_test(test, a_file_that_says_otherwise_is_refused);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
