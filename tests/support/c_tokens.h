/* What a C compiler sees of a text: its tokens outside of comments and literals. */
#ifndef CSE_TESTS_SUPPORT_C_TOKENS_H
#define CSE_TESTS_SUPPORT_C_TOKENS_H

/* The phases of C in their order: trigraphs are replaced, lines that end in a backslash (which
 * spaces may follow, as gcc reads it) are joined, each comment becomes a space, the contents of
 * literals go; runs of blanks become one. An open comment or literal ends with "<open>". Release
 * with free(). */
char *c_tokens(const char *text);

#endif
