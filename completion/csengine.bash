# bash completion of csengine; written by csengine --print-completion bash.
_csengine()
{
    local line=${COMP_LINE:0:COMP_POINT} current value breaks= kept= file
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    current=${words[${#words[@]} - 1]}
    value=$current
    [[ $current == --*=* ]] && value=${current#*=}
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
    [[ -n $breaks ]] && kept=${current%"${current##*[$breaks]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :nospace)
                compopt -o nospace 2>/dev/null
                ;;
            :file* | :directory)
                compopt -o filenames 2>/dev/null
                while IFS= read -r file; do
                    if [[ -d ${file/#\~/$HOME} || $line == :file ||
                        ( $line == ':file '* && $file == *"${line#:file }" ) ]]; then
                        COMPREPLY+=("$file")
                    fi
                done < <(compgen -f -- "$value")
                ;;
            *)
                line=${line%%$'\t'*}
                COMPREPLY+=("${line#"$kept"}")
                ;;
        esac
    done < <("${words[0]/#\~/$HOME}" complete "${words[@]:1}" 2>/dev/null)
}
complete -F _csengine csengine
