/* The files in completion/ are what these texts say; a test compares them. */
#include "cli/completion/completion_scripts.h"

#include <string.h>

#include "cli/arguments/check_word.h"

/* bash breaks words at "=" and ":" and replaces only what stands behind, so a candidate loses what
 * stands before. */
static const char bash[] =
    "# bash completion of csengine; written by csengine --print-completion bash.\n"
    "_csengine()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} current value breaks= kept= file\n"
    "    local -a words\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && words+=('')\n"
    "    current=${words[${#words[@]} - 1]}\n"
    "    value=$current\n"
    "    [[ $current == --*=* ]] && value=${current#*=}\n"
    "    [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='\n"
    "    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'\n"
    "    [[ -n $breaks ]] && kept=${current%\"${current##*[$breaks]}\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "            :nospace)\n"
    "                compopt -o nospace 2>/dev/null\n"
    "                ;;\n"
    "            :file* | :directory)\n"
    "                compopt -o filenames 2>/dev/null\n"
    "                while IFS= read -r file; do\n"
    "                    if [[ -d ${file/#\\~/$HOME} || $line == :file ||\n"
    "                        ( $line == ':file '* && $file == *\"${line#:file }\" ) ]]; then\n"
    "                        COMPREPLY+=(\"$file\")\n"
    "                    fi\n"
    "                done < <(compgen -f -- \"$value\")\n"
    "                ;;\n"
    "            *)\n"
    "                line=${line%%$'\\t'*}\n"
    "                COMPREPLY+=(\"${line#\"$kept\"}\")\n"
    "                ;;\n"
    "        esac\n"
    "    done < <(\"${words[0]/#\\~/$HOME}\" complete \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _csengine csengine\n";

static const char zsh[] =
    "#compdef csengine\n"
    "# zsh completion of csengine; written by csengine --print-completion zsh.\n"
    "_csengine()\n"
    "{\n"
    "    local line word files=\n"
    "    local -a closed closed_texts open open_texts before\n"
    "    before=(\"${(@Q)words[1,CURRENT-1]}\")\n"
    "    while IFS= read -r line; do\n"
    "        word=${line%%$'\\t'*}\n"
    "        case $line in\n"
    "            :nospace) ;;\n"
    "            :file*|:directory) files=$line ;;\n"
    "            *=$'\\t'*) open+=(\"$word\") open_texts+=(\"$word  ${line#*$'\\t'}\") ;;\n"
    "            *) closed+=(\"$word\") closed_texts+=(\"$word  ${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done < <(${~before[1]} complete \"${(@)before[2,-1]}\" \"${(Q)PREFIX}\" 2>/dev/null)\n"
    "    (( $#open )) && compadd -l -S '' -d open_texts -a open\n"
    "    (( $#closed )) && compadd -l -d closed_texts -a closed\n"
    "    if [[ -n $files ]]; then\n"
    "        [[ $PREFIX == --*=* ]] && compset -P '*='\n"
    "        case $files in\n"
    "            :directory) _files -/ ;;\n"
    "            ':file '*) _files -g \"*${files#:file }\" ;;\n"
    "            *) _files ;;\n"
    "        esac\n"
    "    fi\n"
    "    return 0\n"
    "}\n"
    "if [[ $funcstack[1] == _csengine ]]; then\n"
    "    _csengine \"$@\"\n"
    "else\n"
    "    compdef _csengine csengine\n"
    "fi\n";

static const char fish[] =
    "# fish completion of csengine; written by csengine --print-completion fish.\n"
    "function __csengine_complete\n"
    "    set -l before (commandline -opc)\n"
    "    set -l current (commandline -ct)\n"
    "    set -l program $before[1]\n"
    "    set -e before[1]\n"
    "    set -l value (string replace -r -- '^--[^=]*=' '' \"$current\")\n"
    "    set -l lead (string match -r -- '^--[^=]*=' \"$current\")\n"
    "    for line in ($program complete $before \"$current\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':nospace'\n"
    "            case ':directory'\n"
    "                printf '%s\\n' \"$lead\"(__fish_complete_directories \"$value\")\n"
    "            case ':file*'\n"
    "                set -l ending (string sub -s 7 -- $line)\n"
    "                for file in (complete -C\"__csengine_file $value\" | string replace -r "
    "'\\t.*' '')\n"
    "                    if string match -q -- '*/' $file; or string match -q -- \"*$ending\" "
    "$file\n"
    "                        printf '%s\\n' \"$lead$file\"\n"
    "                    end\n"
    "                end\n"
    "            case '*'\n"
    "                printf '%s\\n' $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c csengine -f -a '(__csengine_complete)'\n";

cse_status cse_print_completion(const char *shell, FILE *out)
{
    static const char *const names[] = { "bash", "zsh", "fish", NULL };
    CSE_TRY(cse_check_word("--print-completion: unknown shell", shell, names));
    fputs(strcmp(shell, "bash") == 0 ? bash : strcmp(shell, "zsh") == 0 ? zsh : fish, out);
    return CSE_OK;
}
