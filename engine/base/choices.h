/* The names of an enumeration as one string, for the `choices` of a setting and for messages.
 *
 * An enumeration is one list macro LIST(FIRST, NEXT) that calls FIRST(name, ...) for its first
 * value and NEXT(name, ...) for each other: the names, the enumerators and the lookup tables are
 * all made from it. */
#ifndef CSE_BASE_CHOICES_H
#define CSE_BASE_CHOICES_H

#define CSE_CHOICE_NAME(name, ...) #name
#define CSE_CHOICE_AFTER_BAR(name, ...) "|" #name
#define CSE_CHOICE_AFTER_COMMA(name, ...) ", " #name

/* "fp32|bf16", and "fp32, bf16" */
#define CSE_CHOICES(LIST) LIST(CSE_CHOICE_NAME, CSE_CHOICE_AFTER_BAR)
#define CSE_CHOICES_TEXT(LIST) LIST(CSE_CHOICE_NAME, CSE_CHOICE_AFTER_COMMA)

/* Rows { "fp32", ... } of an array. */
#define CSE_CHOICE_ROW(name, ...) { #name, __VA_ARGS__ },
#define CSE_CHOICE_ROWS(LIST) LIST(CSE_CHOICE_ROW, CSE_CHOICE_ROW)

#endif
