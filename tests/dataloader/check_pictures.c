/* Decoded pictures beside Pillow's pixels, for each kind that a file can be of, and damaged files,
 * which are refused. With CSE_PICTURES=FOLDER the files that tests/reference/pictures.py wrote
 * there, too. */
#include <dirent.h>
#include <zlib.h>

#include "dataloader/files/file_list.h"
#include "dataloader/pictures/image_decode.h"
#include "engine/base/directory.h"
#include "tests/dataloader/fixture.h"
#include "tests/reference/pictures.h"

enum { PICTURES = sizeof known_pictures / sizeof known_pictures[0] };

static cse_image_decoder *decoders[2]; /* as it is stored, and turned */
static cse_image image;

static void make(void)
{
    for (int turned = 0; turned < 2; turned++)
        decoders[turned] = cse_image_decoder_new(turned == 1);
}

static void unmake(void)
{
    for (int turned = 0; turned < 2; turned++)
        cse_image_decoder_destroy(&decoders[turned]);
    cse_image_clear(&image);
}

static const struct known_picture *known(const char *name)
{
    for (int i = 0; i < PICTURES; i++)
        if (strcmp(known_pictures[i].name, name) == 0)
            return &known_pictures[i];
    ck_abort_msg("no picture has the name %s", name);
    return NULL;
}

static cse_status decode(int turned, const void *bytes, size_t size)
{
    return cse_image_decode(decoders[turned], bytes, size, &image);
}

START_TEST(each_kind_has_the_pixels_of_pillow)
{
    for (int i = 0; i < PICTURES; i++)
        for (int turned = 0; turned < 2; turned++) {
            const struct known_picture *p = &known_pictures[i];
            fixture_expect(decode(turned, p->bytes, p->size), CSE_OK, NULL);
            ck_assert_int_eq(image.width * image.height, p->width * p->height);
            ck_assert(turned == 1 || image.width == p->width);
            const uint32_t sum =
                (uint32_t)crc32(0, image.pixels, (uInt)(image.width * image.height * 3));
            ck_assert_msg(sum == (turned == 1 ? p->turned : p->pixels), "%s: its pixels differ",
                          p->name);
        }
}
END_TEST

/* Each byte of a PNG is below a checksum. */
START_TEST(every_wrong_bit_of_a_png_is_noticed)
{
    static const char *const names[] = { "2_8_0.png", "3_4_1.png", "exif_behind.png" };
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const struct known_picture *p = known(names[n]);
        char *bytes = malloc(p->size);
        memcpy(bytes, p->bytes, p->size);
        for (size_t bit = 0; bit < 8 * p->size; bit++) {
            bytes[bit / 8] ^= (char)(1 << bit % 8);
            ck_assert_msg(decode(0, bytes, p->size) == CSE_DATA, "%s: bit %zu", p->name, bit);
            bytes[bit / 8] ^= (char)(1 << bit % 8);
        }
        free(bytes);
    }
}
END_TEST

START_TEST(files_that_are_cut_off_are_refused)
{
    static const char *const names[] = { "6_16_1.png",       "colour_2_0.jpg", "colour_0_1.jpg",
                                         "inks_of_luma.jpg", "still_0_3.webp", "still_1_4.webp",
                                         "animated.webp" };
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const struct known_picture *p = known(names[n]);
        for (size_t size = 0; size < p->size; size++)
            ck_assert_msg(decode(0, p->bytes, size) == CSE_DATA, "%s: %zu of %zu bytes", p->name,
                          size, p->size);
    }
}
END_TEST

static size_t put_chunk(unsigned char *to, const char *type, const void *content, size_t size)
{
    const uint32_t length = __builtin_bswap32((uint32_t)size);
    memcpy(to, &length, 4);
    memcpy(to + 4, type, 4);
    memcpy(to + 8, content, size);
    const uint32_t sum = __builtin_bswap32((uint32_t)crc32(0, to + 4, (uInt)size + 4));
    memcpy(to + 8 + size, &sum, 4);
    return size + 12;
}

/* Grey, 2 x 2, with this stream of pixels. */
static cse_status decode_stream(const void *stream, size_t size, uint32_t side)
{
    static unsigned char file[1 << 16];
    unsigned char header[13] = { 0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0 };
    const uint32_t big = __builtin_bswap32(side);
    memcpy(header, &big, 4);
    memcpy(header + 4, &big, 4);
    memcpy(file, "\211PNG\r\n\032\n", 8);
    size_t at = 8;
    at += put_chunk(file + at, "IHDR", header, sizeof header);
    at += put_chunk(file + at, "IDAT", stream, size);
    at += put_chunk(file + at, "IEND", "", 0);
    return decode(0, file, at);
}

/* The CRC of the chunk is right in all of these. */
START_TEST(the_stream_of_a_png_is_checked)
{
    static const unsigned char rows[] = { 0, 1, 2, 1, 3, 4, 9, 9 };
    static unsigned char packed[1 << 15], zeros[1 << 22];
    for (int n = 0; n < 5; n++) {
        static const size_t counts[] = { 6, 6, 5, 8, 6 };
        static const cse_status expected[] = { CSE_OK, CSE_DATA, CSE_DATA, CSE_OK, CSE_DATA };
        uLongf size = sizeof packed;
        ck_assert_int_eq(compress(packed, &size, rows, counts[n]), Z_OK);
        if (n == 1)
            packed[size - 1] ^= 1; /* its Adler-32 */
        if (n == 4)
            size -= 4; /* without it */
        fixture_expect(decode_stream(packed, size, 2), expected[n], "a PNG that is not whole");
    }
    ck_assert_mem_eq(image.pixels, ((const unsigned char[]){ 1, 1, 1, 2, 2, 2, 3, 3, 3 }), 9);
    /* Much that comes from little: behind the picture, and in one that is said to be large. */
    uLongf size = sizeof packed;
    ck_assert_int_eq(compress(packed, &size, zeros, sizeof zeros), Z_OK);
    fixture_expect(decode_stream(packed, size, 2), CSE_DATA, "go on beyond the picture");
    cse_image_clear(&image);
    fixture_expect(decode_stream(packed, size, 8000), CSE_DATA, "cannot come from");
    fixture_expect(decode_stream(packed, size, 40000), CSE_DATA, "accepted are sides up to");
    ck_assert_uint_eq(image.capacity, 0);
}
END_TEST

/* ---- a folder that a script filled ---- */

typedef struct content {
    unsigned char *bytes;
    size_t size;
} content;

static bool read_beside(const char *path, const char *ending, content *file)
{
    char name[1024];
    *file = (content){ 0 };
    snprintf(name, sizeof name, "%s%s", path, ending);
    FILE *stream = fopen(name, "rb");
    if (stream == NULL)
        return false;
    ck_assert_int_eq(fseek(stream, 0, SEEK_END), 0);
    file->size = (size_t)ftell(stream);
    rewind(stream);
    file->bytes = malloc(file->size + 1);
    ck_assert_uint_eq(fread(file->bytes, 1, file->size, stream), file->size);
    fclose(stream);
    return true;
}

static void compare_file(const char *path, int counts[2])
{
    content file, refused, damaged;
    ck_assert(read_beside(path, "", &file));
    const bool must_fail = read_beside(path, ".refused", &refused);
    const bool may_fail = read_beside(path, ".damaged", &damaged);
    for (int turned = 0; turned < 2; turned++) {
        content expected;
        const cse_status status = decode(turned, file.bytes, file.size);
        counts[status != CSE_OK]++;
        ck_assert_msg(status == CSE_OK || must_fail || may_fail, "%s: %s", path,
                      cse_error_message());
        ck_assert_msg(status != CSE_OK || !must_fail, "%s is read, and Pillow refuses it", path);
        if (status != CSE_OK)
            continue;
        ck_assert(read_beside(path, turned == 1 ? ".turned" : ".rgb", &expected));
        const uint32_t sides[] = { (uint32_t)image.width, (uint32_t)image.height };
        const size_t size = (size_t)image.width * (size_t)image.height * 3;
        ck_assert_uint_eq(expected.size, size + 8);
        ck_assert_mem_eq(expected.bytes, sides, 8);
        ck_assert_msg(memcmp(expected.bytes + 8, image.pixels, size) == 0, "%s differs", path);
        free(expected.bytes);
    }
    free(file.bytes);
    free(refused.bytes);
    free(damaged.bytes);
}

START_TEST(a_folder_of_pillows)
{
    const char *folder = getenv("CSE_PICTURES");
    int counts[2] = { 0 };
    if (folder == NULL)
        return;
    DIR *list = opendir(folder);
    ck_assert_ptr_nonnull(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (cse_name_ends(path, ".png|.jpg|.webp"))
            compare_file(path, counts);
    }
    closedir(list);
    printf("%d pictures equal, %d refused\n", counts[0] / 2, counts[1] / 2);
    ck_assert_int_gt(counts[0], 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("pictures");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, make, unmake);
    tcase_add_test(tests, each_kind_has_the_pixels_of_pillow);
    tcase_add_test(tests, every_wrong_bit_of_a_png_is_noticed);
    tcase_add_test(tests, files_that_are_cut_off_are_refused);
    tcase_add_test(tests, the_stream_of_a_png_is_checked);
    tcase_add_test(tests, a_folder_of_pillows);
    return fixture_run(tests);
}
