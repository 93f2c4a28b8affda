# Sourced by tests that look at all shipped configurations: with_sentences FILE FOLDER prints the
# configuration to use, one with data in FOLDER where it is that of texts with a class.
with_sentences() {
    case $1 in */bert_sentences.yaml) ;; *) echo "$1"; return ;; esac
    mkdir -p "$2/sentences"
    printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' word >"$2/sentences/vocab.txt"
    awk 'BEGIN { print "text,label"; for (i = 0; i < 32; i++) print "word,gpl" }' |
        tee "$2/sentences/train.csv" >"$2/sentences/test.csv"
    sed "s|sentences/|$2/sentences/|" "$1" >"$2/bert_sentences.yaml"
    echo "$2/bert_sentences.yaml"
}
