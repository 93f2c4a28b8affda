#!/bin/sh
# The dashboard's pages: from web/pages.tar where that was made of the present sources, which needs
# no Node.js and no network; else bundled by Node.js from the locked npm packages; else none.
#
# web/pages.tar holds the bundle, uncompressed: its bytes do not depend on a version of zlib, and
# git stores a new version as the difference to the old one. Its file sources.sha256 is the digest
# of all that the bundle depends on. `make web-artefact` writes it, tests/web/check_artefact.sh
# builds it again and compares.
#
# Usage: build_web.sh table auto|yes|no WEB OPENAPI WORK OUT.c    pages or, unless "yes", none
#        build_web.sh artefact WEB OPENAPI WORK OUT.tar           bundles with Node.js
#        build_web.sh modules WEB WORK                            installs WORK/node_modules
#        build_web.sh verify WEB OPENAPI                          is WEB/pages.tar up to date?
# Environment: NODE and NPM, empty where they are missing.
set -eu
export LC_ALL=C
NODE=${NODE:-} NPM=${NPM:-}

# The digest of the names and contents of what the bundle is made of.
sources_digest() { # web openapi
    {
        (cd "$1" && find src tools package.json package-lock.json tsconfig.json -type f | sort |
            while read -r file; do sha256sum "$file"; done)
        sha256sum <"$2"
    } | sha256sum | cut -d ' ' -f 1
}

is_up_to_date() { # web openapi
    [ -f "$1/pages.tar" ] &&
        [ "$(tar -xOf "$1/pages.tar" sources.sha256 2>/dev/null)" = "$(sources_digest "$1" "$2")" ]
}

# Installs the locked packages in WORK, again only when the lock file changed; on failure `problem`
# says why. Two tests may want them at the same time.
modules() { # web work
    [ -n "$NODE" ] && [ -n "$NPM" ] || {
        problem='Node.js 18 or newer and npm are missing: install nodejs and npm'
        return 1
    }
    (
        flock 9
        [ ! -d "$2/node_modules" ] || ! cmp -s "$1/package-lock.json" "$2/package-lock.json" ||
            exit 0
        rm -f "$2/package-lock.json"
        cp "$1/package.json" "$2/package.json"
        cp "$1/package-lock.json" "$2/package-lock.json"
        chmod u+w "$2/package.json" "$2/package-lock.json"
        cd "$2" && "$NPM" ci --omit=dev --ignore-scripts --no-audit --no-fund --prefer-offline \
            >npm.log 2>&1 || { rm -f package-lock.json; exit 1; }
    ) 9>"$2/modules.lock" || {
        problem="npm ci failed (its output: $2/npm.log)"
        return 1
    }
}

# Writes WORK/dist.
bundle() { # web openapi work
    modules "$1" "$3" || return 1
    rm -rf "$3/dist"
    "$NODE" "$1/tools/build.mjs" --modules "$3/node_modules" --out "$3/dist" --openapi "$2" \
        >"$3/build.log" 2>&1 || {
        cat "$3/build.log" >&2
        problem='the bundle could not be built (see above)'
        return 1
    }
}

content_type() { # file
    case $1 in
    *.html) echo 'text/html; charset=utf-8' ;;
    *.js) echo 'text/javascript; charset=utf-8' ;;
    *.css) echo 'text/css; charset=utf-8' ;;
    *.svg) echo 'image/svg+xml' ;;
    *) echo "build_web.sh: error: $1: content_type() has no type for it" >&2; return 1 ;;
    esac
}

# The C table of dashboard/pages/web_files.h. Octal escapes in string literals: every compiler
# takes them, and quicker than numbers.
table_of() { # directory files
    cd "$1"
    shift
    printf '/* Written by scripts/build_web.sh: the pages of the dashboard. */\n'
    printf '#include "dashboard/pages/web_files.h"\n\n'
    number=0
    for file in "$@"; do
        printf 'static const char blob_%d[] =\n' $number
        gzip -9nc "$file" | od -An -v -to1 | sed -e 's/ /\\/g' -e 's/.*/    "&"/'
        printf '    ;\n\n'
        number=$((number + 1))
    done
    printf 'const cse_web_file cse_web_files[] = {\n'
    number=0
    for file in "$@"; do
        case $file in assets/*) immutable=true ;; *) immutable=false ;; esac
        type=$(content_type "$file")
        etag=$(sha256sum <"$file" | cut -c 1-12)
        printf '    { .path = "/%s",\n      .content_type = "%s",\n' "$file" "$type"
        printf '      .etag = "\\"%s\\"",\n      .immutable = %s,\n' "$etag" $immutable
        printf '      .gzip = blob_%d,\n      .gzip_bytes = sizeof blob_%d - 1 },\n' $number $number
        number=$((number + 1))
    done
    printf '    { .path = NULL },\n};\n'
}

pages_of() { # directory
    (cd "$1" && find index.html report.html assets -type f | sort)
}

table() { # mode web openapi work out
    problem=
    if [ "$1" = no ]; then
        :
    elif is_up_to_date "$2" "$3"; then
        rm -rf "$4/dist"
        mkdir "$4/dist"
        tar -xf "$2/pages.tar" -C "$4/dist"
    else
        bundle "$2" "$3" "$4" || :
    fi
    [ "$1:$problem" = yes: ] || [ "$1" != yes ] || {
        echo "build_web.sh: error: web/pages.tar is older than its sources, and $problem" >&2
        exit 1
    }
    [ -z "$problem" ] || printf 'build_web.sh: warning: %s: %s, %s\n' \
        'the dashboard will have no pages' 'web/pages.tar is older than its sources' \
        "and $problem; then: make web" >&2
    if [ "$1" = no ] || [ -n "$problem" ]; then
        rm -rf "$4/dist"
        table_of . >"$5.new"
    else
        # shellcheck disable=SC2046 # names without spaces
        table_of "$4/dist" $(pages_of "$4/dist") >"$5.new"
    fi
    mv "$5.new" "$5"
}

artefact() { # web openapi work out
    bundle "$1" "$2" "$3" || {
        echo "build_web.sh: error: $problem" >&2
        exit 1
    }
    sources_digest "$1" "$2" >"$3/dist/sources.sha256"
    # shellcheck disable=SC2046 # names without spaces
    tar -C "$3/dist" --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner \
        --mode=u=rw,go=r -cf "$4.new" $(pages_of "$3/dist") sources.sha256
    mv "$4.new" "$4"
}

command=$1
shift
case $command in
table) mkdir -p "$(dirname "$5")" "$4"; table "$@" ;;
artefact) mkdir -p "$3"; artefact "$@" ;;
modules)
    mkdir -p "$2"
    modules "$@" || {
        echo "build_web.sh: error: $problem" >&2
        exit 1
    }
    ;;
verify)
    is_up_to_date "$@" || {
        echo 'web/pages.tar is older than its sources: make web-artefact' >&2
        exit 1
    }
    ;;
*) echo "build_web.sh: error: unknown command '$command'" >&2; exit 64 ;;
esac
