# bash completion of csengine; written by csengine --print-completion.
_csengine()
{
    local current=${COMP_WORDS[COMP_CWORD]} options= words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "bench cancel checkpoint compare compile doctor eval get kill label list logs numerics open pause report resume scale serve start submit sweep-precision tune-precision --help --version" -- "$current"))
        return
    fi
    case ${COMP_WORDS[1]} in
        bench)
            options="--precision --model_dir --compile_dir --weight_grad_reduce --set --steps --kernels --json --help"
            words="step"
            ;;
        cancel)
            options="--server --token_file --json --grace --save --message --help"
            words=""
            ;;
        checkpoint)
            options="--prefix --server --token_file --json --help"
            words="info verify digest save"
            ;;
        compare)
            options="--json --help"
            words=""
            ;;
        compile)
            options="--num_csx --num_workers_per_csx --max_wgt_servers --job_labels --model_dir --compile_dir --checkpoint_path --seed --weight_grad_reduce --set --validate_only --print_after --print_precision --json --print_c --help"
            words=""
            ;;
        doctor)
            options="--model_dir --json --help"
            words=""
            ;;
        eval)
            options="--num_csx --num_workers_per_csx --max_wgt_servers --job_labels --model_dir --compile_dir --checkpoint_path --seed --weight_grad_reduce --set --eval_steps --log_steps --compile_only --validate_only --json --help"
            words=""
            ;;
        get)
            options="--server --token_file --json --label --state --name --help"
            words="jobs job"
            ;;
        kill)
            options="--server --token_file --json --message --help"
            words=""
            ;;
        label)
            options="--server --token_file --json --name --priority --help"
            words=""
            ;;
        list)
            options="--json --markdown --help"
            words=""
            ;;
        logs)
            options="--server --token_file --json --follow --tail --role --rank --level --help"
            words=""
            ;;
        numerics)
            options="--step --tensor --all --json --help"
            words=""
            ;;
        open)
            options="--server --token_file --json --print --help"
            words=""
            ;;
        pause)
            options="--server --token_file --json --message --help"
            words=""
            ;;
        report)
            options="--output --server --token_file --json --help"
            words=""
            ;;
        resume)
            options="--server --token_file --json --message --help"
            words=""
            ;;
        scale)
            options="--server --token_file --json --num_csx --help"
            words=""
            ;;
        serve)
            options="--root --run --listen --token_file --host_name --cores --memory_mib --connections --requests_per_second --client_seconds --heartbeat_seconds --web_dir --follow --json --help"
            words=""
            ;;
        start)
            options="--num_csx --num_workers_per_csx --max_wgt_servers --job_labels --model_dir --compile_dir --checkpoint_path --seed --weight_grad_reduce --set --max_steps --num_steps --num_epochs --log_steps --compile_only --validate_only --listen --no_dashboard --detach --json --help"
            words=""
            ;;
        submit)
            options="--server --token_file --json --id --name --label --priority --resume_from --cores --memory_bytes --max_num_restarts --num_csx --seed --max_steps --set --no_check --compile_only --validate_only --follow --help"
            words=""
            ;;
        sweep-precision)
            options="--steps --set --json --help"
            words=""
            ;;
        tune-precision)
            options="--tolerance --steps --fp16_type --preset --output --set --help"
            words=""
            ;;
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _csengine csengine
