#compdef csengine
# zsh completion of csengine; written by csengine --print-completion zsh.
_csengine()
{
    local line word files=
    local -a closed closed_texts open open_texts before
    before=("${(@Q)words[1,CURRENT-1]}")
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        case $line in
            :nospace) ;;
            :file*|:directory) files=$line ;;
            *=$'\t'*) open+=("$word") open_texts+=("$word  ${line#*$'\t'}") ;;
            *) closed+=("$word") closed_texts+=("$word  ${line#*$'\t'}") ;;
        esac
    done < <(${~before[1]} complete "${(@)before[2,-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#open )) && compadd -l -S '' -d open_texts -a open
    (( $#closed )) && compadd -l -d closed_texts -a closed
    if [[ -n $files ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        case $files in
            :directory) _files -/ ;;
            ':file '*) _files -g "*${files#:file }" ;;
            *) _files ;;
        esac
    fi
    return 0
}
if [[ $funcstack[1] == _csengine ]]; then
    _csengine "$@"
else
    compdef _csengine csengine
fi
