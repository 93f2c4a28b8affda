/* Text of somebody else (names, values, paths, messages) inside of text that a program reads. There
 * is one function for each kind of text, and what is written goes through it:
 *
 *   a comment of C            cse_escape_comment
 *   a field of a CSV table    cse_escape_csv
 *   a label of Prometheus     cse_escape_label
 *   JSON inside of a page     cse_escape_script
 *   JSON                      cse_json_add_string (json.h), or jansson
 *   a terminal, a log         cse_text_printable, cse_text_one_line (text.h)
 *   the words of a shell      cse_words_quote (workers/host_launchers/words.h)
 *   YAML                      cse_yaml_print (engine/base/config/yaml.h)
 *
 * SQL has bound parameters alone, and pages get JSON, which they put into text nodes. */
#ifndef CSE_BASE_ESCAPE_H
#define CSE_BASE_ESCAPE_H

#include "engine/base/text.h"

/* Letters, digits, spaces and the signs of names and paths (_ - . : , /) stay; other bytes become
 * '_', as does a '/' beside another or at either end: the text cannot end or begin a comment
 * wherever it stands, nor join lines, nor be a trigraph. */
void cse_escape_comment(cse_text *out, const char *text);
/* In quotes where a comma, a quote or the end of a line stands in it (RFC 4180). */
void cse_escape_csv(cse_text *out, const char *text);
/* What stands between the quotes of a label's value. */
void cse_escape_label(cse_text *out, const char *text);
/* JSON for a <script> of a page: every "<" is escaped, since "</script" would end the script. */
void cse_escape_script(cse_text *out, const cse_text *json);

#endif
