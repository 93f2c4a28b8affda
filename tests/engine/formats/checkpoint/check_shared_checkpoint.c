/* A checkpoint in shared memory becomes the same file as one that is written directly; what the
 * writer leaves is its outcome, and a memory that is none of ours is refused. */
#include <check.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>

#include "engine/formats/checkpoint/shared_checkpoint.h"
#include "tests/engine/formats/checkpoint/fixture.h"

/* Puts the first tensors as training does, and leaves the others to `finish`. */
static cse_shared_checkpoint *shared_of(const cse_checkpoint *checkpoint, int first_put,
                                        const char *path)
{
    cse_shared_checkpoint *shared = NULL;
    cse_checkpoint copy = *checkpoint;
    cse_checkpoint_tensor tensors[64];
    uint64_t offsets[64];
    ck_assert_int_le(checkpoint->tensor_count, 64);
    memcpy(tensors, checkpoint->tensors, (size_t)checkpoint->tensor_count * sizeof *tensors);
    copy.tensors = tensors;
    ck_assert_int_eq(cse_shared_checkpoint_new(&shared), CSE_OK);
    for (int i = 0; i < first_put; i++)
        ck_assert_int_eq(cse_shared_checkpoint_put(shared, tensors[i].data,
                                                   (size_t)cse_shape_elements(tensors[i].shape) *
                                                       cse_dtype_size(tensors[i].dtype),
                                                   &offsets[i]),
                         CSE_OK);
    ck_assert_int_eq(cse_shared_checkpoint_map(shared), CSE_OK);
    for (int i = 0; i < first_put; i++)
        tensors[i].data = cse_shared_checkpoint_at_view(shared, offsets[i]);
    ck_assert_int_eq(cse_shared_checkpoint_finish(shared, &copy, path), CSE_OK);
    return shared;
}

static void expect_same_file(int first_put)
{
    char directory[PATH_MAX], direct[PATH_MAX + 16], written[PATH_MAX + 16];
    cse_checkpoint checkpoint = fixture_checkpoint();
    cse_shared_outcome outcome;
    size_t size[2];
    ck_assert_ptr_nonnull(make_directory(directory));
    snprintf(direct, sizeof direct, "%s/direct.mdl", directory);
    snprintf(written, sizeof written, "%s/written.mdl", directory);
    char digest[65];
    ck_assert_int_eq(cse_checkpoint_save_digest(&checkpoint, direct, digest), CSE_OK);
    cse_shared_checkpoint *shared = shared_of(&checkpoint, first_put, written);
    ck_assert(!cse_shared_checkpoint_outcome(shared, &outcome));
    ck_assert_int_eq(cse_shared_checkpoint_write(cse_shared_checkpoint_descriptor(shared)), 0);
    ck_assert(cse_shared_checkpoint_outcome(shared, &outcome));
    ck_assert_msg(outcome.status == CSE_OK, "%s", outcome.message);
    ck_assert_str_eq(outcome.digest, digest);
    unsigned char *one = read_bytes(direct, &size[0]), *other = read_bytes(written, &size[1]);
    ck_assert_uint_eq(size[0], size[1]);
    ck_assert_mem_eq(one, other, size[0]);
    free(one);
    free(other);
    cse_shared_checkpoint_destroy(&shared);
    remove_directory(directory);
}

START_TEST(becomes_the_same_file)
{
    expect_same_file(0);
    expect_same_file(2);
    expect_same_file(fixture_checkpoint().tensor_count);
}
END_TEST

START_TEST(tells_why_it_failed)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    cse_shared_outcome outcome;
    cse_shared_checkpoint *shared = shared_of(&checkpoint, 1, "/nowhere/at/all.mdl");
    ck_assert_int_eq(cse_shared_checkpoint_write(cse_shared_checkpoint_descriptor(shared)), 0);
    ck_assert(cse_shared_checkpoint_outcome(shared, &outcome));
    ck_assert_int_eq(outcome.status, CSE_CANNOT_CREATE);
    ck_assert_ptr_nonnull(strstr(outcome.message, "/nowhere/at"));
    cse_shared_checkpoint_destroy(&shared);
}
END_TEST

START_TEST(cannot_be_resized)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    cse_shared_checkpoint *shared = shared_of(&checkpoint, 1, "/nowhere/at/all.mdl");
    ck_assert_int_ne(ftruncate(cse_shared_checkpoint_descriptor(shared), 4096), 0);
    cse_shared_checkpoint_destroy(&shared);
}
END_TEST

/* Each word of the head in turn is another one: the writer fails, or writes nothing wrong. */
START_TEST(survives_any_head)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    for (off_t at = 0; at < (off_t)sizeof(cse_shared_head); at += 8) {
        if (at >= (off_t)offsetof(cse_shared_head, path) &&
            at < (off_t)(offsetof(cse_shared_head, path) + PATH_MAX))
            continue; /* any path is one */
        const uint64_t wrong = UINT64_C(0x7fffffffffffff00);
        cse_shared_checkpoint *shared = shared_of(&checkpoint, 1, "/nowhere/at/all.mdl");
        const int descriptor = cse_shared_checkpoint_descriptor(shared);
        cse_shared_outcome outcome;
        ck_assert_int_eq(pwrite(descriptor, &wrong, sizeof wrong, at), sizeof wrong);
        ck_assert_int_eq(cse_shared_checkpoint_write(descriptor), 0);
        ck_assert(cse_shared_checkpoint_outcome(shared, &outcome));
        ck_assert_int_ne(outcome.status, CSE_OK);
        cse_shared_checkpoint_destroy(&shared);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared checkpoint");
    TCase *tests = tcase_create("memory");
    tcase_add_test(tests, becomes_the_same_file);
    tcase_add_test(tests, tells_why_it_failed);
    tcase_add_test(tests, cannot_be_resized);
    tcase_add_test(tests, survives_any_head);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
