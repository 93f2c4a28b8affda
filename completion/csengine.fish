# fish completion of csengine; written by csengine --print-completion fish.
function __csengine_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    set -e before[1]
    set -l value (string replace -r -- '^--[^=]*=' '' "$current")
    set -l lead (string match -r -- '^--[^=]*=' "$current")
    for line in ($program complete $before "$current" 2>/dev/null)
        switch $line
            case ':nospace'
            case ':directory'
                printf '%s\n' "$lead"(__fish_complete_directories "$value")
            case ':file*'
                set -l ending (string sub -s 7 -- $line)
                for file in (complete -C"__csengine_file $value" | string replace -r '\t.*' '')
                    if string match -q -- '*/' $file; or string match -q -- "*$ending" $file
                        printf '%s\n' "$lead$file"
                    end
                end
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c csengine -f -a '(__csengine_complete)'
