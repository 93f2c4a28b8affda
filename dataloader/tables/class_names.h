/* The names of the classes that a model tells apart. A training whose data name their classes
 * leaves them in `classes.txt` of its model_dir, a name a line, so that the trained model can be
 * used without the data. */
#ifndef CSE_DATALOADER_TABLES_CLASS_NAMES_H
#define CSE_DATALOADER_TABLES_CLASS_NAMES_H

#include "dataloader/input.h"

typedef struct cse_class_names {
    char **names;
    int count;
} cse_class_names;

/* Writes those of the input, if it has some. */
cse_status cse_class_names_write(const char *model_dir, const cse_input *input);

/* Those of `path`; where that is NULL, of classes.txt beside the checkpoint, or else in model_dir;
 * none there: no names. CSE_NO_INPUT, CSE_DATA. */
cse_status cse_class_names_find(const char *path, const char *checkpoint, const char *model_dir,
                                cse_class_names *names);
/* The same of the names of features, in `features.txt`: a table whose columns stand in another
 * order is read by them. Data without such names remove a file that is there. */
cse_status cse_feature_names_write(const char *model_dir, const cse_input *input);
cse_status cse_feature_names_find(const char *checkpoint, const char *model_dir,
                                  cse_class_names *names);
void cse_class_names_clear(cse_class_names *names);

/* NULL: it has none. */
const char *cse_class_name(const cse_class_names *names, int64_t number);

#endif
