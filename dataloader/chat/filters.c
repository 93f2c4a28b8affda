/* The table of filters. */
#include "dataloader/chat/filters.h"

#include <string.h>

/* clang-format off */
static const cse_jinja_function filters[] = {
    { "abs", cse_jinja_filter_abs, NULL, 0 },
    { "attr", cse_jinja_filter_attr, "name", 1 },
    { "batch", cse_jinja_filter_batch, "linecount,fill_with", 1 },
    { "capitalize", cse_jinja_filter_capitalize, NULL, 0 },
    { "center", cse_jinja_filter_center, "width", 0 },
    { "count", cse_jinja_filter_length, NULL, 0 },
    { "d", cse_jinja_filter_default, "default_value,boolean", 0 },
    { "default", cse_jinja_filter_default, "default_value,boolean", 0 },
    { "dictsort", cse_jinja_filter_dictsort, "case_sensitive,by,reverse", 0 },
    { "e", cse_jinja_filter_escape, NULL, 0 },
    { "escape", cse_jinja_filter_escape, NULL, 0 },
    { "first", cse_jinja_filter_first, NULL, 0 },
    { "float", cse_jinja_filter_float, "default", 0 },
    { "format", cse_jinja_filter_format, "*", 0 },
    { "groupby", cse_jinja_filter_groupby, "attribute,default,case_sensitive", 1 },
    { "indent", cse_jinja_filter_indent, "width,first,blank", 0 },
    { "int", cse_jinja_filter_int, "default,base", 0 },
    { "items", cse_jinja_filter_items, NULL, 0 },
    { "join", cse_jinja_filter_join, "d,attribute", 0 },
    { "last", cse_jinja_filter_last, NULL, 0 },
    { "length", cse_jinja_filter_length, NULL, 0 },
    { "list", cse_jinja_filter_list, NULL, 0 },
    { "lower", cse_jinja_filter_lower, NULL, 0 },
    { "map", cse_jinja_filter_map, "*", 0 },
    { "max", cse_jinja_filter_max, "case_sensitive,attribute", 0 },
    { "min", cse_jinja_filter_min, "case_sensitive,attribute", 0 },
    { "reject", cse_jinja_filter_reject, "*", 0 },
    { "rejectattr", cse_jinja_filter_rejectattr, "*", 1 },
    { "replace", cse_jinja_filter_replace, "old,new,count", 2 },
    { "reverse", cse_jinja_filter_reverse, NULL, 0 },
    { "round", cse_jinja_filter_round, "precision,method", 0 },
    { "safe", cse_jinja_filter_safe, NULL, 0 },
    { "select", cse_jinja_filter_select, "*", 0 },
    { "selectattr", cse_jinja_filter_selectattr, "*", 1 },
    { "slice", cse_jinja_filter_slice, "slices,fill_with", 1 },
    { "sort", cse_jinja_filter_sort, "reverse,case_sensitive,attribute", 0 },
    { "string", cse_jinja_filter_string, NULL, 0 },
    { "sum", cse_jinja_filter_sum, "attribute,start", 0 },
    { "title", cse_jinja_filter_title, NULL, 0 },
    { "tojson", cse_jinja_filter_tojson, "ensure_ascii,indent,separators,sort_keys", 0 },
    { "trim", cse_jinja_filter_trim, "chars", 0 },
    { "unique", cse_jinja_filter_unique, "case_sensitive,attribute", 0 },
    { "upper", cse_jinja_filter_upper, NULL, 0 },
    { "urlencode", cse_jinja_filter_urlencode, NULL, 0 },
    { "wordcount", cse_jinja_filter_wordcount, NULL, 0 },
};
/* clang-format on */

const cse_jinja_function *cse_jinja_filter_find(const char *name)
{
    CSE_JINJA_FIND(filters, name);
}

void cse_jinja_filter_names(cse_text *text)
{
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
        cse_text_add(text, "%s%s", i > 0 ? ", " : "", filters[i].name);
}
