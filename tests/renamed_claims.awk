# Prints proofs/claimed.txt with the names of a later commit:
#   awk -f tests/renamed_claims.awk tests/lint/renamed.txt CLAIMED
# tests/lint/renamed.txt explains the lines of the first file.
FILENAME == ARGV[1] {
  if ($0 !~ /^#/ && NF == 2) name[$1] = $2
  if ($0 !~ /^#/ && NF == 3) name[$3, $1] = $2
  next
}
{
  file = $1
  rest = $0
  line = ""
  while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
    word = substr(rest, RSTART, RLENGTH)
    if ((file, word) in name) word = name[file, word]
    else if (word in name) word = name[word]
    line = line substr(rest, 1, RSTART - 1) word
    rest = substr(rest, RSTART + RLENGTH)
  }
  line = line rest
  gsub(/[}] [(]/, "}(", line) # Frama-C breaks lines there, depending on the length of names
  split(line, field, " ")
  if ((file, "file:" field[2]) in name) sub(/^[^ ]+/, name[file, "file:" field[2]], line)
  print line
}
