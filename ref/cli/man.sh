#!/bin/sh
# The man page with every option of every sub-command, as --help lists them:
#   man.sh PAGE COMMAND >RESULT
# The page's lines `.\" OPTIONS OF x` and `.\" COMMON OPTIONS` are replaced.
set -eu
page=$1
zp=$2

# The options in COMMAND's help. want=1: only the group that train, plan and sim share; 0: the rest.
options() { # options COMMAND WANT
  ARGP_HELP_FMT=rmargin=250 "$zp" "$1" --help | awk -v want="$2" '
    function flush() {
      if (flag != "" && shared == want && flag !~ /--(help|usage)$/) {
        gsub(/\\/, "\\e", doc)
        gsub(/-/, "\\-", flag)
        gsub(/…/, "...", flag)
        gsub(/…/, "...", doc)
        printf ".TP\n.B %s\n\\&%s\n", flag, doc
      }
      flag = ""
    }
    /^ [A-Z].*:$/ { flush(); shared = $0 ~ /Topology and partition/; next }
    /^ +(-., )?--/ {
      flush()
      if ($0 ~ /^ +(-., )?--help/) shared = 0
      match($0, /^ *(-., )?--[^ ]+/)
      flag = substr($0, 1, RLENGTH)
      doc = substr($0, RLENGTH + 1)
      sub(/^ +/, "", flag)
      sub(/^ +/, "", doc)
      next
    }
    /^                    / && flag != "" {
      sub(/^ +/, "")
      doc = doc (doc == "" ? "" : " ") $0
      next
    }
    { flush() }
    END { flush() }'
}

while IFS= read -r line; do
  case $line in
  '.\" OPTIONS OF '*)
    command=${line##* }
    printf '.SS %s\n' "$command"
    text=$(options "$command" 0)
    printf '%s\n' "$text"
    ;;
  '.\" COMMON OPTIONS')
    text=$(options plan 1)
    printf '%s\n' "$text"
    ;;
  *) printf '%s\n' "$line" ;;
  esac
done <"$page"
