/* The notation in which routes describe the values they take and give, and its translation into
 * JSON Schema. A text has one line for each schema, and below it, indented by two, one for each
 * member of an object:
 *
 *     Progress  # how far a run is
 *       step integer|null  # last committed step
 *       rate?,loss? number 0..  # members that may be missing
 *       = {"step": 7}
 *
 * NAME[,NAME...] TYPE # DESCRIPTION; a line that begins with "=" is an example, in JSON. A type is
 * one of
 *
 *     integer number string boolean null   as in JSON
 *     any binary                           any value; bytes
 *     time                                 Unix time in milliseconds
 *     object open                          with the members below and no others; with others too
 *     'word'                               this text
 *     <name>                               a word of the engine's enumeration of this name
 *     [TYPE] [,TYPE]                       a list; a parameter's list that is split at commas
 *     {TYPE} {NAME: TYPE}                  an object of any members; their names are as NAME says
 *     Name                                 the schema of this name
 *
 * or several of them, joined by "|" (a Name beside others is one of the forms: "oneOf"), then a
 * range as in 1..20 (of a number's value, a text's length, the entries of a list or object), "~"
 * and a regular expression that a text matches, "=" and the default. The type of an object may be
 * omitted. */
#ifndef CSE_DASHBOARD_API_SCHEMA_H
#define CSE_DASHBOARD_API_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

#include "csengine/status.h"

/* Adds every schema of the text to `schemas`, by its name. CSE_INTERNAL, with the line, when the
 * text does not follow the notation or a name is there already. */
cse_status cse_schemas_read(const char *text, json_t *schemas);

/* The first line of `*text` as a parameter of a request: {"name", "required", "description",
 * "schema", ...} without "in"; `*text` is moved past it and its example. A line without a type
 * has no "schema": it names a shared parameter. NULL at the end of the text. */
cse_status cse_schema_read_parameter(const char **text, json_t **parameter);

/* A type alone, as in "[Job]"; `*type` is moved past it. NULL when it is none. */
json_t *cse_schema_read_type(const char **type);

/* Schemas and parameters that several routes share. */
extern const char cse_shared_schemas[], cse_shared_parameters[];

/* The words of an enumeration of the engine: `index` from 0; NULL after the last one. */
typedef const char *cse_word_list(int index);
/* NULL when there is none of that name. */
cse_word_list *cse_word_list_find(const char *name, size_t length);

#endif
