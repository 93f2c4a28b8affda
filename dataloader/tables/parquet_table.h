/* A table of numbers from Parquet, or Arrow, in the form that tables of text have. */
#ifndef CSE_DATALOADER_TABLES_PARQUET_TABLE_H
#define CSE_DATALOADER_TABLES_PARQUET_TABLE_H

#include "dataloader/tables/csv_table.h"

/* `path` is a file of either format, or a folder of *.parquet, whose rows follow one another in the
 * order of their names. Columns are named, rows counted from 0. CSE_DATA says file, row and
 * column. */
cse_status cse_parquet_table_read(const char *path, const cse_csv_options *options,
                                  cse_csv_table *table);

#endif
