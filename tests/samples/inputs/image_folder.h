/* Written by tests/reference/image_folder.py: pictures for the contract test, and their values. */
#ifndef CSE_TESTS_SAMPLES_INPUTS_IMAGE_FOLDER_H
#define CSE_TESTS_SAMPLES_INPUTS_IMAGE_FOLDER_H

#include "dataloader/inputs/labelled.h"

/* clang-format off */
static const char png_picture[] =
    "\211PNG\15\12\32\12\0\0\0\15IHDR\0\0\0\7\0\0\0\6\10\2\0\0\0\200l\23!\0\0\0\217IDATx"
    "\234\1\204\0{\377\1\261\360\267\3\2\370\372\0\371\247\361=\301\357\22X\371W:\376\262"
    "\4\256\237\30(\36\3679.\356\16\350\302\365\346\351\352\42\6\345\0319\4\275\212\372\3"
    ":\370C\4\362\16\341\311\374\337\335\334\0313\377\22L\4P\347\227\36\330\370\347\315"
    "\374\377\352C\32\352s\337\345\21\336\31\5\4\32527\334\35\317\307\2\267\354\376\24\11"
    "\363-\30\267\332\12\310\363\4\3029P\377\20\370\0\21\235\15\361\313\33\375\30+\307"
    "\351\37\361\354:lE\262\2365\325J\0\0\0\0IEND\256B`\202";
static const char jpeg_picture[] =
    "\377\330\377\340\0\20JFIF\0\1\1\0\0\1\0\1\0\0\377\333\0C\0\6\4\5\6\5\4\6\6\5\6\7\7\6"
    "\10\12\20\12\12\11\11\12\24\16\17\14\20\27\24\30\30\27\24\26\26\32\35%\37\32\33#\34"
    "\26\26 , #&')*)\31\37-0-(0%()(\377\333\0C\1\7\7\7\12\10\12\23\12\12\23(\32\26\32(((("
    "((((((((((((((((((((((((((((((((((((((((((((((\377\300\0\21\10\0\24\0\16\3\1\42\0\2"
    "\21\1\3\21\1\377\304\0\37\0\0\1\5\1\1\1\1\1\1\0\0\0\0\0\0\0\0\1\2\3\4\5\6\7\10\11\12"
    "\13\377\304\0\265\20\0\2\1\3\3\2\4\3\5\5\4\4\0\0\1}\1\2\3\0\4\21\5\22!1A\6\23Qa\7\42"
    "q\0242\201\221\241\10#B\261\301\25R\321\360$3br\202\11\12\26\27\30\31\32%&'()*456789"
    ":CDEFGHIJSTUVWXYZcdefghijstuvwxyz\203\204\205\206\207\210\211\212\222\223\224\225"
    "\226\227\230\231\232\242\243\244\245\246\247\250\251\252\262\263\264\265\266\267\270"
    "\271\272\302\303\304\305\306\307\310\311\312\322\323\324\325\326\327\330\331\332\341"
    "\342\343\344\345\346\347\350\351\352\361\362\363\364\365\366\367\370\371\372\377\304"
    "\0\37\1\0\3\1\1\1\1\1\1\1\1\1\0\0\0\0\0\0\1\2\3\4\5\6\7\10\11\12\13\377\304\0\265\21"
    "\0\2\1\2\4\4\3\4\7\5\4\4\0\1\2w\0\1\2\3\21\4\5!1\6\22AQ\7aq\23\0422\201\10\24B\221"
    "\241\261\301\11#3R\360\25br\321\12\26$4\341%\361\27\30\31\32&'()*56789:CDEFGHIJSTUVW"
    "XYZcdefghijstuvwxyz\202\203\204\205\206\207\210\211\212\222\223\224\225\226\227\230"
    "\231\232\242\243\244\245\246\247\250\251\252\262\263\264\265\266\267\270\271\272\302"
    "\303\304\305\306\307\310\311\312\322\323\324\325\326\327\330\331\332\342\343\344\345"
    "\346\347\350\351\352\362\363\364\365\366\367\370\371\372\377\332\0\14\3\1\0\2\21\3"
    "\21\0\77\0\345,\320\301\13\3360\371b\346\244\203R\32\312\371\350\244\16\225\322\335i"
    "\261\377\0l[Z\250\377\0C\220\342O\245j\353\32v\205\243\334\13{&P\230\311\257+0\316"
    "\251bp\13\15F\17{\305\371u0\315\363)\343j\325\347\203\222\272\345K{u\31\326\27o\342"
    "\35\15p\32\304\262I\251K\275\330\343\336\212+\246\212_\331\330G\375\327\371\237G\302"
    "\11> \242\237\374\372\227\346\217\377\331";
#define PICTURES \
    { { .name = "a/*.png", .text = png_picture, .size = sizeof png_picture - 1 }, \
    { .name = "b/*.jpg", .text = jpeg_picture, .size = sizeof jpeg_picture - 1 } }
#define PICTURES_0 \
    .settings = "data_dir: $folder, " \
    "image_size: [4, 3], resize: 5", \
    .source = "Pillow (tests/reference/image_folder.py)", \
    .files = PICTURES, .sample_count = 20, .value_count = 12, .values = { \
    { CSE_FEATURES_STREAM, 0, 0, 0.878928006 }, \
    { CSE_FEATURES_STREAM, 0, 7, -0.234181046 }, \
    { CSE_FEATURES_STREAM, 0, 14, 1.50070024 }, \
    { CSE_FEATURES_STREAM, 0, 23, -0.390055984 }, \
    { CSE_FEATURES_STREAM, 0, 35, 1.80339885 }, \
    { CSE_FEATURES_STREAM, 13, 0, -0.508177102 }, \
    { CSE_FEATURES_STREAM, 13, 7, -0.234181046 }, \
    { CSE_FEATURES_STREAM, 13, 14, -1.03781509 }, \
    { CSE_FEATURES_STREAM, 13, 23, 0.992997229 }, \
    { CSE_FEATURES_STREAM, 13, 35, -0.44496724 }, \
    { CSE_ANSWERS_STREAM, 0, 0, 0 }, \
    { CSE_ANSWERS_STREAM, 19, 0, 1 } }
#define PICTURES_1 \
    .settings = "data_dir: $folder, " \
    "image_size: [3, 9], num_classes: 2", \
    .source = "Pillow (tests/reference/image_folder.py)", \
    .files = PICTURES, .sample_count = 20, .value_count = 12, .values = { \
    { CSE_FEATURES_STREAM, 0, 0, -0.0458087735 }, \
    { CSE_FEATURES_STREAM, 0, 13, -0.33692956 }, \
    { CSE_FEATURES_STREAM, 0, 26, -0.628050387 }, \
    { CSE_FEATURES_STREAM, 0, 44, 1.74579835 }, \
    { CSE_FEATURES_STREAM, 0, 80, 0.757647216 }, \
    { CSE_FEATURES_STREAM, 13, 0, 1.11867452 }, \
    { CSE_FEATURES_STREAM, 13, 13, -0.88492167 }, \
    { CSE_FEATURES_STREAM, 13, 26, 0.75905472 }, \
    { CSE_FEATURES_STREAM, 13, 44, 1.01050425 }, \
    { CSE_FEATURES_STREAM, 13, 80, -0.845838726 }, \
    { CSE_ANSWERS_STREAM, 0, 0, 0 }, \
    { CSE_ANSWERS_STREAM, 19, 0, 1 } }
#define PICTURES_2 \
    .settings = "data_dir: $folder, " \
    "image_size: [20, 14], channels: 1, flatten: true, mean: [0.5], std: [0.25]", \
    .source = "Pillow (tests/reference/image_folder.py)", \
    .files = PICTURES, .sample_count = 20, .value_count = 8, .values = { \
    { CSE_FEATURES_STREAM, 0, 0, 1.37254906 }, \
    { CSE_FEATURES_STREAM, 0, 139, 0.807843208 }, \
    { CSE_FEATURES_STREAM, 0, 279, -1.02745104 }, \
    { CSE_FEATURES_STREAM, 13, 0, -0.666666627 }, \
    { CSE_FEATURES_STREAM, 13, 139, 0.0235295296 }, \
    { CSE_FEATURES_STREAM, 13, 279, -0.682352901 }, \
    { CSE_ANSWERS_STREAM, 0, 0, 0 }, \
    { CSE_ANSWERS_STREAM, 19, 0, 1 } }
#define STEPS_0 \
    .settings = "data_dir: $folder, " \
    "image_size: [4, 3], transforms: [{name: resize, size: [6, 5], interpolation: bicubic}, " \
    "{name: center_crop, size: [4, 3]}, " \
    "{name: to_tensor}, " \
    "{name: normalize, mean: [0.5, 0.5, 0.5], std: [0.5, 0.25, 0.5]}]", \
    .source = "Pillow (tests/reference/image_folder.py)", \
    .files = { { .name = "train/a/*.png", .text = png_picture, .size = sizeof png_picture - 1 }, \
    { .name = "train/b/*.jpg", .text = jpeg_picture, .size = sizeof jpeg_picture - 1 } }, \
    .sample_count = 20, .value_count = 12, .values = { \
    { CSE_FEATURES_STREAM, 0, 0, 0.356862783 }, \
    { CSE_FEATURES_STREAM, 0, 7, -0.113725483 }, \
    { CSE_FEATURES_STREAM, 0, 14, 0.854902029 }, \
    { CSE_FEATURES_STREAM, 0, 23, -0.776470542 }, \
    { CSE_FEATURES_STREAM, 0, 35, 0.53725493 }, \
    { CSE_FEATURES_STREAM, 13, 0, -0.0352941155 }, \
    { CSE_FEATURES_STREAM, 13, 7, -0.247058809 }, \
    { CSE_FEATURES_STREAM, 13, 14, -1.02745104 }, \
    { CSE_FEATURES_STREAM, 13, 23, 1.09019613 }, \
    { CSE_FEATURES_STREAM, 13, 35, -0.372548997 }, \
    { CSE_ANSWERS_STREAM, 0, 0, 0 }, \
    { CSE_ANSWERS_STREAM, 19, 0, 1 } }
#define STEPS_1 \
    .settings = "data_dir: $folder, " \
    "image_size: [9, 9], transforms: [{name: resize, size: 12, interpolation: bicubic}, " \
    "{name: resize, size: [9, 9]}, " \
    "{name: to_tensor}]", \
    .source = "Pillow (tests/reference/image_folder.py)", \
    .files = { { .name = "train/a/*.png", .text = png_picture, .size = sizeof png_picture - 1 }, \
    { .name = "train/b/*.jpg", .text = jpeg_picture, .size = sizeof jpeg_picture - 1 } }, \
    .sample_count = 20, .value_count = 12, .values = { \
    { CSE_FEATURES_STREAM, 0, 0, 0.698039234 }, \
    { CSE_FEATURES_STREAM, 0, 13, 0.360784322 }, \
    { CSE_FEATURES_STREAM, 0, 80, 0.513725519 }, \
    { CSE_FEATURES_STREAM, 0, 144, 0.321568638 }, \
    { CSE_FEATURES_STREAM, 0, 242, 0.329411775 }, \
    { CSE_FEATURES_STREAM, 13, 0, 0.768627465 }, \
    { CSE_FEATURES_STREAM, 13, 13, 0.486274511 }, \
    { CSE_FEATURES_STREAM, 13, 80, 0.894117653 }, \
    { CSE_FEATURES_STREAM, 13, 144, 0.690196097 }, \
    { CSE_FEATURES_STREAM, 13, 242, 0.211764708 }, \
    { CSE_ANSWERS_STREAM, 0, 0, 0 }, \
    { CSE_ANSWERS_STREAM, 19, 0, 1 } }
/* clang-format on */

#endif
