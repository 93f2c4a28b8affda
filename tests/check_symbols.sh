#!/bin/sh
# The shared libraries export only names that begin with cse_ and are declared in the public
# headers: any other would become an interface by accident. Both export the same, and the client
# library needs no OpenMP, oneDNN or HDF5.
set -eu
libraries=${top_builddir:-.}/.libs
[ -e "$libraries/libcsengine.so" ] || { echo "libcsengine.so is not built: skipped"; exit 77; }
command -v nm >/dev/null || { echo "nm is not there: skipped"; exit 77; }
# Sanitizers and coverage add names of their own.
names_of() {
    nm -D --defined-only "$1" | awk '$2 ~ /[A-Z]/ { print $3 }' |
        grep -vE '^(__|_init$|_fini$|_edata$|_end$)' | sort
}
names=$(names_of "$libraries/libcsengine.so")
[ -n "$names" ] || { echo "libcsengine.so exports nothing"; exit 1; }
bad=0
for name in $names; do
    case $name in
    cse_*) ;;
    *) echo "$name: exported, but does not begin with cse_"; bad=1; continue ;;
    esac
    grep -rqw "$name" "${top_srcdir:-.}/include/csengine" 2>/dev/null ||
        { echo "$name: exported, but in no public header"; bad=1; }
done
[ "$names" = "$(names_of "$libraries/libcsengine_client.so")" ] ||
    { echo "libcsengine_client.so exports other names than libcsengine.so"; bad=1; }
if ldd "$libraries/libcsengine_client.so" | grep -E 'gomp|dnnl|hdf5|libcsengine\.'; then
    echo "libcsengine_client.so needs these libraries"
    bad=1
fi
echo "$(echo "$names" | wc -l) names exported"
exit "$bad"
