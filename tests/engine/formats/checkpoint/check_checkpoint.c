/* Checkpoints come back bit for bit; anything else is an error with the right status. */
#include <check.h>
#include <hdf5.h>
#include <stdlib.h>

#include "engine/base/log.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/earlier_file.h"
#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/checkpoint/seal_rest.h"
#include "tests/engine/formats/checkpoint/fixture.h"

static char directory[PATH_MAX], path[PATH_MAX + 64];
static int warnings;

static void count_warnings(void *self, const cse_log_record *record)
{
    (void)self;
    warnings += record->level == CSE_LOG_WARNING;
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(make_directory(directory));
    snprintf(path, sizeof path, "%s/checkpoint_7.mdl", directory);
    warnings = 0;
    cse_log_set_sink(count_warnings, NULL);
}

static void tear_down(void)
{
    cse_log_set_sink(NULL, NULL);
    remove_directory(directory);
}

static void save(const cse_checkpoint *checkpoint, const char *name)
{
    cse_status status = cse_checkpoint_save(checkpoint, name);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

START_TEST(comes_back_bit_for_bit)
{
    cse_checkpoint written = fixture_checkpoint(), *read;
    save(&written, path);
    ck_assert_int_eq(files_in(directory), 1);
    cse_status status = cse_checkpoint_load(path, &read);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    ck_assert(checkpoints_equal(&written, read));
    char before[65], after[65];
    cse_checkpoint_digest(&written, NULL, before);
    cse_checkpoint_digest(read, NULL, after);
    ck_assert_str_eq(before, after);
    cse_checkpoint_destroy(&read);
    ck_assert_ptr_null(read);
    cse_checkpoint_destroy(&read);
}
END_TEST

START_TEST(a_mapped_file_outlives_its_name)
{
    cse_checkpoint written = fixture_checkpoint(), *read;
    save(&written, path);
    cse_status status = cse_checkpoint_map(path, &read);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    for (int i = 0; i < read->tensor_count; i++)
        ck_assert(read->tensors[i].in_file);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(checkpoints_equal(&written, read));
    cse_checkpoint_destroy(&read);
    ck_assert_ptr_null(read);
}
END_TEST

START_TEST(a_damaged_file_is_not_mapped)
{
    cse_checkpoint written = fixture_checkpoint(), *read;
    size_t size;
    save(&written, path);
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t at = 0; at < size; at += 101) {
        bytes[at] ^= 1;
        write_bytes(path, bytes, size);
        ck_assert_int_eq(cse_checkpoint_map(path, &read), CSE_DATA);
        ck_assert_ptr_null(read);
        bytes[at] ^= 1;
    }
    free(bytes);
}
END_TEST

START_TEST(facts_may_be_absent)
{
    cse_checkpoint nothing = { 0 }, *read;
    save(&nothing, path);
    ck_assert_int_eq(cse_checkpoint_load(path, &read), CSE_OK);
    ck_assert_int_eq(read->tensor_count, 0);
    ck_assert_ptr_null(read->model_name);
    ck_assert_ptr_null(read->config);
    cse_checkpoint_destroy(&read);
}
END_TEST

/* The expected digits come from Python's hashlib, by the definition in digest.h:
 * tests/reference/checkpoint_digest.py. */
START_TEST(digest_is_as_defined)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    char digits[65];
    cse_checkpoint_digest(&checkpoint, NULL, digits);
    ck_assert_str_eq(digits, "b18ceb9cb5970b70dcfdd365118241c2ea77ae7eecd09a0ce9585ed5680bf1a2");
    cse_checkpoint_digest(&checkpoint, "model.", digits);
    ck_assert_str_eq(digits, "c57fcd54fbb5f4fc6e5282f17978160e4a4f283bc68d90ec261a4e8f354d53da");
    cse_checkpoint_digest(&checkpoint, "none.", digits);
    ck_assert_str_eq(digits, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}
END_TEST

START_TEST(digest_does_not_depend_on_order)
{
    cse_checkpoint checkpoint = fixture_checkpoint(), turned = checkpoint;
    cse_checkpoint_tensor tensors[16];
    turned.tensors = tensors;
    for (int i = 0; i < checkpoint.tensor_count; i++)
        tensors[i] = checkpoint.tensors[checkpoint.tensor_count - 1 - i];
    char a[65], b[65];
    cse_checkpoint_digest(&checkpoint, NULL, a);
    cse_checkpoint_digest(&turned, NULL, b);
    ck_assert_str_eq(a, b);
    tensors[0].dtype = tensors[0].dtype == CSE_FLOAT32 ? CSE_INT32 : CSE_FLOAT32;
    cse_checkpoint_digest(&turned, NULL, b);
    ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(equal_checkpoints_are_equal_files)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    char other[PATH_MAX + 64];
    snprintf(other, sizeof other, "%s/checkpoint_8.mdl", directory);
    save(&checkpoint, path);
    sleep(1); /* a stored time would differ */
    save(&checkpoint, other);
    size_t size, other_size;
    unsigned char *bytes = read_bytes(path, &size), *other_bytes = read_bytes(other, &other_size);
    ck_assert_uint_eq(size, other_size);
    ck_assert_mem_eq(bytes, other_bytes, size);
    free(bytes);
    free(other_bytes);
}
END_TEST

static cse_status load_status(void)
{
    cse_checkpoint *read;
    cse_status status = cse_checkpoint_load(path, &read);
    ck_assert(status == CSE_OK || read == NULL);
    cse_checkpoint_destroy(&read);
    return status;
}

static cse_status load_earlier_status(void)
{
    cse_checkpoint *read;
    cse_status status = cse_checkpoint_load_earlier(path, &read);
    ck_assert(status == CSE_OK || read == NULL);
    cse_checkpoint_destroy(&read);
    return status;
}

START_TEST(truncated_anywhere_fails)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    save(&checkpoint, path);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t length = 0; length < size; length += length + 200 < size ? 61 : 1) {
        write_bytes(path, bytes, length);
        ck_assert_msg(load_status() == CSE_DATA, "a file of %zu of %zu bytes", length, size);
    }
    free(bytes);
}
END_TEST

/* Each bit of each byte, downsampled out to keep the test short; the seal covers every one. */
START_TEST(every_flipped_bit_is_noticed)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    save(&checkpoint, path);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t bit = 0; bit < size * 8; bit += 37) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        write_bytes(path, bytes, size);
        ck_assert_msg(load_status() == CSE_DATA, "bit %zu flipped", bit);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t byte = size - 400; byte < size; byte++) {
        bytes[byte] ^= 4;
        write_bytes(path, bytes, size);
        ck_assert_msg(load_status() == CSE_DATA, "byte %zu changed", byte);
        bytes[byte] ^= 4;
    }
    free(bytes);
}
END_TEST

START_TEST(damage_is_given_its_tensor_s_name)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    save(&checkpoint, path);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    unsigned char *place = memmem(bytes, size, fixture_floats, sizeof fixture_floats);
    ck_assert_ptr_nonnull(place);
    place[5] ^= 1;
    write_bytes(path, bytes, size);
    free(bytes);
    ck_assert_int_eq(load_status(), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "'model.fc_layers.0.weight'"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), path));
}
END_TEST

/* Changes the HDF5 part behind the seal's back, as a hostile file could, and seals it again as a
 * file that HDF5 has to read. */
static void change_and_seal(void (*change)(hid_t file))
{
    cse_text no_manifest = { 0 };
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert_int_ge(file, 0);
    change(file);
    H5Fclose(file);
    int descriptor = open(path, O_RDWR);
    ck_assert_int_eq(cse_seal_append(descriptor, &no_manifest, path), CSE_OK);
    close(descriptor);
}

static void raise_version(hid_t file)
{
    const int64_t version = 2;
    hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    H5Awrite(attribute, H5T_STD_I64LE, &version);
    H5Aclose(attribute);
}

static void remove_version(hid_t file)
{
    H5Adelete(file, "format_version");
}

static void remove_tensor(hid_t file)
{
    H5Ldelete(file, "flags", H5P_DEFAULT);
}

static void add_link(hid_t file)
{
    H5Ldelete(file, "flags", H5P_DEFAULT);
    H5Lcreate_external("/etc/passwd", "/x", file, "flags", H5P_DEFAULT, H5P_DEFAULT);
}

static void add_group(hid_t file)
{
    H5Ldelete(file, "flags", H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "flags", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static void replace_flags(hid_t file, hid_t type, int rank, const hsize_t *sizes, bool chunked)
{
    H5Ldelete(file, "flags", H5P_DEFAULT);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, sizes, NULL);
    hsize_t chunk[H5S_MAX_RANK];
    for (int i = 0; i < rank; i++)
        chunk[i] = 1;
    if (chunked)
        H5Pset_chunk(properties, rank, chunk);
    H5Dclose(H5Dcreate2(file, "flags", type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(properties);
}

static void make_huge(hid_t file)
{
    /* 2^60 elements that were never written take no space in a chunked file, but 2^62 in memory. */
    replace_flags(file, H5T_IEEE_F32LE, 2, (hsize_t[]){ 1 << 30, 1 << 30 }, true);
}

static void make_overflowing(hid_t file)
{
    /* 2^64 bytes: the product of the sizes wraps to 0. */
    replace_flags(file, H5T_IEEE_F32LE, 2, (hsize_t[]){ 1ULL << 31, 1ULL << 31 }, true);
}

static void make_deep(hid_t file)
{
    const hsize_t sizes[CSE_MAX_RANK + 1] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    replace_flags(file, H5T_IEEE_F32LE, CSE_MAX_RANK + 1, sizes, false);
}

static void make_foreign_type(hid_t file)
{
    replace_flags(file, H5T_IEEE_F64LE, 1, (hsize_t[]){ 2 }, false);
}

static void make_unwritten(hid_t file)
{
    replace_flags(file, H5T_IEEE_F32LE, 1, (hsize_t[]){ 1 << 20 }, false);
}

static void change_data(hid_t file)
{
    const int32_t other[4] = { 0, -1, 5, 6 };
    hid_t dataset = H5Dopen2(file, "counts with a space", H5P_DEFAULT);
    H5Dwrite(dataset, H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, other);
    H5Dclose(dataset);
}

static const struct {
    void (*change)(hid_t file);
    const char *message;
} hostile[] = {
    { raise_version, "format version 2" },
    { remove_version, "not a checkpoint of csengine" },
    { remove_tensor, "number of tensors" },
    { add_link, "'flags' is no dataset" },
    { add_group, "'flags' is no dataset" },
    { make_huge, "do not lie in one block" },
    { make_overflowing, "do not lie in one block" },
    { make_deep, "type or shape" },
    { make_foreign_type, "type or shape" },
    { make_unwritten, "do not lie in one block" },
    { change_data, "'counts with a space' is damaged" },
};

START_TEST(hostile_contents_of_earlier_files_are_refused)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    save(&checkpoint, path);
    change_and_seal(hostile[_i].change);
    ck_assert_int_eq(load_earlier_status(), CSE_DATA);
    ck_assert_msg(strstr(cse_error_message(), hostile[_i].message) != NULL, "%s",
                  cse_error_message());
}
END_TEST

START_TEST(a_seal_does_not_make_garbage_hdf5)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    cse_text no_manifest = { 0 };
    save(&checkpoint, path);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    memset(bytes + 8, 0xff, size - 8);
    write_bytes(path, bytes, size);
    free(bytes);
    int descriptor = open(path, O_RDWR);
    ck_assert_int_eq(cse_seal_append(descriptor, &no_manifest, path), CSE_OK);
    close(descriptor);
    ck_assert_int_eq(load_earlier_status(), CSE_DATA);
    ck_assert_int_eq(load_status(), CSE_DATA);
}
END_TEST

/* Replaces the seal by one with these lines and the version of the mark. In version 1 the digest
 * covers the elements too. */
static void seal_again(const char *lines, char version)
{
    enum { DIGITS_AND_NEWLINE = 65, VERSION_AT = 98 - 14 };
    char *old = NULL, digits[CSE_DIGEST_DIGITS + 1];
    uint64_t begin = 0;
    size_t size;
    int descriptor = open(path, O_RDWR);
    ck_assert_int_eq(cse_seal_read(descriptor, path, &old, &begin), CSE_OK);
    free(old);
    ck_assert_int_eq(ftruncate(descriptor, (off_t)begin), 0);
    cse_text text = { 0 };
    cse_text_add(&text, "%s", lines);
    (void)cse_seal_append(descriptor, &text, path);
    cse_text_clear(&text);
    close(descriptor);
    if (version == '3')
        return;
    unsigned char *bytes = read_bytes(path, &size);
    ck_assert_int_eq(bytes[size - VERSION_AT], '3');
    bytes[size - VERSION_AT] = (unsigned char)version;
    write_bytes(path, bytes, size);
    descriptor = open(path, O_RDWR);
    cse_sealed_part part = { .begin = begin, .end = size - DIGITS_AND_NEWLINE };
    ck_assert_int_eq(cse_seal_read(descriptor, path, &part.lines, &part.begin), CSE_OK);
    if (version == '2') {
        ck_assert_int_eq(cse_seal_rest_digest(descriptor, path, part, digits), CSE_OK);
    } else {
        crypto_generichash_state hash;
        cse_digest_begin(&hash);
        crypto_generichash_update(&hash, bytes, size - DIGITS_AND_NEWLINE);
        cse_digest_end(&hash, digits);
    }
    free(part.lines);
    close(descriptor);
    memcpy(bytes + size - DIGITS_AND_NEWLINE, digits, CSE_DIGEST_DIGITS);
    write_bytes(path, bytes, size);
    free(bytes);
}

/* The lines of the file's seal; free() them. */
static char *lines_of_file(void)
{
    char *lines = NULL;
    uint64_t begin = 0;
    int descriptor = open(path, O_RDONLY);
    ck_assert_int_eq(cse_seal_read(descriptor, path, &lines, &begin), CSE_OK);
    close(descriptor);
    return lines;
}

/* They hold no facts about the run. */
START_TEST(earlier_files_are_told_and_can_be_converted)
{
    cse_checkpoint checkpoint = fixture_checkpoint(), *read;
    const char version = (char)('1' + _i);
    save(&checkpoint, path);
    char *lines = lines_of_file();
    strstr(lines, "\n\n")[1] = '\0';
    seal_again(lines, version);
    free(lines);
    ck_assert_int_eq(load_status(), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "csengine checkpoint convert"));
    ck_assert_int_eq(cse_checkpoint_verify(path), CSE_DATA);
    cse_status status = cse_checkpoint_load_earlier(path, &read);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    ck_assert(checkpoints_equal(&checkpoint, read));
    cse_checkpoint_destroy(&read);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t byte = 0; byte < size; byte += 7) {
        bytes[byte] ^= 16;
        write_bytes(path, bytes, size);
        ck_assert_msg(load_earlier_status() == CSE_DATA, "byte %zu changed", byte);
        bytes[byte] ^= 16;
    }
    free(bytes);
}
END_TEST

/* What HDF5 would read of the file may be anything. */
START_TEST(a_file_is_read_without_hdf5)
{
    cse_checkpoint checkpoint = fixture_checkpoint(), *read;
    save(&checkpoint, path);
    char *lines = lines_of_file();
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    memset(bytes + 8, 0xff, 88);
    write_bytes(path, bytes, size);
    free(bytes);
    seal_again(lines, '3');
    free(lines);
    cse_status status = cse_checkpoint_load(path, &read);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    ck_assert(checkpoints_equal(&checkpoint, read));
    cse_checkpoint_destroy(&read);
    ck_assert_int_eq(load_earlier_status(), CSE_DATA);
}
END_TEST

/* Changes of the lines, which get a seal that fits. */
static const struct {
    const char *what, *by;
} hostile_lines[] = {
    { "[2, 3] model.fc", "[2,3] model.fc" },
    { "[2, 3] model.fc", "[3, 3] model.fc" },
    { "[2, 3] model.fc", "[-2, -3] model.fc" },
    { "[2, 3] model.fc", "[2, 3, 4611686018427387904, 4] model.fc" },
    { "[2, 3] model.fc", "[1, 1, 1, 1, 1, 1, 1, 2, 3] model.fc" },
    { "[2, 3] model.fc", "[2, 3 model.fc" },
    { "float32 [2, 3]", "int32 [2, 3]" },
    { "float32 [2, 3]", "float64 [2, 3]" },
    { "model.half", "model/half" },
    { "model.half", "model.compact" },
    { "model.half", "" },
    { "model.half\n", "model.half\ntensor\n" },
    { "fact seed 18446744073709551615\n", "" },
    { "fact seed 18446744073709551615", "fact seed 18446744073709551616" },
    { "fact seed 18446744073709551615", "fact seed -1" },
    { "fact samples_seen 42", "fact samples_seen 042" },
    { "fact samples_seen 42", "fact samples_seen 42 " },
    { "fact samples_seen 42", "fact samples_seen" },
    { "fact samples_seen 42", "fact samples_seen 42\nfact samples_seen 42" },
    { "fact samples_seen 42", "fact samples_seen 42\nfact other 1" },
    { "fact samples_seen 42", "fact samples_seen 42\n" },
    { "fact samples_seen 42", "samples_seen 42" },
    { "\\n  seed", "\\t  seed" },
    { "\\n\n", "\\\n" },
};

START_TEST(hostile_lines_are_refused)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    cse_text changed = { 0 };
    save(&checkpoint, path);
    char *lines = lines_of_file(), *at = strstr(lines, hostile_lines[_i].what);
    ck_assert_msg(at != NULL, "'%s' is not in\n%s", hostile_lines[_i].what, lines);
    cse_text_add_bytes(&changed, lines, (size_t)(at - lines));
    cse_text_add(&changed, "%s%s", hostile_lines[_i].by, at + strlen(hostile_lines[_i].what));
    free(lines);
    seal_again(changed.data, '3');
    cse_text_clear(&changed);
    ck_assert_msg(load_status() == CSE_DATA, "'%s' is taken", hostile_lines[_i].by);
    ck_assert_int_eq(cse_checkpoint_verify(path), CSE_DATA);
}
END_TEST

/* Lines that claim the same bytes would leave them out of one digest of the two. */
START_TEST(a_seal_whose_lines_overlap_is_refused)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    save(&checkpoint, path);
    int descriptor = open(path, O_RDWR);
    cse_text manifest = { 0 };
    const cse_checkpoint_tensor *weight =
        cse_checkpoint_find(&checkpoint, "model.fc_layers.0.weight");
    char digest[CSE_DIGEST_DIGITS + 1];
    cse_checkpoint_tensor_digest(weight, digest);
    cse_seal_describe(&manifest, weight, 64, digest);
    cse_seal_describe(&manifest, weight, 68, digest);
    ck_assert_int_eq(cse_seal_append(descriptor, &manifest, path), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "in the list of its tensors"));
    close(descriptor);
    cse_text_clear(&manifest);
    ck_assert_int_eq(load_status(), CSE_DATA);
}
END_TEST

/* Elements are verified in parallel: with many tensors each is still the one that is named. */
START_TEST(each_of_many_tensors_is_verified)
{
    enum { MANY = 300, ELEMENTS = 16 };
    static float elements[MANY][ELEMENTS];
    static char names[MANY][16];
    static cse_checkpoint_tensor tensors[MANY];
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < ELEMENTS; k++)
            elements[i][k] = (float)(i * ELEMENTS + k) + 0.3125F;
        snprintf(names[i], sizeof names[i], "model.t%03d", i);
        tensors[i] = (cse_checkpoint_tensor){
            names[i], CSE_FLOAT32, { .rank = 1, .dims = { ELEMENTS } }, elements[i]
        };
    }
    const cse_checkpoint checkpoint = { .tensors = tensors, .tensor_count = MANY };
    save(&checkpoint, path);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    for (int i = 0; i < MANY; i += 13) {
        unsigned char *place = memmem(bytes, size, elements[i], sizeof elements[i]);
        ck_assert_ptr_nonnull(place);
        place[ELEMENTS] ^= 1;
        write_bytes(path, bytes, size);
        ck_assert_int_eq(load_status(), CSE_DATA);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), names[i]));
        ck_assert_int_eq(cse_checkpoint_verify(path), CSE_DATA);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), names[i]));
        place[ELEMENTS] ^= 1;
    }
    free(bytes);
}
END_TEST

START_TEST(what_is_no_checkpoint_is_refused)
{
    ck_assert_int_eq(load_status(), CSE_NO_INPUT);
    write_bytes(path, (const unsigned char *)"", 0);
    ck_assert_int_eq(load_status(), CSE_DATA);
    write_bytes(path, (const unsigned char *)"trainer: {}\n", 12);
    ck_assert_int_eq(load_status(), CSE_DATA);
    cse_checkpoint *read;
    ck_assert_int_eq(cse_checkpoint_load(directory, &read), CSE_DATA);
    ck_assert_int_eq(cse_checkpoint_load("/dev/zero", &read), CSE_DATA);
}
END_TEST

START_TEST(names_that_cannot_be_stored_are_refused)
{
    const char *names[] = { "", ".", "a/b", "a\nb", NULL };
    cse_checkpoint_tensor tensor = { "", CSE_FLOAT32, { 0, { 0 } }, &fixture_scalar };
    cse_checkpoint checkpoint = { .tensors = &tensor, .tensor_count = 1 };
    for (int i = 0; i < 5; i++) {
        tensor.name = names[i];
        ck_assert_int_eq(cse_checkpoint_save(&checkpoint, path), CSE_DATA);
    }
    cse_checkpoint_tensor twins[2] = { { "a", CSE_FLOAT32, { 0, { 0 } }, &fixture_scalar },
                                       { "a", CSE_FLOAT32, { 0, { 0 } }, &fixture_scalar } };
    checkpoint = (cse_checkpoint){ .tensors = twins, .tensor_count = 2 };
    ck_assert_int_eq(cse_checkpoint_save(&checkpoint, path), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "'a'"));
    ck_assert_int_eq(files_in(directory), 0);
}
END_TEST

START_TEST(latest_is_the_newest_whole_one)
{
    cse_checkpoint checkpoint = fixture_checkpoint();
    char latest[PATH_MAX], other[PATH_MAX + 64];
    ck_assert_int_eq(cse_checkpoint_latest(directory, latest, sizeof latest), CSE_NO_INPUT);
    ck_assert_int_eq(cse_checkpoint_latest("/nonexistent", latest, sizeof latest), CSE_NO_INPUT);
    save(&checkpoint, path);
    snprintf(other, sizeof other, "%s/checkpoint_10.mdl", directory);
    save(&checkpoint, other); /* 10 > 7 by step, not by name */
    ck_assert_int_eq(cse_checkpoint_latest(directory, latest, sizeof latest), CSE_OK);
    ck_assert_str_eq(latest, other);
    ck_assert_int_eq(warnings, 0);
    ck_assert_int_eq(truncate(other, 3000), 0);
    snprintf(other, sizeof other, "%s/checkpoint_11.mdl.tmp", directory);
    write_bytes(other, (const unsigned char *)"half", 4);
    snprintf(other, sizeof other, "%s/checkpoint_012.mdl", directory);
    write_bytes(other, (const unsigned char *)"half", 4);
    ck_assert_int_eq(cse_checkpoint_latest(directory, latest, sizeof latest), CSE_OK);
    ck_assert_str_eq(latest, path);
    ck_assert_int_eq(warnings, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_set_timeout(all, 60);
    tcase_add_test(all, comes_back_bit_for_bit);
    tcase_add_test(all, a_mapped_file_outlives_its_name);
    tcase_add_test(all, a_damaged_file_is_not_mapped);
    tcase_add_test(all, facts_may_be_absent);
    tcase_add_test(all, digest_is_as_defined);
    tcase_add_test(all, digest_does_not_depend_on_order);
    tcase_add_test(all, equal_checkpoints_are_equal_files);
    tcase_add_test(all, truncated_anywhere_fails);
    tcase_add_test(all, every_flipped_bit_is_noticed);
    tcase_add_test(all, damage_is_given_its_tensor_s_name);
    tcase_add_loop_test(all, hostile_contents_of_earlier_files_are_refused, 0,
                        (int)(sizeof hostile / sizeof hostile[0]));
    tcase_add_test(all, a_seal_does_not_make_garbage_hdf5);
    tcase_add_loop_test(all, earlier_files_are_told_and_can_be_converted, 0, 2);
    tcase_add_test(all, a_file_is_read_without_hdf5);
    tcase_add_loop_test(all, hostile_lines_are_refused, 0,
                        (int)(sizeof hostile_lines / sizeof hostile_lines[0]));
    tcase_add_test(all, a_seal_whose_lines_overlap_is_refused);
    tcase_add_test(all, each_of_many_tensors_is_verified);
    tcase_add_test(all, what_is_no_checkpoint_is_refused);
    tcase_add_test(all, names_that_cannot_be_stored_are_refused);
    tcase_add_test(all, latest_is_the_newest_whole_one);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
