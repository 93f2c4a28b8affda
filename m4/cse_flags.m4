# Compiler flags that are tried before they are used; they are added to CSE_CFLAGS.

# CSE_TRY_CFLAG(FLAG): adds FLAG when the compiler takes it without a warning.
AC_DEFUN([CSE_TRY_CFLAG], [
    AC_MSG_CHECKING([whether $CC accepts $1])
    cse_saved_cflags=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes]); CSE_CFLAGS="$CSE_CFLAGS $1"],
        [AC_MSG_RESULT([no])])
    CFLAGS=$cse_saved_cflags
])

# CSE_SANITIZER(KIND): checks the kind, then that a program built with it links.
AC_DEFUN([CSE_SANITIZER], [
    AS_CASE([$1],
        [no], [],
        [address|undefined|thread|address,undefined|undefined,address], [
            cse_sanitizer="-fsanitize=$1 -fno-omit-frame-pointer"
            AS_CASE([$1], [*undefined*],
                [cse_sanitizer="$cse_sanitizer -fno-sanitize-recover=undefined"])
            AC_MSG_CHECKING([whether $CC links with -fsanitize=$1])
            cse_saved_cflags=$CFLAGS
            CFLAGS="$CFLAGS $cse_sanitizer -no-pie"
            AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
                [AC_MSG_RESULT([no])
                 AC_MSG_ERROR([$CC cannot link with -fsanitize=$1])])
            CFLAGS=$cse_saved_cflags
            CSE_CFLAGS="$CSE_CFLAGS $cse_sanitizer"
            # The address sanitizer's tables of globals are half a million addresses, which each
            # start of a program that may lie anywhere would write: half of what a start takes.
            CSE_LDFLAGS="$CSE_LDFLAGS -fsanitize=$1 -no-pie"],
        [AC_MSG_ERROR(
            [--enable-sanitize=$1: accepted are address, undefined, thread and address,undefined])])
])
